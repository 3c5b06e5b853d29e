// The data structures between compiler and runtime. A Plan lists the kernels to run, their buffers,
// their devices and their order. It knows no op, no sharding and no mesh axis.
//
// A value has one buffer per *instance*: devices that would hold the same bits share an instance
// (replica sharing). A Layout maps devices to instances. All buffers are dense and row-major.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/ids.h"
#include "tessera/dtype.h"

namespace tessera::plan {

// The position of a layout, of a value and of a note in the tables of a plan.
enum class PlanLayoutId : int32_t {};
enum class PlanValueId : int32_t {};
inline constexpr PlanValueId kNoPlanValue{-1};
enum class NoteId : int32_t {};
inline constexpr NoteId kNoNote{-1};

// The arguments of one call of a kernel: the buffers of one instance, and the share of the work.
struct KernelArgs {
  const void* config = nullptr;          // made with the kernel; the plan keeps it alive
  const std::byte* const* in = nullptr;  // operand buffers
  // result buffers; they overlap no operand unless `in_place` allows it
  std::byte* const* out = nullptr;
  std::byte* scratch = nullptr;  // Kernel::scratch_bytes of the worker, 64-byte aligned
  int32_t device = 0;            // the representative device of the instance
  int32_t part = 0, parts = 1;   // the call does share `part` of `parts`
  // For a kernel that observes: the iteration numbers of the enclosing loops, outermost first.
  const std::vector<int64_t>* iterations = nullptr;
};
using KernelFn = void (*)(const KernelArgs&);

// A function on local buffers with its configuration and cost.
struct Kernel {
  KernelFn fn = nullptr;
  std::shared_ptr<const void> config;
  double flops = 0;  // per call
  double bytes = 0;  // read and written per call
  // For a kernel that runs a plan: the estimated time of a call. It may differ between devices.
  double run_seconds = 0;
  int64_t scratch_bytes = 0;
  int32_t max_parts = 1;  // a call may be split into this many parts (1: not at all)
  bool in_order = false;  // has side effects: one thread calls it for one instance after the other
  bool observes = false;  // has no results; any thread calls it, for the instances in any order
  uint64_t in_place = 0;  // bit i: out[0] may share the buffer of in[i] if both have the same size
};

struct Layout {
  int32_t instances = 1;
  std::vector<int32_t> instance_of_device;  // per device
  // the representative: the smallest device of each instance
  std::vector<int32_t> device_of_instance;
};

enum class ValueKind : uint8_t { kInput, kConstant, kTemp, kOutput };

struct PlanValue {
  ValueKind kind = ValueKind::kTemp;
  PlanLayoutId layout{0};
  int64_t bytes = 0;                      // of one instance's buffer
  std::shared_ptr<const std::byte> data;  // kConstant: instances * bytes, in order of the instances
};

// Runs `kernel` once for each instance of `layout`. It reads each operand from the instance, in the
// operand's own layout, that holds the representative device.
struct Step {
  Kernel kernel;
  PlanLayoutId layout{0};
  std::vector<PlanValueId> in, out;
  NoteId note = kNoNote;  // for error messages and profiles
};

// Steps that move no data between devices: every operand is defined outside the segment, or inside
// it by a step of the same layout.
struct Segment {
  std::vector<Step> steps;
};

// Sets dst[i] = src[0][i] op src[1][i] op ..., from left to right, for n elements and k >= 1
// sources. `stream`: dst is larger than the caches, so write past them. dst may be
// one of the sources, and overlaps no other.
using CombineFn = void (*)(const std::byte* const* src, int k, std::byte* dst, int64_t n,
                           bool stream);

// Extents of a box, outer dim first, and its strides in both buffers, in elements. A dense box has
// one dim. Strides of `in` may be 0 or negative.
struct Box {
  std::vector<int64_t> extents, in_strides, out_strides;
  // If set, copies the box from its start in in[0] to its start in out[0]; it may compute each
  // element of the result from the operand's element. If not set, the runtime copies each run that
  // is contiguous in both buffers.
  Kernel copy = {};
};

// Data that crosses devices: each instance of `out` is assembled from boxes of instances of
// `in`. Every collective is an Exchange: all_gather, all_to_all, all_reduce, reduce_scatter,
// collective_permute, and halo_exchange, whose pieces differ in size and may come from
// several values.
struct Exchange {
  std::vector<PlanValueId> in;
  PlanValueId out{0};
  DType dtype;  // dtype of the result
  // The dtype of the operands, if the boxes' kernels compute the result's elements from elements of
  // another dtype.
  std::optional<DType> computed_from = {};
  std::vector<Box> boxes;
  struct Piece {
    int32_t source = 0;                     // instance of the operand
    int64_t in_offset = 0, out_offset = 0;  // elements
    int32_t box = 0;                        // index into `boxes`
    int32_t operand = 0;                    // index into `in`
  };
  // Elements that no piece covers are zero.
  std::vector<std::vector<Piece>> pieces;  // per instance of `out`
  // If set, every piece of an instance covers the whole result, and the pieces are combined in
  // their order; there is one box. If not set, pieces do not overlap.
  CombineFn combine = nullptr;
  // A box that this process sends to another process, from an instance of the operand, or receives
  // from it, into an instance of `out`. All boxes between two processes are sent, and received, in
  // one order. A sent box has the strides of the operand. A received one has the strides of the
  // result, or those of the operand if `receives_as_sent`.
  struct Message {
    int32_t process = 0;  // the other one
    int32_t instance = 0;
    int64_t offset = 0;  // elements
    int32_t box = 0;
    int32_t operand = 0;  // of a send
  };
  std::vector<Message> sends = {}, receives = {};
  bool receives_as_sent = false;
  // Dense elements of an instance of an operand, which this process combines with those of other
  // processes. There are no pieces then.
  struct GroupReduction {
    std::vector<int32_t> processes;  // that combine theirs, ascending; one is this process
    // Whether each process gets an equal part of the result, in the order of `processes`, or else
    // all of it.
    bool scatters = false;
    int64_t elements = 0;  // that this process gets
    int32_t operand = 0, source = 0;
    int64_t in_offset = 0;                // elements
    int32_t instance = 0, instances = 1;  // of `out`, that get equal parts of the elements
  };
  std::vector<GroupReduction> reductions = {};
  // Whether a reduction reads the instances of the result as one, so that they follow each other in
  // memory. Else they may be renamed buffers of the operand.
  bool in_one_block = false;
  // Whether the exchange runs together with the previous exchange in the same list of nodes.
  // Neither reads the result of the other.
  bool joined = false;
  NoteId note = kNoNote;
};

// The arguments of a host function: for each operand the buffers of all instances.
struct HostBuffers {
  std::vector<std::vector<const std::byte*>> in;
  std::vector<int64_t> iterations;  // iteration numbers of the enclosing loops, outermost first
};
// A host function. One thread calls it once per run of the node, in the order of the nodes.
struct HostCall {
  std::vector<PlanValueId> in;
  std::function<void(const HostBuffers&)> function;
  NoteId note = kNoNote;
};

struct Node;

// A value that a loop carries. `value` is defined before the loop. After each iteration it takes
// the value of `next`, and after the loop it holds the value of the last iteration. The body
// defines `next` once and uses it for nothing else. Both have the same layout and size.
struct Carry {
  PlanValueId value{0}, next{0};
};
// A value of the body that is slice i of `whole`, a value outside the loop, in iteration i
// (counted from the end if the loop is reversed). Each instance of `whole` stores its slices one
// after the other.
struct LoopSlice {
  PlanValueId whole{0}, slice{0};
};

// Runs the body `trips` times. With a predicate it runs the condition, then the body if the
// predicate is true, and repeats. The predicate is a bool that is the same on all devices.
struct Loop {
  int64_t trips = 0;
  PlanValueId predicate = kNoPlanValue;
  bool reverse = false;
  std::vector<Carry> carries;
  std::vector<LoopSlice> reads;   // `whole` is defined before the loop
  std::vector<LoopSlice> writes;  // the body defines `slice`, the loop defines `whole`
  std::vector<Node> condition, body;
  bool has_predicate() const { return predicate != kNoPlanValue; }
};

// Runs the branch with number `index`, clamped to the valid range. If the index is a bool, true
// selects the first branch and false the second. The index is the same on all devices. Every branch
// defines all results.
struct Switch {
  PlanValueId index{0};
  DType dtype;
  std::vector<PlanValueId> results;
  std::vector<std::vector<Node>> branches;
};

struct Node : std::variant<Segment, Exchange, Loop, Switch, HostCall> {
  using variant::variant;
};

struct PlanInput {
  PlanValueId value{0};
  bool donated = false;  // whether the run may reuse its buffers
};

// The op and the line of the user that a step is for.
struct Note {
  std::string op, where;  // `where` may be empty
  // The item of the schedule: a loop or branch and all steps inside are one item.
  int32_t item = kNoItem;
  static constexpr int32_t kNoItem = -1;
  std::string text() const { return where.empty() ? op : op + " at " + where; }
};

// The bytes that a device holds during an item of the schedule, by their use.
struct ItemMemory {
  std::vector<int64_t> of_use;  // in the order of Plan::uses
};

struct Plan {
  int32_t devices = 1;
  base::IdVector<PlanLayoutId, Layout> layouts;
  base::IdVector<PlanValueId, PlanValue> values;
  std::vector<PlanInput> inputs;
  std::vector<PlanValueId> outputs;  // some may be inputs
  std::vector<Node> nodes;
  base::IdVector<NoteId, Note> notes;
  // The memory of a device over the items. Programs that are compiled for a profile or a trace have
  // it; it is empty for others.
  std::vector<std::string> uses;  // "arguments", "temporaries"
  std::vector<ItemMemory> held;   // by item
};

}  // namespace tessera::plan
