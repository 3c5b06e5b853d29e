// shard_map: code for one device, over Manual axes, and the collectives it uses.
//
// Inside of shard_map an array is the array of one device. Over each Manual axis it is in one
// state, shown in its type (f32[2,3]{V:x, U:y, R:z}):
//   varying     V: devices along the axis have different arrays
//   unreduced   U: each device has one term of a sum
//   reduced     R: all devices have the same array; its cotangent is unreduced
//   invarying    : all devices have the same array
// If the states of an op's operands differ, operands that do not vary are cast to varying; this
// moves nothing. docs/manual.md has a table of all states and collectives.
#pragma once
#include <cstdint>
#include <utility>
#include <vector>

#include "tessera/mesh.h"
#include "tessera/ops.h"
#include "tessera/specs.h"
#include "tessera/wrapped.h"

namespace TESSERA_PUBLIC tessera {

// The state of a value over a Manual axis.
enum class Variance : uint8_t { kInvarying, kVarying, kUnreduced, kReduced };

struct ShardMapOptions {
  Specs in_specs = {};   // of the arguments; default: from their types, over Explicit axes
  Specs out_specs = {};  // of the results; required
  AxisNames axes = {};   // axes to make Manual; default: all that are not yet
  Mesh mesh = {};        // default: the current mesh
};

struct AllGatherOptions {
  int dim = 0;
  bool tiled = false;                // join along dim; else insert a new dim there
  Variance to = Variance::kVarying;  // or kInvarying, kReduced
};
struct PsumScatterOptions {
  int dim = 0;
  bool tiled = false;  // split dim; else remove dim, whose size is the group size
};
struct AllToAllOptions {
  // Split and join the two dims; else split_dim, of the group's size, is removed and
  // concat_dim inserted.
  bool tiled = false;
};

namespace detail {

struct ShardMap : SameTree {
  ShardMapOptions options;
  explicit ShardMap(ShardMapOptions o) : options(std::move(o)) {}
  FunctionResult Call(const FunctionCall& call) const;
};

}  // namespace detail

// Returns f, run on the array of each device.
//
// An argument is split along the dims to which its spec gives Manual axes, and varies over these
// axes: [n] over axes of total size k becomes [n/k]. Results are joined in the same way, by
// out_specs. A result may vary only over the axes in its spec. Axes that do not become Manual keep
// their mode: Explicit ones are in the types inside, Auto ones are not.
//
// If every axis is Manual inside and was Explicit before, in_specs must match the types of the
// arguments. Otherwise arguments are resharded to in_specs, as implied moves. f may capture an
// outer array only if it is replicated over the Manual axes.
//
// Throws ShardingError for specs that name other axes and for sizes that do not divide by them;
// ShapeError for specs with too many dims.
template <class F>
auto shard_map(F f, ShardMapOptions options, Loc loc = Loc::Current()) {
  return detail::Wrap(std::move(f), detail::ShardMap(std::move(options)), loc);
}

void shard_map(detail::UserFunction, Specs, Specs = {}) = delete;  // name .in_specs and .out_specs

// If the index of a branch or the condition of a loop varies over Manual axes, devices along these
// axes take different paths. Collectives over these axes are refused inside (ShardingError), as
// some devices would never join.
//
// If the body has collectives over other axes, all devices run all branches, and iterate until the
// last device is done. Results that a device did not select are dropped, but their gradient is
// multiplied by 0: it is NaN if the derivative is infinite.

// Collectives. Each acts on groups of devices: devices of a group differ only in their coordinates
// along `axes`, the first axis major. An axis may be a part of one: SubAxis("x", 2, 4). A value
// that is invarying over all of the axes is cast to varying. psum, psum_scatter and pcast refuse
// values whose states over the axes differ. All functions throw ShardingError for axes that are not
// Manual at the call (as outside of shard_map), and for states they do not accept. Over no axes
// each returns its operand.

// Returns the sum over the group, or the value of an unreduced operand: invarying. An all-reduce.
// Bools count as i32. The cotangent is cast back.
Array psum(Operand x, AxisSet axes, Loc loc = Loc::Current());
// Returns the mean over the group: invarying.
Array pmean(Operand x, AxisSet axes, Loc loc = Loc::Current());
// Return the maximum and the minimum over the group: invarying. The derivative is divided equally
// among the devices that have the extreme.
Array pmax(Operand x, AxisSet axes, Loc loc = Loc::Current());
Array pmin(Operand x, AxisSet axes, Loc loc = Loc::Current());
// Returns the arrays [..., n, ...] of the k devices of the group, joined along dim [..., k*n, ...]
// or stacked along a new dim [..., k, n, ...].
Array all_gather(Operand x, AxisSet axes, AllGatherOptions options = {}, Loc loc = Loc::Current());
// Returns this device's part of the sum over the group: varying. [..., n, ...] -> [..., n/k, ...]
// if tiled, else [..., k, ...] -> [..., ...]. Bools count as i32.
Array psum_scatter(Operand x, AxisSet axes, PsumScatterOptions options = {},
                   Loc loc = Loc::Current());
// Returns the parts that the devices of the group hold for this device. Each device splits its
// array along split_dim into k parts and sends part i to device i of the group; the parts it
// receives are joined along concat_dim in the order of the senders.
Array all_to_all(Operand x, AxisSet axes, int split_dim, int concat_dim,
                 AllToAllOptions options = {}, Loc loc = Loc::Current());
// Returns arrays of other devices: for each pair {from, to}, position `to` in the group gets the
// array of position `from`. A position that is not a target gets zeros. No position may be a source
// twice or a target twice. Nothing is copied: buffers change owners.
Array ppermute(Operand x, AxisSet axes, std::vector<std::pair<int, int>> pairs,
               Loc loc = Loc::Current());
// Returns the array of the device `by` positions before this one, in a ring: ppermute with pairs
// {i, i + by}.
Array pshift(Operand x, AxisSet axes, int by, Loc loc = Loc::Current());
// Returns the array of position `source` of the group: varying.
Array pbroadcast(Operand x, AxisSet axes, int source, Loc loc = Loc::Current());
// Return the position of this device in its group, a varying i32 []; the size of the group.
Array axis_index(AxisSet axes, Loc loc = Loc::Current());
int64_t axis_size(AxisSet axes, Loc loc = Loc::Current());

// Returns x cast to another state; nothing moves. Casts are invarying to varying or reduced,
// reduced to varying, and varying to unreduced.
Array pcast(Operand x, AxisSet axes, Variance to, Loc loc = Loc::Current());
// Returns x as invarying over the axes. The caller promises that the devices have the same bits;
// otherwise results are undefined. With ReplicaSharing(false), or in a build with
// _GLIBCXX_ASSERTIONS, differing bits are a RuntimeError. There is no check in a loop or branch
// where devices take different paths, as nothing can be compared there.
Array assume_invariant(Operand x, AxisSet axes, Loc loc = Loc::Current());

}  // namespace tessera
