// Running a function under another mode of the mesh.
#include "tessera/modes.h"

#include <fmt/format.h>

#include <algorithm>

#include "api/operands.h"
#include "propagation/graph.h"
#include "trace/scopes.h"

namespace tessera {

const Specs* Specs::Find(const tree::Path& path) const {
  const Specs* at = this;
  for (size_t i : path) {
    if (at->parts_.empty()) break;
    if (i >= at->parts_.size()) return nullptr;
    at = &at->parts_[i];
  }
  return at;
}

const PartitionSpec* Specs::At(const tree::Path& path) const {
  const Specs* at = Find(path);
  return at && at->parts_.empty() ? &at->spec_ : nullptr;
}

size_t Specs::PartsAt(const tree::Path& path) const {
  const Specs* at = Find(path);
  return at ? at->parts_.size() : 0;
}

std::vector<PartitionSpec> Specs::All() const {
  if (parts_.empty()) return {spec_};
  std::vector<PartitionSpec> all;
  for (const Specs& part : parts_)
    for (PartitionSpec& spec : part.All()) all.push_back(std::move(spec));
  return all;
}

namespace trace {
namespace {

using api::Call;

// The mesh with these axes (none: all) in `mode`.
const sharding::MeshDef* WithMode(const sharding::MeshDef* mesh, const AxisNames& names,
                                  AxisMode mode, Call call) {
  std::vector<AxisMode> modes;
  for (const MeshAxis& axis : mesh->axes()) modes.push_back(axis.mode);
  auto change = [&](size_t a) {
    if (modes[a] == AxisMode::Manual)
      api::FailSharding(call, 12,
                        fmt::format("axis \"{}\" is Manual: it cannot become Auto or Explicit",
                                    mesh->axes()[a].name),
                        {"name the other axes: .axes = {...}"});
    modes[a] = mode;
  };
  for (size_t a = 0; a < modes.size() && names.names().empty(); ++a) change(a);
  for (const std::string& name : names.names()) {
    int a = mesh->Find(name);
    if (a < 0)
      api::FailSharding(call, 1, fmt::format("the mesh {} has no axis \"{}\"", mesh->text(), name));
    change(static_cast<size_t>(a));
  }
  return mesh->WithModes(modes);
}

constexpr const char* kNestSpecs = "give one spec for all, or one for each, nested like the arrays";

const PartitionSpec& SpecOf(const Specs& specs, const tree::Path& path, const char* option,
                            Call call) {
  if (const PartitionSpec* spec = specs.At(path)) return *spec;
  std::string reason = fmt::format(".{} has no spec for one of the arrays", option);
  if (size_t parts = specs.PartsAt(path); parts > 0)
    reason = fmt::format(".{} has {} specs where there is one array", option, parts);
  api::FailSharding(call, 13, std::move(reason), {kNestSpecs});
}

// Specs that are left over are a mistake about what the function takes or returns.
void CheckParts(const Specs& specs, const PlacedLeaves& leaves, const char* option, Call call) {
  for (const auto& [path, parts] : leaves.nodes)
    if (size_t given = specs.PartsAt(path); given > parts)
      api::FailSharding(
          call, 16,
          parts == 1
              ? fmt::format(".{} has {} specs where there is 1 value", option, given)
              : fmt::format(".{} has {} specs where there are {} values", option, given, parts),
          {kNestSpecs});
}

// The array under `mesh`, laid out as its type says but for axes that are not Explicit there: they
// leave the type, not the array.
Array Under(const Array& x, const sharding::MeshDef* mesh, Call call) {
  const ArrayRef& ref = Use(x, call.name, call.loc);
  const ir::Type* type = ref->type();
  if (!type->mesh()) return x;
  sharding::TensorSharding s = type->sharding();
  s.mesh = mesh;
  auto hide = [&](sharding::AxisList& axes) {
    axes.erase(std::remove_if(axes.begin(), axes.end(),
                              [&](sharding::AxisRef a) {
                                return mesh->axes()[static_cast<size_t>(a.axis)].mode !=
                                       AxisMode::Explicit;
                              }),
               axes.end());
  };
  if (type->mesh()->axes().size() != mesh->axes().size())
    api::FailSharding(call, 10,
                      fmt::format("an array is on the mesh {}, but the current one is {}",
                                  type->mesh()->text(), mesh->text()));
  for (sharding::DimAxes& d : s.dims) hide(d.axes);
  hide(s.unreduced);
  hide(s.reduced);
  return api::Moved(x, std::move(s), call);
}

void CheckUsable(const PlacedLeaves& leaves, Call call) {
  for (const Array& x : leaves.arrays) Use(x, call.name, call.loc);
}

[[noreturn]] void FailMissing(const char* option, Call call) {
  api::FailSharding(call, 11, fmt::format(".{} must be given", option),
                    {fmt::format("write {{.{} = P(...)}}, or one spec per array", option)});
}

// What a spec says about the Auto axes of the mesh, or about the others.
PartitionSpec PartOf(const PartitionSpec& spec, const sharding::MeshDef* mesh, bool of_auto) {
  auto wanted = [&](const std::string& name) {
    bool is_auto = mesh->axes()[static_cast<size_t>(mesh->Find(name))].mode == AxisMode::Auto;
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

void CheckLiesAs(const Array& x, const sharding::TensorSharding& wanted, const PartitionSpec& spec,
                 Call call) {
  const ir::Type* type = api::TypeOf(x);
  const sharding::TensorSharding& s = type->sharding();
  if (s.dims == wanted.dims && s.unreduced == wanted.unreduced && s.reduced == wanted.reduced)
    return;
  api::FailSharding(
      call, 14,
      fmt::format("an argument has type {}, which is not laid out as .in_shardings says: {}",
                  type->text(), spec.text()),
      {"reshard the argument, or leave .in_shardings out: types carry it"});
}

// A program's arguments and results lie evenly, so what is asked of them must.
void CheckAtBorder(const PartitionSpec& spec, const sharding::TensorSharding& asked,
                   const ir::Shape& shape, const char* option, Call call) {
  using propagation::engine::AtBorder;
  const sharding::TensorSharding even = AtBorder(asked, shape, /*keep_sub_axes=*/true),
                                 kept = AtBorder(asked, shape, /*keep_sub_axes=*/false);
  for (size_t d = 0; d < shape.size(); ++d) {
    const sharding::AxisList& axes = asked.dims[d].axes;
    if (kept.dims[d].axes == axes) continue;
    sharding::TensorSharding edit = asked;
    edit.dims[d] = {.axes = even.dims[d].axes};
    std::string offer = fmt::format("write .{} = {}", option, sharding::ToSpec(edit).text());
    bool divides = even.dims[d].axes == axes;
    api::FailSharding(
        call, divides ? 17 : 7,
        divides ? fmt::format("dim {} is open: it keeps no part of an axis at the border", d)
                : fmt::format("dim {} of size {} does not divide into {} shards", d, shape[d],
                              sharding::SizeOf(axes)),
        {"spec: " + spec.text(), std::move(offer)});
  }
}

}  // namespace

std::vector<Array> LayOut(const Specs& specs, const PlacedLeaves& leaves, JitSide side, Loc loc) {
  Call call{"jit", loc};
  CheckUsable(leaves, call);
  bool in = side == JitSide::kIn;
  const char* option = in ? "in_shardings" : "out_shardings";
  const sharding::MeshDef* mesh = CurrentMesh() ? CurrentMesh() : api::MeshOf(leaves.arrays);
  CheckParts(specs, leaves, option, call);
  std::vector<Array> out;
  for (size_t i = 0; i < leaves.arrays.size(); ++i) {
    Array x = leaves.arrays[i];
    const PartitionSpec& spec = SpecOf(specs, leaves.paths[i], option, call);
    api::ResolveSpec(P(), 0, mesh, call);  // there must be a mesh
    if (spec.rank() > x.rank(loc))
      api::FailSharding(
          call, 15, fmt::format("the spec has {} dims, the array has {}", spec.rank(), x.rank(loc)),
          {"spec: " + spec.text()});
    sharding::Resolved all = sharding::Resolve(spec, mesh, x.rank(loc));
    if (all.problem) api::FailSharding(call, 1, all.problem->reason, {"spec: " + spec.text()});
    CheckAtBorder(spec, all.sharding, api::TypeOf(x)->shape(), option, call);
    PartitionSpec typed = PartOf(spec, mesh, false);
    if (in && api::TypeOf(x)->mesh())
      CheckLiesAs(x, *api::ResolveSpec(typed, x.rank(loc), mesh, call), typed, call);
    else
      x = reshard(x, typed, loc);
    bool hints = mesh->has_mode(AxisMode::Auto);
    out.push_back(hints ? api::Constrained(x, PartOf(spec, mesh, true), call) : x);
  }
  return out;
}

void CheckAxes(const Specs& specs, Loc loc) {
  const sharding::MeshDef* mesh = CurrentMesh();
  if (!mesh) return;
  for (const PartitionSpec& spec : specs.All()) {
    sharding::Resolved r = sharding::Resolve(spec, mesh, spec.rank());
    if (r.problem) api::FailSharding({"jit", loc}, 1, r.problem->reason, {"spec: " + spec.text()});
  }
}

void CheckDonate(const std::vector<int>& donate, size_t arguments, Loc loc) {
  for (size_t i = 0; i < donate.size(); ++i) {
    if (donate[i] < 0 || static_cast<size_t>(donate[i]) >= arguments)
      api::FailShape(
          {"jit", loc}, 17,
          fmt::format(".donate names argument {}, but the function takes {}", donate[i], arguments),
          {"arguments are counted from 0"});
    if (std::count(donate.begin(), donate.begin() + static_cast<long>(i), donate[i]) > 0)
      api::FailShape({"jit", loc}, 17, fmt::format(".donate names argument {} twice", donate[i]));
  }
}

std::vector<Array> CallAutoAxes(const AutoAxesOptions& options, const PlacedLeaves& arguments,
                                const LeafBody& body, Loc loc) {
  Call call{"auto_axes", loc};
  NestingScope nesting(call.name, loc);
  CheckUsable(arguments, call);
  const sharding::MeshDef* outer = CurrentMesh() ? CurrentMesh() : api::MeshOf(arguments.arrays);
  if (!outer) return body(arguments.arrays).arrays;
  const sharding::MeshDef* inner = WithMode(outer, options.axes, AxisMode::Auto, call);
  if (inner == outer) return body(arguments.arrays).arrays;
  if (!options.out_sharding.given()) FailMissing("out_sharding", call);
  PlacedLeaves results;
  {
    MeshDefScope scope(inner);
    std::vector<Array> inside;
    for (const Array& x : arguments.arrays) inside.push_back(Under(x, inner, call));
    results = body(inside);
  }
  CheckParts(options.out_sharding, results, "out_sharding", call);
  MeshDefScope scope(outer);
  for (size_t i = 0; i < results.arrays.size(); ++i)
    results.arrays[i] =
        reshard(results.arrays[i],
                SpecOf(options.out_sharding, results.paths[i], "out_sharding", call), loc);
  return results.arrays;
}

std::vector<Array> CallExplicitAxes(const ExplicitAxesOptions& options,
                                    const PlacedLeaves& arguments, const LeafBody& body, Loc loc) {
  Call call{"explicit_axes", loc};
  NestingScope nesting(call.name, loc);
  CheckUsable(arguments, call);
  if (!options.in_sharding.given()) FailMissing("in_sharding", call);
  const sharding::MeshDef* outer = CurrentMesh();
  if (!outer)
    api::FailSharding(call, 1, "there is no mesh in scope",
                      {"enter one with MeshScope scope(make_mesh({...}))"});
  const sharding::MeshDef* inner = WithMode(outer, options.axes, AxisMode::Explicit, call);
  CheckParts(options.in_sharding, arguments, "in_sharding", call);
  std::vector<Array> results;
  {
    MeshDefScope scope(inner);
    std::vector<Array> inside;
    for (size_t i = 0; i < arguments.arrays.size(); ++i)
      inside.push_back(reshard(arguments.arrays[i],
                               SpecOf(options.in_sharding, arguments.paths[i], "in_sharding", call),
                               loc));
    results = body(inside).arrays;
  }
  MeshDefScope scope(outer);
  for (Array& x : results) x = Under(x, outer, call);
  return results;
}

}  // namespace trace
}  // namespace tessera
