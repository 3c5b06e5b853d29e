// NumPy's ways to join, split, arrange, choose and number elements.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "tessera/batching.h"
#include "tessera/lookup.h"
#include "tessera/ops.h"
#include "tessera/options.h"
#include "tessera/sets.h"

namespace TESSERA_PUBLIC tessera {

// ---- join and split ----

// Return the arrays joined along dim 0, dim 1 and dim 2, after 1-D arrays have become rows, stayed
// as they are, and become [1, n, 1].
Array vstack(std::vector<Array> xs, Loc loc = Loc::Current());
Array hstack(std::vector<Array> xs, Loc loc = Loc::Current());
Array dstack(std::vector<Array> xs, Loc loc = Loc::Current());
// Returns the arrays joined along dim 1; 1-D arrays are columns.
Array column_stack(std::vector<Array> xs, Loc loc = Loc::Current());
// Returns the matrix that is made of these blocks: each row joined along the last dim, and the rows
// along the dim before it.
Array block(std::vector<std::vector<Array>> rows, Loc loc = Loc::Current());
// Returns x split along `dim` into this number of pieces, the first of them larger by one as
// needed.
std::vector<Array> array_split(Operand x, int64_t parts, int dim = 0, Loc loc = Loc::Current());
// Return x split into equal pieces along dim 1 (dim 0 if there is no other), dim 0 and dim 2.
std::vector<Array> hsplit(Operand x, int64_t parts, Loc loc = Loc::Current());
std::vector<Array> vsplit(Operand x, int64_t parts, Loc loc = Loc::Current());
std::vector<Array> dsplit(Operand x, int64_t parts, Loc loc = Loc::Current());
// Returns x with rank 3 or more: [1, n, 1] for [n], and [n, m, 1] for [n, m].
Array atleast_3d(Operand x, Loc loc = Loc::Current());
// Returns the arrays broadcast to one shape.
std::vector<Array> broadcast_arrays(std::vector<Array> xs, Loc loc = Loc::Current());
// Returns the shape to which these shapes broadcast.
std::vector<int64_t> broadcast_shapes(std::vector<Shape> shapes, Loc loc = Loc::Current());

// ---- arrange ----

// Returns x with dim 1, and with dim 0, reversed.
Array fliplr(Operand x, Loc loc = Loc::Current());
Array flipud(Operand x, Loc loc = Loc::Current());
// Returns x turned k times by a quarter, from the first of the dims towards the second.
Array rot90(Operand x, int64_t k = 1, Dims dims = {0, 1}, Loc loc = Loc::Current());
// The elements that pad adds at the ends of a dim.
enum class PadMode : uint8_t {
  kEdge,        // the last element
  kReflect,     // those before the last element, in reverse order
  kSymmetric,   // those up to the last element, in reverse order
  kWrap,        // those of the other end
  kLinearRamp,  // numbers on the line from the last element to .end_value
  kMaximum,     // the largest element
  kMinimum,     // the smallest element
  kMean,        // the mean; of ints it is rounded to even
};
struct PadOptions {
  double end_value = 0;  // of kLinearRamp
};
// Returns x padded at the ends of its dims, one dim after the other, as numpy.pad. Throws
// ShapeError for negative sizes, for sizes between elements, and for an empty dim that has no
// elements to take. A sharded dim stays sharded: its padded size must divide into the shards.
Array pad(Operand x, std::vector<Padding> padding, PadMode mode, PadOptions options = {},
          Loc loc = Loc::Current());
struct RepeatOptions {
  // The size of the result along the dim: later elements are cut off, or the last one repeats.
  // Default: the sum of the counts, which are then read.
  std::optional<int64_t> total = {};
  std::optional<PartitionSpec> out_sharding = {};
};
// Returns x with element i along `dim` repeated counts[i] times; the counts are ints [n], or [1]
// for all. Throws ShapeError for other shapes and known counts below 0, and TraceError if the
// counts are traced without a .total. A sharded `dim` needs an out_sharding.
Array repeat(Operand x, Array counts, int dim, RepeatOptions options = {},
             Loc loc = Loc::Current());
// Returns x with `dim` moved before dim `start`.
Array rollaxis(Operand x, int dim, int start = 0, Loc loc = Loc::Current());
// Returns the elements of x, repeated as often as needed, in another shape.
Array resize(Operand x, Shape shape, Loc loc = Loc::Current());
// Returns x without the slices at these indices along `dim`. NumPy's delete.
Array delete_(Operand x, std::vector<int64_t> indices, int dim, Loc loc = Loc::Current());
// Returns x with the values, which broadcast to one slice, before the slice `index` of `dim`.
Array insert(Operand x, int64_t index, Operand values, int dim, Loc loc = Loc::Current());
// Returns the differences of neighbours in row-major order, between the elements of `before` and of
// `after`, if these are given.
struct Ediff1dOptions {
  Array before = {}, after = {};
};
Array ediff1d(Operand x, Ediff1dOptions options = {}, Loc loc = Loc::Current());

struct BitsOptions {
  int dim = -1;
  bool little = false;  // the first bit is the lowest, else the highest
};
// Returns the elements along the dim, as bits, in bytes: u8. Missing bits of the last byte are 0.
Array packbits(Operand x, BitsOptions options = {}, Loc loc = Loc::Current());
// Returns the bits of the bytes x along the dim: u8, 0 or 1.
Array unpackbits(Operand x, BitsOptions options = {}, Loc loc = Loc::Current());

// ---- choose and put ----

// Returns choices[i] where conditions[i] is the first that holds, else `otherwise`.
Array select(std::vector<Array> conditions, std::vector<Array> choices, Operand otherwise = 0,
             Loc loc = Loc::Current());
// Returns choices[which], elementwise; all broadcast. A number out of bounds chooses the nearest.
Array choose(Operand which, std::vector<Array> choices, Loc loc = Loc::Current());
// Returns functions[i](x) where conditions[i] is the last that holds; one function more is for the
// rest, which is else 0.
Array piecewise(Operand x, std::vector<Array> conditions,
                std::vector<std::function<Array(Array)>> functions, Loc loc = Loc::Current());
// Returns x with values[..., i, ...] at indices[..., i, ...] along `dim`.
Array put_along_dim(Operand x, Operand indices, Operand values, int dim, Loc loc = Loc::Current());
// Returns x with the values, repeated as often as needed, at these places in row-major order.
Array put(Operand x, Operand indices, Operand values, Loc loc = Loc::Current());
// Returns x with the values, repeated as often as needed, where the mask holds.
Array place(Operand x, Operand mask, Operand values, Loc loc = Loc::Current());
// Returns x [..., n, m] with the value, or the repeated values [k], on the diagonal of its last
// dims.
Array fill_diagonal(Operand x, Operand value, Loc loc = Loc::Current());

// ---- number ----

// Returns a matrix [n, columns] of ones on and below the k-th diagonal, in the default float.
struct TriOptions {
  DType dtype = {};
  std::optional<int64_t> columns = {};  // default: n
  int64_t k = 0;
};
Array tri(int64_t n, TriOptions options = {}, Loc loc = Loc::Current());
// Return the row and column numbers of the elements of a matrix [n, columns] on and below, and on
// and above, the k-th diagonal.
struct TriangleOptions {
  int64_t k = 0;
  std::optional<int64_t> columns = {};  // default: n
};
std::vector<Array> tril_indices(int64_t n, TriangleOptions options = {}, Loc loc = Loc::Current());
std::vector<Array> triu_indices(int64_t n, TriangleOptions options = {}, Loc loc = Loc::Current());
// Return the same for a matrix.
std::vector<Array> tril_indices_from(Operand x, int64_t k = 0, Loc loc = Loc::Current());
std::vector<Array> triu_indices_from(Operand x, int64_t k = 0, Loc loc = Loc::Current());
// Returns 0, ..., n - 1 once for each dim.
std::vector<Array> diag_indices(int64_t n, int64_t rank = 2, Loc loc = Loc::Current());
// Returns the same for an array whose dims are equal.
std::vector<Array> diag_indices_from(Operand x, Loc loc = Loc::Current());
// Returns the element numbers along each dim of an array of this shape: [rank, shape...].
Array indices(Shape shape, Loc loc = Loc::Current());
// Returns the 1-D arrays as open mesh: array i has its elements along dim i. Bools become the
// places of the true ones.
std::vector<Array> ix_(std::vector<Array> xs, Loc loc = Loc::Current());
// Returns the indices [...] of the elements with these numbers in row-major order, one array per
// dim. Numbers out of bounds give the nearest element's.
std::vector<Array> unravel_index(Operand numbers, Shape shape, Loc loc = Loc::Current());
// Returns the numbers in row-major order. An index out of bounds counts as the nearest, or modulo
// the size.
enum class IndexMode : uint8_t { kClip, kWrap };
Array ravel_multi_index(std::vector<Array> indices, Shape shape, IndexMode mode = IndexMode::kClip,
                        Loc loc = Loc::Current());

// Returns a matrix with x [n] on its k-th diagonal; other shapes are flattened.
Array diagflat(Operand x, int64_t k = 0, Loc loc = Loc::Current());
// Returns n numbers from lo to hi with equal ratios: [n, ...]; floating. For an integer dtype they
// are truncated.
Array geomspace(Operand lo, Operand hi, int64_t n = 50, LinspaceOptions options = {},
                Loc loc = Loc::Current());

// ---- functions of functions ----

// Returns f of each line of x along `dim`, in place of the line: f takes [n] and returns [...].
template <class F>
Array apply_along_dim(F f, int dim, Operand x, Loc loc = Loc::Current()) {
  const Array lines = moveaxis(std::move(x), dim, -1, loc);
  const int others = static_cast<int>(lines.shape().size()) - 1;
  std::function<Array(Array)> mapped = [&f](Array line) -> Array { return f(std::move(line)); };
  for (int d = 0; d < others; ++d)
    mapped = [inner = std::move(mapped)](Array a) -> Array { return vmap(inner)(std::move(a)); };
  Array made = mapped(lines);
  const int own = static_cast<int>(made.shape().size()) - others;
  const int at = dim < 0 ? dim + others + 1 : dim;
  std::vector<int64_t> from, to;
  for (int i = 0; i < own; ++i) {
    from.push_back(others + i);
    to.push_back(at + i);
  }
  return own == 0 ? made : moveaxis(made, from, to, loc);
}
// Returns f(x, dim) applied for each of the dims. f keeps the dim, or removes it: then it is put
// back.
template <class F>
Array apply_over_dims(F f, Operand x, Dims dims, Loc loc = Loc::Current()) {
  Array made = broadcast_arrays({x.array()}, loc)[0];
  const int rank = static_cast<int>(made.shape().size());
  for (int64_t d : dims.dims()) {
    const int dim = static_cast<int>(d < 0 ? d + rank : d);
    Array next = f(made, dim);
    made = static_cast<int>(next.shape().size()) == rank ? next : expand_dims(next, dim, loc);
  }
  return made;
}
// Returns a function that applies f, a function of scalars, to each element of arrays that
// broadcast.
template <class F>
auto vectorize(F f) {
  return [f](const auto&... xs) -> Array {
    std::vector<Array> all = broadcast_arrays({Array(xs)...});
    const std::vector<int64_t> shape = all[0].shape();
    for (Array& x : all) x = x.reshape({-1});
    const auto each = [f](std::vector<Array> scalars) -> Array {
      return [&]<size_t... i>(std::index_sequence<i...>)->Array { return f(scalars[i]...); }
      (std::make_index_sequence<sizeof...(xs)>());
    };
    return vmap(each)(all).reshape(shape);
  };
}
// Returns f of the element numbers along each dim: f(i, j) for a shape {n, m}.
template <class F>
Array fromfunction(F f, Shape shape, Loc loc = Loc::Current()) {
  std::vector<Array> numbers;
  for (size_t d = 0; d < shape.dims().size(); ++d)
    numbers.push_back(iota(shape, static_cast<int>(d), {.dtype = f32}, loc));
  return f(numbers);
}

}  // namespace tessera
