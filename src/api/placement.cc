// Where arrays lie: reshards and constraints.
#include <fmt/format.h>

#include "api/operands.h"
#include "base/at.h"
#include "ir/move_params.h"
#include "ops/manual.h"

namespace tessera {
namespace {

using api::Call;

Array ReshardTo(const Operand& x, const sharding::TensorSharding& s, Call call) {
  Array a = api::ToArray(x, call);
  const ir::Type* from = api::TypeOf(a);
  int uneven = sharding::FirstUnevenDim(s, from->shape());
  if (uneven >= 0)
    api::FailSharding(call, 7,
                      fmt::format("dim {} of size {} does not divide into {} shards", uneven,
                                  base::At(from->shape(), uneven),
                                  sharding::SizeOf(base::At(s.dims, uneven).axes)),
                      {"operand: " + from->text(), "spec: " + sharding::ToSpec(s).text()});
  const sharding::TensorSharding& old = from->sharding();
  bool adds = !sharding::Difference(s.unreduced, old.unreduced).empty();
  if (adds && s.kind != Reduction::kSum)
    api::FailSharding(call, 8, "only sums can be made unreduced by a reshard",
                      {"operand: " + from->text()});
  if (!s.unreduced.empty() && !old.unreduced.empty() && s.kind != old.kind)
    api::FailSharding(call, 8, "the operand is unreduced by another reduction",
                      {"operand: " + from->text()});
  if (old.mesh && s.mesh != old.mesh && old.mesh->size() != s.mesh->size() &&
      !(old.trivial() && s.trivial()))
    api::FailSharding(call, 10,
                      fmt::format("the meshes {} and {} have different numbers of devices",
                                  old.mesh->text(), s.mesh->text()));
  trace::Application move{.op = ops::kReshard,
                          .params = {},
                          .operands = {a.impl()},
                          .loc = call.loc,
                          .shown_as = "reshard",
                          .result = ops::WithManualStates(from->WithSharding(s), old)};
  return trace::Apply(move)[0];
}
}  // namespace

Array reshard(Operand x, PartitionSpec spec, Loc loc) {
  Call call{"reshard", loc};
  Array a = api::ToArray(x, call);
  return ReshardTo(a, *api::ResolveSpec(spec, api::TypeOf(a)->rank(), api::MeshOf({a}), call),
                   call);
}

Array reshard(Operand x, Sharding target, Loc loc) {
  Call call{"reshard", loc};
  Array a = api::ToArray(x, call);
  sharding::Resolved r =
      sharding::Resolve(target.spec(), target.mesh().def(), api::TypeOf(a)->rank());
  if (target.mesh().empty()) api::FailSharding(call, 1, "the target has no mesh");
  if (r.problem) api::FailSharding(call, 1, r.problem->reason, {"spec: " + target.spec().text()});
  return ReshardTo(a, r.sharding, call);
}

namespace {

// Over Auto axes: what the user asks propagation for. Explicit axes are the types' business.
sharding::TensorSharding AutoSpec(const PartitionSpec& spec, const ir::Type* type,
                                  const sharding::MeshDef* mesh, Call call) {
  sharding::Resolved r = sharding::Resolve(spec, mesh, type->rank());
  if (r.problem) api::FailSharding(call, 1, r.problem->reason, {"spec: " + spec.text()});
  auto check = [&](const sharding::AxisList& axes) {
    for (sharding::AxisPart a : axes) {
      const MeshAxis& axis = base::At(mesh->axes(), a.axis);
      if (axis.mode == AxisMode::Auto) continue;
      api::FailSharding(call, 2,
                        fmt::format("axis \"{}\" is {}: a constraint is for Auto axes", axis.name,
                                    axis.mode == AxisMode::Explicit ? "Explicit" : "Manual"),
                        {"spec: " + spec.text(), "over Explicit axes use reshard to move data"});
    }
  };
  for (const sharding::DimAxes& d : r.sharding.dims) check(d.axes);
  check(r.sharding.unreduced);
  check(r.sharding.replicated);
  if (!r.sharding.unreduced.empty()) {
    const std::string& axis = base::At(mesh->axes(), r.sharding.unreduced[0].axis).name;
    api::FailSharding(
        call, 16,
        fmt::format("axis \"{}\" is Auto: values can be unreduced over Explicit axes only", axis),
        {"spec: " + spec.text(),
         fmt::format("leave .unreduced(...) out, or make \"{}\" Explicit with explicit_axes",
                     axis)});
  }
  if (!r.sharding.reduced.empty())
    api::FailSharding(call, 9, "reduced axes are part of a type: a constraint cannot ask for them",
                      {"spec: " + spec.text()});
  r.sharding.mesh = mesh->WithoutModes();
  return r.sharding;
}

}  // namespace

Array with_sharding_constraint(Operand x, PartitionSpec spec, Loc loc) {
  Call call{"with_sharding_constraint", loc};
  return api::Constrained(api::ToArray(x, call), spec, call);
}

Array api::Constrained(const Array& a, const PartitionSpec& spec, Call call) {
  const sharding::MeshDef* mesh = api::MeshInScope({a});
  const ir::Type* type = api::TypeOf(a);
  if (spec.rank() > type->rank())
    api::FailSharding(
        call, 15, fmt::format("the spec has {} dims, the array has {}", spec.rank(), type->rank()),
        {"spec: " + spec.text()});
  if (mesh && mesh->has_mode(AxisMode::Auto)) {
    std::string text = sharding::Text(AutoSpec(spec, type, mesh, call));
    sharding::TensorSharding s = type->sharding();
    s.mesh = mesh;
    trace::Application constraint{.op = ops::kShardingConstraint,
                                  .params = ir::MakeParams(ir::ConstraintParams{{std::move(text)}}),
                                  .operands = {trace::Use(a, call.name, call.loc)},
                                  .loc = call.loc,
                                  .shown_as = call.name,
                                  .result = type->WithSharding(std::move(s))};
    return trace::Apply(constraint)[0];
  }
  sharding::TensorSharding s = *api::ResolveSpec(spec, type->rank(), api::MeshOf({a}), call);
  if (s.dims == type->sharding().dims) return a;
  api::FailSharding(
      call, 4,
      fmt::format("the array has type {}, which is not laid out as {}", type->text(), spec.text()),
      {"over Explicit axes this is an assertion: use reshard to move data"});
}

}  // namespace tessera
