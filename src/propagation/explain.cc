// Writes explanations: the path of each axis that a value has, and, for each axis that it did not
// get, the reason and an edit.
#include "propagation/explain.h"

#include <absl/algorithm/container.h>
#include <fmt/format.h>

#include <numeric>
#include <set>

#include "propagation/axis_paths.h"
#include "propagation/factors.h"
#include "propagation/trials.h"
#include "sharding/text.h"

namespace tessera::propagation::engine {
namespace {

// An axis that dim `dim` of `value` did not get, although another tensor of op `op` has it on a
// factor of that dim.
struct MissingAxis {
  OpId op;
  size_t tensor;  // the operand or result of the op that `value` is
  ValueId value;
  size_t dim;
  int32_t factor;
  AxisPart axis;
  const MeshDef* mesh;
  AxisPath path;  // by which the other tensor got the axis

  std::string text() const { return AxisText(*mesh, axis); }
};

// Returns the dim of tensor `t` of an op that has factor f.
size_t DimOf(const DimMap& map, size_t t, int32_t f) {
  return static_cast<size_t>(absl::c_find_if(DimsOf(map, t),
                                             [f](const sharding::FactorList& dim) {
                                               return absl::c_linear_search(dim, f);
                                             }) -
                             DimsOf(map, t).begin());
}

// Returns the first axis of `wants` that differs from `has`; nothing if `wants` begins `has`.
std::optional<AxisPart> FirstDifference(const AxisList& has, const AxisList& wants) {
  size_t k = 0;
  while (k < has.size() && k < wants.size() && has[k] == wants[k]) ++k;
  return k < wants.size() ? std::optional(wants[k]) : std::nullopt;
}

// Says why the factor cannot hold the axis, if the dim has several factors; empty if it can.
std::string Misfit(const MissingAxis& m, const DimMap& map, const TensorState& tensor) {
  auto size = [&](int32_t f) { return map.factors[f].size; };
  for (int32_t f : DimsOf(map, m.tensor)[m.dim]) {
    if (f == m.factor) break;
    if (SizeOf(tensor.factors[f].axes) < size(f))
      return fmt::format(
          "it would shard a minor part of this dim, but the part before that, of size {}, is not "
          "fully sharded: shards would be strided",
          size(f));
  }
  const FactorState& state = tensor.factors[m.factor];
  const int64_t before = SizeOf(state.axes), own = size(m.factor);
  if (!state.minor_most && (own % before != 0 || std::gcd(own / before, m.axis.size) == 1))
    return fmt::format(
        "{}, of size {}, does not divide the part of this dim that it would shard, of size {}",
        m.text(), m.axis.size, own / before);
  return "";
}

}  // namespace

class Explainer::Impl {
 public:
  Impl(const EngineResult& result, const Naming& names)
      : result_(result),
        names_(names),
        history_(result),
        paths_(history_, names),
        trials_(result) {}

  std::string Explain(ValueId v) {
    const TensorSharding* s = result_.sharding(v);
    std::string out = Beginning(v, s);
    // An axis that v did not get may have lost earlier, on the path of an axis that v has.
    std::vector<ValueId> on_the_way = {v};
    for (size_t d = 0; s && d < s->dims.size(); ++d)
      for (AxisPart a : s->dims[d].axes) {
        const AxisPath path = paths_.Find(v, d, a);
        out += fmt::format("  dim {} has {}, given by {}\n", d, AxisText(*s->mesh, a),
                           path.OriginText());
        for (const std::string& step : path.steps) out += "    " + step + "\n";
        for (ValueId w : path.values)
          if (!absl::c_linear_search(on_the_way, w)) on_the_way.push_back(w);
      }
    if (OpId held = HeldBy(v); held != kNoOp && history_.NumUses(v) > 1)
      out += fmt::format(
          "  {} is one of {} uses; because it is closed it fixes the value's own sharding; with "
          "{} it would only be a preference\n",
          TextOf(held), history_.NumUses(v), names_.open);
    for (OpId id : history_.OpsAround(v)) AddSummedAxes(id, v, s, out);
    std::set<std::string> told;  // axes that lost, with their origins: each is reported once
    for (ValueId w : on_the_way)
      for (OpId id : history_.OpsAround(w)) AddMissingAxes(id, w, told, out);
    return out;
  }

 private:
  // Returns the sharding of v, which has no manual axes of a region around v, and its place there.
  std::string Beginning(ValueId v, const TensorSharding* s) const {
    const auto block = names_.block ? names_.block(v) : std::vector<std::string>();
    std::string out = s ? Text(*s) : block.empty() ? "not sharded: whole on every device" : "";
    for (const std::string& line : block) out += (out.empty() ? "" : "\n  ") + line;
    return fmt::format("{}: {}\n", names_.value(v), out);
  }

  std::string TextOf(OpId id) const { return OpText(history_, names_, id); }

  // Reports the axes of dims that the op sums over to make v.
  void AddSummedAxes(OpId id, ValueId v, const TensorSharding* own, std::string& out) {
    if (history_.op(id).kind == Op::kEdge) return;
    const std::vector<ValueId> tensors = history_.Tensors(id);
    const DimMap& map = history_.MapOf(id);
    const auto mine = static_cast<size_t>(absl::c_find(tensors, v) - tensors.begin());
    if (mine < map.operands.size()) return;  // v is not a result
    for (size_t t = 0; t < map.operands.size(); ++t) {
      const TensorSharding* s = result_.sharding(tensors[t]);
      for (size_t d = 0; s && d < s->dims.size(); ++d)
        for (AxisPart a : s->dims[d].axes) {
          const bool sums = absl::c_all_of(DimsOf(map, t)[d], [&](int32_t f) {
            return map.factors[f].kind == sharding::FactorKind::kReduce;
          });
          const bool kept = own && (OverlapsAny(own->unreduced, a) ||
                                    absl::c_any_of(own->dims, [&](const sharding::DimAxes& dim) {
                                      return OverlapsAny(dim.axes, a);
                                    }));
          if (!sums || kept) continue;
          out += fmt::format("  {} of dim {} of {} ends here: {} sums over that dim, and over {}\n",
                             AxisText(*s->mesh, a), d, names_.value(tensors[t]), TextOf(id),
                             AxisText(*s->mesh, a));
        }
    }
  }

  // Reports the axes that other tensors of the op have on a factor of v, and that v lacks.
  void AddMissingAxes(OpId id, ValueId v, std::set<std::string>& told, std::string& out) {
    const Op& op = history_.op(id);
    if (op.kind == Op::kEdge && history_.graph().edges[op.edge].outer) return;
    const std::vector<ValueId> tensors = history_.Tensors(id);
    std::vector<const TensorSharding*> shardings;
    shardings.reserve(tensors.size());
    for (ValueId t : tensors) shardings.push_back(result_.sharding(t));
    const DimMap& map = history_.MapOf(id);
    const OpState state = Project(map, shardings);
    const auto mine = static_cast<size_t>(absl::c_find(tensors, v) - tensors.begin());
    for (size_t other = 0; other < tensors.size(); ++other)
      for (size_t n = 0; other != mine && n < map.factors.size(); ++n) {
        const auto f = static_cast<int32_t>(n);
        const FactorState &has = state.tensors[mine].factors[f],
                          &wants = state.tensors[other].factors[f];
        if (!has.present || !wants.present) continue;
        const std::optional<AxisPart> x = FirstDifference(has.axes, wants.axes);
        if (!x) continue;
        const ValueId loser = tensors[other];
        const MissingAxis missing{.op = id,
                                  .tensor = mine,
                                  .value = v,
                                  .dim = DimOf(map, mine, f),
                                  .factor = f,
                                  .axis = *x,
                                  .mesh = result_.sharding(loser)->mesh,
                                  .path = paths_.Find(loser, DimOf(map, other, f), *x)};
        if (!told.insert(missing.text() + missing.path.OriginText()).second) continue;
        out += fmt::format("  dim {} of {} did not get {} from {} through {}\n", missing.dim,
                           names_.value(v), missing.text(), names_.value(loser), TextOf(id));
        out += fmt::format("    {} has it, given by {}\n    {}\n", names_.value(loser),
                           missing.path.OriginText(), Reason(missing, state.tensors[mine]));
      }
  }

  // Says why the axis is kept out, and which edit would let it in. If the value has no sharding,
  // all its dims are open.
  std::string Reason(const MissingAxis& m, const TensorState& tensor) {
    const DimMap& map = history_.MapOf(m.op);
    if (map.factors[m.factor].blocked) return "no axis passes through the op along this dim";
    if (OverlapsAny(tensor.replicated, m.axis))
      return fmt::format("{} must stay replicated over {}: leave it out of replicated(...)",
                         names_.value(m.value), m.text());
    if (OverlapsAny(tensor.unreduced, m.axis))
      return fmt::format("{} is unreduced over {}", names_.value(m.value), m.text());
    const FactorState& state = tensor.factors[m.factor];
    if (std::string winners = Winners(m, state); !winners.empty()) return winners;
    if (state.closed) return ClosedBy(m);
    if (std::string misfit = Misfit(m, map, tensor); !misfit.empty()) return misfit;
    return "the neighbours of this dim disagree: a constraint on it would decide";
  }

  // Says which axes of the value exclude the missing one, and which priorities would let it in;
  // empty if there are none.
  std::string Winners(const MissingAxis& m, const FactorState& state) {
    const TensorSharding* s = result_.sharding(m.value);
    std::vector<AxisPath> winners;
    std::string out;
    for (size_t d = 0; s && d < s->dims.size(); ++d)
      for (AxisPart a : s->dims[d].axes) {
        const bool here = !state.axes.empty() && a == state.axes[0];
        if (!here && !Overlaps(a, m.axis)) continue;
        winners.push_back(paths_.Find(m.value, d, a));
        out += fmt::format("{}{} already shards {}, given by {}", out.empty() ? "" : "\n    ",
                           AxisText(*m.mesh, a), here ? "this dim" : fmt::format("dim {}", d),
                           winners.back().OriginText());
      }
    if (winners.empty() || !names_.has_priorities) return out;
    return out + PriorityEdit(m, std::move(winners));
  }

  // Says which winners must come after the loser for the axis to get in. Each answer has been
  // tried.
  std::string PriorityEdit(const MissingAxis& m, std::vector<AxisPath> winners) {
    std::vector<std::vector<AxisPath>> trials;
    trials.reserve(winners.size() + 1);
    for (const AxisPath& w : winners) trials.push_back({w});
    if (winners.size() > 1) trials.push_back(std::move(winners));
    for (const std::vector<AxisPath>& trial : trials) {
      int32_t later = m.path.priority + 1;
      for (const AxisPath& w : trial) later = std::max(later, w.priority + 1);
      const Trials::Answer answer = TryPriority(m, trial, later);
      if (answer == Trials::kUnknown) return "";
      if (answer == Trials::kNo) continue;
      std::string out = fmt::format("\n    to let {} in:", m.text());
      for (const AxisPath& w : trial)
        out += fmt::format("{} .priority({}) for dim {} in {}",
                           &w == trial.data() ? " write" : " and", later, w.dim, w.given);
      return out;
    }
    return "\n    no other priorities would let it in";
  }

  // Whether the dim gets the axis if the winners' constraints have priority `later`.
  Trials::Answer TryPriority(const MissingAxis& m, const std::vector<AxisPath>& winners,
                             int32_t later) {
    std::vector<Edit> edits;
    for (const AxisPath& w : winners) {
      std::optional<Edit> edit = EditOf(w.constraint, w.dim, later);
      if (!edit) return Trials::kNo;
      edits.push_back(*edit);
    }
    return trials_.Gets(m.value, m.dim, m.axis, std::move(edits));
  }

  // Says who closed the dim, and whether the axis gets there if that constraint opens it.
  std::string ClosedBy(const MissingAxis& m) {
    const OpId maker = history_.DefiningOp(m.value);
    const bool made = maker != kNoOp && history_.op(maker).kind == Op::kConstraint;
    const OpId constraint = made ? maker : HeldBy(history_.Owner(m.value));
    if (constraint == kNoOp)
      return "the dim is closed by " + paths_.Start(history_.Owner(m.value), m.dim, m.axis).given;
    std::string out = "the dim is closed by " + TextOf(constraint);
    std::optional<Edit> edit = EditOf(constraint, m.dim, Edit::kOpen);
    if (edit && trials_.Gets(m.value, m.dim, m.axis, {*edit}) == Trials::kYes)
      out += fmt::format("\n    to let {} in: write {} for dim {} in {}", m.text(), names_.open,
                         m.dim, TextOf(constraint));
    return out;
  }

  // Returns the closed constraint that import made v's own sharding; kNoOp if there is none.
  OpId HeldBy(ValueId v) const {
    if (!result_.input || !result_.input->graph.values.Has(v)) return kNoOp;
    const MaybeSharding& now = history_.graph().values[v].sharding;
    if (!now || result_.input->graph.values[v].sharding) return kNoOp;
    for (OpId id : history_.ConstraintsOn(v))
      if (history_.graph().values[history_.op(id).results[0]].sharding == now) return id;
    return kNoOp;
  }

  // Returns nothing if an import step made the constraint: the user has none to edit.
  std::optional<Edit> EditOf(OpId constraint, size_t d, int32_t priority) const {
    const OpId origin = constraint == kNoOp ? kNoOp : history_.op(constraint).origin;
    if (origin == kNoOp || !result_.input) return std::nullopt;
    return Edit{result_.input->graph.ops[origin].results[0], d, priority};
  }

  const EngineResult& result_;
  const Naming& names_;
  const History history_;
  AxisPaths paths_;
  Trials trials_;
};

Explainer::Explainer(const EngineResult& result, const Naming& names)
    : impl_(std::make_unique<Impl>(result, names)) {}
Explainer::~Explainer() = default;
std::string Explainer::Explain(ValueId v) { return impl_->Explain(v); }

}  // namespace tessera::propagation::engine
