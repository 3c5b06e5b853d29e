// Emits kernels, fused groups, constants and host calls. Moves and regions have files of their own.
#include "spmd/emit/program_emitter.h"

#include <absl/algorithm/container.h>

#include "ir/local_values.h"
#include "spmd/emit/emit_move.h"
#include "spmd/emit/emit_regions.h"
#include "spmd/emit/host_calls.h"
#include "spmd/schedule/fused_desc.h"

namespace tessera::spmd {

using ir::Instruction;
using ir::ValueId;

ProgramEmitter::ProgramEmitter(PlanParts& plan, const ir::Program& program,
                               const Schedule& schedule, std::vector<plan::Node>& nodes,
                               const ProgramEmitter* outer)
    : plan_(plan),
      program_(program),
      schedule_(schedule),
      nodes_(nodes),
      value_of_(program.values.size(), plan::kNoPlanValue),
      is_region_(outer != nullptr),
      item_(outer ? outer->item_ : plan::Note::kNoItem),
      note_(outer ? outer->note() : plan::kNoNote) {
  for (const LayoutKey& key : schedule.layouts) layouts_.Add(plan.LayoutFor(key));
}

void ProgramEmitter::EmitItems() {
  for (const Item& item : schedule_.items) {
    if (!is_region_) ++item_;
    Emit(item);
  }
}

void ProgramEmitter::Emit(const Item& item) {
  if (const auto* move = std::get_if<MoveItem>(&item)) return EmitMoves(*this, *move);
  SetNote(InstructionAt(program_, item.instructions().back()));
  if (const auto* group = std::get_if<FusedItem>(&item))
    AddStep(plan_.kernels().fused(DescribeFused(program_, *group)), group->in, group->out);
  else if (const auto* kernel = std::get_if<KernelItem>(&item))
    EmitKernel(*kernel);
  else if (const auto* regions = std::get_if<RegionItem>(&item))
    EmitRegions(*this, *regions);
  else
    EmitHostCall(std::get<HostCallItem>(item));
}

void ProgramEmitter::EmitKernel(const KernelItem& item) {
  const Instruction& instruction = InstructionAt(program_, item.instruction);
  if (std::holds_alternative<ir::AsConstant>(*instruction.op->lowering))
    return EmitConstant(instruction, item.instruction);
  if (std::holds_alternative<ir::AsIota>(*instruction.op->lowering))
    return EmitComputed(item.instruction);
  if (!item.copied.empty()) return EmitCopy(item, instruction.results[0]);
  if (!item.assembled.empty()) return EmitOnTiles(item, instruction);
  AddStep(plan_.KernelFor(program_, instruction),
          {instruction.operands.begin(), instruction.operands.end()},
          {instruction.results.begin(), instruction.results.end()});
}

// A constant that an exchange or a kernel reads is data. One that is returned is computed.
void ProgramEmitter::EmitConstant(const Instruction& instruction, InstructionId i) {
  const ValueId v = instruction.results[0];
  if (absl::c_linear_search(program_.outputs, v)) return EmitComputed(i);
  plan_.SetConstant(Define(v), ir::ConstantBits(instruction));
}

// Emits an instruction without operands as a fused group of its own.
void ProgramEmitter::EmitComputed(InstructionId i) {
  const ValueId v = InstructionAt(program_, i).results[0];
  const FusedItem alone{.instructions = {i}, .out = {v}, .space = program_.type(v)->shape()};
  AddStep(plan_.kernels().fused(DescribeFused(program_, alone)), {}, {v});
}

std::vector<plan::FusedDesc::Part> ProgramEmitter::BoxesOf(const ReadParts& parts,
                                                           const std::vector<ValueId>& in) const {
  std::vector<plan::FusedDesc::Part> boxes;
  for (const ReadPart& part : parts) {
    boxes.push_back(PartDesc(part, program_.type(part.source)->shape()));
    boxes.back().operand = static_cast<int32_t>(absl::c_find(in, part.source) - in.begin());
  }
  return boxes;
}

// Emits one copy of boxes of several values.
void ProgramEmitter::EmitCopy(const KernelItem& item, ValueId result) {
  const ir::Type& type = *program_.type(result);
  AddStep(
      plan_.kernels().copy_boxes(type.dtype().size(), type.shape(), BoxesOf(item.copied, item.in)),
      item.in, {result});
}

void ProgramEmitter::EmitOnTiles(const KernelItem& item, const Instruction& instruction) {
  const ir::Type& operand = *program_.type(instruction.operands[0]);
  const ValueId result = instruction.results[0];
  int64_t tiles = 1;
  for (int64_t d = 0; d < item.tile_dims; ++d) tiles *= base::At(operand.shape(), d);
  const int64_t others = std::ssize(instruction.operands) - 1;
  AddStep(plan_.kernels().on_tiles(
              {.itemsize = operand.dtype().size(),
               .shape = operand.shape(),
               .boxes = BoxesOf(item.assembled, item.in),
               .tile_dims = item.tile_dims,
               .of_tile = PlanParts::TileKernel(program_, instruction, item.tile_dims),
               .result_bytes = HeldBytes(program_, result) / tiles,
               .sources = std::ssize(item.in) - others,
               .others = others}),
          item.in, {result});
}

void ProgramEmitter::EmitHostCall(const HostCallItem& item) {
  const PlanRunner& runner = plan_.runner();
  if (!runner.calls_host) return;
  const Instruction& call = InstructionAt(program_, item.instruction);
  std::vector<HostOperand> operands;
  for (ValueId v : call.operands) {
    const plan::PlanValueId value = ValueOf(v);
    operands.push_back({value, runner.is_one_device() ? program_.type(v) : program_.place(v),
                        &plan_.layout(plan_.value(value).layout)});
  }
  const ir::HostFunctionRef& function = ir::As<ir::HostCallParams>(call.params.get()).function;
  if (!function.function->CanTakeShards())
    return AddNode(MakeHostCall(function, operands, runner.device, note_));
  for (size_t k = 0; k < operands.size(); ++k) {
    const plan::PlanValue& value = plan_.value(operands[k].value);
    AddStep(
        plan::Step{.kernel = MakeShardCall(function, k, operands[k], runner.device, value.bytes),
                   .layout = value.layout,
                   .in = {operands[k].value},
                   .out = {},
                   .note = note_});
  }
}

plan::PlanValueId ProgramEmitter::Define(ValueId v, plan::ValueKind kind) {
  plan::PlanValueId& value = value_of_[v];
  if (value == plan::kNoPlanValue) value = plan_.AddValue(LayoutOf(v), Bytes(v), kind);
  return value;
}

void ProgramEmitter::AddStep(plan::Kernel kernel, const std::vector<ValueId>& in,
                             const std::vector<ValueId>& out) {
  plan::Step step{
      .kernel = std::move(kernel), .layout = LayoutOf(out[0]), .in = {}, .out = {}, .note = note_};
  for (ValueId v : in) step.in.push_back(ValueOf(v));
  AddStep(std::move(step), out);
}

void ProgramEmitter::AddStep(plan::Step step, absl::Span<const ValueId> out) {
  for (ValueId v : out) step.out.push_back(Define(v));
  AddStep(std::move(step));
}

void ProgramEmitter::AddCopy(plan::PlanValueId from, plan::PlanValueId to) {
  AddStep(plan::Step{.kernel = plan_.kernels().copy_whole(plan_.value(to).bytes),
                     .layout = plan_.value(to).layout,
                     .in = {from},
                     .out = {to},
                     .note = note_});
}

// A step cannot read a value that the same segment defines in another layout.
void ProgramEmitter::AddStep(plan::Step step) {
  if (absl::c_any_of(step.in, [&](plan::PlanValueId v) {
        return made_.contains(v) && plan_.value(v).layout != step.layout;
      }))
    EndSegment();
  made_.insert(step.out.begin(), step.out.end());
  segment_.steps.push_back(std::move(step));
}

void ProgramEmitter::AddNode(plan::Node node) {
  EndSegment();
  nodes_.push_back(std::move(node));
}

void ProgramEmitter::EndSegment() {
  if (!segment_.steps.empty()) nodes_.emplace_back(std::move(segment_));
  segment_ = {};
  made_.clear();
}

}  // namespace tessera::spmd
