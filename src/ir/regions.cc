// Types at the ends of data-flow edges, and mismatches between them.
#include "ir/regions.h"

#include <fmt/format.h>

#include "base/error.h"
#include "ir/control_params.h"

namespace tessera::ir {
namespace {

bool Outside(const FlowEnd& end) {
  return end.kind == FlowEnd::kOperand || end.kind == FlowEnd::kResult;
}

// Returns the type of an end as a region sees it, or null for a result, which has none yet.
const Type* InnerType(const RegionCall& call, const FlowEdge& edge, const FlowEnd& end) {
  auto index = end.index;
  if (end.kind == FlowEnd::kResult) return nullptr;
  if (end.kind == FlowEnd::kOperand)
    return edge.stacked ? SliceOf(call.operands[index]) : call.operands[index];
  const Program& region = *call.regions[end.region];
  return region.type(end.kind == FlowEnd::kRegionInput ? region.inputs[index]
                                                       : region.outputs[index]);
}

std::vector<FlowEdge> EdgesOf(const RegionCall& call) {
  return std::get<DataFlowEdges>(*call.op.dims)
      .edges({call.params, call.operands.size(), call.regions});
}

std::string EndText(const FlowEnd& end) {
  switch (end.kind) {
    case FlowEnd::kOperand:
      return fmt::format("operand {}", end.index);
    case FlowEnd::kResult:
      return fmt::format("result {}", end.index);
    default:
      return fmt::format("{} {} of region {}",
                         end.kind == FlowEnd::kRegionInput ? "input" : "output", end.index,
                         end.region);
  }
}

ErrorDetail Detail(const RegionCall& call, int check, std::string reason) {
  return base::Refusal(std::string(call.op.name), check, base::Where(call.loc), std::move(reason));
}

// A result is weak if all sources of its edge are.
const Type* ResultType(const RegionCall& call, const FlowEdge& edge) {
  const Type* type = nullptr;
  bool weak = true;
  for (const FlowEnd& end : edge.sources) {
    const Type* source = InnerType(call, edge, end);
    weak = weak && source->weak();
    if (!type || Outside(end) || !type->mesh()) type = source;
  }
  type = type->WithWeak(weak);
  return edge.stacked ? Stacked(type, As<ScanParams>(call.params).length) : type;
}

}  // namespace

ParamsPtr WithCounts(const Instruction& instruction, size_t constants, size_t carries) {
  switch (std::get<AsRegions>(*instruction.op->lowering).kind) {
    case AsRegions::kWhile: {
      auto p = As<WhileParams>(instruction.params.get());
      p.constants = static_cast<int64_t>(constants);
      return MakeParams(p);
    }
    case AsRegions::kScan: {
      auto p = As<ScanParams>(instruction.params.get());
      p.constants = static_cast<int64_t>(constants);
      p.carries = static_cast<int64_t>(carries);
      return MakeParams(p);
    }
    case AsRegions::kSwitch:
    case AsRegions::kCall:
      break;
  }
  return instruction.params;
}

const Type* Stacked(const Type* slice, int64_t size) {
  Shape shape = slice->shape();
  shape.insert(shape.begin(), size);
  sharding::TensorSharding s = slice->sharding();
  s.dims.emplace(s.dims.begin());
  return Type::Get(std::move(shape), slice->dtype(), std::move(s), slice->weak());
}

const Type* SliceOf(const Type* stacked) {
  Shape shape(stacked->shape().begin() + 1, stacked->shape().end());
  sharding::TensorSharding s = stacked->sharding();
  s.dims.erase(s.dims.begin());
  return Type::Get(std::move(shape), stacked->dtype(), std::move(s), stacked->weak());
}

std::optional<TypeProblem> CheckRegions(const RegionCall& call) {
  try {
    (*call.op.type)(TypeCall{.op = call.op,
                             .operands = call.operands,
                             .params = call.params,
                             .wanted = nullptr,
                             .regions = call.regions});
  } catch (TypeProblem& problem) {
    return std::move(problem);
  }
  return std::nullopt;
}

std::optional<FlowMismatch> FindMismatch(const RegionCall& call) {
  for (const FlowEdge& edge : EdgesOf(call)) {
    const FlowEnd& first = edge.sources[0];
    const Type* type = InnerType(call, edge, first);
    std::vector<FlowEnd> others(edge.sources.begin() + 1, edge.sources.end());
    others.push_back(edge.owner);
    others.insert(others.end(), edge.targets.begin(), edge.targets.end());
    for (const FlowEnd& end : others) {
      const Type* other = InnerType(call, edge, end);
      if (other && !SameType(type, other)) return FlowMismatch{edge, first, end, type, other};
    }
  }
  return std::nullopt;
}

std::vector<const Type*> InferRegionTypes(const RegionCall& call) {
  if (auto problem = CheckRegions(call)) {
    ErrorDetail detail = Detail(call, problem->check, std::move(problem->reason));
    if (problem->kind == TypeProblem::kDType) base::ThrowDType(std::move(detail));
    base::ThrowShape(std::move(detail));
  }
  if (auto m = FindMismatch(call)) {
    ErrorDetail detail = Detail(call, 1, "values that flow through it must keep their type");
    detail.operands = {{EndText(m->from), m->from_type->text(), ""},
                       {EndText(m->to), m->to_type->text(), ""}};
    base::ThrowTrace(std::move(detail));
  }
  std::vector<const Type*> results;
  for (const FlowEdge& edge : EdgesOf(call)) {
    std::vector<FlowEnd> ends = edge.targets;
    ends.push_back(edge.owner);
    for (const FlowEnd& end : ends) {
      if (end.kind != FlowEnd::kResult) continue;
      const auto index = static_cast<size_t>(end.index);
      if (results.size() <= index) results.resize(index + 1);
      results[index] = ResultType(call, edge);
    }
  }
  return results;
}

}  // namespace tessera::ir
