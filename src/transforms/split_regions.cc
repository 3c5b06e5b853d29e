// Splitting loops and branches: their bodies are split, and their residuals leave the first
// instruction and enter the second.
#include <absl/algorithm/container.h>

#include <map>

#include "base/at.h"
#include "ir/control_params.h"
#include "ir/inline.h"
#include "ir/regions.h"
#include "ir/uses.h"
#include "ops/tangents.h"
#include "transforms/remat.h"
#include "transforms/split_parts.h"

namespace tessera::transforms {
namespace {

using ir::ValueId;

constexpr size_t kAbsent = SIZE_MAX;

// Which of the two instructions that an instruction is split into.
enum class SplitHalf { kKnown, kUnknown };

// A residual of one or more bodies, on its way to the second instruction.
struct RegionResidual {
  RegionGroup group;     // of the second instruction's operands
  const ir::Type* type;  // in the bodies
  ValueId outside;       // in the first part; kNoValue: bodies make it, so it becomes a result
  std::vector<size_t> numbers;  // per body: the number of its residual, or kAbsent
};

// Where a value of a scan's known body comes from.
struct ValueSource {
  RegionGroup group = RegionGroup::kCarries;  // kCarries also for values that the body computes
  ValueId outside = kNoValue;                 // the operand
};
using ValueSources = base::IdVector<ValueId, ValueSource>;

// Makes the parts of body b give and read the residuals in order.
void ArrangeResiduals(Split& body, const std::vector<RegionResidual>& residuals, size_t b,
                      Loc loc) {
  ir::Program &known = body.known, &unknown = body.unknown;
  const size_t outs = known.outputs.size() - body.residuals;
  const std::vector<ValueId> made(known.outputs.begin() + static_cast<long>(outs),
                                  known.outputs.end());
  known.outputs.resize(outs);
  ir::Builder builder(known, loc);
  std::vector<ValueId> inputs;
  for (const RegionResidual& r : residuals) {
    const size_t number = r.numbers[b];
    inputs.push_back(number != kAbsent ? unknown.inputs[number] : unknown.AddValue(r.type, loc));
    if (r.outside == kNoValue)
      known.outputs.push_back(number != kAbsent ? made[number] : ops::Zeros(builder, r.type));
  }
  inputs.insert(inputs.end(), unknown.inputs.begin() + static_cast<long>(body.residuals),
                unknown.inputs.end());
  unknown.inputs = std::move(inputs);
  ir::RemoveDead(known);
}

class RegionSplitter {
 public:
  RegionSplitter(const ir::Instruction& i, SplitParts& parts, UnknownMemo& memo)
      : i_(i), parts_(parts), layout_(i), unknown_(UnknownIn(i, parts.is_unknown(), memo)) {}

  void Run(UnknownMemo& memo) {
    if (layout_.kind == ir::AsRegions::kWhile) return SplitWhile();
    for (size_t b : layout_.bodies)
      bodies_.push_back(SplitRegion(*i_.regions[b], unknown_.ins, unknown_.outs, memo));
    if (layout_.kind == ir::AsRegions::kScan) return Emit(ScanResiduals());
    if (layout_.kind == ir::AsRegions::kCall) {
      // A call with a rule is linear here, since it is part of another rule: its parts replace it.
      // A checkpoint rematerialises the values that it does not keep.
      if (!std::holds_alternative<ir::ByRegions>(*i_.op->diff)) return InlineCall(bodies_[0]);
      bodies_[0] = Rematerialized(std::move(bodies_[0]), i_.params.get());
    }
    Emit(BranchResiduals());
  }

 private:
  ValueId Operand(size_t input) const { return i_.operands[layout_.first + input]; }
  ValueId InKnown(size_t input) const { return parts_.Get(Operand(input)); }
  const ir::Type* ResultType(size_t r) const { return parts_.from().type(i_.results[r]); }

  // Returns, per input of the known bodies, which input of the instruction's regions it is.
  std::vector<size_t> KnownInputs() const {
    std::vector<size_t> known;
    for (size_t k = 0; k < unknown_.ins.size(); ++k)
      if (!unknown_.ins[k]) known.push_back(k);
    return known;
  }

  // The number of iterations is unknown until the loop has run, so it has no residuals: the second
  // part runs the whole loop again.
  void SplitWhile() {
    ir::Program condition = *i_.regions[0], body = *i_.regions[1];
    body.outputs.clear();
    for (size_t r = 0; r < unknown_.outs.size(); ++r)
      if (!unknown_.outs[r]) body.outputs.push_back(i_.regions[1]->outputs[r]);
    ir::RemoveDead(condition);
    ir::RemoveDead(body);
    RegionEdit known(i_, {std::move(condition), std::move(body)});
    for (size_t k : KnownInputs()) known.AddInput(layout_.InputGroup(k), InKnown(k), k);
    AddOutputs(known, SplitHalf::kKnown);
    SetResults(std::move(known).Emit(parts_.known()), SplitHalf::kKnown);
    std::vector<ValueId> all;
    for (ValueId v : i_.operands) all.push_back(parts_.InUnknown(v));
    std::vector<const ir::Type*> types;
    for (size_t r = 0; r < i_.results.size(); ++r) types.push_back(ResultType(r));
    parts_.set_loc(i_.loc);
    const auto results = parts_.unknown().EmitTyped(*i_.op, i_.params, all, types, i_.regions);
    for (size_t r = 0; r < results.size(); ++r)
      if (unknown_.outs[r]) parts_.Set(i_.results[r], results[r]);
  }

  bool IsResultOf(SplitHalf half, size_t r) const {
    return unknown_.outs[r] == (half == SplitHalf::kUnknown);
  }
  // Adds the results of a half, which are the first outputs of its bodies.
  void AddOutputs(RegionEdit& edit, SplitHalf half) const {
    for (size_t r = 0, output = 0; r < i_.results.size(); ++r)
      if (IsResultOf(half, r)) edit.AddOutput(layout_.OutputGroup(r), ResultType(r), output++);
  }
  void SetResults(const std::vector<ValueId>& results, SplitHalf half) {
    for (size_t r = 0, next = 0; r < i_.results.size(); ++r)
      if (IsResultOf(half, r)) parts_.Set(i_.results[r], results[next++]);
  }

  // ---- residuals ----

  // Returns the residuals of a scan. A residual that depends only on the scan's constants is a
  // constant of the second scan, a slice of xs is a slice again, and all others are stacked.
  std::vector<RegionResidual> ScanResiduals() {
    const Split& body = bodies_[0];
    const std::vector<ValueId> made(body.known.outputs.end() - static_cast<long>(body.residuals),
                                    body.known.outputs.end());
    const ValueSources sources = Hoisted(body.known, made, SourcesOf(body.known));
    std::vector<RegionResidual> residuals, stacked;
    for (size_t r = 0; r < made.size(); ++r) {
      const ir::Type* type = body.known.type(made[r]);
      const ValueSource& source = sources[made[r]];
      if (source.group == RegionGroup::kCarries)
        stacked.push_back({RegionGroup::kSlices, type, kNoValue, {r}});
      else
        residuals.push_back({source.group, type, source.outside, {r}});
    }
    residuals.insert(residuals.end(), stacked.begin(), stacked.end());
    return residuals;
  }
  ValueSources SourcesOf(const ir::Program& known) const {
    ValueSources sources(known.values.size());
    const std::vector<size_t> inputs = KnownInputs();
    for (size_t n = 0; n < inputs.size(); ++n)
      sources[known.inputs[n]] = {layout_.InputGroup(inputs[n]), InKnown(inputs[n])};
    return sources;
  }
  // Computes the values that depend only on the loop's constants once, before the loop. Returns the
  // sources with these values as constants.
  ValueSources Hoisted(const ir::Program& known, const std::vector<ValueId>& values,
                       ValueSources sources) {
    base::IdVector<ValueId, bool> seeds(known.values.size());
    for (ValueId v : known.inputs) seeds[v] = sources[v].group != RegionGroup::kConstants;
    const ir::ValueSet varying = ir::MadeOf(known, seeds);
    ir::Program once = known;
    once.outputs.clear();
    for (ValueId v : values)
      if (!varying[v] && sources[v].outside == kNoValue) once.outputs.push_back(v);
    ir::RemoveEffects(once);
    ir::RemoveDead(once);
    std::vector<ValueId> given;
    for (ValueId v : known.inputs) given.push_back(sources[v].outside);
    const std::vector<ValueId> made = ir::Inline(parts_.known(), once, given);
    for (size_t n = 0; n < made.size(); ++n)
      sources[once.outputs[n]] = {RegionGroup::kConstants, made[n]};
    return sources;
  }

  // Residuals of branches. A residual that is an operand of the first instruction is an operand of
  // the second one too. A residual that a branch computes is a result of the first instruction.
  // Only one branch runs, so residuals of one type in several branches share a result.
  std::vector<RegionResidual> BranchResiduals() const {
    std::vector<RegionResidual> made, given;
    std::map<const ir::Type*, std::vector<size_t>> made_of_type;
    std::map<size_t, size_t> given_of_input;
    const std::vector<size_t> known_inputs = KnownInputs();
    const auto add = [&](std::vector<RegionResidual>& to, const ir::Type* type, ValueId outside) {
      to.push_back({RegionGroup::kSlices, type, outside, std::vector(bodies_.size(), kAbsent)});
      return to.size() - 1;
    };
    for (size_t b = 0; b < bodies_.size(); ++b) {
      const ir::Program& known = bodies_[b].known;
      const size_t outs = known.outputs.size() - bodies_[b].residuals;
      std::map<const ir::Type*, size_t> used;
      for (size_t r = 0; r < bodies_[b].residuals; ++r) {
        const ValueId v = known.outputs[outs + r];
        if (const auto input = absl::c_find(known.inputs, v); input != known.inputs.end()) {
          const size_t k = known_inputs[base::Size(input - known.inputs.begin())];
          const auto [at, is_new] = given_of_input.try_emplace(k, given.size());
          if (is_new) add(given, parts_.known().type(InKnown(k)), InKnown(k));
          given[at->second].numbers[b] = r;
          continue;
        }
        std::vector<size_t>& shared = made_of_type[known.type(v)];
        const size_t next = used[known.type(v)]++;
        if (next == shared.size()) shared.push_back(add(made, known.type(v), kNoValue));
        made[shared[next]].numbers[b] = r;
      }
    }
    made.insert(made.end(), given.begin(), given.end());
    return made;
  }

  // ---- the two instructions ----

  void Emit(std::vector<RegionResidual> residuals) {
    std::vector<ir::Program> known, unknown;
    for (size_t b = 0; b < bodies_.size(); ++b) {
      ArrangeResiduals(bodies_[b], residuals, b, i_.loc);
      known.push_back(std::move(bodies_[b].known));
      unknown.push_back(std::move(bodies_[b].unknown));
    }
    EmitKnown(std::move(known), residuals);
    EmitUnknown(std::move(unknown), residuals);
  }

  // Emits the first instruction. Residuals that bodies make get the results that stand for them.
  void EmitKnown(std::vector<ir::Program> bodies, std::vector<RegionResidual>& residuals) {
    RegionEdit edit(i_, std::move(bodies));
    for (size_t k = 0; k < layout_.first; ++k) edit.AddIndex(parts_.Get(i_.operands[k]));
    size_t input = 0;
    for (size_t k : KnownInputs()) edit.AddInput(layout_.InputGroup(k), InKnown(k), input++);
    AddOutputs(edit, SplitHalf::kKnown);
    const size_t outs = base::Size(absl::c_count(unknown_.outs, false));
    size_t output = outs;
    for (const RegionResidual& r : residuals)
      if (r.outside == kNoValue)
        edit.AddOutput(RegionGroup::kSlices, OutsideType(r.type), output++);
    const std::vector<ValueId> results = std::move(edit).Emit(parts_.known());
    SetResults(results, SplitHalf::kKnown);
    size_t next = outs;
    for (RegionResidual& r : residuals)
      if (r.outside == kNoValue) r.outside = results[next++];
  }
  const ir::Type* OutsideType(const ir::Type* slice) const {
    if (!layout_.IsStacked(RegionGroup::kSlices)) return slice;
    return ir::Stacked(slice, ir::As<ir::ScanParams>(i_.params.get()).length);
  }

  void EmitUnknown(std::vector<ir::Program> bodies, const std::vector<RegionResidual>& residuals) {
    RegionEdit edit(i_, std::move(bodies));
    for (size_t k = 0; k < layout_.first; ++k) edit.AddIndex(parts_.InUnknown(i_.operands[k]));
    size_t input = 0;
    for (const RegionResidual& r : residuals)
      edit.AddInput(r.group, parts_.Residual(r.outside), input++);
    for (size_t k = 0; k < unknown_.ins.size(); ++k)
      if (unknown_.ins[k])
        edit.AddInput(layout_.InputGroup(k), parts_.InUnknown(Operand(k)), input++);
    AddOutputs(edit, SplitHalf::kUnknown);
    parts_.set_loc(i_.loc);
    SetResults(std::move(edit).Emit(parts_.unknown()), SplitHalf::kUnknown);
  }

  void InlineCall(const Split& body) {
    std::vector<ValueId> known, unknown;
    for (size_t k : KnownInputs()) known.push_back(InKnown(k));
    const std::vector<ValueId> made = ir::Inline(parts_.known(), body.known, known);
    for (size_t r = made.size() - body.residuals; r < made.size(); ++r)
      unknown.push_back(parts_.Residual(made[r]));
    for (size_t k = 0; k < unknown_.ins.size(); ++k)
      if (unknown_.ins[k]) unknown.push_back(parts_.InUnknown(Operand(k)));
    SetResults(made, SplitHalf::kKnown);
    SetResults(ir::Inline(parts_.unknown(), body.unknown, unknown), SplitHalf::kUnknown);
  }

  const ir::Instruction& i_;
  SplitParts& parts_;
  const RegionLayout layout_;
  const RegionFlags unknown_;
  std::vector<Split> bodies_;
};

}  // namespace

void SplitRegions(const ir::Instruction& i, SplitParts& parts, UnknownMemo& memo) {
  RegionSplitter(i, parts, memo).Run(memo);
}

}  // namespace tessera::transforms
