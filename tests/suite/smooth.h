// Samples at which ops have derivatives, and the inputs for testing these.
#pragma once
#include <vector>

#include "suite/run.h"

namespace tessera::suite {

// Returns the ops with derivatives and dims, except loops, branches, calls and moves.
std::vector<const ir::OpDef*> DifferentiableOps();
// Whether an op is flat between its steps, and so has an empty Derivative.
bool IsFlat(const ir::OpDef& op);
// Whether an op has no derivative in operand i, though it has one in another.
bool IsConstant(const ir::OpDef& op, size_t i);

// Returns samples that differ once all their floats are f64, and complex numbers c128.
std::vector<Sample> SmoothSamples(const ir::OpDef& op);
// Returns the data of such a sample.
std::vector<ir::HostTensor> SmoothData(const Sample& sample);
// Returns the op's results. No gradient passes constant operands.
std::vector<Array> ApplySmooth(const Case& c, std::vector<Array> operands);

// Whether a tensor has derivatives. All its numbers are then doubles: an element, or the two parts
// of a complex one.
inline bool IsFloating(const ir::HostTensor& t) { return t.dtype.is_inexact(); }
// Returns the tensor's numbers [..., 2] if it is complex; otherwise the tensor.
ir::HostTensor PartsOf(const ir::HostTensor& t);
std::vector<ir::HostTensor> PartsOf(const std::vector<ir::HostTensor>& tensors);
// Sets the numbers.
void SetParts(ir::HostTensor& t, const ir::HostTensor& parts);
// Returns a number for element k of tensor i, the same in every call.
double Number(size_t i, int64_t k);
// Returns tensors of such numbers with the types of the results.
std::vector<ir::HostTensor> Cotangents(const std::vector<ir::HostTensor>& results);

}  // namespace tessera::suite
