// Array functions. One that has the name of an op of program text applies that op (`reduce_sum`,
// `select_n`, `div`); NumPy's words are functions over the ops that fill in defaults (`sum`,
// `where`, `divide`). Every function throws ShapeError, DTypeError or ShardingError, at the
// caller's line.
//
// Shapes are in brackets. Unless its comment says otherwise, a function gives
// * the dtype of its operand, or the one that its operands promote to. "Floating": ints and bools
//   become f32, those of 64 bits and numbers the default float. Integer arithmetic wraps;
// * NaN where it reads NaN;
// * dims with the axes of the operand dims that they come from. Operands that differ in one dim are
//   refused unless one is unsharded there; `out_sharding` decides otherwise. Unreduced operands are
//   refused by all functions that are not linear in them (docs/typing.md).
// "Strict": operands have one dtype and the shapes that are named; nothing promotes or broadcasts.
#pragma once
#include <concepts>
#include <iterator>
#include <string_view>
#include <type_traits>
#include <vector>

#include "tessera/array.h"
#include "tessera/options.h"

namespace TESSERA_PUBLIC tessera {

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

namespace detail {
// Host memory that array() copies from.
struct HostData {
  const void* data;
  int64_t size;
  DType dtype;
};
Array ArrayFromHost(HostData host, ArrayOptions options, Loc loc);
}  // namespace detail

// Returns an array of the numbers, shaped as their braces nest: of bools bool, of ints the default
// int, with a float among them the default float.
Array array(Nested values, ArrayOptions options = {}, Loc loc = Loc::Current());
// Returns a copy of a host container: 1-D of its element type, or `shape`.
template <class R>
requires requires(const R& r) {
  *std::data(r);
  std::size(r);
}
Array array(const R& values, ArrayOptions options = {}, Loc loc = Loc::Current()) {
  using E = std::remove_cvref_t<decltype(*std::data(values))>;
  return detail::ArrayFromHost(
      {std::data(values), static_cast<int64_t>(std::size(values)), dtype_of<E>()},
      std::move(options), loc);
}
template <class V>
requires std::is_same_v<V, std::vector<bool>> Array array(const V& values,
                                                          ArrayOptions options = {},
                                                          Loc loc = Loc::Current()) {
  std::vector<unsigned char> bytes(values.begin(), values.end());
  return detail::ArrayFromHost({bytes.data(), static_cast<int64_t>(bytes.size()), bool_},
                               std::move(options), loc);
}
// Returns a value of the named type without data: ops on it only check types.
Array abstract_array(std::string_view type_text, Loc loc = Loc::Current());

// Arrays of one value are replicated on the current mesh unless told otherwise.

// Returns zeros [shape], of the default float.
Array zeros(Shape shape, CreateOptions options = {}, Loc loc = Loc::Current());
// Returns ones [shape], of the default float.
Array ones(Shape shape, CreateOptions options = {}, Loc loc = Loc::Current());
// Returns the value everywhere [shape], in its dtype; an array as the value is broadcast.
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
// Returns zeros with the shape, dtype and sharding of x, unless told otherwise.
Array zeros_like(Operand x, CreateOptions options = {}, Loc loc = Loc::Current());
// Returns ones with the shape, dtype and sharding of x, unless told otherwise.
Array ones_like(Operand x, CreateOptions options = {}, Loc loc = Loc::Current());
// Returns the value everywhere, with the shape, dtype and sharding of x, unless told otherwise.
Array full_like(Operand x, Operand value, CreateOptions options = {}, Loc loc = Loc::Current());
// Returns an array [shape] of which each element is its own index along `dim`; default int.
Array iota(Shape shape, int dim, CreateOptions options = {}, Loc loc = Loc::Current());
// Returns start, start + step, ... before stop [n], in the default int, or the default float if one
// of them is a float. The stop is not included, and a range that leads away from it is empty.
Array arange(Scalar stop, CreateOptions options = {}, Loc loc = Loc::Current());
Array arange(Scalar start, Scalar stop, CreateOptions options = {}, Loc loc = Loc::Current());
Array arange(Scalar start, Scalar stop, Scalar step, CreateOptions options = {},
             Loc loc = Loc::Current());
// Returns a matrix [n, columns] with ones on a diagonal and zeros elsewhere: the n x n identity of
// the default float, unless told otherwise.
Array eye(int64_t n, EyeOptions options = {}, Loc loc = Loc::Current());
// Returns n numbers from lo to hi, evenly spaced: [n, ...], the dims of lo and hi behind. The dtype
// is floating unless asked for otherwise; ints are rounded down.
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

// Of numbers: ints stay ints.
Array abs(Operand x, Loc loc = Loc::Current());     // |x|; bools and unsigned as they are
Array neg(Operand x, Loc loc = Loc::Current());     // -x; linear; refuses bools
Array sign(Operand x, Loc loc = Loc::Current());    // -1, 0 or 1, and -0 of -0; refuses bools
Array square(Operand x, Loc loc = Loc::Current());  // x * x; bools count as i32
Array ceil(Operand x, Loc loc = Loc::Current());    // rounds up; ints and bools as they are
Array floor(Operand x, Loc loc = Loc::Current());   // rounds down; ints and bools as they are
Array relu(Operand x, Loc loc = Loc::Current());    // max(x, 0); bools become the default int

// Floating. NaN outside of the domain of the function.
Array exp(Operand x, Loc loc = Loc::Current());         // e^x
Array exp2(Operand x, Loc loc = Loc::Current());        // 2^x
Array expm1(Operand x, Loc loc = Loc::Current());       // e^x - 1, accurate near 0
Array log(Operand x, Loc loc = Loc::Current());         // natural logarithm; -inf at 0
Array log2(Operand x, Loc loc = Loc::Current());        // logarithm to base 2
Array log10(Operand x, Loc loc = Loc::Current());       // logarithm to base 10
Array log1p(Operand x, Loc loc = Loc::Current());       // log(1 + x), accurate near 0
Array sqrt(Operand x, Loc loc = Loc::Current());        // square root
Array rsqrt(Operand x, Loc loc = Loc::Current());       // 1 / sqrt(x); inf at 0
Array cbrt(Operand x, Loc loc = Loc::Current());        // cube root, also of negative numbers
Array reciprocal(Operand x, Loc loc = Loc::Current());  // 1 / x; inf at 0, -inf at -0
Array sin(Operand x, Loc loc = Loc::Current());         // sine, of radians
Array cos(Operand x, Loc loc = Loc::Current());         // cosine
Array tan(Operand x, Loc loc = Loc::Current());         // tangent
Array asin(Operand x, Loc loc = Loc::Current());        // inverse of sin, in [-pi/2, pi/2]
Array acos(Operand x, Loc loc = Loc::Current());        // inverse of cos, in [0, pi]
Array atan(Operand x, Loc loc = Loc::Current());        // inverse of tan, in [-pi/2, pi/2]
Array sinh(Operand x, Loc loc = Loc::Current());        // (e^x - e^-x) / 2
Array cosh(Operand x, Loc loc = Loc::Current());        // (e^x + e^-x) / 2
Array tanh(Operand x, Loc loc = Loc::Current());        // sinh(x) / cosh(x)
Array asinh(Operand x, Loc loc = Loc::Current());       // inverse of sinh
Array acosh(Operand x, Loc loc = Loc::Current());       // inverse of cosh, at least 0
Array atanh(Operand x, Loc loc = Loc::Current());       // inverse of tanh; inf at 1
Array erf(Operand x, Loc loc = Loc::Current());         // error function
Array erfc(Operand x, Loc loc = Loc::Current());        // 1 - erf(x), accurate for large x
Array erf_inv(Operand x, Loc loc = Loc::Current());     // inverse of erf; inf at 1
Array lgamma(Operand x, Loc loc = Loc::Current());      // log |gamma(x)|; inf at 0, -1, ...
Array digamma(Operand x, Loc loc = Loc::Current());     // derivative of lgamma; NaN at 0, -1, ...
Array softplus(Operand x, Loc loc = Loc::Current());    // log(1 + e^x) without overflow
Array logistic(Operand x, Loc loc = Loc::Current());    // 1 / (1 + e^-x); refuses ints and bools
Array silu(Operand x, Loc loc = Loc::Current());        // x * logistic(x); refuses ints and bools
// Returns e^-|x| I_0(x), the modified Bessel function of the first kind of order 0, scaled so that
// it does not overflow; floating. NaN stays; infinities give 0.
Array bessel_i0e(Operand x, Loc loc = Loc::Current());
// Returns e^-|x| I_1(x), the same of order 1; it has the sign of x.
Array bessel_i1e(Operand x, Loc loc = Loc::Current());
// Returns x times the normal distribution function of x; floating. By tanh, unless .approximate is
// false.
Array gelu(Operand x, GeluOptions options = {}, Loc loc = Loc::Current());

// Bool.
Array is_finite(Operand x, Loc loc = Loc::Current());    // neither infinite nor NaN; converts ints
Array isfinite(Operand x, Loc loc = Loc::Current());     // the same, without converting
Array isnan(Operand x, Loc loc = Loc::Current());        // NaN; false of ints
Array isinf(Operand x, Loc loc = Loc::Current());        // inf or -inf; false of ints
Array logical_not(Operand x, Loc loc = Loc::Current());  // x == 0, so false of NaN

// Of bits: x's dtype, no floats.
Array bitwise_not(Operand x, Loc loc = Loc::Current());       // bits flipped; of bools the negation
Array population_count(Operand x, Loc loc = Loc::Current());  // number of ones; refuses bools
Array clz(Operand x, Loc loc = Loc::Current());               // leading zeros; refuses bools

// Returns x rounded to whole numbers or to `decimals`, ties to even, in x's dtype. Ints and bools
// stay as they are, except ints with negative .decimals. The op `round_away` is .away_from_zero.
Array round(Operand x, RoundOptions options = {}, Loc loc = Loc::Current());
// Returns x rounded to whole numbers, ties to even, as round; but bools and ints become the default
// float.
Array rint(Operand x, Loc loc = Loc::Current());
// Returns x with finite numbers for NaN and infinities; ints and bools as they are. Throws
// DTypeError for a number that is too large for x's dtype.
Array nan_to_num(Operand x, NanToNumOptions options = {}, Loc loc = Loc::Current());
// Returns x to the n-th power by repeated products: bools stay bools, and ints refuse n < 0 with a
// DTypeError. x^0 is 1, also of NaN. For other exponents: pow.
Array integer_pow(Operand x, int64_t n, Loc loc = Loc::Current());
// Returns x; the compiler moves nothing across it.
Array optimization_barrier(Operand x, Loc loc = Loc::Current());
// x, which counts as a constant when derivatives are taken (gradients.h).
Array stop_gradient(Operand x, Loc loc = Loc::Current());
// Returns x converted. Float to int saturates, NaN gives 0; int to int wraps; to bool is x != 0.
Array astype(Operand x, DType dtype, Loc loc = Loc::Current());
// The same, under the op's name.
Array convert_element_type(Operand x, DType dtype, Loc loc = Loc::Current());
// Returns the same bits as elements of `dtype`. Narrower ones get a new last dim; for wider ones
// the last dim of x has as many as make one, and goes. Refuses bools.
Array bitcast_convert_type(Operand x, DType dtype, Loc loc = Loc::Current());

// ---- elementwise, two operands: dtypes promote, shapes broadcast ----

// a + b; of two bools: or.
Array add(Operand a, Operand b, OutOptions options = {}, Loc loc = Loc::Current());
// a - b; refuses two bools.
Array sub(Operand a, Operand b, OutOptions options = {}, Loc loc = Loc::Current());
// a * b; of two bools: and.
Array mul(Operand a, Operand b, OutOptions options = {}, Loc loc = Loc::Current());
// a / b. Ints truncate towards 0, and x / 0 has every bit set; refuses two bools.
Array div(Operand a, Operand b, OutOptions options = {}, Loc loc = Loc::Current());
// `/`: a / b, floating. x / 0 is infinite, 0 / 0 is NaN.
Array divide(Operand a, Operand b, OutOptions options = {}, Loc loc = Loc::Current());
// a / b rounded down, where div truncates; two bools count as i32.
Array floor_divide(Operand a, Operand b, OutOptions options = {}, Loc loc = Loc::Current());
// a - b * trunc(a / b), with the sign of a, as C's %. x rem 0 is x of ints, NaN of floats;
// refuses two bools.
Array rem(Operand a, Operand b, OutOptions options = {}, Loc loc = Loc::Current());
// `%`: a - b * floor(a / b), with the sign of b, as Python's. x % 0 is 0 of ints, NaN of floats;
// two bools count as i32.
Array remainder(Operand a, Operand b, OutOptions options = {}, Loc loc = Loc::Current());
// a^b; bools count as i32. Ints stay ints: a plain negative number as b is refused, and where an
// array b is negative the result has no meaning. x^0 is 1, also of NaN.
Array pow(Operand a, Operand b, OutOptions options = {}, Loc loc = Loc::Current());
// The larger of each two elements (`max` reduces dims); NaN if either is; bools stay bools.
Array maximum(Operand a, Operand b, OutOptions options = {}, Loc loc = Loc::Current());
// The smaller of each two elements (`min` reduces dims); NaN if either is; bools stay bools.
Array minimum(Operand a, Operand b, OutOptions options = {}, Loc loc = Loc::Current());
// The angle of the point (b, a), in [-pi, pi]; floating.
Array atan2(Operand a, Operand b, OutOptions options = {}, Loc loc = Loc::Current());
// Hurwitz zeta function, the sum of (q + k)^-s over k >= 0; floating. inf where s is 1 and, of even
// s, at q = 0, -1, ...; NaN where s < 1, at those q of other s, and below 0 where s is not whole.
// Derivatives are with respect to q only.
Array zeta(Operand s, Operand q, OutOptions options = {}, Loc loc = Loc::Current());
// The n-th derivative of digamma at x; floating. NaN where n is negative or not whole. Derivatives
// are with respect to x only.
Array polygamma(Operand n, Operand x, Loc loc = Loc::Current());
// sqrt(a^2 + b^2) without overflow; floating. Infinite if either is, also beside NaN.
Array hypot(Operand a, Operand b, OutOptions options = {}, Loc loc = Loc::Current());
// The number of the dtype next to a on the way to b; floating.
Array nextafter(Operand a, Operand b, OutOptions options = {}, Loc loc = Loc::Current());
// Returns log(e^a + e^b) without overflow; floating.
Array logaddexp(Operand a, Operand b, OutOptions options = {}, Loc loc = Loc::Current());
// Whether a == b: bool; false if either is NaN.
Array eq(Operand a, Operand b, OutOptions options = {}, Loc loc = Loc::Current());
// Whether a != b: bool; true if either is NaN.
Array ne(Operand a, Operand b, OutOptions options = {}, Loc loc = Loc::Current());
// Whether a < b: bool; false if either is NaN.
Array lt(Operand a, Operand b, OutOptions options = {}, Loc loc = Loc::Current());
// Whether a <= b: bool; false if either is NaN.
Array le(Operand a, Operand b, OutOptions options = {}, Loc loc = Loc::Current());
// Whether a > b: bool; false if either is NaN.
Array gt(Operand a, Operand b, OutOptions options = {}, Loc loc = Loc::Current());
// Whether a >= b: bool; false if either is NaN.
Array ge(Operand a, Operand b, OutOptions options = {}, Loc loc = Loc::Current());
// Whether both are nonzero: bool. NaN is nonzero.
Array logical_and(Operand a, Operand b, OutOptions options = {}, Loc loc = Loc::Current());
// Whether either is nonzero: bool.
Array logical_or(Operand a, Operand b, OutOptions options = {}, Loc loc = Loc::Current());
// Whether exactly one is nonzero: bool.
Array logical_xor(Operand a, Operand b, OutOptions options = {}, Loc loc = Loc::Current());
// a & b, bit by bit; refuses floats. Of bools the same as logical_and.
Array bitwise_and(Operand a, Operand b, OutOptions options = {}, Loc loc = Loc::Current());
// a | b; refuses floats.
Array bitwise_or(Operand a, Operand b, OutOptions options = {}, Loc loc = Loc::Current());
// a ^ b; refuses floats.
Array bitwise_xor(Operand a, Operand b, OutOptions options = {}, Loc loc = Loc::Current());
// a << b; refuses floats, bools count as i32. 0 where b is negative or not less than the width.
Array shift_left(Operand a, Operand b, OutOptions options = {}, Loc loc = Loc::Current());
// a >> b with copies of the highest bit, also of unsigned dtypes; the operator `>>` of signed ones.
Array shift_right_arithmetic(Operand a, Operand b, OutOptions options = {},
                             Loc loc = Loc::Current());
// a >> b with zeros; the operator `>>` of unsigned dtypes.
Array shift_right_logical(Operand a, Operand b, OutOptions options = {}, Loc loc = Loc::Current());

// Returns a where c is not 0, NaN included, and b elsewhere; a and b promote, and all broadcast.
Array where(Operand c, Operand a, Operand b, OutOptions options = {}, Loc loc = Loc::Current());
// Returns cases[which]: `which` is bool (two cases) or i32, a scalar or of the cases' shape, and an
// i32 outside names the first or the last case; strict.
Array select_n(Operand which, std::vector<Array> cases, OutOptions options = {},
               Loc loc = Loc::Current());
// Returns min(max(x, lo), hi), so hi where lo > hi, and NaN where any of them is; the bounds are
// scalars or of x's shape, and of x's dtype; strict.
Array clamp(Operand lo, Operand x, Operand hi, Loc loc = Loc::Current());
// The same, but x and the bounds promote and broadcast.
Array clip(Operand x, Operand lo, Operand hi, Loc loc = Loc::Current());

// Returns whether |a - b| <= atol + rtol * |b|, in floating point; bool, broadcast. Infinities are
// close to themselves.
Array isclose(Operand a, Operand b, CloseOptions options = {}, Loc loc = Loc::Current());
// Returns whether all elements are close: bool [].
Array allclose(Operand a, Operand b, CloseOptions options = {}, Loc loc = Loc::Current());
// Returns whether a and b have one shape and equal elements, whatever their dtypes: bool [].
Array array_equal(Operand a, Operand b, EqualOptions options = {}, Loc loc = Loc::Current());

// ---- shape ----

// Returns x with its elements in row-major order under another shape; one size may be -1. Throws
// ShardingError for nearly all reshapes that would move data (docs/typing.md).
Array reshape(Operand x, Shape shape, OutOptions options = {}, Loc loc = Loc::Current());
// Returns x with its dims in another order, axes included: dim i is dim dims[i] of x; All reverses.
Array transpose(Operand x, Dims dims = All, Loc loc = Loc::Current());
// Returns x with dims source[i] at positions destination[i], the others in order. Throws ShapeError
// unless both name equally many.
Array moveaxis(Operand x, Dims source, Dims destination, Loc loc = Loc::Current());
// Returns x with two dims in each other's place.
Array swapaxes(Operand x, int dim1, int dim2, Loc loc = Loc::Current());
// Returns the elements of x in row-major order, 1-D.
Array ravel(Operand x, OutOptions options = {}, Loc loc = Loc::Current());
// Returns x, or a scalar as an array [1].
Array atleast_1d(Operand x, Loc loc = Loc::Current());
// Returns x with dims of size 1 in front, up to rank 2.
Array atleast_2d(Operand x, Loc loc = Loc::Current());
// Returns x repeated to `shape`, of which dim dims[i] is x's dim i, of the same size or 1 in x.
Array broadcast_in_dim(Operand x, Shape shape, Dims dims, OutOptions options = {},
                       Loc loc = Loc::Current());
// Returns x repeated to `shape`, whose last dims are x's, of the same size or 1 in x.
Array broadcast_to(Operand x, Shape shape, OutOptions options = {}, Loc loc = Loc::Current());
// Returns x with dims of size 1 at these positions of the result.
Array expand_dims(Operand x, Dims dims, Loc loc = Loc::Current());
// Returns x without these dims, which must have size 1; All: without every dim of size 1.
Array squeeze(Operand x, Dims dims = All, Loc loc = Loc::Current());
// Returns the arrays joined along `dim`, in which alone they may differ; dtypes promote. If `dim`
// is sharded, it must be so alike in all; elements then move between devices.
Array concatenate(std::vector<Array> xs, int dim = 0, Loc loc = Loc::Current());
// Returns the arrays, of one shape, along a new dim; dtypes promote.
Array stack(std::vector<Array> xs, int dim = 0, Loc loc = Loc::Current());
// Returns x and the values joined along `dim`; without it both are flattened first.
Array append(Operand x, Operand values, Loc loc = Loc::Current());
Array append(Operand x, Operand values, int dim, Loc loc = Loc::Current());
// Returns the slices x[..., i, ...] for every i of `dim`, without that dim, which is not sharded.
std::vector<Array> unstack(Operand x, int dim = 0, Loc loc = Loc::Current());
// Returns x cut along `dim` into pieces of these sizes; a number instead: into so many equal ones.
std::vector<Array> split(Operand x, Shape sizes, int dim = 0, Loc loc = Loc::Current());
namespace detail {
std::vector<Array> SplitEvenly(const Operand& x, int64_t parts, int dim, Loc loc);
}
template <Integer T>
std::vector<Array> split(Operand x, T parts, int dim = 0, Loc loc = Loc::Current()) {
  return detail::SplitEvenly(x, static_cast<int64_t>(parts), dim, loc);
}
// Returns x[start:limit:stride] in every dim, where 0 <= start <= limit <= size. The shards of a
// dim must divide its new size, as for pad and dynamic_slice; data then moves between them.
Array slice(Operand x, std::vector<int64_t> starts, std::vector<int64_t> limits,
            std::vector<int64_t> strides = {}, Loc loc = Loc::Current());
// Returns the part of x of these sizes that begins at `starts` (integer scalars, one per dim),
// moved inside if it would reach over an edge. A negative start counts from the end.
Array dynamic_slice(Operand x, std::vector<Array> starts, Shape sizes, Loc loc = Loc::Current());
// Returns x with `update` written at `starts`, moved inside as above. The update has x's dtype, and
// where it is smaller than x a dim must be sharded alike in both.
Array dynamic_update_slice(Operand x, Operand update, std::vector<Array> starts,
                           Loc loc = Loc::Current());
struct Padding {
  int64_t low = 0, high = 0, interior = 0;
};
// Returns x with `value`, of x's dtype, around it and between its elements; negative edges cut.
Array pad(Operand x, std::vector<Padding> padding, Operand value = 0, Loc loc = Loc::Current());
// Returns x with the elements of these dims in reverse order; shards of such dims change places.
Array rev(Operand x, Dims dims, Loc loc = Loc::Current());
// The same, of all dims by default.
Array flip(Operand x, Dims dims = All, Loc loc = Loc::Current());
// Returns x repeated as a whole reps[i] times along dim i, or the last dims if there are fewer
// reps. Throws ShardingError where such a dim is sharded.
Array tile(Operand x, Shape reps, Loc loc = Loc::Current());
// Returns x with each element along `dim` repeated n times in place; a sharded `dim` needs an
// out_sharding.
Array repeat(Operand x, int64_t n, int dim, OutOptions options = {}, Loc loc = Loc::Current());
// Returns x shifted along `dim`; elements that leave at one end re-enter at the other. A sharded
// `dim` stays so, and elements move between devices.
Array roll(Operand x, int64_t shift, int dim, Loc loc = Loc::Current());
// Returns the elements of `dim` at integer `indices` [...]: [outer..., indices..., inner...].
// Negative indices count from the end; outside ones give NaN (ints: the lowest or, unsigned,
// highest). A sharded `dim` needs an out_sharding.
Array take(Operand x, Operand indices, int dim, OutOptions options = {}, Loc loc = Loc::Current());

// Returns the differences of neighbours along `dim`, n times over: that dim is n shorter. Bools:
// whether they differ.
Array diff(Operand x, int dim = -1, DiffOptions options = {}, Loc loc = Loc::Current());

// ---- matrices ----

// Returns x [..., n, m] with zeros above the k-th diagonal of the last two dims; k > 0 is above the
// main one. Nothing moves.
Array tril(Operand x, int64_t k = 0, Loc loc = Loc::Current());
// Returns x [..., n, m] with zeros below that diagonal.
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

// ---- reduce: [...] without `dims`; these default to all, and {} reduces nothing ----
//
// What is sharded over a reduced dim is combined on all devices, unless out_sharding leaves it
// unreduced.

// Sum. Bools and ints smaller than the default int become that, unsigned ones its unsigned twin;
// reduce_sum does not widen.
Array sum(Operand x, Dims dims = All, ReduceOptions options = {}, Loc loc = Loc::Current());
// Product; widens as sum does.
Array prod(Operand x, Dims dims = All, ReduceOptions options = {}, Loc loc = Loc::Current());
// Largest element (`maximum` compares two arrays); NaN wins. Throws ShapeError for an empty dim.
Array max(Operand x, Dims dims = All, ReduceOptions options = {}, Loc loc = Loc::Current());
// Smallest element; NaN wins. Throws ShapeError for an empty dim.
Array min(Operand x, Dims dims = All, ReduceOptions options = {}, Loc loc = Loc::Current());
// Sum divided by the number of elements; floating, f16 and bf16 summed in f32. NaN for an empty
// dim.
Array mean(Operand x, Dims dims = All, ReduceOptions options = {}, Loc loc = Loc::Current());
// Whether some element is not 0, NaN included: bool; false for an empty dim.
Array any(Operand x, Dims dims = All, ReduceOptions options = {}, Loc loc = Loc::Current());
// Whether every element is not 0, NaN included: bool; true for an empty dim.
Array all(Operand x, Dims dims = All, ReduceOptions options = {}, Loc loc = Loc::Current());
// log(sum(e^x)) without overflow; floating; -inf for an empty dim.
Array logsumexp(Operand x, Dims dims = All, ReduceOptions options = {}, Loc loc = Loc::Current());
// Mean square distance from the mean, by n - ddof; floating, as mean. NaN unless n > ddof.
Array var(Operand x, Dims dims = All, VarOptions options = {}, Loc loc = Loc::Current());
// The square root of var.
Array stddev(Operand x, Dims dims = All, VarOptions options = {}, Loc loc = Loc::Current());
// Largest element less the smallest; refuses bools.
Array ptp(Operand x, Dims dims = All, ReduceOptions options = {}, Loc loc = Loc::Current());
// Returns how many elements are not 0, NaN included; default int.
Array count_nonzero(Operand x, Dims dims = All, ReduceOptions options = {},
                    Loc loc = Loc::Current());
// Returns sum(x * weights) / sum(weights), floating; the mean without weights. Throws ShapeError
// for weights of another shape.
Array average(Operand x, Dims dims = All, AverageOptions options = {}, Loc loc = Loc::Current());
// Returns the norm of vectors (one dim) or matrices (two dims: rows, columns), floating. Vectors
// have any order p, infinities and 0 (how many are not 0) included; matrices Frobenius's (no
// `ord`), 1, -1 and both infinities. Of all dims without `ord`: the 2-norm of all elements. Throws
// ShapeError for other orders (2, -2 and nuclear are not supported) and more dims.
Array norm(Operand x, Dims dims = All, NormOptions options = {}, Loc loc = Loc::Current());
// Returns the index of the first largest element along `dim`; of the first NaN, if there is one.
// Default int.
Array argmax(Operand x, int dim, ArgOptions options = {}, Loc loc = Loc::Current());
// Returns that of the first smallest element; of the first NaN, if there is one. Default int.
Array argmin(Operand x, int dim, ArgOptions options = {}, Loc loc = Loc::Current());
// The ops themselves: nothing widens, dims must be named, and there is a result for no elements.
// Sum; 0 for an empty dim; refuses bools.
Array reduce_sum(Operand x, Dims dims, OutOptions options = {}, Loc loc = Loc::Current());
// Product; 1 for an empty dim; refuses bools.
Array reduce_prod(Operand x, Dims dims, OutOptions options = {}, Loc loc = Loc::Current());
// Largest; NaN wins; -inf, or the lowest int, for an empty dim.
Array reduce_max(Operand x, Dims dims, OutOptions options = {}, Loc loc = Loc::Current());
// Smallest; NaN wins; inf, or the highest int, for an empty dim.
Array reduce_min(Operand x, Dims dims, OutOptions options = {}, Loc loc = Loc::Current());
// Bitwise and; of bools the same as `all`; refuses floats.
Array reduce_and(Operand x, Dims dims, OutOptions options = {}, Loc loc = Loc::Current());
// Bitwise or; of bools the same as `any`; refuses floats.
Array reduce_or(Operand x, Dims dims, OutOptions options = {}, Loc loc = Loc::Current());

// Running reductions along `dim`, the element itself included: [...], in x's dtype, except that
// bools become the default int; ints are not widened as sum does. Throws ShardingError for a
// sharded `dim`. NaN from the first one on.

// Sum so far.
Array cumsum(Operand x, int dim, CumOptions options = {}, Loc loc = Loc::Current());
// Product so far.
Array cumprod(Operand x, int dim, CumOptions options = {}, Loc loc = Loc::Current());
// Largest so far.
Array cummax(Operand x, int dim, CumOptions options = {}, Loc loc = Loc::Current());
// Smallest so far.
Array cummin(Operand x, int dim, CumOptions options = {}, Loc loc = Loc::Current());
// log(sum(e^x)) so far, without overflow; floating.
Array cumlogsumexp(Operand x, int dim, CumOptions options = {}, Loc loc = Loc::Current());

// ---- multiply: sums of products, of bools `or` of `and` ----
//
// A contracted dim that is sharded alike on both sides needs an out_sharding; of one that is
// sharded on one side, the sums are combined on all devices. Results are not widened: .dtype asks
// for that.

// Returns products summed over the contracted dims: [batch..., lhs free..., rhs free...].
Array dot_general(Operand a, Operand b, DotDims dims, DotOptions options = {},
                  Loc loc = Loc::Current());
// [..., m, k] x [..., k, n] -> [..., m, n]: leading dims are a batch and broadcast. A 1-D operand
// is a row on the left, a column on the right, and its dim is not in the result. Refuses scalars.
Array matmul(Operand a, Operand b, DotOptions options = {}, Loc loc = Loc::Current());
// [a..., k] x [b..., k, n] or [k] -> [a..., b..., n]: no batch dims, unlike matmul, and a scalar
// multiplies.
Array dot(Operand a, Operand b, DotOptions options = {}, Loc loc = Loc::Current());
// Contracts the dims that are named, as dot_general; or the last `dims` of a with the first of b:
// [other dims of a..., other dims of b...].
Array tensordot(Operand a, Operand b, DotDims dims, DotOptions options = {},
                Loc loc = Loc::Current());
Array tensordot(Operand a, Operand b, int dims = 2, DotOptions options = {},
                Loc loc = Loc::Current());
// Returns products of all elements of a with all of b: [elements of a, elements of b].
Array outer(Operand a, Operand b, OutOptions options = {}, Loc loc = Loc::Current());
// Returns products summed over both last dims: [a..., b...]; a scalar multiplies.
Array inner(Operand a, Operand b, DotOptions options = {}, Loc loc = Loc::Current());
// Returns the sum of products of all elements, of arrays of any shapes: []. Throws ShapeError
// unless a and b have equally many.
Array vdot(Operand a, Operand b, DotOptions options = {}, Loc loc = Loc::Current());
// Returns a with each element replaced by its product with b: dim d has size a[d] * b[d].
Array kron(Operand a, Operand b, OutOptions options = {}, Loc loc = Loc::Current());
// einsum("bh,hk->bk", {a, b}): a letter per dim, "..." for leading dims; sums over the letters that
// the result lacks. Without "->" the result has those that occur once, in alphabetical order.
Array einsum(std::string_view subscripts, std::vector<Array> operands, DotOptions options = {},
             Loc loc = Loc::Current());

// Returns x [..., n, k] with a x = b [..., n, k], a being tridiagonal: dl, d and du [..., n] are
// the diagonals below, on and above its main one; dl's first and du's last element are not read.
// NaN where a matrix is singular. Strict, f32 or f64; n must not be sharded.
Array tridiagonal_solve(Operand dl, Operand d, Operand du, Operand b, Loc loc = Loc::Current());

// ---- sort and look up: throws ShardingError where the sorted dim is sharded ----

// Returns x in ascending order along `dim`, NaN last; descending: the same from back to front.
Array sort(Operand x, int dim = -1, SortOptions options = {}, Loc loc = Loc::Current());
// Returns all arrays, of one shape, in the order of the first num_keys of them; equal elements stay
// in their order, also in descending order.
std::vector<Array> sort(std::vector<Array> xs, int dim = -1, SortOptions options = {},
                        Loc loc = Loc::Current());
// Returns the indices that sort x, equal elements in their order: x's shape, default int.
Array argsort(Operand x, int dim = -1, SortOptions options = {}, Loc loc = Loc::Current());
struct TopK {
  Array values, indices;
};
// Returns the k largest along the last dim, the largest first, and their indices; NaN is larger
// than all numbers, and of equal elements the first ones are taken.
TopK top_k(Operand x, int64_t k, Loc loc = Loc::Current());
// Returns 1 where the index along a new dim of size n equals x, else 0, so zeros for an x outside;
// default float.
Array one_hot(Operand x, int64_t n, OneHotOptions options = {}, Loc loc = Loc::Current());

// ---- composed: floating; a NaN spreads over all of `dims` ----

// Returns e^x / sum(e^x) over `dims`, without overflow: [...].
Array softmax(Operand x, Dims dims = -1, Loc loc = Loc::Current());
// Returns the logarithm of softmax, accurate also where softmax is tiny: [...].
Array log_softmax(Operand x, Dims dims = -1, Loc loc = Loc::Current());
// Returns (x - mean) / sqrt(var + epsilon) * scale + bias over `dims`; scale and bias broadcast.
Array layer_norm(Operand x, Operand scale, Operand bias, Dims dims = -1,
                 LayerNormOptions options = {}, Loc loc = Loc::Current());

// ---- placement ----

// Returns x laid out as `spec` says, on the current mesh. Moves data and does nothing else. Throws
// ShardingError for unknown axes and sizes that do not divide.
Array reshard(Operand x, PartitionSpec spec, Loc loc = Loc::Current());
// The same onto another mesh over the same devices.
Array reshard(Operand x, Sharding sharding, Loc loc = Loc::Current());
// Returns x. Over Auto axes propagation starts from `spec`; over Explicit ones it is an assertion,
// and x must be laid out so already (ShardingError).
Array with_sharding_constraint(Operand x, PartitionSpec spec, Loc loc = Loc::Current());

}  // namespace tessera
