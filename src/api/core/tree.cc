// Functions on trees: map, unflatten, reshard and eval_shape.
#include "tessera/tree.h"

#include <fmt/format.h>

#include "api/core/operands.h"
#include "api/core/reshard_to.h"
#include "api/core/specs.h"
#include "api/core/tree_match.h"
#include "base/at.h"
#include "base/error.h"
#include "tessera/transforms.h"
#include "trace/function.h"
#include "trace/inline.h"
#include "trace/key_reuse.h"
#include "trace/scopes.h"

namespace tessera::detail {

using namespace api;

void MapTrees(std::initializer_list<TreeRef> trees, const MapFunction& f) {
  const Call call{f.map, f.loc};
  const TreeRef first = *trees.begin();
  const std::vector<std::string> names = NamesOf(first);
  std::vector<trace::Leaves> columns;
  for (const TreeRef& tree : trees) {
    columns.push_back(trace::TakeArrays(tree, "tree"));
    CheckNames(call, 2, columns[0].names, columns.back().names,
               fmt::format("tree {}, counted from 0, is", columns.size() - 1).c_str(),
               {"map over trees whose arrays have the same names"});
  }
  std::vector<Array> mapped, row(columns.size());
  for (size_t i = 0; i < names.size(); ++i) {
    for (size_t k = 0; k < columns.size(); ++k) row[k] = columns[k].arrays[i];
    mapped.push_back(f.call(f.function, names[i], row.data()));
  }
  Replace(first, mapped);
}

void Unflatten(TreeRef tree, const std::vector<Array>& leaves, Loc loc) {
  const size_t wanted = LeavesOf(tree).size();
  if (leaves.size() != wanted)
    FailTrace({"tree_unflatten", loc}, 1,
              fmt::format("the tree has {}, but {} are given", base::CountText(wanted, "array"),
                          leaves.size()),
              {"give one array for each of tree_names(tree)"});
  Replace(tree, leaves);
}

namespace {

constexpr char kTreeName[] = "tree";  // of the tree that is resharded, in messages

// Returns the spec of the array's type, without axes that are not Explicit on the current mesh.
PartitionSpec OwnSpec(const Array& x) {
  const sharding::MeshDef* mesh = MeshInScope({x});
  const auto kept = [&](std::vector<AxisRef> axes) {
    std::erase_if(axes, [&](const AxisRef& a) {
      const int i = mesh ? mesh->Find(a.name) : -1;
      return i >= 0 && base::At(mesh->axes(), i).mode != AxisMode::Explicit;
    });
    return axes;
  };
  const PartitionSpec spec = sharding::ToSpec(TypeOf(x)->sharding());
  std::vector<DimSharding> dims;
  for (const DimSharding& d : spec.dims()) dims.emplace_back(kept(d.axes()));
  return PartitionSpec(std::move(dims))
      .unreduced(kept(spec.unreduced_axes()), spec.reduction())
      .reduced(kept(spec.reduced_axes()));
}

}  // namespace

void ReshardTree(TreeRef tree, const Specs& specs, Loc loc) {
  const Call call{"reshard", loc};
  trace::UseAll(tree, kTreeName, call.name, loc);
  std::vector<Array> arrays = LeavesOf(tree);
  std::vector<PartitionSpec> given;
  if (specs.given())
    given = LeavesFor(specs, tree, {.option = "the list of specs", .tree = kTreeName}, call);
  for (size_t i = 0; i < arrays.size(); ++i)
    arrays[i] = ReshardNamed(arrays[i], specs.given() ? given[i] : OwnSpec(arrays[i]), call,
                             [&] { return trace::TakeArrays(tree, kTreeName).names[i]; });
  Replace(tree, arrays);
}

void ReshardTree(TreeRef tree, const ParameterSpecs& specs, Loc loc) {
  const Call call{"reshard", loc};
  trace::UseAll(tree, kTreeName, call.name, loc);
  std::vector<Array> arrays = LeavesOf(tree);
  const std::vector<std::string> names = NamesOf(tree);
  for (size_t i = 0; i < arrays.size(); ++i)
    arrays[i] = ReshardNamed(arrays[i], specs(names[i], arrays[i]), call,
                             [&] { return trace::TakeArrays(tree, kTreeName).names[i]; });
  Replace(tree, arrays);
}

FunctionResult EvalShape(const FunctionCall& f) {
  const Call call{"eval_shape", f.loc};
  CheckArrays(f.arguments, call);
  std::vector<trace::Parameter> parameters;
  for (const ArrayRef& a : RefsOf(f.arguments, call)) parameters.push_back(trace::LikeArray(a));
  const trace::UsesNoKeysScope types_alone;
  trace::TracedFunction traced =
      trace::TraceFunction(parameters, f.body, call.name, call.loc, trace::CurrentTrace());
  return {trace::AbstractOutputs(traced.program, call.loc), std::move(traced.tree)};
}

}  // namespace tessera::detail
