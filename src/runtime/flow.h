// A plan as one list of nodes, and when each of its values lives.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "plan/plan.h"
#include "runtime/executable.h"

namespace tessera::runtime {

// Steps of one layout in their order, exchanges that run as one, a call of the host, or control.
// Nodes run one after the other, those of loops and branches as their control says.
struct FlowNode {
  std::vector<const plan::Exchange*> exchanges = {};
  const plan::HostCall* host = nullptr;
  int32_t layout = -1;
  std::vector<const plan::Step*> steps;
  std::optional<Control> control = {};  // views are values, and targets nodes of the flow
  std::vector<int32_t> makes = {};      // control: values that get memory here
  double times = 1;                     // that a run does the node, as far as known
};

// Where a value is made and last read: a node, and a step in it. Inputs and constants are made at
// node -1; a plan's outputs are read after the last node.
struct Life {
  int32_t made_node = -1, made_step = -1;
  int32_t last_node = -1, last_step = -1;
  bool output = false;
};

// The last read of a carried value inside of its loop; there its successor may take its place.
struct CarryFlow {
  int32_t value, next;
  int32_t read_node, read_step;
  int32_t first;  // node of the loop
};
struct LoopFlow {
  const plan::Loop* loop;
  int32_t first, last;  // nodes: enter and repeat
  std::vector<CarryFlow> carries;
};

struct Flow {
  std::vector<FlowNode> nodes;
  std::vector<Life> lives;      // per value
  std::vector<LoopFlow> loops;  // inner ones before those around them
};

Flow Analyse(const plan::Plan& plan);

}  // namespace tessera::runtime
