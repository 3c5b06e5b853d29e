// Liveness through regions. One backward walk from the outputs marks values and data-flow edges of
// all nested programs; then each instruction keeps the edges that were marked.
#include "ir/prune.h"

#include <absl/algorithm/container.h>

#include <memory>

#include "ir/regions.h"
#include "ir/uses.h"

namespace tessera::ir {
namespace {

// A data-flow edge of one instruction.
enum class FlowEdgeId : int32_t {};
constexpr FlowEdgeId kNoEdge{-1};

// Whether values flow through the instruction along edges.
bool HasFlow(const Instruction& i) {
  return !i.regions.empty() && !i.op->roles && std::holds_alternative<DataFlowEdges>(*i.op->dims);
}

struct RegionFlow;

// A program, or a region of one, and which of its values are needed.
struct Scope {
  Scope(const Program& p, RegionFlow* in);
  const Program& program;
  RegionFlow* const flow;  // the instruction whose region it is, or null
  ValueSet live;
  base::IdVector<ValueId, InstructionId> made_by;  // or kNoInstruction
  base::IdVector<ValueId, int32_t> input;          // the position among the inputs, or -1
  // Null where nothing flows.
  base::IdVector<InstructionId, std::unique_ptr<RegionFlow>> flows;
};

// An instruction with regions, and which of its edges are needed.
struct RegionFlow {
  RegionFlow(const Instruction& i, Scope& in);
  const Instruction& instruction;
  Scope& outside;
  base::IdVector<FlowEdgeId, FlowEdge> edges;
  base::IdVector<FlowEdgeId, bool> live;
  bool runs = false;
  std::vector<std::unique_ptr<Scope>> regions;
  // Returns the edge of an end, or kNoEdge.
  FlowEdgeId EdgeOf(const FlowEnd& end) const { return edge_of_[end.kind][end.region][end.index]; }

 private:
  void SetEdge(const FlowEnd& end, FlowEdgeId edge) {
    edge_of_[end.kind][end.region][end.index] = edge;
  }
  std::vector<std::vector<FlowEdgeId>> edge_of_[4];  // by kind of end, region and index
};

Scope::Scope(const Program& p, RegionFlow* in)
    : program(p),
      flow(in),
      live(p.values.size()),
      made_by(p.values.size(), kNoInstruction),
      input(p.values.size(), -1),
      flows(p.instructions.size()) {
  for (size_t i = 0; i < p.inputs.size(); ++i) input[p.inputs[i]] = static_cast<int32_t>(i);
  for (InstructionId i : InstructionIds(p)) {
    const Instruction& instruction = InstructionAt(p, i);
    for (ValueId v : instruction.results) made_by[v] = i;
    if (HasFlow(instruction)) flows[i] = std::make_unique<RegionFlow>(instruction, *this);
  }
}

RegionFlow::RegionFlow(const Instruction& i, Scope& in)
    : instruction(i),
      outside(in),
      edges(std::get<DataFlowEdges>(*i.op->dims)
                .edges({i.params.get(), i.operands.size(), i.regions})),
      live(edges.size()) {
  edge_of_[FlowEnd::kOperand].emplace_back(i.operands.size(), kNoEdge);
  edge_of_[FlowEnd::kResult].emplace_back(i.results.size(), kNoEdge);
  for (const RegionPtr& r : i.regions) {
    edge_of_[FlowEnd::kRegionInput].emplace_back(r->inputs.size(), kNoEdge);
    edge_of_[FlowEnd::kRegionOutput].emplace_back(r->outputs.size(), kNoEdge);
    regions.push_back(std::make_unique<Scope>(*r, this));
  }
  for (FlowEdgeId e : edges.ids()) {
    SetEdge(edges[e].owner, e);
    for (const FlowEnd& end : edges[e].sources) SetEdge(end, e);
    for (const FlowEnd& end : edges[e].targets) SetEdge(end, e);
  }
}

// Marks the values and edges that are needed.
class Needed {
 public:
  explicit Needed(Scope& whole) {
    for (ValueId v : whole.program.outputs) Need(whole, v);
    NeedEffects(whole);
    while (!work_.empty()) {
      const auto [scope, v] = work_.back();
      work_.pop_back();
      Visit(*scope, v);
    }
  }

 private:
  void Need(Scope& scope, ValueId v) {
    if (scope.live[v]) return;
    scope.live[v] = true;
    work_.emplace_back(&scope, v);
  }

  // Instructions with effects are needed for their effects.
  void NeedEffects(Scope& scope) {
    for (InstructionId i : scope.flows.ids()) {
      if (scope.flows[i])
        for (const auto& region : scope.flows[i]->regions) NeedEffects(*region);
      const Instruction& instruction = InstructionAt(scope.program, i);
      if (scope.flows[i] || EffectOf(instruction) == Effect::kNone) continue;
      for (ValueId v : instruction.operands) Need(scope, v);
      for (RegionFlow* f = scope.flow; f; f = f->outside.flow) MarkRuns(*f);
    }
  }

  void Visit(Scope& scope, ValueId v) {
    if (const int32_t input = scope.input[v]; input >= 0) {
      if (scope.flow) NeedEdge(*scope.flow, {FlowEnd::kRegionInput, RegionOf(scope), input});
      return;
    }
    const InstructionId i = scope.made_by[v];
    if (i == kNoInstruction) return;
    const Instruction& instruction = InstructionAt(scope.program, i);
    RegionFlow* flow = scope.flows[i].get();
    if (!flow) {
      for (ValueId operand : instruction.operands) Need(scope, operand);
      return;
    }
    MarkRuns(*flow);
    const auto r = absl::c_find(instruction.results, v);
    NeedEdge(*flow, {FlowEnd::kResult, 0, static_cast<int32_t>(r - instruction.results.begin())});
  }
  static int32_t RegionOf(const Scope& scope) {
    int32_t r = 0;
    while (scope.flow->regions[r].get() != &scope) ++r;
    return r;
  }

  // Marks the values that decide which region runs, and how often. They are on no edge.
  void MarkRuns(RegionFlow& flow) {
    if (flow.runs) return;
    flow.runs = true;
    const Instruction& i = flow.instruction;
    for (size_t k = 0; k < i.operands.size(); ++k)
      if (flow.EdgeOf({FlowEnd::kOperand, 0, static_cast<int32_t>(k)}) == kNoEdge)
        Need(flow.outside, i.operands[k]);
    for (size_t r = 0; r < i.regions.size(); ++r)
      for (size_t k = 0; k < i.regions[r]->outputs.size(); ++k)
        if (flow.EdgeOf({FlowEnd::kRegionOutput, static_cast<int32_t>(r),
                         static_cast<int32_t>(k)}) == kNoEdge)
          Need(*flow.regions[r], i.regions[r]->outputs[k]);
  }

  void NeedEdge(RegionFlow& flow, const FlowEnd& end) {
    const FlowEdgeId e = flow.EdgeOf(end);
    if (flow.live[e]) return;
    flow.live[e] = true;
    for (const FlowEnd& source : flow.edges[e].sources) {
      if (source.kind == FlowEnd::kOperand)
        Need(flow.outside, flow.instruction.operands[source.index]);
      else
        Need(*flow.regions[source.region],
             flow.instruction.regions[source.region]->outputs[source.index]);
    }
  }

  std::vector<std::pair<Scope*, ValueId>> work_;
};

// Keeps the ends of one kind, in one region, whose edge is needed. Returns whether it kept all.
template <class List>
bool KeepNeeded(const RegionFlow& flow, FlowEnd::Kind kind, size_t region, List& ends) {
  size_t kept = 0;
  for (size_t k = 0; k < ends.size(); ++k) {
    const FlowEdgeId e = flow.EdgeOf({kind, static_cast<int32_t>(region), static_cast<int32_t>(k)});
    if (e == kNoEdge || flow.live[e]) ends[kept++] = ends[k];
  }
  const bool all = kept == ends.size();
  ends.resize(kept);
  return all;
}

// Where an edge ends: in a result, as the edge of a carry does, or only in regions.
enum class EndsIn : uint8_t { kRegions, kResult };

// Counts the needed edges from operands into regions.
size_t CountNeeded(const RegionFlow& flow, EndsIn end) {
  size_t n = 0;
  for (FlowEdgeId e : flow.edges.ids()) {
    const FlowEdge& edge = flow.edges[e];
    if (!flow.live[e] || edge.stacked || edge.sources[0].kind != FlowEnd::kOperand) continue;
    n += (edge.owner.kind == FlowEnd::kResult) == (end == EndsIn::kResult);
  }
  return n;
}

// Rewrites the instructions whose edges were marked. Returns whether any changed.
bool Rewrite(Program& program, const Scope& scope) {
  bool any = false;
  for (InstructionId i : scope.flows.ids()) {
    const RegionFlow* flow = scope.flows[i].get();
    if (!flow || !flow->runs) continue;
    Instruction& made = InstructionAt(program, i);
    bool same = KeepNeeded(*flow, FlowEnd::kOperand, 0, made.operands);
    same = KeepNeeded(*flow, FlowEnd::kResult, 0, made.results) && same;
    for (size_t r = 0; r < made.regions.size(); ++r) {
      Program region = *made.regions[r];
      bool same_region = !Rewrite(region, *flow->regions[r]);
      same_region = KeepNeeded(*flow, FlowEnd::kRegionInput, r, region.inputs) && same_region;
      same_region = KeepNeeded(*flow, FlowEnd::kRegionOutput, r, region.outputs) && same_region;
      if (same_region) continue;
      RemoveDeadOutsideRegions(region);
      made.regions[r] = Shared(std::move(region));
      same = false;
    }
    if (same) continue;
    made.params =
        WithCounts(made, CountNeeded(*flow, EndsIn::kRegions), CountNeeded(*flow, EndsIn::kResult));
    any = true;
  }
  return any;
}

}  // namespace

void PruneRegions(Program& program) {
  if (absl::c_none_of(program.instructions, HasFlow)) return;
  Scope scope(program, nullptr);
  Needed walk(scope);
  // The scopes refer to the unchanged program.
  Program pruned = program;
  if (Rewrite(pruned, scope)) program = std::move(pruned);
}

}  // namespace tessera::ir
