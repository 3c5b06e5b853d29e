// Propagation over random graphs ends, whatever the rules, shardings, edges, groups and priorities
// are. Every value gets a legal sharding, and no given axis is lost.
#include <gmock/gmock.h>

#include <random>

#include "fuzz.h"
#include "propagation/explain.h"
#include "propagation/priorities.h"
#include "propagation/propagate.h"
#include "sharding/text.h"

namespace tessera::propagation::engine {
namespace {

using sharding::Factor;
using sharding::FactorKind;
using sharding::FactorList;

class Generator {
 public:
  explicit Generator(uint32_t seed) : random_(seed) {
    std::vector<MeshAxis> axes = {{"a", 4}, {"b", 6}, {"c", 2}, {"d", 8}};
    axes.resize(1 + Below(4));
    mesh_ = MeshDef::Intern(std::move(axes), {}, sharding::MeshKind::kAbstract)->WithoutModes();
  }

  FlatGraph Run() {
    size_t ops = 1 + Below(24);
    for (size_t i = 0; i < ops; ++i) {
      switch (Below(10)) {
        case 0:
          AddEdge();
          break;
        case 1:
          AddIdentity();
          break;
        case 2:
          AddConstant();
          break;
        default:
          AddOp();
      }
    }
    for (size_t g = Below(3); g > 0; --g) AddGroup();
    if (Below(2)) AddReturn();
    return std::move(graph_);
  }

 private:
  size_t Below(size_t n) { return std::uniform_int_distribution<size_t>(0, n - 1)(random_); }
  bool Chance(size_t one_in) { return Below(one_in) == 0; }

  AxisPart RandomAxis() {
    int axis = static_cast<int>(Below(static_cast<size_t>(mesh_->rank())));
    int64_t size = mesh_->axis_size(axis);
    if (Chance(2)) return sharding::WholeAxis(*mesh_, axis);
    std::vector<AxisPart> parts;
    for (int64_t pre = 1; pre < size; ++pre)
      for (int64_t part = 2; part < size; ++part)
        if (size % (pre * part) == 0) parts.push_back({axis, pre, part});
    return parts.empty() ? sharding::WholeAxis(*mesh_, axis) : parts[Below(parts.size())];
  }

  // Returns a random legal sharding, or nothing.
  std::optional<TensorSharding> RandomSharding(size_t rank) {
    if (Chance(3)) return std::nullopt;
    TensorSharding s = sharding::Replicated(mesh_, static_cast<int>(rank));
    auto try_add = [&](AxisList TensorSharding::*set) {
      TensorSharding more = s;
      (more.*set).push_back(RandomAxis());
      std::sort((more.*set).begin(), (more.*set).end(), sharding::MeshOrder);
      if (!sharding::Verify(more)) s = more;
    };
    for (sharding::DimAxes& d : s.dims) d.open = Chance(2);
    for (size_t d = 0; d < rank; ++d)
      for (size_t n = Below(3); n > 0; --n) {
        TensorSharding more = s;
        sharding::AppendMerged(more.dims[d].axes, RandomAxis());
        if (!sharding::Verify(more)) s = more;
      }
    if (Chance(4)) try_add(&TensorSharding::replicated);
    if (Chance(4)) try_add(&TensorSharding::unreduced);
    for (size_t d = 0; d < rank; ++d)
      if (Chance(3) && (s.dims[d].open || !s.dims[d].axes.empty()))
        s.dims[d].priority = static_cast<int32_t>(Below(4));
    EXPECT_FALSE(sharding::Verify(s));
    return s;
  }

  ValueId NewValue(const Shape& shape) {
    return graph_.AddValue(shape, RandomSharding(shape.size()));
  }
  ValueId AnyValue() { return ValueId{static_cast<int32_t>(Below(graph_.values.size()))}; }
  // Returns an existing value of that shape, or a new one.
  ValueId SomeValue(const Shape& shape) {
    if (Chance(4)) return NewValue(shape);
    for (size_t tries = 0; tries < 40 && !graph_.values.empty(); ++tries) {
      const ValueId v = AnyValue();
      if (graph_.values[v].shape == shape) return v;
    }
    return NewValue(shape);
  }

  // Puts some factors, in some order, into dims.
  sharding::DimFactors RandomDims(const DimMap& map) {
    std::vector<int32_t> factors(map.factors.size());
    for (size_t f = 0; f < factors.size(); ++f) factors[f] = static_cast<int32_t>(f);
    std::shuffle(factors.begin(), factors.end(), random_);
    factors.resize(Below(factors.size() + 1));
    sharding::DimFactors dims;
    for (int32_t f : factors) {
      if (dims.empty() || Chance(2)) dims.emplace_back();
      dims.back().push_back(f);
    }
    return dims;
  }
  static Shape ShapeOf(const DimMap& map, const sharding::DimFactors& dims) {
    Shape shape;
    for (const FactorList& dim : dims) {
      shape.push_back(1);
      for (int32_t f : dim) shape.back() *= map.factors[static_cast<size_t>(f)].size;
    }
    return shape;
  }

  void AddOp() {
    DimMap map;
    constexpr int64_t kSizes[] = {1, 2, 4, 4, 6, 8};
    for (size_t f = 1 + Below(5); f > 0; --f)
      map.AddFactor({.size = kSizes[Below(std::size(kSizes))],
                     .kind = static_cast<FactorKind>(Below(4)),
                     .blocked = Chance(10)});
    for (size_t n = 1 + Below(3); n > 0; --n) map.operands.push_back(RandomDims(map));
    for (size_t n = 1 + Below(2); n > 0; --n) map.results.push_back(RandomDims(map));
    Op op;
    for (const auto& dims : map.operands) op.operands.push_back(SomeValue(ShapeOf(map, dims)));
    for (const auto& dims : map.results) op.results.push_back(NewValue(ShapeOf(map, dims)));
    op.elementwise = Chance(3);
    op.expands = Chance(5);
    op.foldable = Chance(3);
    op.rule = graph_.AddRule(std::move(map));
    graph_.Add(std::move(op));
  }

  Shape RandomShape() {
    Shape shape(1 + Below(3));
    for (int64_t& n : shape) n = static_cast<int64_t>(1 + Below(48));
    // Mostly the shape of an existing value.
    if (graph_.values.empty() || Chance(4)) return shape;
    return graph_.values[AnyValue()].shape;
  }

  void AddConstant() {
    Op op;
    op.kind = Op::kNone;
    op.constant = true;
    op.results = {NewValue(RandomShape())};
    graph_.Add(std::move(op));
  }

  // A constraint or a barrier.
  void AddIdentity() {
    Op op;
    op.kind = Chance(2) ? Op::kConstraint : Op::kBarrier;
    op.barrier = op.kind == Op::kBarrier ? static_cast<Direction>(Below(4)) : Direction::kBoth;
    ValueId operand = SomeValue(RandomShape());
    Shape shape = graph_.values[operand].shape;
    op.operands = {operand};
    op.results = {NewValue(shape)};
    auto& given = graph_.values[op.results[0]].sharding;
    if (!given) given = sharding::Replicated(mesh_, static_cast<int>(shape.size()));
    graph_.Add(std::move(op));
  }

  void AddEdge() {
    Shape shape = RandomShape();
    Op user;
    user.kind = Op::kNone;
    for (size_t n = 1 + Below(2); n > 0; --n) user.operands.push_back(SomeValue(shape));
    size_t sources = user.operands.size();
    OpId id = graph_.Add(std::move(user));
    Edge edge;
    for (size_t k = 0; k < sources; ++k) edge.sources.push_back({id, static_cast<int32_t>(k)});
    for (size_t n = Below(3); n > 0; --n) edge.other_targets.push_back(graph_.AddValue(shape));
    graph_.AddEdge(std::move(edge), NewValue(shape), RegionId::kOutermost);
  }

  void AddGroup() {
    ValueId first = SomeValue(RandomShape());
    Shape shape = graph_.values[first].shape;
    std::vector<ValueId> group = {first, NewValue(shape)};
    for (ValueId v : graph_.values.ids())
      if (graph_.values[v].shape == shape && Chance(2)) group.push_back(v);
    graph_.groups.Add(std::move(group));
  }

  void AddReturn() {
    Op end;
    end.kind = Op::kNone;
    end.is_return = true;
    for (size_t n = 1 + Below(2); n > 0; --n) {
      end.operands.push_back(SomeValue(RandomShape()));
      graph_.returns.push_back(RandomSharding(graph_.values[end.operands.back()].shape.size()));
    }
    graph_.Add(std::move(end));
  }

  std::mt19937 random_;
  const MeshDef* mesh_;
  FlatGraph graph_;
};

const int64_t kGraphs = FuzzCount(500);
constexpr Stage kStages[] = {Stage::kBasic, Stage::kAggressive, Stage::kOpPriority,
                             Stage::kUserPriority};

std::string TextOf(const TensorSharding* s) { return s ? Text(*s) : "none"; }

// Whether every dim of `given` begins the dim of `now`, whose parts may have merged.
bool Keeps(const TensorSharding& given, const TensorSharding* now) {
  if (!now) return given.dims_empty();
  for (size_t d = 0; d < given.dims.size(); ++d)
    if (!sharding::IsPrefix(given.dims[d].axes, now->dims[d].axes)) return false;
  return true;
}

TEST(RandomGraphs, PropagationEndsInLegalShardings) {
  for (uint32_t seed = 0; seed < kGraphs; ++seed)
    for (Stage stage : kStages) {
      FlatGraph graph = Generator(seed).Run();
      EngineOptions options;
      options.stop_after = stage;
      options.record = seed % 2 == 0;
      EngineResult result = Propagate(graph, options);
      ASSERT_EQ(result.of_value.size(), result.graph.values.size());
      for (ValueId v : result.of_value.ids()) {
        const TensorSharding* s = result.sharding(v);
        if (!s) continue;
        ASSERT_EQ(s->dims.size(), result.graph.values[v].shape.size());
        auto problem = sharding::Verify(*s);
        ASSERT_FALSE(problem) << "seed " << seed << " stage " << static_cast<int>(stage)
                              << " value " << Number(v) << ": " << Text(*s) << ": "
                              << problem->reason;
      }
    }
}

TEST(RandomGraphs, WhatWasGivenStays) {
  for (uint32_t seed = 0; seed < kGraphs; ++seed)
    for (Stage stage : kStages) {
      FlatGraph graph = Generator(seed).Run();
      EngineOptions options;
      options.stop_after = stage;
      EngineResult result = Propagate(graph, options);
      for (ValueId v : graph.values.ids()) {
        const MaybeSharding& given = graph.values[v].sharding;
        const TensorSharding* now = result.sharding(v);
        ASSERT_TRUE(!given || Keeps(*given, now))
            << "seed " << seed << " stage " << static_cast<int>(stage) << " value " << Number(v)
            << ": " << Text(*given) << " has become " << TextOf(now);
      }
    }
}

// Every value can be explained, whatever it has, lacks or lost.
TEST(RandomGraphs, EveryValueIsExplained) {
  Naming names;
  names.value = [](ValueId v) { return "value " + std::to_string(Number(v)); };
  names.op = [](OpId i) { return "op " + std::to_string(Number(i)); };
  names.where = [](OpId) { return std::string(); };
  for (uint32_t seed = 0; seed < kGraphs / 4; ++seed)
    for (Stage stage : kStages) {
      EngineOptions options;
      options.stop_after = stage;
      options.record = true;
      EngineResult result = Propagate(Generator(seed).Run(), options);
      Explainer explainer(result, names);
      for (ValueId v : result.graph.values.ids()) {
        std::string text = explainer.Explain(v), first = names.value(v) + ": ";
        ASSERT_EQ(text.substr(0, first.size()), first);
      }
    }
}

// Whether an op has one value twice. If the two have different factors, a change to one factor
// changes the other: a conflict that no tensor shows.
bool HasAValueTwice(const FlatGraph& graph) {
  for (const Op& op : graph.ops)
    for (size_t i = 0; i < op.operands.size(); ++i)
      for (size_t j = i + 1; j < op.operands.size(); ++j)
        if (op.operands[i] == op.operands[j]) return true;
  return false;
}

// If all tensors must agree, a second run from the result of the first changes nothing. How
// conflicts are resolved depends on the start.
TEST(RandomGraphs, ASecondBasicPropagationChangesNothing) {
  for (uint32_t seed = 0; seed < kGraphs; ++seed)
    for (Stage stage : {Stage::kBasic}) {
      EngineOptions options;
      options.stop_after = stage;
      FlatGraph graph = Generator(seed).Run();
      if (HasAValueTwice(graph)) continue;
      EngineResult once = Propagate(std::move(graph), options);
      FlatGraph again = once.graph;
      for (ValueId v : again.values.ids()) {
        const TensorSharding* s = once.sharding(v);
        again.values[v].sharding = s ? std::optional(*s) : std::nullopt;
      }
      again.returns = once.returns;
      options.import = false;
      EngineResult twice = Propagate(again, options);
      for (ValueId v : again.values.ids())
        ASSERT_EQ(TextOf(twice.sharding(v)), TextOf(once.sharding(v)))
            << "seed " << seed << " stage " << static_cast<int>(stage) << " value " << Number(v);
    }
}

}  // namespace
}  // namespace tessera::propagation::engine
