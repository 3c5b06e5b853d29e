// Runs a computation over Manual axes.
#include "stablehlo/read/manual.h"

#include <absl/algorithm/container.h>

#include "api/core/manual_axes.h"
#include "base/at.h"
#include "tessera/shard_map.h"
#include "trace/scopes.h"

namespace tessera::stablehlo {

using sharding::AxisPart;
using sharding::MeshDef;
using sharding::TensorSharding;

namespace {

template <class F>
void Keep(TensorSharding& s, F keeps) {
  const auto drop = [&](sharding::AxisList& axes) {
    axes.erase(std::remove_if(axes.begin(), axes.end(), [&](AxisPart a) { return !keeps(a); }),
               axes.end());
  };
  for (sharding::DimAxes& d : s.dims) drop(d.axes);
  drop(s.replicated);
  drop(s.unreduced);
}

// Axes that are Manual around a computation are not part of constraints on its operands.
TensorSharding Outside(TensorSharding s) {
  const MeshDef* now = trace::CurrentMesh();
  Keep(s, [&](AxisPart a) { return base::At(now->axes(), a.axis).mode != AxisMode::Manual; });
  return s;
}

}  // namespace

bool ManualComputation::IsManual(const MeshDef& mesh, AxisPart part) const {
  return absl::c_linear_search(axes, base::At(mesh.axes(), part.axis).name);
}

Specs ManualComputation::SpecsOf(const std::vector<TensorSharding>& all, bool of_arguments) const {
  std::vector<Specs> specs;
  for (TensorSharding s : all) {
    Keep(s, [&](AxisPart a) { return IsManual(*s.mesh, a); });
    for (sharding::DimAxes& d : s.dims) d.open = false, d.priority = -1;
    s.replicated.clear();
    specs.emplace_back(sharding::ToSpec(s));
  }
  if (specs.empty()) return P();
  return of_arguments ? Specs(std::vector<Specs>{Specs(std::move(specs))})
                      : Specs(std::move(specs));
}

Array ManualComputation::AsClaimed(const Array& x, const TensorSharding& out, Loc loc) const {
  std::vector<AxisRef> claimed;
  for (AxisPart a : api::VaryingOf(*api::TypeOf(x))) {
    const auto shards = [&](const sharding::DimAxes& d) {
      return absl::c_any_of(d.axes, [&](AxisPart b) { return b.axis == a.axis; });
    };
    if (IsManual(*out.mesh, a) && !absl::c_any_of(out.dims, shards))
      claimed.emplace_back(api::AxisName(a));
  }
  return claimed.empty() ? x : assume_invariant(x, AxisSet(claimed), loc);
}

Arrays ManualComputation::Run(const Importer& importer, const Arrays& operands,
                              const std::function<Arrays(const Arrays&)>& body,
                              api::Call call) const {
  if (axes.empty()) return body(operands);
  Arrays arguments;
  for (size_t k = 0; k < ins.size(); ++k)
    arguments.push_back(importer.Constrained(operands[k], Outside(ins[k]), call));
  const auto local = [&](Arrays own) {
    Arrays results = body(own);
    for (size_t k = 0; k < results.size() && k < outs.size(); ++k)
      results[k] = AsClaimed(results[k], outs[k], call.loc);
    return results;
  };
  const ShardMapOptions options{
      .in_specs = SpecsOf(ins, true), .out_specs = SpecsOf(outs, false), .axes = AxisNames(axes)};
  Arrays results = arguments.empty()
                       ? shard_map([&] { return local({}); }, options, call.loc)(call.loc)
                       : shard_map(local, options, call.loc)(arguments, call.loc);
  for (size_t k = 0; k < results.size(); ++k)
    results[k] = importer.Constrained(results[k], Outside(outs[k]), call);
  return results;
}

}  // namespace tessera::stablehlo
