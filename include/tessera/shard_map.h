// Manual axes: functions of what one device has, and collectives that name the axes.
//
// Inside of shard_map an array is what each device has. Over each Manual axis it is in one state,
// which its type says (f32[2,3]{V:x, U:y, R:z}):
//   varying     V: devices along the axis have arrays of their own
//   unreduced   U: what each has is a term of a sum
//   reduced     R: all have the same; its cotangent is unreduced
//   invarying    : all have the same
// Where operands of an op differ, what does not vary is cast to varying; that moves nothing.
// docs/manual.md has one table of all states and collectives.
#pragma once
#include <cstdint>
#include <utility>
#include <vector>

#include "tessera/mesh.h"
#include "tessera/ops.h"
#include "tessera/specs.h"
#include "tessera/wrapped.h"

namespace TESSERA_PUBLIC tessera {

// What a value is over a Manual axis.
enum class Variance : uint8_t { kInvarying, kVarying, kUnreduced, kReduced };

struct ShardMapOptions {
  Specs in_specs = {};   // of the arguments; default: as their types say, over Explicit axes
  Specs out_specs = {};  // of the results; needed
  AxisNames axes = {};   // that become Manual; default: all of the mesh that are not yet
  Mesh mesh = {};        // default: the current one
};

struct AllGatherOptions {
  int dim = 0;
  bool tiled = false;                // join along dim; else a new dim is put there
  Variance to = Variance::kVarying;  // or kInvarying, kReduced
};
struct PsumScatterOptions {
  int dim = 0;
  bool tiled = false;  // each device gets a part of dim; else dim, of one entry per device, goes
};
struct AllToAllOptions {
  bool tiled = false;  // else split_dim, of one entry per device, goes, and a new concat_dim comes
};

namespace detail {

struct ShardMap : SameTree {
  ShardMapOptions options;
  explicit ShardMap(ShardMapOptions o) : options(std::move(o)) {}
  FunctionResult Call(const FunctionCall& call) const;
};

}  // namespace detail

// Returns f run on what each device has. An argument is cut along the dims that its spec gives
// Manual axes ([n] over axes of size k: [n/k]), and is varying over these; results are joined in
// the same way, as out_specs says. Axes that are not in `axes` stay as they are: Explicit ones in
// types, Auto ones hidden. Where all axes are Explicit and Manual now, in_specs must be what the
// types of the arguments say; else arguments are laid out so, as implied moves. A result may vary
// only over axes that its spec names. Arrays of the outside may be used inside where they are
// replicated over the Manual axes. Throws ShardingError for specs that name other axes, and for
// sizes that they do not divide; ShapeError for specs with too many dims.
template <class F>
auto shard_map(F f, ShardMapOptions options, Loc loc = Loc::Current()) {
  return detail::Wrap(std::move(f), detail::ShardMap(std::move(options)), loc);
}

// Where what chooses a branch, or whether a loop goes on, varies over Manual axes, devices along
// them choose for themselves, and collectives over these axes are refused inside: ShardingError. If
// devices need one another over other axes inside, all of them run all branches, and iterate until
// the last is done; what a device did not choose is dropped, but its gradient is 0 times what it
// has, NaN if that is infinite.

// Collectives. Each acts on groups of devices: those that differ only along `axes`, the first one
// major. Axes may be parts: SubAxis("x", 2, 4). What is invarying over all of them counts as
// varying; psum, psum_scatter and pcast take no value that is in different states over them. All
// throw ShardingError for axes that are not Manual where they are called, as outside of shard_map,
// and for states that they do not take. Over no axes each gives what it gets.

// Returns the sum over the group, invarying; of an unreduced value its sum. Bools count as i32.
// All-reduce. The cotangent is cast back.
Array psum(Operand x, AxisSet axes, Loc loc = Loc::Current());
// Returns the mean over the group, invarying.
Array pmean(Operand x, AxisSet axes, Loc loc = Loc::Current());
// Returns the extreme over the group, invarying. Tangents go to those that have it, in equal parts.
Array pmax(Operand x, AxisSet axes, Loc loc = Loc::Current());
Array pmin(Operand x, AxisSet axes, Loc loc = Loc::Current());
// Returns the arrays of the group, [..., n, ...] each, joined along dim ([..., k*n, ...]) or
// stacked in a new dim ([..., k, n, ...]).
Array all_gather(Operand x, AxisSet axes, AllGatherOptions options = {}, Loc loc = Loc::Current());
// Returns a device's part of the sum over the group, varying: [..., n, ...] to [..., n/k, ...], or
// [..., k, ...] to [..., ...]. Bools count as i32.
Array psum_scatter(Operand x, AxisSet axes, PsumScatterOptions options = {},
                   Loc loc = Loc::Current());
// Returns what the devices of the group have for this one: each cuts its array along split_dim into
// k parts, gives one to each device, and joins what it gets along concat_dim, by sender.
Array all_to_all(Operand x, AxisSet axes, int split_dim, int concat_dim,
                 AllToAllOptions options = {}, Loc loc = Loc::Current());
// Returns what other devices have: for a pair {from, to}, position `to` in the group gets the array
// of position `from`. A device to which no pair leads gets zeros. No position is named twice on one
// side. Nothing is copied: buffers change their owners.
Array ppermute(Operand x, AxisSet axes, std::vector<std::pair<int, int>> pairs,
               Loc loc = Loc::Current());
// Returns the array of the device `by` positions before, in a ring: ppermute of i to i + by.
Array pshift(Operand x, AxisSet axes, int by, Loc loc = Loc::Current());
// Returns the array of position `source` of the group, varying.
Array pbroadcast(Operand x, AxisSet axes, int source, Loc loc = Loc::Current());
// Returns a device's position in its group, an i32 scalar that varies; the group's size.
Array axis_index(AxisSet axes, Loc loc = Loc::Current());
int64_t axis_size(AxisSet axes, Loc loc = Loc::Current());

// Returns x in another state, moving nothing: invarying to varying or reduced, reduced to varying,
// varying to unreduced.
Array pcast(Operand x, AxisSet axes, Variance to, Loc loc = Loc::Current());
// Returns x as invarying over the axes, which the caller promises: else results are undefined. With
// ReplicaSharing(false), or in a build with _GLIBCXX_ASSERTIONS, bits that differ: RuntimeError;
// but not in a loop or branch that each device runs for itself, where nothing can be compared.
Array assume_invariant(Operand x, AxisSet axes, Loc loc = Loc::Current());

}  // namespace tessera
