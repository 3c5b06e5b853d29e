// A plan as one list of nodes, and the lifetime of each of its values.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "base/ids.h"
#include "plan/plan.h"
#include "runtime/executable.h"
#include "runtime/ids.h"

namespace tessera::runtime {

// Steps of one layout in their order, exchanges that run as one, messages of exchanges, a host
// call, or control. Nodes run in order, except where control directs the run.
struct FlowNode {
  std::vector<const plan::Exchange*> exchanges = {};
  // The messages of these exchanges start here; or those that started at `started` are complete
  // after this node.
  std::vector<const plan::Exchange*> starts = {};
  FlowNodeId started = kNoNode;
  const plan::HostCall* host = nullptr;
  plan::PlanLayoutId layout{-1};
  std::vector<const plan::Step*> steps;
  std::optional<Control> control = {};  // without its view; its targets are nodes of the flow
  plan::PlanValueId reads = plan::kNoPlanValue;  // control: the predicate or index
  std::vector<plan::PlanValueId> makes = {};     // control: values that get their memory here
  double times = 1;                              // how often a run executes the node, if known
};

// Where a value is defined and last read: a node and a step in it. Inputs and constants are defined
// at node -1; outputs of the plan are read after the last node.
struct Life {
  FlowNodeId made_node = kNoNode, last_node = kNoNode;
  int32_t made_step = -1, last_step = -1;
  bool output = false;
};

// A carried value and its last read in the loop. After that read, its successor may take
// its memory.
struct CarryFlow {
  plan::PlanValueId value, next;
  FlowNodeId read_node;
  int32_t read_step;
  FlowNodeId first;  // first node of the loop
};
struct LoopFlow {
  const plan::Loop* loop;
  FlowNodeId first, last;  // nodes: kEnter and kRepeat
  std::vector<CarryFlow> carries;
};

struct Flow {
  base::IdVector<FlowNodeId, FlowNode> nodes;
  base::IdVector<plan::PlanValueId, Life> lives;
  base::IdVector<LoopId, LoopFlow> loops;
};

Flow Analyse(const plan::Plan& plan);

}  // namespace tessera::runtime
