// Where arrays lie: reshards and constraints.
#include "frontend/placement.h"

#include "tessera/ops.h"

namespace tessera {

using frontend::Call;

Array reshard(Operand x, PartitionSpec spec, Loc loc) {
  const Call call{"reshard", loc};
  return frontend::ReshardTo(frontend::ToArray(x, call), spec, call);
}

Array reshard(Operand x, Sharding target, Loc loc) {
  const Call call{"reshard", loc};
  const Array a = frontend::ToArray(x, call);
  const sharding::Resolved r =
      sharding::Resolve(target.spec(), target.mesh().def(), frontend::TypeOf(a)->rank());
  if (target.mesh().empty()) frontend::FailSharding(call, 1, "the target has no mesh");
  if (r.problem)
    frontend::FailSharding(call, 1, r.problem->reason, {"spec: " + target.spec().text()});
  return frontend::ReshardTo(a, r.sharding, call);
}

Array with_sharding_constraint(Operand x, PartitionSpec spec, Loc loc) {
  const Call call{"with_sharding_constraint", loc};
  return frontend::Constrained(frontend::ToArray(x, call), spec, call);
}

}  // namespace tessera
