#include "spmd/plan_builder.h"

#include <absl/container/flat_hash_map.h>
#include <absl/hash/hash.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "base/error.h"
#include "base/shape.h"
#include "sharding/local.h"
#include "spmd/fuse.h"
#include "spmd/moves.h"

namespace tessera::spmd {
namespace {

using ir::Instruction;
using ir::ValueId;
using sharding::StepKind;

// Kernels are made once for all instructions that differ in nothing but their operands.
struct KernelKey {
  const Instruction* instruction;
  const DeviceProgram* device;
  const ir::Type* At(ValueId v) const { return device->placed[static_cast<size_t>(v)]; }
  friend bool operator==(const KernelKey& x, const KernelKey& y) {
    const Instruction &a = *x.instruction, &b = *y.instruction;
    if (a.op != b.op || a.operands.size() != b.operands.size()) return false;
    if (a.params != b.params && !(a.params && b.params && a.params->Equals(*b.params)))
      return false;
    auto same = [&](ValueId v, ValueId w) { return x.At(v) == y.At(w); };
    for (size_t i = 0; i < a.operands.size(); ++i)
      if (!same(a.operands[i], b.operands[i])) return false;
    return same(a.results[0], b.results[0]);
  }
  template <class H>
  friend H AbslHashValue(H h, const KernelKey& k) {
    for (ValueId v : k.instruction->operands) h = H::combine(std::move(h), k.At(v));
    return H::combine(std::move(h), k.instruction->op, k.At(k.instruction->results[0]));
  }
};

class PlanBuilder {
 public:
  PlanBuilder(const DeviceProgram& device, const Schedule& schedule, const KernelFactories& kernels,
              int32_t devices)
      : device_(device), program_(device.program), schedule_(schedule), kernels_(kernels) {
    plan_.devices = devices;
    for (const LayoutKey& key : schedule.layouts) plan_.layouts.push_back(MakeLayout(key, devices));
    value_.assign(program_.values.size(), -1);
  }

  plan::Plan Run(const std::vector<bool>& donated) {
    for (ValueId v : program_.inputs) plan_.inputs.push_back(Define(v, plan::ValueKind::kInput));
    for (const ir::Capture& c : program_.captures)
      plan_.inputs.push_back(Define(c.value, plan::ValueKind::kInput));
    plan_.donated = donated;
    plan_.donated.resize(plan_.inputs.size());
    for (const Item& item : schedule_.items) Add(item);
    Flush();
    for (ValueId v : program_.outputs) {
      int32_t value = At(v);
      if (plan_.values[static_cast<size_t>(value)].kind == plan::ValueKind::kTemp)
        plan_.values[static_cast<size_t>(value)].kind = plan::ValueKind::kOutput;
      plan_.outputs.push_back(value);
    }
    return std::move(plan_);
  }

 private:
  int64_t Bytes(ValueId v) const {
    return program_.type(v)->elements() * program_.type(v)->dtype().size();
  }
  int32_t LayoutOf(ValueId v) const { return schedule_.layout_of[static_cast<size_t>(v)]; }
  const Instruction& At(const Item& item, size_t i) const {
    return program_.instructions[static_cast<size_t>(item.instructions[i])];
  }

  int32_t Define(ValueId v, plan::ValueKind kind) {
    plan_.values.push_back({kind, LayoutOf(v), Bytes(v), nullptr});
    return value_[static_cast<size_t>(v)] = static_cast<int32_t>(plan_.values.size()) - 1;
  }
  int32_t At(ValueId v) const {
    return value_[static_cast<size_t>(schedule_.storage_of[static_cast<size_t>(v)])];
  }

  void Add(const Item& item) {
    const Instruction& last = At(item, item.instructions.size() - 1);
    note_ = static_cast<int32_t>(plan_.notes.size());
    plan_.notes.push_back(fmt::format("{} at {}", last.op->name, base::Where(last.loc)));
    if (item.kind == Item::kMove) return AddMove(last);
    if (item.kind == Item::kFused)
      return AddStep(kernels_.fused(Fuse(program_, item)), item.in, item.out);
    if (std::holds_alternative<ir::Constant>(*last.op->lowering)) return AddConstant(last);
    auto [it, fresh] = made_.try_emplace(KernelKey{&last, &device_});
    if (fresh) it->second = MakeKernel(last);
    AddStep(it->second, {last.operands.begin(), last.operands.end()},
            {last.results.begin(), last.results.end()});
  }

  // A constant that an exchange or a kernel reads is data; one that is returned is computed.
  void AddConstant(const Instruction& instruction) {
    ValueId v = instruction.results[0];
    if (std::count(program_.outputs.begin(), program_.outputs.end(), v)) {
      Item item{Item::kFused, {}, {}, {v}, {}, 0, {}};
      item.instructions = {static_cast<int32_t>(&instruction - program_.instructions.data())};
      return AddStep(kernels_.fused(Fuse(program_, item)), {}, {v});
    }
    uint64_t bits = ConstantBits(instruction);
    auto data = std::make_shared<std::array<std::byte, 64>>();
    std::memcpy(data->data(), &bits, sizeof bits);
    int32_t value = Define(v, plan::ValueKind::kConstant);
    // One instance, also where every device has a copy of what is computed.
    plan_.values[static_cast<size_t>(value)].layout = SharedLayout();
    plan_.values[static_cast<size_t>(value)].data = {data, data->data()};
  }

  const ir::Type* Placed(ValueId v) const { return device_.placed[static_cast<size_t>(v)]; }

  ir::LocalTensor Local(ValueId v) const {
    const ir::Type *local = program_.type(v), *placed = Placed(v);
    return {local->dtype(), local->shape(), placed->shape(), &placed->sharding()};
  }

  plan::Kernel MakeKernel(const Instruction& instruction) const {
    ir::LocalCall call{*instruction.op, instruction.params.get(), {}, {}, program_.mesh};
    for (ValueId v : instruction.operands) call.operands.push_back(Local(v));
    for (ValueId v : instruction.results) call.results.push_back(Local(v));
    plan::Kernel kernel;
    const ir::Lowering& lowering = *instruction.op->lowering;
    if (auto* k = std::get_if<ir::Kernel>(&lowering))
      k->make(call, &kernel);
    else if (auto* r = std::get_if<ir::Reduce>(&lowering))
      r->make(call, &kernel);
    else if (auto* b = std::get_if<ir::Broadcast>(&lowering))
      b->make(call, &kernel);
    else if (auto* i = std::get_if<ir::IotaLike>(&lowering))
      i->make(call, &kernel);
    else
      base::ThrowInternal({.kind = {},
                           .op = std::string(instruction.op->name),
                           .label = "plan.kernel",
                           .where = base::Where(instruction.loc),
                           .reason = "the op has no kernel",
                           .operands = {},
                           .notes = {},
                           .fixes = {}});
    return kernel;
  }

  void AddStep(plan::Kernel kernel, const std::vector<ValueId>& in,
               const std::vector<ValueId>& out) {
    plan::Step step{std::move(kernel), LayoutOf(out[0]), {}, {}, note_};
    for (ValueId v : in) step.in.push_back(At(v));
    AddStep(std::move(step), out);
  }

  // A segment ends where a step needs what another layout's step made in it.
  void AddStep(plan::Step step, const std::vector<ValueId>& out) {
    for (int32_t v : step.in)
      if (v < static_cast<int32_t>(made_in_.size()) &&
          made_in_[static_cast<size_t>(v)] == segment_ &&
          plan_.values[static_cast<size_t>(v)].layout != step.layout) {
        Flush();
        break;
      }
    for (ValueId v : out) {
      int32_t value = Define(v, plan::ValueKind::kTemp);
      step.out.push_back(value);
      made_in_.resize(static_cast<size_t>(value) + 1, -1);
      made_in_[static_cast<size_t>(value)] = segment_;
    }
    current_.steps.push_back(std::move(step));
  }
  void Flush() {
    if (!current_.steps.empty()) plan_.nodes.emplace_back(std::move(current_));
    current_ = {};
    ++segment_;
  }

  // ---- moves ----

  void AddMove(const Instruction& instruction) {
    ValueId in = instruction.operands[0], out = instruction.results[0];
    StepKind kind = KindOf(*instruction.op);
    if (kind == StepKind::kAllSlice || kind == StepKind::kReplicatedToUnreduced ||
        kind == StepKind::kShardedToUnreduced || kind == StepKind::kPadToShards ||
        kind == StepKind::kTrim)
      return AddLocalMove(in, out);
    Flush();
    int32_t source = At(in);
    int32_t in_layout = plan_.values[static_cast<size_t>(source)].layout;
    plan::Exchange e =
        MakeExchange(*Placed(in), *Placed(out), plan_.layouts[static_cast<size_t>(in_layout)],
                     plan_.layouts[static_cast<size_t>(LayoutOf(out))]);
    e.in = source;
    e.out = Define(out, plan::ValueKind::kTemp);
    e.note = note_;
    plan_.nodes.emplace_back(std::move(e));
  }

  // Each device copies a box of its own to a place of its own; what is not covered is zero. A value
  // that all hold is its own partial maximum.
  void AddLocalMove(ValueId in, ValueId out) {
    const sharding::TensorSharding &from = Placed(in)->sharding(), &to = Placed(out)->sharding();
    const sharding::MeshDef& mesh = *to.mesh;
    const ir::Shape &in_shape = program_.type(in)->shape(),
                    &out_shape = program_.type(out)->shape();
    KernelFactories::DeviceCopy copy{program_.type(in)->dtype().size(),
                                     {},
                                     base::DenseStrides(in_shape),
                                     base::DenseStrides(out_shape),
                                     {},
                                     {},
                                     {},
                                     program_.type(out)->elements(),
                                     false};
    for (size_t d = 0; d < in_shape.size(); ++d)
      copy.box.push_back(std::min(in_shape[d], out_shape[d]));
    bool sums = to.kind == Reduction::kSum;
    sharding::AxisList fresh = sums ? Fresh(from, to) : sharding::AxisList{};
    auto devices = static_cast<size_t>(plan_.devices);
    copy.in_offsets.assign(devices, 0);
    copy.out_offsets.assign(devices, 0);
    if (!fresh.empty()) copy.skip.assign(devices, false);
    for (int64_t i = 0; i < mesh.size(); ++i) {
      auto device = static_cast<size_t>(mesh.Device(i));
      for (size_t d = 0; d < in_shape.size(); ++d) {
        int64_t begin = sharding::ShardIndex(mesh, to.dims[d].axes, i) * out_shape[d] -
                        sharding::ShardIndex(mesh, from.dims[d].axes, i) * in_shape[d];
        if (begin >= 0)
          copy.in_offsets[device] += begin * copy.in_strides[d];
        else
          copy.out_offsets[device] -= begin * copy.out_strides[d];
      }
      if (!fresh.empty()) copy.skip[device] = sharding::ShardIndex(mesh, fresh, i) != 0;
    }
    copy.fill = (sums && !to.unreduced.empty() && to.unreduced != from.unreduced) ||
                program_.type(out)->elements() > program_.type(in)->elements();
    plan::Step step{kernels_.device_copy(copy), LayoutOf(out), {At(in)}, {}, note_};
    if (copy.fill) step.in.push_back(Zero());
    AddStep(std::move(step), {out});
  }

  // Axes that become unreduced without having sharded a dim: one device along them keeps the value.
  static sharding::AxisList Fresh(const sharding::TensorSharding& from,
                                  const sharding::TensorSharding& to) {
    sharding::AxisList fresh = sharding::Difference(to.unreduced, from.unreduced);
    for (const sharding::DimAxes& d : from.dims) fresh = sharding::Difference(fresh, d.axes);
    return fresh;
  }

  int32_t Zero() {
    if (zero_ >= 0) return zero_;
    auto data = std::make_shared<std::array<std::byte, 64>>();
    plan_.values.push_back({plan::ValueKind::kConstant, SharedLayout(), 8, {data, data->data()}});
    return zero_ = static_cast<int32_t>(plan_.values.size()) - 1;
  }
  int32_t SharedLayout() {
    for (size_t i = 0; i < plan_.layouts.size(); ++i)
      if (plan_.layouts[i].instances == 1) return static_cast<int32_t>(i);
    plan_.layouts.push_back(MakeLayout({}, plan_.devices));
    return static_cast<int32_t>(plan_.layouts.size()) - 1;
  }

  const DeviceProgram& device_;
  const ir::Program& program_;
  const Schedule& schedule_;
  const KernelFactories& kernels_;
  plan::Plan plan_;
  plan::Segment current_;
  int32_t segment_ = 0, note_ = -1, zero_ = -1;
  std::vector<int32_t> value_;    // by device value: the plan's
  std::vector<int32_t> made_in_;  // by plan value: the segment that makes it, -1: none
  absl::flat_hash_map<KernelKey, plan::Kernel> made_;
};

}  // namespace

plan::Plan BuildPlan(const DeviceProgram& device, const Schedule& schedule,
                     const KernelFactories& kernels, int32_t devices,
                     const std::vector<bool>& donated) {
  return PlanBuilder(device, schedule, kernels, devices).Run(donated);
}

}  // namespace tessera::spmd
