// The parts of a plan that the device program and its regions share.
#pragma once
#include <absl/container/flat_hash_map.h>

#include "base/element_bits.h"
#include "plan/plan.h"
#include "spmd/emit/kernel_factories.h"
#include "spmd/schedule/schedule.h"

namespace tessera::spmd {

// Who runs a plan: all devices, or one of them that runs a region independently.
struct PlanRunner {
  int32_t device = -1;  // -1: all devices
  // Whether this device makes the host calls of the region. Of several devices with equal data,
  // only one does.
  bool calls_host = true;
  bool is_one_device() const { return device >= 0; }
};

// An instruction as the key of its kernel: instructions that differ only in the values they read
// and define have equal keys.
struct KernelKey {
  const ir::Instruction* instruction;
  const ir::Program* program;
  friend bool operator==(const KernelKey& x, const KernelKey& y);
  template <class H>
  friend H AbslHashValue(H h, const KernelKey& k) {
    for (ir::ValueId v : k.instruction->operands) h = H::combine(std::move(h), k.program->place(v));
    return H::combine(std::move(h), k.instruction->op, k.program->place(k.instruction->results[0]));
  }
};

// The plan that emitters share.
class PlanParts {
 public:
  PlanParts(const KernelFactories& kernels, int32_t devices, PlanRunner runner)
      : kernels_(kernels), runner_(runner) {
    plan_.devices = devices;
  }

  const KernelFactories& kernels() const { return kernels_; }
  const PlanRunner& runner() const { return runner_; }
  int32_t devices() const { return plan_.devices; }

  plan::PlanLayoutId LayoutFor(const LayoutKey& key);
  // The reference holds until the next layout is added.
  const plan::Layout& layout(plan::PlanLayoutId layout) const { return plan_.layouts[layout]; }
  // Returns the layout of values that all devices share.
  plan::PlanLayoutId SharedLayout() { return LayoutFor({}); }

  plan::PlanValueId AddValue(plan::PlanLayoutId layout, int64_t bytes,
                             plan::ValueKind kind = plan::ValueKind::kTemp);
  plan::PlanValue& value(plan::PlanValueId value) { return plan_.values[value]; }
  // Makes `value` a constant with these bits in its first bytes, shared by all devices.
  void SetConstant(plan::PlanValueId value, const base::ElementBits& bits);
  // Returns a constant of zero bytes, as many as the largest element has.
  plan::PlanValueId Zero();

  // Returns a note that names the instruction in messages.
  plan::NoteId AddNote(const ir::Instruction& instruction, int32_t item);

  // Returns the kernel of an instruction; equal instructions share one.
  const plan::Kernel& KernelFor(const ir::Program& program, const ir::Instruction& instruction);
  // Makes a kernel for one index of the first `tile_dims` dims of operand 0 and of the result.
  static plan::Kernel TileKernel(const ir::Program& program, const ir::Instruction& instruction,
                                 int64_t tile_dims);

  plan::Plan& plan() { return plan_; }

 private:
  const KernelFactories& kernels_;
  const PlanRunner runner_;
  plan::Plan plan_;
  base::IdVector<plan::PlanLayoutId, LayoutKey> layout_keys_;
  plan::PlanValueId zero_ = plan::kNoPlanValue;
  absl::flat_hash_map<KernelKey, plan::Kernel> made_;
};

}  // namespace tessera::spmd
