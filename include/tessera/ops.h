// Array functions. A function named after an op of program text applies that op (`reduce_sum`,
// `select_n`, `div`). Functions with NumPy's names combine ops and fill in defaults (`sum`,
// `where`, `divide`). All functions throw ShapeError, DTypeError or ShardingError at the
// caller's line.
//
// Shapes are in brackets. Unless its comment says otherwise, a function returns
// * the dtype of its operand, or the dtype its operands promote to. "Floating": ints and bools
//   become f32; 64-bit ints and plain numbers become the default float. Integer arithmetic wraps;
// * NaN for operands that are NaN;
// * dims with the mesh axes of the operand dims they come from. Operands whose shardings differ in
//   a dim are refused, unless one of them is unsharded there; `out_sharding` resolves the conflict.
//   Only functions that are linear in an operand accept it unreduced (docs/typing.md).
// "Strict": operands must have the same dtype and the stated shapes; nothing promotes
// or broadcasts.
#pragma once
#include <concepts>
#include <iterator>
#include <string_view>
#include <type_traits>
#include <vector>

#include "tessera/array.h"
#include "tessera/options.h"
#include "tessera/sort.h"

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
template <class T>
concept Text = std::convertible_to<const T&, std::string_view>;
}  // namespace detail

// Returns an array of the numbers, with the shape of the nested braces. The dtype is bool for
// bools, the default int for ints, the default float if any number is a float, and its complex
// dtype (c64 for floats of up to 32 bits) if any is complex.
Array array(Nested values, ArrayOptions options = {}, Loc loc = Loc::Current());
// Returns a copy of a host container: [n], or `shape` if given. The numbers of a container have a
// type, which the array keeps: array({0.1}) is in the default float, and
// array(std::vector<double>{0.1}) in f64.
template <class R>
requires(!detail::Text<R> && requires(const R& r) {
  *std::data(r);
  std::size(r);
}) Array array(const R& values, ArrayOptions options = {}, Loc loc = Loc::Current()) {
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
template <detail::Text T>
Array array(const T&, ArrayOptions = {}) = delete;  // text is not read: array({1, 2, 3})
// Returns an abstract array of the given type, without data: ops on it only check types.
Array abstract_array(std::string_view type_text, Loc loc = Loc::Current());

// The following arrays are replicated on the current mesh unless the options set a sharding.

// Returns zeros [shape] in the default float.
Array zeros(Shape shape, CreateOptions options = {}, Loc loc = Loc::Current());
// Returns ones [shape] in the default float.
Array ones(Shape shape, CreateOptions options = {}, Loc loc = Loc::Current());
// Returns an array [shape] filled with the value, in its dtype. An array value is broadcast.
Array full(Shape shape, Operand value, CreateOptions options = {}, Loc loc = Loc::Current());
// Returns zeros with the shape, dtype and sharding of x; the options override dtype and sharding.
Array zeros_like(Operand x, CreateOptions options = {}, Loc loc = Loc::Current());
// Returns ones with the shape, dtype and sharding of x; the options override dtype and sharding.
Array ones_like(Operand x, CreateOptions options = {}, Loc loc = Loc::Current());
// Returns an array filled with the value, with the shape, dtype and sharding of x; the options
// override dtype and sharding.
Array full_like(Operand x, Operand value, CreateOptions options = {}, Loc loc = Loc::Current());
// Returns an array [shape] whose elements are their own index along `dim`; default int.
Array iota(Shape shape, int dim, CreateOptions options = {}, Loc loc = Loc::Current());
// Returns start, start + step, ... up to but not including stop: [n]. The dtype is the default int,
// or the default float if any argument is a float. A step that leads away from the stop gives [0].
Array arange(Scalar stop, CreateOptions options = {}, Loc loc = Loc::Current());
Array arange(Scalar start, Scalar stop, CreateOptions options = {}, Loc loc = Loc::Current());
Array arange(Scalar start, Scalar stop, Scalar step, CreateOptions options = {},
             Loc loc = Loc::Current());
// Returns a matrix [n, columns] with ones on one diagonal and zeros elsewhere. By default it is the
// n x n identity in the default float.
Array eye(int64_t n, EyeOptions options = {}, Loc loc = Loc::Current());
// Returns n evenly spaced numbers from lo to hi: [n, ...], followed by the dims of lo and hi.
// Floating unless .dtype is set; an int dtype rounds down.
Array linspace(Operand lo, Operand hi, int64_t n, LinspaceOptions options = {},
               Loc loc = Loc::Current());

// Returns base raised to n evenly spaced powers from lo to hi: [n, ...], followed by the dims of lo
// and hi. Floating unless .dtype is set.
Array logspace(Operand lo, Operand hi, int64_t n = 50, LogspaceOptions options = {},
               Loc loc = Loc::Current());
// Returns the n 1-D operands, each broadcast along the dims of the others to rank n. Each result
// has the dtype of its operand, and the operand's sharding in its own dim. Throws ShapeError unless
// all operands have rank 1.
std::vector<Array> meshgrid(std::vector<Array> xs, MeshgridOptions options = {},
                            Loc loc = Loc::Current());

// ---- elementwise, one operand: [...] -> [...], the operand's sharding ----

// Ints stay ints.
Array abs(Operand x, Loc loc = Loc::Current());     // |x|, real; bools and unsigned ints unchanged
Array neg(Operand x, Loc loc = Loc::Current());     // -x; linear; refuses bools
Array sign(Operand x, Loc loc = Loc::Current());    // -1, 0 or 1; -0 for -0; refuses bools
Array square(Operand x, Loc loc = Loc::Current());  // x * x; bools count as i32
Array ceil(Operand x, Loc loc = Loc::Current());    // rounds up; ints and bools unchanged
Array floor(Operand x, Loc loc = Loc::Current());   // rounds down; ints and bools unchanged
Array relu(Operand x, Loc loc = Loc::Current());    // max(x, 0); bools become the default int

// Of complex numbers.
Array real(Operand x, Loc loc = Loc::Current());    // real part; other dtypes unchanged
Array imag(Operand x, Loc loc = Loc::Current());    // imaginary part; zeros for other dtypes
Array conj(Operand x, Loc loc = Loc::Current());    // conjugate; other dtypes unchanged
Array angle(Operand x, Loc loc = Loc::Current());   // in [-pi, pi]; floating; 0 at 0
Array isreal(Operand x, Loc loc = Loc::Current());  // whether the imaginary part is 0: bool

// Floating or complex. NaN outside of a real function's domain.
Array exp(Operand x, Loc loc = Loc::Current());         // e^x
Array exp2(Operand x, Loc loc = Loc::Current());        // 2^x
Array expm1(Operand x, Loc loc = Loc::Current());       // e^x - 1, accurate near 0
Array log(Operand x, Loc loc = Loc::Current());         // natural logarithm; -inf at 0
Array log2(Operand x, Loc loc = Loc::Current());        // logarithm to base 2
Array log10(Operand x, Loc loc = Loc::Current());       // logarithm to base 10
Array log1p(Operand x, Loc loc = Loc::Current());       // log(1 + x), accurate near 0
Array sqrt(Operand x, Loc loc = Loc::Current());        // square root
Array rsqrt(Operand x, Loc loc = Loc::Current());       // 1 / sqrt(x); inf at 0
Array reciprocal(Operand x, Loc loc = Loc::Current());  // 1 / x; inf at 0, -inf at -0
Array sin(Operand x, Loc loc = Loc::Current());         // sine of x in radians
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
Array logistic(Operand x, Loc loc = Loc::Current());    // 1 / (1 + e^-x); refuses ints and bools

// Floating; refuse complex numbers.
Array cbrt(Operand x, Loc loc = Loc::Current());      // cube root, also of negative numbers
Array erf(Operand x, Loc loc = Loc::Current());       // error function
Array erfc(Operand x, Loc loc = Loc::Current());      // 1 - erf(x), accurate for large x
Array erf_inv(Operand x, Loc loc = Loc::Current());   // inverse of erf; inf at 1
Array lgamma(Operand x, Loc loc = Loc::Current());    // log |gamma(x)|; inf at 0, -1, ...
Array digamma(Operand x, Loc loc = Loc::Current());   // derivative of lgamma; NaN at 0, -1, ...
Array softplus(Operand x, Loc loc = Loc::Current());  // log(1 + e^x) without overflow
Array silu(Operand x, Loc loc = Loc::Current());      // x * logistic(x); refuses ints and bools
// Returns e^-|x| I_0(x), the exponentially scaled modified Bessel function of the first kind, order
// 0; floating. NaN for NaN, 0 for infinities.
Array bessel_i0e(Operand x, Loc loc = Loc::Current());
// Returns e^-|x| I_1(x), the same for order 1; it has the sign of x.
Array bessel_i1e(Operand x, Loc loc = Loc::Current());
// Returns x * Phi(x), where Phi is the normal distribution function; floating. Uses the tanh
// approximation unless .approximate is false.
Array gelu(Operand x, GeluOptions options = {}, Loc loc = Loc::Current());

// Results are bool.
Array is_finite(Operand x, Loc loc = Loc::Current());    // not infinite or NaN; floating
Array isfinite(Operand x, Loc loc = Loc::Current());     // same, but ints stay ints
Array isnan(Operand x, Loc loc = Loc::Current());        // is NaN; false for ints
Array isinf(Operand x, Loc loc = Loc::Current());        // is inf or -inf; false for ints
Array logical_not(Operand x, Loc loc = Loc::Current());  // x == 0, so false for NaN

// Bitwise, in the dtype of x; refuse floats and complex numbers.
Array bitwise_not(Operand x, Loc loc = Loc::Current());       // flips all bits; bools: negation
Array population_count(Operand x, Loc loc = Loc::Current());  // number of one bits; refuses bools
Array clz(Operand x, Loc loc = Loc::Current());  // number of leading zeros; refuses bools

// Returns x rounded to integers or to `decimals`, ties to even, in the dtype of x. Ints and bools
// are unchanged, except ints with negative .decimals. The op `round_away` is .away_from_zero.
Array round(Operand x, RoundOptions options = {}, Loc loc = Loc::Current());
// Returns x rounded to integers, ties to even, like round, but ints and bools become the
// default float.
Array rint(Operand x, Loc loc = Loc::Current());
// Returns x with NaN and infinities replaced by finite numbers; ints and bools are unchanged.
// Throws DTypeError if a replacement is out of range for the dtype of x.
Array nan_to_num(Operand x, NanToNumOptions options = {}, Loc loc = Loc::Current());
// Returns x rounded to a floating format of this many bits, in the dtype of x: ties to even, values
// above the largest number to infinity, and values below the smallest normal number to zero of
// their sign. Nothing changes where the dtype has fewer bits. Refuses ints and complex numbers, and
// formats of less than 1 exponent bit. Linear in x, as JAX counts it: derivatives are rounded
// likewise.
Array reduce_precision(Operand x, int exponent_bits, int mantissa_bits, Loc loc = Loc::Current());
// Returns x raised to the n-th power, by repeated products. Bools stay bools; ints refuse n < 0
// with a DTypeError. x^0 is 1, also for NaN. For other exponents use pow.
Array integer_pow(Operand x, int64_t n, Loc loc = Loc::Current());
// Returns x. The compiler moves nothing across it.
Array optimization_barrier(Operand x, Loc loc = Loc::Current());
// Returns x. Derivatives treat it as a constant (gradients.h).
Array stop_gradient(Operand x, Loc loc = Loc::Current());
// Returns x converted to `dtype`. Float to int saturates, and NaN gives 0. Int to int wraps. A
// conversion to bool is x != 0, and complex to real takes the real part.
Array astype(Operand x, DType dtype, Loc loc = Loc::Current());
// Same, under the op's name.
Array convert_element_type(Operand x, DType dtype, Loc loc = Loc::Current());
// Returns the bits of x reinterpreted as `dtype`. A narrower dtype adds a last dim; a wider one
// removes the last dim, which must hold exactly one element's bits: f32[n] <-> u8[n, 4].
// Refuses bools, complex numbers and dtypes of fewer than 8 bits.
Array bitcast_convert_type(Operand x, DType dtype, Loc loc = Loc::Current());

// ---- elementwise, two operands: dtypes promote, shapes broadcast ----

// Returns a + b. Two bools: or.
Array add(Operand a, Operand b, OutOptions options = {}, Loc loc = Loc::Current());
// Returns a - b. Refuses two bools.
Array sub(Operand a, Operand b, OutOptions options = {}, Loc loc = Loc::Current());
// Returns a * b. Two bools: and.
Array mul(Operand a, Operand b, OutOptions options = {}, Loc loc = Loc::Current());
// Returns a / b. Ints truncate towards 0, and x / 0 has all bits set. Refuses two bools.
Array div(Operand a, Operand b, OutOptions options = {}, Loc loc = Loc::Current());
// Returns a / b, floating; the operator `/`. x / 0 is infinite, 0 / 0 is NaN.
Array divide(Operand a, Operand b, OutOptions options = {}, Loc loc = Loc::Current());
// Returns a / b rounded down (div truncates). With b = 0: 0 for ints, as in NumPy, and a / b for
// floats. Two bools count as i32.
Array floor_divide(Operand a, Operand b, OutOptions options = {}, Loc loc = Loc::Current());
// Returns a - b * trunc(a / b): the sign of a, like C's %. With b = 0: a for ints, NaN for floats.
// Refuses two bools.
Array rem(Operand a, Operand b, OutOptions options = {}, Loc loc = Loc::Current());
// Returns a - b * floor(a / b): the sign of b, like Python's %; the operator `%`. With b = 0: 0 for
// ints, NaN for floats. Two bools count as i32.
Array remainder(Operand a, Operand b, OutOptions options = {}, Loc loc = Loc::Current());
// Returns a^b; bools count as i32, ints stay ints. x^0 is 1, also for NaN. Refuses a negative plain
// number as an int exponent; a negative element of an int array b gives an unspecified result.
Array pow(Operand a, Operand b, OutOptions options = {}, Loc loc = Loc::Current());
// Returns the elementwise maximum (`max` reduces dims). A real NaN wins; bools stay bools.
Array maximum(Operand a, Operand b, OutOptions options = {}, Loc loc = Loc::Current());
// Returns the elementwise minimum (`min` reduces dims). A real NaN wins; bools stay bools.
Array minimum(Operand a, Operand b, OutOptions options = {}, Loc loc = Loc::Current());
// Returns the complex numbers a + bi, of f32 or f64 parts; strict in floats of 16 bits.
Array complex(Operand a, Operand b, OutOptions options = {}, Loc loc = Loc::Current());
// Returns the angle of the point (b, a), in [-pi, pi]; floating.
Array atan2(Operand a, Operand b, OutOptions options = {}, Loc loc = Loc::Current());
// Returns the Hurwitz zeta function, the sum of (q + k)^-s over k >= 0; floating. inf for s = 1,
// and at q = 0, -1, ... for even s. NaN for s < 1, at q = 0, -1, ... for other s, and for q < 0 if
// s is not an integer. Differentiable with respect to q only.
Array zeta(Operand s, Operand q, OutOptions options = {}, Loc loc = Loc::Current());
// Returns the n-th derivative of digamma at x; floating. NaN if n is negative or not an integer.
// Differentiable with respect to x only.
Array polygamma(Operand n, Operand x, Loc loc = Loc::Current());
// Returns sqrt(a^2 + b^2) without overflow; floating. Infinite if either is, even if the other
// is NaN.
Array hypot(Operand a, Operand b, OutOptions options = {}, Loc loc = Loc::Current());
// Returns the next representable number after a in the direction of b; floating.
Array nextafter(Operand a, Operand b, OutOptions options = {}, Loc loc = Loc::Current());
// Returns log(e^a + e^b) without overflow; floating.
Array logaddexp(Operand a, Operand b, OutOptions options = {}, Loc loc = Loc::Current());
// Returns a == b: bool; false if either is NaN.
Array eq(Operand a, Operand b, OutOptions options = {}, Loc loc = Loc::Current());
// Returns a != b: bool; true if either is NaN.
Array ne(Operand a, Operand b, OutOptions options = {}, Loc loc = Loc::Current());
// Returns a < b: bool; false if either is NaN. Complex numbers compare by their parts in turn.
Array lt(Operand a, Operand b, OutOptions options = {}, Loc loc = Loc::Current());
// Returns a <= b: bool; false if either is NaN.
Array le(Operand a, Operand b, OutOptions options = {}, Loc loc = Loc::Current());
// Returns a > b: bool; false if either is NaN.
Array gt(Operand a, Operand b, OutOptions options = {}, Loc loc = Loc::Current());
// Returns a >= b: bool; false if either is NaN.
Array ge(Operand a, Operand b, OutOptions options = {}, Loc loc = Loc::Current());
// Returns whether both are nonzero: bool. NaN is nonzero.
Array logical_and(Operand a, Operand b, OutOptions options = {}, Loc loc = Loc::Current());
// Returns whether either is nonzero: bool.
Array logical_or(Operand a, Operand b, OutOptions options = {}, Loc loc = Loc::Current());
// Returns whether exactly one is nonzero: bool.
Array logical_xor(Operand a, Operand b, OutOptions options = {}, Loc loc = Loc::Current());
// Returns a & b, bit by bit. Bools: same as logical_and. Refuses floats.
Array bitwise_and(Operand a, Operand b, OutOptions options = {}, Loc loc = Loc::Current());
// Returns a | b, bit by bit. Refuses floats.
Array bitwise_or(Operand a, Operand b, OutOptions options = {}, Loc loc = Loc::Current());
// Returns a ^ b, bit by bit. Refuses floats.
Array bitwise_xor(Operand a, Operand b, OutOptions options = {}, Loc loc = Loc::Current());
// Returns the high half of the product of two integers: a * b, computed with twice the bits,
// shifted right by the width. Refuses bools and floats.
Array mulhi(Operand a, Operand b, OutOptions options = {}, Loc loc = Loc::Current());
// Returns a << b; 0 if b is negative or at least the bit width. Bools count as i32. Refuses floats.
Array shift_left(Operand a, Operand b, OutOptions options = {}, Loc loc = Loc::Current());
// Returns a >> b, filled with copies of the highest bit, for unsigned dtypes too. The operator `>>`
// of signed dtypes.
Array shift_right_arithmetic(Operand a, Operand b, OutOptions options = {},
                             Loc loc = Loc::Current());
// Returns a >> b, filled with zeros. The operator `>>` of unsigned dtypes.
Array shift_right_logical(Operand a, Operand b, OutOptions options = {}, Loc loc = Loc::Current());

// Returns a where c is not 0 (NaN is not 0), else b. a and b promote; all three broadcast.
Array where(Operand c, Operand a, Operand b, OutOptions options = {}, Loc loc = Loc::Current());
// Returns cases[which], elementwise. `which` is bool (two cases) or i32, and is a scalar or has the
// shape of the cases. An i32 out of bounds selects the first or the last case. Strict.
Array select_n(Operand which, std::vector<Array> cases, OutOptions options = {},
               Loc loc = Loc::Current());
// Returns min(max(x, lo), hi): hi if lo > hi, and NaN if any of them is NaN. The bounds are scalars
// or have the shape of x. Strict.
Array clamp(Operand lo, Operand x, Operand hi, Loc loc = Loc::Current());
// Same, but x and the bounds promote and broadcast.
Array clip(Operand x, Operand lo, Operand hi, Loc loc = Loc::Current());

// Returns |a - b| <= atol + rtol * |b|, computed in floating point: bool. Equal infinities
// are close.
Array isclose(Operand a, Operand b, CloseOptions options = {}, Loc loc = Loc::Current());
// Returns whether all elements are close: bool [].
Array allclose(Operand a, Operand b, CloseOptions options = {}, Loc loc = Loc::Current());
// Returns whether a and b have the same shape and equal elements, whatever their dtypes: bool [].
Array array_equal(Operand a, Operand b, EqualOptions options = {}, Loc loc = Loc::Current());

// ---- shape ----

// Returns x with another shape, elements in row-major order. One size may be -1. Throws
// ShardingError for nearly all reshapes that would move data (docs/typing.md).
Array reshape(Operand x, Shape shape, OutOptions options = {}, Loc loc = Loc::Current());
// Returns x with dims and axes permuted: dim i of the result is dim dims[i] of x; All reverses.
Array transpose(Operand x, Dims dims = All, Loc loc = Loc::Current());
// Returns x with each dim source[i] moved to position destination[i]; the other dims keep their
// order. Throws ShapeError unless both have the same length.
Array moveaxis(Operand x, Dims source, Dims destination, Loc loc = Loc::Current());
// Returns x with two dims exchanged.
Array swapaxes(Operand x, int dim1, int dim2, Loc loc = Loc::Current());
// Returns the elements of x in row-major order: [size].
Array ravel(Operand x, OutOptions options = {}, Loc loc = Loc::Current());
// Returns x; a scalar becomes [1].
Array atleast_1d(Operand x, Loc loc = Loc::Current());
// Returns x with dims of size 1 added in front until it has rank 2.
Array atleast_2d(Operand x, Loc loc = Loc::Current());
// Returns x broadcast to `shape`. Dim i of x becomes dim dims[i] of the result; they have the same
// size, or x has size 1.
Array broadcast_in_dim(Operand x, Shape shape, Dims dims, OutOptions options = {},
                       Loc loc = Loc::Current());
// Returns x broadcast to `shape`. The dims of x become the last dims of the result; they have the
// same size, or x has size 1.
Array broadcast_to(Operand x, Shape shape, OutOptions options = {}, Loc loc = Loc::Current());
// Returns x with dims of size 1 at these positions of the result.
Array expand_dims(Operand x, Dims dims, Loc loc = Loc::Current());
// Returns x without these dims, which must have size 1. All removes every dim of size 1.
Array squeeze(Operand x, Dims dims = All, Loc loc = Loc::Current());
// Returns the arrays joined along `dim`; the other dims must be equal, and dtypes promote. If `dim`
// is sharded, all arrays must have the same axes there, and elements move between devices.
Array concatenate(std::vector<Array> xs, int dim = 0, Loc loc = Loc::Current());
// Returns the arrays, all of one shape, stacked along a new dim; dtypes promote.
Array stack(std::vector<Array> xs, int dim = 0, Loc loc = Loc::Current());
// Returns x and the values joined along `dim`. Without `dim` both are flattened first.
Array append(Operand x, Operand values, Loc loc = Loc::Current());
Array append(Operand x, Operand values, int dim, Loc loc = Loc::Current());
// Returns the slices x[..., i, ...] for every i of `dim`, without that dim, which must not
// be sharded.
std::vector<Array> unstack(Operand x, int dim = 0, Loc loc = Loc::Current());
// Returns x split along `dim` into pieces of these sizes. A single number means that many
// equal pieces.
std::vector<Array> split(Operand x, Shape sizes, int dim = 0, Loc loc = Loc::Current());
namespace detail {
std::vector<Array> SplitEvenly(const Operand& x, int64_t parts, int dim, Loc loc);
}
template <Integer T>
std::vector<Array> split(Operand x, T parts, int dim = 0, Loc loc = Loc::Current()) {
  return detail::SplitEvenly(x, static_cast<int64_t>(parts), dim, loc);
}
// Returns x[start:limit:stride] in every dim, with 0 <= start <= limit <= size. If a dim is
// sharded, its new size must divide by the number of shards (also for pad and dynamic_slice), and
// data moves between devices.
Array slice(Operand x, std::vector<int64_t> starts, std::vector<int64_t> limits,
            std::vector<int64_t> strides = {}, Loc loc = Loc::Current());
// Returns the slice of x of these sizes that begins at `starts`: one integer scalar per dim. A
// negative start counts from the end. A slice that would reach over an edge is moved inside.
Array dynamic_slice(Operand x, std::vector<Array> starts, Shape sizes, Loc loc = Loc::Current());
// Returns x with `update` written at `starts`, moved inside as in dynamic_slice. The update has the
// dtype of x. A dim in which it is smaller than x must be sharded alike in both.
Array dynamic_update_slice(Operand x, Operand update, std::vector<Array> starts,
                           Loc loc = Loc::Current());
struct Padding {
  int64_t low = 0, high = 0, interior = 0;
};
// Returns x padded with `value`, which has the dtype of x, at the edges and between elements.
// Negative edge padding removes elements.
Array pad(Operand x, std::vector<Padding> padding, Operand value = 0, Loc loc = Loc::Current());
// Returns x with these dims reversed. The shards of a sharded dim exchange places.
Array rev(Operand x, Dims dims, Loc loc = Loc::Current());
// Same as rev; all dims by default.
Array flip(Operand x, Dims dims = All, Loc loc = Loc::Current());
// Returns x repeated reps[i] times along dim i, as NumPy's tile; fewer reps than dims apply to the
// last dims. Throws ShardingError if a repeated dim is sharded.
Array tile(Operand x, Shape reps, Loc loc = Loc::Current());
// Returns x with each element repeated n times in place along `dim`. A sharded `dim` needs
// an out_sharding.
Array repeat(Operand x, int64_t n, int dim, OutOptions options = {}, Loc loc = Loc::Current());
// Returns x rotated along `dim`: elements that leave at one end re-enter at the other. A sharded
// `dim` stays sharded, and elements move between devices.
Array roll(Operand x, int64_t shift, int dim, Loc loc = Loc::Current());
// Returns the elements at `indices` [...] along `dim`: [outer..., indices..., inner...]. Negative
// indices count from the end. An index out of bounds gives NaN, the lowest signed int, or the
// highest unsigned int, unless .mode or .fill_value says otherwise. A sharded `dim` needs an
// out_sharding.
Array take(Operand x, Operand indices, int dim, TakeOptions options = {}, Loc loc = Loc::Current());

// Returns the differences of neighbours along `dim`, taken n times: `dim` becomes n shorter. For
// bools: whether neighbours differ.
Array diff(Operand x, int dim = -1, DiffOptions options = {}, Loc loc = Loc::Current());

// ---- matrices ----

// Returns x [..., n, m] with zeros above the k-th diagonal of the last two dims; k > 0 is above the
// main diagonal. Nothing moves.
Array tril(Operand x, int64_t k = 0, Loc loc = Loc::Current());
// Returns x [..., n, m] with zeros below that diagonal.
Array triu(Operand x, int64_t k = 0, Loc loc = Loc::Current());
// Returns the elements at [i, i + offset] of dims dim1 and dim2, as a new last dim: [..., n].
// Throws ShardingError if either dim is sharded and there is no out_sharding for the new one. With
// an out_sharding only the result moves between devices, and a -0 may become 0.
Array diagonal(Operand x, DiagonalOptions options = {}, Loc loc = Loc::Current());
// Returns a matrix [n + |k|, n + |k|] with x [n] on its k-th diagonal and its rows sharded like x.
// For a matrix x, returns its k-th diagonal, as `diagonal` does. Throws ShapeError for other ranks.
Array diag(Operand x, int64_t k = 0, OutOptions options = {}, Loc loc = Loc::Current());
// Returns the sum of a diagonal: [...] without dim1 and dim2, in the dtype of sum. NumPy's trace.
Array matrix_trace(Operand x, TraceOptions options = {}, Loc loc = Loc::Current());

// ---- reduce: [...] without `dims`; these default to all, and {} reduces nothing ----
//
// If a reduced dim is sharded, the partial results are combined on all devices, unless out_sharding
// leaves the result unreduced. Elements where .where does not hold are left out: its sharding is
// one that broadcasts with x's. A .where that is not bool is a DTypeError; another shape, and an
// option that a function does not have, are ShapeErrors.

// Returns the sum. Bools and ints narrower than the default int become the default int; unsigned
// ints become its unsigned counterpart. reduce_sum does not widen.
Array sum(Operand x, Dims dims = All, ReduceOptions options = {}, Loc loc = Loc::Current());
// Returns the product. Widens as sum does.
Array prod(Operand x, Dims dims = All, ReduceOptions options = {}, Loc loc = Loc::Current());
// Returns the largest element (`maximum` compares two arrays). NaN wins. Throws ShapeError for an
// empty dim, and for a .where, without .initial. max(x, 0) is along dim 0, and not maximum(x, 0):
// a line that writes this 0 without braces prints a note to stderr, once (debug.h, RetraceNotes).
Array max(Operand x, Dims dims = All, ReduceOptions options = {}, Loc loc = Loc::Current());
// Returns the smallest element. NaN wins. Throws as max does.
Array min(Operand x, Dims dims = All, ReduceOptions options = {}, Loc loc = Loc::Current());
// Returns the sum divided by the number of elements; floating. Floats of fewer than 32 bits are
// summed in f32. NaN for an empty dim.
Array mean(Operand x, Dims dims = All, ReduceOptions options = {}, Loc loc = Loc::Current());
// Returns whether any element is not 0 (NaN is not 0): bool. False for an empty dim.
Array any(Operand x, Dims dims = All, ReduceOptions options = {}, Loc loc = Loc::Current());
// Returns whether every element is not 0 (NaN is not 0): bool. True for an empty dim.
Array all(Operand x, Dims dims = All, ReduceOptions options = {}, Loc loc = Loc::Current());
// Returns log(sum(e^x)) without overflow (docs/precision.md); floating. -inf for an empty dim.
Array logsumexp(Operand x, Dims dims = All, LogsumexpOptions o = {}, Loc loc = Loc::Current());
// Returns the variance, the sum of squared differences from the mean divided by n - ddof; floating,
// computed as mean is. NaN unless n > ddof.
Array var(Operand x, Dims dims = All, VarOptions options = {}, Loc loc = Loc::Current());
// Returns the square root of var.
Array stddev(Operand x, Dims dims = All, VarOptions options = {}, Loc loc = Loc::Current());
// Returns the largest element minus the smallest. Refuses bools.
Array ptp(Operand x, Dims dims = All, ReduceOptions options = {}, Loc loc = Loc::Current());
// Returns the number of elements that are not 0 (NaN is not 0), in the default int.
Array count_nonzero(Operand x, Dims dims = All, ReduceOptions options = {},
                    Loc loc = Loc::Current());
// Returns sum(x * weights) / sum(weights), or the mean without weights; floating. Throws ShapeError
// for weights of another shape.
Array average(Operand x, Dims dims = All, AverageOptions options = {}, Loc loc = Loc::Current());
// Returns the norm of vectors (one dim) or matrices (two dims: rows, columns); floating. Vectors
// take any order p, including infinities and 0 (the number of nonzero elements). Matrices take
// "fro" (Frobenius, the default), 1, -1, both infinities, and by their singular values, which need
// whole dims, 2, -2 and "nuc" (their sum). All dims without .ord: the 2-norm of all elements.
// Throws ShapeError for other orders and for more dims.
Array norm(Operand x, Dims dims = All, NormOptions options = {}, Loc loc = Loc::Current());
// Returns the index of the first largest element along `dim`, or of the first NaN. Default int.
Array argmax(Operand x, int dim, ArgOptions options = {}, Loc loc = Loc::Current());
// Returns the index of the first smallest element along `dim`, or of the first NaN. Default int.
Array argmin(Operand x, int dim, ArgOptions options = {}, Loc loc = Loc::Current());
// The ops of program text. They do not widen, their dims must be given, and they accept empty dims.
//
// Returns the sum; 0 for an empty dim. Refuses bools.
Array reduce_sum(Operand x, Dims dims, OutOptions options = {}, Loc loc = Loc::Current());
// Returns the product; 1 for an empty dim. Refuses bools.
Array reduce_prod(Operand x, Dims dims, OutOptions options = {}, Loc loc = Loc::Current());
// Returns the largest element. NaN wins. -inf or the lowest int for an empty dim.
Array reduce_max(Operand x, Dims dims, OutOptions options = {}, Loc loc = Loc::Current());
// Returns the smallest element. NaN wins. inf or the highest int for an empty dim.
Array reduce_min(Operand x, Dims dims, OutOptions options = {}, Loc loc = Loc::Current());
// Returns the bitwise and. Bools: same as `all`. Refuses floats.
Array reduce_and(Operand x, Dims dims, OutOptions options = {}, Loc loc = Loc::Current());
// Returns the bitwise or. Bools: same as `any`. Refuses floats.
Array reduce_or(Operand x, Dims dims, OutOptions options = {}, Loc loc = Loc::Current());
// Returns the bitwise exclusive or. Bools: whether an odd number is true. Refuses floats.
Array reduce_xor(Operand x, Dims dims, OutOptions options = {}, Loc loc = Loc::Current());

// Running reductions along `dim`: each element is the reduction of all elements up to and including
// itself, [...] -> [...]. The result has x's dtype; bools become the default int, and ints are not
// widened. Once an element is NaN, all later results are. The result is sharded as x. If `dim` is
// sharded, it needs an out_sharding: devices compute their shards, exchange one element per shard,
// and combine.

// Returns the running sum.
Array cumsum(Operand x, int dim, CumOptions options = {}, Loc loc = Loc::Current());
// Returns the running product.
Array cumprod(Operand x, int dim, CumOptions options = {}, Loc loc = Loc::Current());
// Returns the running maximum.
Array cummax(Operand x, int dim, CumOptions options = {}, Loc loc = Loc::Current());
// Returns the running minimum.
Array cummin(Operand x, int dim, CumOptions options = {}, Loc loc = Loc::Current());
// Returns the running log(sum(e^x)), without overflow; floating.
Array cumlogsumexp(Operand x, int dim, CumOptions options = {}, Loc loc = Loc::Current());

// ---- multiply: sums of products; for bools: `or` of `and` ----
//
// A contracted dim that is sharded alike on both sides needs an out_sharding. If it is sharded on
// one side only, the partial sums are combined on all devices. Results are not widened; .dtype sets
// the dtype of the result.

// Returns products summed over the contracted dims: [batch..., lhs free..., rhs free...].
Array dot_general(Operand a, Operand b, DotDims dims, DotOptions options = {},
                  Loc loc = Loc::Current());
// Returns the matrix product [..., m, k] x [..., k, n] -> [..., m, n]. Leading dims are batch dims
// and broadcast. A 1-D operand is a row on the left and a column on the right, and its dim is not
// in the result. Refuses scalars.
Array matmul(Operand a, Operand b, DotOptions options = {}, Loc loc = Loc::Current());
// Returns [a..., k] x [b..., k, n] -> [a..., b..., n], or [a..., k] x [k] -> [a...]. Unlike matmul
// it has no batch dims. A scalar operand multiplies.
Array dot(Operand a, Operand b, DotOptions options = {}, Loc loc = Loc::Current());
// Returns products summed over the contracted dims: [other dims of a..., other dims of b...].
// Contracts the dims that are given, as dot_general does, or the last `dims` dims of a with the
// first `dims` dims of b.
Array tensordot(Operand a, Operand b, DotDims dims, DotOptions options = {},
                Loc loc = Loc::Current());
Array tensordot(Operand a, Operand b, int dims = 2, DotOptions options = {},
                Loc loc = Loc::Current());
// Returns the products of all elements of a with all elements of b: [size of a, size of b].
Array outer(Operand a, Operand b, OutOptions options = {}, Loc loc = Loc::Current());
// Returns products summed over the last dims of a and b: [a..., k] x [b..., k] -> [a..., b...]. A
// scalar operand multiplies.
Array inner(Operand a, Operand b, DotOptions options = {}, Loc loc = Loc::Current());
// Returns the sum of the products of all elements in row-major order, for any shapes: []. Complex
// elements of a are conjugated. Throws ShapeError unless a and b have the same number of elements.
Array vdot(Operand a, Operand b, DotOptions options = {}, Loc loc = Loc::Current());
// Returns a with each element replaced by its product with b: dim d has size a[d] * b[d].
Array kron(Operand a, Operand b, OutOptions options = {}, Loc loc = Loc::Current());
// Returns the einsum of the operands: einsum("bh,hk->bk", {a, b}). There is one letter per dim and
// "..." for leading dims. Letters that the result lacks are summed over. Without "->" the result
// has the letters that occur once, in alphabetical order.
Array einsum(std::string_view subscripts, std::vector<Array> operands, DotOptions options = {},
             Loc loc = Loc::Current());

// Returns the solution x [..., n, k] of a x = b [..., n, k] for tridiagonal matrices a, by
// elimination with partial pivoting. dl, d and du [..., n] are the diagonals below, on and above
// the main diagonal; the first element of dl and the last of du are not read. NaN if a matrix is
// singular. Strict; f32, f64, c64 or c128. n must not be sharded.
Array tridiagonal_solve(Operand dl, Operand d, Operand du, Operand b, Loc loc = Loc::Current());

// ---- look up (sort.h sorts) ----

// Returns 1 where the index along a new dim of size n equals x, else 0, in the default float. An x
// out of bounds gives zeros.
Array one_hot(Operand x, int64_t n, OneHotOptions options = {}, Loc loc = Loc::Current());

// ---- composed: floating; a NaN spreads over all of `dims` ----

// Returns e^x / sum(e^x) over `dims`, without overflow: [...].
Array softmax(Operand x, Dims dims = -1, Loc loc = Loc::Current());
// Returns the logarithm of softmax: [...]. It is exact where softmax is tiny (docs/precision.md).
Array log_softmax(Operand x, Dims dims = -1, Loc loc = Loc::Current());
// Returns (x - mean) / sqrt(var + epsilon) * scale + bias over `dims`; scale and bias broadcast.
Array layer_norm(Operand x, Operand scale, Operand bias, Dims dims = -1,
                 LayerNormOptions options = {}, Loc loc = Loc::Current());

// ---- placement ----

// Returns x with the sharding `spec` on the current mesh. Moves data and computes nothing. Throws
// ShardingError for unknown axes and sizes that do not divide.
Array reshard(Operand x, PartitionSpec spec, Loc loc = Loc::Current());
// Same, onto another mesh over the same devices.
Array reshard(Operand x, Sharding sharding, Loc loc = Loc::Current());
// Returns x. Over Auto axes, propagation starts from `spec`. Over Explicit axes it is an assertion:
// throws ShardingError unless x already has this sharding.
Array with_sharding_constraint(Operand x, PartitionSpec spec, Loc loc = Loc::Current());

}  // namespace tessera

#include "tessera/other_forms.h"
