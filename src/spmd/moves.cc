#include "spmd/moves.h"

#include <array>

#include "ir/move_params.h"

namespace tessera::spmd {
namespace {
constexpr int kKinds = static_cast<int>(sharding::StepKind::kHaloExchange) + 1;
const std::array<const ir::OpDef*, kKinds>& Movers() {
  static const auto movers = [] {
    std::array<const ir::OpDef*, kKinds> list{};
    for (int k = 0; k < kKinds; ++k)
      list[static_cast<size_t>(k)] = ir::FindOp(Name(static_cast<sharding::StepKind>(k)));
    return list;
  }();
  return movers;
}
}  // namespace

const ir::OpDef& OpOf(sharding::StepKind kind) { return *Movers()[static_cast<size_t>(kind)]; }

sharding::StepKind KindOf(const ir::OpDef& op) {
  int k = 0;
  while (Movers()[static_cast<size_t>(k)] != &op) ++k;
  return static_cast<sharding::StepKind>(k);
}

ir::ExpandFn MaskOp() {
  static const ir::ExpandFn expand =
      std::get<ir::Expand>(*ir::FindOp("mask_padding")->lowering).expand;
  return expand;
}

ir::ParamsPtr MoveParamsOf(const ir::Type& from, const ir::Type& to) {
  return ir::MakeParams(ir::MoveParams{{from.text()}, {to.text()}});
}

}  // namespace tessera::spmd
