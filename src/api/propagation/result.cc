// The public propagate(), and its result.
#include <fmt/format.h>

#include <algorithm>
#include <mutex>

#include "api/propagation/graph.h"
#include "base/at.h"
#include "base/error.h"
#include "base/fork.h"
#include "propagation/border.h"
#include "propagation/explain.h"
#include "propagation/priorities.h"
#include "propagation/propagate.h"
#include "propagation/refuse.h"
#include "sharding/text.h"

namespace tessera::propagation {

struct Result::Impl {
  std::vector<Graph::Impl::NameAndPlace> values, ops;
  std::vector<std::string> rounds;
  const sharding::MeshDef* mesh;
  engine::EngineResult result;
  Border border;
  bool explain;
  std::vector<bool> is_argument;  // by value
  std::vector<Copy> copies;
  absl::flat_hash_map<int32_t, int32_t> original;  // by copy: the value that it copies
  // Made at the first explanation.
  mutable engine::Naming names;
  mutable std::optional<engine::Explainer> explainer;
};

namespace {

using engine::Round;
using sharding::Factor;

// Returns the rounds of op priorities: the caller's predicates, then all ops; or Shardy's rounds.
// Ops with a priority follow that instead. The rounds own their copy of the graph's facts, because
// a result that tries edits outlives the graph.
std::vector<Round> RoundsOf(const Graph::Impl& from, const std::vector<OpPriority>& given) {
  struct Known {
    std::vector<Graph::Impl::NameAndPlace> ops;
    std::vector<int> priorities;
  };
  std::vector<Round> rounds = given.empty() ? engine::DefaultRounds() : std::vector<Round>();
  int last = from.priorities.empty()
                 ? -1
                 : *std::max_element(from.priorities.begin(), from.priorities.end());
  if (given.empty() && last < 0) return rounds;
  auto graph = std::make_shared<const Known>(Known{from.ops, from.priorities});
  for (const OpPriority& predicate : given)
    rounds.push_back([graph, predicate](const engine::Op& op, const Factor& f, bool single_use) {
      // An op that import added is an identity, and no op of the caller's.
      if (op.origin < 0) return Direction::kBoth;
      return predicate({OpId{op.origin}, base::At(graph->ops, op.origin).name, op.elementwise,
                        op.expands, single_use, f.kind == sharding::FactorKind::kPass});
    });
  if (!given.empty())
    rounds.push_back([](const engine::Op&, const Factor&, bool) { return Direction::kBoth; });
  if (last < 0) return rounds;
  auto none = [](const engine::Op&, const Factor&, bool) { return Direction::kNone; };
  while (static_cast<int>(rounds.size()) <= last) rounds.push_back(none);
  for (int k = 0; k < static_cast<int>(rounds.size()); ++k)
    base::At(rounds, k) = [graph, k, otherwise = base::At(rounds, k)](
                              const engine::Op& op, const Factor& f, bool single_use) {
      int own = op.origin < 0 ? -1 : base::At(graph->priorities, op.origin);
      if (own < 0) return otherwise(op, f, single_use);
      return k >= own ? Direction::kBoth : Direction::kNone;
    };
  return rounds;
}

engine::Naming NamesOf(const std::vector<Graph::Impl::NameAndPlace>& values,
                       const std::vector<Graph::Impl::NameAndPlace>& ops) {
  return {.value = [&](int32_t v) { return base::At(values, v).name; },
          .op = [&](int32_t i) { return base::At(ops, i).name; },
          .where = [&](int32_t i) { return base::At(ops, i).where; },
          .given =
              [&](int32_t v, const std::string&) {
                const Graph::Impl::NameAndPlace& value = base::At(values, v);
                return fmt::format("the declared sharding of {}{}{}", value.name,
                                   value.where.empty() ? "" : " at ", value.where);
              }};
}

void FindBorder(Result::Impl& impl, const engine::FlatGraph& graph) {
  impl.is_argument.assign(graph.values.size(), true);
  for (const engine::Op& op : graph.ops) {
    for (int32_t v : op.results) base::At(impl.is_argument, v) = false;
    if (op.kind == engine::Op::kEdge)
      for (int32_t v : base::At(graph.edges, op.edge).other_targets)
        base::At(impl.is_argument, v) = false;
  }
}

// Names the values that import made after the values that they copy.
void NameNewValues(Result::Impl& impl) {
  for (const engine::EngineResult::ConstantCopy& c : impl.result.copies) {
    if (c.copy != c.original) impl.original[c.copy] = c.original;
    impl.copies.push_back(
        {ValueId{c.original}, {OpId{c.user}, c.operand}, ValueId{c.copy}, ValueId{c.made}});
  }
  const size_t given = impl.values.size();
  for (size_t v = given; v < impl.result.graph.values.size(); ++v) {
    auto original = impl.original.find(static_cast<int32_t>(v));
    std::string name = original == impl.original.end()
                           ? "a value made by an import step"
                           : "a copy of " + base::At(impl.values, original->second).name;
    impl.values.push_back({std::move(name), {}});
  }
}

std::string Text(const Result::Impl& impl, const engine::TensorSharding* s,
                 const base::Shape& shape, bool at_border) {
  engine::TensorSharding open = sharding::Replicated(impl.mesh, static_cast<int>(shape.size()));
  for (sharding::DimAxes& d : open.dims) d.open = true;
  if (!s) s = &open;
  if (!at_border || impl.border == Border::kKeep) return sharding::Text(*s);
  return sharding::Text(engine::AtBorder(*s, shape, impl.border == Border::kEven));
}

void CheckValue(const Result::Impl& impl, const char* op, ValueId v, Loc loc) {
  if (static_cast<int32_t>(v) < 0 || static_cast<size_t>(v) >= impl.result.graph.values.size())
    Refuse(op, 1, base::Where(loc),
           fmt::format("there is no value {}; the graph has {}", static_cast<int32_t>(v),
                       impl.result.graph.values.size()));
}

}  // namespace

std::string Result::sharding(ValueId value, Loc loc) const {
  CheckValue(*impl_, "sharding", value, loc);
  auto v = static_cast<size_t>(value);
  bool argument = v < impl_->is_argument.size() && impl_->is_argument[v];
  return Text(*impl_, impl_->result.sharding(static_cast<int32_t>(value)),
              impl_->result.graph.values[v].shape, argument);
}

std::string Result::returned(int k, Loc loc) const {
  const auto& returns = impl_->result.returns;
  if (k < 0 || k >= static_cast<int>(returns.size()))
    Refuse("returned", 23, base::Where(loc),
           fmt::format("there is no result {}; the graph returns {}", k, returns.size()));
  for (const engine::Op& op : impl_->result.graph.ops) {
    if (!op.is_return) continue;
    int32_t v = base::At(op.operands, k);
    const auto& came = base::At(returns, k);
    return Text(*impl_, came ? &*came : impl_->result.sharding(v),
                base::At(impl_->result.graph.values, v).shape, true);
  }
  return {};
}

namespace {
std::mutex& ExplainLock() {
  static auto& lock = base::NewForkMutex();
  return lock;
}
}  // namespace

std::string Result::explain(ValueId value, Loc loc) const {
  CheckValue(*impl_, "explain", value, loc);
  if (!impl_->explain)
    Refuse("explain", 24, base::Where(loc), "the graph was propagated without {.explain = true}");
  const std::lock_guard lock(ExplainLock());
  if (!impl_->explainer) {
    impl_->names = NamesOf(impl_->values, impl_->ops);
    impl_->names.rounds = impl_->rounds;
    impl_->explainer.emplace(impl_->result, impl_->names);
  }
  return impl_->explainer->Of(static_cast<int32_t>(value));
}

const std::vector<Copy>& Result::copies() const { return impl_->copies; }
const std::vector<std::string>& Result::warnings() const { return impl_->result.warnings; }

Result propagate(const Graph& graph, Options options, Loc loc) {
  const Graph::Impl& from = *graph.impl_;
  if (options.op_priorities.size() > static_cast<size_t>(kLastPriority))
    Refuse("propagate", 19, base::Where(loc),
           fmt::format("at most {} op priorities, not {}", kLastPriority,
                       options.op_priorities.size()));
  engine::Naming names = NamesOf(from.values, from.ops);
  engine::EngineOptions how;
  how.stop_after = options.stop_after;
  how.rounds = RoundsOf(from, options.op_priorities);
  how.record = options.explain;
  how.names = &names;
  auto impl = std::make_shared<Result::Impl>();
  impl->values = from.values;
  impl->ops = from.ops;
  impl->mesh = from.mesh;
  impl->border = options.border;
  impl->explain = options.explain;
  FindBorder(*impl, from.graph);
  static_assert(Stage::kBasic < Stage::kAggressive && Stage::kAggressive < Stage::kOpPriority &&
                Stage::kOpPriority < Stage::kUserPriority);
  if (options.stop_after >= Stage::kOpPriority && options.op_priorities.empty())
    impl->rounds = engine::DefaultRoundNames();
  else if (options.stop_after >= Stage::kOpPriority)
    for (size_t k = 0; k <= options.op_priorities.size(); ++k)
      impl->rounds.push_back(k < options.op_priorities.size() ? "the caller's" : "all ops");
  impl->result = engine::Propagate(from.graph, how);
  NameNewValues(*impl);
  return Result(std::move(impl));
}

}  // namespace tessera::propagation
