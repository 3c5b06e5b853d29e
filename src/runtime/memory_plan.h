// When each value of a plan lives, and where.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "plan/plan.h"
#include "runtime/exchange.h"
#include "runtime/executable.h"

namespace tessera::runtime {

// Steps of one layout in their order, an exchange, a call of the host, or control. Nodes run one
// after the other, those of loops and branches as their control says.
struct FlowNode {
  const plan::Exchange* exchange = nullptr;
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

// Where a value is. Fields are those of Binding, in terms of values.
struct Allocation {
  Binding::How how = Binding::kFresh;
  bool frame = false;  // lives inside one node: at `offset` of the worker's frame
  int32_t from = -1;   // kTake, kSame, kAlias: a value
  int32_t node = -1;
  int32_t storage = -1, family = -1;
  int64_t offset = 0;
  std::optional<Alias> alias;
};

// A carried value and its successor, whose storages change places; or whose instances are ordered
// anew.
struct SwapPlan {
  int32_t loop;  // of the flow
  int32_t value, next;
};

struct MemoryPlan {
  std::vector<Allocation> places;  // per value
  std::vector<SwapPlan> swaps, turns;
  int64_t block_bytes = 0, frame_bytes = 0, peak_bytes = 0;
  int64_t zero_bytes = 0;  // of the largest value with instances that are in no storage
};

MemoryPlan PlanMemory(const plan::Plan& plan, const Flow& flow);

}  // namespace tessera::runtime
