// Control flow: ops that run their regions.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "ir/control_params.h"
#include "ir/interpret.h"
#include "ir/program.h"
#include "ops/check.h"
#include "ops/ops.h"
#include "ops/reference_values.h"

namespace tessera::ops {
namespace {

using reference::HostTensor;
using reference::IndexAt;

using ir::FlowCall;
using ir::FlowEdge;
using ir::FlowEnd;

FlowEnd Operand(size_t i) { return {FlowEnd::kOperand, 0, static_cast<int32_t>(i)}; }
FlowEnd Result(size_t i) { return {FlowEnd::kResult, 0, static_cast<int32_t>(i)}; }
FlowEnd Input(size_t region, size_t i) {
  return {FlowEnd::kRegionInput, static_cast<int32_t>(region), static_cast<int32_t>(i)};
}
FlowEnd Output(size_t region, size_t i) {
  return {FlowEnd::kRegionOutput, static_cast<int32_t>(region), static_cast<int32_t>(i)};
}

// ---- checks -------------------------------------------------------------------------------------

// C13, C14: the region must have these numbers of inputs and outputs.
void CheckArity(const TypeCall& c, size_t region, size_t inputs, size_t outputs) {
  const ir::Program& r = *c.regions[region];
  if (r.inputs.size() != inputs || !r.captures.empty())
    c.FailShape(13, fmt::format("region {} takes {} values, not {}", region, inputs,
                                r.inputs.size() + r.captures.size()));
  if (r.outputs.size() != outputs)
    c.FailShape(
        14, fmt::format("region {} returns {} values, not {}", region, outputs, r.outputs.size()));
}

bool IsScalar(const ir::Type& type) { return type.shape().empty(); }

std::vector<ShapeAndDType> WhileType(const TypeCall& c) {
  CheckRegionCount(c, 2);
  size_t n = c.operands.size();
  size_t constants = CheckedCount(c, ir::As<ir::WhileParams>(c.params).constants, n, "constants");
  CheckArity(c, 0, n, 1);
  CheckArity(c, 1, n, n - constants);
  const ir::Type& predicate = *c.regions[0]->type(c.regions[0]->outputs[0]);
  if (!IsScalar(predicate) || !predicate.dtype().is_bool())
    c.FailDType(16, fmt::format("the condition must be a scalar bool, not {}", predicate.text()));
  return {};
}

std::vector<ShapeAndDType> ScanType(const TypeCall& c) {
  CheckRegionCount(c, 1);
  const auto& p = ir::As<ir::ScanParams>(c.params);
  size_t n = c.operands.size();
  size_t constants = CheckedCount(c, p.constants, n, "constants");
  size_t carries = CheckedCount(c, p.carries, n - constants, "carries");
  if (p.length < 0) c.FailShape(17, fmt::format("a length of {} is negative", p.length));
  const ir::Program& body = *c.regions[0];
  if (body.outputs.size() < carries)
    c.FailShape(14, fmt::format("the body returns {} values, fewer than the {} carries",
                                body.outputs.size(), carries));
  CheckArity(c, 0, n, body.outputs.size());
  for (size_t i = carries; i < body.outputs.size(); ++i) {
    Shape stacked = body.type(body.outputs[i])->shape();
    stacked.insert(stacked.begin(), p.length);
    if (std::string problem = ir::SizeProblem(stacked); !problem.empty())
      c.FailShape(2, fmt::format("a result would have {}: {}", problem, ShapeText(stacked)));
  }
  for (size_t i = constants + carries; i < n; ++i) {
    const ir::Type& xs = *c.operands[i];
    if (IsScalar(xs) || xs.shape()[0] != p.length)
      c.FailShape(18, fmt::format("{} has no leading dim of {} to step over", xs.text(), p.length));
    if (!xs.sharding().dims[0].axes.empty())
      c.FailShape(
          19, fmt::format("dim 0 of {} is stepped over, and so must not be sharded", xs.text()));
  }
  return {};
}

// Operand 0 is the index; every branch takes the others.
void CheckBranches(const TypeCall& c) {
  if (c.operands.empty()) c.FailShape(11, "it needs at least one operand");
  size_t results = c.regions[0]->outputs.size();
  for (size_t k = 0; k < c.regions.size(); ++k) CheckArity(c, k, c.operands.size() - 1, results);
}

std::vector<ShapeAndDType> CondType(const TypeCall& c) {
  CheckRegionCount(c, 2);
  CheckBranches(c);
  if (!IsScalar(*c.operands[0]) || !c.operands[0]->dtype().is_bool())
    c.FailDType(16,
                fmt::format("the predicate must be a scalar bool, not {}", c.operands[0]->text()));
  return {};
}

std::vector<ShapeAndDType> SwitchType(const TypeCall& c) {
  if (c.regions.empty()) c.FailShape(12, "it needs at least one region");
  CheckBranches(c);
  if (!IsScalar(*c.operands[0]) || !c.operands[0]->dtype().is_integer())
    c.FailDType(16,
                fmt::format("the index must be a scalar integer, not {}", c.operands[0]->text()));
  return {};
}

// ---- data flow ----------------------------------------------------------------------------------

std::vector<FlowEdge> WhileEdges(const FlowCall& c) {
  size_t constants = ir::As<ir::WhileParams>(c.params).constants;
  std::vector<FlowEdge> edges;
  for (size_t i = 0; i < constants; ++i)
    edges.push_back({Input(1, i), {Operand(i)}, {Input(0, i)}});
  for (size_t i = constants; i < c.operands; ++i)
    edges.push_back({Result(i - constants),
                     {Operand(i), Output(1, i - constants)},
                     {Input(0, i), Input(1, i)}});
  return edges;
}

std::vector<FlowEdge> ScanEdges(const FlowCall& c) {
  const auto& p = ir::As<ir::ScanParams>(c.params);
  size_t constants = p.constants, carries = p.carries;
  std::vector<FlowEdge> edges;
  for (size_t i = 0; i < constants; ++i) edges.push_back({Input(0, i), {Operand(i)}, {}});
  for (size_t i = 0; i < carries; ++i)
    edges.push_back({Result(i), {Operand(constants + i), Output(0, i)}, {Input(0, constants + i)}});
  for (size_t i = constants + carries; i < c.operands; ++i)
    edges.push_back({Input(0, i), {Operand(i)}, {}, /*stacked=*/true});
  for (size_t i = carries; i < c.regions[0]->outputs.size(); ++i)
    edges.push_back({Result(i), {Output(0, i)}, {}, /*stacked=*/true});
  return edges;
}

std::vector<FlowEdge> BranchEdges(const FlowCall& c) {
  std::vector<FlowEdge> edges;
  for (size_t i = 1; i < c.operands; ++i) {
    FlowEdge edge{.owner = Input(0, i - 1), .sources = {Operand(i)}, .targets = {}};
    for (size_t k = 1; k < c.regions.size(); ++k) edge.targets.push_back(Input(k, i - 1));
    edges.push_back(std::move(edge));
  }
  for (size_t i = 0; i < c.regions[0]->outputs.size(); ++i) {
    FlowEdge edge{.owner = Result(i), .sources = {}, .targets = {}};
    for (size_t k = 0; k < c.regions.size(); ++k) edge.sources.push_back(Output(k, i));
    edges.push_back(std::move(edge));
  }
  return edges;
}

// ---- references, step by step -------------------------------------------------------------------

using Tensors = std::vector<HostTensor>;

Tensors Operands(const ir::ReferenceCall& call, size_t first, size_t last) {
  Tensors out;
  for (size_t i = first; i < last; ++i) out.push_back(*call.operands[i]);
  return out;
}

Tensors Append(Tensors a, const Tensors& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

HostTensor SliceAt(const HostTensor& xs, int64_t i) {
  HostTensor x(xs.dtype, {xs.shape.begin() + 1, xs.shape.end()});
  std::memcpy(x.data.data(), xs.data.data() + i * static_cast<int64_t>(x.data.size()),
              x.data.size());
  return x;
}

void WhileReference(const ir::ReferenceCall& call) {
  size_t n = ir::As<ir::WhileParams>(call.params).constants;
  const Tensors constants = Operands(call, 0, n);
  Tensors carry = Operands(call, n, call.operands.size());
  while (ir::Interpret(*call.regions[0], Append(constants, carry))[0].Int(0) != 0)
    carry = ir::Interpret(*call.regions[1], Append(constants, carry));
  for (size_t i = 0; i < carry.size(); ++i) *call.results[i] = std::move(carry[i]);
}

void ScanReference(const ir::ReferenceCall& call) {
  const auto& p = ir::As<ir::ScanParams>(call.params);
  size_t constants = p.constants, carries = p.carries;
  const Tensors fixed = Operands(call, 0, constants);
  Tensors carry = Operands(call, constants, constants + carries);
  for (int64_t step = 0; step < p.length; ++step) {
    int64_t at = p.reverse ? p.length - 1 - step : step;
    Tensors inputs = Append(fixed, carry);
    for (size_t i = constants + carries; i < call.operands.size(); ++i)
      inputs.push_back(SliceAt(*call.operands[i], at));
    Tensors outputs = ir::Interpret(*call.regions[0], std::move(inputs));
    for (size_t i = 0; i < carries; ++i) carry[i] = std::move(outputs[i]);
    for (size_t i = carries; i < outputs.size(); ++i) {
      auto bytes = outputs[i].data.size();
      std::memcpy(call.results[i]->data.data() + static_cast<size_t>(at) * bytes,
                  outputs[i].data.data(), bytes);
    }
  }
  for (size_t i = 0; i < carries; ++i) *call.results[i] = std::move(carry[i]);
}

void SwitchReference(const ir::ReferenceCall& call) {
  const HostTensor& index = *call.operands[0];
  auto last = static_cast<int64_t>(call.regions.size()) - 1;
  int64_t branch = index.dtype.is_bool() ? (index.Int(0) != 0 ? 0 : 1)
                                         : std::clamp<int64_t>(IndexAt(index, 0), 0, last);
  Tensors outputs = ir::Interpret(*call.regions[branch], Operands(call, 1, call.operands.size()));
  for (size_t i = 0; i < outputs.size(); ++i) *call.results[i] = std::move(outputs[i]);
}

}  // namespace

constexpr OpDef kWhileLoop{.name = "while_loop",
                           .doc = "Runs the body on the carry as long as the condition holds.",
                           .type = ir::TypeFn{WhileType},
                           .dims = ir::DataFlowEdges{WhileEdges},
                           .lowering = ir::AsRegions{ir::AsRegions::kWhile},
                           .reference = ir::ReferenceFn{WhileReference},
                           .diff = ir::ByRegions{},
                           .params = ir::KindOf<ir::WhileParams>()};
constexpr OpDef kScan{
    .name = "scan",
    .doc = "Carries values through slices of xs, and stacks the other results of the steps.",
    .type = ir::TypeFn{ScanType},
    .dims = ir::DataFlowEdges{ScanEdges},
    .lowering = ir::AsRegions{ir::AsRegions::kScan},
    .reference = ir::ReferenceFn{ScanReference},
    .diff = ir::ByRegions{},
    .params = ir::KindOf<ir::ScanParams>()};
constexpr OpDef kCond{.name = "cond",
                      .doc = "Runs the first branch if the predicate is true, else the second.",
                      .type = ir::TypeFn{CondType},
                      .dims = ir::DataFlowEdges{BranchEdges},
                      .lowering = ir::AsRegions{ir::AsRegions::kSwitch},
                      .reference = ir::ReferenceFn{SwitchReference},
                      .diff = ir::ByRegions{}};
constexpr OpDef kSwitchCase{
    .name = "switch_case",
    .doc = "Runs the branch that the index names, clamped to the branches there are.",
    .type = ir::TypeFn{SwitchType},
    .dims = ir::DataFlowEdges{BranchEdges},
    .lowering = ir::AsRegions{ir::AsRegions::kSwitch},
    .reference = ir::ReferenceFn{SwitchReference},
    .diff = ir::ByRegions{}};

Records ControlOps() {
  static constexpr const OpDef* kOps[] = {&kWhileLoop, &kScan, &kCond, &kSwitchCase};
  return kOps;
}

}  // namespace tessera::ops
