// Asks the op's DimMap for the cheapest partition.
#include "spmd/lower/op_partition.h"

#include <absl/container/flat_hash_map.h>

#include <utility>

#include "base/at.h"
#include "base/sum_order.h"
#include "ir/infer.h"
#include "ir/memo.h"
#include "ir/move_params.h"
#include "sharding/access.h"
#include "sharding/local.h"
#include "sharding/partition.h"
#include "spmd/local_type.h"
#include "spmd/lower/halo_stages.h"

namespace tessera::spmd {
namespace {

// Decisions of all programs at the machine balance and with the order of sums in scope. One per
// thread, so that a hit takes no lock.
using DecisionMemo = ir::Memo<std::shared_ptr<const Decision>>;
DecisionMemo& Decisions() {
  using Scope = std::pair<double, bool>;
  static thread_local absl::flat_hash_map<Scope, std::unique_ptr<DecisionMemo>> memos;
  std::unique_ptr<DecisionMemo>& memo = memos[{sharding::FlopsPerByte(), base::KeepsSumOrder()}];
  if (!memo) memo = std::make_unique<DecisionMemo>();
  return *memo;
}

ir::ParamsPtr HaloOf(const sharding::DimMap& map, const Decision& decision) {
  ir::HaloParams halo{.from = {decision.operands.begin(), decision.operands.end()},
                      .to = decision.results[0],
                      .reads = {},
                      .fill = sharding::FillOf(map)};
  for (const sharding::Access& a : map.accesses) {
    const sharding::DimFactors& dims = base::At(map.operands, a.operand);
    int64_t dim = 0;
    while (base::At(dims, dim)[0] != a.factor) ++dim;
    halo.reads.push_back({a.operand, dim, a.offset, a.stride, a.dilation});
  }
  return ir::MakeParams(std::move(halo));
}

size_t DimOf(const sharding::DimFactors& dims, int32_t factor) {
  size_t d = 0;
  while (!sharding::HasFactor({dims[d]}, factor)) ++d;
  return d;
}

// Whether the view of each shard of the result is the operand's shard, all of whose elements are in
// the array, whose size is `whole`.
bool IsShard(const sharding::WindowView& view, int64_t shard, int64_t whole) {
  const sharding::Access& a = view.access;
  return shard > 0 && view.extent == shard && whole % shard == 0 && a.offset == 0 &&
         a.dilation == 1 && a.per_shard == 0;
}

// Gives the decision the views that the kernel reads, along the sharded dims that count windows or
// their elements.
void AddViews(const sharding::DimMap& map, const ir::Instruction& instruction,
              const ir::OnViews& on_views, const sharding::AxisList& axes, Decision& decision) {
  const ir::Type& result = *decision.results[0];
  std::vector<bool> viewed(base::Size(result.rank()), false);
  decision.views.resize(decision.operands.size());
  for (size_t k = 0; k < decision.operands.size(); ++k) {
    const ir::Type* operand = decision.operands[k];
    const ir::Type* element =
        ir::Type::Get({}, operand->dtype(), sharding::Replicated(operand->mesh(), /*rank=*/0));
    ir::HaloParams halo{.from = {operand, element}, .to = nullptr, .reads = {}, .fill = 1};
    const base::Shape shard = LocalType(operand)->shape();
    base::Shape sizes = shard;
    bool is_shard = true;
    for (const sharding::Access& a : map.accesses) {
      if (base::Size(a.operand) != k || !sharding::MayExchange(map, base::Size(a.factor))) continue;
      const auto [other, d] = sharding::CountedBy(map, a.factor);
      const ir::Type* counted = other < 0 ? &result : base::At(decision.operands, other);
      if (sharding::SizeOf(counted->sharding().dims[d].axes) == 1) continue;
      viewed[DimOf(map.results[0], other < 0 ? a.factor : a.window_factor)] = true;
      const size_t from = DimOf(map.operands[k], a.factor);
      const auto view = sharding::ViewOf(a, LocalType(counted)->shape()[d]);
      sizes[from] = view.extent;
      halo.reads.push_back({0, static_cast<int64_t>(from), view.access.offset, view.access.stride,
                            view.access.dilation, view.access.per_shard});
      is_shard = is_shard && IsShard(view, shard[from], operand->shape()[from]);
    }
    if (halo.reads.empty() || is_shard) continue;
    const ir::Type* place = WithLocalSizes(operand, sizes);
    halo.to = place;
    const int64_t bytes = BytesOf(halo);
    decision.views[k] = {.halo = ir::MakeParams(std::move(halo)),
                         .outside = on_views.outside(instruction.params.get(), k, operand->dtype()),
                         .place = place,
                         .cost = Costing({.bytes = bytes, .axes = axes})};
  }
  decision.params = on_views.params(instruction.params.get(), viewed);
}

// A reduction must not read the padding of a dim that its shards do not divide.
ir::ParamsPtr MaskOf(const sharding::DimMap& map, const sharding::DimFactors& dims,
                     const ir::Type& operand) {
  ir::MaskParams mask;
  for (size_t d = 0; d < dims.size(); ++d) {
    int64_t shards = sharding::SizeOf(operand.sharding().dims[d].axes);
    if (operand.shape()[d] % shards == 0) continue;
    for (int32_t f : dims[d]) {
      const sharding::Factor& factor = base::At(map.factors, f);
      if (factor.kind != sharding::FactorKind::kReduce) continue;
      if (sharding::LooksUp(map, base::Size(f))) continue;
      mask.dims.push_back(static_cast<int64_t>(d));
      mask.reduction = factor.reduction;
    }
  }
  return mask.dims.empty() ? nullptr : ir::MakeParams(std::move(mask));
}

bool ReducesSharded(const sharding::DimMap& map, ir::Types operands) {
  for (size_t i = 0; i < operands.size(); ++i)
    for (size_t d = 0; d < map.operands[i].size(); ++d)
      for (int32_t f : map.operands[i][d])
        if (base::At(map.factors, f).kind == sharding::FactorKind::kReduce &&
            !operands[i]->sharding().dims[d].axes.empty())
          return true;
  return false;
}

Decision Decide(const ir::Instruction& instruction, ir::Types types, ir::Types results) {
  std::vector<sharding::PartitionTensor> ins, outs;
  for (const ir::Type* t : types)
    ins.push_back({&t->shape(), sharding::ItemSize::OfBits(t->dtype().bits()), &t->sharding()});
  for (const ir::Type* t : results)
    outs.push_back({&t->shape(), sharding::ItemSize::OfBits(t->dtype().bits()), &t->sharding()});
  sharding::DimMap map = ir::DeviceMapOf(*instruction.op, instruction.params.get(), types, results);
  double flops = instruction.op->flops_per_point;
  sharding::Partition p = sharding::ChoosePartition(map, ins, outs, flops);
  Decision decision;
  auto* kernel = std::get_if<ir::AsKernel>(&*instruction.op->lowering);
  const bool reduces = kernel && kernel->sharded && ReducesSharded(map, types);
  decision.expands = reduces || !p.scan_axes.empty();
  for (size_t i = 0; i < types.size(); ++i)
    decision.operands.push_back(
        reduces ? Even(types[i])
                : ir::Type::Get(types[i]->shape(), types[i]->dtype(), std::move(p.operands[i])));
  for (size_t i = 0; i < results.size(); ++i)
    decision.results.push_back(
        ir::Type::Get(results[i]->shape(), results[i]->dtype(), std::move(p.results[i])));
  for (size_t i = 0; i < types.size(); ++i)
    decision.masks.push_back(MaskOf(map, map.operands[i], *decision.operands[i]));
  const bool computes = kernel && kernel->views.params;
  if (computes && !p.halo_axes.empty())
    AddViews(map, instruction, kernel->views, p.halo_axes, decision);
  if (!computes && !p.halo_axes.empty()) {
    decision.halo = HaloOf(map, decision);
    decision.cost = Costing({.bytes = p.halo_bytes, .axes = p.halo_axes});
    return decision;
  }
  const double whole = flops * sharding::PointsOf(map) *
                       static_cast<double>(sharding::SizeOf(results[0]->sharding().varying));
  decision.cost = Costing({.flops = flops * p.flops, .whole_flops = whole});
  return decision;
}

}  // namespace

ir::CostPtr Costing(ir::Cost cost) { return std::make_shared<const ir::Cost>(std::move(cost)); }

std::shared_ptr<const Decision> DecisionOn(const ir::Instruction& instruction, ir::Types operands,
                                           ir::Types results) {
  ir::OpKey key{instruction.op, instruction.params, {operands.begin(), operands.end()}};
  key.types.insert(key.types.end(), results.begin(), results.end());
  return Decisions().Get(std::move(key), [&] {
    return std::make_shared<const Decision>(Decide(instruction, operands, results));
  });
}

}  // namespace tessera::spmd
