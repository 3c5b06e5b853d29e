// The public propagate(), and its result.
#include <absl/algorithm/container.h>
#include <fmt/format.h>

#include <mutex>

#include "api/propagation/graph.h"
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
  base::IdVector<ValueId, Graph::Impl::NameAndPlace> values;
  base::IdVector<OpId, Graph::Impl::NameAndPlace> ops;
  std::vector<std::string> rounds;
  const sharding::MeshDef* mesh;
  engine::EngineResult result;
  Border border;
  bool explain;
  base::IdVector<ValueId, bool> is_argument;  // of the values of the caller
  std::vector<Copy> copies;
  absl::flat_hash_map<ValueId, ValueId> original;  // the copied value, by copy
  // Created by the first explanation.
  mutable engine::Naming names;
  mutable std::optional<engine::Explainer> explainer;
};

namespace {

using base::IdRange;
using engine::Round;
using sharding::Factor;

// Returns the rounds of propagation: one per predicate of the caller and then one of all ops,
// or Shardy's rounds without predicates. An op with a priority propagates from that round on.
// The rounds own a copy of the names and priorities, because a result that tries edits outlives
// the graph.
std::vector<Round> RoundsOf(const Graph::Impl& from, const std::vector<OpPriority>& given) {
  struct Known {
    base::IdVector<OpId, Graph::Impl::NameAndPlace> ops;
    base::IdVector<OpId, int> priorities;
  };
  std::vector<Round> rounds = given.empty() ? engine::DefaultRounds() : std::vector<Round>();
  int last = from.priorities.empty() ? -1 : *absl::c_max_element(from.priorities);
  if (given.empty() && last < 0) return rounds;
  auto graph = std::make_shared<const Known>(Known{from.ops, from.priorities});
  for (const OpPriority& predicate : given)
    rounds.push_back([graph, predicate](const engine::Op& op, const Factor& f, bool single_use) {
      // An op that import added is an identity and has no op of the caller.
      if (op.origin == engine::kNoOp) return Direction::kBoth;
      return predicate({op.origin, graph->ops[op.origin].name, op.elementwise, op.expands,
                        single_use, f.kind == sharding::FactorKind::kPass});
    });
  if (!given.empty())
    rounds.push_back([](const engine::Op&, const Factor&, bool) { return Direction::kBoth; });
  if (last < 0) return rounds;
  auto none = [](const engine::Op&, const Factor&, bool) { return Direction::kNone; };
  while (static_cast<int>(rounds.size()) <= last) rounds.push_back(none);
  for (int k = 0; k < static_cast<int>(rounds.size()); ++k)
    rounds[k] = [graph, k, otherwise = rounds[k]](const engine::Op& op, const Factor& f,
                                                  bool single_use) {
      int own = op.origin == engine::kNoOp ? -1 : graph->priorities[op.origin];
      if (own < 0) return otherwise(op, f, single_use);
      return k >= own ? Direction::kBoth : Direction::kNone;
    };
  return rounds;
}

engine::Naming NamesOf(const base::IdVector<ValueId, Graph::Impl::NameAndPlace>& values,
                       const base::IdVector<OpId, Graph::Impl::NameAndPlace>& ops) {
  return {.value = [&](ValueId v) { return values[v].name; },
          .op = [&](OpId i) { return ops[i].name; },
          .where = [&](OpId i) { return ops[i].where; },
          .given =
              [&](ValueId v, const std::string&) {
                const Graph::Impl::NameAndPlace& value = values[v];
                return fmt::format("the declared sharding of {}{}{}", value.name,
                                   value.where.empty() ? "" : " at ", value.where);
              }};
}

void FindBorder(Result::Impl& impl, const engine::FlatGraph& graph) {
  impl.is_argument.assign(graph.values.size(), true);
  for (const engine::Op& op : graph.ops) {
    for (ValueId v : op.results) impl.is_argument[v] = false;
    if (op.kind == engine::Op::kEdge)
      for (ValueId v : graph.edges[op.edge].other_targets) impl.is_argument[v] = false;
  }
}

// Names the values that import added after the values that they copy.
void NameNewValues(Result::Impl& impl) {
  for (const engine::EngineResult::ConstantCopy& c : impl.result.copies) {
    if (c.copy != c.original) impl.original[c.copy] = c.original;
    impl.copies.push_back({c.original, {c.user, c.operand}, c.copy, c.made});
  }
  for (ValueId v : IdRange(impl.values.next_id(), impl.result.graph.values.next_id())) {
    auto original = impl.original.find(v);
    std::string name = original == impl.original.end()
                           ? "a value made by an import step"
                           : "a copy of " + impl.values[original->second].name;
    impl.values.Add({std::move(name), {}});
  }
}

std::string Text(const Result::Impl& impl, const engine::TensorSharding* s,
                 const base::Shape& shape, bool at_border) {
  const engine::TensorSharding open =
      sharding::FullyOpen(impl.mesh, static_cast<int>(shape.size()));
  if (!s) s = &open;
  if (!at_border || impl.border == Border::kKeep) return sharding::Text(*s);
  return sharding::Text(engine::AtBorder(
      *s, shape, impl.border == Border::kEven ? engine::SubAxes::kKeep : engine::SubAxes::kCut));
}

void CheckValue(const Result::Impl& impl, const char* op, ValueId v, Loc loc) {
  const auto& values = impl.result.graph.values;
  if (!values.Has(v))
    Refuse(op, 1, base::Where(loc),
           fmt::format("there is no value {}; the graph has {}", Number(v), values.size()));
}

}  // namespace

std::string Result::sharding(ValueId v, Loc loc) const {
  CheckValue(*impl_, "sharding", v, loc);
  const bool is_argument = impl_->is_argument.Has(v) && impl_->is_argument[v];
  return Text(*impl_, impl_->result.sharding(v), impl_->result.graph.values[v].shape, is_argument);
}

std::string Result::returned(int k, Loc loc) const {
  const auto& returns = impl_->result.returns;
  if (k < 0 || k >= static_cast<int>(returns.size()))
    Refuse("returned", 23, base::Where(loc),
           fmt::format("there is no result {}; the graph returns {}", k, returns.size()));
  for (const engine::Op& op : impl_->result.graph.ops) {
    if (!op.is_return) continue;
    const ValueId v = op.operands[k];
    const auto& came = returns[k];
    return Text(*impl_, came ? &*came : impl_->result.sharding(v),
                impl_->result.graph.values[v].shape, true);
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
  return impl_->explainer->Explain(value);
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
