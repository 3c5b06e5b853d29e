// Looking elements up by index arrays, and updating them: gather, scatter, x.at({...}).
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "tessera/array.h"

namespace TESSERA_PUBLIC tessera {

// What becomes of a slice that would begin where it does not fit.
enum class LookupMode : uint8_t {
  kFill,          // gather: it is filled; scatter: it is dropped
  kDrop = kFill,  // the same
  kClip,          // it begins at the nearest place where it fits
  kPromise,       // none exists; the result is unspecified if one does
};

// Which dims of operand, indices and result a gather relates: those of XLA's gather, the index
// vectors along the last dim of the indices.
struct GatherDims {
  std::vector<int64_t> offset = {};     // of the result: the slices' dims, ascending
  std::vector<int64_t> collapsed = {};  // of the operand: one element, and no dim in the result
  std::vector<int64_t> start = {};      // of the operand, per entry of an index vector
  std::vector<int64_t> operand_batch = {}, indices_batch = {};  // pairs that go together
};
struct GatherOptions {
  LookupMode mode = LookupMode::kClip;
  // Of kFill: NaN, the lowest of signed ints, the highest of unsigned ones, true.
  std::optional<Scalar> fill_value = {};
  bool indices_are_sorted = false, unique_indices = false;  // promises
  std::optional<PartitionSpec> out_sharding = {};
};
// Returns slices of x of these sizes, which begin where the vectors along the last dim of
// `indices` say: the other dims of the indices in order, with the slices' dims put in at
// `dims.offset`.
Array gather(Operand x, Operand indices, GatherDims dims, Shape slice_sizes,
             GatherOptions options = {}, Loc loc = Loc::Current());

// The same of a scatter, whose updates are slices.
struct ScatterDims {
  std::vector<int64_t> window = {};    // of the updates: the slices' dims, ascending
  std::vector<int64_t> inserted = {};  // of the operand: one element, and no dim in the updates
  std::vector<int64_t> start = {};     // of the operand, per entry of an index vector
  std::vector<int64_t> operand_batch = {}, indices_batch = {};  // pairs that go together
};
struct ScatterOptions {
  LookupMode mode = LookupMode::kDrop;
  bool indices_are_sorted = false, unique_indices = false;  // promises
  std::optional<PartitionSpec> out_sharding = {};
};
// Updates of one element are combined in the order in which the updates have them; where they are
// sharded over the devices, each device's first. Of floats each step is rounded to their dtype.

// Returns x with slices set to `updates`; the last update of an element wins.
Array scatter(Operand x, Operand indices, Operand updates, ScatterDims dims,
              ScatterOptions options = {}, Loc loc = Loc::Current());
// Returns x with `updates` added to slices.
Array scatter_add(Operand x, Operand indices, Operand updates, ScatterDims dims,
                  ScatterOptions options = {}, Loc loc = Loc::Current());
// Returns x with slices multiplied by `updates`.
Array scatter_mul(Operand x, Operand indices, Operand updates, ScatterDims dims,
                  ScatterOptions options = {}, Loc loc = Loc::Current());
// Returns x with the smaller of each element and its updates; NaN wins.
Array scatter_min(Operand x, Operand indices, Operand updates, ScatterDims dims,
                  ScatterOptions options = {}, Loc loc = Loc::Current());
// Returns x with the larger of each element and its updates; NaN wins.
Array scatter_max(Operand x, Operand indices, Operand updates, ScatterDims dims,
                  ScatterOptions options = {}, Loc loc = Loc::Current());

struct TakeAlongOptions {
  LookupMode mode = LookupMode::kFill;
  std::optional<Scalar> fill_value = {};
  std::optional<PartitionSpec> out_sharding = {};
};
// Returns x[..., indices[..., i, ...], ...]: along `dim` what the indices say, element by element;
// the other dims broadcast. Negative indices count from the end. NumPy's take_along_axis.
Array take_along_dim(Operand x, Operand indices, int dim, TakeAlongOptions options = {},
                     Loc loc = Loc::Current());

struct AtOptions {
  std::optional<LookupMode> mode = {};                      // get: kClip; others: kDrop
  std::optional<Scalar> fill_value = {};                    // get with kFill
  bool indices_are_sorted = false, unique_indices = false;  // promises
  std::optional<PartitionSpec> out_sharding = {};
};

// The elements of an array at an index; made by Array::at.
class At {
 public:
  At(Array x, std::vector<Index> index) : x_(std::move(x)), index_(std::move(index)) {}
  // Returns the elements: x[index].
  Array get(AtOptions options = {}, Loc loc = Loc::Current()) const;
  // Return x with the elements set to `values`, or combined with them; the values have a shape
  // that broadcasts to that of x[index], and are converted to x's dtype. Where an index array
  // names an element twice, it is combined twice, in order; the last value set wins.
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
