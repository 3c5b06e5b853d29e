// The tables that Prepare makes from a plan. A run walks them without hashing, searching
// or allocating.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/ids.h"
#include "plan/plan.h"
#include "runtime/alias.h"
#include "runtime/buffers.h"
#include "runtime/exchange.h"
#include "runtime/ids.h"
#include "runtime/messages.h"
#include "runtime/prepare.h"
#include "runtime/view.h"

namespace tessera::runtime {

// Where a step finds a buffer.
struct BufferRef {
  ViewId view = kNoView;  // kNoView: in the worker's frame
  int64_t offset = 0;     // offset in the frame
  // the value's instance for each instance of the step; null: the same
  const int32_t* index = nullptr;
};

struct ReadyStep {
  plan::KernelFn fn = nullptr;
  const void* config = nullptr;
  const BufferRef* operands = nullptr;  // ins, then outs
  int32_t ins = 0, outs = 0;
  int32_t max_parts = 1;
  bool in_order = false;
  bool observes = false;
  bool runs_plan = false;  // runs a plan of its own, which may take a different time on each device
  double seconds = 0;      // estimate of one call
  const plan::Step* from = nullptr;  // points into Executable::plan
};

// A read or write of a view by a node, from which barriers follow.
struct ViewUse {
  ViewId view;
  bool writes;
  bool identity;  // instance i of the node touches only instance i of the value
};

// A node that directs the run and computes nothing. The nodes of a loop are kEnter, the condition,
// kTest (these two only with a predicate), the body, kRepeat. The nodes of a switch are kSelect,
// then the nodes of each branch, each followed by kLeave.
struct Control {
  enum Kind : uint8_t {
    kEnter,   // begins the first iteration of a loop
    kTest,    // goes to `targets[0]` unless the view's bool is true
    kRepeat,  // ends an iteration: goes to `targets[0]` for the next one
    kSelect,  // goes to the target with the number that the view holds
    kLeave,   // ends a branch: goes to `targets[0]`
  };
  Kind kind = kEnter;
  LoopId loop = kNoLoop;
  ViewId view = kNoView;
  DType dtype = {};  // dtype of the view
  std::vector<int32_t> targets = {};
};

// Two storages that change places at the end of each iteration, and all views of each.
struct Swap {
  StorageId storages[2];
  std::vector<ViewId> views[2];  // the first one is the view of the storage's root value
};
// At the end of an iteration, `view` gets the buffers of `from`, with the instances in
// another order.
struct ReorderedView {
  ViewId view = kNoView, from = kNoView;
  const std::vector<int32_t>* order = nullptr;  // null: the same order
};
struct Window {  // a view that is one slice of another's instances
  ViewId whole = kNoView, view = kNoView;
  int64_t bytes = 0;  // bytes of a slice
};
struct ReadyLoop {
  int64_t trips = -1;  // -1: until the test fails
  bool reverse = false;
  std::vector<Window> windows;
  std::vector<Swap> swaps;
  std::vector<ReorderedView> orders;  // carried values, and all views that derive from them
  // views that inner loops reorder: they start again with their bound order
  std::vector<ViewId> resets;
};

// Steps of one layout that move no data between instances, exchanges that run as one, the start or
// the end of messages, a host call, or control.
struct ReadyNode {
  std::unique_ptr<const Control> control;
  const plan::HostCall* host = nullptr;  // points into Executable::plan
  plan::NoteId note = plan::kNoNote;     // note of the first exchange
  // Of a host call, and of steps that observe: the enclosing loops, outermost first.
  std::vector<LoopId> loops;
  std::vector<ReadyStep> steps;
  std::vector<BufferRef> operands;   // operands of all steps, in their order
  int32_t instances = 0;             // of the layout, or of the result of the exchanges
  const int32_t* devices = nullptr;  // the representative of each instance
  std::unique_ptr<const ReadyExchanges> exchanges;
  std::shared_ptr<const ReadyMessages> messages;
  int32_t mail = 0;              // of messages: which of the run's
  bool starts_messages = false;  // or else waits for them
  std::vector<ViewId> in;        // of a host call: the views of its operands
  double seconds = 0;  // estimate for all instances on one worker, per execution of the node
  double times = 1;    // how often a run executes the node, if known
  std::vector<ViewUse> uses;
};

// How a run finds the buffers of one value. Bindings are made in the order of Executable::bindings.
struct Binding {
  enum How : uint8_t {
    kInput,     // buffers of the caller
    kConstant,  // Executable::constants[constant]
    kBlock,     // at `offset` of the run's block, or of the buffers of `from`: an output made later
    kFresh,     // allocated for an output
    kTake,      // the buffers of `from`, a donated input that is dead, if nobody else holds them
    kSame,      // the buffers of `from`, overwritten in place
    kAlias,     // ranges of `from`, in another order or of another size
    kWindow,    // the slice of `from` for the current iteration
  };
  How how = kFresh;
  ViewId from = kNoView;  // an earlier one
  int32_t constant = -1;
  int32_t node = -1;  // kAlias: the node that copies if the alias is not possible; -1: it always is
  StorageId storage = kNoStorage;  // values with the same number may share memory
  FamilyId family =
      kNoFamily;  // with the same number, instance i of both values is at the same address
  int32_t instances = 1;
  int64_t bytes = 0, offset = 0;
  std::optional<Alias> alias;
};

struct Output {
  ViewId view;
  bool last;  // no later output is the same view
};

// How the nodes are divided between the workers.
struct NodeAssignment {
  enum Mode : uint8_t {
    kFirst,   // worker 0 does all of it
    kOwners,  // each worker does its block of instances
    kClaims,  // workers claim one instance after the other until none is left
    kShares,  // exchanges: each worker does its share of the units
    kSplit,   // all workers do the large steps together, one instance after the other
    kAll,     // control: every worker follows it in the same way
  };
  Mode mode = kFirst;
  bool barrier = false;  // wait for all workers before the node
};
struct Assignment {
  int workers = 0;
  bool forced = false;
  bool parallel = false;  // some node uses more than one worker
  std::vector<NodeAssignment> nodes;
};

struct Executable {
  plan::Plan plan;  // keeps the kernels' configurations and the constants alive
  std::vector<ReadyNode> nodes;
  base::IdVector<ViewId, Binding> bindings;  // the plan's inputs come first, in their order
  std::vector<Buffers> constants;
  std::vector<Output> outputs;
  base::IdVector<LoopId, ReadyLoop> loops;
  // the tables that BufferRef::index points to
  std::vector<std::unique_ptr<const std::vector<int32_t>>> indices;
  int64_t block_bytes = 0;    // memory of values that cross nodes
  int64_t frame_bytes = 0;    // per worker: memory of values that live inside one node
  int64_t scratch_bytes = 0;  // per worker
  int32_t max_operands = 0;
  int32_t mails = 0;  // messages that start in different nodes
  // The most bytes that a run allocates for device 0, which is a representative in every layout and
  // so has the most instances. It is the sum of
  // - outputs allocated for the run, which exist for all of it,
  // - the most at any step of values that cross nodes (live from the node that defines them to the
  //   end of the last node that reads them) plus values inside a node.
  // Values that share memory count once, with the size of the largest. Inputs, constants, outputs
  // in donated inputs (assumed to be unshared) and scratch do not count.
  int64_t peak_bytes = 0;
  double seconds = 0;
  // State of runs by the team, which take turns: the last assignment, and the durations of the last
  // run that one worker did alone and of the last run of all; 0: there was none.
  mutable Assignment assignment;
  mutable double alone_seconds = 0, team_seconds = 0;
};

}  // namespace tessera::runtime
