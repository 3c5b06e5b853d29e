// Elementwise ops, from which public functions and random draws are composed.
#pragma once
#include <vector>

#include "api/core/operands.h"

namespace tessera::api {

// Applies an op to arrays of one dtype and rank. Scalars may have another rank.
Array Apply(ops::ScalarOp op, const std::vector<Array>& operands, const OutOptions& options,
            Call call);
// Promotes the arrays, then applies the op.
Array Elementwise(ops::ScalarOp op, const std::vector<Array>& xs, Call call);

// Returns an array of bools: true where the element is not 0.
Array ToBool(const Operand& x, Call call);
// Returns the elements of a where c is true, else of b. The three broadcast to one shape.
Array Where(const Operand& c, const Operand& a, const Operand& b, Call call,
            const OutOptions& options = {});

}  // namespace tessera::api
