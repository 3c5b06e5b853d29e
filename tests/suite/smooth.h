// Samples at which ops have derivatives, and what derivatives are asked of.
#pragma once
#include <vector>

#include "suite/run.h"

namespace tessera::suite {

// Ops with derivatives and dims, but for loops, branches, calls and moves.
std::vector<const ir::OpDef*> DifferentiableOps();
// Ops that are flat between their steps say so by an empty Derivative.
bool IsFlat(const ir::OpDef& op);
// Operands in which an op has no derivative, though it has one in another.
bool IsConstant(const ir::OpDef& op, size_t i);

// Returns samples that differ once their floats are all f64.
std::vector<Sample> SmoothSamples(const ir::OpDef& op);
// Returns the data of one of these.
std::vector<ir::HostTensor> SmoothData(const Sample& sample);
// Returns the op's results, no gradient passing constant operands.
std::vector<Array> ApplySmooth(const Case& c, std::vector<Array> operands);

inline bool IsFloating(const ir::HostTensor& t) { return t.dtype.is_floating(); }
// Returns a number for element k of tensor i, the same in every call.
double Number(size_t i, int64_t k);
// Returns tensors like the results, floats of such numbers.
std::vector<ir::HostTensor> Cotangents(const std::vector<ir::HostTensor>& results);

}  // namespace tessera::suite
