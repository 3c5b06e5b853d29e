// Rules read from text: Shardy's form, which Text(DimMap) writes, and the form of einsum.
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
// factors that do not multiply up to a dim. The sizes of dims with a permute or replicate factor,
// and of windows beside one, are taken as given: one factor stands for dims of different sizes. A
// dim whose only factor is of size 1 and no other dim's stands for itself, whatever its size; one
// with a reduce factor may be larger than it: a window that has one place.
// See docs/propagation.md, "Rules as text".
std::optional<Problem> VerifyRule(const DimMap& map, const Shapes& operands, const Shapes& results);

// Reads `b h, h k -> b k`: the factors of each dim by names, with `(a b)` for a dim made of two,
// and `_` or `1` for a dim of size 1. Factors of operands alone are summed over; what else holds
// for a factor follows: `b h -> b reduction=max{h}` (or min, prod, and, or),
// `need_replication={h}`, `permutation={h}`, `blocked_propagation={h}`. Arrays that begin with
// `...` have any number of dims in front, the same for all of them. Sizes are those of the shapes.
// Throws RuntimeError with the column of what is wrong.
DimMap ParseEinsumRule(std::string_view text, const Shapes& operands, const Shapes& results,
                       Loc loc);
// Returns the shapes that such a rule gives the results. Throws as well if a result has a factor
// that no operand has.
std::vector<Shape> EinsumResultShapes(std::string_view text, const Shapes& operands, Loc loc);
// Returns, per operand, whether it begins with `...`.
std::vector<bool> EinsumTakesMore(std::string_view text, Loc loc);
// Returns small operand shapes that fit such a rule: its factors have sizes 4, 6, 2, 4, ..., and
// `...` is one dim.
std::vector<Shape> EinsumSampleShapes(std::string_view text, Loc loc);
// Returns the names of its factors in the order of their numbers, where none is of size 1.
std::vector<std::string> EinsumFactorNames(std::string_view text, Loc loc);

}  // namespace tessera::sharding
