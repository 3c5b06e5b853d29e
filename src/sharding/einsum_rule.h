// Rules in the form of einsum, where factors have names.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "sharding/dim_map.h"
#include "tessera/error.h"

namespace tessera::sharding {

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
