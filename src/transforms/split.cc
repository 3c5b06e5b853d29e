// Splitting: finds the values that depend on unknown inputs, then copies every instruction to one
// of the two parts.
#include "transforms/split.h"

#include <absl/algorithm/container.h>

#include "base/at.h"
#include "ir/builder.h"
#include "ir/verify.h"
#include "ir/zeros.h"
#include "transforms/split_parts.h"
#include "transforms/types.h"

namespace tessera::transforms {

using ir::ValueId;

// ---- analysis ----

RegionFlags UnknownIn(const ir::Instruction& instruction, const UnknownValues& is_unknown,
                      UnknownMemo& memo) {
  std::vector<bool> ins;
  for (size_t k = RegionLayout(instruction).first; k < instruction.operands.size(); ++k)
    ins.push_back(is_unknown[instruction.operands[k]]);
  return SpreadFlags(
      instruction, std::move(ins),
      [&](const ir::Program& body, const std::vector<bool>& in, const std::vector<bool>&) {
        return memo.Get(body, in, {}, [&] {
          const UnknownValues in_body = FindUnknown(body, in, memo);
          std::vector<bool> outs;
          for (ValueId v : body.outputs) outs.push_back(in_body[v]);
          return outs;
        });
      });
}

// Whether the regions of an instruction are split. An instruction that is transposed as a whole
// (ir::Structural) is not split.
static bool HasSplitRegions(const ir::Instruction& i) {
  const auto* structural = std::get_if<ir::Structural>(&*i.op->diff);
  return std::holds_alternative<ir::AsRegions>(*i.op->lowering) &&
         !(structural && structural->transposes);
}

UnknownValues FindUnknown(const ir::Program& program, const std::vector<bool>& inputs,
                          UnknownMemo& memo) {
  UnknownValues is_unknown(program.values.size());
  for (size_t k = 0; k < program.inputs.size(); ++k) is_unknown[program.inputs[k]] = inputs[k];
  for (const ir::Instruction& i : program.instructions) {
    if (absl::c_none_of(i.operands, [&](ValueId v) { return is_unknown[v]; })) continue;
    std::vector<bool> results(i.results.size(), true);
    if (HasSplitRegions(i)) results = UnknownIn(i, is_unknown, memo).outs;
    for (size_t r = 0; r < results.size(); ++r) is_unknown[i.results[r]] = results[r];
  }
  return is_unknown;
}

// ---- rewrite ----

namespace {

// Whether the instruction only gives its operand another type over Manual axes.
bool IsCast(const ir::Instruction& i, const TypesOf& types) {
  const auto* manual = std::get_if<ir::AsManualMove>(&*i.op->lowering);
  return manual && manual->is_local(i.params.get(), types.operands[0], types.results[0]);
}

class ProgramSplitter {
 public:
  ProgramSplitter(const ir::Program& from, const std::vector<bool>& unknown_inputs,
                  UnknownMemo& memo)
      : from_(from),
        memo_(memo),
        is_zero_(ir::ZerosOf(from)),
        parts_(from, FindUnknown(from, unknown_inputs, memo)) {}

  Split Run(const std::vector<bool>& wanted) {
    for (const ir::Instruction& i : from_.instructions) {
      parts_.set_loc(i.loc);
      if (absl::c_none_of(i.operands, [&](ValueId v) { return parts_.is_unknown()[v]; }))
        CopyToKnown(i);
      else if (HasSplitRegions(i))
        SplitRegions(i, parts_, memo_);
      else
        CopyToUnknown(i);
    }
    return std::move(parts_).Finish(wanted);
  }

 private:
  void CopyToKnown(const ir::Instruction& i) {
    const TypesOf types(from_, i);
    std::vector<ValueId> operands;
    for (ValueId v : i.operands) operands.push_back(parts_.Get(v));
    const auto results =
        parts_.known().EmitTyped(*i.op, i.params, operands, types.results, i.regions);
    for (size_t r = 0; r < results.size(); ++r) {
      parts_.Set(i.results[r], results[r]);
      if (is_zero_[i.results[r]])
        parts_.MarkZeros(results[r]);
      else if (results.size() == 1 && IsRecomputed(i, types, operands))
        parts_.MarkRecomputed(results[r]);
    }
  }

  void CopyToUnknown(const ir::Instruction& i) {
    const TypesOf types(from_, i);
    std::vector<ValueId> operands;
    for (ValueId v : i.operands) operands.push_back(parts_.InUnknown(v));
    parts_.set_loc(i.loc);
    const auto results =
        parts_.unknown().EmitTyped(*i.op, i.params, operands, types.results, i.regions);
    for (size_t r = 0; r < results.size(); ++r) parts_.Set(i.results[r], results[r]);
  }

  // Whether the second part recomputes the result: a constant, and broadcasts and moves of one.
  // With Manual axes, all that is computed from constants without communication: in a branch that
  // only some devices take, a constant is invariant, but a residual would be varying.
  bool IsRecomputed(const ir::Instruction& i, const TypesOf& types,
                    const std::vector<ValueId>& operands) {
    if (i.op->opaque) return false;
    const ir::Lowering& lowering = *i.op->lowering;
    const bool sends = std::holds_alternative<ir::AsPermute>(lowering) ||
                       (std::holds_alternative<ir::AsManualMove>(lowering) && !IsCast(i, types));
    if (from_.mesh && from_.mesh->has_mode(AxisMode::Manual) && !sends &&
        absl::c_all_of(operands, [&](ValueId v) { return parts_.IsMarked(v); }))
      return true;
    const bool repeats = std::holds_alternative<ir::AsBroadcast>(lowering) ||
                         std::holds_alternative<ir::AsMove>(lowering);
    return operands.empty() || (repeats && parts_.IsMarked(operands[0]));
  }

  const ir::Program& from_;
  UnknownMemo& memo_;
  const base::IdVector<ValueId, bool> is_zero_;
  SplitParts parts_;
};

}  // namespace

Split SplitRegion(const ir::Program& region, const std::vector<bool>& unknown_inputs,
                  const std::vector<bool>& wanted, UnknownMemo& memo) {
  return ProgramSplitter(region, unknown_inputs, memo).Run(wanted);
}

Split MakeSplit(const ir::Program& program, const std::vector<bool>& unknown_inputs,
                const std::vector<bool>& wanted) {
  UnknownMemo memo;
  Split made = SplitRegion(program, unknown_inputs, wanted, memo);
  ir::VerifyAfter("split", made.known);
  ir::VerifyAfter("split", made.unknown);
  return made;
}

}  // namespace tessera::transforms
