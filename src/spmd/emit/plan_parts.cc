// Adds each layout and each kernel once.
#include "spmd/emit/plan_parts.h"

#include <absl/algorithm/container.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "base/error.h"
#include "ir/local_values.h"
#include "spmd/emit/exchange.h"

namespace tessera::spmd {
namespace {

using ir::Instruction;
using ir::ValueId;

ir::LocalCall CallOf(const ir::Program& program, const Instruction& instruction) {
  ir::LocalCall call{.op = *instruction.op,
                     .params = instruction.params.get(),
                     .operands = {},
                     .results = {},
                     .mesh = program.mesh};
  for (ValueId v : instruction.operands) call.operands.push_back(ir::LocalTensorOf(program, v));
  for (ValueId v : instruction.results) call.results.push_back(ir::LocalTensorOf(program, v));
  return call;
}

plan::Kernel MakeKernel(const ir::Program& program, const Instruction& instruction) {
  const ir::LocalCall call = CallOf(program, instruction);
  plan::Kernel kernel;
  const ir::Lowering& lowering = *instruction.op->lowering;
  if (const auto* k = std::get_if<ir::AsKernel>(&lowering))
    k->make(call, &kernel);
  else if (const auto* r = std::get_if<ir::AsReduction>(&lowering))
    r->make(call, &kernel);
  else if (const auto* b = std::get_if<ir::AsBroadcast>(&lowering))
    b->make(call, &kernel);
  else
    base::ThrowInternal(base::Refusal(std::string(instruction.op->name), "kernel",
                                      base::Where(instruction.loc), "the op has no kernel"));
  return kernel;
}

// Room for one element of any dtype, as aligned as buffers are.
using ElementBytes = std::array<std::byte, 64>;

}  // namespace

bool operator==(const KernelKey& x, const KernelKey& y) {
  const Instruction &a = *x.instruction, &b = *y.instruction;
  if (a.op != b.op || a.operands.size() != b.operands.size()) return false;
  if (a.params != b.params && !(a.params && b.params && a.params->Equals(*b.params))) return false;
  const auto same = [&](ValueId v, ValueId w) {
    return x.program->place(v) == y.program->place(w);
  };
  return absl::c_equal(a.operands, b.operands, same) && same(a.results[0], b.results[0]);
}

plan::PlanLayoutId PlanParts::LayoutFor(const LayoutKey& key) {
  for (plan::PlanLayoutId layout : layout_keys_.ids())
    if (layout_keys_[layout] == key) return layout;
  layout_keys_.Add(key);
  return plan_.layouts.Add(MakeLayout(key, plan_.devices));
}

plan::PlanValueId PlanParts::AddValue(plan::PlanLayoutId layout, int64_t bytes,
                                      plan::ValueKind kind) {
  return plan_.values.Add({.kind = kind, .layout = layout, .bytes = bytes, .data = nullptr});
}

void PlanParts::SetConstant(plan::PlanValueId value, const base::ElementBits& bits) {
  const auto data = std::make_shared<ElementBytes>();
  std::memcpy(data->data(), bits.data(), sizeof bits);
  const plan::PlanLayoutId layout = SharedLayout();
  plan::PlanValue& constant = plan_.values[value];
  constant.kind = plan::ValueKind::kConstant;
  constant.layout = layout;
  constant.data = {data, data->data()};
}

plan::PlanValueId PlanParts::Zero() {
  if (zero_ == plan::kNoPlanValue) {
    zero_ = AddValue(SharedLayout(), sizeof(base::ElementBits));
    SetConstant(zero_, 0);
  }
  return zero_;
}

plan::NoteId PlanParts::AddNote(const Instruction& instruction, int32_t item) {
  return plan_.notes.Add({std::string(instruction.op->name), base::Where(instruction.loc), item});
}

const plan::Kernel& PlanParts::KernelFor(const ir::Program& program,
                                         const Instruction& instruction) {
  const auto [it, is_new] = made_.try_emplace(KernelKey{&instruction, &program});
  if (is_new) it->second = MakeKernel(program, instruction);
  return it->second;
}

plan::Kernel PlanParts::TileKernel(const ir::Program& program, const Instruction& instruction,
                                   int64_t tile_dims) {
  ir::LocalCall call = CallOf(program, instruction);
  for (base::Shape* shape : {&call.operands[0].shape, &call.results[0].shape})
    std::fill_n(shape->begin(), tile_dims, 1);
  plan::Kernel kernel;
  std::get<ir::AsKernel>(*instruction.op->lowering).make(call, &kernel);
  return kernel;
}

}  // namespace tessera::spmd
