// Checks that definitions come before uses, and that declared types are those that the ops give.
#include "ir/verify.h"

#include <fmt/format.h>

#include "base/error.h"
#include "ir/infer.h"
#include "ir/move_params.h"
#include "ir/regions.h"
#include "sharding/local.h"

namespace tessera::ir {
namespace {

[[noreturn]] void Fail(const Instruction& instruction, std::string reason) {
  base::ThrowRuntime(base::Refusal(std::string(instruction.op->name), "verify",
                                   base::Where(instruction.loc), std::move(reason)));
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

void CheckResults(const Program& program, const Instruction& instruction, Types types) {
  if (types.size() != instruction.results.size())
    Fail(instruction,
         fmt::format("it has {} results, not {}", types.size(), instruction.results.size()));
  for (size_t i = 0; i < types.size(); ++i) {
    const Type* declared = program.type(instruction.results[i]);
    if (declared->shape() != types[i]->shape() || declared->dtype() != types[i]->dtype() ||
        !SameType(declared->WithWeak(false), types[i]->WithWeak(false)))
      Fail(instruction, fmt::format("its result has type {}, but {} is declared", types[i]->text(),
                                    declared->text()));
  }
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
  if (types.size() != made.size() || made.size() != instruction.results.size())
    Fail(instruction,
         fmt::format("it has {} results, not {}", made.size(), instruction.results.size()));
  CheckResults(program, instruction, types);
}

// Checks that both views have one global shape, and the local shapes of operand and result.
void VerifyManual(const Instruction& instruction, const std::vector<const Type*>& operands,
                  const Program& program) {
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

// Checks the declared result types of one instruction. The declared sharding takes the place of the
// out_sharding, which program text does not repeat.
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
  if (instruction.results.empty()) Fail(instruction, "it must have results");
  const Type* first = program.type(instruction.results[0]);
  ShapeAndDType wanted{first->shape(), first->dtype()};
  InferCall call{.op = op,
                 .operands = operands,
                 .params = instruction.params.get(),
                 .wanted = &wanted,
                 .out_sharding = op.out_sharding ? &first->sharding() : nullptr,
                 .mesh = first->mesh() ? first->mesh() : program.mesh,
                 .loc = instruction.loc};
  CheckResults(program, instruction, InferTypes(call));
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
}

}  // namespace tessera::ir
