// The ops of each line that derivatives were taken of. An instruction of a backward pass keeps the
// line of its op, but the op itself is pruned where only its derivative is needed.
#pragma once
#include <string>
#include <vector>

#include "ir/op.h"

namespace tessera::ir {

// Whether the op computes elements, so that a message about its line may name it.
bool ComputesElements(const OpDef& op);

// Notes that a derivative of the op was taken at this line. Any thread may call this.
void NoteDerivative(const OpDef& op, Loc loc);
// Returns the names of the ops noted at this line, in the order of their first derivatives.
std::vector<std::string> DifferentiatedAt(Loc loc);

}  // namespace tessera::ir
