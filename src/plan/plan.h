// The structs between compiler and runtime. A Plan says which kernels run on which buffers for
// which devices, in what order; it knows no op, no sharding and no mesh axis.
//
// Values hold one buffer per *instance*: devices that would hold the same bits share an instance
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

#include "tessera/dtype.h"

namespace tessera::plan {

// What one call of a kernel sees: the buffers of one instance, and its share of the work.
struct KernelArgs {
  const void* config = nullptr;          // made with the kernel; kept alive by the plan
  const std::byte* const* in = nullptr;  // operand buffers
  std::byte* const* out = nullptr;       // result buffers, not overlapping unless `in_place`
  std::byte* scratch = nullptr;          // of the worker: Kernel::scratch_bytes, 64-byte aligned
  int32_t device = 0;                    // the representative device of the instance
  int32_t part = 0, parts = 1;           // this call does share `part` of `parts`
};
using KernelFn = void (*)(const KernelArgs&);

// A function on local buffers with its configuration and cost.
struct Kernel {
  KernelFn fn = nullptr;
  std::shared_ptr<const void> config;
  double flops = 0;  // per call
  double bytes = 0;  // read and written per call
  // Of a kernel that runs a plan: how long that takes, about. Devices may differ in it.
  double run_seconds = 0;
  int64_t scratch_bytes = 0;
  int32_t max_parts = 1;  // a call may be split into this many parts (1: not at all)
  bool in_order = false;  // it has effects: one thread calls it for one instance after the other
  uint64_t in_place = 0;  // bit i: out[0] may be the very buffer of in[i], if of one size
};

struct Layout {
  int32_t instances = 1;
  std::vector<int32_t> instance_of_device;  // per device
  std::vector<int32_t> device_of_instance;  // the representative: the least device of each instance
};

enum class ValueKind : uint8_t { kInput, kConstant, kTemp, kOutput };

struct PlanValue {
  ValueKind kind = ValueKind::kTemp;
  int32_t layout = 0;                     // index into Plan::layouts
  int64_t bytes = 0;                      // of one instance's buffer
  std::shared_ptr<const std::byte> data;  // kConstant: instances * bytes, in instance order
};

// Runs `kernel` once for each instance of `layout`. An operand's buffer is that of the instance
// to which the representative device belongs in the operand's own layout.
struct Step {
  Kernel kernel;
  int32_t layout = 0;
  std::vector<int32_t> in, out;  // indices into Plan::values
  int32_t note = -1;             // index into Plan::notes: what failed, for messages
};

// Steps without effects between devices: every operand is made outside of the segment, or inside
// it by a step of the same layout.
struct Segment {
  std::vector<Step> steps;
};

// dst[i] = src[0][i] op src[1][i] op ..., from left to right, for n elements and k >= 1 sources.
// `stream`: dst is larger than the caches, write past them. dst does not overlap a source.
using CombineFn = void (*)(const std::byte* const* src, int k, std::byte* dst, int64_t n,
                           bool stream);

// Extents, and strides in elements in either buffer. Outer dims first; a dense box has been
// collapsed to one dim by the maker. A stride of `in` may be 0 or negative.
struct Box {
  std::vector<int64_t> extents, in_strides, out_strides;
  // Copies the box from where it begins in in[0] to where it begins in out[0]; not set: runs that
  // are contiguous in both buffers are copied one by one. It may compute each element of out from
  // the one of in.
  Kernel copy = {};
};

// Data that crosses devices: each instance of `out` is assembled from boxes of instances of `in`.
// Every collective is one: all_gather, all_to_all, all_reduce, reduce_scatter, collective_permute,
// and a halo_exchange, whose pieces differ in size and may come from several values.
struct Exchange {
  std::vector<int32_t> in;
  int32_t out = 0;
  DType dtype;  // of the result
  // Set: the dtype of the operands, of whose elements the boxes' kernels compute those of the
  // result.
  std::optional<DType> computed_from = {};
  std::vector<Box> boxes;
  struct Piece {
    int32_t source = 0;                     // instance of the operand
    int64_t in_offset = 0, out_offset = 0;  // elements
    int32_t box = 0;                        // of `boxes`
    int32_t operand = 0;                    // of `in`
  };
  // What no piece covers is zero.
  std::vector<std::vector<Piece>> pieces;  // per instance of `out`
  // Set: the pieces of an instance all cover the whole result and are combined in their order;
  // there is one box and one operand. Else they do not overlap.
  CombineFn combine = nullptr;
  // It runs as one with the exchange before it, a node of the same list: neither reads what the
  // other makes.
  bool joined = false;
  int32_t note = -1;
};

// What a function of the host sees: per operand the buffer of each instance.
struct HostBuffers {
  std::vector<std::vector<const std::byte*>> in;
  std::vector<int64_t> iterations;  // of the loops around the call, from the outermost on
};
// Called once, by one thread: calls follow one another in the order of the nodes.
struct HostCall {
  std::vector<int32_t> in;
  std::function<void(const HostBuffers&)> function;
  int32_t note = -1;
};

struct Node;

// A value that a loop carries. `value` is made before the loop; at the end of each iteration it
// becomes what `next` is by then, and after the loop it is what the last iteration left. `next` is
// made in the body, once, and for this alone. Both are of one layout and size.
struct Carry {
  int32_t value = 0, next = 0;
};
// A value of the body that is one slice of a value outside: slice i of `whole`, which is the slices
// of one instance one after the other, in iteration i (counted from the last where reversed).
struct LoopSlice {
  int32_t whole = 0, slice = 0;
};

// The body, `trips` times; or, with a predicate, the condition, and if its value is true the body,
// and so on. The predicate is a bool that is the same on all devices.
struct Loop {
  int64_t trips = 0;
  int32_t predicate = -1;
  bool reverse = false;
  std::vector<Carry> carries;
  std::vector<LoopSlice> reads;   // `whole` is made before the loop
  std::vector<LoopSlice> writes;  // the body makes `slice`; the loop makes `whole`
  std::vector<Node> condition, body;
};

// The branch that the index names, clamped to those there are; a bool names the first if true, else
// the second. The index is the same on all devices. Every branch makes all results.
struct Switch {
  int32_t index = 0;
  DType dtype;
  std::vector<int32_t> results;
  std::vector<std::vector<Node>> branches;
};

struct Node : std::variant<Segment, Exchange, Loop, Switch, HostCall> {
  using variant::variant;
};

struct PlanInput {
  int32_t value = 0;
  bool donated = false;  // its buffers may be reused
};

struct Plan {
  int32_t devices = 1;
  std::vector<Layout> layouts;
  std::vector<PlanValue> values;
  std::vector<PlanInput> inputs;
  std::vector<int32_t> outputs;  // values, of which some may be inputs
  std::vector<Node> nodes;
  std::vector<std::string> notes;  // "dot_general at model.cc:12"
};

}  // namespace tessera::plan
