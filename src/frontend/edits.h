// Edits of a refused call that were tried on the call as a whole.
#pragma once
#include <functional>

#include "frontend/operands.h"

namespace tessera::frontend {

// A public function as one of the arrays that it takes.
using OnArrays = std::function<std::vector<Array>(const std::vector<Array>&)>;

// Returns f(operands). If f refuses how they lie, the error also offers what has been tried on
// abstract arrays of their types: f inside of auto_axes, if that sends less than all other edits;
// and, if the error offers none, operands with fewer sharded dims.
std::vector<Array> WithEdits(const std::vector<Array>& operands, Call call, const OnArrays& f);

}  // namespace tessera::frontend
