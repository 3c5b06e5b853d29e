// Checks requested shardings, and reshards or constrains arrays to them.
#include "api/core/reshard_to.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "api/core/tree_match.h"
#include "base/at.h"
#include "base/error.h"
#include "compile/host/processes.h"
#include "ir/move_params.h"
#include "ops/manual.h"
#include "sharding/reshard.h"
#include "trace/apply.h"

namespace tessera::api {

namespace {

std::string OperandNote(const ir::Type* type) { return "operand: " + type->text(); }

// C7: throws ShardingError. Its fix keeps the longest prefix of each dim's axes that divides
// the dim.
[[noreturn]] void FailUnevenReshard(const ir::Type* from, const sharding::TensorSharding& s,
                                    int dim, Call call) {
  ErrorDetail detail = base::Refusal(
      call.name, 7, base::Where(call.loc),
      fmt::format("dim {} of size {} cannot be divided evenly into {} shards", dim,
                  base::At(from->shape(), dim), sharding::SizeOf(base::At(s.dims, dim).axes)),
      {OperandNote(from), "spec: " + sharding::ToSpec(s).text()});
  sharding::TensorSharding even = s;
  for (size_t d = 0; d < even.dims.size(); ++d)
    even.dims[d].axes = sharding::PrefixThatDivides(s.dims[d].axes, from->shape()[d]);
  const int64_t bytes = sharding::ReshardBytes(
      from->shape(), sharding::ItemSize::OfBits(from->dtype().bits()), from->sharding(), even);
  Fix fix{.spec = sharding::ToSpec(even), .bytes = bytes};
  fix.text = fmt::format("{}   {}", fix.spec.text(),
                         bytes ? fmt::format("sends {} B per device", bytes) : "sends nothing");
  detail.fixes.push_back(std::move(fix));
  base::ThrowSharding(std::move(detail));
}

std::set<int64_t> DevicesOf(const sharding::MeshDef& mesh) {
  std::set<int64_t> devices;
  for (int64_t p = 0; p < mesh.size(); ++p) devices.insert(mesh.Device(p));
  return devices;
}

// Throws if an array would move to devices that do not have it, maybe on other processes.
void CheckSameDevices(const ir::Type* from, const sharding::TensorSharding& to, Call call) {
  const sharding::MeshDef* old = from->mesh();
  if (compile::Processes() == 1 || !old || !to.mesh || old == to.mesh || old->is_abstract() ||
      to.mesh->is_abstract() || DevicesOf(*old) == DevicesOf(*to.mesh))
    return;
  FailSharding(call, 11,
               fmt::format("several processes cannot move an array from the mesh {} to other "
                           "devices, those of {}",
                           old->text(), to.mesh->text()),
               {OperandNote(from),
                "gather_to_host(x) returns it without a mesh, and reshard moves that anywhere"});
}

}  // namespace

void CheckDivides(const ir::Type* from, const sharding::TensorSharding& to, Call call) {
  if (const int dim = sharding::FirstUnevenDim(to, from->shape()); dim >= 0)
    FailUnevenReshard(from, to, dim, call);
}

Array ReshardTo(const Array& a, const sharding::TensorSharding& s, Call call) {
  const ir::Type* from = TypeOf(a);
  const sharding::TensorSharding& old = from->sharding();
  bool adds = !sharding::Difference(s.unreduced, old.unreduced).empty();
  if (adds && s.kind != Reduction::kSum)
    FailSharding(call, 8, "only sums can be made unreduced by a reshard", {OperandNote(from)});
  if (!s.unreduced.empty() && !old.unreduced.empty() && s.kind != old.kind)
    FailSharding(call, 8, "the operand is unreduced by a different reduction", {OperandNote(from)});
  if (old.mesh && s.mesh != old.mesh && old.mesh->size() != s.mesh->size() &&
      !(old.trivial() && s.trivial()))
    FailSharding(call, 10,
                 fmt::format("the meshes {} and {} have different numbers of devices",
                             old.mesh->text(), s.mesh->text()));
  CheckSameDevices(from, s, call);
  CheckDivides(from, s, call);
  trace::Application move{.op = ops::kReshard,
                          .params = {},
                          .operands = {a.impl()},
                          .loc = call.loc,
                          .shown_as = "reshard",
                          .result = ops::WithManualStates(from->WithSharding(s), old)};
  return trace::Apply(move)[0];
}

Array ReshardTo(const Array& a, const PartitionSpec& spec, Call call) {
  return ReshardTo(a, *ResolveSpec(spec, TypeOf(a)->rank(), MeshOf({a}), call), call);
}

Array ReshardNamed(const Array& a, const PartitionSpec& spec, Call call,
                   absl::FunctionRef<std::string()> name) {
  try {
    trace::Use(a, call.name, call.loc, name);
    return ReshardTo(a, spec, call);
  } catch (const ShardingError& e) {
    ErrorDetail detail = e.detail();
    std::erase(detail.notes, OperandNote(TypeOf(a)));
    detail.operands = {{name(), TypeOf(a)->text(), base::Where(a.impl()->loc())}};
    base::ThrowSharding(std::move(detail));
  }
}

PartitionSpec PartOfSpec(const PartitionSpec& spec, const sharding::MeshDef* mesh, SpecPart which) {
  const bool of_auto = which == SpecPart::kHints;
  auto wanted = [&](const std::string& name) {
    bool is_auto = base::At(mesh->axes(), mesh->Find(name)).mode == AxisMode::Auto;
    return is_auto == of_auto;
  };
  auto only = [&](std::vector<AxisRef> axes) {
    std::erase_if(axes, [&](const AxisRef& a) { return !wanted(a.name); });
    return axes;
  };
  std::vector<DimSharding> dims;
  for (const DimSharding& d : spec.dims()) {
    DimSharding part(only(d.axes()));
    if (of_auto && d.open()) part = Open(part);
    dims.push_back(of_auto && d.priority() >= 0 ? part.priority(d.priority()) : part);
  }
  PartitionSpec part(std::move(dims));
  part = part.unreduced(only(spec.unreduced_axes()), spec.reduction());
  if (of_auto) return part.replicated(only(spec.replicated_axes()));
  return part.reduced(only(spec.reduced_axes()));
}

namespace {

// Returns the sharding that a constraint asks propagation for. Throws ShardingError if the spec
// names an axis that is not Auto, or unreduced or reduced axes.
sharding::TensorSharding AutoSpec(const PartitionSpec& spec, const ir::Type* type,
                                  const sharding::MeshDef* mesh, Call call) {
  sharding::Resolved r = sharding::Resolve(spec, mesh, type->rank());
  if (r.problem) FailSharding(call, 1, r.problem->reason, {"spec: " + spec.text()});
  auto check = [&](const sharding::AxisList& axes) {
    for (sharding::AxisPart a : axes) {
      const MeshAxis& axis = base::At(mesh->axes(), a.axis);
      if (axis.mode == AxisMode::Auto) continue;
      FailSharding(call, 2,
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
    FailSharding(
        call, 16,
        fmt::format("axis \"{}\" is Auto: values can be unreduced over Explicit axes only", axis),
        {"spec: " + spec.text(),
         fmt::format("leave .unreduced out, or make \"{}\" Explicit with explicit_axes", axis)});
  }
  if (!r.sharding.reduced.empty())
    FailSharding(call, 9, "reduced axes are part of a type: a constraint cannot ask for them",
                 {"spec: " + spec.text()});
  r.sharding.mesh = mesh->WithoutModes();
  return r.sharding;
}

}  // namespace

Array Constrained(const Array& x, const PartitionSpec& spec, Call call) {
  CheckArrays({x}, {"the array"}, call);
  const Array a = trace::Enter(trace::Use(x, call.name, call.loc), call.name, call.loc);
  const sharding::MeshDef* mesh = MeshInScope({a});
  const ir::Type* type = TypeOf(a);
  if (spec.rank() > type->rank())
    FailSharding(
        call, 15,
        fmt::format("the spec has {} dims, but the array has {}", spec.rank(), type->rank()),
        {"spec: " + spec.text()});
  if (mesh && mesh->has_mode(AxisMode::Auto)) {
    sharding::TensorSharding asked = AutoSpec(spec, type, mesh, call);
    sharding::TensorSharding s = type->sharding();
    s.mesh = mesh;
    trace::Application constraint{.op = ops::kShardingConstraint,
                                  .params = ir::MakeParams(ir::ConstraintParams{std::move(asked)}),
                                  .operands = {a.impl()},
                                  .loc = call.loc,
                                  .shown_as = call.name,
                                  .result = type->WithSharding(std::move(s))};
    return trace::Apply(constraint)[0];
  }
  sharding::TensorSharding s = *ResolveSpec(spec, type->rank(), MeshOf({a}), call);
  if (s.dims == type->sharding().dims) return Same(a);
  FailSharding(
      call, 4,
      fmt::format("the array has type {}, which is not laid out as {}", type->text(), spec.text()),
      {"over Explicit axes this is an assertion: use reshard to move data"});
}

namespace {

// Returns the part of the spec of a result for an operand of this shape.
PartitionSpec SpecOfOperand(const PartitionSpec& out, const base::Shape& shape, size_t rank) {
  const size_t leading = rank - shape.size();
  std::vector<DimSharding> dims;
  for (size_t d = 0; d < shape.size(); ++d) {
    const bool is_named = leading + d < out.dims().size() && shape[d] != 1;
    dims.push_back(is_named ? out.dims()[leading + d] : DimSharding(None));
  }
  PartitionSpec spec(std::move(dims));
  if (!out.unreduced_axes().empty()) spec = spec.unreduced(out.unreduced_axes(), out.reduction());
  if (!out.reduced_axes().empty()) spec = spec.reduced(out.reduced_axes());
  return spec;
}

}  // namespace

std::vector<Operand> LaidOut(std::vector<Operand> xs, const std::optional<PartitionSpec>& out,
                             Call call) {
  if (!out) return xs;
  size_t rank = 0;
  for (const Operand& x : xs)
    if (!x.scalar()) rank = std::max(rank, ShapeOf(ToArray(x, call)).size());
  for (Operand& x : xs)
    if (!x.scalar())
      x = {ReshardTo(x.array(), SpecOfOperand(*out, ShapeOf(x.array()), rank), call), x.loc()};
  return xs;
}

}  // namespace tessera::api
