// Shardings that programs ask for.
#include <fmt/format.h>

#include "ir/move_params.h"
#include "ops/params.h"
#include "sharding/text.h"
#include "stablehlo/write/exporter.h"

namespace tessera::stablehlo {
namespace {

// The exporter writes the sharding of every result's type.
OutValues Resharded(const WriteCall& c) { return {c.in[0]}; }

OutValues Constraint(const WriteCall& c) {
  const auto& p = c.params<ir::ConstraintParams>();
  return {WithSharding(c.w, c.in[0], ShardingText(p.sharding, c.is_key(0), false))};
}

OutValues ShardedLike(const WriteCall& c) {
  c.w.Group(c.in);
  return {c.in[0]};
}

OutValues PropagationBarrier(const WriteCall& c) {
  const auto& p = c.params<ops::BarrierParams>();
  const char* direction = p.forward    ? p.backward ? "BOTH" : "FORWARD"
                          : p.backward ? "BACKWARD"
                                       : "NONE";
  return {c.w.Pretty(
      fmt::format("sdy.propagation_barrier {} allowed_direction={}", c.in[0].name, direction),
      c.in[0].type)};
}

}  // namespace

std::string ShardingText(sharding::TensorSharding sharding, bool is_key, bool is_open) {
  sharding.reduced.clear();
  sharding.varying.clear();
  // Shardy has sums alone. Inside a manual computation its axes do not exist.
  sharding::AxisList unreduced;
  for (sharding::AxisPart a : sharding.unreduced)
    if (sharding.kind == Reduction::kSum &&
        sharding.mesh->axes()[static_cast<size_t>(a.axis)].mode != AxisMode::Manual)
      unreduced.push_back(a);
  sharding.unreduced = unreduced;
  if (is_open)
    for (sharding::DimAxes& dim : sharding.dims) dim.open = true;
  if (is_key) sharding.dims.emplace_back();
  return sharding::Text(sharding);
}

OutValue WithSharding(TextWriter& w, const OutValue& x, const std::string& sharding) {
  return w.Pretty(fmt::format("sdy.sharding_constraint {} {}", x.name, sharding), x.type);
}

std::vector<OpWriter> ShardingWriters() {
  return {
      {"implied_reshard", Resharded},
      {"propagation_barrier", PropagationBarrier},
      {"reshard", Resharded},
      {"sharded_like", ShardedLike},
      {"sharding_constraint", Constraint},
  };
}

}  // namespace tessera::stablehlo
