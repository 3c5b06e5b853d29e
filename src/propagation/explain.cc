#include "propagation/explain.h"

#include <fmt/format.h>

#include <algorithm>

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
    const std::optional<TensorSharding>& given = graph_.values[static_cast<size_t>(v)].sharding;
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

class Explainer {
 public:
  Explainer(const Result& result, const Names& names)
      : result_(result), names_(names), history_(result) {}

  std::string Run(ValueId v) {
    const TensorSharding* s = result_.sharding(v);
    out_ = fmt::format("{}: {}\n", names_.value(v), s ? Text(*s) : "no sharding: whole everywhere");
    for (size_t d = 0; s && d < s->dims.size(); ++d)
      for (AxisRef a : s->dims[d].axes) {
        out_ += fmt::format("  dim {}: {}\n", d, AxisText(*s->mesh, a));
        Trace(v, d, a, history_.now(), 0);
      }
    for (size_t i = 0; i < history_.graph().ops.size(); ++i) Conflicts(static_cast<OpId>(i), v);
    return out_;
  }

 private:
  std::string OpText(OpId i) const {
    OpId origin = history_.op(i).origin;
    if (origin < 0) return "a constraint made by an import step";
    std::string where = names_.where(origin);
    return names_.op(origin) + (where.empty() ? "" : " at " + where);
  }

  // What gives a value its sharding from the start.
  std::string Given(ValueId v) const {
    OpId maker = history_.Maker(v);
    for (size_t i = 0; i < history_.graph().ops.size(); ++i) {
      const Op& op = history_.graph().ops[i];
      bool asks = op.kind == Op::kConstraint && !op.operands.empty() && op.operands[0] == v;
      if (asks) return "the " + OpText(static_cast<OpId>(i)) + ", which asks it of its operand";
    }
    if (maker < 0) return "the argument " + names_.value(v) + " itself";
    if (history_.op(maker).kind == Op::kConstraint) return "the " + OpText(maker);
    return "the type of " + names_.value(v) + ", made by " + OpText(maker);
  }

  // One line per op that axis a passed on its way to dim d of v, back to where it was given.
  void Trace(ValueId v, size_t d, AxisRef a, size_t time, int depth) {
    std::optional<size_t> e = history_.Gained(v, d, a, time);
    std::string indent(static_cast<size_t>(4 + std::min(depth, 8)), ' ');
    int32_t priority = e && history_.event(*e).op < 0 ? history_.event(*e).priority : 0;
    if (!e || priority > 0) {
      out_ += fmt::format("{}given by {}{}\n", indent, Given(v),
                          priority > 0 ? fmt::format(", priority {}", priority) : "");
      return;
    }
    const Event& event = history_.event(*e);
    auto source = SourceOf(event, d, a, *e);
    if (!source) {
      out_ += fmt::format("{}through {}\n", indent, OpText(event.op));
      return;
    }
    auto [value, dim, direction] = *source;
    out_ += fmt::format("{}from dim {} of {} {} {}{}\n", indent, dim, names_.value(value),
                        direction, OpText(event.op), Stage(event));
    Trace(value, dim, a, *e, depth + 1);
  }

  std::string Stage(const Event& event) const {
    std::string out;
    auto round = static_cast<size_t>(event.round);
    if (round < names_.rounds.size()) out += names_.rounds[round];
    if (event.priority > 0)
      out += fmt::format("{}priority {}", out.empty() ? "" : ", ", event.priority);
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
      if (!has.present || !wants.present || has.axes.size() >= wants.axes.size()) continue;
      AxisRef x = wants.axes[has.axes.size()];
      const MeshDef* mesh = result_.sharding(tensors[other])->mesh;
      out_ += fmt::format("  not {} of {} through {}:\n    {}\n", AxisText(*mesh, x),
                          names_.value(tensors[other]), OpText(i),
                          Reason(p.tensors[mine], tensors[mine], map, f, x, mesh));
    }
  }

  std::string Reason(const TensorState& t, ValueId v, const DimMap& map, size_t f, AxisRef x,
                     const MeshDef* mesh) const {
    std::string axis = AxisText(*mesh, x);
    const FactorState& s = t.factors[f];
    if (map.factors[f].blocked) return "nothing crosses this dim of the op";
    if (OverlapsAny(t.replicated, x))
      return fmt::format("{} must stay replicated over {}; leave it out of replicated(...)",
                         names_.value(v), axis);
    if (OverlapsAny(t.unreduced, x)) return fmt::format("it is unreduced over {}", axis);
    for (size_t g = 0; g < t.factors.size(); ++g)
      if (g != f && (OverlapsAny(t.factors[g].axes, x) || OverlapsAny(t.factors[g].overflow, x)))
        return fmt::format(
            "{} shards another dim of it already; to have it here, give this dim's constraint a "
            "more urgent priority, or close the other dim",
            axis);
    if (s.closed) return "the dim is closed; Open(...) in its constraint would let it in";
    if (!s.axes.empty()) return "it is sharded otherwise here, from an earlier axis on";
    return "the tensors of the op disagree about this factor; a constraint on one would decide";
  }

  const Result& result_;
  const Names& names_;
  History history_;
  std::string out_;
};

}  // namespace

std::string Explain(const Result& result, ValueId v, const Names& names) {
  return Explainer(result, names).Run(v);
}

}  // namespace tessera::propagation::engine
