// Builds the graph of a program: its values, rules, constraints, and the edges of its regions.
#include "compile/auto/program_graph.h"

#include <absl/container/flat_hash_map.h>

#include <algorithm>

#include "ir/infer.h"
#include "ir/move_params.h"
#include "ops/ops.h"
#include "sharding/local.h"

namespace tessera::compile {
namespace {

using propagation::Direction;
using propagation::OpId;
using propagation::RegionId;
using propagation::ValueId;
using propagation::engine::Edge;
using propagation::engine::FlatGraph;
using propagation::engine::kNoValue;
using propagation::engine::MaybeSharding;
using propagation::engine::Op;
using propagation::engine::RuleId;
using sharding::TensorSharding;

// Returns the axes of one mode, without those of size 1.
sharding::AxisList AxesIn(const sharding::MeshDef& mesh, AxisMode mode) {
  sharding::AxisList axes;
  for (int a = 0; a < mesh.rank(); ++a)
    if (mesh.axes()[a].mode == mode && mesh.axis_size(a) > 1)
      axes.push_back(sharding::WholeAxis(mesh, a));
  return axes;
}

// Returns the sharding that a type gives: nothing if no axis is Explicit, all of it if no axis is
// Auto. Propagation leaves Manual axes alone.
MaybeSharding GivenByType(const ir::Type* type) {
  const sharding::MeshDef* mesh = type->mesh();
  if (!mesh || (!mesh->has_mode(AxisMode::Explicit) && type->sharding().unreduced.empty()))
    return std::nullopt;
  TensorSharding s = type->sharding();
  s.mesh = mesh->WithoutModes();
  s.reduced.clear();
  s.varying.clear();
  if (!mesh->has_mode(AxisMode::Auto)) return s;
  for (sharding::DimAxes& d : s.dims) d.open = true;
  sharding::AddTo(s.replicated, sharding::Difference(AxesIn(*mesh, AxisMode::Explicit),
                                                     sharding::VaryingAxes(s)));
  return s;
}

// An argument keeps the axes that shard it. A replicated one may be sharded.
MaybeSharding GivenByPlace(const ir::Type* place) {
  if (place->sharding().dims_empty()) return std::nullopt;
  return place->sharding();
}

// Returns the sharding that the user asks for, after the Explicit axes of the type.
TensorSharding Asked(const ir::ConstraintParams& params, const ir::Type* type) {
  TensorSharding s = params.sharding;
  MaybeSharding given = GivenByType(type);
  if (!given) return s;
  for (size_t d = 0; d < s.dims.size(); ++d)
    s.dims[d].axes.insert(s.dims[d].axes.begin(), given->dims[d].axes.begin(),
                          given->dims[d].axes.end());
  s.replicated.insert(s.replicated.end(), given->replicated.begin(), given->replicated.end());
  s.unreduced.insert(s.unreduced.end(), given->unreduced.begin(), given->unreduced.end());
  SortAndMerge(s.replicated);
  SortAndMerge(s.unreduced);
  return s;
}

// Returns the operand that each result of sharded_like is. The graph has one value for both.
absl::flat_hash_map<ir::ValueId, ir::ValueId> OperandsOfAlike(const ir::Program& program) {
  absl::flat_hash_map<ir::ValueId, ir::ValueId> operands;
  for (const ir::Instruction& i : program.instructions)
    if (i.op == &ops::kShardedLike) operands[i.results[0]] = i.operands[0];
  return operands;
}

class GraphBuilder {
 public:
  ProgramGraph Run(const ir::Program& program) {
    const RegionId region = Enter(program, {});
    Body(program, region);
    OpId end = End(program, region);
    graph().ops[end].is_return = true;
    for (ir::ValueId v : program.outputs) {
      graph().returns.push_back(GivenByType(program.type(v)));
      out_.results.push_back(graph().values[Value(region, v)].sharding);
    }
    return std::move(out_);
  }

 private:
  FlatGraph& graph() { return out_.graph; }
  ValueId Value(RegionId region, ir::ValueId v) const { return out_.regions[region].values[v]; }

  // `inputs`: the values outside that are its inputs; empty if inputs have values of their own.
  RegionId Enter(const ir::Program& program, ProgramGraph::RegionInfo info,
                 absl::Span<const ValueId> inputs = {}) {
    const RegionId region = out_.regions.next_id();
    if (region != RegionId::kOutermost) {
      graph().regions.Add({info.op, info.parent});
      out_.regions[info.parent].inner.push_back(region);
    }
    info.program = &program;
    info.values.assign(program.values.size(), kNoValue);
    for (size_t k = 0; k < inputs.size(); ++k) info.values[program.inputs[k]] = inputs[k];
    const auto alike = OperandsOfAlike(program);
    for (ir::ValueId v : info.values.ids()) {
      if (info.values[v] != kNoValue || alike.contains(v)) continue;
      const ir::Type *type = program.type(v), *place = program.place(v);
      MaybeSharding given = place ? GivenByPlace(place) : std::nullopt;
      info.values[v] = graph().AddValue(type->shape(), given ? given : GivenByType(type), region);
    }
    for (const ir::Instruction& i : program.instructions)
      if (i.op == &ops::kShardedLike)
        info.values[i.results[0]] = info.values[alike.at(i.results[0])];
    return out_.regions.Add(std::move(info));
  }

  const ir::Type* TypeOf(RegionId region, ir::ValueId v) const {
    return out_.regions[region].program->type(v);
  }

  OpId Add(Op op, ProgramGraph::OpInfo info) {
    info.region = op.region;
    out_.ops.Add(info);
    return graph().Add(std::move(op));
  }

  void Body(const ir::Program& program, RegionId region) {
    for (const ir::Instruction& i : program.instructions)
      i.regions.empty() ? AddPlain(program, region, i) : AddRegions(region, i);
  }

  OpId End(const ir::Program& program, RegionId region) {
    Op end;
    end.kind = Op::kNone;
    end.region = region;
    for (ir::ValueId v : program.outputs) end.operands.push_back(Value(region, v));
    return Add(std::move(end), {.ends_region = true});
  }

  Op Start(RegionId region, const ir::Instruction& i) const {
    Op op;
    op.region = region;
    for (ir::ValueId v : i.operands) op.operands.push_back(Value(region, v));
    ReorderForTies(i, op.operands);
    for (ir::ValueId v : i.results) op.results.push_back(Value(region, v));
    return op;
  }

  // Adds an edge from the operand to the result, because both are one value.
  void AddAsOne(RegionId region, const ir::Instruction& i, Edge edge = {}) {
    Op op = Start(region, i);
    op.kind = Op::kNone;
    ValueId result = op.results[0];
    op.results.clear();
    edge.sources = {{Add(std::move(op), {.instruction = &i}), 0}};
    out_.ops.Add({.edge_of = &i, .region = region});
    graph().AddEdge(std::move(edge), result, region);
  }

  // Adds an op that reads its operands in any place.
  void AddUse(RegionId region, const ir::Instruction& i) {
    Op op = Start(region, i);
    op.kind = Op::kNone;
    Add(std::move(op), {.instruction = &i});
  }

  // Adds the border of shard_map: one value on both sides, except for the Manual axes.
  void AddBorder(const ir::Program& program, RegionId region, const ir::Instruction& i,
                 const ir::ManualViews& views) {
    const bool inward = i.op == &ops::kFullToShard;
    const ir::Type *operand = program.type(i.operands[0]), *result = program.type(i.results[0]);
    const ir::Type *inside = inward ? result : operand, *outside = inward ? operand : result;
    Edge edge;
    edge.inward = inward;
    edge.manual = AxesIn(*inside->mesh(), AxisMode::Manual);
    if (outside->mesh())
      edge.manual = sharding::Difference(edge.manual, AxesIn(*outside->mesh(), AxisMode::Manual));
    TensorSharding outer = (inward ? views.to : views.from)->sharding();
    outer.mesh = inside->mesh()->WithoutModes();
    outer.reduced.clear();
    outer.varying.clear();
    for (sharding::DimAxes& d : outer.dims) d.open = inside->mesh()->has_mode(AxisMode::Auto);
    // The value stays whole over axes that it does not name and that are not Auto.
    sharding::AxisList whole = AxesIn(*inside->mesh(), AxisMode::Explicit);
    sharding::AddTo(whole, edge.manual);
    outer.replicated = sharding::Difference(whole, sharding::VaryingAxes(outer));
    edge.outer = std::move(outer);
    AddAsOne(region, i, std::move(edge));
  }

  // Adds a collective. A dim that has the same size in the operand and the result has one factor
  // in both.
  void AddCollective(const ir::Program& program, RegionId region, const ir::Instruction& i) {
    Op op = Start(region, i);
    op.constant = false;
    sharding::DimMap map;
    map.results.emplace_back();
    for (int64_t n : program.type(i.results[0])->shape())
      map.results[0].push_back({map.AddFactor({.size = n})});
    if (!i.operands.empty()) {
      const base::Shape& from = program.type(i.operands[0])->shape();
      map.operands.emplace_back();
      for (size_t d = 0; d < from.size(); ++d) {
        const bool same = from[d] == program.type(i.results[0])->shape()[d];
        const sharding::Factor apart{.size = from[d], .kind = sharding::FactorKind::kReplicate};
        map.operands[0].push_back(same ? map.results[0][d]
                                       : sharding::FactorList{map.AddFactor(apart)});
      }
    }
    op.rule = graph().AddRule(std::move(map));
    Add(std::move(op), {.instruction = &i});
  }

  void AddGroup(RegionId region, const ir::Instruction& i) {
    const ValueId x = Value(region, i.operands[0]), like = Value(region, i.operands[1]);
    if (x != like) graph().groups.Add({x, like});
  }

  void AddPlain(const ir::Program& program, RegionId region, const ir::Instruction& i) {
    const ir::OpDef& def = *i.op;
    if (&def == &ops::kShardedLike) return AddGroup(region, i);
    if (def.travel == ir::Travel::kAsOne) return AddAsOne(region, i);
    if (std::holds_alternative<ir::AsHostCall>(*def.lowering)) return AddUse(region, i);
    if (const auto* manual = std::get_if<ir::AsManualMove>(&*def.lowering)) {
      const ir::Type *from = program.type(i.operands[0]), *to = program.type(i.results[0]);
      if (&def == &ops::kFullToShard || &def == &ops::kShardToFull)
        return AddBorder(program, region, i, manual->views(i.params.get(), from, to));
      return AddCollective(program, region, i);
    }
    if (std::holds_alternative<ir::NoRule>(*def.dims) &&
        !std::holds_alternative<ir::AsMove>(*def.lowering))
      return AddCollective(program, region, i);
    std::vector<const ir::Type*> operands, results;
    for (ir::ValueId v : i.operands) operands.push_back(program.type(v));
    for (ir::ValueId v : i.results) results.push_back(program.type(v));
    OpTraits traits = TraitsOf(def, operands, results);
    Op op = Start(region, i);
    op.constant = traits.constant;
    op.elementwise = traits.elementwise;
    op.expands = traits.expands;
    op.foldable = traits.foldable;
    op.first = traits.first;
    if (&def == &ops::kShardingConstraint) {
      op.kind = Op::kConstraint;
      graph().values[op.results[0]].sharding =
          Asked(ir::As<ir::ConstraintParams>(i.params.get()), results[0]);
    } else if (&def == &ops::kPropagationBarrier) {
      const auto& crosses = ir::As<ops::BarrierParams>(i.params.get());
      op.kind = Op::kBarrier;
      op.barrier = (crosses.forward ? Direction::kForward : Direction::kNone) |
                   (crosses.backward ? Direction::kBackward : Direction::kNone);
    } else if (std::holds_alternative<ir::AsMove>(*def.lowering)) {
      op.elementwise = true;
      op.rule = graph().IdentityRule(results[0]->shape(), 1);
    } else {
      sharding::Shapes shapes;
      for (const ir::Type* t : operands) shapes.push_back(&t->shape());
      op.rule = graph().AddRule(sharding::WithWindowsInside(
          ir::DimMapOf(def, i.params.get(), operands, results), shapes));
    }
    Add(std::move(op), {.instruction = &i});
  }

  // Adds the op, which only uses its operands, then edges into the regions, their bodies, and edges
  // out of them. A branch uses the values outside, as in Shardy: constants are copied into it. A
  // loop has inputs of its own, or it would compute its constants in every step. The branch for
  // false comes first, as the order settles ties.
  void AddRegions(RegionId region, const ir::Instruction& i) {
    Op op = Start(region, i);
    op.kind = Op::kNone;
    std::vector<ValueId> results(op.results.begin(), op.results.end()), captured;
    op.results.clear();
    if (IsBranch(i)) {
      captured.assign(op.operands.begin() + 1, op.operands.end());
      op.operands.resize(1);
    }
    OpId self = Add(std::move(op), {.instruction = &i});
    std::vector<RegionId> inner;
    auto edges = std::get<ir::DataFlowEdges>(*i.op->dims)
                     .edges({i.params.get(), i.operands.size(), i.regions});
    for (const ir::RegionPtr& r : i.regions) {
      ProgramGraph::RegionInfo info;
      info.parent = region;
      info.number = static_cast<int32_t>(inner.size());
      info.op = self;
      inner.push_back(Enter(*r, std::move(info), captured));
    }
    // Edges out of the regions name the ends of their bodies, so they are added last.
    auto value = [&](const ir::FlowEnd& end) {
      if (end.kind == ir::FlowEnd::kResult) return results[end.index];
      return Value(inner[end.region], i.regions[end.region]->inputs[end.index]);
    };
    for (const ir::FlowEdge& edge : edges)
      if (edge.owner.kind == ir::FlowEnd::kRegionInput && !IsBranch(i))
        AddEdge(edge, value, self, {}, inner[edge.owner.region]);
    const bool false_first = IsBranch(i) && TypeOf(region, i.operands[0])->dtype().is_bool();
    const std::vector<OpId> ends = AddBodies(i, inner, false_first);
    for (ir::FlowEdge& edge : edges) {
      if (edge.owner.kind != ir::FlowEnd::kResult) continue;
      if (false_first) std::reverse(edge.sources.begin(), edge.sources.end());
      AddEdge(edge, value, self, ends, region);
    }
  }

  // Adds the bodies of the regions, and returns their ends.
  std::vector<OpId> AddBodies(const ir::Instruction& i, const std::vector<RegionId>& inner,
                              bool last_first) {
    std::vector<OpId> ends(inner.size());
    for (size_t k = 0; k < inner.size(); ++k) {
      size_t r = last_first ? inner.size() - 1 - k : k;
      Body(*i.regions[r], inner[r]);
      ends[r] = End(*i.regions[r], inner[r]);
    }
    return ends;
  }

  template <class ValueOf>
  void AddEdge(const ir::FlowEdge& edge, const ValueOf& value, OpId self,
               const std::vector<OpId>& ends, RegionId region) {
    ValueId owner = value(edge.owner);
    Edge e;
    for (const ir::FlowEnd& source : edge.sources) {
      OpId user = source.kind == ir::FlowEnd::kOperand ? self : ends[source.region];
      e.sources.push_back({user, source.index});
      bool result = edge.owner.kind == ir::FlowEnd::kResult;
      out_.borders.push_back(
          {e.sources.back(), owner, edge.stacked && !result, edge.stacked && result});
    }
    const RuleId rule = edge.stacked ? SliceRule(e.sources[0], owner) : RuleId::kNone;
    for (const ir::FlowEnd& target : edge.targets) e.other_targets.push_back(value(target));
    out_.ops.Add({.edge_of = out_.ops[self].instruction, .region = region});
    graph().AddEdge(std::move(e), owner, region, rule);
  }

  // An edge between an array and its slices has all dims but the first.
  RuleId SliceRule(propagation::engine::OperandUse source, ValueId owner) {
    const base::Shape &from = ShapeOf(UsedValue(graph(), source)), &to = ShapeOf(owner);
    bool slices = to.size() < from.size();
    sharding::DimMap map;
    sharding::DimFactors slice, whole;
    whole.push_back({map.AddFactor({.size = (slices ? from : to)[0],
                                    .kind = sharding::FactorKind::kReplicate,
                                    .blocked = true})});
    for (int64_t n : slices ? to : from) {
      slice.push_back({map.AddFactor({.size = n})});
      whole.push_back(slice.back());
    }
    map.operands = {slices ? whole : slice};
    map.results = {slices ? slice : whole};
    return graph().AddRule(std::move(map));
  }
  const base::Shape& ShapeOf(ValueId v) { return graph().values[v].shape; }

  ProgramGraph out_;
};

}  // namespace

OpTraits TraitsOf(const ir::OpDef& op, ir::Types operands, ir::Types results) {
  const ir::Lowering& lowering = *op.lowering;
  OpTraits t{};
  t.constant = operands.empty();
  t.elementwise =
      std::holds_alternative<ir::AsElementwise>(lowering) ||
      (op.travel == ir::Travel::kElementwise && operands[0]->shape() == results[0]->shape());
  t.expands = std::holds_alternative<ir::AsBroadcast>(lowering);
  t.foldable = t.elementwise || t.expands || op.foldable;
  t.first = t.elementwise || op.travel == ir::Travel::kEarly ? Direction::kBoth
            : op.travel == ir::Travel::kEarlyForward         ? Direction::kForward
                                                             : Direction::kNone;
  return t;
}

bool IsBranch(const ir::Instruction& i) {
  auto* region = std::get_if<ir::AsRegions>(&*i.op->lowering);
  return region && region->kind == ir::AsRegions::kSwitch;
}

ProgramGraph GraphOf(const ir::Program& program) { return GraphBuilder().Run(program); }

}  // namespace tessera::compile
