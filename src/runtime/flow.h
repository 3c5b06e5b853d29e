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

// Steps of one layout in their order, exchanges that run as one, a host call, or control. Nodes run
// in order, except where control directs the run.
struct FlowNode {
  std::vector<const plan::Exchange*> exchanges = {};
  const plan::HostCall* host = nullptr;
  int32_t layout = -1;
  std::vector<const plan::Step*> steps;
  std::optional<Control> control = {};  // its views are values, and its targets nodes of the flow
  std::vector<int32_t> makes = {};      // control: values that get their memory here
  double times = 1;                     // how often a run executes the node, if known
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
  int32_t value, next;
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
  base::IdVector<int32_t, Life> lives;  // by value
  std::vector<LoopFlow> loops;          // inner loops before the loops around them
};

Flow Analyse(const plan::Plan& plan);

}  // namespace tessera::runtime
