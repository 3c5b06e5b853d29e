// Checks that definitions come before uses, that ops accept the declared types, and that places fit
// their values.
#include "ir/verify.h"

#include <absl/algorithm/container.h>
#include <fmt/format.h>

#include <cstdlib>
#include <cstring>

#include "base/error.h"
#include "ir/fixes.h"
#include "ir/infer.h"
#include "ir/move_params.h"
#include "ir/regions.h"
#include "sharding/local.h"

namespace tessera::ir {
namespace {

[[noreturn]] void Fail(const Instruction& instruction, std::string reason,
                       std::vector<Fix> fixes = {}) {
  ErrorDetail detail = base::Refusal(std::string(instruction.op->name), "verify",
                                     base::Where(instruction.loc), std::move(reason));
  detail.fixes = std::move(fixes);
  base::ThrowRuntime(std::move(detail));
}

// Fails because of a declared type, with the right one as the fix.
[[noreturn]] void FailDeclared(const Instruction& instruction, const Type* declared,
                               const Type* type) {
  Fix fix{.text = fmt::format("{} in place of {}", type->text(), declared->text()),
          .replaced = declared->text(),
          .replacement = type->text()};
  Fail(instruction,
       fmt::format("its result has type {}, but {} is declared", type->text(), declared->text()),
       {std::move(fix)});
}

// A move keeps shape and dtype; its result type states the sharding.
void VerifyMove(const Instruction& instruction, const std::vector<const Type*>& operands,
                const Program& program) {
  if (dynamic_cast<const ParamsOf<HaloParams>*>(instruction.params.get()))
    Fail(instruction, "it is an op of device programs only");
  if (operands.size() != 1 || instruction.results.size() != 1)
    Fail(instruction, fmt::format("it has one operand and one result, not {} and {}",
                                  operands.size(), instruction.results.size()));
  const Type* to = program.type(instruction.results[0]);
  if (to->shape() != operands[0]->shape() || to->dtype() != operands[0]->dtype())
    Fail(instruction, fmt::format("it cannot turn {1} into {0}", to->text(), operands[0]->text()));
  auto* constraint = dynamic_cast<const ParamsOf<ConstraintParams>*>(instruction.params.get());
  if (!constraint || program.per_device) return;
  const sharding::TensorSharding& s = constraint->value.sharding;
  if (!to->mesh() || s.mesh != to->mesh()->WithoutModes())
    Fail(instruction, "its sharding is on a different mesh from its result");
  if (s.rank() != to->rank())
    Fail(instruction, fmt::format("its sharding has rank {}, not {}", s.rank(), to->rank()));
}

void CheckResultCount(const Instruction& instruction, size_t count) {
  if (count != instruction.results.size())
    Fail(instruction, fmt::format("it has {} results, not {}", count, instruction.results.size()));
}

void CheckResults(const Program& program, const Instruction& instruction, Types types) {
  CheckResultCount(instruction, types.size());
  for (size_t i = 0; i < types.size(); ++i) {
    const Type* declared = program.type(instruction.results[i]);
    if (!SameType(declared, types[i])) FailDeclared(instruction, declared, types[i]);
  }
}

// Returns the type cast to vary over the axes over which `declared` varies. The cast moves nothing,
// so it is part of an op, as the casts of its operands are.
const Type* CastTo(const Type* declared, const Type* type) {
  sharding::TensorSharding s = type->sharding();
  const sharding::AxisList more = sharding::Difference(declared->sharding().varying, s.varying);
  if (more.empty() || sharding::Difference(s.unreduced, more) != s.unreduced) return type;
  s.reduced = sharding::Difference(s.reduced, more);
  sharding::AddTo(s.varying, more);
  return type->WithSharding(std::move(s));
}

// Checks shape and dtype of the results by the op's type function; the declared types state
// the sharding.
void VerifyStated(const Instruction& instruction, const std::vector<const Type*>& operands,
                  const Program& program) {
  std::vector<ShapeAndDType> made;
  try {
    made = (*instruction.op->type)(TypeCall{.op = *instruction.op,
                                            .operands = operands,
                                            .params = instruction.params.get(),
                                            .wanted = nullptr,
                                            .regions = instruction.regions});
  } catch (const TypeProblem& problem) {
    Fail(instruction, problem.reason);
  }
  std::vector<const Type*> types;
  for (size_t i = 0; i < made.size() && i < instruction.results.size(); ++i) {
    const Type* declared = program.type(instruction.results[i]);
    if (declared->shape() != made[i].shape)
      Fail(instruction, fmt::format("its result has shape {}, but {} is declared",
                                    FieldText(made[i].shape), declared->text()));
    types.push_back(Type::Get(made[i].shape, made[i].dtype, declared->sharding()));
  }
  CheckResultCount(instruction, made.size());
  CheckResults(program, instruction, types);
}

// Checks that both views have one global shape, and the local shapes of operand and result. An
// operand that is on no mesh enters the result's mesh.
void VerifyManual(const Instruction& instruction, std::vector<const Type*> operands,
                  const Program& program) {
  for (const Type*& t : operands)
    if (!t->mesh() && instruction.results.size() == 1)
      t = Type::Get(t->shape(), t->dtype(), program.type(instruction.results[0])->mesh());
  VerifyStated(instruction, operands, program);
  const auto* manual = std::get_if<AsManualMove>(&*instruction.op->lowering);
  if (!manual) return;
  const auto local = [](const Type* t) { return sharding::LocalShape(t->shape(), t->sharding()); };
  const Type *operand = operands.at(0), *result = program.type(instruction.results[0]);
  const ManualViews views = manual->views(instruction.params.get(), operand, result);
  if (views.from->shape() != views.to->shape() || local(views.from) != local(operand) ||
      local(views.to) != local(result) || sharding::Verify(views.from->sharding()) ||
      sharding::Verify(views.to->sharding()))
    Fail(instruction, fmt::format("it cannot turn {} into {}", operand->text(), result->text()));
}

// Whether the rule gives the result the declared type if there is no out_sharding.
bool IsDerived(const InferCall& call, const Type* declared) {
  const WithoutFixesScope quiet;
  try {
    return SameType(CastTo(declared, InferTypes(call)[0]), declared);
  } catch (const Error&) {
    return false;
  }
}

// Checks the declared result types of an op with a dimension map. The type of the first result
// may be the one that its operands give, or the one that an out_sharding stated, which the program
// does not repeat.
void VerifyTyped(const Instruction& instruction, const std::vector<const Type*>& operands,
                 const Program& program) {
  if (instruction.results.empty()) Fail(instruction, "it must have results");
  const Type* first = program.type(instruction.results[0]);
  const ShapeAndDType wanted{first->shape(), first->dtype()};
  // A part of a program may use its mesh with other modes: the result or the operands tell which.
  const sharding::MeshDef* mesh = first->mesh();
  for (const Type* t : operands)
    if (!mesh) mesh = t->mesh();
  InferCall call{.op = *instruction.op,
                 .operands = operands,
                 .params = instruction.params.get(),
                 .wanted = &wanted,
                 .mesh = mesh ? mesh : program.mesh,
                 .loc = instruction.loc,
                 .shared_params = instruction.params};
  if (instruction.op->out_sharding) {
    if (IsDerived(call, first)) return;
    call.out_sharding = &first->sharding();
  }
  auto types = InferTypes(call);
  CheckResultCount(instruction, types.size());
  for (size_t i = 0; i < types.size(); ++i)
    types[i] = CastTo(program.type(instruction.results[i]), types[i]);
  CheckResults(program, instruction, types);
}

void VerifyInstruction(const Program& program, const Instruction& instruction) {
  const OpDef& op = *instruction.op;
  std::vector<const Type*> operands;
  for (ValueId v : instruction.operands) operands.push_back(program.type(v));
  if (std::holds_alternative<NoRule>(*op.dims)) {
    if (!instruction.regions.empty() || std::holds_alternative<AsHostCall>(*op.lowering))
      return VerifyStated(instruction, operands, program);
    return std::holds_alternative<AsMove>(*op.lowering)
               ? VerifyMove(instruction, operands, program)
               : VerifyManual(instruction, operands, program);
  }
  if (std::holds_alternative<DataFlowEdges>(*op.dims))
    return CheckResults(program, instruction,
                        InferRegionTypes({op, instruction.params.get(), operands,
                                          instruction.regions, instruction.loc}));
  VerifyTyped(instruction, operands, program);
}

[[noreturn]] void FailAt(Loc loc, std::string reason) {
  base::ThrowRuntime(base::Refusal("program", "verify", base::Where(loc), std::move(reason)));
}

bool IsPlaceOf(const Type& place, const Type& type) {
  const sharding::TensorSharding &given = place.sharding(), &s = type.sharding();
  return place.shape() == type.shape() && place.dtype() == type.dtype() &&
         given.varying == s.varying &&
         (!type.mesh() || place.mesh() == type.mesh()->WithoutModes());
}

void VerifyPlaces(const Program& program) {
  for (const Value& value : program.values)
    if (value.place && !IsPlaceOf(*value.place, *value.type))
      FailAt(value.loc, fmt::format("a value of type {} has the place {}", value.type->text(),
                                    value.place->text()));
}

}  // namespace

void Verify(const Program& program) {
  ValueSet defined(program.values.size());
  for (ValueId v : program.inputs) defined[v] = true;
  for (const Capture& c : program.captures) defined[c.value] = true;
  for (const Instruction& instruction : program.instructions) {
    for (ValueId v : instruction.operands)
      if (!defined[v]) Fail(instruction, "it uses a value before it is defined");
    for (ValueId v : instruction.results) defined[v] = true;
    bool takes_regions = !std::holds_alternative<DimMapFn>(*instruction.op->dims);
    if (!takes_regions && !instruction.regions.empty()) Fail(instruction, "it has no regions");
    for (const RegionPtr& region : instruction.regions) Verify(*region);
    if (!program.per_device) VerifyInstruction(program, instruction);
  }
  for (ValueId v : program.outputs)
    if (!defined[v]) FailAt(program.values[v].loc, "it returns a value that nothing defines");
  if (!program.per_device) VerifyPlaces(program);
}

bool VerifiesPrograms() {
#ifdef _GLIBCXX_ASSERTIONS  // as base::At
  return true;
#else
  static const bool wanted = [] {
    const char* set = std::getenv("TESSERA_VERIFY");
    return set && std::strcmp(set, "1") == 0;
  }();
  return wanted;
#endif
}

void VerifyAfter(std::string_view pass, const Program& program) {
  if (!VerifiesPrograms()) return;
  try {
    Verify(program);
  } catch (const Error& e) {
    ErrorDetail detail = e.detail();
    detail.label = detail.op + ".verify";
    detail.reason = fmt::format("after {}: {}", pass, detail.reason);
    detail.fixes.clear();
    base::ThrowInternal(std::move(detail));
  }
}

}  // namespace tessera::ir
