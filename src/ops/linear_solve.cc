// Solutions of linear equations by functions of the user, with implicit derivatives.
#include <absl/algorithm/container.h>
#include <fmt/format.h>

#include "base/error.h"
#include "ir/inline.h"
#include "ir/interpret.h"
#include "ops/calls.h"
#include "ops/check.h"
#include "ops/expression.h"
#include "ops/ops.h"
#include "ops/tangents.h"

namespace tessera::ops {
namespace {

using ir::DiffCall;
using ir::FlowEdge;
using ir::FlowEnd;
using ir::ValueId;
using Values = std::vector<ValueId>;
using TypeList = std::vector<const ir::Type*>;

enum SolveRegion : size_t { kSolve, kMatvec, kTransposeSolve, kTransposeMatvec };

size_t ConstantsOf(const ir::Params* params) {
  return static_cast<size_t>(ir::As<CustomLinearSolveParams>(params).constants);
}

TypeList Cotangents(const TypeList& types) {
  TypeList out;
  for (const ir::Type* t : types) out.push_back(CotangentType(t));
  return out;
}

// C13, C14: a region takes the constants and `takes`, and its outputs begin with `gives`.
void CheckSolveRegion(const TypeCall& c, size_t region, TypeList takes, const TypeList& gives) {
  const ir::Program& program = *c.regions[region];
  takes.insert(takes.begin(), c.operands.begin(),
               c.operands.begin() + static_cast<long>(ConstantsOf(c.params)));
  const TypeList inputs = InputTypes(program);
  const auto check = [&](int number, const char* does, const TypeList& got, const TypeList& must) {
    for (size_t i = 0; i < must.size(); ++i)
      if (i >= got.size() || !ir::SameType(got[i], must[i]))
        c.FailShape(number,
                    fmt::format("region {} {} {} as number {}, not {}", region, does,
                                must[i]->text(), i, i < got.size() ? got[i]->text() : "nothing"));
  };
  if (!program.captures.empty() || inputs.size() != takes.size())
    c.FailShape(
        13, fmt::format("region {} takes {} values, not {}", region, takes.size(), inputs.size()));
  check(13, "takes", inputs, takes);
  check(14, "returns", OutputTypes(program), gives);
}

// C12: there are two or four regions.
std::vector<ShapeAndDType> CustomLinearSolveType(const TypeCall& c) {
  const size_t constants = CheckedCount(c, ir::As<CustomLinearSolveParams>(c.params).constants,
                                        c.operands.size(), "constants");
  if (c.regions.size() != 2 && c.regions.size() != 4)
    c.FailShape(12, fmt::format("it has {} regions, not 2 or 4", c.regions.size()));
  TypeList x;
  for (const ir::Type* t : c.operands.subspan(constants)) x.push_back(t->WithWeak(false));
  const TypeList b(c.operands.begin() + static_cast<long>(constants), c.operands.end());
  CheckSolveRegion(c, kSolve, b, x);
  CheckSolveRegion(c, kMatvec, x, x);
  if (c.regions.size() == 2) return {};
  CheckSolveRegion(c, kTransposeSolve, Cotangents(x), Cotangents(x));
  CheckSolveRegion(c, kTransposeMatvec, Cotangents(x), Cotangents(x));
  return {};
}

FlowEnd End(FlowEnd::Kind kind, size_t i) { return {kind, 0, static_cast<int32_t>(i)}; }

// Only the first region runs.
std::vector<FlowEdge> CustomLinearSolveEdges(const ir::FlowCall& c) {
  std::vector<FlowEdge> edges;
  for (size_t i = 0; i < c.operands; ++i)
    edges.push_back({.owner = End(FlowEnd::kRegionInput, i),
                     .sources = {End(FlowEnd::kOperand, i)},
                     .targets = {}});
  for (size_t i = 0; i < c.regions[kSolve]->outputs.size(); ++i)
    edges.push_back({.owner = End(FlowEnd::kResult, i),
                     .sources = {End(FlowEnd::kRegionOutput, i)},
                     .targets = {}});
  return edges;
}

std::vector<ir::RegionRoles> CustomLinearSolveRoles(const ir::FlowCall& c, ir::Types operands,
                                                    ir::Types results) {
  using enum ir::RegionRole::Kind;
  const size_t constants = ConstantsOf(c.params), n = operands.size() - constants;
  std::vector<ir::RegionRoles> roles(c.regions.size());
  const auto add = [](std::vector<ir::RegionRole>& to, ir::RegionRole::Kind kind, size_t begin,
                      size_t end, bool cotangent = false) {
    for (size_t i = begin; i < end; ++i) to.push_back({kind, static_cast<int32_t>(i), cotangent});
  };
  for (ir::RegionRoles& r : roles) add(r.inputs, kOperand, 0, constants);
  add(roles[kSolve].inputs, kOperand, constants, constants + n);
  add(roles[kSolve].outputs, kResult, 0, results.size());
  add(roles[kMatvec].inputs, kResult, 0, n);
  add(roles[kMatvec].outputs, kOperand, constants, constants + n);
  if (roles.size() == 2) return roles;
  add(roles[kTransposeSolve].inputs, kResult, 0, n, /*cotangent=*/true);
  add(roles[kTransposeSolve].outputs, kOperand, constants, constants + n, /*cotangent=*/true);
  // Values after those of the transposed solution differ by lane if it does.
  add(roles[kTransposeSolve].outputs, kResidual, 0, c.regions[kTransposeSolve]->outputs.size() - n);
  add(roles[kTransposeMatvec].inputs, kOperand, constants, constants + n, /*cotangent=*/true);
  add(roles[kTransposeMatvec].outputs, kResult, 0, n, /*cotangent=*/true);
  return roles;
}

void CustomLinearSolveReference(const ir::ReferenceCall& call) {
  std::vector<ir::HostTensor> operands;
  for (const ir::HostTensor* t : call.operands) operands.push_back(*t);
  std::vector<ir::HostTensor> outputs = ir::Interpret(*call.regions[kSolve], std::move(operands));
  for (size_t i = 0; i < outputs.size(); ++i) *call.results[i] = std::move(outputs[i]);
}

// From a(x) = b follows a(dx) = db - da(x).
Values CustomLinearSolveJvp(const DiffCall& c, absl::Span<const ValueId> tangents,
                            Values& results) {
  const size_t constants = ConstantsOf(c.params.get()), n = c.operands.size() - constants;
  Values operands(c.operands.begin(), c.operands.begin() + static_cast<long>(constants));
  Values moved(n, ir::kNoValue);
  std::vector<bool> active(constants + n);
  for (size_t k = 0; k < constants; ++k)
    active[k] = tangents[k] != ir::kNoValue && HasTangent(c.operand_types[k]);
  if (absl::c_linear_search(active, true)) {
    const ir::Program matvec = (*c.jvp_of)(*c.regions[kMatvec], active);
    Values inputs = operands;
    inputs.insert(inputs.end(), results.begin(), results.begin() + static_cast<long>(n));
    for (size_t k = 0; k < constants; ++k)
      if (active[k]) inputs.push_back(tangents[k]);
    const Values made = ir::Inline(c.builder, matvec, inputs);
    moved.assign(made.begin() + static_cast<long>(n), made.end());
  }
  for (size_t i = 0; i < n; ++i) {
    const ValueId given = tangents[constants + i];
    ValueId side = given != ir::kNoValue ? given : moved[i];
    if (side == ir::kNoValue)
      side = Zeros(c.builder, c.operand_types[constants + i]->WithWeak(false));
    else if (given == ir::kNoValue)
      side = (-X(c.builder, moved[i])).id();
    else if (moved[i] != ir::kNoValue)
      side = (X(c.builder, given) - X(c.builder, moved[i])).id();
    operands.push_back(Conform(c.builder, side, c.operand_types[constants + i]));
  }
  const auto made = c.builder.EmitTyped(c.op, c.params, operands, c.result_types,
                                        {c.regions.begin(), c.regions.end()});
  Values out(c.result_types.size(), ir::kNoValue);
  std::copy_n(made.begin(), n, out.begin());
  return out;
}

// C21: a solution without transpose has no derivative in reverse.
[[noreturn]] void FailTranspose(const DiffCall& c) {
  base::ThrowTrace(base::Refusal(
      "custom_linear_solve", 21, base::Where(c.builder.loc()),
      "it cannot be differentiated in reverse: no function solves the transposed equation",
      {"pass a transpose_solve, or kSymmetricSolve if the function is its own transpose"}));
}

// The cotangents of b solve the transposed equation.
Values CustomLinearSolveTransposes(const DiffCall& c, absl::Span<const ValueId> cotangents) {
  if (c.regions.size() == 2) FailTranspose(c);
  const size_t constants = ConstantsOf(c.params.get()), n = c.operands.size() - constants;
  Values operands(c.operands.begin(), c.operands.begin() + static_cast<long>(constants));
  for (size_t i = 0; i < n; ++i)
    operands.push_back(cotangents[i] != ir::kNoValue
                           ? cotangents[i]
                           : Zeros(c.builder, CotangentType(c.result_types[i])));
  const auto made =
      c.builder.EmitTyped(c.op, c.params, operands, OutputTypes(*c.regions[kTransposeSolve]),
                          {c.regions[kTransposeSolve], c.regions[kTransposeMatvec],
                           c.regions[kSolve], c.regions[kMatvec]});
  Values out(constants, ir::kNoValue);
  out.insert(out.end(), made.begin(), made.begin() + static_cast<long>(n));
  return out;
}

}  // namespace

constexpr OpDef kCustomLinearSolve{
    .name = "custom_linear_solve",
    .doc = "Runs its first region, which solves a linear equation; the others are its derivative.",
    .type = ir::TypeFn{CustomLinearSolveType},
    .dims = ir::DataFlowEdges{CustomLinearSolveEdges},
    .lowering = ir::AsRegions{ir::AsRegions::kCall},
    .reference = ir::ReferenceFn{CustomLinearSolveReference},
    .diff = ir::Structural{CustomLinearSolveJvp, CustomLinearSolveTransposes},
    .params = ir::KindOf<CustomLinearSolveParams>(),
    .roles = CustomLinearSolveRoles};

Records LinearSolveOps() {
  static constexpr const OpDef* kOps[] = {&kCustomLinearSolve};
  return kOps;
}

}  // namespace tessera::ops
