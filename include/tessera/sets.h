// Sorted order as a tool: search, counts, histograms, sets, and sums of segments.
//
// The size of some results depends on the elements. Their option `size` fixes it: the result is
// cut, or filled at its end. Without a size the elements must be known: under jit, vmap and over
// shapes alone a TraceError asks for one. Results are whole on every device unless there is an
// out_sharding.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "tessera/lookup.h"
#include "tessera/ops.h"
#include "tessera/options.h"

namespace TESSERA_PUBLIC tessera {

// ---- search and count ----

struct SearchOptions {
  bool right = false;  // the last place that keeps the order, else the first
};
// Returns the place in the sorted array a [n] at which each v [...] would keep the order: [...],
// i32. NaN is larger than all numbers. Throws ShapeError unless `a` has rank 1.
Array searchsorted(Operand a, Operand v, SearchOptions options = {}, Loc loc = Loc::Current());
// Returns the number of the bin that each x [...] is in: i such that bins[i - 1] <= x < bins[i], or
// bins[i - 1] < x <= bins[i] if `right`. The bins [n] are sorted, up or down.
Array digitize(Operand x, Operand bins, SearchOptions options = {}, Loc loc = Loc::Current());

struct BincountOptions {
  Array weights = {};                  // of each element; default: 1
  std::optional<int64_t> length = {};  // of the result; default: the largest element + 1
  std::optional<PartitionSpec> out_sharding = {};
};
// Returns how often each of 0, 1, ... occurs in x [n], or the sum of its weights: [length].
// Negative elements count as 0, and larger ones than the result has are dropped.
Array bincount(Operand x, BincountOptions options = {}, Loc loc = Loc::Current());

struct HistogramOptions {
  int64_t bins = 10;
  Array edges = {};  // [bins + 1], ascending; instead of `bins` and `range`
  std::optional<std::pair<double, double>> range = {};  // default: the smallest and largest element
  Array weights = {};                                   // of each element; default: 1
  bool density = false;                                 // the histogram's area is 1
  std::optional<PartitionSpec> out_sharding = {};       // of the counts; default: whole
};
struct Histogram {
  Array counts;
  std::vector<Array> edges;  // one array for each dim
};
// Returns the edges [bins + 1] of equal bins from the smallest to the largest element of x, or of
// the range. Throws ShapeError for NaN and infinite elements without a range; under jit and vmap
// the edges are then NaN, and the counts of histograms -1: in an unsigned dtype its largest number.
Array histogram_bin_edges(Operand x, HistogramOptions options = {}, Loc loc = Loc::Current());
// Returns the number of elements in each bin [bins]: in the default int, or the dtype of the
// weights. The last bin includes its upper edge; NaN is in none. Errors are those of
// histogram_bin_edges.
Histogram histogram(Operand x, HistogramOptions options = {}, Loc loc = Loc::Current());

struct HistogramddOptions {
  std::vector<int64_t> bins = {};  // for each dim; one number for all; default: 10
  std::vector<Array> edges = {};   // for each dim; instead of `bins` and `range`
  std::vector<std::pair<double, double>> range = {};
  Array weights = {};
  bool density = false;
  std::optional<PartitionSpec> out_sharding = {};  // of the counts
};
// Returns the number of the points x [n, dims] in each box: [bins...], in the
// default int, or the dtype of the weights.
Histogram histogramdd(Operand x, HistogramddOptions options = {}, Loc loc = Loc::Current());
// Returns the number of the points (x [n], y [n]) in each rectangle: [bins, bins].
Histogram histogram2d(Operand x, Operand y, HistogramddOptions options = {},
                      Loc loc = Loc::Current());

// ---- segments ----

struct SegmentOptions {
  std::optional<int64_t> num_segments = {};                 // default: the largest id + 1
  bool indices_are_sorted = false, unique_indices = false;  // promises about the ids
  std::optional<PartitionSpec> out_sharding = {};
};
// Return the sum, product, largest and smallest of the rows of x [n, ...] with each segment id,
// which are ints [n]: [num_segments, ...]. Rows with other ids are dropped, negative ones too. A
// segment without rows gives 0, 1, and the lowest and the highest number.
Array segment_sum(Operand x, Operand segment_ids, SegmentOptions options = {},
                  Loc loc = Loc::Current());
Array segment_prod(Operand x, Operand segment_ids, SegmentOptions options = {},
                   Loc loc = Loc::Current());
Array segment_max(Operand x, Operand segment_ids, SegmentOptions options = {},
                  Loc loc = Loc::Current());
Array segment_min(Operand x, Operand segment_ids, SegmentOptions options = {},
                  Loc loc = Loc::Current());

// ---- which elements ----

struct SizeOptions {
  std::optional<int64_t> size = {};
  std::optional<Scalar> fill_value = {};  // default: 0
};
// Returns the indices of the elements that are not 0, in row-major order: one array [size] per dim.
std::vector<Array> nonzero(Operand x, SizeOptions options = {}, Loc loc = Loc::Current());
// Returns the same as rows: [size, rank].
Array argwhere(Operand x, SizeOptions options = {}, Loc loc = Loc::Current());
// Returns the numbers of these elements in row-major order: [size].
Array flatnonzero(Operand x, SizeOptions options = {}, Loc loc = Loc::Current());
// Returns the elements of x where the condition, of its shape, is not 0: [size].
Array extract(Operand condition, Operand x, SizeOptions options = {}, Loc loc = Loc::Current());
// Returns the slices of x along `dim` where the condition [n] is not 0. All: of the elements in
// row-major order.
Array compress(Operand condition, Operand x, Dims dim = All, SizeOptions options = {},
               Loc loc = Loc::Current());
// Returns x [n] without the zeros at its ends: [size].
Array trim_zeros(Operand x, SizeOptions options = {}, Loc loc = Loc::Current());

// ---- sets: sorted, each element once; NaN equals NaN ----

struct SetOptions {
  std::optional<int64_t> size = {};
  std::optional<Scalar> fill_value = {};  // default: the smallest element
};
struct UniqueOptions {
  std::optional<int64_t> size = {};
  std::optional<Scalar> fill_value = {};  // default: the smallest element, or the first slice
  std::optional<int> dim = {};            // compares slices along this dim; default: elements
};
// The different elements [size], the place of the first of each, the place of each element of x
// among them (the shape of x), and how often each occurs. Along a dim: the different slices
// [..., size, ...] in the order of their elements, the first element first; the places [n] are
// those of slices.
struct Unique {
  Array values, index, inverse, counts;
};
Unique unique_all(Operand x, UniqueOptions options = {}, Loc loc = Loc::Current());
Array unique(Operand x, UniqueOptions options = {}, Loc loc = Loc::Current());
// Returns whether each element of x is one of `values`: bool [...].
Array isin(Operand x, Operand values, Loc loc = Loc::Current());
// Return the elements that are in either array, in both, in the first alone, and in one alone.
// The default of fill_value is the smallest element of the result.
Array union1d(Operand a, Operand b, SetOptions options = {}, Loc loc = Loc::Current());
Array intersect1d(Operand a, Operand b, SetOptions options = {}, Loc loc = Loc::Current());
Array setdiff1d(Operand a, Operand b, SetOptions options = {}, Loc loc = Loc::Current());
Array setxor1d(Operand a, Operand b, SetOptions options = {}, Loc loc = Loc::Current());

// ---- orders ----

// Returns the indices that sort by the last key, then by the one before, and so on.
Array lexsort(std::vector<Array> keys, int dim = -1, Loc loc = Loc::Current());
// Returns x sorted by its real and then by its imaginary parts, as complex numbers.
Array sort_complex(Operand x, Loc loc = Loc::Current());
// Returns x with the element of place kth where sorting puts it, no larger ones before it, and no
// smaller ones after it. The others are sorted too.
Array partition(Operand x, int64_t kth, int dim = -1, Loc loc = Loc::Current());
// Returns the indices of partition.
Array argpartition(Operand x, int64_t kth, int dim = -1, Loc loc = Loc::Current());

}  // namespace tessera
