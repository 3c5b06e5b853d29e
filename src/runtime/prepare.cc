// Turns a plan into the tables that a run walks.
#include "runtime/prepare.h"

#include <absl/algorithm/container.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <utility>

#include "base/at.h"
#include "base/ids.h"
#include "runtime/arena.h"
#include "runtime/executable.h"
#include "runtime/flow.h"
#include "runtime/memory_plan.h"

namespace tessera::runtime {
namespace {

// The speed of one worker; only used to choose the number of workers. Data that fits in the
// second-level cache moves four times as fast.
constexpr double kBytesPerSecond = 20e9;
constexpr double kCachedBytesPerSecond = 80e9;
constexpr double kCachedBytes = 1 << 20;
constexpr double kFlopsPerSecond = 20e9;
constexpr double kCallSeconds = 20e-9;  // fixed cost of calling a kernel for one instance

double Seconds(double bytes, double flops, int64_t calls) {
  const bool cached = bytes * static_cast<double>(calls) <= kCachedBytes;
  return bytes / (cached ? kCachedBytesPerSecond : kBytesPerSecond) + flops / kFlopsPerSecond;
}

// Frees the pieces of exchanges. They are prepared by now, and their size is quadratic in
// the devices.
void DropPieces(std::vector<plan::Node>& nodes) {
  for (plan::Node& node : nodes) {
    if (auto* exchange = std::get_if<plan::Exchange>(&node)) exchange->pieces = {};
    if (auto* loop = std::get_if<plan::Loop>(&node)) {
      DropPieces(loop->condition);
      DropPieces(loop->body);
    }
    if (auto* branches = std::get_if<plan::Switch>(&node)) {
      for (std::vector<plan::Node>& branch : branches->branches) DropPieces(branch);
    }
  }
}

using plan::PlanLayoutId;
using plan::PlanValueId;

// ---- bindings -----------------------------------------------------------------------------------

// Returns the plan's own memory of a constant if its alignment and spacing fit, else a copy.
Buffers BuffersOf(const plan::PlanValue& value, int32_t instances) {
  const bool aligned = reinterpret_cast<uintptr_t>(value.data.get()) % kLine == 0;
  if (value.data && aligned && (instances == 1 || value.bytes % kLine == 0)) {
    Buffers buffers;
    buffers.storage = std::make_shared<Storage>(value.data);
    buffers.base = const_cast<std::byte*>(value.data.get());
    buffers.bytes = value.bytes;
    buffers.stride = RoundUp(value.bytes, kLine);
    return buffers;
  }
  Buffers buffers = Allocate(value.bytes, instances);
  for (int32_t i = 0; i < instances && value.bytes > 0; ++i) {
    std::memcpy(buffers.at(i), value.data.get() + i * value.bytes, value.bytes);
  }
  return buffers;
}

// The bindings of an executable, which are made in the order in which its nodes need them.
class BindingWriter {
 public:
  BindingWriter(const MemoryPlan& memory, Executable& executable)
      : memory_(memory), executable_(executable) {
    views_.assign(plan().values.size(), kNoView);
    for (const plan::PlanInput& input : plan().inputs) Bind(input.value);
    for (PlanValueId v : plan().values.ids()) {
      const plan::PlanValue& value = plan().values[v];
      if (value.kind != plan::ValueKind::kConstant) continue;
      Bind(v).constant = static_cast<int32_t>(executable_.constants.size());
      executable_.constants.push_back(BuffersOf(value, Instances(v)));
    }
  }

  const Allocation& PlaceOf(PlanValueId v) const { return memory_.places[v]; }
  int32_t Instances(PlanValueId v) const {
    return plan().layouts[plan().values[v].layout].instances;
  }
  // Returns the view of a value, or kNoView if it is not bound, or in a frame.
  ViewId ViewOf(PlanValueId v) const { return views_[v]; }
  // Returns the value's binding; makes it on the first call.
  Binding& Bound(PlanValueId v) {
    return views_[v] == kNoView ? Bind(v) : executable_.bindings[views_[v]];
  }

 private:
  const plan::Plan& plan() const { return executable_.plan; }

  Binding& Bind(PlanValueId v) {
    const Allocation& place = memory_.places[v];
    Binding b;
    b.how = place.how;
    if (place.from != plan::kNoPlanValue) {
      Bound(place.from);  // an output whose buffers this value borrows is made later
      b.from = views_[place.from];
    }
    b.storage = place.storage;
    b.family = place.family;
    b.instances = Instances(v);
    b.bytes = plan().values[v].bytes;
    b.offset = place.offset;
    b.alias = place.alias;
    views_[v] = executable_.bindings.Add(std::move(b));
    return executable_.bindings[views_[v]];
  }

  const MemoryPlan& memory_;
  Executable& executable_;
  base::IdVector<PlanValueId, ViewId> views_;
};

// ---- nodes --------------------------------------------------------------------------------------

// Writes the nodes of a flow.
class NodeWriter {
 public:
  NodeWriter(const Flow& flow, BindingWriter& binder, Executable& executable)
      : flow_(flow), binder_(binder), executable_(executable) {}

  void Run() {
    executable_.loops.resize(flow_.loops.size());
    // The first ready node at or after each node of the flow, and the end.
    base::IdVector<FlowNodeId, int32_t> ready_of;
    for (FlowNodeId n : flow_.nodes.ids()) {
      ready_of.Add(static_cast<int32_t>(executable_.nodes.size()));
      if (flow_.nodes[n].control)
        AddControl(flow_.nodes[n]);
      else if (!flow_.nodes[n].starts.empty())
        StartMessages(flow_.nodes[n], n);
      else if (flow_.nodes[n].started != kNoNode)
        AwaitMessages(flow_.nodes[n]);
      else if (!flow_.nodes[n].exchanges.empty())
        AddExchanges(flow_.nodes[n], n);
      else if (flow_.nodes[n].host)
        AddHostCall(flow_.nodes[n]);
      else
        AddSteps(flow_.nodes[n]);
    }
    ready_of.Add(static_cast<int32_t>(executable_.nodes.size()));
    for (Control* control : controls_)
      for (int32_t& target : control->targets) target = ready_of[FlowNodeId{target}];
  }

 private:
  const plan::Plan& plan() const { return executable_.plan; }
  int32_t Instances(PlanValueId v) const { return binder_.Instances(v); }

  void AddSteps(const FlowNode& flow) {
    const plan::Layout& layout = plan().layouts[flow.layout];
    ReadyNode node;
    node.times = flow.times;
    node.instances = layout.instances;
    node.devices = layout.device_of_instance.data();
    for (const plan::Step* step : flow.steps) AddStep(*step, node);
    const BufferRef* operands = node.operands.data();
    for (ReadyStep& step : node.steps) {
      step.operands = operands;
      operands += step.ins + step.outs;
    }
    Push(std::move(node));
  }

  void Push(ReadyNode node) {
    executable_.seconds += node.seconds * node.times;
    executable_.nodes.push_back(std::move(node));
  }

  void AddStep(const plan::Step& step, ReadyNode& node) {
    const plan::Kernel& kernel = step.kernel;
    ReadyStep ready;
    ready.from = &step;
    ready.fn = kernel.fn;
    ready.config = kernel.config.get();
    ready.ins = static_cast<int32_t>(step.in.size());
    ready.outs = static_cast<int32_t>(step.out.size());
    ready.max_parts = kernel.max_parts;
    ready.in_order = kernel.in_order;
    ready.observes = kernel.observes;
    if (kernel.observes) node.loops = loops_;
    ready.runs_plan = kernel.run_seconds > 0;
    ready.seconds =
        kCallSeconds + kernel.run_seconds + Seconds(kernel.bytes, kernel.flops, node.instances);
    node.seconds += ready.seconds * node.instances;
    for (PlanValueId v : step.in) AddOperand(v, step.layout, false, node);
    for (PlanValueId v : step.out) {
      if (!binder_.PlaceOf(v).frame) binder_.Bound(v);
      AddOperand(v, step.layout, true, node);
    }
    executable_.scratch_bytes = std::max(executable_.scratch_bytes, kernel.scratch_bytes);
    executable_.max_operands = std::max(executable_.max_operands, ready.ins + ready.outs);
    node.steps.push_back(ready);
  }

  void AddOperand(PlanValueId v, PlanLayoutId layout, bool writes, ReadyNode& node) {
    const Allocation& place = binder_.PlaceOf(v);
    if (place.frame) {
      node.operands.push_back({.view = kNoView, .offset = place.offset, .index = nullptr});
      return;
    }
    const int32_t* index = IndexOf(layout, plan().values[v].layout);
    node.operands.push_back({binder_.ViewOf(v), 0, index});
    const bool identity = !index && Instances(v) == node.instances;
    node.uses.push_back({binder_.ViewOf(v), writes, identity});
  }

  // Returns for each instance of layout `from` the instance of layout `to` that holds its
  // representative, or null if it is always the same number.
  const int32_t* IndexOf(PlanLayoutId from, PlanLayoutId to) {
    if (from == to) return nullptr;
    auto [found, fresh] = indices_.try_emplace({from, to}, nullptr);
    if (!fresh) return found->second;
    const plan::Layout& target = plan().layouts[to];
    std::vector<int32_t> index;
    bool identity = true;
    for (int32_t device : plan().layouts[from].device_of_instance) {
      identity &= target.instance_of_device[device] == static_cast<int32_t>(index.size());
      index.push_back(target.instance_of_device[device]);
    }
    if (identity) return nullptr;
    auto kept = std::make_unique<const std::vector<int32_t>>(std::move(index));
    found->second = kept->data();
    executable_.indices.push_back(std::move(kept));
    return found->second;
  }

  void AddExchanges(const FlowNode& flow, FlowNodeId flow_node) {
    ReadyNode node;
    node.times = flow.times;
    node.note = flow.exchanges[0]->note;
    auto ready = std::make_unique<ReadyExchanges>();
    for (const plan::Exchange* exchange : flow.exchanges) {
      Binding& binding = binder_.Bound(exchange->out);
      const bool alias = binding.how == Binding::kAlias;
      // the alias never needs a copy
      if (alias && binder_.PlaceOf(exchange->out).node != flow_node) return;
      if (alias) binding.node = static_cast<int32_t>(executable_.nodes.size());
      node.instances = Instances(exchange->out);
      AddExchange(*exchange, *ready, node.uses);
    }
    const auto calls = static_cast<double>(ready->count() - 1);
    node.seconds = Seconds(ready->bytes(), ready->flops(), 1) + calls * kCallSeconds;
    node.exchanges = std::move(ready);
    Push(std::move(node));
  }

  void StartMessages(const FlowNode& flow, FlowNodeId flow_node) {
    ReadyNode node;
    node.times = flow.times;
    node.note = flow.starts[0]->note;
    node.instances = 1;
    node.mail = executable_.mails++;
    node.starts_messages = true;
    auto messages = std::make_shared<ReadyMessages>();
    for (const plan::Exchange* exchange : flow.starts) {
      binder_.Bound(exchange->out);
      const std::vector<ViewId> in = UsesOf(*exchange, node.uses);
      messages->Add(*exchange, in, binder_.ViewOf(exchange->out));
    }
    messages->Prepare();
    node.messages = std::move(messages);
    started_[flow_node] = static_cast<int32_t>(executable_.nodes.size());
    Push(std::move(node));
  }

  void AwaitMessages(const FlowNode& flow) {
    const ReadyNode& start = base::At(executable_.nodes, started_.at(flow.started));
    ReadyNode node;
    node.times = flow.times;
    node.note = start.note;
    node.instances = 1;
    node.mail = start.mail;
    node.messages = start.messages;
    node.uses = start.uses;
    node.seconds = Seconds(start.messages->bytes(), 0, 1);
    Push(std::move(node));
  }

  // Returns the views of the operands. Adds the uses of the operands and of the result.
  std::vector<ViewId> UsesOf(const plan::Exchange& exchange, std::vector<ViewUse>& uses) const {
    std::vector<ViewId> in;
    for (PlanValueId v : exchange.in) {
      in.push_back(binder_.ViewOf(v));
      uses.push_back({binder_.ViewOf(v), false, false});
    }
    uses.push_back({binder_.ViewOf(exchange.out), true, false});
    return in;
  }

  void AddExchange(const plan::Exchange& exchange, ReadyExchanges& ready,
                   std::vector<ViewUse>& uses) const {
    for (const plan::Box& box : exchange.boxes)
      executable_.scratch_bytes = std::max(executable_.scratch_bytes, box.copy.scratch_bytes);
    std::vector<ViewId> in = UsesOf(exchange, uses);
    ready.Add({exchange, plan().values[exchange.out]}, std::move(in), binder_.ViewOf(exchange.out));
  }

  void AddHostCall(const FlowNode& flow) {
    ReadyNode node;
    node.times = flow.times;
    node.host = flow.host;
    node.loops = loops_;
    node.instances = 1;
    for (PlanValueId v : flow.host->in) {
      node.in.push_back(binder_.ViewOf(v));
      node.uses.push_back({binder_.ViewOf(v), false, false});
    }
    Push(std::move(node));
  }

  void AddControl(const FlowNode& from) {
    auto control = std::make_unique<Control>(*from.control);
    ReadyNode node;
    for (PlanValueId v : from.makes) {
      if (binder_.PlaceOf(v).how != Binding::kWindow) binder_.Bound(v);
    }
    if (control->kind == Control::kEnter && control->loop != kNoLoop) {
      AddLoop(*flow_.loops[control->loop].loop, executable_.loops[control->loop]);
      loops_.push_back(control->loop);
    }
    if (control->kind == Control::kRepeat) loops_.pop_back();
    if (from.reads != plan::kNoPlanValue) {
      control->view = binder_.ViewOf(from.reads);
      node.uses = {{control->view, false, false}};
    }
    controls_.push_back(control.get());
    node.control = std::move(control);
    Push(std::move(node));
  }

  void AddLoop(const plan::Loop& loop, ReadyLoop& ready) {
    if (!loop.has_predicate()) ready.trips = loop.trips;
    ready.reverse = loop.reverse;
    for (const auto* slices : {&loop.reads, &loop.writes}) {
      for (const plan::LoopSlice& slice : *slices) {
        binder_.Bound(slice.slice);
        ready.windows.push_back({binder_.ViewOf(slice.whole), binder_.ViewOf(slice.slice),
                                 plan().values[slice.slice].bytes});
      }
    }
  }

  const Flow& flow_;
  BindingWriter& binder_;
  Executable& executable_;
  std::vector<LoopId> loops_;              // the loops around the node being added, outermost first
  std::vector<Control*> controls_;         // their targets are still nodes of the flow
  std::map<FlowNodeId, int32_t> started_;  // the ready node that starts messages
  std::map<std::pair<PlanLayoutId, PlanLayoutId>, const int32_t*> indices_;
};

// ---- loops and outputs --------------------------------------------------------------------------

void AddSwaps(const MemoryPlan& memory, Executable& executable) {
  for (const CarryUpdate& plan : memory.swaps) {
    Swap swap;
    const PlanValueId values[] = {plan.value, plan.next};
    for (int k = 0; k < 2; ++k) {
      swap.storages[k] = memory.places[values[k]].storage;
      for (ViewId v : executable.bindings.ids()) {
        const Binding& b = executable.bindings[v];
        if (b.storage == swap.storages[k] && b.how != Binding::kWindow) swap.views[k].push_back(v);
      }
    }
    executable.loops[plan.loop].swaps.push_back(std::move(swap));
  }
}

// Adds the reorderings of carried values. A loop that reorders a carried value also reorders all
// views that are in place of it or aliases of it, wherever they are read. Loops around it start
// each iteration with the orders that were bound.
void AddOrders(const MemoryPlan& memory, const Flow& flow, const BindingWriter& binder,
               Executable& executable) {
  for (const CarryUpdate& update : memory.reorders) {
    std::vector<ReorderedView>& orders = executable.loops[update.loop].orders;
    base::IdVector<ViewId, bool> follows(executable.bindings.size());
    const size_t first = orders.size();
    orders.push_back({binder.ViewOf(update.value), binder.ViewOf(update.next)});
    follows[binder.ViewOf(update.value)] = true;
    for (ViewId v : executable.bindings.ids()) {
      const Binding& b = executable.bindings[v];
      const bool alias = b.how == Binding::kAlias;
      if (!(alias || b.how == Binding::kSame) || !follows[b.from]) continue;
      follows[v] = true;
      orders.push_back({v, b.from, alias ? b.alias->slots.get() : nullptr});
    }
    for (LoopId l : flow.loops.ids()) {
      const LoopFlow &outer = flow.loops[l], &inner = flow.loops[update.loop];
      if (outer.first >= inner.first || outer.last <= inner.last) continue;
      for (size_t k = first; k < orders.size(); ++k)
        executable.loops[l].resets.push_back(orders[k].view);
    }
  }
}

void AddOutputs(const BindingWriter& binder, Executable& executable) {
  const std::vector<PlanValueId>& outputs = executable.plan.outputs;
  base::IdVector<ViewId, bool> seen(executable.bindings.size());
  for (size_t k = outputs.size(); k-- > 0;) {
    const ViewId view = binder.ViewOf(outputs[k]);
    executable.outputs.push_back({view, !seen[view]});
    seen[view] = true;
  }
  absl::c_reverse(executable.outputs);
}

}  // namespace

std::shared_ptr<const Executable> Prepare(plan::Plan plan) {
  auto executable = std::make_shared<Executable>();
  executable->plan = std::move(plan);
  const Flow flow = Analyse(executable->plan);
  const MemoryPlan memory = PlanMemory(executable->plan, flow);
  executable->block_bytes = memory.block_bytes;
  executable->frame_bytes = memory.frame_bytes;
  executable->peak_bytes = memory.peak_bytes;
  if (memory.zero_bytes > 0) ReserveZeros(memory.zero_bytes);
  BindingWriter binder(memory, *executable);
  NodeWriter(flow, binder, *executable).Run();
  AddSwaps(memory, *executable);
  AddOrders(memory, flow, binder, *executable);
  AddOutputs(binder, *executable);
  DropPieces(executable->plan.nodes);
  return executable;
}

const plan::Plan& PlanOf(const Executable& executable) { return executable.plan; }
double SecondsOf(const Executable& executable) { return executable.seconds; }

}  // namespace tessera::runtime
