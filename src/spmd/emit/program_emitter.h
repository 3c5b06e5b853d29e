// Turns the items of one program, the device program or a region, into nodes of the plan.
#pragma once
#include <absl/container/flat_hash_set.h>

#include "spmd/emit/plan_parts.h"

namespace tessera::spmd {

class ProgramEmitter {
 public:
  // Nodes are appended to `nodes`. `outer`: the emitter of the program that the region belongs to;
  // nodes before the first item have its note.
  ProgramEmitter(PlanParts& plan, const ir::Program& program, const Schedule& schedule,
                 std::vector<plan::Node>& nodes, const ProgramEmitter* outer = nullptr);

  void EmitItems();

  PlanParts& plan() { return plan_; }
  const ir::Program& program() const { return program_; }
  const Schedule& schedule() const { return schedule_; }

  // Returns the plan's layout of v, and the bytes of one of its buffers.
  plan::PlanLayoutId LayoutOf(ir::ValueId v) const { return layouts_[schedule_.values[v].layout]; }
  int64_t Bytes(ir::ValueId v) const { return HeldBytes(program_, v); }
  ir::ValueId Storage(ir::ValueId v) const { return schedule_.values[v].storage; }

  // Returns the plan's value that stores v.
  plan::PlanValueId ValueOf(ir::ValueId v) const { return value_of_[Storage(v)]; }
  // Returns the plan's value that stores v, and adds one unless v was bound to one.
  plan::PlanValueId Define(ir::ValueId v, plan::ValueKind kind = plan::ValueKind::kTemp);
  // Makes the plan store v, which owns its buffer, as `value`.
  void Bind(ir::ValueId v, plan::PlanValueId value) { value_of_[v] = value; }

  // The note of the item that is being emitted.
  plan::NoteId note() const { return note_; }
  void SetNote(plan::NoteId note) { note_ = note; }
  void SetNote(const ir::Instruction& i) { note_ = plan_.AddNote(i, item_); }

  void AddStep(plan::Kernel kernel, const std::vector<ir::ValueId>& in,
               const std::vector<ir::ValueId>& out);
  // Adds a step that defines `out`.
  void AddStep(plan::Step step, absl::Span<const ir::ValueId> out);
  void AddCopy(plan::PlanValueId from, plan::PlanValueId to);
  // Adds a node after the steps so far.
  void AddNode(plan::Node node);
  // Ends the segment: steps so far are a node of their own.
  void EndSegment();

 private:
  void Emit(const Item& item);
  void EmitKernel(const KernelItem& item);
  void EmitConstant(const ir::Instruction& instruction, InstructionId i);
  void EmitComputed(InstructionId i);
  void EmitCopy(const KernelItem& item, ir::ValueId result);
  void EmitOnTiles(const KernelItem& item, const ir::Instruction& instruction);
  // Returns the parts with the positions of their sources in `in`.
  std::vector<plan::FusedDesc::Part> BoxesOf(const ReadParts& parts,
                                             const std::vector<ir::ValueId>& in) const;
  void EmitHostCall(const HostCallItem& item);
  void AddStep(plan::Step step);

  PlanParts& plan_;
  const ir::Program& program_;
  const Schedule& schedule_;
  std::vector<plan::Node>& nodes_;
  base::IdVector<LayoutId, plan::PlanLayoutId> layouts_;
  base::IdVector<ir::ValueId, plan::PlanValueId> value_of_;  // kNoPlanValue: none yet
  plan::Segment segment_;
  absl::flat_hash_set<plan::PlanValueId> made_;  // values that steps of the segment define
  const bool is_region_;
  int32_t item_;  // see plan::Note
  plan::NoteId note_;
};

}  // namespace tessera::spmd
