// The public reshard and with_sharding_constraint.
#include "api/core/reshard_to.h"
#include "tessera/ops.h"

namespace tessera {

using namespace api;

Array reshard(Operand x, PartitionSpec spec, Loc loc) {
  const Call call{"reshard", loc};
  return ReshardTo(ToArray(x, call), spec, call);
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

}  // namespace tessera
