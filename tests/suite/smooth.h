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

// Returns samples that differ once all their floats are f64.
std::vector<Sample> SmoothSamples(const ir::OpDef& op);
// Returns the data of such a sample.
std::vector<ir::HostTensor> SmoothData(const Sample& sample);
// Returns the op's results. No gradient passes constant operands.
std::vector<Array> ApplySmooth(const Case& c, std::vector<Array> operands);

inline bool IsFloating(const ir::HostTensor& t) { return t.dtype.is_floating(); }
// Returns a number for element k of tensor i, the same in every call.
double Number(size_t i, int64_t k);
// Returns floats of such numbers with the shapes of the results.
std::vector<ir::HostTensor> Cotangents(const std::vector<ir::HostTensor>& results);

}  // namespace tessera::suite
