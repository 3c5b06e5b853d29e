// Joins the tables of ops, and applies one by its name.
#include "ops.h"

#include <optional>

namespace tessera::conformance {

const OpTable& Ops() {
  static const OpTable table = [] {
    OpTable t;
    AddElementwise(t);
    AddCreation(t);
    AddMovement(t);
    AddPieces(t);
    AddLookups(t);
    AddReductions(t);
    AddContractions(t);
    AddWindows(t);
    AddNumpy(t);
    AddLinalg(t);
    AddFft(t);
    AddRandom(t);
    AddCollectives(t);
    return t;
  }();
  return table;
}

std::vector<Array> Apply(const Instruction& instruction, std::vector<Operand> in, Loc loc) {
  auto op = Ops().find(instruction.op);
  if (op == Ops().end()) throw Unsupported(instruction.op);
  Call call(instruction, std::move(in), loc);
  std::optional<StrictTypes> strict;
  if (call.is_strict()) strict.emplace();
  try {
    std::vector<Array> results = op->second(call);
    call.CheckAllRead();
    return results;
  } catch (const Error&) {
    call.CheckAllRead();
    throw;
  }
}

}  // namespace tessera::conformance
