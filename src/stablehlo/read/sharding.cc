// Operations of sdy: constraints, manual computations and moves. They do not change values.
#include <absl/algorithm/container.h>

#include "api/core/manual_axes.h"
#include "base/at.h"
#include "stablehlo/read/importer.h"
#include "tessera/shard_map.h"
#include "trace/scopes.h"

namespace tessera::stablehlo {
namespace {

Array ConstrainedBy(const OpCall& c, const Array& x, std::string_view name) {
  const Attribute* sharding = c.op().Find(name);
  if (!sharding || !c.importer().mesh()) return x;
  return c.importer().Constrained(x, c.importer().ShardingOf(*sharding), c.call());
}

Arrays Constraint(OpCall& c) { return {ConstrainedBy(c, c.In(0), "sharding")}; }

// A collective of sdy moves between shardings of one value.
Arrays Collective(OpCall& c) { return {ConstrainedBy(c, c.In(0), "out_sharding")}; }

Arrays Same(OpCall& c) { return c.in; }

// Values of one group are sharded alike. Propagation of programs has no groups.
Arrays Group(OpCall&) { return {}; }

Arrays NamedComputation(OpCall& c) { return c.RunRegion(0, c.in); }

// The names of the axes that become Manual, and the shardings of arguments and results.
class ManualComputation {
 public:
  explicit ManualComputation(const OpCall& c) : c_(c), mesh_(c.importer().mesh()) {
    if (!mesh_) c.Fail("the module has no mesh");
    for (const std::string& name : NamesIn(c.Word("manual_axes"))) {
      const int axis = mesh_->Find(name);
      if (axis < 0) c.Fail("the mesh has no axis \"" + name + "\"");
      axes_.push_back(name);
      is_manual_.resize(base::Size(mesh_->rank()));
      is_manual_[base::Size(axis)] = true;
    }
    is_manual_.resize(base::Size(mesh_->rank()));
  }

  Arrays Run() {
    const std::vector<sharding::TensorSharding> ins = Shardings("in_shardings"),
                                                outs = Shardings("out_shardings");
    if (ins.size() != c_.in.size() || outs.size() != c_.op().result_types.size())
      c_.Fail("it needs a sharding for each operand and each result");
    if (axes_.empty()) return c_.RunRegion(0, c_.in);
    Arrays arguments;
    for (size_t k = 0; k < ins.size(); ++k)
      arguments.push_back(c_.importer().Constrained(c_.in[k], Outside(ins[k]), c_.call()));
    const auto body = [&](const Arrays& local) {
      Arrays results = c_.RunRegion(0, local);
      for (size_t k = 0; k < results.size() && k < outs.size(); ++k)
        results[k] = AsClaimed(results[k], outs[k]);
      return results;
    };
    const ShardMapOptions options{.in_specs = SpecsOf(ins, true),
                                  .out_specs = SpecsOf(outs, false),
                                  .axes = AxisNames(axes_)};
    Arrays results = arguments.empty() ? shard_map([&] { return body({}); }, options, c_.loc())()
                                       : shard_map(body, options, c_.loc())(arguments);
    for (size_t k = 0; k < results.size(); ++k)
      results[k] = c_.importer().Constrained(results[k], Outside(outs[k]), c_.call());
    return results;
  }

 private:
  static std::vector<std::string> NamesIn(std::string_view text) {
    std::vector<std::string> names;
    for (size_t at = text.find('"'); at != std::string_view::npos; at = text.find('"', at + 1)) {
      const size_t end = text.find('"', at + 1);
      names.emplace_back(text.substr(at + 1, end - at - 1));
      at = end;
    }
    return names;
  }
  std::vector<sharding::TensorSharding> Shardings(std::string_view name) const {
    std::vector<sharding::TensorSharding> all;
    const Attribute* list = c_.op().Find(name);
    if (list)
      for (const Attribute& item : list->items()) all.push_back(c_.importer().ShardingOf(item));
    return all;
  }
  // Axes that are Manual around this computation are not part of constraints.
  sharding::TensorSharding Outside(sharding::TensorSharding s) const {
    const sharding::MeshDef* now = trace::CurrentMesh();
    Keep(s, [&](sharding::AxisPart a) {
      return base::At(now->axes(), a.axis).mode == AxisMode::Auto;
    });
    return s;
  }
  template <class F>
  static void Keep(sharding::TensorSharding& s, F keeps) {
    const auto drop = [&](sharding::AxisList& axes) {
      axes.erase(std::remove_if(axes.begin(), axes.end(), [&](auto a) { return !keeps(a); }),
                 axes.end());
    };
    for (sharding::DimAxes& d : s.dims) drop(d.axes);
    drop(s.replicated);
    drop(s.unreduced);
  }
  bool IsManual(sharding::AxisPart a) const { return is_manual_[base::Size(a.axis)]; }
  Specs SpecsOf(const std::vector<sharding::TensorSharding>& all, bool arguments) const {
    std::vector<Specs> specs;
    for (sharding::TensorSharding s : all) {
      Keep(s, [&](sharding::AxisPart a) { return IsManual(a); });
      for (sharding::DimAxes& d : s.dims) d.open = false, d.priority = -1;
      s.replicated.clear();
      specs.emplace_back(sharding::ToSpec(s));
    }
    if (specs.empty()) return P();
    return arguments ? Specs(std::vector<Specs>{Specs(std::move(specs))}) : Specs(std::move(specs));
  }
  // The text claims that a result is replicated over manual axes that its sharding does not name.
  Array AsClaimed(const Array& x, const sharding::TensorSharding& out) const {
    std::vector<AxisRef> claimed;
    for (sharding::AxisPart a : api::VaryingOf(*api::TypeOf(x))) {
      const auto shards = [&](const sharding::DimAxes& d) {
        return absl::c_any_of(d.axes, [&](auto b) { return b.axis == a.axis; });
      };
      if (IsManual(a) && !absl::c_any_of(out.dims, shards)) claimed.emplace_back(api::AxisName(a));
    }
    return claimed.empty() ? x : assume_invariant(x, AxisSet(claimed), c_.loc());
  }

  const OpCall& c_;
  const sharding::MeshDef* mesh_;
  std::vector<std::string> axes_;
  std::vector<bool> is_manual_;
};

Arrays Manual(OpCall& c) { return ManualComputation(c).Run(); }

}  // namespace

std::vector<OpReader> ShardingReaders() {
  return {
      {"sdy.all_gather", Collective},
      {"sdy.all_reduce", Collective},
      {"sdy.all_slice", Collective},
      {"sdy.all_to_all", Collective},
      {"sdy.collective_permute", Collective},
      {"sdy.data_flow_edge", Same},
      {"sdy.manual_computation", Manual},
      {"sdy.named_computation", NamedComputation},
      {"sdy.propagation_barrier", Same},
      {"sdy.reduce_scatter", Collective},
      {"sdy.replicated_to_unreduced", Collective},
      {"sdy.reshard", Constraint},
      {"sdy.sharded_to_unreduced", Collective},
      {"sdy.sharding_constraint", Constraint},
      {"sdy.sharding_group", Group},
  };
}

}  // namespace tessera::stablehlo
