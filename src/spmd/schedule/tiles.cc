// Finds tiles from the dimension map of a product.
#include "spmd/schedule/tiles.h"

#include <absl/algorithm/container.h>

namespace tessera::spmd {
namespace {

using sharding::DimMap;

// Whether dim d of operand 0 is dim d of the result, and no other operand has it.
bool IsFreeDim(const DimMap& map, size_t d) {
  if (d >= map.operands[0].size() || d >= map.results[0].size()) return false;
  const sharding::FactorList& factors = map.operands[0][d];
  if (factors.size() != 1 || factors != map.results[0][d]) return false;
  const int32_t factor = factors[0];
  return base::At(map.factors, factor).kind == sharding::FactorKind::kPass &&
         absl::c_count_if(map.operands, [&](const sharding::DimFactors& dims) {
           return sharding::HasFactor(dims, factor);
         }) == 1;
}

bool IsProduct(const ir::Instruction& i) {
  return std::holds_alternative<ir::AsKernel>(*i.op->lowering) && i.op->flops_per_point > 0 &&
         i.op->effect == ir::Effect::kNone && !i.op->opaque && i.results.size() == 1 &&
         i.operands.size() == 2 && std::holds_alternative<ir::DimMapFn>(*i.op->dims);
}

}  // namespace

std::optional<int64_t> TileDims(const ir::Program& device, const ir::Instruction& instruction) {
  // A whole operand below the least size stays in the cache anyway. A tile takes a call.
  constexpr int64_t kLeastBytes = int64_t{1} << 20;
  constexpr int64_t kMostTileBytes = int64_t{256} << 10, kLeastTileBytes = int64_t{4} << 10;
  if (!IsProduct(instruction)) return {};
  const ir::ValueId operand = instruction.operands[0], result = instruction.results[0];
  // Every tile reads the other operand.
  if (ShardBytes(device, instruction.operands[1]) > kMostTileBytes) return {};
  int64_t bytes = ShardBytes(device, operand);
  if (bytes < kLeastBytes || ShardBytes(device, result) > bytes) return {};
  const DimMap map = DimMapOf(device, instruction);
  if (!map.traits.product || map.traits.custom) return {};
  const base::Shape& shape = device.type(operand)->shape();
  size_t dims = 0;
  for (; bytes > kMostTileBytes; ++dims) {
    if (!IsFreeDim(map, dims)) return {};
    bytes /= shape[dims];
  }
  return bytes < kLeastTileBytes ? std::nullopt : std::optional(static_cast<int64_t>(dims));
}

}  // namespace tessera::spmd
