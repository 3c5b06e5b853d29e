// Refuses malformed graphs, and names the user's line if it is known.
#include "propagation/verify.h"

#include <fmt/format.h>

#include "propagation/graph.h"
#include "propagation/refuse.h"

namespace tessera::propagation::engine {
namespace {

// The subject of a message, and the user's line.
struct Subject {
  std::string text, where = {};
};

[[noreturn]] void Fail(int check, Subject subject, const std::string& reason) {
  Refuse("propagate", check, std::move(subject.where),
         subject.text.empty() ? reason : subject.text + ": " + reason);
}

class Verifier {
 public:
  Verifier(const FlatGraph& graph, const Naming* names)
      : graph_(graph), names_(names), made_(graph.values.size(), kNoOp) {}

  void Run() {
    for (ValueId v : graph_.values.ids())
      if (graph_.values[v].sharding) CheckSharding(*graph_.values[v].sharding, v);
    for (OpId id : graph_.ops.ids()) CheckOp(id);
    for (OpId id : graph_.ops.ids())
      if (graph_.ops[id].kind == Op::kEdge) CheckEdge(id);
    for (GroupId g : graph_.groups.ids()) CheckGroup(g);
    CheckReturns();
  }

 private:
  Subject SubjectOf(OpId i) const {
    if (names_) return {names_->op(i), names_->where(i)};
    return {fmt::format("op {}", Number(i))};
  }
  std::string NameOf(ValueId v) const {
    return names_ ? names_->value(v) : fmt::format("value {}", Number(v));
  }
  const FlatValue& ValueOf(ValueId v) const { return graph_.values[v]; }

  void CheckValue(ValueId v, const Subject& subject) const {
    if (!graph_.values.Has(v))
      Fail(1, subject,
           fmt::format("there is no value {}; the graph has {}", Number(v), graph_.values.size()));
  }

  void CheckSharding(const TensorSharding& s, ValueId v) const {
    Subject subject{NameOf(v)};
    if (s.dims.size() != graph_.values[v].shape.size())
      Fail(2, subject,
           fmt::format("the sharding has rank {}, but the value has rank {}", s.dims.size(),
                       graph_.values[v].shape.size()));
    if (std::optional<sharding::Problem> problem = sharding::Verify(s))
      Fail(3, subject, problem->reason);
  }

  // Checks that v has one definition: an op, or the edge whose target it is.
  void CheckMade(ValueId v, OpId by, const Subject& subject) {
    CheckValue(v, subject);
    OpId& maker = made_[v];
    if (maker != kNoOp)
      Fail(4, subject,
           fmt::format("{} is already defined by {}", NameOf(v), SubjectOf(maker).text));
    maker = by;
  }

  void CheckOp(OpId i) {
    const Op& op = graph_.ops[i];
    Subject subject = SubjectOf(i);
    for (ValueId v : op.operands) CheckValue(v, subject);
    for (ValueId v : op.results) CheckMade(v, i, subject);
    if (!graph_.regions.Has(op.region))
      Fail(5, subject, fmt::format("there is no region {}", Number(op.region)));
    if (op.kind == Op::kEdge && !graph_.edges.Has(op.edge))
      Fail(6, subject, fmt::format("there is no edge {}", Number(op.edge)));
    bool unary = op.operands.size() == 1 && op.results.size() == 1;
    if ((op.kind == Op::kConstraint || op.kind == Op::kBarrier) && !unary)
      Fail(17, subject,
           fmt::format("constraints and barriers have one operand and one result, not {} and {}",
                       op.operands.size(), op.results.size()));
    if (op.kind == Op::kConstraint && !ValueOf(op.results[0]).sharding)
      Fail(7, subject, "the constraint has no sharding");
    if (op.rule == RuleId::kNone) return;
    if (!graph_.rules.Has(op.rule))
      Fail(8, subject, fmt::format("there is no rule {}", Number(op.rule)));
    if (op.kind != Op::kEdge) CheckRule(op, subject);
  }

  void CheckRule(const Op& op, const Subject& subject) const {
    const DimMap& map = graph_.rules[op.rule].map;
    auto check = [&](const auto& values, const std::vector<sharding::DimFactors>& tensors,
                     const char* what) {
      if (values.size() != tensors.size())
        Fail(9, subject,
             fmt::format("{} {}s, but the rule is for {}", values.size(), what, tensors.size()));
      for (size_t t = 0; t < tensors.size(); ++t) {
        size_t rank = ValueOf(values[t]).shape.size();
        if (tensors[t].size() != rank)
          Fail(10, subject,
               fmt::format("{} {} has rank {}, but the rule is for rank {}", what, t, rank,
                           tensors[t].size()));
      }
    };
    check(op.operands, map.operands, "operand");
    check(op.results, map.results, "result");
  }

  void CheckEdge(OpId owner_op) {
    const Op& owner = graph_.ops[owner_op];
    const Edge& edge = graph_.edges[owner.edge];
    Subject subject = SubjectOf(owner_op);
    if (edge.sources.empty()) Fail(11, subject, "the edge has no source");
    if (owner.results.size() != 1) Fail(12, subject, "an edge has one owner");
    const Shape& shape = ValueOf(owner.results[0]).shape;
    const DimMap& map = graph_.rules[owner.rule].map;
    if (map.operands.size() != edge.sources.size() || map.results[0].size() != shape.size())
      Fail(9, subject, "its rule does not fit its sources and target");
    for (ValueId v : edge.other_targets) {
      CheckMade(v, owner_op, subject);
      if (ValueOf(v).shape.size() != shape.size())
        Fail(13, subject, "its targets have different ranks");
    }
    for (size_t i = 0; i < edge.sources.size(); ++i)
      CheckSource(edge.sources[i], map.operands[i], subject);
    if (edge.outer && edge.outer->dims.size() != shape.size())
      Fail(2, subject, "the sharding at the border does not have the rank of the targets");
  }

  void CheckSource(OperandUse use, const sharding::DimFactors& dims, const Subject& subject) const {
    bool known = graph_.ops.Has(use.op) && use.index >= 0 &&
                 use.index < static_cast<int32_t>(graph_.ops[use.op].operands.size());
    if (!known)
      Fail(14, subject, fmt::format("there is no operand {} of op {}", use.index, Number(use.op)));
    ValueId v = UsedValue(graph_, use);
    if (ValueOf(v).shape.size() != dims.size())
      Fail(13, subject, "source and target have different ranks");
  }

  void CheckGroup(GroupId g) const {
    const std::vector<ValueId>& group = graph_.groups[g];
    Subject subject{fmt::format("group {}", Number(g))};
    for (ValueId v : group) {
      CheckValue(v, subject);
      if (ValueOf(v).shape != ValueOf(group[0]).shape)
        Fail(15, subject,
             fmt::format("its members must have the same shape, unlike {} and {}", NameOf(group[0]),
                         NameOf(v)));
    }
  }

  void CheckReturns() const {
    size_t returned = 0;
    for (const Op& op : graph_.ops)
      if (op.is_return) returned += op.operands.size();
    if (!graph_.returns.empty() && graph_.returns.size() != returned)
      Fail(16, {},
           fmt::format("{} shardings are given, but the number of returned values is {}",
                       graph_.returns.size(), returned));
  }

  const FlatGraph& graph_;
  const Naming* names_;
  IdVector<ValueId, OpId> made_;
};

}  // namespace

void Verify(const FlatGraph& graph, const Naming* names) { Verifier(graph, names).Run(); }

}  // namespace tessera::propagation::engine
