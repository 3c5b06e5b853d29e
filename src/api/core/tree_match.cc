// Compares trees, and the meshes of their arrays with the current one.
#include "api/core/tree_match.h"

#include <fmt/format.h>

#include <algorithm>

#include "api/core/regions.h"
#include "base/error.h"
#include "trace/apply.h"
#include "trace/scopes.h"

namespace tessera::api {

void CheckTree(Call call, const trace::Leaves& wanted, const trace::Leaves& came,
               const char* what) {
  const std::string difference = trace::DifferenceOf(wanted, came);
  if (!difference.empty())
    FailTrace(call, kTree, fmt::format("{} a different tree: {}", what, difference),
              {"return a tree with the same structure: equal sizes, field names, keys and plain "
               "numbers"});
}

void CheckArrays(Call call, int check, const std::vector<std::string>& wanted,
                 const std::vector<std::string>& came, const char* what,
                 std::vector<std::string> notes) {
  const std::string difference = trace::DifferenceOf(wanted, came);
  if (!difference.empty())
    FailTrace(call, check, fmt::format("{} a different tree: {}", what, difference),
              std::move(notes));
}

namespace {

// Whether the array is on another mesh than `current` and cannot enter it, so that ops refuse it.
bool IsOfOtherMesh(const Array& array, const sharding::MeshDef* current, Call call) {
  const sharding::MeshDef* mesh = trace::Use(array, call.name, call.loc)->type()->mesh();
  return mesh && mesh != current && !trace::CanEnter(mesh, current);
}

// Finds the first array of a tree that is on another mesh, and counts the arrays before it.
class MeshFinder final : public detail::Visitor {
 public:
  MeshFinder(const sharding::MeshDef* mesh, Call call) : current_(mesh), call_(call) {}
  void Leaf(Array& a) override {
    if (found) return;
    if (IsOfOtherMesh(a, current_, call_))
      found = &a;
    else
      ++before;
  }
  const Array* found = nullptr;
  size_t before = 0;  // number of arrays before `found`

 private:
  const sharding::MeshDef* const current_;
  const Call call_;
};

enum class Holder { kCall, kTree };  // an argument itself, or a tree among the arguments

[[noreturn]] void FailMesh(const Array& array, const sharding::MeshDef& current,
                           const std::string& name, Holder holder, Call call) {
  const ir::Type& type = *TypeOf(array);
  const sharding::MeshDef& mesh = *type.mesh();
  const bool manual = mesh.has_mode(AxisMode::Manual);
  ErrorDetail detail = base::Refusal(
      call.name, 10, base::Where(call.loc),
      manual ? name + " is a per-device value of a shard_map that has ended"
             : fmt::format("{} is on the mesh {}, but the current one is {}", name,
                           mesh.FullText(current), current.FullText(mesh)),
      {manual                    ? "return it from the function, with a spec in out_specs"
       : holder == Holder::kTree ? "move the whole tree before the call: x = reshard(x)"
                                 : "move it before the call: x = reshard(x, P(...))"});
  detail.operands = {Shown(name, type, array.impl()->loc())};
  base::ThrowSharding(std::move(detail));
}

}  // namespace

void CheckMeshes(const std::vector<Array>& arrays, const std::vector<std::string>& names,
                 Call call) {
  const sharding::MeshDef* current = trace::CurrentMesh();
  for (size_t i = 0; current && i < arrays.size(); ++i)
    if (IsOfOtherMesh(arrays[i], current, call))
      FailMesh(arrays[i], *current, names[i],
               names[i].find_first_of(".[") < names[i].size() ? Holder::kTree : Holder::kCall,
               call);
}

void CheckMeshes(detail::TreeRef arguments, Call call) {
  CheckMeshes(arguments, trace::CurrentMesh(), call);
}

void CheckMeshes(detail::TreeRef arguments, const sharding::MeshDef* current, Call call) {
  if (!current) return;
  MeshFinder finder(current, call);
  arguments.type->visit(arguments.tree, finder);
  if (!finder.found) return;
  // In a path such as "1.layers.0.w" the first level is the number of the argument.
  const std::string path = detail::NamesOf(arguments)[finder.before];
  const size_t dot = std::min(path.find('.'), path.size());
  const std::string argument = "argument " + path.substr(0, dot);
  if (dot == path.size()) FailMesh(*finder.found, *current, argument, Holder::kCall, call);
  FailMesh(*finder.found, *current, fmt::format("{} of {}", path.substr(dot + 1), argument),
           Holder::kTree, call);
}

}  // namespace tessera::api
