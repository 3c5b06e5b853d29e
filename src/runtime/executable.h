// What Prepare makes of a plan: tables that a run walks without hashing, searching or allocating.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "plan/plan.h"
#include "runtime/alias.h"
#include "runtime/buffers.h"
#include "runtime/exchange.h"
#include "runtime/prepare.h"
#include "runtime/view.h"

namespace tessera::runtime {

// Where a step finds a buffer.
struct BufferRef {
  int32_t view = -1;               // of the run's views; -1: in the worker's frame
  int64_t offset = 0;              // in the frame
  const int32_t* index = nullptr;  // instance of the value for each of the step; null: the same
};

struct ReadyStep {
  plan::KernelFn fn = nullptr;
  const void* config = nullptr;
  const BufferRef* operands = nullptr;  // ins, then outs
  int32_t ins = 0, outs = 0;
  int32_t max_parts = 1;
  bool in_order = false;
  bool runs_plan = false;            // with steps of its own, which take devices different times
  double seconds = 0;                // estimate of one call
  const plan::Step* from = nullptr;  // of Executable::plan
};

// A read or a write of a view by a node, for the placing of barriers.
struct ViewUse {
  int32_t view;
  bool writes;
  bool identity;  // instance i of the node touches instance i of the value only
};

// What a node does that directs the run instead of computing. The nodes of a loop are: enter,
// condition, test (both only of a loop with a predicate), body, repeat. Those of a switch: select,
// and for each branch its nodes and a leave.
struct Control {
  enum Kind : uint8_t {
    kEnter,   // a loop's first iteration begins
    kTest,    // goes to `targets[0]` unless the view's bool is true
    kRepeat,  // an iteration has ended: goes to `targets[0]` for another
    kSelect,  // goes to the target that the view's element names
    kLeave,   // a branch has ended: goes to `targets[0]`
  };
  Kind kind = kEnter;
  int32_t loop = -1;  // index into Executable::loops
  int32_t view = -1;
  DType dtype = {};  // of the view
  std::vector<int32_t> targets = {};
};

// Two storages that change places at the end of each iteration. All views of either.
struct Swap {
  int32_t storages[2];
  std::vector<int32_t> views[2];  // the first of each: the storage's root
};
// A view whose instances are where those of another are, in another order.
struct Order {
  int32_t view = -1, from = -1;
  const std::vector<int32_t>* order = nullptr;  // null: the same
};
struct Window {  // a view that is one slice of another's instances
  int32_t whole = -1, view = -1;
  int64_t bytes = 0;  // of a slice
};
struct ReadyLoop {
  int64_t trips = -1;  // -1: until the test fails
  bool reverse = false;
  std::vector<Window> windows;
  std::vector<Swap> swaps;
  std::vector<Order> orders;    // of carried values, and of all that follow from them
  std::vector<int32_t> resets;  // views that loops inside have ordered anew: as bound
};

// Steps of one layout without effects between its instances, exchanges that run as one, a call of
// the host, or control.
struct ReadyNode {
  std::unique_ptr<const Control> control;
  const plan::HostCall* host = nullptr;  // of Executable::plan
  int32_t note = -1;                     // of the first of the exchanges
  std::vector<int32_t> loops;            // around a call of the host, from the outermost on
  std::vector<ReadyStep> steps;
  std::vector<BufferRef> operands;   // of all steps
  int32_t instances = 0;             // of the layout, or of the result of an exchange
  const int32_t* devices = nullptr;  // representatives
  std::unique_ptr<const ReadyExchanges> exchanges;
  std::vector<int32_t> in;  // views of the call
  double seconds = 0;       // estimate for all instances on one worker, each time
  double times = 1;         // that a run does the node, as far as known
  std::vector<ViewUse> uses;
};

// How a run finds the buffers of one value. In the order of Executable::bindings.
struct Binding {
  enum How : uint8_t {
    kInput,     // what the caller gave
    kConstant,  // Executable::constants[from]
    kBlock,     // at `offset` of the run's block
    kFresh,     // allocated: an output
    kTake,      // the buffers of the dead donated input `from`, if nobody else holds them
    kSame,      // in place of `from`
    kAlias,     // ranges of `from`, in another order or of another size
    kWindow,    // the slice of `from` that the loop is at
  };
  How how = kFresh;
  int32_t from = -1;     // an earlier binding, or a constant
  int32_t node = -1;     // kAlias: the node that copies where it cannot be had; -1: it always can
  int32_t storage = -1;  // values with one number may share memory,
  int32_t family = -1;   // and if of one family instance i of one is where it is of the other
  int32_t instances = 1;
  int64_t bytes = 0, offset = 0;
  std::optional<Alias> alias;
};

struct Output {
  int32_t view;
  bool last;  // no later output has the view
};

// How the nodes are shared out over a number of workers.
struct NodeAssignment {
  enum Mode : uint8_t {
    kFirst,   // worker 0 does it all
    kOwners,  // each worker does its block of instances
    kClaims,  // each worker does one instance after the other, as long as there are any
    kShares,  // of an exchange: each worker does its share of the units
    kSplit,   // large steps run on all workers at once, one instance after the other
    kAll,     // control: every worker goes its way, the same
  };
  Mode mode = kFirst;
  bool barrier = false;  // before the node
};
struct Assignment {
  int workers = 0;
  bool forced = false;
  bool parallel = false;  // some node uses more than one worker
  std::vector<NodeAssignment> nodes;
};

struct Executable {
  plan::Plan plan;  // keeps kernels' configurations and constants alive
  std::vector<ReadyNode> nodes;
  std::vector<Binding> bindings;  // the first are the plan's inputs, in their order
  std::vector<Buffers> constants;
  std::vector<Output> outputs;
  std::vector<ReadyLoop> loops;
  std::vector<std::unique_ptr<const std::vector<int32_t>>> indices;  // that operands point to
  int64_t block_bytes = 0;    // of the values that cross nodes
  int64_t frame_bytes = 0;    // per worker: values that live inside a node
  int64_t scratch_bytes = 0;  // per worker
  int32_t max_operands = 0;
  // Most bytes that a run allocates for one device, the one with most instances to its name (0):
  // fresh outputs, which exist for the whole run, and the most at any step of the values that cross
  // nodes (a node: a segment's steps of one layout, or an exchange; they live from the node that
  // makes them to the end of the last that reads them) and of those inside a node. Values that
  // share memory count once, as the largest of them; inputs, constants, outputs in the memory of
  // donated inputs (taken to be the only references), and scratch do not count.
  int64_t peak_bytes = 0;
  double seconds = 0;
  // Of runs of the team only, which take turns: the assignment of the last team; how long the last
  // run took that one worker did alone.
  mutable Assignment assignment;
  mutable double alone_seconds = 0;
};

}  // namespace tessera::runtime
