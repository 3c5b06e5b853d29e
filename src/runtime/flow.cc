// Flattens a plan into one list of nodes, and finds the lifetime of each value.
#include "runtime/flow.h"

#include <absl/algorithm/container.h>

#include <algorithm>
#include <limits>
#include <utility>

namespace tessera::runtime {
namespace {

using plan::PlanValueId;

class Analyser {
 public:
  explicit Analyser(const plan::Plan& plan) : plan_(plan) {
    flow_.lives.resize(plan.values.size());
  }

  Flow Run() {
    AddNodes(plan_.nodes);
    AwaitAll();
    for (PlanValueId v : plan_.outputs) {
      flow_.lives[v].output = true;
      flow_.lives[v].last_node = FlowNodeId{std::numeric_limits<int32_t>::max()};
    }
    return std::move(flow_);
  }

 private:
  // Assumed trips of a loop with a predicate; used for costs only.
  static constexpr double kUnknownTrips = 10;

  void AddNodes(const std::vector<plan::Node>& nodes) {
    std::vector<const plan::Exchange*> together;
    for (const plan::Node& node : nodes) {
      const auto* exchange = std::get_if<plan::Exchange>(&node);
      if (!together.empty() && !(exchange && exchange->joined))
        AddExchanges(std::exchange(together, {}));
      if (exchange) {
        AwaitFor(exchange->in);
        together.push_back(exchange);
      }
      if (const auto* segment = std::get_if<plan::Segment>(&node))
        AddSegment(*segment);
      else if (!exchange)
        AwaitAll();  // a function of the host may throw, and takes any time
      if (const auto* loop = std::get_if<plan::Loop>(&node))
        AddLoop(*loop);
      else if (const auto* branches = std::get_if<plan::Switch>(&node))
        AddSwitch(*branches);
      else if (const auto* call = std::get_if<plan::HostCall>(&node))
        AddHostCall(*call);
    }
    if (!together.empty()) AddExchanges(together);
  }

  // Returns the number of the next node, as a target of control.
  int32_t NextTarget() const { return base::Number(flow_.nodes.next_id()); }
  FlowNodeId AddNode(FlowNode node) {
    node.times = times_;
    return flow_.nodes.Add(std::move(node));
  }
  FlowNodeId AddControl(Control control, PlanValueId reads = plan::kNoPlanValue) {
    FlowNode node;
    node.reads = reads;
    node.control = std::move(control);
    return AddNode(std::move(node));
  }

  // Adds a loop. A value that is defined outside and read inside lives to the end of the loop,
  // because the next iteration may read it.
  void AddLoop(const plan::Loop& loop) {
    const FlowNodeId first = AddControl({.kind = Control::kEnter});
    for (const plan::LoopSlice& slice : loop.writes) MakeAt(slice.whole, first);
    if (!loop.has_predicate() && loop.trips == 0) return;
    std::vector<PlanValueId> around = std::exchange(reads_, {});
    const double times = times_;
    times_ *= !loop.has_predicate() ? static_cast<double>(loop.trips) : kUnknownTrips;
    for (const plan::LoopSlice& slice : loop.reads) {
      Read(slice.whole, first, 0);
      MakeAt(slice.slice, first);
    }
    for (const plan::LoopSlice& slice : loop.writes) MakeAt(slice.slice, first);
    AddNodes(loop.condition);
    AwaitAll();
    FlowNodeId test = kNoNode;
    if (loop.has_predicate()) {
      test = AddControl({.kind = Control::kTest, .dtype = bool_}, loop.predicate);
      Read(loop.predicate, test, 0);
    }
    AddNodes(loop.body);
    AwaitAll();
    LoopFlow flow{.loop = &loop, .first = first, .last = flow_.nodes.next_id(), .carries = {}};
    for (const plan::Carry& carry : loop.carries) {
      const Life& life = flow_.lives[carry.value];
      flow.carries.push_back({carry.value, carry.next, life.last_node, life.last_step, first});
    }
    const LoopId index = flow_.loops.next_id();
    AddControl({.kind = Control::kRepeat, .targets = {base::Number(first) + 1}});
    for (const plan::Carry& carry : loop.carries) {
      Read(carry.value, flow.last, 0);
      Read(carry.next, flow.last, 0);
    }
    for (const plan::LoopSlice& slice : loop.writes) Read(slice.whole, flow.last, 0);
    for (PlanValueId v : std::exchange(reads_, std::move(around))) {
      if (flow_.lives[v].made_node <= first) Read(v, flow.last, 0);
    }
    flow_.nodes[first].control->loop = flow_.nodes[flow.last].control->loop = index;
    if (test != kNoNode) flow_.nodes[test].control->targets = {NextTarget()};
    times_ = times;
    flow_.loops.Add(std::move(flow));
  }

  void AddSwitch(const plan::Switch& node) {
    const FlowNodeId select =
        AddControl({.kind = Control::kSelect, .dtype = node.dtype}, node.index);
    Read(node.index, select, 0);
    for (PlanValueId v : node.results) MakeAt(v, select);
    std::vector<FlowNodeId> leaves;
    for (const std::vector<plan::Node>& branch : node.branches) {
      flow_.nodes[select].control->targets.push_back(NextTarget());
      AddNodes(branch);
      AwaitAll();
      // The index counts as read here: one worker may still read it while another has begun
      // a branch.
      leaves.push_back(AddControl({.kind = Control::kLeave}, node.index));
      Read(node.index, leaves.back(), 0);
      for (PlanValueId v : node.results) Read(v, leaves.back(), 0);
    }
    for (FlowNodeId leave : leaves) flow_.nodes[leave].control->targets = {NextTarget()};
  }

  void MakeAt(PlanValueId value, FlowNodeId node) {
    if (flow_.lives[value].made_node != kNoNode) return Read(value, node, 0);
    Make(value, node, 0);
    flow_.nodes[node].makes.push_back(value);
  }

  // Adds one node per layout, as steps of different layouts do not depend on each other inside a
  // segment. If one does, it begins new nodes.
  void AddSegment(const plan::Segment& segment) {
    begin_ = flow_.nodes.next_id();
    for (const plan::Step& step : segment.steps) {
      if (AwaitFor(step.in) || ReadsOtherLayout(step)) begin_ = flow_.nodes.next_id();
      const FlowNodeId node = NodeOf(step.layout);
      flow_.nodes[node].steps.push_back(&step);
      const auto at = static_cast<int32_t>(flow_.nodes[node].steps.size()) - 1;
      for (PlanValueId v : step.in) Read(v, node, at);
      for (PlanValueId v : step.out) Make(v, node, at);
    }
  }

  // Adds exchanges that run as one. Their messages start first, so that they travel while the boxes
  // between devices of this process are copied.
  void AddExchanges(const std::vector<const plan::Exchange*>& together) {
    FlowNode start, local;
    for (const plan::Exchange* e : together) {
      const bool has_messages = !e->sends.empty() || !e->receives.empty() || !e->reductions.empty();
      if (has_messages) start.starts.push_back(e);
      if (!has_messages || HasPieces(*e)) local.exchanges.push_back(e);
    }
    local.layout = plan_.values[together[0]->out].layout;
    if (!start.starts.empty()) {
      going_.push_back({.start = AddNode(start), .exchanges = start.starts});
      MakeResults(start.starts, going_.back().start);
    }
    if (!local.exchanges.empty()) MakeResults(local.exchanges, AddNode(local));
  }

  // ---- messages end where a result is read first, so that other work runs until then ----

  // Exchanges whose messages have started.
  struct Going {
    FlowNodeId start;
    std::vector<const plan::Exchange*> exchanges;
  };

  void AwaitAll() {
    for (const Going& going : std::exchange(going_, {})) Await(going);
  }
  void Await(const Going& going) {
    FlowNode end;
    end.started = going.start;
    MakeResults(going.exchanges, AddNode(end));
  }
  // Ends the messages whose result is one of the values. Returns whether there are any.
  bool AwaitFor(const std::vector<PlanValueId>& values) {
    const auto is_read = [&](const Going& going) {
      return absl::c_any_of(going.exchanges, [&](const plan::Exchange* e) {
        return absl::c_linear_search(values, e->out);
      });
    };
    bool any = false;
    for (size_t g = 0; g < going_.size();) {
      if (!is_read(going_[g])) {
        ++g;
        continue;
      }
      any = true;
      Await(going_[g]);
      going_.erase(going_.begin() + static_cast<std::ptrdiff_t>(g));
    }
    return any;
  }

  static bool HasPieces(const plan::Exchange& exchange) {
    return absl::c_any_of(exchange.pieces, [](const auto& pieces) { return !pieces.empty(); });
  }

  void MakeResults(const std::vector<const plan::Exchange*>& exchanges, FlowNodeId node) {
    for (const plan::Exchange* e : exchanges) {
      for (PlanValueId v : e->in) Read(v, node, 0);
      Make(e->out, node, 0);
    }
  }

  void AddHostCall(const plan::HostCall& call) {
    const FlowNodeId node = AddNode({.host = &call, .steps = {}});
    for (PlanValueId v : call.in) Read(v, node, 0);
  }

  bool ReadsOtherLayout(const plan::Step& step) const {
    for (PlanValueId v : step.in) {
      const FlowNodeId node = flow_.lives[v].made_node;
      if (node >= begin_ && flow_.nodes[node].layout != step.layout) return true;
    }
    return false;
  }

  FlowNodeId NodeOf(plan::PlanLayoutId layout) {
    for (FlowNodeId n : base::IdRange(begin_, flow_.nodes.next_id())) {
      if (flow_.nodes[n].layout == layout) return n;
    }
    return AddNode({.layout = layout, .steps = {}});
  }

  void Read(PlanValueId value, FlowNodeId node, int32_t step) {
    reads_.push_back(value);
    Life& life = flow_.lives[value];
    if (node < life.last_node) return;
    life.last_step = node == life.last_node ? std::max(life.last_step, step) : step;
    life.last_node = node;
  }

  void Make(PlanValueId value, FlowNodeId node, int32_t step) {
    Life& life = flow_.lives[value];
    // results of loops and switches are defined more than once
    if (life.made_node != kNoNode) return Read(value, node, step);
    life.made_node = life.last_node = node;
    life.made_step = life.last_step = step;
  }

  const plan::Plan& plan_;
  Flow flow_;
  FlowNodeId begin_{0};             // the first node that may still get steps
  std::vector<Going> going_;        // in the order of their starts
  double times_ = 1;                // how often the nodes being added run
  std::vector<PlanValueId> reads_;  // values read so far in the innermost loop
};

}  // namespace

Flow Analyse(const plan::Plan& plan) { return Analyser(plan).Run(); }

}  // namespace tessera::runtime
