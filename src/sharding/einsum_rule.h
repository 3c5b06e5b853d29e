// Rules in the form of einsum, which names factors.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "sharding/dim_map.h"
#include "tessera/error.h"

namespace tessera::sharding {

// Reads `b h, h k -> b k`: each dim names its factors, `(a b)` is a dim of two factors, and `_` or
// `1` is a dim of size 1. Factors that only operands have are summed over. Lists may follow the
// arrays: `b h -> b reduction=max{h}` (or min, prod, and, or), `need_replication={h}`,
// `permutation={h}`, `blocked_propagation={h}`. Arrays that begin with `...` have any number of
// leading dims, the same number in each. Sizes come from the shapes. Throws RuntimeError with the
// column of the mistake.
DimMap ParseEinsumRule(std::string_view text, const Shapes& operands, const Shapes& results,
                       Loc loc);
// Returns the result shapes that such a rule implies. Also throws if a result has a factor that
// no operand has.
std::vector<Shape> EinsumResultShapes(std::string_view text, const Shapes& operands, Loc loc);
// Returns for each operand whether it begins with `...`.
std::vector<bool> EinsumTakesMore(std::string_view text, Loc loc);
// Returns small operand shapes that fit such a rule: its factors have sizes 4, 6, 2, 4, ... and
// `...` is one dim.
std::vector<Shape> EinsumSampleShapes(std::string_view text, Loc loc);
// Returns the names of the rule's factors by number, for shapes in which no factor has size 1.
std::vector<std::string> EinsumFactorNames(std::string_view text, Loc loc);

}  // namespace tessera::sharding
