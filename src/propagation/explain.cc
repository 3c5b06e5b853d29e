// Follows an axis back through recorded changes, and tries edits of constraints by
// propagating again.
#include "propagation/explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "base/at.h"
#include "propagation/factors.h"
#include "propagation/history.h"
#include "propagation/propagate.h"
#include "sharding/text.h"

namespace tessera::propagation::engine {
namespace {

// An edit of a constraint: dim `dim` of its result `value` gets a priority, or is opened.
struct Edit {
  static constexpr int32_t kOpen = -1;
  ValueId value;
  size_t dim;
  int32_t priority;                                             // kOpen: opens the dim instead
  friend auto operator<=>(const Edit&, const Edit&) = default;  // NOLINT(modernize-use-nullptr)
};

// The outcomes of edits. Equal edits are propagated once, and their number is limited, so that many
// explanations of one graph stay linear in its size.
class Trials {
 public:
  explicit Trials(const EngineResult& result) : input_(result.input.get()) {}

  enum Answer : uint8_t { kNo, kYes, kUnknown };
  // Whether dim d of v has axis x after the edits.
  Answer Gets(ValueId v, size_t d, AxisPart x, std::vector<Edit> edits) {
    std::sort(edits.begin(), edits.end());
    auto tried = tried_.find(edits);
    if (tried == tried_.end()) {
      if (!input_ || tried_.size() == kMost) return kUnknown;
      EngineResult result = Run(edits);
      tried = tried_
                  .emplace(std::move(edits),
                           Outcome{std::move(result.shardings), std::move(result.of_value)})
                  .first;
    }
    const auto& [shardings, of_value] = tried->second;
    if (static_cast<size_t>(v) >= of_value.size()) return kUnknown;
    int32_t s = base::At(of_value, v);
    return s != 0 && Holds(base::At(shardings, s).dims[d].axes, x) ? kYes : kNo;
  }

 private:
  static constexpr size_t kMost = 32;

  EngineResult Run(const std::vector<Edit>& edits) const {
    FlatGraph graph = input_->graph;
    for (const Edit& edit : edits) {
      sharding::DimAxes& dim = base::At(graph.values, edit.value).sharding->dims[edit.dim];
      if (edit.priority == Edit::kOpen)
        dim.open = true;
      else
        dim.priority = edit.priority;
    }
    return Propagate(std::move(graph), input_->options);
  }

  struct Outcome {
    std::vector<TensorSharding> shardings;
    std::vector<int32_t> of_value;
  };
  const EngineResult::Input* input_;
  std::map<std::vector<Edit>, Outcome> tried_;
};

// How an axis came to a dim of a value.
struct AxisPath {
  std::vector<std::string> steps;  // ops that carried it, the first one first
  std::vector<ValueId> values;     // values that had it before, the last one first
  std::string given;               // the origin, as text
  int32_t priority = 0;
  OpId constraint = -1;  // the constraint that gave it, if the user can edit one
  size_t dim = 0;        // of the constraint

  std::string Origin() const {
    return given + (priority > 0 ? fmt::format(", priority {}", priority) : "");
  }
};

}  // namespace

class Explainer::Impl {
 public:
  Impl(const EngineResult& result, const Naming& names)
      : result_(result), names_(names), history_(result), trials_(result) {}

  std::string Run(ValueId v) {
    const TensorSharding* s = result_.sharding(v);
    told_.clear();
    out_ = fmt::format("{}: {}\n", names_.value(v),
                       s ? Text(*s) : "not sharded: whole on every device");
    // An axis that v did not get may have lost earlier, on the path of an axis that v has.
    std::vector<ValueId> on_the_way = {v};
    for (size_t d = 0; s && d < s->dims.size(); ++d)
      for (AxisPart a : s->dims[d].axes) {
        AxisPath path = PathOf(v, d, a);
        out_ +=
            fmt::format("  dim {} has {}, given by {}\n", d, AxisText(*s->mesh, a), path.Origin());
        for (const std::string& step : path.steps) out_ += "    " + step + "\n";
        for (ValueId w : path.values)
          if (std::count(on_the_way.begin(), on_the_way.end(), w) == 0) on_the_way.push_back(w);
      }
    if (OpId held = HeldBy(v); held >= 0 && history_.Uses(v) > 1)
      out_ += fmt::format(
          "  {} is one of {} uses; because it is closed it fixes the value's own sharding; with "
          "Open(...) it would only be a preference\n",
          OpText(held), history_.Uses(v));
    for (ValueId w : on_the_way)
      for (OpId i : history_.Around(w)) Conflicts(i, w);
    return out_;
  }

 private:
  std::string OpText(OpId i) const {
    OpId origin = history_.op(i).origin;
    if (origin < 0) return "a constraint that joins a group";
    std::string where = names_.where(origin);
    return names_.op(origin) + (where.empty() ? "" : " at " + where);
  }

  // Completes a path with the origin of axis a, which dim d of v had from the start.
  void Given(ValueId v, size_t d, AxisPart a, AxisPath& path) const {
    OpId maker = history_.Maker(v);
    bool made = maker >= 0 && history_.op(maker).kind == Op::kConstraint;
    path.dim = d;
    if (made) {
      path.constraint = maker;
      path.given = OpText(maker);
      return;
    }
    for (OpId i : history_.Constraints(v)) {
      const Op& op = history_.op(i);
      const auto& asked = base::At(history_.graph().values, op.results[0]).sharding;
      if (!asked || !Holds(asked->dims[d].axes, a)) continue;
      path.constraint = i;
      path.given = OpText(path.constraint);
      path.steps.push_back(
          fmt::format("backward through it to its operand {}: a closed constraint holds for both",
                      names_.value(v)));
      return;
    }
    const ValueId owner = history_.Owner(v);
    path.given = names_.given ? names_.given(owner, maker < 0 ? "" : OpText(maker))
                              : fmt::format("the declared sharding of {}", names_.value(owner));
  }

  struct Source {
    ValueId value;
    size_t dim;
    const char* direction;
  };
  // One step of a path, and its continuation towards the origin. Paths share their beginnings, so
  // that explaining all values follows each step once.
  struct PathStep {
    size_t change, dim;  // the change that brought the axis, and the dim
    Source source;
    int before = -1, origin = -1;  // indices into steps_ (-1: none) and origins_
    size_t length = 1;             // of the path up to this step
    std::vector<int> head = {};    // the path's first steps
  };
  static constexpr size_t kShown = 8;

  AxisPath PathOf(ValueId v, size_t d, AxisPart a) const {
    auto [last, origin] = Follow(v, d, a);
    AxisPath path = base::At(origins_, origin);
    const size_t length = last < 0 ? 0 : base::At(steps_, last).length;
    std::vector<int> shown;
    for (int i = last; i >= 0 && shown.size() < (length > kShown ? kShown / 2 : kShown);
         i = base::At(steps_, i).before)
      shown.push_back(i);
    if (length > kShown) {
      for (int i : base::At(steps_, last).head) Show(i, path);
      path.steps.push_back(fmt::format("... {} more ops", length - kShown));
    }
    for (size_t i = shown.size(); i-- > 0;) Show(shown[i], path);
    return path;
  }

  void Show(int index, AxisPath& path) const {
    const PathStep& step = base::At(steps_, index);
    const Change& change = history_.change(step.change);
    path.steps.push_back(fmt::format("{} {} to dim {} of {}{}", step.source.direction,
                                     OpText(change.op), step.dim, names_.value(change.value),
                                     Stage(change)));
    path.values.insert(path.values.begin(), step.source.value);
  }

  // Returns the last step of the path (-1: none) and its origin.
  std::pair<int, int> Follow(ValueId v, size_t d, AxisPart a) const {
    std::vector<PathStep> found;
    int last = -1, origin = -1;
    for (size_t time = history_.now(); origin < 0;) {
      std::optional<size_t> e = history_.Gained(v, d, a, time);
      auto known = e ? step_of_.find({*e, d, a}) : step_of_.end();
      if (known != step_of_.end()) {
        last = known->second;
        origin = base::At(steps_, last).origin;
        break;
      }
      std::optional<Source> source;
      if (e) source = SourceOf(history_.change(*e), d, a, *e);
      if (!source) {
        origin = static_cast<int>(origins_.size());
        origins_.push_back(OriginOf(v, d, a, e));
        break;
      }
      found.push_back({.change = *e, .dim = d, .source = *source});
      v = source->value;
      d = source->dim;
      time = *e;
    }
    for (size_t i = found.size(); i-- > 0;) last = Add(std::move(found[i]), last, origin, a);
    return {last, origin};
  }

  int Add(PathStep step, int before, int origin, AxisPart a) const {
    step.before = before;
    step.origin = origin;
    if (before >= 0) {
      step.length = base::At(steps_, before).length + 1;
      step.head = base::At(steps_, before).head;
    }
    const int index = static_cast<int>(steps_.size());
    if (step.head.size() < kShown / 2) step.head.push_back(index);
    step_of_[{step.change, step.dim, a}] = index;
    steps_.push_back(std::move(step));
    return index;
  }

  // Returns the path at its origin. `e` is the change that gave dim d of v the axis; nothing if the
  // dim had it from the start.
  AxisPath OriginOf(ValueId v, size_t d, AxisPart a, std::optional<size_t> e) const {
    AxisPath path;
    if (!e || history_.change(*e).op < 0) {
      if (e) path.priority = history_.change(*e).priority;
      Given(v, d, a, path);
      return path;
    }
    OpId op = history_.change(*e).op;
    bool end = history_.op(op).is_return;
    path.given = end ? "the sharding required of the function's result" : OpText(op);
    return path;
  }

  std::string Stage(const Change& change) const {
    std::string out;
    auto add = [&](const std::string& word) { out += (out.empty() ? "" : ", ") + word; };
    const int round = change.round;
    if (change.strategy == propagation::Stage::kBasic)
      add("basic");
    else if (round >= 0 && round < std::ssize(names_.rounds))
      add(fmt::format("round {}: {}", round + 1, base::At(names_.rounds, round)));
    if (change.priority > 0) add(fmt::format("priority {}", change.priority));
    return out.empty() ? "" : " (" + out + ")";
  }

  // Returns the first tensor of the op that had the axis on the same factor. Operands come
  // before results.
  std::optional<Source> SourceOf(const Change& change, size_t d, AxisPart a, size_t time) const {
    if (change.op < 0) return std::nullopt;
    const Op& op = history_.op(change.op);
    if (op.is_return) return std::nullopt;
    std::vector<ValueId> tensors = history_.Tensors(change.op);
    const DimMap& map = history_.MapOf(change.op);
    size_t self = 0;
    while (self < tensors.size() && tensors[self] != change.value) ++self;
    if (self == tensors.size()) return std::nullopt;  // its group changed it
    const sharding::FactorList& mine = DimsOf(map, self)[d];
    for (size_t t = 0; t < tensors.size(); ++t) {
      if (tensors[t] == change.value) continue;
      const TensorSharding* s = history_.At(tensors[t], time);
      if (!s) continue;
      const sharding::DimFactors& theirs = DimsOf(map, t);
      for (size_t k = 0; k < theirs.size(); ++k) {
        bool shares = std::any_of(theirs[k].begin(), theirs[k].end(), [&](int32_t f) {
          return std::count(mine.begin(), mine.end(), f) > 0;
        });
        if (!shares || !OverlapsAny(s->dims[k].axes, a)) continue;
        bool from_operand = t < map.operands.size(), to_operand = self < map.operands.size();
        return Source{tensors[t], k,
                      from_operand == to_operand ? "sideways through"
                      : from_operand             ? "forward through"
                                                 : "backward through"};
      }
    }
    return std::nullopt;
  }

  // Reports axes that other tensors of the op have on a factor of v, and that v lacks.
  void Conflicts(OpId i, ValueId v) {
    const Op& op = history_.op(i);
    if (op.kind == Op::kEdge && base::At(history_.graph().edges, op.edge).outer) return;
    std::vector<ValueId> tensors = history_.Tensors(i);
    std::vector<const TensorSharding*> shardings;
    shardings.reserve(tensors.size());
    for (ValueId t : tensors) shardings.push_back(result_.sharding(t));
    const DimMap& map = history_.MapOf(i);
    OpState p = Project(map, shardings);
    for (size_t t = 0; t < tensors.size(); ++t) {
      if (tensors[t] != v) continue;
      for (size_t other = 0; other < tensors.size(); ++other)
        if (other != t) Compare(i, p, t, other, tensors);
      return;
    }
  }

  void Compare(OpId i, const OpState& p, size_t mine, size_t other,
               const std::vector<ValueId>& tensors) {
    const DimMap& map = history_.MapOf(i);
    for (size_t f = 0; f < map.factors.size(); ++f) {
      const FactorState &has = p.tensors[mine].factors[f], &wants = p.tensors[other].factors[f];
      if (!has.present || !wants.present) continue;
      size_t k = 0;  // the first axis that differs
      while (k < has.axes.size() && k < wants.axes.size() && has.axes[k] == wants.axes[k]) ++k;
      if (k == wants.axes.size()) continue;
      AxisPart x = wants.axes[k];
      auto number = static_cast<int32_t>(f);
      size_t d = DimOf(map, mine, number);
      ValueId loser = tensors[other];
      const MeshDef& mesh = *result_.sharding(loser)->mesh;
      AxisPath path = PathOf(loser, DimOf(map, other, number), x);
      if (!told_.insert(AxisText(mesh, x) + path.Origin()).second) continue;
      out_ += fmt::format("  dim {} of {} did not get {} from {} through {}\n", d,
                          names_.value(tensors[mine]), AxisText(mesh, x), names_.value(loser),
                          OpText(i));
      out_ +=
          fmt::format("    {} has it, given by {}\n    {}\n", names_.value(loser), path.Origin(),
                      Reason(i, p.tensors[mine], tensors[mine], d, f, mesh, x, path));
    }
  }

  // Returns the factors of the dims of tensor `t` of an op.
  static const sharding::DimFactors& DimsOf(const DimMap& map, size_t t) {
    return t < map.operands.size() ? map.operands[t] : map.results[t - map.operands.size()];
  }

  // Returns the dim of tensor `t` that has factor f.
  static size_t DimOf(const DimMap& map, size_t t, int32_t f) {
    const sharding::DimFactors& dims = DimsOf(map, t);
    size_t d = 0;
    while (std::count(dims[d].begin(), dims[d].end(), f) == 0) ++d;
    return d;
  }

  // Says what keeps axis x, which came by `path`, off dim `mine` (factor f) of v, and which edit
  // would let it in. If v has no sharding, all its dims are open.
  std::string Reason(OpId i, const TensorState& t, ValueId v, size_t mine, size_t f,
                     const MeshDef& mesh, AxisPart x, const AxisPath& path) const {
    const TensorSharding* s = result_.sharding(v);
    std::string axis = AxisText(mesh, x), name = names_.value(v);
    if (history_.MapOf(i).factors[f].blocked) return "no axis passes through the op along this dim";
    if (OverlapsAny(t.replicated, x))
      return fmt::format("{} must stay replicated over {}: leave it out of replicated(...)", name,
                         axis);
    if (OverlapsAny(t.unreduced, x)) return fmt::format("{} is unreduced over {}", name, axis);
    const FactorState& state = t.factors[f];
    std::vector<AxisPath> winners;
    std::string out;
    for (size_t d = 0; s && d < s->dims.size(); ++d)
      for (AxisPart a : s->dims[d].axes) {
        bool here = !state.axes.empty() && a == state.axes[0];
        if (!here && !Overlaps(a, x)) continue;
        winners.push_back(PathOf(v, d, a));
        out += fmt::format("{}{} already shards {}, given by {}", out.empty() ? "" : "\n    ",
                           AxisText(mesh, a), here ? "this dim" : fmt::format("dim {}", d),
                           winners.back().Origin());
      }
    if (!winners.empty()) return out + Flip(v, mine, mesh, x, winners, path);
    if (state.closed) return Open(v, mine, mesh, x);
    if (std::string misfit = Misfit(i, t, v, mine, f, axis, x); !misfit.empty()) return misfit;
    return "the neighbours of this dim disagree: a constraint on it would decide";
  }

  // Says why factor f cannot hold the axis, if dim d of v has several factors; empty if it can.
  std::string Misfit(OpId i, const TensorState& t, ValueId v, size_t d, size_t f,
                     const std::string& axis, AxisPart x) const {
    const DimMap& map = history_.MapOf(i);
    std::vector<ValueId> tensors = history_.Tensors(i);
    auto self = base::Size(std::find(tensors.begin(), tensors.end(), v) - tensors.begin());
    const sharding::FactorList& dim = DimsOf(map, self)[d];
    auto size = [&](int32_t g) { return base::At(map.factors, g).size; };
    for (int32_t g : dim) {
      if (g == static_cast<int32_t>(f)) break;
      if (SizeOf(base::At(t.factors, g).axes) < size(g))
        return fmt::format(
            "it would shard a minor part of this dim, but the part before that, of size {}, is not "
            "fully sharded: shards would be strided",
            size(g));
    }
    const FactorState& state = t.factors[f];
    int64_t before = SizeOf(state.axes), own = size(static_cast<int32_t>(f));
    if (!state.minor_most && (own % before != 0 || std::gcd(own / before, x.size) == 1))
      return fmt::format(
          "{}, of size {}, does not divide the part of this dim that it would shard, of size {}",
          axis, x.size, own / before);
    return "";
  }

  // Returns the closed constraint that import made v's own sharding; -1: none.
  OpId HeldBy(ValueId v) const {
    if (!result_.input || static_cast<size_t>(v) >= result_.input->graph.values.size()) return -1;
    const auto& now = base::At(history_.graph().values, v).sharding;
    if (!now || base::At(result_.input->graph.values, v).sharding) return -1;
    for (OpId i : history_.Constraints(v)) {
      ValueId asks = history_.op(i).results[0];
      if (base::At(history_.graph().values, asks).sharding == now) return i;
    }
    return -1;
  }

  // Says who closed dim d of v, and whether x gets there if that constraint opens it.
  std::string Open(ValueId v, size_t d, const MeshDef& mesh, AxisPart x) const {
    OpId maker = history_.Maker(v);
    bool made = maker >= 0 && history_.op(maker).kind == Op::kConstraint;
    OpId constraint = made ? maker : HeldBy(history_.Owner(v));
    if (constraint < 0) {
      AxisPath path;
      Given(history_.Owner(v), d, x, path);
      return "the dim is closed by " + path.given;
    }
    std::string out = "the dim is closed by " + OpText(constraint);
    std::optional<Edit> edit = EditOf(constraint, d, Edit::kOpen);
    if (edit && trials_.Gets(v, d, x, {*edit}) == Trials::kYes)
      out += fmt::format("\n    to let {} in: write Open(...) for dim {} in {}", AxisText(mesh, x),
                         d, OpText(constraint));
    return out;
  }

  // Returns nothing if an import step made the constraint: the user has none to edit.
  std::optional<Edit> EditOf(OpId constraint, size_t d, int32_t priority) const {
    OpId origin = constraint < 0 ? -1 : history_.op(constraint).origin;
    if (origin < 0 || !result_.input) return std::nullopt;
    return Edit{base::At(result_.input->graph.ops, origin).results[0], d, priority};
  }

  // Says which winners must come after the loser for axis x to reach dim d of v. Each answer
  // has been tried.
  std::string Flip(ValueId v, size_t d, const MeshDef& mesh, AxisPart x,
                   std::vector<AxisPath> winners, const AxisPath& loser) const {
    std::vector<std::vector<AxisPath>> trials;
    trials.reserve(winners.size() + 1);
    for (const AxisPath& w : winners) trials.push_back({w});
    if (winners.size() > 1) trials.push_back(std::move(winners));
    for (const std::vector<AxisPath>& trial : trials) {
      int32_t later = loser.priority + 1;
      for (const AxisPath& w : trial) later = std::max(later, w.priority + 1);
      Trials::Answer answer = Try(v, d, x, trial, later);
      if (answer == Trials::kUnknown) return "";
      if (answer == Trials::kNo) continue;
      std::string out = fmt::format("\n    to let {} in:", AxisText(mesh, x));
      for (const AxisPath& w : trial)
        out += fmt::format("{} .priority({}) for dim {} in {}",
                           &w == trial.data() ? " write" : " and", later, w.dim, w.given);
      return out;
    }
    return "\n    no other priorities would let it in";
  }

  // Whether dim d of v gets axis x if these constraints have priority `later`.
  Trials::Answer Try(ValueId v, size_t d, AxisPart x, const std::vector<AxisPath>& trial,
                     int32_t later) const {
    std::vector<Edit> edits;
    for (const AxisPath& w : trial) {
      std::optional<Edit> edit = EditOf(w.constraint, w.dim, later);
      if (!edit) return Trials::kNo;
      edits.push_back(*edit);
    }
    return trials_.Gets(v, d, x, std::move(edits));
  }

  const EngineResult& result_;
  const Naming& names_;
  History history_;
  mutable std::vector<PathStep> steps_;
  mutable std::vector<AxisPath> origins_;
  // by change, dim and axis
  mutable absl::flat_hash_map<std::tuple<size_t, size_t, AxisPart>, int> step_of_;
  mutable Trials trials_;
  std::string out_;
  std::set<std::string> told_;  // axes that lost, with their origins: each is reported once
};

Explainer::Explainer(const EngineResult& result, const Naming& names)
    : impl_(std::make_unique<Impl>(result, names)) {}
Explainer::~Explainer() = default;
std::string Explainer::Of(ValueId v) { return impl_->Run(v); }

}  // namespace tessera::propagation::engine
