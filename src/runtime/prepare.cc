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

class Preparer {
 public:
  explicit Preparer(plan::Plan plan) : executable_(std::make_shared<Executable>()) {
    executable_->plan = std::move(plan);
  }

  std::shared_ptr<const Executable> Run() {
    const Flow flow = Analyse(plan());
    memory_ = PlanMemory(plan(), flow);
    executable_->block_bytes = memory_.block_bytes;
    executable_->frame_bytes = memory_.frame_bytes;
    executable_->peak_bytes = memory_.peak_bytes;
    if (memory_.zero_bytes > 0) ReserveZeros(memory_.zero_bytes);
    views_.assign(plan().values.size(), -1);
    BindOutside();
    executable_->loops.resize(flow.loops.size());
    // The first ready node at or after each node of the flow, and the end.
    base::IdVector<FlowNodeId, int32_t> ready_of;
    for (FlowNodeId n : flow.nodes.ids()) {
      ready_of.Add(static_cast<int32_t>(executable_->nodes.size()));
      if (flow.nodes[n].control)
        AddControl(flow, flow.nodes[n]);
      else if (!flow.nodes[n].exchanges.empty())
        AddExchanges(flow.nodes[n], n);
      else if (flow.nodes[n].host)
        AddHostCall(flow.nodes[n]);
      else
        AddSteps(flow.nodes[n]);
    }
    ready_of.Add(static_cast<int32_t>(executable_->nodes.size()));
    for (Control* control : controls_) {
      for (int32_t& target : control->targets) target = ready_of[FlowNodeId{target}];
    }
    AddSwaps();
    AddOrders(flow);
    AddOutputs();
    DropPieces(executable_->plan.nodes);
    return std::move(executable_);
  }

 private:
  const plan::Plan& plan() const { return executable_->plan; }
  int32_t Instances(int32_t v) const { return plan().layouts[plan().values[v].layout].instances; }

  // Frees the pieces of exchanges. They are prepared by now, and their size is quadratic in
  // the devices.
  static void DropPieces(std::vector<plan::Node>& nodes) {
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

  // ---- bindings -----------------------------------------------------------------------------

  void BindOutside() {
    for (const plan::PlanInput& input : plan().inputs) Bind(input.value);
    for (size_t v = 0; v < plan().values.size(); ++v) {
      if (plan().values[v].kind != plan::ValueKind::kConstant) continue;
      Bind(static_cast<int32_t>(v)).from = static_cast<int32_t>(executable_->constants.size());
      executable_->constants.push_back(Constant(static_cast<int32_t>(v)));
    }
  }

  Binding& Bind(int32_t v) {
    const Allocation& place = memory_.places[v];
    views_[v] = static_cast<int32_t>(executable_->bindings.size());
    Binding b;
    b.how = place.how;
    b.from = place.from >= 0 ? views_[place.from] : -1;
    b.storage = place.storage;
    b.family = place.family;
    b.instances = Instances(v);
    b.bytes = plan().values[v].bytes;
    b.offset = place.offset;
    b.alias = place.alias;
    executable_->bindings.push_back(std::move(b));
    return executable_->bindings.back();
  }

  // Returns the plan's own memory if its alignment and spacing fit, else a copy.
  Buffers Constant(int32_t v) const {
    const plan::PlanValue& value = plan().values[v];
    const int32_t instances = Instances(v);
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

  // ---- nodes --------------------------------------------------------------------------------

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
    executable_->seconds += node.seconds * node.times;
    executable_->nodes.push_back(std::move(node));
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
    ready.runs_plan = kernel.run_seconds > 0;
    ready.seconds =
        kCallSeconds + kernel.run_seconds + Seconds(kernel.bytes, kernel.flops, node.instances);
    node.seconds += ready.seconds * node.instances;
    for (int32_t v : step.in) AddOperand(v, step.layout, false, node);
    for (int32_t v : step.out) {
      if (!memory_.places[v].frame) Bound(v);
      AddOperand(v, step.layout, true, node);
    }
    executable_->scratch_bytes = std::max(executable_->scratch_bytes, kernel.scratch_bytes);
    executable_->max_operands = std::max(executable_->max_operands, ready.ins + ready.outs);
    node.steps.push_back(ready);
  }

  void AddOperand(int32_t v, int32_t layout, bool writes, ReadyNode& node) {
    const Allocation& place = memory_.places[v];
    if (place.frame) {
      node.operands.push_back({.view = -1, .offset = place.offset, .index = nullptr});
      return;
    }
    const int32_t* index = IndexOf(layout, plan().values[v].layout);
    node.operands.push_back({views_[v], 0, index});
    const bool identity = !index && Instances(v) == node.instances;
    node.uses.push_back({views_[v], writes, identity});
  }

  // Returns for each instance of layout `from` the instance of layout `to` that holds its
  // representative, or null if it is always the same number.
  const int32_t* IndexOf(int32_t from, int32_t to) {
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
    executable_->indices.push_back(std::move(kept));
    return found->second;
  }

  void AddExchanges(const FlowNode& flow, FlowNodeId flow_node) {
    ReadyNode node;
    node.times = flow.times;
    node.note = flow.exchanges[0]->note;
    auto ready = std::make_unique<ReadyExchanges>();
    for (const plan::Exchange* exchange : flow.exchanges) {
      Binding& binding = Bound(exchange->out);
      const bool alias = binding.how == Binding::kAlias;
      // the alias never needs a copy
      if (alias && memory_.places[exchange->out].node != flow_node) return;
      if (alias) binding.node = static_cast<int32_t>(executable_->nodes.size());
      node.instances = Instances(exchange->out);
      AddExchange(*exchange, *ready, node.uses);
    }
    const auto calls = static_cast<double>(ready->count() - 1);
    node.seconds = Seconds(ready->bytes(), ready->flops(), 1) + calls * kCallSeconds;
    node.exchanges = std::move(ready);
    Push(std::move(node));
  }

  void AddExchange(const plan::Exchange& exchange, ReadyExchanges& ready,
                   std::vector<ViewUse>& uses) const {
    for (const plan::Box& box : exchange.boxes)
      executable_->scratch_bytes = std::max(executable_->scratch_bytes, box.copy.scratch_bytes);
    std::vector<int32_t> in;
    for (int32_t v : exchange.in) {
      in.push_back(views_[v]);
      uses.push_back({views_[v], false, false});
    }
    const int32_t out = views_[exchange.out];
    uses.push_back({out, true, false});
    ready.Add({exchange, plan().values[exchange.out]}, std::move(in), out);
  }

  void AddHostCall(const FlowNode& flow) {
    ReadyNode node;
    node.times = flow.times;
    node.host = flow.host;
    node.loops = loops_;
    node.instances = 1;
    for (int32_t v : flow.host->in) {
      node.in.push_back(views_[v]);
      node.uses.push_back({views_[v], false, false});
    }
    Push(std::move(node));
  }

  // Returns the value's binding; makes it on the first call.
  Binding& Bound(int32_t v) {
    return views_[v] < 0 ? Bind(v) : base::At(executable_->bindings, views_[v]);
  }

  void AddControl(const Flow& flow, const FlowNode& from) {
    auto control = std::make_unique<Control>(*from.control);
    ReadyNode node;
    for (int32_t v : from.makes) {
      if (memory_.places[v].how != Binding::kWindow) Bound(v);
    }
    if (control->kind == Control::kEnter && control->loop >= 0) {
      AddLoop(*flow.loops[control->loop].loop, executable_->loops[control->loop]);
      loops_.push_back(control->loop);
    }
    if (control->kind == Control::kRepeat) loops_.pop_back();
    if (control->view >= 0) {
      control->view = views_[control->view];
      node.uses = {{control->view, false, false}};
    }
    controls_.push_back(control.get());
    node.control = std::move(control);
    Push(std::move(node));
  }

  void AddLoop(const plan::Loop& loop, ReadyLoop& ready) {
    if (loop.predicate < 0) ready.trips = loop.trips;
    ready.reverse = loop.reverse;
    for (const auto* slices : {&loop.reads, &loop.writes}) {
      for (const plan::LoopSlice& slice : *slices) {
        Bound(slice.slice);
        ready.windows.push_back(
            {views_[slice.whole], views_[slice.slice], plan().values[slice.slice].bytes});
      }
    }
  }

  void AddSwaps() {
    for (const CarryUpdate& plan : memory_.swaps) {
      Swap swap;
      const int32_t values[] = {plan.value, plan.next};
      for (int k = 0; k < 2; ++k) {
        swap.storages[k] = memory_.places[values[k]].storage;
        for (size_t v = 0; v < executable_->bindings.size(); ++v) {
          const Binding& b = executable_->bindings[v];
          if (b.storage == swap.storages[k] && b.how != Binding::kWindow) {
            swap.views[k].push_back(static_cast<int32_t>(v));
          }
        }
      }
      executable_->loops[plan.loop].swaps.push_back(std::move(swap));
    }
  }

  // Adds the reorderings of carried values. A loop that reorders a carried value also reorders all
  // views that are in place of it or aliases of it, wherever they are read. Loops around it start
  // each iteration with the orders that were bound.
  void AddOrders(const Flow& flow) {
    for (const CarryUpdate& update : memory_.reorders) {
      std::vector<ReorderedView>& orders = executable_->loops[update.loop].orders;
      std::vector<bool> follows(executable_->bindings.size());
      const size_t first = orders.size();
      orders.push_back({views_[update.value], views_[update.next]});
      follows[views_[update.value]] = true;
      for (size_t v = 0; v < executable_->bindings.size(); ++v) {
        const Binding& b = executable_->bindings[v];
        const bool alias = b.how == Binding::kAlias;
        if (!(alias || b.how == Binding::kSame) || !follows[b.from]) continue;
        follows[v] = true;
        orders.push_back({static_cast<int32_t>(v), b.from, alias ? b.alias->slots.get() : nullptr});
      }
      for (size_t l = 0; l < flow.loops.size(); ++l) {
        const LoopFlow &outer = flow.loops[l], &inner = flow.loops[update.loop];
        if (outer.first >= inner.first || outer.last <= inner.last) continue;
        for (size_t k = first; k < orders.size(); ++k)
          executable_->loops[l].resets.push_back(orders[k].view);
      }
    }
  }

  void AddOutputs() {
    std::vector<bool> seen(executable_->bindings.size());
    for (size_t k = plan().outputs.size(); k-- > 0;) {
      const int32_t view = views_[plan().outputs[k]];
      executable_->outputs.push_back({view, !seen[view]});
      seen[view] = true;
    }
    absl::c_reverse(executable_->outputs);
  }

  std::shared_ptr<Executable> executable_;
  MemoryPlan memory_;
  base::IdVector<int32_t, int32_t> views_;  // by value; -1: not bound, or in a frame
  std::vector<int32_t> loops_;      // the loops around the node being added, outermost first
  std::vector<Control*> controls_;  // their targets are still nodes of the flow
  std::map<std::pair<int32_t, int32_t>, const int32_t*> indices_;
};

}  // namespace

std::shared_ptr<const Executable> Prepare(plan::Plan plan) {
  return Preparer(std::move(plan)).Run();
}

const plan::Plan& PlanOf(const Executable& executable) { return executable.plan; }
double SecondsOf(const Executable& executable) { return executable.seconds; }

}  // namespace tessera::runtime
