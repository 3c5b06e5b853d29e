// Splitting a program into a known and an unknown part.
#include "transforms/split.h"

#include <map>
#include <utility>

#include "base/at.h"
#include "ir/builder.h"
#include "ir/control_params.h"
#include "ir/inline.h"
#include "ir/regions.h"
#include "ir/uses.h"
#include "ops/ops.h"
#include "ops/tangents.h"
#include "transforms/memo.h"
#include "transforms/regions.h"
#include "transforms/remat.h"
#include "transforms/types.h"
#include "transforms/zeros.h"

namespace tessera::transforms {
namespace {

using ir::ValueId;

size_t Index(ValueId v) { return base::Size(v); }

class Splitter {
 public:
  using Memo = RegionMemo<Split>;
  Splitter(const ir::Program& from, const std::vector<bool>& unknown_inputs, Memo& memo)
      : from_(from),
        memo_(memo),
        known_builder_(known_, Loc::Unknown()),
        unknown_builder_(unknown_, Loc::Unknown()),
        places_(from.values.size(), -1),
        is_unknown_(from.values.size()),
        is_zero_(ZerosOf(from)) {
    known_.mesh = unknown_.mesh = from.mesh;
    for (ir::Program* part : {&known_, &unknown_}) part->Reserve(from.instructions.size());
    for (size_t i = 0; i < from.inputs.size(); ++i) {
      const ValueId v = from.inputs[i];
      if (unknown_inputs[i]) unknown_inputs_.push_back(AddUnknown(v));
      if (!unknown_inputs[i]) known_.inputs.push_back(AddKnown(v));
    }
    for (const ir::Capture& c : from.captures)
      known_.captures.push_back({AddKnown(c.value), c.array});
  }

  Split Run(const std::vector<bool>& wanted) {
    for (const ir::Instruction& i : from_.instructions) Visit(i);
    for (const auto& [name, v] : from_.names)
      (is_unknown_[Index(v)] ? unknown_ : known_).names.emplace_back(name, places_[Index(v)]);
    Split out;
    for (size_t i = 0; i < from_.outputs.size(); ++i) {
      const ValueId v = from_.outputs[i];
      const bool is_unknown = is_unknown_[Index(v)] || wanted[i];
      out.unknown_outputs.push_back(is_unknown);
      if (is_unknown)
        unknown_.outputs.push_back(InUnknown(v));
      else
        known_.outputs.push_back(places_[Index(v)]);
    }
    DropUnusedResiduals();
    out.residuals = residuals_.size();
    for (const auto& [made, used] : residuals_) {
      known_.outputs.push_back(made);
      unknown_.inputs.push_back(used);
    }
    unknown_.inputs.insert(unknown_.inputs.end(), unknown_inputs_.begin(), unknown_inputs_.end());
    ir::RemoveDead(known_);
    out.known = std::move(known_);
    out.unknown = std::move(unknown_);
    return out;
  }

 private:
  ValueId AddKnown(ValueId v) {
    const ir::Value& value = from_.values[Index(v)];
    return places_[Index(v)] = known_.AddValue(value.type, value.loc, value.place);
  }
  ValueId AddUnknown(ValueId v) {
    const ir::Value& value = from_.values[Index(v)];
    is_unknown_[Index(v)] = true;
    return places_[Index(v)] = unknown_.AddValue(value.type, value.loc, value.place);
  }
  void SetKnown(ValueId v, ValueId made) {
    places_[Index(v)] = made;
    if (is_zero_[Index(v)]) In(light_, made) = kZeros;
  }
  void SetUnknown(ValueId v, ValueId made) {
    is_unknown_[Index(v)] = true;
    places_[Index(v)] = made;
  }

  // Returns the value of the second part that stands for one of the program.
  ValueId InUnknown(ValueId v) {
    return is_unknown_[Index(v)] ? places_[Index(v)] : Residual(places_[Index(v)]);
  }

  // The same of a value of the first part: an input, or made anew if that takes no data, as zeros
  // do, whatever they come from.
  ValueId Residual(ValueId made) {
    if (ValueId copy = In(copies_, made); copy >= 0) return copy;
    ValueId copy = Remade(made);
    if (copy < 0) {
      const ir::Value& value = known_.values[Index(made)];
      copy = unknown_.AddValue(value.type, value.loc);
      residuals_.emplace_back(made, copy);
    }
    return In(copies_, made) = copy;
  }
  static ValueId& In(std::vector<ValueId>& map, ValueId v) {
    if (Index(v) >= map.size()) map.resize(2 * Index(v) + 1, -1);
    return map[Index(v)];
  }
  ValueId Remade(ValueId made) {
    const ValueId at = In(light_, made);
    if (at == kZeros) return ops::Zeros(unknown_builder_, known_.type(made));
    if (at < 0) return -1;
    const ir::Instruction i = known_.instructions[Index(at)];
    std::vector<ValueId> operands;
    for (ValueId v : i.operands) operands.push_back(Residual(v));
    const ir::Type* type = known_.type(made);
    unknown_builder_.set_loc(i.loc);
    return unknown_builder_.EmitTyped(*i.op, i.params, operands, {&type, 1}, i.regions)[0];
  }

  // What later instructions turned out not to need.
  void DropUnusedResiduals() {
    ir::RemoveDead(unknown_);
    const std::vector<bool> used = ir::UsedValues(unknown_);
    std::erase_if(residuals_, [&](const auto& r) { return !used[Index(r.second)]; });
  }

  void Visit(const ir::Instruction& i) {
    const bool any = std::any_of(i.operands.begin(), i.operands.end(),
                                 [&](ValueId v) { return is_unknown_[Index(v)]; });
    if (any && std::holds_alternative<ir::AsRegions>(*i.op->lowering)) return VisitRegions(i);
    const TypesOf types(from_, i);
    std::vector<ValueId> operands;
    for (ValueId v : i.operands) operands.push_back(any ? InUnknown(v) : places_[Index(v)]);
    ir::Builder& builder = any ? unknown_builder_ : known_builder_;
    builder.set_loc(i.loc);
    auto results = builder.EmitTyped(*i.op, i.params, operands, types.results, i.regions);
    for (size_t r = 0; r < results.size(); ++r)
      any ? SetUnknown(i.results[r], results[r]) : SetKnown(i.results[r], results[r]);
    if (any || results.size() != 1) return;
    if (In(light_, results[0]) != kZeros && IsLight(i, operands))
      In(light_, results[0]) = static_cast<ValueId>(known_.instructions.size()) - 1;
  }

  // Constants and what repeats or moves them. With Manual axes all that is made of constants: in a
  // branch that some devices take it has the type of what all have alike, which others do not.
  bool IsLight(const ir::Instruction& i, const std::vector<ValueId>& operands) {
    if (i.op->opaque) return false;
    const bool sends =
        std::holds_alternative<ir::AsPermute>(*i.op->lowering) ||
        (std::holds_alternative<ir::AsManualMove>(*i.op->lowering) && i.op != &ops::kPcast);
    if (from_.mesh && from_.mesh->has_mode(AxisMode::Manual) && !sends &&
        std::all_of(operands.begin(), operands.end(),
                    [&](ValueId v) { return In(light_, v) >= 0 || In(light_, v) == kZeros; }))
      return true;
    const bool repeats = std::holds_alternative<ir::AsBroadcast>(*i.op->lowering) ||
                         std::holds_alternative<ir::AsMove>(*i.op->lowering);
    return operands.empty() || (repeats && In(light_, operands[0]) >= 0);
  }

  // ---- loops and branches ----

  struct Parts {
    std::vector<bool> ins, outs;  // unknown ones
    std::vector<Split> bodies;
  };

  Parts SplitBodies(const ir::Instruction& i, const RegionLayout& layout) {
    Parts parts;
    for (size_t k = layout.first; k < i.operands.size(); ++k)
      parts.ins.push_back(is_unknown_[Index(i.operands[k])]);
    parts.outs.resize(i.results.size());
    for (;;) {
      parts.bodies.clear();
      const std::vector<bool> wanted = parts.outs;
      for (size_t b : layout.bodies) {
        const ir::Program& body = *i.regions[b];
        parts.bodies.push_back(memo_.Get(
            body, parts.ins, wanted, [&] { return Splitter(body, parts.ins, memo_).Run(wanted); }));
        for (size_t r = 0; r < wanted.size(); ++r)
          parts.outs[r] = parts.outs[r] || parts.bodies.back().unknown_outputs[r];
      }
      for (size_t c = 0; c < layout.carries; ++c) {
        const size_t in = layout.CarryInput(c);
        parts.outs[c] = parts.outs[c] || parts.ins[in];
        if (parts.outs[c] && !parts.ins[in]) parts.ins[in] = true;
      }
      if (parts.outs == wanted && IsComplete(parts, layout)) return parts;
    }
  }
  static bool IsComplete(const Parts& parts, const RegionLayout& layout) {
    for (const Split& s : parts.bodies)
      if (s.unknown_outputs != parts.outs) return false;
    for (size_t c = 0; c < layout.carries; ++c)
      if (parts.ins[layout.CarryInput(c)] != parts.outs[c]) return false;
    return true;
  }

  void VisitRegions(const ir::Instruction& i) {
    const auto kind = std::get<ir::AsRegions>(*i.op->lowering).kind;
    known_builder_.set_loc(i.loc);
    unknown_builder_.set_loc(i.loc);
    const RegionLayout layout(i);
    Parts parts = SplitBodies(i, layout);
    switch (kind) {
      case ir::AsRegions::kWhile:
        return VisitWhile(i, parts);
      case ir::AsRegions::kScan:
        return VisitScan(i, layout, parts);
      case ir::AsRegions::kSwitch:
        return VisitSwitch(i, layout, parts);
      case ir::AsRegions::kCall:
        return VisitCall(i, parts);
    }
  }

  // Which group of a body's inputs holds input k.
  static size_t GroupOf(const RegionLayout& layout, size_t k) {
    size_t group = 0;
    for (size_t end = layout.ins[0]; k >= end; end += layout.ins[group]) ++group;
    return group;
  }
  // Which operand a known input of a body is.
  static size_t OperandOf(const std::vector<bool>& unknown_ins, size_t known_input) {
    size_t k = 0;
    for (size_t seen = 0;; ++k)
      if (!unknown_ins[k] && seen++ == known_input) return k;
  }

  // Which group of inputs of the whole loop's a value of its known body is; 1, as carries are, if
  // it is made in the body.
  struct Source {
    size_t group = 1;
    ValueId outside = -1;
  };
  std::vector<Source> SourcesOf(const ir::Instruction& i, const RegionLayout& layout,
                                const Parts& parts, const ir::Program& known) const {
    std::vector<Source> sources(known.values.size());
    for (size_t n = 0; n < known.inputs.size(); ++n) {
      const size_t k = OperandOf(parts.ins, n);
      sources[Index(known.inputs[n])] = {GroupOf(layout, k), places_[Index(i.operands[k])]};
    }
    return sources;
  }

  // Of a loop's known body: computes in front of the loop those of the values that are made of its
  // constants alone, which are constants then.
  void Hoist(const ir::Program& known, const std::vector<ValueId>& values,
             std::vector<Source>& sources) {
    std::vector<bool> varying(known.values.size());
    for (ValueId v : known.inputs) varying[Index(v)] = sources[Index(v)].group != 0;
    varying = ir::MadeOf(known, std::move(varying));
    ir::Program once = known;
    once.outputs.clear();
    for (ValueId v : values)
      if (!varying[Index(v)] && sources[Index(v)].outside < 0) once.outputs.push_back(v);
    ir::RemoveEffects(once);
    ir::RemoveDead(once);
    std::vector<ValueId> given;
    for (ValueId v : known.inputs) given.push_back(sources[Index(v)].outside);
    const std::vector<ValueId> made = ir::Inline(known_builder_, once, given);
    for (size_t n = 0; n < made.size(); ++n) sources[Index(once.outputs[n])] = {0, made[n]};
  }

  // Nobody knows how much its iterations would leave behind, so the second part runs the whole loop
  // again, beside what it is for.
  void VisitWhile(const ir::Instruction& i, const Parts& parts) {
    std::vector<ValueId> known, all;
    std::vector<ir::Program> regions;
    for (const ir::RegionPtr& r : i.regions) regions.push_back(*r);
    for (ir::Program& r : regions) r.inputs.clear();
    regions[1].outputs.clear();
    auto params = ir::As<ir::WhileParams>(i.params.get());
    const auto constants = base::Size(std::exchange(params.constants, 0));
    for (size_t k = 0; k < parts.ins.size(); ++k) {
      all.push_back(InUnknown(i.operands[k]));
      if (parts.ins[k]) continue;
      known.push_back(places_[Index(i.operands[k])]);
      params.constants += k < constants;
      for (size_t r = 0; r < regions.size(); ++r)
        regions[r].inputs.push_back(i.regions[r]->inputs[k]);
      if (k >= constants) regions[1].outputs.push_back(i.regions[1]->outputs[k - constants]);
    }
    std::vector<ir::RegionPtr> pointers;
    for (ir::Program& r : regions) {
      ir::RemoveDead(r);
      pointers.push_back(ir::Shared(std::move(r)));
    }
    EmitKnown(i, parts, ir::MakeParams(params), known, std::move(pointers), {});
    const TypesOf types(from_, i);
    const auto results = unknown_builder_.EmitTyped(*i.op, i.params, all, types.results, i.regions);
    for (size_t r = 0; r < results.size(); ++r)
      if (parts.outs[r]) SetUnknown(i.results[r], results[r]);
  }

  void VisitScan(const ir::Instruction& i, const RegionLayout& layout, Parts& parts) {
    ir::Program known = std::move(parts.bodies[0].known), body = std::move(parts.bodies[0].unknown);
    const size_t residuals = parts.bodies[0].residuals;
    const auto params = ir::As<ir::ScanParams>(i.params.get());
    const std::vector<ValueId> made(known.outputs.end() - static_cast<long>(residuals),
                                    known.outputs.end());
    known.outputs.resize(known.outputs.size() - residuals);
    // Residuals: what is made of the loop's constants and a slice of what it runs over are passed
    // on, the others are stacked.
    struct Passed {
      ValueId input, outside;  // of the second body; of the first part, -1 if stacked
    };
    std::vector<Passed> constants, xs, stacked;
    std::vector<Source> sources = SourcesOf(i, layout, parts, known);
    Hoist(known, made, sources);
    for (size_t r = 0; r < residuals; ++r) {
      const ValueId input = body.inputs[r];
      const Source source = sources[Index(made[r])];
      if (source.group == 1) {
        known.outputs.push_back(made[r]);
        stacked.push_back({input, -1});
      } else {
        (source.group == 0 ? constants : xs).push_back({input, source.outside});
      }
    }
    ir::RemoveDead(known);
    EmitKnownScan(i, layout, parts, std::move(known), params, stacked.size());
    for (size_t s = 0; s < stacked.size(); ++s) {
      const auto results = known_.instructions.back().results;
      stacked[s].outside = results[results.size() - stacked.size() + s];
    }
    xs.insert(xs.end(), stacked.begin(), stacked.end());

    std::vector<ValueId> operands, inputs;
    const auto pass = [&](const std::vector<Passed>& list) {
      for (const Passed& p : list) {
        inputs.push_back(p.input);
        operands.push_back(Residual(p.outside));
      }
    };
    size_t k = 0, next = residuals;
    const auto pass_group = [&](size_t group) {
      size_t count = 0;
      for (const size_t end = k + layout.ins[group]; k < end; ++k) {
        if (!parts.ins[k]) continue;
        inputs.push_back(body.inputs[next++]);
        operands.push_back(InUnknown(i.operands[k]));
        ++count;
      }
      return count;
    };
    ir::ScanParams p = params;
    pass(constants);
    p.constants = static_cast<int64_t>(constants.size() + pass_group(0));
    p.carries = static_cast<int64_t>(pass_group(1));
    pass(xs);
    pass_group(2);
    body.inputs = std::move(inputs);
    EmitUnknown(i, parts, ir::MakeParams(p), operands, {ir::Shared(std::move(body))});
  }

  void EmitKnownScan(const ir::Instruction& i, const RegionLayout& layout, const Parts& parts,
                     ir::Program body, const ir::ScanParams& params, size_t stacked) {
    ir::ScanParams p = params;
    p.constants = p.carries = 0;
    std::vector<ValueId> operands;
    for (size_t k = 0; k < parts.ins.size(); ++k) {
      if (parts.ins[k]) continue;
      operands.push_back(places_[Index(i.operands[k])]);
      const size_t group = GroupOf(layout, k);
      p.constants += group == 0;
      p.carries += group == 1;
    }
    std::vector<const ir::Type*> extra;
    for (size_t s = body.outputs.size() - stacked; s < body.outputs.size(); ++s)
      extra.push_back(ir::Stacked(body.type(body.outputs[s]), params.length));
    EmitKnown(i, parts, ir::MakeParams(p), operands, {ir::Shared(std::move(body))}, extra);
  }

  void EmitKnown(const ir::Instruction& i, const Parts& parts, ir::ParamsPtr params,
                 const std::vector<ValueId>& operands, std::vector<ir::RegionPtr> regions,
                 const std::vector<const ir::Type*>& extra) {
    std::vector<const ir::Type*> types;
    for (size_t r = 0; r < i.results.size(); ++r)
      if (!parts.outs[r]) types.push_back(from_.type(i.results[r]));
    types.insert(types.end(), extra.begin(), extra.end());
    auto results =
        known_builder_.EmitTyped(*i.op, std::move(params), operands, types, std::move(regions));
    for (size_t r = 0, next = 0; r < i.results.size(); ++r)
      if (!parts.outs[r]) SetKnown(i.results[r], results[next++]);
  }
  void EmitUnknown(const ir::Instruction& i, const Parts& parts, ir::ParamsPtr params,
                   const std::vector<ValueId>& operands, std::vector<ir::RegionPtr> regions) {
    std::vector<const ir::Type*> types;
    for (size_t r = 0; r < i.results.size(); ++r)
      if (parts.outs[r]) types.push_back(from_.type(i.results[r]));
    auto results =
        unknown_builder_.EmitTyped(*i.op, std::move(params), operands, types, std::move(regions));
    for (size_t r = 0, next = 0; r < i.results.size(); ++r)
      if (parts.outs[r]) SetUnknown(i.results[r], results[next++]);
  }

  // How the residuals of branches travel. What is an operand is passed on as that. What a branch
  // makes has a place among the results, which residuals of one type in other branches share, as
  // only one branch runs.
  struct Passage {
    std::vector<const ir::Type*> places;
    std::vector<ValueId> operands;                       // values of the first part
    std::vector<std::vector<size_t>> in_place, operand;  // per branch: its residual there, or kNone
  };
  static constexpr size_t kNone = SIZE_MAX;

  Passage PassageOf(const ir::Instruction& i, const RegionLayout& layout,
                    const Parts& parts) const {
    Passage passage;
    std::map<const ir::Type*, std::vector<size_t>> places_of;
    std::map<ValueId, size_t> operand_at;
    for (const Split& s : parts.bodies) {
      std::vector<ValueId> outside(s.known.values.size(), -1);
      for (size_t n = 0; n < s.known.inputs.size(); ++n)
        outside[Index(s.known.inputs[n])] =
            places_[Index(i.operands[OperandOf(parts.ins, n) + layout.first])];
      std::vector<size_t>&in_place = passage.in_place.emplace_back(passage.places.size(), kNone),
      &operand = passage.operand.emplace_back(passage.operands.size(), kNone);
      std::map<const ir::Type*, size_t> taken;
      const size_t outs = s.known.outputs.size() - s.residuals;
      for (size_t r = 0; r < s.residuals; ++r) {
        if (const ValueId given = outside[Index(s.known.outputs[outs + r])]; given >= 0) {
          const auto [at, fresh] = operand_at.try_emplace(given, passage.operands.size());
          if (fresh) passage.operands.push_back(given), operand.push_back(kNone);
          operand[at->second] = r;
          continue;
        }
        const ir::Type* type = s.unknown.type(s.unknown.inputs[r]);
        std::vector<size_t>& those = places_of[type];
        const size_t next = taken[type]++;
        if (next == those.size()) {
          those.push_back(passage.places.size());
          passage.places.push_back(type), in_place.push_back(kNone);
        }
        in_place[those[next]] = r;
      }
    }
    for (auto& branch : passage.in_place) branch.resize(passage.places.size(), kNone);
    for (auto& branch : passage.operand) branch.resize(passage.operands.size(), kNone);
    return passage;
  }

  // Makes a branch's parts return and take what the passage says.
  void Adapt(Split& s, const Passage& passage, size_t branch, Loc loc) const {
    const size_t outs = s.known.outputs.size() - s.residuals;
    const std::vector<ValueId> made(s.known.outputs.begin() + static_cast<long>(outs),
                                    s.known.outputs.end());
    s.known.outputs.resize(outs);
    std::vector<ValueId> inputs;
    ir::Builder builder(s.known, loc);
    for (size_t n = 0; n < passage.places.size(); ++n) {
      const size_t r = passage.in_place[branch][n];
      const ir::Type* type = passage.places[n];
      s.known.outputs.push_back(r != kNone ? made[r] : ops::Zeros(builder, type));
      inputs.push_back(r != kNone ? s.unknown.inputs[r] : s.unknown.AddValue(type, loc));
    }
    for (size_t n = 0; n < passage.operands.size(); ++n) {
      const size_t r = passage.operand[branch][n];
      inputs.push_back(r != kNone ? s.unknown.inputs[r]
                                  : s.unknown.AddValue(known_.type(passage.operands[n]), loc));
    }
    inputs.insert(inputs.end(), s.unknown.inputs.begin() + static_cast<long>(s.residuals),
                  s.unknown.inputs.end());
    s.unknown.inputs = std::move(inputs);
    ir::RemoveDead(s.known);
  }

  void VisitSwitch(const ir::Instruction& i, const RegionLayout& layout, Parts& parts) {
    const Passage passage = PassageOf(i, layout, parts);
    std::vector<ir::RegionPtr> known, unknown;
    for (size_t b = 0; b < parts.bodies.size(); ++b) {
      Split& s = parts.bodies[b];
      Adapt(s, passage, b, i.loc);
      known.push_back(ir::Shared(std::move(s.known)));
      unknown.push_back(ir::Shared(std::move(s.unknown)));
    }
    std::vector<ValueId> operands{places_[Index(i.operands[0])]};
    for (size_t k = 0; k < parts.ins.size(); ++k)
      if (!parts.ins[k]) operands.push_back(places_[Index(i.operands[k + layout.first])]);
    EmitKnown(i, parts, i.params, operands, std::move(known), passage.places);
    const auto results = known_.instructions.back().results;
    operands = {InUnknown(i.operands[0])};
    for (size_t n = results.size() - passage.places.size(); n < results.size(); ++n)
      operands.push_back(Residual(results[n]));
    for (ValueId v : passage.operands) operands.push_back(Residual(v));
    for (size_t k = 0; k < parts.ins.size(); ++k)
      if (parts.ins[k]) operands.push_back(places_[Index(i.operands[k + layout.first])]);
    EmitUnknown(i, parts, i.params, operands, std::move(unknown));
  }

  // A call that is differentiated by its region computes again what it does not keep. One that has
  // a rule is part of such a rule here, and linear as it stands: its parts take its place.
  void VisitCall(const ir::Instruction& i, Parts& parts) {
    const bool by_rule = !std::holds_alternative<ir::ByRegions>(*i.op->diff);
    Split body = by_rule ? std::move(parts.bodies[0])
                         : Rematerialized(std::move(parts.bodies[0]), i.params.get());
    std::vector<ValueId> known, unknown;
    for (size_t k = 0; k < parts.ins.size(); ++k)
      (parts.ins[k] ? unknown : known).push_back(places_[Index(i.operands[k])]);
    // What the second part reads of the operands comes from where they do.
    std::vector<ValueId> given;
    for (ValueId v : body.known.outputs) {
      const auto at = std::find(body.known.inputs.begin(), body.known.inputs.end(), v);
      given.push_back(
          at == body.known.inputs.end() ? -1 : base::At(known, at - body.known.inputs.begin()));
    }
    const size_t residuals = body.residuals, outs = given.size() - residuals;
    const std::vector<ValueId> made =
        Called(known_builder_, i, std::move(body.known), known, by_rule);
    std::vector<ValueId> operands;
    for (size_t r = outs; r < made.size(); ++r)
      operands.push_back(Residual(given[r] >= 0 ? given[r] : made[r]));
    operands.insert(operands.end(), unknown.begin(), unknown.end());
    const std::vector<ValueId> waited =
        Called(unknown_builder_, i, std::move(body.unknown), operands, by_rule);
    for (size_t r = 0, first = 0, second = 0; r < i.results.size(); ++r)
      parts.outs[r] ? SetUnknown(i.results[r], waited[second++])
                    : SetKnown(i.results[r], made[first++]);
  }

  static std::vector<ValueId> Called(ir::Builder& builder, const ir::Instruction& i,
                                     ir::Program body, const std::vector<ValueId>& operands,
                                     bool is_inlined) {
    if (is_inlined) return ir::Inline(builder, body, operands);
    std::vector<const ir::Type*> types;
    for (ValueId v : body.outputs) types.push_back(body.type(v));
    const auto results =
        builder.EmitTyped(*i.op, i.params, operands, types, {ir::Shared(std::move(body))});
    return {results.begin(), results.end()};
  }

  const ir::Program& from_;
  Memo& memo_;
  ir::Program known_, unknown_;
  ir::Builder known_builder_, unknown_builder_;
  std::vector<ValueId> places_;  // per value of the program: where it is, in the part that has it
  std::vector<bool> is_unknown_;
  std::vector<ValueId> unknown_inputs_;
  std::vector<std::pair<ValueId, ValueId>> residuals_;  // made in the first part; in the second
  std::vector<bool> is_zero_;
  // By value of the first part, or -1: its copy in the second; the instruction that makes it, of
  // constants and the like.
  std::vector<ValueId> copies_, light_;
  static constexpr ValueId kZeros = -2;  // in light_: zeros, which are made of nothing
};

}  // namespace

Split MakeSplit(const ir::Program& program, const std::vector<bool>& unknown_inputs,
                const std::vector<bool>& wanted) {
  RegionMemo<Split> memo;
  return Splitter(program, unknown_inputs, memo).Run(wanted);
}

}  // namespace tessera::transforms
