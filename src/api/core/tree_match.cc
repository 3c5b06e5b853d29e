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

void CheckNames(Call call, int check, const std::vector<std::string>& wanted,
                const std::vector<std::string>& came, const char* what,
                std::vector<std::string> notes) {
  const std::string difference = trace::DifferenceOf(wanted, came);
  if (!difference.empty())
    FailTrace(call, check, fmt::format("{} a different tree: {}", what, difference),
              std::move(notes));
}

namespace {

// Whether an array on `mesh` cannot enter `current`, so that ops refuse it.
bool IsOfOtherMesh(const sharding::MeshDef* mesh, const sharding::MeshDef* current) {
  return current && mesh && mesh != current && !trace::CanEnter(mesh, current);
}

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

void CheckArrays(const std::vector<Array>& arrays, const std::vector<std::string>& names,
                 Call call) {
  CheckArrays(arrays, names, trace::CurrentMesh(), call);
}

void CheckArrays(const std::vector<Array>& arrays, const std::vector<std::string>& names,
                 const sharding::MeshDef* current, Call call) {
  for (size_t i = 0; i < arrays.size(); ++i) {
    const trace::ArrayRef& array =
        trace::Use(arrays[i], call.name, call.loc, [&] { return names[i]; });
    if (IsOfOtherMesh(array->type()->mesh(), current))
      FailMesh(arrays[i], *current, names[i],
               names[i].find_first_of(".[") < names[i].size() ? Holder::kTree : Holder::kCall,
               call);
  }
}

namespace {

// Finds out whether an array of a tree is on another mesh.
class MeshFinder final : public detail::Visitor {
 public:
  explicit MeshFinder(const sharding::MeshDef* current) : current_(current) {}
  void Leaf(Array& a) override { found = found || IsOfOtherMesh(TypeOf(a)->mesh(), current_); }
  bool found = false;

 private:
  const sharding::MeshDef* const current_;
};

}  // namespace

void CheckArrays(detail::TreeRef arguments, Call call) {
  CheckArrays(arguments, trace::CurrentMesh(), call);
}

void CheckArrays(detail::TreeRef arguments, const sharding::MeshDef* current, Call call) {
  trace::UseAll(arguments, trace::kArguments, call.name, call.loc);
  if (!current) return;
  MeshFinder finder(current);
  arguments.type->visit(arguments.tree, finder);
  if (!finder.found) return;
  const trace::Leaves leaves = trace::TakeArguments(arguments);
  CheckArrays(leaves.arrays, leaves.names, current, call);
}

}  // namespace tessera::api
