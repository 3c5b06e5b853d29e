// Shardings as text.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "sharding/tensor_sharding.h"
#include "tessera/error.h"

namespace tessera::sharding {

// Returns "sum", "max", ...
const char* ReductionName(Reduction reduction);

// Returns Shardy's text: `<@mesh, [{"x"}, {?}p1], replicated={"y"}, unreduced=max{"z"}>`.
// `reduced={...}` and `varying={...}` are Tessera's additions.
std::string Text(const TensorSharding& sharding);
// Returns the text of one dim: `{"x", ?}p1`.
std::string DimText(const MeshDef* mesh, const DimAxes& dim);
// Parses a sharding and verifies it. Throws RuntimeError with the column of the mistake.
TensorSharding ParseSharding(std::string_view text, const MeshDef* mesh, Loc loc);

// Returns the part of JAX's type text after the dtype: `[8@x,4]{V:z, U:y}`.
std::string TypeSuffix(const std::vector<int64_t>& shape, const TensorSharding& sharding);

}  // namespace tessera::sharding
