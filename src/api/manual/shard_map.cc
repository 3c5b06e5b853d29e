// shard_map: splits arguments into one part per device, and joins the results.
#include "tessera/shard_map.h"

#include <absl/algorithm/container.h>
#include <fmt/format.h>

#include <algorithm>

#include "api/core/manual_axes.h"
#include "api/core/operands.h"
#include "api/core/regions.h"
#include "api/core/specs.h"
#include "api/core/tree_match.h"
#include "base/at.h"
#include "base/error.h"
#include "ir/mapped_axes.h"
#include "trace/apply.h"
#include "trace/scopes.h"
#include "trace/tree.h"

namespace tessera {

using namespace api;

namespace {

using sharding::AxisList;
using sharding::MeshDef;
using sharding::TensorSharding;

constexpr Said kIn{".in_specs"}, kOut{.option = ".out_specs", .tree = "result"};

const MeshAxis& AxisOf(const MeshDef* mesh, sharding::AxisPart a) {
  return base::At(mesh->axes(), a.axis);
}

// The border of a shard_map: the meshes outside and inside, and the axes that become Manual.
struct MapBorder {
  Call call;
  const MeshDef *outer, *inner = nullptr;
  AxisList axes = {};  // Manual inside and not outside, including those of size 1

  bool is_manual(sharding::AxisPart a) const {
    return absl::c_any_of(axes, [&](sharding::AxisPart b) { return a.axis == b.axis; });
  }
  // Whether all axes are Explicit outside and Manual inside.
  bool is_full_explicit() const {
    return outer->all_mode(AxisMode::Explicit) && inner->all_mode(AxisMode::Manual);
  }
  AxisList Only(const AxisList& list) const {
    AxisList out;
    for (sharding::AxisPart a : list)
      if (is_manual(a)) out.push_back(a);
    return out;
  }
};

const MeshDef* FindMesh(const ShardMapOptions& options, const std::vector<Array>& arguments,
                        Call call) {
  const MeshDef* current = MeshInScope(arguments);
  if (options.mesh.empty()) {
    if (!current)
      FailSharding(call, 1, "there is no mesh in scope",
                   {"enter one with a MeshScope, or give .mesh"});
    return current;
  }
  if (current && options.mesh.def() != current)
    FailSharding(call, 10,
                 fmt::format(".mesh is {}, but the current one is {}", options.mesh.def()->text(),
                             current->text()),
                 {"leave .mesh out, or enter that mesh with a MeshScope"});
  return options.mesh.def();
}

MapBorder BorderOf(const ShardMapOptions& options, const std::vector<Array>& arguments, Call call) {
  MapBorder border{.call = call, .outer = FindMesh(options, arguments, call)};
  std::vector<AxisMode> modes;
  for (const MeshAxis& axis : border.outer->axes()) modes.push_back(axis.mode);
  const auto take = [&](int a) {
    base::At(modes, a) = AxisMode::Manual;
    border.axes.push_back(sharding::WholeAxis(*border.outer, a));
  };
  for (const std::string& name : options.axes.names()) {
    const int a = border.outer->Find(name);
    if (a < 0)
      FailSharding(call, 1,
                   fmt::format("the mesh {} has no axis \"{}\"{}", border.outer->text(), name,
                               border.outer->DidYouMean(name)));
    if (base::At(border.outer->axes(), a).mode == AxisMode::Manual)
      FailSharding(call, 12, fmt::format("axis \"{}\" is Manual already", name),
                   {"a shard_map inside of another takes other axes"});
    if (base::At(modes, a) == AxisMode::Manual)
      FailSharding(call, 12, fmt::format("axis \"{}\" is named twice", name));
    take(a);
  }
  if (options.axes.names().empty())
    for (int a = 0; a < border.outer->rank(); ++a)
      if (base::At(modes, a) != AxisMode::Manual &&
          !ir::IsMappedAxis(base::At(border.outer->axes(), a).name))
        take(a);
  if (border.axes.empty())
    FailSharding(call, 12,
                 "all axes of the mesh are Manual already, or a mapped dim is sharded over them",
                 {"a shard_map inside of another, or of vmap, takes other axes"});
  border.inner = border.outer->WithModes(modes);
  return border;
}

// C25: refuses a spec that names an axis that does not become Manual.
void CheckSpecAxes(const PartitionSpec& spec, const MapBorder& b, Said said) {
  const auto check = [&](const AxisRef& ref) {
    const int a = b.outer->Find(ref.name);
    if (a < 0)
      FailSharding(b.call, 1,
                   fmt::format("the mesh {} has no axis \"{}\"{}", b.outer->text(), ref.name,
                               b.outer->DidYouMean(ref.name)),
                   {fmt::format("{}: {}", said.option, spec.text())});
    if (!b.is_manual(sharding::WholeAxis(*b.outer, a)))
      FailSharding(b.call, 25,
                   fmt::format("{} names axis \"{}\", which does not become Manual here",
                               said.option, ref.name),
                   {"spec: " + spec.text(), "add it to .axes, or leave it out of the spec"});
  };
  for (const DimSharding& d : spec.dims()) {
    for (const AxisRef& a : d.axes()) check(a);
    if (d.open())
      FailSharding(b.call, 2, "specs at the border of shard_map cannot have open dims",
                   {"spec: " + spec.text()});
  }
  for (const AxisRef& a : spec.unreduced_axes()) check(a);
  for (const AxisRef& a : spec.reduced_axes()) check(a);
  for (const AxisRef& a : spec.replicated_axes()) check(a);
}

// C34, C16: refuses an unreduced or reduced spec unless all axes are Explicit outside and
// Manual inside.
void CheckSets(const PartitionSpec& spec, const MapBorder& b, Said said) {
  if (spec.unreduced_axes().empty() && spec.reduced_axes().empty()) return;
  if (!b.inner->all_mode(AxisMode::Manual))
    FailSharding(
        b.call, 34,
        fmt::format("{} is unreduced or reduced, but some axes are not Manual inside", said.option),
        {"spec: " + spec.text(), "make all axes Manual: leave .axes out"});
  if (!b.outer->all_mode(AxisMode::Explicit))
    FailSharding(b.call, 16,
                 fmt::format("{} can be unreduced or reduced over Explicit axes only", said.option),
                 {"spec: " + spec.text()});
}

TensorSharding Lookup(const PartitionSpec& spec, const MapBorder& b, int rank, Said said) {
  CheckSpecAxes(spec, b, said);
  CheckSets(spec, b, said);
  sharding::Resolved r = sharding::Resolve(spec, b.outer, rank);
  if (!r.problem) {
    r.sharding.replicated.clear();
    return r.sharding;
  }
  const std::string given = fmt::format("{}: {}", said.option, spec.text());
  if (r.problem->check == "rank") FailShape(b.call, 15, r.problem->reason, {given});
  FailSharding(b.call, 1, r.problem->reason, {given});
}

ir::ParamsPtr ParamsOf(const TensorSharding& cut) {
  ops::ManualParams params;
  AxisList axes;
  for (size_t d = 0; d < cut.dims.size(); ++d)
    for (sharding::AxisPart a : cut.dims[d].axes) {
      axes.push_back(a);
      params.dims.push_back(static_cast<int64_t>(d));
    }
  params.axes = ops::NamesOf(cut.mesh, axes);
  return ir::MakeParams(std::move(params));
}

AxisList CutAxes(const TensorSharding& s) {
  AxisList axes;
  for (const sharding::DimAxes& d : s.dims) sharding::AddTo(axes, d.axes);
  return axes;
}

// ---- inward ----

// Returns the spec that an argument has by its type. C35: axes that become Manual are the major
// axes of their dims.
TensorSharding Inferred(const ir::Type* type, const MapBorder& b) {
  for (sharding::AxisPart a : b.axes)
    if (AxisOf(b.outer, a).mode != AxisMode::Explicit)
      FailSharding(
          b.call, 11,
          fmt::format(".in_specs must be given: axis \"{}\" is {}, so types do not say how "
                      "arguments are laid out",
                      AxisOf(b.outer, a).name,
                      AxisOf(b.outer, a).mode == AxisMode::Auto ? "Auto" : "Manual"),
          {"give one spec for all arrays, or one for each"});
  TensorSharding s = sharding::Replicated(b.outer, type->rank());
  if (!type->mesh()) return s;
  for (size_t d = 0; d < s.dims.size(); ++d) {
    const AxisList& axes = type->sharding().dims[d].axes;
    s.dims[d].axes = b.Only(axes);
    if (!sharding::IsPrefix(s.dims[d].axes, axes))
      FailSharding(
          b.call, 35,
          fmt::format(
              "dim {} of {} is sharded over an axis that becomes Manual but is not its major axis",
              d, type->text()),
          {"give .in_specs, which reshards the argument"});
  }
  s.unreduced = b.Only(type->sharding().unreduced);
  s.reduced = b.Only(type->sharding().reduced);
  s.kind = s.unreduced.empty() ? Reduction::kSum : type->sharding().kind;
  return s;
}

// C4: if all axes are Explicit outside and Manual inside, refuses specs that differ from the types,
// because nothing moves.
void CheckAsTyped(const ir::Type* type, const TensorSharding& given, const std::string& name,
                  const MapBorder& b) {
  if (!type->mesh() || !b.is_full_explicit()) return;
  const TensorSharding& own = type->sharding();
  if (own.dims == given.dims && own.unreduced == given.unreduced && own.reduced == given.reduced &&
      own.kind == given.kind)
    return;
  const std::string spec = sharding::ToSpec(given).text();
  FailSharding(b.call, 4,
               fmt::format(".in_specs {} does not match the layout of {}: it is {}", spec, name,
                           type->text()),
               {"lay it out first: " + ReshardCode(name, sharding::ToSpec(given)),
                "or leave .in_specs out: each device then gets its shard of the argument"});
}

// C36: refuses a spec that changes the axes over which an argument is unreduced or reduced.
void CheckSameSets(const ir::Type* type, const TensorSharding& given, const std::string& name,
                   const MapBorder& b) {
  if (!type->mesh()) return;
  const TensorSharding& own = type->sharding();
  if (b.Only(own.unreduced) == given.unreduced && b.Only(own.reduced) == given.reduced &&
      (given.unreduced.empty() || own.kind == given.kind))
    return;
  FailSharding(
      b.call, 36,
      fmt::format("the unreduced or reduced axes of .in_specs {} differ from those of {}, {}",
                  sharding::ToSpec(given).text(), name, type->text()));
}

// Throws C7, and offers the spec with the axes that divide the dim.
[[noreturn]] void FailUnevenParts(const ir::Type* type, const TensorSharding& cut, size_t d,
                                  const std::string& name, Call call) {
  TensorSharding even = cut;
  even.dims[d].axes = sharding::PrefixThatDivides(cut.dims[d].axes, type->shape()[d]);
  FailSharding(
      call, 7,
      fmt::format("dim {} of {}, {}, cannot be divided evenly into {} parts", d, name, type->text(),
                  sharding::SizeOf(cut.dims[d].axes)),
      {".in_specs: " + sharding::ToSpec(cut).text(), "write " + sharding::ToSpec(even).text()});
}

Array Entering(const Array& x, const TensorSharding& cut, const std::string& name,
               const MapBorder& b) {
  const ir::Type* type = TypeOf(x);
  base::Shape shape = type->shape();
  TensorSharding inside = sharding::Replicated(b.inner, type->rank());
  for (size_t d = 0; d < shape.size(); ++d) {
    const int64_t parts = sharding::SizeOf(cut.dims[d].axes);
    if (shape[d] % parts != 0) FailUnevenParts(type, cut, d, name, b.call);
    shape[d] /= parts;
    if (!type->mesh()) continue;
    for (sharding::AxisPart a : type->sharding().dims[d].axes)
      if (!b.is_manual(a)) inside.dims[d].axes.push_back(a);
  }
  if (type->mesh()) inside.TakeSets(type->sharding());
  sharding::AddTo(inside.varying, CutAxes(cut));
  const int uneven = sharding::FirstUnevenDim(inside, shape);
  if (uneven >= 0)
    FailSharding(b.call, 7,
                 fmt::format("dim {} of a device's part has size {}, which its {} shards do not "
                             "divide",
                             uneven, base::At(shape, uneven),
                             sharding::SizeOf(base::At(inside.dims, uneven).axes)),
                 {name + ": " + type->text(), ".in_specs: " + sharding::ToSpec(cut).text()});
  return ApplyManual(ops::kFullToShard, ParamsOf(cut), x,
                     ir::Type::Get(std::move(shape), type->dtype(), std::move(inside)), b.call);
}

// ---- outward ----

// C24: refuses a result that varies over axes along which it is not joined. C36: refuses a spec
// that changes the axes over which it is unreduced or reduced.
void CheckStates(const Array& x, const TensorSharding& joined, const PartitionSpec& written,
                 const std::string& name, const MapBorder& b) {
  const TensorSharding& own = TypeOf(x)->sharding();
  const std::string spec = written.text();
  const auto refuse = [&](int check, std::string reason, std::vector<std::string> notes) {
    ErrorDetail detail = base::Refusal(b.call.name, check, base::Where(b.call.loc),
                                       std::move(reason), std::move(notes));
    detail.operands = {Shown(name, *TypeOf(x), x.impl()->loc())};
    base::ThrowSharding(std::move(detail));
  };
  if (b.Only(own.unreduced) != joined.unreduced || b.Only(own.reduced) != joined.reduced ||
      (!joined.unreduced.empty() && own.kind != joined.kind))
    refuse(36,
           fmt::format("the unreduced or reduced axes of .out_specs {} differ from those of {}",
                       spec, InSentence(name)),
           {"sum the result with psum, or add .unreduced or .reduced to the spec"});
  const AxisList left = sharding::Difference(b.Only(own.varying), CutAxes(joined));
  if (left.empty()) return;
  const std::string axes = sharding::AxesCode(b.outer, left);
  refuse(24,
         fmt::format(".out_specs {} says that all devices along {} have the same {}, but it varies",
                     spec, axes, name),
         {fmt::format("name the axes in .out_specs, or make it the same: psum({}, {})", name, axes),
          "if you know it is the same, use assume_invariant"});
}

// Returns a result joined by its spec. C37: Explicit axes of the spec are in its type outside, Auto
// axes are not.
Array Leaving(const Array& result, const PartitionSpec& spec, const std::string& name,
              const MapBorder& b) {
  Array x = trace::Enter(trace::Use(result, b.call.name, b.call.loc, [&] { return name; }),
                         b.call.name, b.call.loc);
  if (spec.rank() > TypeOf(x)->rank())
    FailShape(b.call, 15,
              fmt::format(".out_specs {} has {} dims, but {}, {}, has {}", spec.text(), spec.rank(),
                          InSentence(name), TypeOf(x)->text(), TypeOf(x)->rank()),
              {"parts are joined along a dim: give the result one, of size 1, with expand_dims"});
  const TensorSharding joined = Lookup(spec, b, TypeOf(x)->rank(), kOut);
  if (!TypeOf(x)->mesh() && joined.trivial()) return x;
  if (TypeOf(x)->mesh() && TypeOf(x)->mesh() != b.inner)
    FailSharding(b.call, 10,
                 fmt::format("{} is on the mesh {}, but the one inside is {}", InSentence(name),
                             TypeOf(x)->mesh()->text(), b.inner->text()));
  CheckStates(x, joined, spec, name, b);
  x = AsVarying(x, CutAxes(joined), b.call);
  const ir::Type* type = TypeOf(x);
  base::Shape shape = type->shape();
  TensorSharding outside = sharding::Replicated(b.outer, type->rank());
  if (type->mesh()) outside.TakeSets(type->sharding());
  outside.varying = sharding::Difference(outside.varying, CutAxes(joined));
  for (size_t d = 0; d < shape.size(); ++d) {
    shape[d] *= sharding::SizeOf(joined.dims[d].axes);
    for (sharding::AxisPart a : joined.dims[d].axes)
      if (AxisOf(b.outer, a).mode == AxisMode::Explicit) outside.dims[d].axes.push_back(a);
    if (!type->mesh()) continue;
    for (sharding::AxisPart a : type->sharding().dims[d].axes) outside.dims[d].axes.push_back(a);
  }
  return ApplyManual(ops::kShardToFull, ParamsOf(joined), x,
                     ir::Type::Get(std::move(shape), type->dtype(), std::move(outside)), b.call);
}

std::vector<Array> EnteringAll(const trace::Leaves& leaves, detail::TreeRef tree,
                               const Specs& specs, const MapBorder& b) {
  const std::vector<Array>& arguments = leaves.arrays;
  std::vector<PartitionSpec> given;
  if (specs.given()) given = LeavesFor(specs, tree, kIn, b.call);
  std::vector<Array> inside;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const ir::Type* type = TypeOf(arguments[i]);
    TensorSharding cut;
    if (specs.given()) {
      const PartitionSpec& spec = given[i];
      if (spec.rank() > type->rank())
        FailShape(b.call, 15,
                  fmt::format(".in_specs {} has {} dims, but {}, {}, has {}", spec.text(),
                              spec.rank(), leaves.names[i], type->text(), type->rank()));
      cut = Lookup(spec, b, type->rank(), kIn);
      CheckAsTyped(type, cut, leaves.names[i], b);
      CheckSameSets(type, cut, leaves.names[i], b);
    } else {
      cut = Inferred(type, b);
    }
    inside.push_back(Entering(arguments[i], cut, leaves.names[i], b));
  }
  return inside;
}

}  // namespace

namespace detail {

FunctionResult ShardMap::Call(const FunctionCall& function) const {
  const api::Call call{"shard_map", function.loc};
  trace::NestingScope nesting(call.name, function.loc);
  trace::UseAll(function.arguments, trace::kArguments, call.name, call.loc);
  trace::Leaves leaves = trace::TakeArguments(function.arguments);
  std::vector<Array>& arguments = leaves.arrays;
  const MapBorder border = BorderOf(options, arguments, call);
  if (!options.out_specs.given())
    FailSharding(call, 11, ".out_specs must be given",
                 {"give one spec for all arrays, or one for each"});
  CheckArrays(function.arguments, border.outer, call);
  for (Array& x : arguments) x = trace::Enter(x.impl(), call.name, call.loc);
  FunctionResult result;
  {
    trace::MeshDefScope scope(border.inner);
    result = function.body(EnteringAll(leaves, function.arguments, options.in_specs, border));
  }
  {
    trace::MeshDefScope scope(border.inner);
    const std::vector<PartitionSpec> specs =
        LeavesFor(options.out_specs, result.tree.ref(), kOut, call);
    const std::vector<std::string> names = trace::TakeArrays(result.tree.ref(), "result").names;
    for (size_t i = 0; i < result.arrays.size(); ++i)
      result.arrays[i] = Leaving(result.arrays[i], specs[i], names[i], border);
  }
  return result;
}

}  // namespace detail
}  // namespace tessera
