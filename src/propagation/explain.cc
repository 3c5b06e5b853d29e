#include "propagation/explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "propagation/factors.h"

namespace tessera::propagation::engine {
namespace {

bool Holds(const AxisList& axes, AxisRef a) {
  return std::any_of(axes.begin(), axes.end(), [&](AxisRef b) { return Contains(b, a); });
}

// The tensors of ops and what they had at any moment, from the recorded events.
class History {
 public:
  explicit History(const Result& result) : result_(result), graph_(result.graph) {
    owner_.resize(graph_.values.size());
    for (size_t v = 0; v < owner_.size(); ++v) owner_[v] = static_cast<ValueId>(v);
    maker_.assign(graph_.values.size(), -1);
    for (size_t i = 0; i < graph_.ops.size(); ++i) {
      const Op& op = graph_.ops[i];
      for (ValueId v : op.results) maker_[static_cast<size_t>(v)] = static_cast<OpId>(i);
      if (op.kind == Op::kEdge)
        for (ValueId v : graph_.edges[static_cast<size_t>(op.edge)].other_targets)
          owner_[static_cast<size_t>(v)] = op.results[0];
    }
  }

  const Graph& graph() const { return graph_; }
  ValueId Owner(ValueId v) const { return owner_[static_cast<size_t>(v)]; }
  OpId Maker(ValueId v) const { return maker_[static_cast<size_t>(Owner(v))]; }
  const Op& op(OpId i) const { return graph_.ops[static_cast<size_t>(i)]; }
  const DimMap& MapOf(OpId i) const { return graph_.rules[static_cast<size_t>(op(i).rule)].map; }

  std::vector<ValueId> Tensors(OpId i) const {
    std::vector<ValueId> tensors(op(i).operands.begin(), op(i).operands.end());
    if (op(i).kind == Op::kEdge)
      for (Use use : graph_.edges[static_cast<size_t>(op(i).edge)].sources)
        tensors.push_back(op(use.op).operands[static_cast<size_t>(use.index)]);
    tensors.insert(tensors.end(), op(i).results.begin(), op(i).results.end());
    return tensors;
  }

  // What v had before event number `time`; null: nothing.
  const TensorSharding* At(ValueId v, size_t time) const {
    v = Owner(v);
    for (size_t e = time; e-- > 0;)
      if (Owner(result_.events[e].value) == v)
        return &result_.shardings[static_cast<size_t>(result_.events[e].after)];
    const MaybeSharding& given = graph_.values[static_cast<size_t>(v)].sharding;
    return given ? &*given : nullptr;
  }

  // The event before `time` that gave dim d of v axis a; nothing if it was given from the start.
  std::optional<size_t> Gained(ValueId v, size_t d, AxisRef a, size_t time) const {
    for (size_t e = 0; e < time; ++e) {
      const Event& event = result_.events[e];
      if (Owner(event.value) != Owner(v)) continue;
      const TensorSharding &after = result_.shardings[static_cast<size_t>(event.after)],
                           &before = result_.shardings[static_cast<size_t>(event.before)];
      bool had = event.before != 0 && Holds(before.dims[d].axes, a);
      if (!had && Holds(after.dims[d].axes, a)) return e;
    }
    return std::nullopt;
  }

  const Event& event(size_t e) const { return result_.events[e]; }
  size_t now() const { return result_.events.size(); }

 private:
  const Result& result_;
  const Graph& graph_;
  std::vector<ValueId> owner_;
  std::vector<OpId> maker_;
};

// How an axis came to a dim of a value.
struct Path {
  std::vector<std::string> steps;  // ops that it travelled, the last one first
  std::vector<ValueId> values;     // where it was before, likewise
  std::string given;               // by what it was given
  int32_t priority = 0;
  OpId constraint = -1;  // that gave it, which the user can edit
  size_t dim = 0;        // of the constraint

  std::string Origin() const {
    return given + (priority > 0 ? fmt::format(", priority {}", priority) : "");
  }
};

class Explainer {
 public:
  Explainer(const Result& result, const Names& names)
      : result_(result), names_(names), history_(result) {}

  std::string Run(ValueId v) {
    const TensorSharding* s = result_.sharding(v);
    out_ = fmt::format("{}: {}\n", names_.value(v), s ? Text(*s) : "no sharding: whole everywhere");
    // What v did not get may have lost earlier, on the way of what v has.
    std::vector<ValueId> on_the_way = {v};
    for (size_t d = 0; s && d < s->dims.size(); ++d)
      for (AxisRef a : s->dims[d].axes) {
        Path path = PathOf(v, d, a);
        out_ +=
            fmt::format("  dim {} has {}, given by {}\n", d, AxisText(*s->mesh, a), path.Origin());
        for (size_t i = path.steps.size(); i-- > 0;) out_ += "    " + path.steps[i] + "\n";
        for (ValueId w : path.values)
          if (std::count(on_the_way.begin(), on_the_way.end(), w) == 0) on_the_way.push_back(w);
      }
    for (ValueId w : on_the_way)
      for (size_t i = 0; i < history_.graph().ops.size(); ++i) Conflicts(static_cast<OpId>(i), w);
    return out_;
  }

 private:
  std::string OpText(OpId i) const {
    OpId origin = history_.op(i).origin;
    if (origin < 0) return "a constraint that joins a group";
    std::string where = names_.where(origin);
    return names_.op(origin) + (where.empty() ? "" : " at " + where);
  }

  // Completes a path with what gave dim d of v axis a from the start.
  void Given(ValueId v, size_t d, AxisRef a, Path& path) const {
    OpId maker = history_.Maker(v);
    bool made = maker >= 0 && history_.op(maker).kind == Op::kConstraint;
    path.dim = d;
    if (made) {
      path.constraint = maker;
      path.given = OpText(maker);
      return;
    }
    for (const Op& op : history_.graph().ops) {
      if (op.kind != Op::kConstraint || op.operands[0] != v) continue;
      const auto& asked = history_.graph().values[static_cast<size_t>(op.results[0])].sharding;
      if (!asked || !Holds(asked->dims[d].axes, a)) continue;
      path.constraint = static_cast<OpId>(&op - history_.graph().ops.data());
      path.given = OpText(path.constraint);
      path.steps.push_back(
          fmt::format("backward through it to its operand {}: closed constraints hold for both",
                      names_.value(v)));
      return;
    }
    path.given = maker < 0 ? fmt::format("the place of argument {}", names_.value(v))
                           : fmt::format("the type of the result of {}", OpText(maker));
  }

  Path PathOf(ValueId v, size_t d, AxisRef a) const {
    Path path;
    size_t time = history_.now();
    while (true) {
      std::optional<size_t> e = history_.Gained(v, d, a, time);
      if (!e || history_.event(*e).op < 0) {
        if (e) path.priority = history_.event(*e).priority;
        Given(v, d, a, path);
        return path;
      }
      const Event& event = history_.event(*e);
      auto source = SourceOf(event, d, a, *e);
      if (!source) {
        bool end = history_.op(event.op).is_return;
        path.given = end ? "the layout asked of the function's result" : OpText(event.op);
        return path;
      }
      path.steps.push_back(fmt::format("{} {} to dim {} of {}{}", source->direction,
                                       OpText(event.op), d, names_.value(v), Stage(event)));
      v = source->value;
      path.values.push_back(v);
      d = source->dim;
      time = *e;
    }
  }

  std::string Stage(const Event& event) const {
    std::string out;
    auto add = [&](const std::string& word) { out += (out.empty() ? "" : ", ") + word; };
    auto round = static_cast<size_t>(event.round);
    if (event.strategy == propagation::Stage::kBasic)
      add("basic");
    else if (round < names_.rounds.size())
      add(fmt::format("round {}: {}", round + 1, names_.rounds[round]));
    if (event.priority > 0) add(fmt::format("priority {}", event.priority));
    return out.empty() ? "" : " (" + out + ")";
  }

  struct Source {
    ValueId value;
    size_t dim;
    const char* direction;
  };
  // The first tensor of the op that had the axis on the same factor: operands before results.
  std::optional<Source> SourceOf(const Event& event, size_t d, AxisRef a, size_t time) const {
    if (event.op < 0) return std::nullopt;
    const Op& op = history_.op(event.op);
    if (op.is_return) return std::nullopt;
    std::vector<ValueId> tensors = history_.Tensors(event.op);
    const DimMap& map = history_.MapOf(event.op);
    auto dims_of = [&](size_t t) -> const sharding::DimFactors& {
      return t < map.operands.size() ? map.operands[t] : map.results[t - map.operands.size()];
    };
    size_t self = 0;
    while (self < tensors.size() && tensors[self] != event.value) ++self;
    if (self == tensors.size()) return std::nullopt;  // by its group
    for (size_t t = 0; t < tensors.size(); ++t) {
      if (tensors[t] == event.value) continue;
      const TensorSharding* s = history_.At(tensors[t], time);
      if (!s) continue;
      for (size_t k = 0; k < dims_of(t).size(); ++k) {
        bool shares = std::any_of(dims_of(t)[k].begin(), dims_of(t)[k].end(), [&](int32_t f) {
          const sharding::FactorList& mine = dims_of(self)[d];
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

  // Axes that other tensors of the op have on a factor of v, and v has not.
  void Conflicts(OpId i, ValueId v) {
    const Op& op = history_.op(i);
    if (op.kind == Op::kNone || op.rule < 0) return;
    if (op.kind == Op::kEdge && history_.graph().edges[static_cast<size_t>(op.edge)].outer) return;
    std::vector<ValueId> tensors = history_.Tensors(i);
    if (!std::count(tensors.begin(), tensors.end(), v)) return;
    std::vector<const TensorSharding*> shardings;
    for (ValueId t : tensors) shardings.push_back(result_.sharding(t));
    const DimMap& map = history_.MapOf(i);
    Projection p = Project(map, shardings);
    for (size_t t = 0; t < tensors.size(); ++t) {
      if (tensors[t] != v) continue;
      for (size_t other = 0; other < tensors.size(); ++other)
        if (other != t) Compare(i, p, t, other, tensors);
      return;
    }
  }

  void Compare(OpId i, const Projection& p, size_t mine, size_t other,
               const std::vector<ValueId>& tensors) {
    const DimMap& map = history_.MapOf(i);
    for (size_t f = 0; f < map.factors.size(); ++f) {
      const FactorState &has = p.tensors[mine].factors[f], &wants = p.tensors[other].factors[f];
      if (!has.present || !wants.present) continue;
      size_t k = 0;  // the first axis that differs
      while (k < has.axes.size() && k < wants.axes.size() && has.axes[k] == wants.axes[k]) ++k;
      if (k == wants.axes.size()) continue;
      AxisRef x = wants.axes[k];
      auto number = static_cast<int32_t>(f);
      size_t d = DimOf(map, mine, number);
      ValueId loser = tensors[other];
      const MeshDef* mesh = result_.sharding(loser)->mesh;
      Path path = PathOf(loser, DimOf(map, other, number), x);
      if (!told_.insert(AxisText(*mesh, x) + path.Origin()).second) continue;
      out_ += fmt::format("  dim {} of {} has not {} of {}, its neighbour in {}\n", d,
                          names_.value(tensors[mine]), AxisText(*mesh, x), names_.value(loser),
                          OpText(i));
      out_ += fmt::format("    there it was given by {}\n    {}\n", path.Origin(),
                          Reason(i, p.tensors[mine], tensors[mine], d, f, x, path));
    }
  }

  // The dim of tensor `t` of an op that has factor f.
  static size_t DimOf(const DimMap& map, size_t t, int32_t f) {
    const sharding::DimFactors& dims =
        t < map.operands.size() ? map.operands[t] : map.results[t - map.operands.size()];
    size_t d = 0;
    while (std::count(dims[d].begin(), dims[d].end(), f) == 0) ++d;
    return d;
  }

  // What keeps axis x, which came by `path`, off dim `mine` (factor f) of v, and what would let it
  // in.
  std::string Reason(OpId i, const TensorState& t, ValueId v, size_t mine, size_t f, AxisRef x,
                     const Path& path) const {
    const TensorSharding& s = *result_.sharding(v);
    std::string axis = AxisText(*s.mesh, x), name = names_.value(v);
    if (history_.MapOf(i).factors[f].blocked) return "nothing crosses this dim of the op";
    if (OverlapsAny(t.replicated, x))
      return fmt::format("{} must stay replicated over {}: leave it out of replicated(...)", name,
                         axis);
    if (OverlapsAny(t.unreduced, x)) return fmt::format("{} is unreduced over {}", name, axis);
    const FactorState& state = t.factors[f];
    std::vector<Path> winners;
    std::string out;
    for (size_t d = 0; d < s.dims.size(); ++d)
      for (AxisRef a : s.dims[d].axes) {
        bool here = !state.axes.empty() && a == state.axes[0];
        if (!here && !Overlaps(a, x)) continue;
        winners.push_back(PathOf(v, d, a));
        out += fmt::format("{}{} cuts {} already, given by {}", out.empty() ? "" : "\n    ",
                           AxisText(*s.mesh, a), here ? "it" : fmt::format("dim {}", d),
                           winners.back().Origin());
      }
    if (!winners.empty()) return out + Flip(v, mine, x, winners, path);
    if (state.closed) return "the dim is closed: Open(...) in its constraint would let it in";
    return "the neighbours of this dim disagree: a constraint on it would decide";
  }

  // Which winners would have to come after the loser for axis x to get to dim d of v. Each answer
  // has been tried.
  std::string Flip(ValueId v, size_t d, AxisRef x, std::vector<Path> winners,
                   const Path& loser) const {
    std::vector<std::vector<Path>> trials;
    for (const Path& w : winners) trials.push_back({w});
    if (winners.size() > 1) trials.push_back(std::move(winners));
    for (const std::vector<Path>& trial : trials) {
      int32_t later = loser.priority + 1;
      for (const Path& w : trial) later = std::max(later, w.priority + 1);
      if (!Gets(v, d, x, trial, later)) continue;
      std::string out = fmt::format("\n    to let {} in:", AxisText(*result_.sharding(v)->mesh, x));
      for (const Path& w : trial)
        out += fmt::format("{} .priority({}) for dim {} in {}", &w == trial.data() ? "" : " and",
                           later, w.dim, w.given);
      return out;
    }
    return "\n    no other priority of these would change that";
  }

  // Whether dim d of v has axis x if these constraints have priority `later`.
  bool Gets(ValueId v, size_t d, AxisRef x, const std::vector<Path>& trial, int32_t later) const {
    Graph graph = history_.graph();
    for (const Path& w : trial) {
      if (w.constraint < 0) return false;
      const Op& op = graph.ops[static_cast<size_t>(w.constraint)];
      for (ValueId held : {op.operands[0], op.results[0]}) {
        auto& given = graph.values[static_cast<size_t>(held)].sharding;
        if (given && !given->dims[w.dim].axes.empty()) given->dims[w.dim].priority = later;
      }
    }
    Options options;
    options.import = false;
    Result tried = Propagate(std::move(graph), options);
    const TensorSharding* s = tried.sharding(v);
    return s && Holds(s->dims[d].axes, x);
  }

  const Result& result_;
  const Names& names_;
  History history_;
  std::string out_;
  std::set<std::string> told_;  // axes that lost, with what gave them: the first place is enough
};

}  // namespace

std::string Explain(const Result& result, ValueId v, const Names& names) {
  return Explainer(result, names).Run(v);
}

}  // namespace tessera::propagation::engine
