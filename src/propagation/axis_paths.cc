// Finds the change that gave a value an axis, the tensor from which the axis came, and so on.
#include "propagation/axis_paths.h"

#include <absl/algorithm/container.h>
#include <fmt/format.h>

namespace tessera::propagation::engine {
namespace {

// A path with more steps than this shows the first and the last half of this number.
constexpr size_t kShown = 8;

bool HaveCommonFactor(const sharding::FactorList& a, const sharding::FactorList& b) {
  return absl::c_any_of(a, [&](int32_t f) { return absl::c_linear_search(b, f); });
}

}  // namespace

std::string AxisPath::OriginText() const {
  return given + (priority > 0 ? fmt::format(", priority {}", priority) : "");
}

std::string OpText(const History& history, const Naming& names, OpId op) {
  const OpId origin = history.op(op).origin;
  if (origin == kNoOp) return "a constraint that joins a group";
  const std::string where = names.where(origin);
  return names.op(origin) + (where.empty() ? "" : " at " + where);
}

AxisPath AxisPaths::Find(ValueId v, size_t d, AxisPart a) {
  const auto [last, origin] = Follow(v, d, a);
  AxisPath path = origins_[origin];
  const size_t length = last == StepId::kNone ? 0 : steps_[last].length;
  const size_t tail = length > kShown ? kShown / 2 : length;
  std::vector<StepId> shown;
  for (StepId id = last; shown.size() < tail; id = steps_[id].before) shown.push_back(id);
  if (length > kShown) {
    for (StepId id : steps_[last].head) Append(id, path);
    path.steps.push_back(fmt::format("... {} more ops", length - kShown));
  }
  absl::c_reverse(shown);
  for (StepId id : shown) Append(id, path);
  return path;
}

AxisPath AxisPaths::Start(ValueId v, size_t d, AxisPart a) const {
  AxisPath path;
  path.dim = d;
  const OpId maker = history_.DefiningOp(v);
  if (maker != kNoOp && history_.op(maker).kind == Op::kConstraint) {
    path.constraint = maker;
    path.given = OpText(history_, names_, maker);
    return path;
  }
  for (OpId id : history_.ConstraintsOn(v)) {
    const auto& asked = history_.graph().values[history_.op(id).results[0]].sharding;
    if (!asked || !Holds(asked->dims[d].axes, a)) continue;
    path.constraint = id;
    path.given = OpText(history_, names_, id);
    path.steps.push_back(
        fmt::format("backward through it to its operand {}: a closed constraint holds for both",
                    names_.value(v)));
    return path;
  }
  const ValueId owner = history_.Owner(v);
  path.given = names_.given
                   ? names_.given(owner, maker == kNoOp ? "" : OpText(history_, names_, maker))
                   : fmt::format("the declared sharding of {}", names_.value(owner));
  return path;
}

// Appends the text of a step.
void AxisPaths::Append(StepId id, AxisPath& path) const {
  const PathStep& step = steps_[id];
  const Change& change = history_.change(step.change);
  path.steps.push_back(fmt::format("{} {} to dim {} of {}{}", step.source.direction,
                                   OpText(history_, names_, change.op), step.dim,
                                   names_.value(change.value), RoundText(change)));
  path.values.insert(path.values.begin(), step.source.value);
}

// Returns the last step of the path and its origin. Stops at a step that is known.
std::pair<AxisPaths::StepId, AxisPaths::OriginId> AxisPaths::Follow(ValueId v, size_t d,
                                                                    AxisPart a) {
  std::vector<PathStep> found;
  StepId last = StepId::kNone;
  std::optional<OriginId> origin;
  for (size_t time = history_.now(); !origin;) {
    const std::optional<size_t> change = history_.ChangeThatGave(v, d, a, time);
    if (change)
      if (auto known = step_of_.find({*change, d, a}); known != step_of_.end()) {
        last = known->second;
        origin = steps_[last].origin;
        break;
      }
    const std::optional<Source> source = change ? SourceOf(*change, d, a) : std::nullopt;
    if (!source) {
      origin = origins_.Add(OriginOf(v, d, a, change));
      break;
    }
    found.push_back({.change = *change, .dim = d, .source = *source});
    v = source->value;
    d = source->dim;
    time = *change;
  }
  for (; !found.empty(); found.pop_back()) {
    found.back().before = last;
    found.back().origin = *origin;
    last = Add(std::move(found.back()), a);
  }
  return {last, *origin};
}

AxisPaths::StepId AxisPaths::Add(PathStep step, AxisPart a) {
  if (step.before != StepId::kNone) {
    step.length = steps_[step.before].length + 1;
    step.head = steps_[step.before].head;
  }
  const StepId id = steps_.next_id();
  if (step.head.size() < kShown / 2) step.head.push_back(id);
  step_of_[{step.change, step.dim, a}] = id;
  return steps_.Add(std::move(step));
}

// `change` gave dim d of v the axis; nothing if the dim had it from the start.
AxisPath AxisPaths::OriginOf(ValueId v, size_t d, AxisPart a, std::optional<size_t> change) const {
  if (!change) return Start(v, d, a);
  const OpId op = history_.change(*change).op;
  if (op == kNoOp) {
    AxisPath path = Start(v, d, a);
    path.priority = history_.change(*change).priority;
    return path;
  }
  AxisPath path;
  path.given = history_.op(op).is_return ? "the sharding required of the function's result"
                                         : OpText(history_, names_, op);
  return path;
}

std::string AxisPaths::RoundText(const Change& change) const {
  std::string out;
  auto add = [&](const std::string& word) { out += (out.empty() ? "" : ", ") + word; };
  const int round = change.round;
  if (change.strategy == Stage::kBasic)
    add("basic");
  else if (round >= 0 && round < std::ssize(names_.rounds))
    add(fmt::format("round {}: {}", round + 1, names_.rounds[round]));
  if (change.priority > 0) add(fmt::format("priority {}", change.priority));
  return out.empty() ? "" : " (" + out + ")";
}

// Returns the first tensor of the op that had the axis on the same factor. Operands come before
// results. Returns nothing if no op carried the axis.
std::optional<AxisPaths::Source> AxisPaths::SourceOf(size_t number, size_t d, AxisPart a) const {
  const Change& change = history_.change(number);
  if (change.op == kNoOp || history_.op(change.op).is_return) return std::nullopt;
  const std::vector<ValueId> tensors = history_.Tensors(change.op);
  const auto self = static_cast<size_t>(absl::c_find(tensors, change.value) - tensors.begin());
  if (self == tensors.size()) return std::nullopt;  // its group changed it
  const DimMap& map = history_.MapOf(change.op);
  const sharding::FactorList& mine = DimsOf(map, self)[d];
  for (size_t t = 0; t < tensors.size(); ++t) {
    if (tensors[t] == change.value) continue;
    const TensorSharding* s = history_.ShardingAt(tensors[t], number);
    if (!s) continue;
    const sharding::DimFactors& theirs = DimsOf(map, t);
    for (size_t k = 0; k < theirs.size(); ++k) {
      if (!HaveCommonFactor(theirs[k], mine) || !OverlapsAny(s->dims[k].axes, a)) continue;
      const bool from_operand = t < map.operands.size(), to_operand = self < map.operands.size();
      return Source{tensors[t], k,
                    from_operand == to_operand ? "sideways through"
                    : from_operand             ? "forward through"
                                               : "backward through"};
    }
  }
  return std::nullopt;
}

}  // namespace tessera::propagation::engine
