// Gather, scatter and x.at({...}): reads and updates of elements given by index arrays.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "tessera/array.h"

namespace TESSERA_PUBLIC tessera {

// Treatment of a slice that starts where it does not fit into the array.
enum class LookupMode : uint8_t {
  kFill,          // gather fills the slice; scatter drops it
  kDrop = kFill,  // same
  kClip,          // the start moves to the nearest one that fits
  kPromise,       // the caller promises that every slice fits; else unspecified
};

// The roles of the dims in a gather, as in XLA's gather. Index vectors run along the last dim of
// the indices.
struct GatherDims {
  std::vector<int64_t> offset = {};     // result dims that come from the slices, ascending
  std::vector<int64_t> collapsed = {};  // operand dims of slice size 1, not in the result
  std::vector<int64_t> start = {};      // operand dim of each entry of an index vector
  std::vector<int64_t> operand_batch = {}, indices_batch = {};  // batch dims, in pairs
};
struct GatherOptions {
  std::optional<LookupMode> mode = {};  // default: kClip
  // For kFill. Default: NaN; the lowest signed int; the highest unsigned int; true.
  std::optional<Scalar> fill_value = {};
  bool indices_are_sorted = false, unique_indices = false;  // promises
  std::optional<PartitionSpec> out_sharding = {};
};
// Returns one slice of x, of size `slice_sizes`, for each index vector. The vectors run along the
// last dim of `indices` and give the starts of the slices. Result: the other dims of the indices in
// order, with the dims of the slices inserted at `dims.offset`:
//
//   x [10, 4], indices [5, 1], slice sizes {1, 4}, collapsed {0}, start {0}, offset {1} -> [5, 4]
Array gather(Operand x, Operand indices, GatherDims dims, Shape slice_sizes,
             GatherOptions options = {}, Loc loc = Loc::Current());

// The roles of the dims in a scatter, whose updates are slices.
struct ScatterDims {
  std::vector<int64_t> window = {};    // update dims that come from the slices, ascending
  std::vector<int64_t> inserted = {};  // operand dims of slice size 1, not in the updates
  std::vector<int64_t> start = {};     // operand dim of each entry of an index vector
  std::vector<int64_t> operand_batch = {}, indices_batch = {};  // batch dims, in pairs
};
struct ScatterOptions {
  std::optional<LookupMode> mode = {};                      // default: kDrop
  bool indices_are_sorted = false, unique_indices = false;  // promises
  std::optional<PartitionSpec> out_sharding = {};
};
// Several updates of one element are combined in their order in `updates`; if the updates are
// sharded, each device first combines its own. Floats are rounded to their dtype after each step.

// Returns x with slices set to `updates`. The last update of an element wins.
Array scatter(Operand x, Operand indices, Operand updates, ScatterDims dims,
              ScatterOptions options = {}, Loc loc = Loc::Current());
// Returns x with `updates` added to slices.
Array scatter_add(Operand x, Operand indices, Operand updates, ScatterDims dims,
                  ScatterOptions options = {}, Loc loc = Loc::Current());
// Returns x with slices multiplied by `updates`.
Array scatter_mul(Operand x, Operand indices, Operand updates, ScatterDims dims,
                  ScatterOptions options = {}, Loc loc = Loc::Current());
// Returns x with each element replaced by the minimum of it and its updates. NaN wins.
Array scatter_min(Operand x, Operand indices, Operand updates, ScatterDims dims,
                  ScatterOptions options = {}, Loc loc = Loc::Current());
// Returns x with each element replaced by the maximum of it and its updates. NaN wins.
Array scatter_max(Operand x, Operand indices, Operand updates, ScatterDims dims,
                  ScatterOptions options = {}, Loc loc = Loc::Current());

struct TakeAlongOptions {
  std::optional<LookupMode> mode = {};  // default: kFill
  std::optional<Scalar> fill_value = {};
  std::optional<PartitionSpec> out_sharding = {};
};
// Returns x[..., indices[..., i, ...], ...]: the element of x that each index selects along `dim`.
// The other dims broadcast. Negative indices count from the end. NumPy's take_along_axis.
Array take_along_dim(Operand x, Operand indices, int dim, TakeAlongOptions options = {},
                     Loc loc = Loc::Current());

struct AtOptions {
  std::optional<LookupMode> mode = {};    // default: kClip for get, kDrop for updates
  std::optional<Scalar> fill_value = {};  // for get with kFill
  bool indices_are_sorted = false, unique_indices = false;  // promises
  std::optional<PartitionSpec> out_sharding = {};
};

// The elements of an array at an index; returned by Array::at.
class At {
 public:
  At(Array x, std::vector<Index> index) : x_(std::move(x)), index_(std::move(index)) {}
  // Returns the elements, x[index].
  Array get(AtOptions options = {}, Loc loc = Loc::Current()) const;
  // Return x with these elements set to `values`, or combined with them. `values` is converted to
  // the dtype of x and broadcasts to the shape of x[index]. An element that an index array names
  // twice is combined twice, in order; for set, the last value wins.
  Array set(Operand values, AtOptions options = {}, Loc loc = Loc::Current()) const;
  Array add(Operand values, AtOptions options = {}, Loc loc = Loc::Current()) const;
  Array multiply(Operand values, AtOptions options = {}, Loc loc = Loc::Current()) const;
  Array min(Operand values, AtOptions options = {}, Loc loc = Loc::Current()) const;
  Array max(Operand values, AtOptions options = {}, Loc loc = Loc::Current()) const;

 private:
  Array x_;
  std::vector<Index> index_;
};

}  // namespace tessera
