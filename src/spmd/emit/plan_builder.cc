// The plan of a scheduled device program: its items as steps, exchanges, loops and switches.
#include "spmd/emit/plan_builder.h"

#include <absl/container/flat_hash_map.h>
#include <absl/hash/hash.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "base/at.h"
#include "base/error.h"
#include "base/shape.h"
#include "ir/control_params.h"
#include "ir/uses.h"
#include "sharding/local.h"
#include "spmd/emit/exchange.h"
#include "spmd/emit/host_calls.h"
#include "spmd/emit/local_reshard.h"
#include "spmd/lower/loop_regions.h"
#include "spmd/moves.h"
#include "spmd/schedule/fused_desc.h"

namespace tessera::spmd {
namespace {

using ir::Instruction;
using ir::ValueId;
using sharding::StepKind;

// Kernels are made once for all instructions that differ in nothing but their operands.
struct KernelKey {
  const Instruction* instruction;
  const ir::Program* program;
  const ir::Type* At(ValueId v) const { return program->place(v); }
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

// One program, the device program's or a region's, while its items are added.
struct Scope {
  const ir::Program* program;
  const Schedule* schedule;
  std::vector<int32_t> layouts;  // of the schedule: the plan's
  std::vector<int32_t> value;    // by device value: the plan's
};

class PlanBuilder {
 public:
  PlanBuilder(const KernelFactories& kernels, int32_t devices) : kernels_(kernels) {
    plan_.devices = devices;
  }

  plan::Plan Run(const ir::Program& device, const Schedule& schedule,
                 const std::vector<bool>& donated) {
    Enter(device, schedule);
    for (ValueId v : program().inputs) plan_.inputs.push_back({Define(v, plan::ValueKind::kInput)});
    for (const ir::Capture& c : program().captures)
      plan_.inputs.push_back({Define(c.value, plan::ValueKind::kInput)});
    for (size_t k = 0; k < donated.size(); ++k) plan_.inputs[k].donated = donated[k];
    nodes_ = &plan_.nodes;
    for (const Item& item : schedule.items) Add(item);
    Flush();
    for (ValueId v : program().outputs) {
      int32_t value = At(v);
      if (ValueOf(value).kind == plan::ValueKind::kTemp)
        ValueOf(value).kind = plan::ValueKind::kOutput;
      plan_.outputs.push_back(value);
    }
    for (KeyedLayout& known : layouts_) plan_.layouts.push_back(std::move(known.layout));
    return std::move(plan_);
  }

 private:
  const ir::Program& program() const { return *scope_.program; }
  const Schedule& schedule() const { return *scope_.schedule; }
  plan::PlanValue& ValueOf(int32_t value) { return base::At(plan_.values, value); }

  void Enter(const ir::Program& program, const Schedule& schedule) {
    scope_ = {.program = &program,
              .schedule = &schedule,
              .layouts = {},
              .value = std::vector<int32_t>(program.values.size(), -1)};
    for (const LayoutKey& key : schedule.layouts) scope_.layouts.push_back(PlanLayout(key));
  }
  int32_t PlanLayout(const LayoutKey& key) {
    auto it = std::find_if(layouts_.begin(), layouts_.end(),
                           [&](const KeyedLayout& known) { return known.key == key; });
    if (it == layouts_.end()) it = layouts_.insert(it, {key, MakeLayout(key, plan_.devices)});
    return static_cast<int32_t>(it - layouts_.begin());
  }

  int64_t Bytes(ValueId v) const {
    return program().type(v)->elements() * program().type(v)->dtype().size();
  }
  int32_t LayoutOf(ValueId v) const {
    return base::At(scope_.layouts, base::At(schedule().values, v).layout);
  }
  const Instruction& At(const Item& item, size_t i) const {
    return base::At(program().instructions, item.instructions[i]);
  }

  int32_t NewValue(int32_t layout, int64_t bytes, plan::ValueKind kind = plan::ValueKind::kTemp) {
    plan_.values.push_back({.kind = kind, .layout = layout, .bytes = bytes, .data = nullptr});
    return static_cast<int32_t>(plan_.values.size()) - 1;
  }
  // Returns the plan's value for v, a new one unless v was given one (see BuildRegion).
  int32_t Define(ValueId v, plan::ValueKind kind) {
    int32_t& value = base::At(scope_.value, v);
    if (value < 0) value = NewValue(LayoutOf(v), Bytes(v), kind);
    return value;
  }
  int32_t At(ValueId v) const {
    return base::At(scope_.value, base::At(schedule().values, v).storage);
  }

  // Messages about what is added next name this instruction.
  void Note(const Instruction& i) {
    note_ = static_cast<int32_t>(plan_.notes.size());
    const std::string where = base::Where(i.loc);
    plan_.notes.push_back(fmt::format("{}{}{}", i.op->name, where.empty() ? "" : " at ", where));
  }
  void Add(const Item& item) {
    if (item.kind == Item::kMove) return AddMoves(item);
    const Instruction& last = At(item, item.instructions.size() - 1);
    Note(last);
    if (item.kind == Item::kRegion) return AddRegion(item, last);
    if (item.kind == Item::kHostCall) return AddHostCall(last);
    if (item.kind == Item::kFused)
      return AddStep(kernels_.fused(Fuse(program(), item)), item.in, item.out);
    if (std::holds_alternative<ir::AsConstant>(*last.op->lowering)) return AddConstant(item, last);
    if (std::holds_alternative<ir::AsIota>(*last.op->lowering)) return AddComputed(item);
    auto [it, fresh] = made_.try_emplace(KernelKey{&last, &program()});
    if (fresh) it->second = MakeKernel(last);
    AddStep(it->second, {last.operands.begin(), last.operands.end()},
            {last.results.begin(), last.results.end()});
  }

  // A constant that an exchange or a kernel reads is data; one that is returned is computed.
  void AddConstant(const Item& item, const Instruction& instruction) {
    ValueId v = instruction.results[0];
    if (std::count(program().outputs.begin(), program().outputs.end(), v)) return AddComputed(item);
    uint64_t bits = ConstantBits(instruction);
    auto data = std::make_shared<std::array<std::byte, 64>>();
    std::memcpy(data->data(), &bits, sizeof bits);
    int32_t value = Define(v, plan::ValueKind::kConstant);
    // One instance, also where every device has a copy of what is computed.
    ValueOf(value).layout = SharedLayout();
    ValueOf(value).data = {data, data->data()};
  }

  // A value that needs no other, as a group of its own.
  void AddComputed(const Item& item) {
    const ValueId v = At(item, 0).results[0];
    const Item alone{.kind = Item::kFused,
                     .instructions = {item.instructions[0]},
                     .out = {v},
                     .space = program().type(v)->shape()};
    AddStep(kernels_.fused(Fuse(program(), alone)), {}, {v});
  }

  const ir::Type* Place(ValueId v) const { return program().place(v); }

  ir::LocalTensor Local(ValueId v) const { return LocalOf(program(), v); }

  plan::Kernel MakeKernel(const Instruction& instruction) const {
    ir::LocalCall call{.op = *instruction.op,
                       .params = instruction.params.get(),
                       .operands = {},
                       .results = {},
                       .mesh = program().mesh};
    for (ValueId v : instruction.operands) call.operands.push_back(Local(v));
    for (ValueId v : instruction.results) call.results.push_back(Local(v));
    plan::Kernel kernel;
    const ir::Lowering& lowering = *instruction.op->lowering;
    if (auto* k = std::get_if<ir::AsKernel>(&lowering))
      k->make(call, &kernel);
    else if (auto* r = std::get_if<ir::AsReduction>(&lowering))
      r->make(call, &kernel);
    else if (auto* b = std::get_if<ir::AsBroadcast>(&lowering))
      b->make(call, &kernel);
    else
      base::ThrowInternal(base::Refusal(std::string(instruction.op->name), "kernel",
                                        base::Where(instruction.loc), "the op has no kernel"));
    return kernel;
  }

  void AddStep(plan::Kernel kernel, const std::vector<ValueId>& in,
               const std::vector<ValueId>& out) {
    plan::Step step{.kernel = std::move(kernel),
                    .layout = LayoutOf(out[0]),
                    .in = {},
                    .out = {},
                    .note = note_};
    for (ValueId v : in) step.in.push_back(At(v));
    AddStep(std::move(step), out);
  }

  // A segment ends where a step needs what another layout's step made in it.
  void AddStep(plan::Step step, const std::vector<ValueId>& out) {
    for (ValueId v : out) step.out.push_back(Define(v, plan::ValueKind::kTemp));
    AddStep(std::move(step));
  }
  void AddStep(plan::Step step) {
    for (int32_t v : step.in)
      if (v < static_cast<int32_t>(made_in_.size()) && base::At(made_in_, v) == segment_ &&
          base::At(plan_.values, v).layout != step.layout) {
        Flush();
        break;
      }
    made_in_.resize(plan_.values.size(), -1);
    for (int32_t value : step.out) base::At(made_in_, value) = segment_;
    current_.steps.push_back(std::move(step));
  }
  void Flush() {
    if (!current_.steps.empty()) nodes_->emplace_back(std::move(current_));
    current_ = {};
    ++segment_;
  }

  // ---- moves ----

  void AddMoves(const Item& item) {
    for (size_t i = 0; i < item.instructions.size(); ++i) AddMove(item, i);
  }

  void AddMove(const Item& item, size_t number) {
    const Instruction& instruction = At(item, number);
    Note(instruction);
    ValueId out = instruction.results[0];
    StepKind kind = KindOf(*instruction.op);
    if (kind == StepKind::kAllSlice || kind == StepKind::kReplicatedToUnreduced ||
        kind == StepKind::kShardedToUnreduced || kind == StepKind::kPadToShards ||
        kind == StepKind::kTrim || kind == StepKind::kCopyToEach)
      return AddLocalMove(instruction.operands[0], out);
    if (device_ >= 0)
      base::ThrowInternal(
          base::Refusal(std::string(instruction.op->name), "alone", base::Where(instruction.loc),
                        "it is inside a loop or branch that devices run independently"));
    Flush();
    std::vector<MoveEnd> operands;
    std::vector<int32_t> in;
    for (ValueId v : instruction.operands) {
      auto read = item.reads.find(v);
      const bool computed = item.each && item.each->out[0] == v;
      in.push_back(At(computed                   ? item.each->in[0]
                      : read == item.reads.end() ? v
                                                 : read->second[0].source));
      operands.push_back(EndOf(v, ValueOf(in.back()).layout));
      if (read == item.reads.end()) continue;
      const ReadPart& part = read->second[0];
      plan::FusedDesc::Part desc = PartDesc(part, program().type(part.source)->shape());
      operands.back().strides = std::move(desc.strides);
      operands.back().offset = desc.offset;
    }
    const ir::Params* params = instruction.params.get();
    MoveEnd to = EndOf(out, LayoutOf(out));
    if (item.each && item.each->in[0] == out) out = item.out[0];
    if (item.stored) {
      out = item.out[0];
      const std::vector<int64_t> dense = base::DenseStrides(program().type(out)->shape());
      for (size_t d = 0; d < to.strides.size(); ++d) {
        const int32_t dim = item.stored->dims[d].dim;
        to.strides[d] = dim < 0 ? 0 : base::At(dense, dim);
      }
    }
    const auto* halo = kind == StepKind::kHaloExchange ? &ir::As<ir::HaloParams>(params) : nullptr;
    const bool permutes = std::holds_alternative<ir::AsPermute>(*instruction.op->lowering);
    plan::Exchange e =
        permutes ? MakePermutation(operands[0], to, kernels_, ir::As<ops::PermuteParams>(params))
                 : MakeExchange(operands, to, kernels_, halo);
    if (item.each) ComputeOnTheWay(Fuse(program(), *item.each), to, kernels_, e);
    e.in = std::move(in);
    e.out = Define(out, plan::ValueKind::kTemp);
    e.note = note_;
    e.joined = number > 0;
    nodes_->emplace_back(std::move(e));
  }

  MoveEnd EndOf(ValueId v, int32_t layout) const {
    return {.type = Place(v),
            .layout = &base::At(layouts_, layout).layout,
            .strides = base::DenseStrides(program().type(v)->shape())};
  }

  void AddLocalMove(ValueId in, ValueId out) {
    const KernelFactories::DeviceCopy copy = LocalMove(program(), in, out, plan_.devices);
    plan::Step step{.kernel = kernels_.device_copy(copy),
                    .layout = LayoutOf(out),
                    .in = {At(in)},
                    .out = {},
                    .note = note_};
    if (copy.fill) step.in.push_back(Zero());
    AddStep(std::move(step), {out});
  }

  int32_t Zero() {
    if (zero_ >= 0) return zero_;
    auto data = std::make_shared<std::array<std::byte, 64>>();
    plan_.values.push_back({.kind = plan::ValueKind::kConstant,
                            .layout = SharedLayout(),
                            .bytes = 8,
                            .data = {data, data->data()}});
    return zero_ = static_cast<int32_t>(plan_.values.size()) - 1;
  }
  int32_t SharedLayout() { return PlanLayout({}); }

  void AddHostCall(const Instruction& instruction) {
    if (!calls_host_) return;
    Flush();
    std::vector<HostOperand> operands;
    for (ValueId v : instruction.operands)
      operands.push_back(HostOperandOf(At(v), device_ >= 0 ? program().type(v) : Place(v)));
    nodes_->emplace_back(MakeHostCall(ir::As<ir::HostCallParams>(instruction.params.get()).function,
                                      operands, device_, note_));
  }
  HostOperand HostOperandOf(int32_t value, const ir::Type* place) {
    return {value, place, &base::At(layouts_, ValueOf(value).layout).layout};
  }
  // Where each device has a buffer of what chooses for all of them, they are compared first.
  void AddComparison(int32_t value, const Instruction& chooser, const ir::Program& made_in,
                     ValueId predicate, std::vector<plan::Node>& nodes) {
    const HostOperand operand = HostOperandOf(value, made_in.place(predicate));
    if (operand.layout->instances > 1)
      nodes.emplace_back(
          MakeHostCall(ComparePredicate(chooser, made_in, predicate), {operand}, device_, note_));
  }

  // ---- regions ----

  void AddRegion(const Item& item, const Instruction& instruction) {
    if (Diverges(instruction)) return AddDiverging(instruction);
    switch (std::get<ir::AsRegions>(*instruction.op->lowering).kind) {
      case ir::AsRegions::kWhile: {
        auto constants = ir::As<ir::WhileParams>(instruction.params.get()).constants;
        return AddLoop(item, instruction, base::Size(constants), nullptr);
      }
      case ir::AsRegions::kScan: {
        const auto& scan = ir::As<ir::ScanParams>(instruction.params.get());
        return AddLoop(item, instruction, base::Size(scan.constants), &scan);
      }
      default:
        return AddSwitch(item, instruction);
    }
  }

  // Whether devices may run the regions differently: what chooses is an array of each one's own.
  bool Diverges(const Instruction& i) const {
    if (device_ >= 0) return false;
    const auto kind = std::get<ir::AsRegions>(*i.op->lowering).kind;
    const ir::Type* chooses = kind == ir::AsRegions::kSwitch ? Place(i.operands[0])
                              : kind == ir::AsRegions::kWhile
                                  ? i.regions[0]->place(i.regions[0]->outputs[0])
                                  : nullptr;
    return chooses && !chooses->sharding().varying.empty();
  }

  // Each device runs the instruction by itself, as a step: nothing in it needs another device.
  void AddDiverging(const Instruction& instruction) {
    ir::Program alone;
    alone.mesh = program().mesh;
    alone.per_device = true;
    const auto add = [&](ValueId v) {
      return alone.AddValue(program().type(v), base::At(program().values, v).loc, Place(v));
    };
    ir::Instruction copy = instruction;
    for (ValueId& v : copy.operands) alone.inputs.push_back(v = add(v));
    for (ValueId& v : copy.results) alone.outputs.push_back(v = add(v));
    alone.instructions.push_back(std::move(copy));
    const bool acts = ir::EffectOf(instruction) != ir::Effect::kNone;
    const int32_t devices = acts || DependsOnDevice(alone) ? plan_.devices : 1;
    std::vector<plan::Plan> plans;
    for (int32_t d = 0; d < devices; ++d) {
      PlanBuilder builder(kernels_, plan_.devices);
      builder.device_ = d;
      builder.calls_host_ = acts && ActsFirst(instruction, d);
      plans.push_back(builder.Run(alone, AloneOn(MakeSchedule(alone, {})), {}));
      for (plan::Layout& layout : plans.back().layouts) layout.device_of_instance = {d};
    }
    plan::Kernel kernel = kernels_.nested(std::move(plans));
    kernel.in_order = acts;
    if (acts) Flush();
    plan::Step step{.kernel = std::move(kernel),
                    .layout = instruction.results.empty() ? PlanLayout(DifferBy(instruction))
                                                          : LayoutOf(instruction.results[0]),
                    .in = {},
                    .out = {},
                    .note = note_};
    for (ValueId v : instruction.operands) step.in.push_back(At(v));
    AddStep(std::move(step), {instruction.results.begin(), instruction.results.end()});
    if (acts) Flush();
  }
  // The axes along which devices run the instruction on different bits.
  LayoutKey DifferBy(const Instruction& instruction) const {
    LayoutKey key;
    for (ValueId v : instruction.operands) {
      const sharding::TensorSharding& s = Place(v)->sharding();
      if (s.varying.empty()) continue;
      key.mesh = s.mesh->WithoutModes();
      sharding::AddTo(key.axes, s.varying);
    }
    return key;
  }
  // Whether the device is the first of those that run the instruction on the same bits.
  bool ActsFirst(const Instruction& instruction, int32_t device) const {
    const plan::Layout layout = MakeLayout(DifferBy(instruction), plan_.devices);
    return base::At(layout.device_of_instance, base::At(layout.instance_of_device, device)) ==
           device;
  }
  // The result of a carry is the carried value itself. One that the body hands on as it is needs no
  // value of its own.
  void AddLoop(const Item& item, const Instruction& instruction, size_t constants,
               const ir::ScanParams* scan) {
    const ir::Program& body = *instruction.regions.back();
    const Schedule& inner = *item.schedules.back();
    size_t carries = scan ? base::Size(scan->carries) : instruction.results.size();
    plan::Loop loop;
    std::vector<int32_t> inputs, targets;
    for (size_t i = 0; i < constants; ++i) inputs.push_back(At(instruction.operands[i]));
    for (size_t i = 0; i < carries; ++i) {
      ValueId input = body.inputs[constants + i], result = instruction.results[i];
      int32_t start = At(instruction.operands[constants + i]), next = -1, value = start;
      bool handed_on = Root(inner, body.outputs[i]) == Root(inner, input) &&
                       ValueOf(start).kind != plan::ValueKind::kConstant &&
                       ValueOf(start).layout == LayoutOf(result);
      if (!handed_on) {
        value = NewValue(LayoutOf(result), Bytes(result));
        next = NewValue(LayoutOf(result), Bytes(result));
        AddCopy(start, value);
        loop.carries.push_back({value, next});
      }
      base::At(scope_.value, result) = value;
      inputs.push_back(value);
      targets.push_back(next);
    }
    if (scan) AddSlices(instruction, *scan, loop, inputs, targets);
    Flush();
    if (!scan) {
      std::vector<int32_t> predicate{-1};
      BuildRegion(*instruction.regions[0], *item.schedules[0], inputs, predicate, loop.condition);
      loop.predicate = predicate[0];
      const ir::Program& test = *instruction.regions[0];
      AddComparison(predicate[0], instruction, test, test.outputs[0], loop.condition);
    }
    BuildRegion(body, inner, inputs, targets, loop.body);
    nodes_->emplace_back(std::move(loop));
  }

  void AddSlices(const Instruction& instruction, const ir::ScanParams& scan, plan::Loop& loop,
                 std::vector<int32_t>& inputs, std::vector<int32_t>& targets) {
    loop.trips = scan.length;
    loop.reverse = scan.reverse;
    auto slice = [&](int32_t whole) {
      int64_t bytes = ValueOf(whole).bytes / std::max<int64_t>(scan.length, 1);
      return NewValue(ValueOf(whole).layout, bytes);
    };
    auto carries = base::Size(scan.carries);
    for (size_t i = inputs.size(); i < instruction.operands.size(); ++i) {
      int32_t whole = At(instruction.operands[i]);
      loop.reads.push_back({whole, slice(whole)});
      inputs.push_back(loop.reads.back().slice);
    }
    for (size_t i = carries; i < instruction.results.size(); ++i) {
      int32_t whole = Define(instruction.results[i], plan::ValueKind::kTemp);
      loop.writes.push_back({whole, slice(whole)});
      targets.push_back(loop.writes.back().slice);
    }
  }

  void AddSwitch(const Item& item, const Instruction& instruction) {
    Flush();
    plan::Switch node;
    node.index = At(instruction.operands[0]);
    AddComparison(node.index, instruction, program(), instruction.operands[0], *nodes_);
    node.dtype = program().type(instruction.operands[0])->dtype();
    std::vector<int32_t> inputs;
    for (size_t i = 1; i < instruction.operands.size(); ++i)
      inputs.push_back(At(instruction.operands[i]));
    for (ValueId v : instruction.results) node.results.push_back(Define(v, plan::ValueKind::kTemp));
    node.branches.resize(instruction.regions.size());
    for (size_t k = 0; k < instruction.regions.size(); ++k) {
      std::vector<int32_t> targets = node.results;
      BuildRegion(*instruction.regions[k], *item.schedules[k], inputs, targets, node.branches[k]);
    }
    nodes_->emplace_back(std::move(node));
  }

  // Adds a region's items to `nodes`. Its outputs are made as the values `targets`; where one is
  // -1, it becomes the value that the output has.
  void BuildRegion(const ir::Program& region, const Schedule& schedule,
                   const std::vector<int32_t>& inputs, std::vector<int32_t>& targets,
                   std::vector<plan::Node>& nodes) {
    Scope outer = std::move(scope_);
    auto* outer_nodes = std::exchange(nodes_, &nodes);
    const int32_t outer_note = note_;
    Enter(region, schedule);
    for (size_t i = 0; i < inputs.size(); ++i)
      base::At(scope_.value, program().inputs[i]) = inputs[i];
    std::vector<bool> claimable = Claimable();
    for (size_t k = 0; k < targets.size(); ++k) {
      if (targets[k] < 0) continue;
      ValueId root = Root(schedule, program().outputs[k]);
      const plan::PlanValue& target = ValueOf(targets[k]);
      if (base::At(claimable, root) && LayoutOf(root) == target.layout &&
          Bytes(root) == target.bytes)
        base::At(claimable, root) = false, base::At(scope_.value, root) = targets[k];
    }
    for (const Item& item : schedule.items) Add(item);
    note_ = outer_note;  // of copies of its outputs
    for (size_t k = 0; k < targets.size(); ++k) {
      int32_t value = At(program().outputs[k]);
      if (targets[k] < 0)
        targets[k] = value;
      else if (value != targets[k])
        AddCopy(value, targets[k]);
    }
    Flush();
    scope_ = std::move(outer);
    nodes_ = outer_nodes;
  }

  // Returns, per value of the scope, whether a step or an exchange can make it wherever it is told:
  // not the scope's inputs, carries, and constants that are data.
  std::vector<bool> Claimable() const {
    std::vector<bool> claimable(program().values.size());
    for (const Item& item : schedule().items) {
      const Instruction& last = At(item, item.instructions.size() - 1);
      size_t first = std::holds_alternative<ir::AsRegions>(*last.op->lowering) ? Carries(last) : 0;
      for (size_t i = first; i < item.out.size(); ++i)
        base::At(claimable, item.out[i]) =
            !std::holds_alternative<ir::AsConstant>(*last.op->lowering) ||
            std::count(program().outputs.begin(), program().outputs.end(), item.out[i]);
    }
    return claimable;
  }
  static size_t Carries(const Instruction& instruction) {
    switch (std::get<ir::AsRegions>(*instruction.op->lowering).kind) {
      case ir::AsRegions::kWhile:
        return instruction.results.size();
      case ir::AsRegions::kScan:
        return base::Size(ir::As<ir::ScanParams>(instruction.params.get()).carries);
      default:
        return 0;
    }
  }

  static ValueId Root(const Schedule& schedule, ValueId v) {
    return base::At(schedule.values, v).storage;
  }
  void AddCopy(int32_t from, int32_t to) {
    AddStep(plan::Step{.kernel = kernels_.copy_whole(ValueOf(to).bytes),
                       .layout = ValueOf(to).layout,
                       .in = {from},
                       .out = {to},
                       .note = note_});
  }

  struct KeyedLayout {
    LayoutKey key;
    plan::Layout layout;
  };

  const KernelFactories& kernels_;
  plan::Plan plan_;
  std::vector<KeyedLayout> layouts_;  // the plan's, when it is done
  Scope scope_;
  std::vector<plan::Node>* nodes_ = nullptr;  // where the scope's items go
  plan::Segment current_;
  int32_t segment_ = 0, note_ = -1, zero_ = -1;
  int32_t device_ = -1;           // that runs a region by itself; -1: all run the program
  bool calls_host_ = true;        // of devices that do the same by themselves, one does
  std::vector<int32_t> made_in_;  // by plan value: the segment that makes it, -1: none
  absl::flat_hash_map<KernelKey, plan::Kernel> made_;
};

}  // namespace

plan::Plan BuildPlan(const ir::Program& device, const Schedule& schedule,
                     const KernelFactories& kernels, int32_t devices,
                     const std::vector<bool>& donated) {
  return PlanBuilder(kernels, devices).Run(device, schedule, donated);
}

}  // namespace tessera::spmd
