// Calls of users' functions as regions: checkpoints, and functions with derivative rules.
#include "ops/calls.h"

#include <absl/algorithm/container.h>
#include <absl/strings/str_join.h>
#include <fmt/format.h>

#include "base/error.h"
#include "base/reader.h"
#include "ir/inline.h"
#include "ir/interpret.h"
#include "ir/uses.h"
#include "ir/zeros.h"
#include "ops/check.h"
#include "ops/ops.h"
#include "ops/tangents.h"

namespace tessera {

std::string FieldText(Remat save) {
  return save == Remat::kNothing ? "nothing" : save == Remat::kDots ? "dots" : "named";
}
void ReadField(base::Reader& in, Remat& save) {
  const std::string word = in.Word();
  for (Remat r : {Remat::kNothing, Remat::kDots, Remat::kNamed})
    if (word == FieldText(r)) return void(save = r);
  in.Fail("there is no policy '" + word + "'");
}

}  // namespace tessera

namespace tessera::ops {

std::string FieldText(const NameList& names) {
  const auto quote = [](std::string* out, const std::string& n) { *out += base::Quote(n); };
  return "[" + absl::StrJoin(names, ", ", quote) + "]";
}
void ReadField(base::Reader& in, NameList& names) {
  names.clear();
  in.List("[", "]", [&] { names.push_back(in.Quoted()); });
}
size_t FieldHash(size_t h, const NameList& names) {
  for (const std::string& n : names) h = ir::MixHash(h, std::hash<std::string>()(n));
  return h;
}

namespace {

using ir::DiffCall;
using ir::FlowEdge;
using ir::FlowEnd;
using ir::ValueId;
using Values = std::vector<ValueId>;
using TypeList = std::vector<const ir::Type*>;

// ---- types --------------------------------------------------------------------------------------

// C13, C14: the inputs and outputs of a region must have these types.
void CheckTypes(const TypeCall& c, int check, size_t region, const char* does, const TypeList& got,
                const TypeList& wanted) {
  if (got.size() != wanted.size())
    c.FailShape(check, fmt::format("region {} {} {} values, not {}", region, does, wanted.size(),
                                   got.size()));
  for (size_t i = 0; i < got.size(); ++i)
    if (!ir::SameType(got[i], wanted[i]))
      c.FailShape(check, fmt::format("region {} {} {} as number {}, not {}", region, does,
                                     wanted[i]->text(), i, got[i]->text()));
}
void CheckInputs(const TypeCall& c, size_t region, const TypeList& wanted) {
  if (!c.regions[region]->captures.empty())
    c.FailShape(13, fmt::format("region {} has captures", region));
  CheckTypes(c, 13, region, "takes", InputTypes(*c.regions[region]), wanted);
}
void CheckOutputs(const TypeCall& c, size_t region, const TypeList& wanted) {
  CheckTypes(c, 14, region, "returns", OutputTypes(*c.regions[region]), wanted);
}

TypeList OperandTypes(const TypeCall& c) { return {c.operands.begin(), c.operands.end()}; }

std::vector<ShapeAndDType> CheckpointType(const TypeCall& c) {
  CheckRegionCount(c, 1);
  CheckInputs(c, 0, OperandTypes(c));
  return {};
}

// ---- data flow ----------------------------------------------------------------------------------

FlowEnd End(FlowEnd::Kind kind, size_t region, size_t i) {
  return {kind, static_cast<int32_t>(region), static_cast<int32_t>(i)};
}

// Returns the edges of a call whose first `regions` regions run on the operands, and whose
// outputs begin with the results.
std::vector<FlowEdge> EdgesThrough(const ir::FlowCall& c, size_t regions) {
  std::vector<FlowEdge> edges;
  for (size_t i = 0; i < c.operands; ++i) {
    FlowEdge edge{.owner = End(FlowEnd::kRegionInput, 0, i),
                  .sources = {End(FlowEnd::kOperand, 0, i)},
                  .targets = {}};
    for (size_t r = 1; r < regions; ++r) edge.targets.push_back(End(FlowEnd::kRegionInput, r, i));
    edges.push_back(std::move(edge));
  }
  for (size_t i = 0; i < c.regions[0]->outputs.size(); ++i) {
    FlowEdge edge{.owner = End(FlowEnd::kResult, 0, i), .sources = {}, .targets = {}};
    for (size_t r = 0; r < regions; ++r) edge.sources.push_back(End(FlowEnd::kRegionOutput, r, i));
    edges.push_back(std::move(edge));
  }
  return edges;
}
std::vector<FlowEdge> CheckpointEdges(const ir::FlowCall& c) { return EdgesThrough(c, 1); }
std::vector<FlowEdge> CustomEdges(const ir::FlowCall& c) { return EdgesThrough(c, 2); }

void RegionReference(const ir::ReferenceCall& call) {
  std::vector<ir::HostTensor> operands;
  for (const ir::HostTensor* t : call.operands) operands.push_back(*t);
  std::vector<ir::HostTensor> outputs = ir::Interpret(*call.regions[0], std::move(operands));
  for (size_t i = 0; i < outputs.size(); ++i) *call.results[i] = std::move(outputs[i]);
}

// ---- roles --------------------------------------------------------------------------------------

using Role = ir::RegionRole;
using Roles = std::vector<Role>;

void AddRoles(Roles& roles, Role::Kind kind, size_t begin, size_t end, bool cotangent = false) {
  for (size_t i = begin; i < end; ++i) roles.push_back({kind, static_cast<int32_t>(i), cotangent});
}
void AddFloatingRoles(Roles& roles, Role::Kind kind, size_t begin, ir::Types types,
                      bool cotangent = false) {
  for (size_t i = begin; i < types.size(); ++i)
    if (HasTangent(types[i])) AddRoles(roles, kind, i, i + 1, cotangent);
}

std::vector<ir::RegionRoles> CustomJvpRoles(const ir::FlowCall& c, ir::Types operands,
                                            ir::Types results) {
  using enum Role::Kind;
  std::vector<ir::RegionRoles> roles(2);
  for (ir::RegionRoles& r : roles) {
    AddRoles(r.inputs, kOperand, 0, operands.size());
    AddRoles(r.outputs, kResult, 0, results.size());
  }
  AddFloatingRoles(roles[1].inputs, kOperand,
                   static_cast<size_t>(ir::As<CallParams>(c.params).constants), operands);
  AddFloatingRoles(roles[1].outputs, kResult, 0, results);
  return roles;
}

std::vector<ir::RegionRoles> CustomVjpRoles(const ir::FlowCall& c, ir::Types operands,
                                            ir::Types results) {
  using enum Role::Kind;
  const size_t constants = ir::As<CallParams>(c.params).constants;
  const size_t made = c.regions[1]->outputs.size();
  const size_t residuals = made - std::min(made, results.size());
  std::vector<ir::RegionRoles> roles(3);
  for (size_t r = 0; r < 2; ++r) {
    AddRoles(roles[r].inputs, kOperand, 0, operands.size());
    AddRoles(roles[r].outputs, kResult, 0, results.size());
  }
  AddRoles(roles[1].outputs, kResidual, 0, residuals);
  AddRoles(roles[2].inputs, kOperand, 0, constants);
  AddRoles(roles[2].inputs, kResidual, 0, residuals);
  AddFloatingRoles(roles[2].inputs, kResult, 0, results, /*cotangent=*/true);
  AddFloatingRoles(roles[2].outputs, kOperand, constants, operands, /*cotangent=*/true);
  return roles;
}

std::vector<ir::RegionRoles> CustomLinearRoles(const ir::FlowCall& c, ir::Types operands,
                                               ir::Types results) {
  using enum Role::Kind;
  const size_t known = ir::As<CustomLinearParams>(c.params).known;
  std::vector<ir::RegionRoles> roles(1);
  AddRoles(roles[0].inputs, kOperand, 0, known);
  AddRoles(roles[0].inputs, kResult, 0, results.size(), /*cotangent=*/true);
  AddRoles(roles[0].outputs, kOperand, known, operands.size(), /*cotangent=*/true);
  return roles;
}

// ---- types of rules, from their roles -----------------------------------------------------------

void CheckRoles(const TypeCall& c, ir::RolesFn roles_of, const TypeList& results) {
  const TypeList operands = OperandTypes(c);
  const auto roles = roles_of({c.params, operands.size(), c.regions}, operands, results);
  TypeList residuals;
  const auto types = [&](const Roles& of) {
    TypeList out;
    for (const Role& role : of) {
      const TypeList& list = role.kind == Role::kOperand  ? operands
                             : role.kind == Role::kResult ? results
                                                          : residuals;
      const ir::Type* type = list[role.index];
      out.push_back(role.cotangent ? CotangentType(type) : type);
    }
    return out;
  };
  for (size_t r = 0; r < roles.size(); ++r) {
    CheckInputs(c, r, types(roles[r].inputs));
    const TypeList gives = OutputTypes(*c.regions[r]);
    for (size_t i = 0; i < std::min(gives.size(), roles[r].outputs.size()); ++i)
      if (roles[r].outputs[i].kind == Role::kResidual) residuals.push_back(gives[i]);
    CheckOutputs(c, r, types(roles[r].outputs));
  }
}

std::vector<ShapeAndDType> CustomJvpType(const TypeCall& c) {
  CheckRegionCount(c, 2);
  CheckedCount(c, ir::As<CallParams>(c.params).constants, c.operands.size(), "constants");
  CheckRoles(c, CustomJvpRoles, OutputTypes(*c.regions[0]));
  return {};
}

std::vector<ShapeAndDType> CustomVjpType(const TypeCall& c) {
  CheckRegionCount(c, 3);
  CheckedCount(c, ir::As<CallParams>(c.params).constants, c.operands.size(), "constants");
  CheckRoles(c, CustomVjpRoles, OutputTypes(*c.regions[0]));
  return {};
}

// Returns the results' shapes and dtypes, as there is no data flow to derive them from. The region
// runs from results to operands.
std::vector<ShapeAndDType> CustomLinearType(const TypeCall& c) {
  CheckRegionCount(c, 1);
  const size_t known = CheckedCount(c, ir::As<CustomLinearParams>(c.params).known,
                                    c.operands.size(), "known operands");
  const TypeList inputs = InputTypes(*c.regions[0]);
  TypeList results;
  for (size_t i = known; i < inputs.size(); ++i) results.push_back(CotangentType(inputs[i]));
  CheckRoles(c, CustomLinearRoles, results);
  std::vector<ShapeAndDType> out;
  for (const ir::Type* t : results) out.push_back({t->shape(), t->dtype()});
  return out;
}

// ---- derivatives --------------------------------------------------------------------------------

// C22: refuses tangents of outside values that the function uses, because a rule covers
// only arguments.
void CheckConstants(const DiffCall& c, absl::Span<const ValueId> tangents, size_t constants) {
  for (size_t k = 0; k < constants; ++k) {
    if (tangents[k] == ir::kNoValue) continue;
    const Loc made = c.builder.program().values[c.operands[k]].loc;
    const std::string name(c.op.name);
    base::ThrowTrace({.kind = {},
                      .op = name,
                      .label = name + ".C22",
                      .where = base::Where(c.builder.loc()),
                      .reason =
                          "the derivative with respect to a captured value is needed, but the "
                          "custom rule does not define it",
                      .operands = {{"captured", c.operand_types[k]->text(), base::Where(made)}},
                      .notes = {"make it an argument, or capture stop_gradient(value)"},
                      .fixes = {}});
  }
}

// Returns the values of a rule that are zero because operands have no tangents: a slope times a
// zero is one even where the slope is infinite. Floating operands from `constants` on have
// tangents, which are the last inputs.
ir::ValueSet ZerosOfRule(const DiffCall& c, absl::Span<const ValueId> tangents, size_t constants) {
  const ir::Program& rule = *c.regions[1];
  ir::ValueSet given(rule.values.size());
  size_t next = c.operands.size();
  for (size_t k = constants; k < c.operands.size(); ++k)
    if (HasTangent(c.operand_types[k])) given[rule.inputs[next++]] = tangents[k] == ir::kNoValue;
  ir::ValueSet zeros = ir::ZerosOf(rule, given);
  // Zeros that do not depend on tangents stay as the rule makes them.
  const ir::ValueSet anyway = ir::ZerosOf(rule);
  for (ValueId v : zeros.ids()) zeros[v] = zeros[v] && !anyway[v];
  return zeros;
}

Values JvpByRule(const DiffCall& c, absl::Span<const ValueId> tangents, Values& results) {
  const size_t constants = ir::As<CallParams>(c.params.get()).constants;
  CheckConstants(c, tangents, constants);
  Values inputs(c.operands.begin(), c.operands.end());
  const Values directions = FloatingTangents(c, tangents, constants);
  inputs.insert(inputs.end(), directions.begin(), directions.end());
  const ir::Program& rule = *c.regions[1];
  const ir::ValueSet zeros = ZerosOfRule(c, tangents, constants);
  const Values made = ir::Inline(c.builder, rule, inputs, [&](const ir::Instruction& i) {
    const bool is_zero = i.results.size() == 1 && zeros[i.results[0]];
    return is_zero ? Zeros(c.builder, rule.type(i.results[0])) : ir::kNoValue;
  });
  Values out(results.size(), ir::kNoValue);
  for (size_t r = 0, next = results.size(); r < results.size(); ++r) {
    results[r] = made[r];
    if (HasTangent(c.result_types[r])) out[r] = made[next++];
  }
  return out;
}

Values JvpByTranspose(const DiffCall& c, absl::Span<const ValueId> tangents, Values& results) {
  const size_t constants = ir::As<CallParams>(c.params.get()).constants;
  CheckConstants(c, tangents, constants);
  const Values made = ir::Inline(c.builder, *c.regions[1], c.operands);
  Values known(c.operands.begin(), c.operands.begin() + static_cast<long>(constants));
  known.insert(known.end(), made.begin() + static_cast<long>(results.size()), made.end());
  std::copy_n(made.begin(), results.size(), results.begin());
  return TangentsByTranspose(c, known, FloatingTangents(c, tangents, constants), c.regions[2]);
}

constexpr const char* kBackwardOnly =
    "it has only a reverse-mode derivative (its vjp) and cannot be differentiated forward";

[[noreturn]] void FailForward(Loc loc) {
  base::ThrowTrace(base::Refusal(
      "custom_vjp", 21, base::Where(loc), kBackwardOnly,
      {"use grad or vjp, or give the function a custom_jvp, from which both directions follow"}));
}
Values RefuseExpand(ir::Builder& builder, const ir::Params*, absl::Span<const ValueId>,
                    const ir::Type*) {
  FailForward(builder.loc());
}
void RefuseReference(const ir::ReferenceCall&) { FailForward(Loc::Unknown()); }

Values LinearJvp(const DiffCall& c, absl::Span<const ValueId> tangents, Values&) {
  const size_t known = ir::As<CustomLinearParams>(c.params.get()).known;
  for (size_t k = 0; k < known; ++k)
    if (tangents[k] != ir::kNoValue) FailForward(c.builder.loc());
  return TangentsByTranspose(c, {c.operands.begin(), c.operands.begin() + static_cast<long>(known)},
                             FloatingTangents(c, tangents, known), c.regions[0]);
}

Values LinearTransposes(const DiffCall& c, absl::Span<const ValueId> cotangents) {
  const size_t known = ir::As<CustomLinearParams>(c.params.get()).known;
  Values inputs(c.operands.begin(), c.operands.begin() + static_cast<long>(known));
  for (size_t r = 0; r < cotangents.size(); ++r)
    inputs.push_back(cotangents[r] != ir::kNoValue
                         ? cotangents[r]
                         : Zeros(c.builder, CotangentType(c.result_types[r])));
  const Values made = ir::Inline(c.builder, *c.regions[0], inputs);
  Values out(known, ir::kNoValue);
  out.insert(out.end(), made.begin(), made.end());
  return out;
}

}  // namespace

TypeList InputTypes(const ir::Program& program) {
  TypeList types;
  for (ValueId v : program.inputs) types.push_back(program.type(v));
  return types;
}
TypeList OutputTypes(const ir::Program& program) {
  TypeList types;
  for (ValueId v : program.outputs) types.push_back(program.type(v));
  return types;
}

std::vector<ValueId> FloatingTangents(const DiffCall& call, absl::Span<const ValueId> tangents,
                                      size_t first) {
  Values out;
  for (size_t k = first; k < tangents.size(); ++k)
    if (HasTangent(call.operand_types[k]))
      out.push_back(tangents[k] != ir::kNoValue ? tangents[k]
                                                : Zeros(call.builder, call.operand_types[k]));
  return out;
}

std::vector<ValueId> TangentsByTranspose(const DiffCall& call, const Values& known,
                                         const Values& tangents, const ir::RegionPtr& transpose) {
  // Known values that the transpose does not read are not kept for it.
  const ir::ValueSet used = ir::UsedValues(*transpose);
  ir::Program region = *transpose;
  region.inputs.clear();
  Values operands;
  for (size_t i = 0; i < transpose->inputs.size(); ++i) {
    const ValueId input = transpose->inputs[i];
    if (i < known.size() && !used[input]) continue;
    region.inputs.push_back(input);
    if (i < known.size()) operands.push_back(known[i]);
  }
  const CustomLinearParams params{static_cast<int64_t>(operands.size())};
  operands.insert(operands.end(), tangents.begin(), tangents.end());
  TypeList types;
  for (const ir::Type* t : call.result_types)
    if (HasTangent(t)) types.push_back(t->WithWeak(false));
  const auto made = call.builder.EmitTyped(kCustomLinear, ir::MakeParams(params), operands, types,
                                           {ir::Shared(std::move(region))});
  Values out(call.result_types.size(), ir::kNoValue);
  for (size_t r = 0, next = 0; r < out.size(); ++r)
    if (HasTangent(call.result_types[r])) out[r] = made[next++];
  return out;
}

ir::ValueSet KeptBy(const CheckpointParams& params, const ir::Program& region) {
  ir::ValueSet kept(region.values.size());
  if (params.save == Remat::kDots)
    for (const ir::Instruction& i : region.instructions)
      if (i.op == &kDotGeneral) kept[i.results[0]] = true;
  if (params.save == Remat::kNamed)
    for (const auto& [name, v] : region.names)
      if (absl::c_count(params.names, name)) kept[v] = true;
  return kept;
}

constexpr OpDef kCheckpoint{
    .name = "checkpoint",
    .doc = "Runs its region; derivatives recompute values that the policy does not save.",
    .type = ir::TypeFn{CheckpointType},
    .dims = ir::DataFlowEdges{CheckpointEdges},
    .lowering = ir::AsRegions{ir::AsRegions::kCall},
    .reference = ir::ReferenceFn{RegionReference},
    .diff = ir::ByRegions{},
    .params = ir::KindOf<CheckpointParams>()};
constexpr OpDef kCustomJvp{
    .name = "custom_jvp",
    .doc = "Runs its first region; the second is the user's rule for values and tangents.",
    .type = ir::TypeFn{CustomJvpType},
    .dims = ir::DataFlowEdges{CustomEdges},
    .lowering = ir::AsRegions{ir::AsRegions::kCall},
    .reference = ir::ReferenceFn{RegionReference},
    .diff = ir::Structural{JvpByRule},
    .params = ir::KindOf<CallParams>(),
    .roles = CustomJvpRoles};
constexpr OpDef kCustomVjp{
    .name = "custom_vjp",
    .doc = "Runs its first region; the others are the user's rule, forward and backward.",
    .type = ir::TypeFn{CustomVjpType},
    .dims = ir::DataFlowEdges{CustomEdges},
    .lowering = ir::AsRegions{ir::AsRegions::kCall},
    .reference = ir::ReferenceFn{RegionReference},
    .diff = ir::Structural{JvpByTranspose},
    .params = ir::KindOf<CallParams>(),
    .roles = CustomVjpRoles};
constexpr OpDef kCustomLinear{
    .name = "custom_linear",
    .doc = "A linear map given by its transpose, which is its region; only that can run.",
    .type = ir::TypeFn{CustomLinearType},
    .dims = ir::NoRule{"it never runs: its transpose does"},
    .lowering = ir::AsExpansion{RefuseExpand},
    .reference = ir::ReferenceFn{RefuseReference},
    .diff = ir::Structural{LinearJvp, LinearTransposes},
    .params = ir::KindOf<CustomLinearParams>(),
    .roles = CustomLinearRoles};

Records CallOps() {
  static constexpr const OpDef* kOps[] = {&kCheckpoint, &kCustomJvp, &kCustomVjp, &kCustomLinear};
  return kOps;
}

}  // namespace tessera::ops
