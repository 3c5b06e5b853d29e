// Operations of sdy: constraints, manual computations and moves. They do not change values.
#include <fmt/format.h>

#include "base/at.h"
#include "ops/params.h"
#include "stablehlo/read/importer.h"
#include "stablehlo/read/manual.h"
#include "stablehlo/read/older_shardings.h"

namespace tessera::stablehlo {
namespace {

Array ConstrainedBy(const ReadCall& c, const Array& x, std::string_view name) {
  const Attribute* sharding = c.op().Find(name);
  if (!sharding || !c.importer().mesh()) return x;
  const auto rank = base::Size(api::Rank(x));
  return c.importer().Constrained(x, c.importer().ShardingOf(*sharding, rank), c.call());
}

Arrays Constraint(ReadCall& c) { return {ConstrainedBy(c, c.In(0), "sharding")}; }

// A collective of sdy moves between shardings of one value.
Arrays Collective(ReadCall& c) { return {ConstrainedBy(c, c.In(0), "out_sharding")}; }

Arrays Same(ReadCall& c) { return c.in; }

Arrays Group(ReadCall& c) {
  c.Replace(0, c.importer().JoinGroup(c.Integer("group_id"), c.In(0), c.call()));
  return {};
}

Arrays PropagationBarrier(ReadCall& c) {
  const int64_t direction = c.Integer("allowed_direction");  // 1: forward, 2: backward, 3: both
  if (direction < 0 || direction > 3) c.Fail(fmt::format("there is no direction {}", direction));
  const ops::BarrierParams crosses{.forward = (direction & 1) != 0,
                                   .backward = (direction & 2) != 0};
  return {c.Run(ops::kPropagationBarrier, ir::MakeParams(crosses), {c.In(0)})};
}

Arrays NamedComputation(ReadCall& c) { return c.RunRegion(0, c.in); }

std::vector<std::string> NamesIn(std::string_view text) {
  std::vector<std::string> names;
  for (size_t at = text.find('"'); at != std::string_view::npos; at = text.find('"', at + 1)) {
    const size_t end = text.find('"', at + 1);
    names.emplace_back(text.substr(at + 1, end - at - 1));
    at = end;
  }
  return names;
}

// Returns the shardings of values with these ranks.
std::vector<sharding::TensorSharding> ShardingsOf(const ReadCall& c, std::string_view name,
                                                  const std::vector<size_t>& ranks) {
  const Attribute* list = c.op().Find(name);
  if ((list ? list->items().size() : 0) != ranks.size())
    c.Fail("it needs a sharding for each operand and each result");
  std::vector<sharding::TensorSharding> all;
  for (size_t k = 0; k < ranks.size(); ++k)
    all.push_back(c.importer().ShardingOf(list->items()[k], ranks[k]));
  return all;
}

Arrays Manual(ReadCall& c) {
  if (!c.importer().mesh()) c.Fail("the module has no mesh");
  std::vector<size_t> in_ranks, out_ranks;
  for (const Array& x : c.in) in_ranks.push_back(base::Size(api::Rank(x)));
  for (const auto* type : c.op().result_types) out_ranks.push_back(type->dims.size());
  const ManualComputation computation{.axes = NamesIn(c.Word("manual_axes")),
                                      .ins = ShardingsOf(c, "in_shardings", in_ranks),
                                      .outs = ShardingsOf(c, "out_shardings", out_ranks)};
  for (const std::string& name : computation.axes)
    if (c.importer().mesh()->Find(name) < 0) c.Fail("the mesh has no axis \"" + name + "\"");
  c.importer().meshes().CheckSizes(computation.axes, c.op().place);
  return computation.Run(
      c.importer(), c.in, [&](const Arrays& local) { return c.RunRegion(0, local); }, c.call());
}

// A constraint in XLA's form. Its backend_config may name dims that propagation may shard further.
Arrays OlderConstraint(ReadCall& c) {
  const sharding::MeshDef* mesh = c.importer().mesh();
  if (!mesh) return {c.In(0)};
  const auto older = ParseOlderSharding(c.Word("mhlo.sharding"), mesh->size());
  if (!older) c.Fail("its sharding is not supported");
  if (older->is_manual || !older->manual.empty()) return {c.In(0)};
  std::vector<int64_t> open;
  const std::string_view config = c.Word("backend_config");
  if (const size_t list = config.find("unspecified_dims=["); list != std::string_view::npos)
    for (size_t at = list; at < config.size() && config[at] != ']'; ++at)
      if (config[at] >= '0' && config[at] <= '9') open.push_back(config[at] - '0');
  const auto rank = base::Size(api::Rank(c.In(0)));
  return {c.importer().Constrained(c.In(0), ShardingOfOlder(*mesh, *older, rank, open), c.call())};
}

// They begin and end a manual computation, which the importer reads as one (older_manual.h).
Arrays OlderBorder(ReadCall& c) { c.Fail("it is not part of a manual computation"); }

}  // namespace

std::vector<OpReader> OlderShardingReaders() {
  return {
      {"Sharding", OlderConstraint},
      {"SPMDFullToShardShape", OlderBorder},
      {"SPMDShardToFullShape", OlderBorder},
      // Layouts and kinds of memory do not change values.
      {"LayoutConstraint", Same},
      {"annotate_device_placement", Same},
  };
}

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
      {"sdy.propagation_barrier", PropagationBarrier},
      {"sdy.reduce_scatter", Collective},
      {"sdy.replicated_to_unreduced", Collective},
      {"sdy.reshard", Constraint},
      {"sdy.sharded_to_unreduced", Collective},
      {"sdy.sharding_constraint", Constraint},
      {"sdy.sharding_group", Group},
  };
}

}  // namespace tessera::stablehlo
