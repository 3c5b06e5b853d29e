// Elementwise ops of arrays, as public functions and draws are made of them.
#pragma once
#include <vector>

#include "api/core/operands.h"

namespace tessera::api {

// Applies an op to arrays of one dtype and rank, scalars aside.
Array Apply(ops::ScalarOp op, const std::vector<Array>& operands, const OutOptions& options,
            Call call);
// The same of any arrays, which are promoted first.
Array Elementwise(ops::ScalarOp op, const std::vector<Array>& xs, Call call);

// Returns whether each element is not 0.
Array ToBool(const Operand& x, Call call);
// Returns a where c is, else b; they broadcast to one shape.
Array Where(const Operand& c, const Operand& a, const Operand& b, Call call,
            const OutOptions& options = {});

}  // namespace tessera::api
