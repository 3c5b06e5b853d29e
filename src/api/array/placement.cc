// The public reshard and with_sharding_constraint.
#include "api/core/reshard_to.h"
#include "tessera/ops.h"
#include "tessera/propagation_hints.h"

namespace tessera {

using namespace api;

Array reshard(Operand x, PartitionSpec spec, Loc loc) {
  const Call call{"reshard", loc};
  return ReshardTo(ToArray(x, call), spec, call);
}

Array reshard(Operand x, std::initializer_list<DimSharding> dims, Loc loc) {
  return reshard(std::move(x), PartitionSpec(std::vector(dims)), loc);
}

Array reshard(Operand x, Sharding target, Loc loc) {
  const Call call{"reshard", loc};
  const Array a = ToArray(x, call);
  const sharding::Resolved r =
      sharding::Resolve(target.spec(), target.mesh().def(), TypeOf(a)->rank());
  if (target.mesh().empty()) FailSharding(call, 1, "the target has no mesh");
  if (r.problem) FailSharding(call, 1, r.problem->reason, {"spec: " + target.spec().text()});
  return ReshardTo(a, r.sharding, call);
}

Array with_sharding_constraint(Operand x, PartitionSpec spec, Loc loc) {
  const Call call{"with_sharding_constraint", loc};
  return Constrained(ToArray(x, call), spec, call);
}

Array with_sharding_constraint(Operand x, std::initializer_list<DimSharding> dims, Loc loc) {
  return with_sharding_constraint(std::move(x), PartitionSpec(std::vector(dims)), loc);
}

std::pair<Array, Array> shard_alike(Operand x, Operand y, Loc loc) {
  const Call call{"shard_alike", loc};
  const Array a = ToArray(x, call), b = ToArray(y, call);
  // Each result keeps the group, if only one of them is used.
  Array like_b = Run(ops::kShardedLike, nullptr, {a, b}, call);
  Array like_a = Run(ops::kShardedLike, nullptr, {b, like_b}, call);
  return {std::move(like_b), std::move(like_a)};
}

Array propagation_barrier(Operand x, propagation::Direction crosses, Loc loc) {
  using propagation::Direction;
  const Call call{"propagation_barrier", loc};
  const ops::BarrierParams params{.forward = (crosses & Direction::kForward) != Direction::kNone,
                                  .backward = (crosses & Direction::kBackward) != Direction::kNone};
  return Run(ops::kPropagationBarrier, ir::MakeParams(params), {ToArray(x, call)}, call);
}

}  // namespace tessera
