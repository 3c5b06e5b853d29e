// Rules read from text in Shardy's form, which Text(DimMap) writes.
#pragma once
#include <string_view>

#include "sharding/dim_map.h"
#include "tessera/error.h"

namespace tessera::sharding {

// Reads `([i, jk], [k])->([i, j]) {i=2, j=4, k=2} reduction={k}`, with or without
// `#sdy.op_sharding_rule<...>` around it; a dim `1` has no factors. Throws RuntimeError with the
// column of what is wrong, the checks of Shardy's verifier that need no shapes included.
DimMap ParseRule(std::string_view text, Loc loc);

// Returns what does not fit in a rule for tensors of these shapes: how many there are, ranks, and
// factors whose product is not a dim. The sizes of dims with a permute or replicate factor,
// and of windows beside one, are taken as given: one factor stands for dims of different sizes. A
// dim whose only factor is of size 1 and no other dim's stands for itself, whatever its size; one
// with a reduce factor may be larger than it: a window that has one place.
// See docs/propagation.md, "Rules as text".
std::optional<Problem> VerifyRule(const DimMap& map, const Shapes& operands, const Shapes& results);

}  // namespace tessera::sharding
