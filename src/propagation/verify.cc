#include <fmt/format.h>

#include "base/error.h"
#include "propagation/graph.h"

namespace tessera::propagation {
namespace {

[[noreturn]] void Fail(int check, std::string reason) {
  base::ThrowSharding({.kind = {},
                       .op = "propagate",
                       .label = fmt::format("propagate.C{}", check),
                       .where = {},
                       .reason = std::move(reason),
                       .operands = {},
                       .notes = {},
                       .fixes = {}});
}

class Verifier {
 public:
  explicit Verifier(const Graph& graph) : graph_(graph), made_(graph.values.size(), -1) {}

  void Run() {
    for (size_t v = 0; v < graph_.values.size(); ++v)
      CheckSharding(graph_.values[v].sharding, graph_.values[v].shape, fmt::format("value {}", v));
    for (size_t i = 0; i < graph_.ops.size(); ++i) CheckOp(i);
    for (size_t e = 0; e < graph_.edges.size(); ++e) CheckEdge(e);
    for (size_t g = 0; g < graph_.groups.size(); ++g) CheckGroup(g);
    CheckReturns();
  }

 private:
  void CheckValue(ValueId v, const std::string& place) const {
    if (v < 0 || v >= static_cast<ValueId>(graph_.values.size()))
      Fail(1, fmt::format("{}: there is no value {}; the graph has {}", place, v,
                          graph_.values.size()));
  }

  static void CheckSharding(const std::optional<TensorSharding>& s, const Shape& shape,
                            const std::string& place) {
    if (!s) return;
    if (s->dims.size() != shape.size())
      Fail(2, fmt::format("{}: the sharding is of rank {}, the value of rank {}", place,
                          s->dims.size(), shape.size()));
    if (std::optional<sharding::Problem> problem = sharding::Verify(*s))
      Fail(3, fmt::format("{}: {}", place, problem->reason));
  }

  void CheckOp(size_t i) {
    const Op& op = graph_.ops[i];
    std::string place = fmt::format("op {}", i);
    for (ValueId v : op.operands) CheckValue(v, place);
    for (ValueId v : op.results) {
      CheckValue(v, place);
      OpId& maker = made_[static_cast<size_t>(v)];
      if (maker >= 0)
        Fail(4, fmt::format("{}: value {} is made by op {} already", place, v, maker));
      maker = static_cast<OpId>(i);
    }
    if (op.region < 0 || op.region >= static_cast<int32_t>(graph_.regions.size()))
      Fail(5, fmt::format("{}: there is no region {}", place, op.region));
    if (op.kind == Op::kEdge &&
        (op.edge < 0 || op.edge >= static_cast<int32_t>(graph_.edges.size())))
      Fail(6, fmt::format("{}: there is no edge {}", place, op.edge));
    if (op.kind == Op::kConstraint && !graph_.values[static_cast<size_t>(op.results[0])].sharding)
      Fail(7, fmt::format("{}: a constraint without a sharding", place));
    if (op.rule >= static_cast<RuleId>(graph_.rules.size()))
      Fail(8, fmt::format("{}: there is no rule {}", place, op.rule));
    if (op.rule >= 0 && op.kind != Op::kEdge) CheckRule(op, place);
  }

  void CheckRule(const Op& op, const std::string& place) const {
    const DimMap& map = graph_.rules[static_cast<size_t>(op.rule)].map;
    auto check = [&](const auto& values, const std::vector<sharding::DimFactors>& tensors,
                     const char* what) {
      if (values.size() != tensors.size())
        Fail(9, fmt::format("{}: {} {}s, but the rule is for {}", place, values.size(), what,
                            tensors.size()));
      for (size_t t = 0; t < tensors.size(); ++t) {
        size_t rank = graph_.values[static_cast<size_t>(values[t])].shape.size();
        if (tensors[t].size() != rank)
          Fail(10, fmt::format("{}: {} {} has rank {}, but the rule is for rank {}", place, what, t,
                               rank, tensors[t].size()));
      }
    };
    check(op.operands, map.operands, "operand");
    check(op.results, map.results, "result");
  }

  void CheckEdge(size_t e) const {
    const Edge& edge = graph_.edges[e];
    std::string place = fmt::format("edge {}", e);
    if (edge.sources.empty()) Fail(11, place + ": no source");
    const Op* owner = nullptr;
    for (const Op& op : graph_.ops)
      if (op.kind == Op::kEdge && op.edge == static_cast<int32_t>(e)) owner = &op;
    if (!owner) Fail(12, place + ": no op has it");
    const Shape& shape = graph_.values[static_cast<size_t>(owner->results[0])].shape;
    const DimMap& map = graph_.rules[static_cast<size_t>(owner->rule)].map;
    if (map.operands.size() != edge.sources.size() || map.results[0].size() != shape.size())
      Fail(9, place + ": its rule is not for its sources and target");
    for (ValueId v : edge.other_targets) {
      CheckValue(v, place);
      if (graph_.values[static_cast<size_t>(v)].shape.size() != shape.size())
        Fail(13, place + ": targets of unequal rank");
    }
    for (size_t i = 0; i < edge.sources.size(); ++i)
      CheckSource(edge.sources[i], map.operands[i], place);
    if (edge.outer) CheckSharding(edge.outer, shape, place);
  }

  void CheckSource(Use use, const sharding::DimFactors& dims, const std::string& place) const {
    bool known =
        use.op >= 0 && use.op < static_cast<OpId>(graph_.ops.size()) && use.index >= 0 &&
        use.index < static_cast<int32_t>(graph_.ops[static_cast<size_t>(use.op)].operands.size());
    if (!known)
      Fail(14, fmt::format("{}: there is no operand {} of op {}", place, use.index, use.op));
    ValueId v = graph_.ops[static_cast<size_t>(use.op)].operands[static_cast<size_t>(use.index)];
    if (graph_.values[static_cast<size_t>(v)].shape.size() != dims.size())
      Fail(13, place + ": source and target of unequal rank");
  }

  void CheckGroup(size_t g) const {
    const std::vector<ValueId>& group = graph_.groups[g];
    for (ValueId v : group) {
      CheckValue(v, fmt::format("group {}", g));
      if (graph_.values[static_cast<size_t>(v)].shape !=
          graph_.values[static_cast<size_t>(group[0])].shape)
        Fail(15, fmt::format("group {}: its members must have the same shape", g));
    }
  }

  void CheckReturns() const {
    size_t returned = 0;
    for (const Op& op : graph_.ops)
      if (op.is_return) returned += op.operands.size();
    if (!graph_.returns.empty() && graph_.returns.size() != returned)
      Fail(16, fmt::format("shardings are given for {} results, but {} are returned",
                           graph_.returns.size(), returned));
  }

  const Graph& graph_;
  std::vector<OpId> made_;
};

}  // namespace

void Verify(const Graph& graph) { Verifier(graph).Run(); }

}  // namespace tessera::propagation
