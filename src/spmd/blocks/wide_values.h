// Values that have dims of both operands of a large product.
#pragma once
#include <absl/container/flat_hash_map.h>

#include <optional>

#include "spmd/blocks/product_facts.h"

namespace tessera::spmd {

// A product of [B, M, K] and [B, N, K] has the dims [B, M, N]. A value with dims of both sides, M
// and N here, is *wide*: it needs as much memory as the product.
struct WideValues {
  ir::ValueId product;
  // For each dim of a wide value, the dim of the product that it is, or kNoDim.
  using Labels = absl::InlinedVector<int, 4>;
  absl::flat_hash_map<ir::ValueId, Labels> labels;

  bool Has(ir::ValueId v) const { return labels.contains(v); }
  // Returns the dim of a wide value that is dim `label` of the product, or kNoDim.
  int DimOf(ir::ValueId v, int label) const;
};

// Returns the wide values that are computed from the product, and those that are computed together
// with it, such as masks. Returns nothing if a wide value must be whole: the program returns it, or
// an instruction that cannot run in blocks reads it.
std::optional<WideValues> FindWideValues(ProductFacts& facts, InstructionId product);

}  // namespace tessera::spmd
