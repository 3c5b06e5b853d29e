// Array functions. An op's word in program text is the strict function of that name (`reduce_sum`,
// `select_n`, `div`); NumPy's words are functions over them that fill in defaults (`sum`, `where`,
// `divide`). Every function throws ShapeError, DTypeError or ShardingError, at the caller's line.
//
// Sharding of results: dims keep the axes of the operand dims they come from; operands that differ
// in one dim are refused unless one is unsharded there; `out_sharding` decides otherwise.
#pragma once
#include <concepts>
#include <iterator>
#include <string_view>
#include <type_traits>
#include <vector>

#include "tessera/array.h"

namespace tessera {

// ---- options: all fields have defaults; write {.keepdims = true, .out_sharding = P()} ----
struct CreateOptions {
  DType dtype = {};
  std::optional<PartitionSpec> out_sharding = {};
};
struct EyeOptions {
  DType dtype = {};
  std::optional<PartitionSpec> out_sharding = {};
  std::optional<int64_t> columns = {};  // as many as rows
  int64_t diagonal = 0;                 // above the main one; negative: below
};
struct LinspaceOptions {
  DType dtype = {};
  std::optional<PartitionSpec> out_sharding = {};
  bool endpoint = true;  // the last number is hi
};
struct ArrayOptions {
  DType dtype = {};
  std::optional<Shape> shape = {};
  std::optional<PartitionSpec> out_sharding = {};
};
struct LogspaceOptions {
  DType dtype = {};
  bool endpoint = true;  // the last number is base^hi
  double base = 10;
  std::optional<PartitionSpec> out_sharding = {};
};
struct MeshgridOptions {
  std::string_view indexing = "xy";  // the first two arrays vary along dims 1 and 0; "ij": 0 and 1
  bool sparse = false;               // dims along which an array is repeated have size 1
  std::optional<PartitionSpec> out_sharding = {};  // of every result
};
struct RoundOptions {
  bool away_from_zero = false;  // of ties; else to even
  int decimals = 0;             // digits kept behind the point; negative: zeros before it
};
struct NanToNumOptions {
  double nan = 0;                     // what stands for NaN
  std::optional<double> posinf = {};  // for inf; the dtype's largest number
  std::optional<double> neginf = {};  // for -inf; the dtype's lowest number
};
struct CloseOptions {
  double rtol = 1e-5, atol = 1e-8;
  bool equal_nan = false;  // NaN is close to NaN
};
struct EqualOptions {
  bool equal_nan = false;  // NaN equals NaN
};
struct GeluOptions {
  bool approximate = true;  // by tanh
};
struct ReduceOptions {
  DType dtype = {};
  bool keepdims = false;
  std::optional<PartitionSpec> out_sharding = {};
};
struct VarOptions {
  DType dtype = {};
  bool keepdims = false;
  double ddof = 0;  // divide by n - ddof
  std::optional<PartitionSpec> out_sharding = {};
};
struct NormOptions {
  std::optional<double> ord = {};  // 2 of vectors, Frobenius of matrices
  bool keepdims = false;
  std::optional<PartitionSpec> out_sharding = {};
};
struct AverageOptions {
  Array weights = {};  // shaped like x, or like its averaged dims in the order named; else all 1
  bool keepdims = false;
  std::optional<PartitionSpec> out_sharding = {};
};
struct DiffOptions {
  int64_t n = 1;                    // how many times
  Array prepend = {}, append = {};  // joined to x before; a scalar is one row
};
struct DiagonalOptions {
  int64_t offset = 0;  // above the main diagonal; negative: below
  int dim1 = 0, dim2 = 1;
  std::optional<PartitionSpec> out_sharding = {};
};
struct TraceOptions {
  DType dtype = {};
  int64_t offset = 0;  // above the main diagonal; negative: below
  int dim1 = 0, dim2 = 1;
  std::optional<PartitionSpec> out_sharding = {};
};
struct ArgOptions {
  DType dtype = {};
  bool keepdims = false;
};
struct CumOptions {
  bool reverse = false;
};
struct DotOptions {
  DType dtype = {};  // of the result; also what products are summed in
  std::optional<PartitionSpec> out_sharding = {};
};
struct DotDims {
  std::vector<int64_t> lhs_contract = {}, rhs_contract = {}, lhs_batch = {}, rhs_batch = {};
};
struct SortOptions {
  bool descending = false;
  bool stable = true;
  int num_keys = 1;  // sort by the first num_keys operands
};
struct OneHotOptions {
  DType dtype = {};
  int dim = -1;  // where the new dim goes
  std::optional<PartitionSpec> out_sharding = {};
};
struct LayerNormOptions {
  double epsilon = 1e-5;
};

// ---- make ----

// Nested braces of numbers: {1, 2}, {{1.5, 2}, {3, 4}}.
class Nested {
 public:
  template <Number T>
  Nested(T v) : scalar_(Scalar(v)) {}
  Nested(std::initializer_list<Nested> items) : items_(items) {}
  const std::optional<Scalar>& scalar() const { return scalar_; }
  const std::vector<Nested>& items() const { return items_; }

 private:
  std::optional<Scalar> scalar_;
  std::vector<Nested> items_;
};

// Host memory that array() copies from.
struct HostData {
  const void* data;
  int64_t size;
  DType dtype;
};
Array array_from_host(HostData host, ArrayOptions options, Loc loc);

// Returns an array of the numbers. Ints become the default int, floats the default float.
Array array(Nested values, ArrayOptions options = {}, Loc loc = Loc::Current());
// Returns a copy of a host container: 1-D of its element type, or `shape`.
template <class R>
requires requires(const R& r) {
  *std::data(r);
  std::size(r);
}
Array array(const R& values, ArrayOptions options = {}, Loc loc = Loc::Current()) {
  using E = std::remove_cvref_t<decltype(*std::data(values))>;
  return array_from_host(
      {std::data(values), static_cast<int64_t>(std::size(values)), dtype_of<E>()},
      std::move(options), loc);
}
template <class V>
requires std::is_same_v<V, std::vector<bool>> Array array(const V& values,
                                                          ArrayOptions options = {},
                                                          Loc loc = Loc::Current()) {
  std::vector<unsigned char> bytes(values.begin(), values.end());
  return array_from_host({bytes.data(), static_cast<int64_t>(bytes.size()), bool_},
                         std::move(options), loc);
}
// Returns a value of the named type without data: ops on it only check types.
Array abstract_array(std::string_view type_text, Loc loc = Loc::Current());

// Returns an array of one value [shape]; replicated on the current mesh unless told otherwise.
Array zeros(Shape shape, CreateOptions options = {}, Loc loc = Loc::Current());
Array ones(Shape shape, CreateOptions options = {}, Loc loc = Loc::Current());
Array full(Shape shape, Operand value, CreateOptions options = {}, Loc loc = Loc::Current());
// The same with only a dtype; templates, so that `{}` is options.
template <std::same_as<DType> T>
Array zeros(Shape shape, T dtype, Loc loc = Loc::Current()) {
  return zeros(std::move(shape), {.dtype = dtype}, loc);
}
template <std::same_as<DType> T>
Array ones(Shape shape, T dtype, Loc loc = Loc::Current()) {
  return ones(std::move(shape), {.dtype = dtype}, loc);
}
// With the shape, dtype and sharding of x, unless told otherwise.
Array zeros_like(Operand x, CreateOptions options = {}, Loc loc = Loc::Current());
Array ones_like(Operand x, CreateOptions options = {}, Loc loc = Loc::Current());
Array full_like(Operand x, Operand value, CreateOptions options = {}, Loc loc = Loc::Current());
// Returns the index along `dim` [shape]; default int.
Array iota(Shape shape, int dim, CreateOptions options = {}, Loc loc = Loc::Current());
// Returns start, start + step, ... below stop, 1-D. The dtype is that of the numbers.
Array arange(Scalar stop, CreateOptions options = {}, Loc loc = Loc::Current());
Array arange(Scalar start, Scalar stop, CreateOptions options = {}, Loc loc = Loc::Current());
Array arange(Scalar start, Scalar stop, Scalar step, CreateOptions options = {},
             Loc loc = Loc::Current());
// Returns a matrix of n rows with ones on a diagonal: the n x n identity, unless told otherwise.
Array eye(int64_t n, EyeOptions options = {}, Loc loc = Loc::Current());
// Returns n numbers from lo to hi, evenly spaced.
Array linspace(Operand lo, Operand hi, int64_t n, LinspaceOptions options = {},
               Loc loc = Loc::Current());

// Returns base to the powers of n numbers from lo to hi, evenly spaced: [n, ...], the dims of lo
// and hi behind. The dtype is floating unless asked for otherwise.
Array logspace(Operand lo, Operand hi, int64_t n = 50, LogspaceOptions options = {},
               Loc loc = Loc::Current());
// Returns each 1-D array repeated over the dims of the others: n arrays of rank n, of its own
// dtype, sharded like it in its own dim. Throws ShapeError unless all have rank 1.
std::vector<Array> meshgrid(std::vector<Array> xs, MeshgridOptions options = {},
                            Loc loc = Loc::Current());

// ---- elementwise, one operand: [...] -> [...], the operand's sharding ----
Array abs(Operand x, Loc loc = Loc::Current());
Array neg(Operand x, Loc loc = Loc::Current());
Array sign(Operand x, Loc loc = Loc::Current());
Array ceil(Operand x, Loc loc = Loc::Current());
Array floor(Operand x, Loc loc = Loc::Current());
Array exp(Operand x, Loc loc = Loc::Current());
Array exp2(Operand x, Loc loc = Loc::Current());
Array expm1(Operand x, Loc loc = Loc::Current());
Array log(Operand x, Loc loc = Loc::Current());
Array log2(Operand x, Loc loc = Loc::Current());
Array log10(Operand x, Loc loc = Loc::Current());
Array log1p(Operand x, Loc loc = Loc::Current());
Array sqrt(Operand x, Loc loc = Loc::Current());
Array rsqrt(Operand x, Loc loc = Loc::Current());
Array cbrt(Operand x, Loc loc = Loc::Current());
Array square(Operand x, Loc loc = Loc::Current());
Array reciprocal(Operand x, Loc loc = Loc::Current());
Array sin(Operand x, Loc loc = Loc::Current());
Array cos(Operand x, Loc loc = Loc::Current());
Array tan(Operand x, Loc loc = Loc::Current());
Array asin(Operand x, Loc loc = Loc::Current());
Array acos(Operand x, Loc loc = Loc::Current());
Array atan(Operand x, Loc loc = Loc::Current());
Array sinh(Operand x, Loc loc = Loc::Current());
Array cosh(Operand x, Loc loc = Loc::Current());
Array tanh(Operand x, Loc loc = Loc::Current());
Array asinh(Operand x, Loc loc = Loc::Current());
Array acosh(Operand x, Loc loc = Loc::Current());
Array atanh(Operand x, Loc loc = Loc::Current());
Array erf(Operand x, Loc loc = Loc::Current());
Array erfc(Operand x, Loc loc = Loc::Current());
Array erf_inv(Operand x, Loc loc = Loc::Current());
Array lgamma(Operand x, Loc loc = Loc::Current());
Array digamma(Operand x, Loc loc = Loc::Current());
// Return e^-|x| I_n(x), the modified Bessel functions of the first kind, of order 0 and 1, scaled
// so that none overflows; floating. NaN stays; infinities give 0.
Array bessel_i0e(Operand x, Loc loc = Loc::Current());
Array bessel_i1e(Operand x, Loc loc = Loc::Current());
Array logistic(Operand x, Loc loc = Loc::Current());
Array is_finite(Operand x, Loc loc = Loc::Current());
Array isfinite(Operand x, Loc loc = Loc::Current());
Array isnan(Operand x, Loc loc = Loc::Current());
Array isinf(Operand x, Loc loc = Loc::Current());
Array logical_not(Operand x, Loc loc = Loc::Current());
Array bitwise_not(Operand x, Loc loc = Loc::Current());
Array population_count(Operand x, Loc loc = Loc::Current());
Array clz(Operand x, Loc loc = Loc::Current());
Array relu(Operand x, Loc loc = Loc::Current());
Array silu(Operand x, Loc loc = Loc::Current());
Array softplus(Operand x, Loc loc = Loc::Current());
// Returns x rounded to whole numbers or to `decimals`, ties to even, in x's dtype. Ints and bools
// stay as they are, but for ints with zeros asked for.
Array round(Operand x, RoundOptions options = {}, Loc loc = Loc::Current());
// Returns x rounded to whole numbers, ties to even; bools and ints become the default float.
Array rint(Operand x, Loc loc = Loc::Current());
// Returns x with finite numbers for NaN and infinities; ints and bools as they are. Throws
// DTypeError for a number that is too large for x's dtype.
Array nan_to_num(Operand x, NanToNumOptions options = {}, Loc loc = Loc::Current());
Array gelu(Operand x, GeluOptions options = {}, Loc loc = Loc::Current());
Array integer_pow(Operand x, int64_t n, Loc loc = Loc::Current());
// Returns x; the compiler moves nothing across it.
Array optimization_barrier(Operand x, Loc loc = Loc::Current());
// x, which counts as a constant when derivatives are taken (gradients.h).
Array stop_gradient(Operand x, Loc loc = Loc::Current());
// Returns x converted. Float to int saturates, NaN gives 0; int to int wraps; to bool is x != 0.
Array astype(Operand x, DType dtype, Loc loc = Loc::Current());
Array convert_element_type(Operand x, DType dtype, Loc loc = Loc::Current());
// Returns the same bits as elements of `dtype`; other widths split or join the last dim.
Array bitcast_convert_type(Operand x, DType dtype, Loc loc = Loc::Current());

// ---- elementwise, two operands: dtypes promote, shapes broadcast ----
Array add(Operand a, Operand b, OutOptions options = {}, Loc loc = Loc::Current());
Array sub(Operand a, Operand b, OutOptions options = {}, Loc loc = Loc::Current());
Array mul(Operand a, Operand b, OutOptions options = {}, Loc loc = Loc::Current());
Array div(Operand a, Operand b, OutOptions options = {}, Loc loc = Loc::Current());
Array divide(Operand a, Operand b, OutOptions options = {}, Loc loc = Loc::Current());
Array floor_divide(Operand a, Operand b, OutOptions options = {}, Loc loc = Loc::Current());
Array rem(Operand a, Operand b, OutOptions options = {}, Loc loc = Loc::Current());
Array remainder(Operand a, Operand b, OutOptions options = {}, Loc loc = Loc::Current());
Array pow(Operand a, Operand b, OutOptions options = {}, Loc loc = Loc::Current());
Array maximum(Operand a, Operand b, OutOptions options = {}, Loc loc = Loc::Current());
Array minimum(Operand a, Operand b, OutOptions options = {}, Loc loc = Loc::Current());
Array atan2(Operand a, Operand b, OutOptions options = {}, Loc loc = Loc::Current());
Array hypot(Operand a, Operand b, OutOptions options = {}, Loc loc = Loc::Current());
Array nextafter(Operand a, Operand b, OutOptions options = {}, Loc loc = Loc::Current());
// Returns log(e^a + e^b) without overflow; floating.
Array logaddexp(Operand a, Operand b, OutOptions options = {}, Loc loc = Loc::Current());
Array eq(Operand a, Operand b, OutOptions options = {}, Loc loc = Loc::Current());
Array ne(Operand a, Operand b, OutOptions options = {}, Loc loc = Loc::Current());
Array lt(Operand a, Operand b, OutOptions options = {}, Loc loc = Loc::Current());
Array le(Operand a, Operand b, OutOptions options = {}, Loc loc = Loc::Current());
Array gt(Operand a, Operand b, OutOptions options = {}, Loc loc = Loc::Current());
Array ge(Operand a, Operand b, OutOptions options = {}, Loc loc = Loc::Current());
Array logical_and(Operand a, Operand b, OutOptions options = {}, Loc loc = Loc::Current());
Array logical_or(Operand a, Operand b, OutOptions options = {}, Loc loc = Loc::Current());
Array logical_xor(Operand a, Operand b, OutOptions options = {}, Loc loc = Loc::Current());
Array bitwise_and(Operand a, Operand b, OutOptions options = {}, Loc loc = Loc::Current());
Array bitwise_or(Operand a, Operand b, OutOptions options = {}, Loc loc = Loc::Current());
Array bitwise_xor(Operand a, Operand b, OutOptions options = {}, Loc loc = Loc::Current());
Array shift_left(Operand a, Operand b, OutOptions options = {}, Loc loc = Loc::Current());
Array shift_right_arithmetic(Operand a, Operand b, OutOptions options = {},
                             Loc loc = Loc::Current());
Array shift_right_logical(Operand a, Operand b, OutOptions options = {}, Loc loc = Loc::Current());

// Returns a where c is true, b elsewhere; c, a and b broadcast.
Array where(Operand c, Operand a, Operand b, OutOptions options = {}, Loc loc = Loc::Current());
// Returns cases[which]: `which` is bool (two cases) or i32, a scalar or of the cases' shape;
// strict.
Array select_n(Operand which, std::vector<Array> cases, OutOptions options = {},
               Loc loc = Loc::Current());
// Returns min(max(x, lo), hi); the bounds are scalars or of x's shape and dtype; strict.
Array clamp(Operand lo, Operand x, Operand hi, Loc loc = Loc::Current());
// Returns x limited to [lo, hi]; promotes and broadcasts.
Array clip(Operand x, Operand lo, Operand hi, Loc loc = Loc::Current());

// Returns whether |a - b| <= atol + rtol * |b|, in floating point; bool, broadcast. Infinities are
// close to themselves.
Array isclose(Operand a, Operand b, CloseOptions options = {}, Loc loc = Loc::Current());
// Returns whether all elements are close: bool [].
Array allclose(Operand a, Operand b, CloseOptions options = {}, Loc loc = Loc::Current());
// Returns whether a and b have one shape and equal elements: bool [].
Array array_equal(Operand a, Operand b, EqualOptions options = {}, Loc loc = Loc::Current());

// ---- shape ----

// Returns x with its elements in row-major order under another shape; one size may be -1.
Array reshape(Operand x, Shape shape, OutOptions options = {}, Loc loc = Loc::Current());
// Returns x with dim i of the result being dim dims[i] of x; All reverses the dims.
Array transpose(Operand x, Dims dims = All, Loc loc = Loc::Current());
// Returns x with dims source[i] at positions destination[i], the others in order. Throws ShapeError
// unless they are as many.
Array moveaxis(Operand x, Dims source, Dims destination, Loc loc = Loc::Current());
// Returns x with two dims in each other's place.
Array swapaxes(Operand x, int dim1, int dim2, Loc loc = Loc::Current());
// Returns the elements of x in row-major order, 1-D.
Array ravel(Operand x, OutOptions options = {}, Loc loc = Loc::Current());
// Returns x with dims of size 1 in front, up to rank 1 or 2.
Array atleast_1d(Operand x, Loc loc = Loc::Current());
Array atleast_2d(Operand x, Loc loc = Loc::Current());
// Returns x [..] as an array of `shape` whose dim dims[i] is x's dim i; strict.
Array broadcast_in_dim(Operand x, Shape shape, Dims dims, OutOptions options = {},
                       Loc loc = Loc::Current());
// Returns x with leading dims added and dims of size 1 repeated.
Array broadcast_to(Operand x, Shape shape, OutOptions options = {}, Loc loc = Loc::Current());
// Returns x with dims of size 1 at these positions of the result.
Array expand_dims(Operand x, Dims dims, Loc loc = Loc::Current());
// Returns x without these dims of size 1; All: every one.
Array squeeze(Operand x, Dims dims = All, Loc loc = Loc::Current());
// Returns the arrays joined along `dim`, in which alone they may differ.
Array concatenate(std::vector<Array> xs, int dim = 0, Loc loc = Loc::Current());
// Returns the arrays, of one shape, along a new dim.
Array stack(std::vector<Array> xs, int dim = 0, Loc loc = Loc::Current());
// Returns both joined along `dim`, or, where none is named, both flattened and joined.
Array append(Operand x, Operand values, Loc loc = Loc::Current());
Array append(Operand x, Operand values, int dim, Loc loc = Loc::Current());
// Returns the slices x[..., i, ...] for every i of `dim`, without that dim, which is not sharded.
std::vector<Array> unstack(Operand x, int dim = 0, Loc loc = Loc::Current());
// Returns x cut along `dim` into `parts` equal pieces, or pieces of these sizes.
std::vector<Array> split(Operand x, Shape sizes, int dim = 0, Loc loc = Loc::Current());
namespace detail {
std::vector<Array> SplitEvenly(const Operand& x, int64_t parts, int dim, Loc loc);
}
template <Integer T>
std::vector<Array> split(Operand x, T parts, int dim = 0, Loc loc = Loc::Current()) {
  return detail::SplitEvenly(x, static_cast<int64_t>(parts), dim, loc);
}
// Returns x[start:limit:stride] in every dim; strict: 0 <= start <= limit <= size.
Array slice(Operand x, std::vector<int64_t> starts, std::vector<int64_t> limits,
            std::vector<int64_t> strides = {}, Loc loc = Loc::Current());
// Returns the part of x of these sizes that begins at `starts` (integer scalars, one per dim),
// moved inside if it would reach over an edge. A negative start counts from the end.
Array dynamic_slice(Operand x, std::vector<Array> starts, Shape sizes, Loc loc = Loc::Current());
// Returns x with `update` written at `starts`, moved inside as above.
Array dynamic_update_slice(Operand x, Operand update, std::vector<Array> starts,
                           Loc loc = Loc::Current());
struct Padding {
  int64_t low = 0, high = 0, interior = 0;
};
// Returns x with `value` around it and between its elements; negative edges cut.
Array pad(Operand x, std::vector<Padding> padding, Operand value = 0, Loc loc = Loc::Current());
// Returns x with these dims in reverse order.
Array rev(Operand x, Dims dims, Loc loc = Loc::Current());
// Returns x with these dims, or all, in reverse order.
Array flip(Operand x, Dims dims = All, Loc loc = Loc::Current());
// Returns x repeated reps[i] times along dim i.
Array tile(Operand x, Shape reps, Loc loc = Loc::Current());
// Returns x with each element along `dim` repeated n times.
Array repeat(Operand x, int64_t n, int dim, OutOptions options = {}, Loc loc = Loc::Current());
// Returns x shifted along `dim`, what leaves at one end entering at the other.
Array roll(Operand x, int64_t shift, int dim, Loc loc = Loc::Current());
// Returns the elements of `dim` at integer `indices` [...]: [outer..., indices..., inner...].
// Negative indices count from the end; outside ones give NaN (ints: the lowest or, unsigned,
// highest).
Array take(Operand x, Operand indices, int dim, OutOptions options = {}, Loc loc = Loc::Current());

// Returns the differences of neighbours along `dim`, n times over: that dim is n shorter. Bools:
// whether they differ.
Array diff(Operand x, int dim = -1, DiffOptions options = {}, Loc loc = Loc::Current());

// ---- matrices ----

// Returns x [..., n, m] with zeros above (tril) or below (triu) the k-th diagonal of the last two
// dims; k > 0 is above the main one. Nothing moves.
Array tril(Operand x, int64_t k = 0, Loc loc = Loc::Current());
Array triu(Operand x, int64_t k = 0, Loc loc = Loc::Current());
// Returns the elements at [i, i + offset] of dims dim1 and dim2, along a new last dim, in x's
// dtype. Throws ShardingError where either dim is sharded, unless out_sharding says how the new one
// is; then only the result is exchanged, and a -0 may come back as 0.
Array diagonal(Operand x, DiagonalOptions options = {}, Loc loc = Loc::Current());
// Returns a matrix with x [n] on its k-th diagonal: [n + |k|, n + |k|], rows sharded like x. Of a
// matrix its k-th diagonal, as above. Throws ShapeError for other ranks.
Array diag(Operand x, int64_t k = 0, OutOptions options = {}, Loc loc = Loc::Current());
// Returns the sum of a diagonal, [...] without dim1 and dim2; the dtype is that of sum. NumPy's
// trace.
Array matrix_trace(Operand x, TraceOptions options = {}, Loc loc = Loc::Current());

// ---- reduce: dims default to all; {} reduces nothing. Sharded reduced dims are combined. ----
Array sum(Operand x, Dims dims = All, ReduceOptions options = {}, Loc loc = Loc::Current());
Array prod(Operand x, Dims dims = All, ReduceOptions options = {}, Loc loc = Loc::Current());
Array max(Operand x, Dims dims = All, ReduceOptions options = {}, Loc loc = Loc::Current());
Array min(Operand x, Dims dims = All, ReduceOptions options = {}, Loc loc = Loc::Current());
Array mean(Operand x, Dims dims = All, ReduceOptions options = {}, Loc loc = Loc::Current());
Array any(Operand x, Dims dims = All, ReduceOptions options = {}, Loc loc = Loc::Current());
Array all(Operand x, Dims dims = All, ReduceOptions options = {}, Loc loc = Loc::Current());
Array logsumexp(Operand x, Dims dims = All, ReduceOptions options = {}, Loc loc = Loc::Current());
Array var(Operand x, Dims dims = All, VarOptions options = {}, Loc loc = Loc::Current());
Array stddev(Operand x, Dims dims = All, VarOptions options = {}, Loc loc = Loc::Current());
// Returns max - min.
Array ptp(Operand x, Dims dims = All, ReduceOptions options = {}, Loc loc = Loc::Current());
// Returns how many elements are not 0, in the default int.
Array count_nonzero(Operand x, Dims dims = All, ReduceOptions options = {},
                    Loc loc = Loc::Current());
// Returns sum(x * weights) / sum(weights), floating; the mean without weights. Throws ShapeError
// for weights of another shape.
Array average(Operand x, Dims dims = All, AverageOptions options = {}, Loc loc = Loc::Current());
// Returns the norm of vectors (one dim) or matrices (two dims: rows, columns), floating. Vectors
// have any order p, infinities and 0 (how many are not 0) included; matrices Frobenius's (no
// `ord`), 1, -1 and both infinities. Of all dims without `ord`: the 2-norm of all elements. Throws
// ShapeError for other orders (singular values are not there: 2, -2, nuclear) and more dims.
Array norm(Operand x, Dims dims = All, NormOptions options = {}, Loc loc = Loc::Current());
// Returns the index of the first largest (smallest) element along `dim`; a NaN beats numbers.
Array argmax(Operand x, int dim, ArgOptions options = {}, Loc loc = Loc::Current());
Array argmin(Operand x, int dim, ArgOptions options = {}, Loc loc = Loc::Current());
// Strict forms: no widening, every dim named.
Array reduce_sum(Operand x, Dims dims, OutOptions options = {}, Loc loc = Loc::Current());
Array reduce_prod(Operand x, Dims dims, OutOptions options = {}, Loc loc = Loc::Current());
Array reduce_max(Operand x, Dims dims, OutOptions options = {}, Loc loc = Loc::Current());
Array reduce_min(Operand x, Dims dims, OutOptions options = {}, Loc loc = Loc::Current());
Array reduce_and(Operand x, Dims dims, OutOptions options = {}, Loc loc = Loc::Current());
Array reduce_or(Operand x, Dims dims, OutOptions options = {}, Loc loc = Loc::Current());
// Running reductions along `dim`, inclusive. The dim must not be sharded.
Array cumsum(Operand x, int dim, CumOptions options = {}, Loc loc = Loc::Current());
Array cumprod(Operand x, int dim, CumOptions options = {}, Loc loc = Loc::Current());
Array cummax(Operand x, int dim, CumOptions options = {}, Loc loc = Loc::Current());
Array cummin(Operand x, int dim, CumOptions options = {}, Loc loc = Loc::Current());
Array cumlogsumexp(Operand x, int dim, CumOptions options = {}, Loc loc = Loc::Current());

// ---- multiply ----

// Returns products summed over the contracted dims: [batch..., lhs free..., rhs free...]; strict.
Array dot_general(Operand a, Operand b, DotDims dims, DotOptions options = {},
                  Loc loc = Loc::Current());
// [..., m, k] x [..., k, n] -> [..., m, n]; 1-D operands as in NumPy; batch dims broadcast.
Array matmul(Operand a, Operand b, DotOptions options = {}, Loc loc = Loc::Current());
// NumPy's dot: last dim of a with the last but one of b.
Array dot(Operand a, Operand b, DotOptions options = {}, Loc loc = Loc::Current());
Array tensordot(Operand a, Operand b, DotDims dims, DotOptions options = {},
                Loc loc = Loc::Current());
Array tensordot(Operand a, Operand b, int dims = 2, DotOptions options = {},
                Loc loc = Loc::Current());
// Returns products of all elements of a with all of b: [elements of a, elements of b].
Array outer(Operand a, Operand b, OutOptions options = {}, Loc loc = Loc::Current());
// Returns products summed over both last dims: [a..., b...]; a scalar multiplies.
Array inner(Operand a, Operand b, DotOptions options = {}, Loc loc = Loc::Current());
// Returns the sum of products of all elements: []. Throws ShapeError unless they are as many.
Array vdot(Operand a, Operand b, DotOptions options = {}, Loc loc = Loc::Current());
// Returns a with each element replaced by its product with b: dim d has size a[d] * b[d].
Array kron(Operand a, Operand b, OutOptions options = {}, Loc loc = Loc::Current());
// einsum("bh,hk->bk", {a, b}): sums over the letters that the result lacks.
Array einsum(std::string_view subscripts, std::vector<Array> operands, DotOptions options = {},
             Loc loc = Loc::Current());

// Returns x [..., n, k] with a x = b [..., n, k], a being tridiagonal: dl, d and du [..., n] are
// the diagonals below, on and above its main one; dl's first and du's last element are not read.
// NaN where a matrix is singular. Strict, f32 or f64; n must not be sharded.
Array tridiagonal_solve(Operand dl, Operand d, Operand du, Operand b, Loc loc = Loc::Current());

// ---- sort and look up ----
Array sort(Operand x, int dim = -1, SortOptions options = {}, Loc loc = Loc::Current());
std::vector<Array> sort(std::vector<Array> xs, int dim = -1, SortOptions options = {},
                        Loc loc = Loc::Current());
Array argsort(Operand x, int dim = -1, SortOptions options = {}, Loc loc = Loc::Current());
struct TopK {
  Array values, indices;
};
// Returns the k largest along the last dim, and where they are.
TopK top_k(Operand x, int64_t k, Loc loc = Loc::Current());
// Returns 1 where the index along a new dim of size n equals x, else 0.
Array one_hot(Operand x, int64_t n, OneHotOptions options = {}, Loc loc = Loc::Current());

// ---- composed ----
Array softmax(Operand x, Dims dims = -1, Loc loc = Loc::Current());
Array log_softmax(Operand x, Dims dims = -1, Loc loc = Loc::Current());
// Returns (x - mean) / sqrt(var + epsilon) * scale + bias over `dims`.
Array layer_norm(Operand x, Operand scale, Operand bias, Dims dims = -1,
                 LayerNormOptions options = {}, Loc loc = Loc::Current());

// ---- placement ----

// Returns x laid out as `spec` says, on the current mesh. Moves data; the only function that only
// does that. Throws ShardingError for unknown axes and sizes that do not divide.
Array reshard(Operand x, PartitionSpec spec, Loc loc = Loc::Current());
// The same onto another mesh over the same devices.
Array reshard(Operand x, Sharding sharding, Loc loc = Loc::Current());
// Returns x; over Explicit axes an assertion that it is laid out as `spec` says.
Array with_sharding_constraint(Operand x, PartitionSpec spec, Loc loc = Loc::Current());

}  // namespace tessera
