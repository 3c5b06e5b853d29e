// Rules in Shardy's form, which Text(DimMap) writes.
#pragma once
#include <string_view>

#include "sharding/dim_map.h"
#include "tessera/error.h"

namespace tessera::sharding {

// Reads `([i, jk], [k])->([i, j]) {i=2, j=4, k=2} reduction={k}`, with or without
// `#sdy.op_sharding_rule<...>` around it. A dim `1` has no factors. Makes the checks of Shardy's
// verifier that need no shapes. Throws RuntimeError with the column of the mistake.
DimMap ParseRule(std::string_view text, Loc loc);

// Returns the first mismatch between a rule and tensors of these shapes: their number, their ranks,
// or a dim that is not the product of its factors. A dim may have any size if one of its factors is
// a replicate factor, or is in a dim with a permute factor: one factor then stands for dims of
// different sizes. So may a dim whose only factor has size 1 and is in no other dim. A dim with a
// reduce factor may be larger than its factors: a window with one position.
// See docs/propagation.md, "Rules as text".
std::optional<Problem> VerifyRule(const DimMap& map, const Shapes& operands, const Shapes& results);

}  // namespace tessera::sharding
