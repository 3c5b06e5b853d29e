// Forward mode of loops and branches: the tangents of what goes in and out go in and out too.
#include "transforms/regions.h"

#include "base/at.h"
#include "ir/control_params.h"
#include "ir/regions.h"
#include "ops/tangents.h"

namespace tessera::transforms {
namespace {

size_t Count(int64_t n) { return base::Size(n); }

size_t CountTrue(const std::vector<bool>& v, size_t begin, size_t end) {
  return Count(
      std::count(v.begin() + static_cast<long>(begin), v.begin() + static_cast<long>(end), true));
}

// The values of `all` in the order of the slots; companions come after the first `n`, in order.
std::vector<ir::ValueId> Reordered(const std::vector<ir::ValueId>& all,
                                   const std::vector<Slot>& slots, size_t n) {
  std::vector<ir::ValueId> out;
  std::vector<size_t> place(n);
  std::vector<bool> has(n);
  for (const Slot& s : slots)
    if (s.companion) has[s.index] = true;
  for (size_t i = 0, next = n; i < n; ++i)
    if (has[i]) place[i] = next++;
  for (const Slot& s : slots) out.push_back(all[s.companion ? place[s.index] : s.index]);
  return out;
}

}  // namespace

RegionLayout::RegionLayout(const ir::Instruction& instruction) {
  const auto kind = std::get<ir::AsRegions>(*instruction.op->lowering).kind;
  const size_t operands = instruction.operands.size(), results = instruction.results.size();
  switch (kind) {
    case ir::AsRegions::kWhile: {
      const auto& p = ir::As<ir::WhileParams>(instruction.params.get());
      carries = operands - Count(p.constants);
      ins = {Count(p.constants), carries};
      outs = {carries};
      bodies = {1};
      break;
    }
    case ir::AsRegions::kScan: {
      const auto& p = ir::As<ir::ScanParams>(instruction.params.get());
      carries = Count(p.carries);
      ins = {Count(p.constants), carries, operands - Count(p.constants) - carries};
      outs = {carries, results - carries};
      bodies = {0};
      break;
    }
    case ir::AsRegions::kSwitch:
      first = 1;
      ins = {operands - 1};
      outs = {results};
      for (size_t b = 0; b < instruction.regions.size(); ++b) bodies.push_back(b);
      break;
    case ir::AsRegions::kCall:
      ins = {operands};
      outs = {results};
      bodies = {0};
      break;
  }
}

std::vector<Slot> WithCompanions(const std::vector<size_t>& groups,
                                 const std::vector<bool>& companions) {
  std::vector<Slot> slots;
  size_t begin = 0;
  for (size_t size : groups) {
    for (size_t i = begin; i < begin + size; ++i) slots.push_back({i, false});
    for (size_t i = begin; i < begin + size; ++i)
      if (companions[i]) slots.push_back({i, true});
    begin += size;
  }
  return slots;
}

namespace {

// Which inputs and outputs of the bodies have tangents: a carry has one if it gets one, at the
// start or at the end of an iteration.
struct Active {
  std::vector<bool> ins, outs;
};

Active ActiveIn(const ir::Instruction& instruction, const RegionLayout& layout,
                std::vector<bool> ins, JvpMemo& memo) {
  for (;;) {
    std::vector<bool> outs(instruction.results.size());
    for (size_t b : layout.bodies) {
      const ir::Program& body = *instruction.regions[b];
      const Jvp& jvp = RegionJvp(body, ins, std::vector<bool>(body.outputs.size()), memo);
      for (size_t r = 0; r < outs.size(); ++r) outs[r] = outs[r] || jvp.active[r];
    }
    bool grew = false;
    for (size_t c = 0; c < layout.carries; ++c) {
      const size_t in = layout.CarryInput(c);
      grew = grew || (outs[c] && !ins[in]);
      ins[in] = outs[c] = ins[in] || outs[c];
    }
    if (!grew) return {std::move(ins), std::move(outs)};
  }
}

}  // namespace

RegionsJvp JvpOfRegions(const ir::Instruction& instruction,
                        const std::vector<ir::ValueId>& tangents, const ir::Program& program,
                        JvpMemo& memo) {
  const RegionLayout layout(instruction);
  std::vector<bool> ins;
  for (size_t k = layout.first; k < tangents.size(); ++k)
    ins.push_back(tangents[k] >= 0 && ops::HasTangent(program.type(instruction.operands[k])));
  const Active active = ActiveIn(instruction, layout, std::move(ins), memo);
  const std::vector<Slot> in_slots = WithCompanions(layout.ins, active.ins);
  const std::vector<Slot> out_slots = WithCompanions(layout.outs, active.outs);
  RegionsJvp out;
  for (size_t r = 0; r < instruction.regions.size(); ++r) {
    const ir::Program& region = *instruction.regions[r];
    const bool is_body = std::count(layout.bodies.begin(), layout.bodies.end(), r) > 0;
    // The condition of a loop gets the tangents of what is carried, and reads none.
    ir::Program p = is_body ? RegionJvp(region, active.ins, active.outs, memo).program : region;
    for (size_t k = 0; !is_body && k < region.inputs.size(); ++k)
      if (active.ins[k])
        p.inputs.push_back(
            p.AddValue(region.type(region.inputs[k])->WithWeak(false), instruction.loc));
    p.inputs = Reordered(p.inputs, in_slots, region.inputs.size());
    if (is_body) p.outputs = Reordered(p.outputs, out_slots, region.outputs.size());
    out.regions.push_back(ir::Shared(std::move(p)));
  }
  for (size_t k = 0; k < layout.first; ++k) out.operands.push_back({k, false});
  for (Slot s : in_slots) out.operands.push_back({s.index + layout.first, s.companion});
  out.results = out_slots;
  const size_t constants = layout.ins[0], carries = layout.carries;
  out.params = ir::WithCounts(instruction, constants + CountTrue(active.ins, 0, constants),
                              carries + CountTrue(active.ins, constants, constants + carries));
  return out;
}

}  // namespace tessera::transforms
