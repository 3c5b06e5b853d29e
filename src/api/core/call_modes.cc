// Runs a function with axes of the mesh in another mode.
#include "api/core/call_modes.h"

#include <fmt/format.h>

#include <algorithm>

#include "api/core/reshard_to.h"
#include "api/core/specs.h"
#include "api/core/tree_match.h"
#include "base/at.h"
#include "trace/apply.h"
#include "trace/scopes.h"

namespace tessera::api {
namespace {

// Returns the mesh with these axes in `mode`; with all axes if none is named.
const sharding::MeshDef* WithMode(const sharding::MeshDef* mesh, const AxisNames& names,
                                  AxisMode mode, Call call) {
  std::vector<AxisMode> modes;
  for (const MeshAxis& axis : mesh->axes()) modes.push_back(axis.mode);
  auto change = [&](size_t a) {
    if (modes[a] == AxisMode::Manual)
      FailSharding(call, 12,
                   fmt::format("axis \"{}\" is Manual: it cannot become Auto or Explicit",
                               mesh->axes()[a].name),
                   {"name the other axes in .axes"});
    modes[a] = mode;
  };
  for (size_t a = 0; a < modes.size() && names.names().empty(); ++a) change(a);
  for (const std::string& name : names.names()) {
    int a = mesh->Find(name);
    if (a < 0)
      FailSharding(call, 1,
                   fmt::format("the mesh {} has no axis \"{}\"{}", mesh->text(), name,
                               mesh->DidYouMean(name)));
    change(base::Size(a));
  }
  return mesh->WithModes(modes);
}

// Returns the array with a type on `mesh`, which names only the axes that are Explicit there. The
// array stays sharded over the other axes: only its type does not name them.
Array Under(const Array& x, const sharding::MeshDef* mesh, Call call) {
  const ArrayRef& ref = trace::Use(x, call.name, call.loc);
  const ir::Type* type = ref->type();
  if (!type->mesh()) return x;
  if (type->mesh()->axes().size() != mesh->axes().size())
    FailSharding(call, 10,
                 fmt::format("an array is on the mesh {}, but the current one is {}",
                             type->mesh()->text(), mesh->text()));
  return Moved(x, trace::Under(type->sharding(), mesh), call);
}

std::vector<Array> UsableLeaves(detail::TreeRef arguments, Call call) {
  trace::UseAll(arguments, trace::kArguments, call.name, call.loc);
  return detail::LeavesOf(arguments);
}

// Returns the arrays of a tree, resharded to the specs of an option.
std::vector<Array> Resharded(std::vector<Array> arrays, detail::TreeRef tree, const Specs& specs,
                             Said said, Call call) {
  const std::vector<PartitionSpec> all = LeavesFor(specs, tree, said, call);
  for (size_t i = 0; i < arrays.size(); ++i)
    arrays[i] = ReshardNamed(arrays[i], all[i], call,
                             [&] { return trace::TakeArrays(tree, said.tree).names[i]; });
  return arrays;
}

[[noreturn]] void FailMissing(const char* option, Call call) {
  FailSharding(call, 11, fmt::format(".{} must be given", option),
               {"give one spec for all arrays, or one for each"});
}

}  // namespace

detail::FunctionResult CallAutoAxes(const detail::FunctionCall& function,
                                    const AutoAxesOptions& options) {
  const Loc loc = function.loc;
  const Call call{"auto_axes", loc};
  trace::NestingScope nesting(call.name, loc);
  const std::vector<Array> arguments = UsableLeaves(function.arguments, call);
  const sharding::MeshDef* outer = MeshInScope(arguments);
  CheckArrays(function.arguments, outer, call);
  if (!outer) return function.body(arguments);
  const sharding::MeshDef* inner = WithMode(outer, options.axes, AxisMode::Auto, call);
  if (inner == outer) return function.body(arguments);
  if (!options.out_sharding.given()) FailMissing("out_sharding", call);
  detail::FunctionResult result;
  {
    const trace::AutoMeshScope scope(inner);
    std::vector<Array> inside;
    inside.reserve(arguments.size());
    for (const Array& x : arguments) inside.push_back(Under(x, inner, call));
    result = function.body(inside);
  }
  trace::MeshDefScope scope(outer);
  result.arrays = Resharded(result.arrays, result.tree.ref(), options.out_sharding,
                            {.option = ".out_sharding", .tree = "result"}, call);
  return result;
}

detail::FunctionResult CallExplicitAxes(const detail::FunctionCall& function,
                                        const ExplicitAxesOptions& options) {
  const Loc loc = function.loc;
  const Call call{"explicit_axes", loc};
  trace::NestingScope nesting(call.name, loc);
  const std::vector<Array> arguments = UsableLeaves(function.arguments, call);
  if (!options.in_sharding.given()) FailMissing("in_sharding", call);
  const sharding::MeshDef* outer = trace::CurrentMesh();
  if (!outer) FailSharding(call, 1, "there is no mesh in scope", {"enter one with a MeshScope"});
  const sharding::MeshDef* inner = WithMode(outer, options.axes, AxisMode::Explicit, call);
  detail::FunctionResult result;
  {
    trace::MeshDefScope scope(inner);
    result = function.body(Resharded(arguments, function.arguments, options.in_sharding,
                                     {.option = ".in_sharding"}, call));
  }
  trace::MeshDefScope scope(outer);
  for (Array& x : result.arrays) x = Under(x, outer, call);
  return result;
}

std::vector<Array> InAutoAxes(const std::vector<Array>& xs, const Specs& out,
                              const InsideAutoAxes& f, Call call) {
  const detail::Body body = [&](const std::vector<Array>& inside) {
    std::vector<Array> made = f(inside);
    return detail::FunctionResult{made, detail::AnyTree::Of(made)};
  };
  std::vector<Array> arguments = xs;
  return CallAutoAxes({arguments, body, call.loc}, {.out_sharding = out}).arrays;
}

}  // namespace tessera::api
