// Statistics, reductions that leave NaN out, and functions of sampled curves.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "tessera/ops.h"
#include "tessera/options.h"
#include "tessera/quantiles.h"

namespace TESSERA_PUBLIC tessera {

// ---- reductions of the elements that are not NaN: as the functions without `nan`, in ops.h ----

Array nansum(Operand x, Dims dims = All, ReduceOptions options = {}, Loc loc = Loc::Current());
Array nanprod(Operand x, Dims dims = All, ReduceOptions options = {}, Loc loc = Loc::Current());
// NaN if all elements are.
Array nanmax(Operand x, Dims dims = All, ReduceOptions options = {}, Loc loc = Loc::Current());
Array nanmin(Operand x, Dims dims = All, ReduceOptions options = {}, Loc loc = Loc::Current());
Array nanmean(Operand x, Dims dims = All, ReduceOptions options = {}, Loc loc = Loc::Current());
Array nanvar(Operand x, Dims dims = All, VarOptions options = {}, Loc loc = Loc::Current());
Array nanstd(Operand x, Dims dims = All, VarOptions options = {}, Loc loc = Loc::Current());
Array nanmedian(Operand x, Dims dims = All, MedianOptions options = {}, Loc loc = Loc::Current());
Array nanquantile(Operand x, Operand q, Dims dims = All, QuantileOptions options = {},
                  Loc loc = Loc::Current());
Array nanpercentile(Operand x, Operand q, Dims dims = All, QuantileOptions options = {},
                    Loc loc = Loc::Current());
// -1 if all elements are NaN.
Array nanargmax(Operand x, int dim, ArgOptions options = {}, Loc loc = Loc::Current());
Array nanargmin(Operand x, int dim, ArgOptions options = {}, Loc loc = Loc::Current());
Array nancumsum(Operand x, int dim, CumOptions options = {}, Loc loc = Loc::Current());
Array nancumprod(Operand x, int dim, CumOptions options = {}, Loc loc = Loc::Current());

// ---- covariances ----

struct CovOptions {
  bool rowvar = true;               // a row is a variable, and a column an observation
  std::optional<double> ddof = {};  // divide by n - ddof; default: 1, or 0 if `bias`
  bool bias = false;
  Array fweights = {}, aweights = {};  // how often each observation counts, and its weight
};
// Returns the covariances of the variables of x [variables, observations] or [observations]:
// [variables, variables], or a scalar for one. Weights promote with x.
Array cov(Operand x, CovOptions options = {}, Loc loc = Loc::Current());
struct CorrcoefOptions {
  bool rowvar = true;
};
// Returns their correlations, limited to [-1, 1].
Array corrcoef(Operand x, CorrcoefOptions options = {}, Loc loc = Loc::Current());

// ---- curves ----

// The part of a convolution that is returned: all n + m - 1 sums, the n of the middle, or those
// that need no elements beyond the ends.
enum class ConvolveMode : uint8_t { kFull, kSame, kValid };
// Returns sums of a[k] v[i - k] for a [n] and v [m]. Throws ShapeError unless both have rank 1 and
// elements.
Array convolve(Operand a, Operand v, ConvolveMode mode = ConvolveMode::kFull,
               Loc loc = Loc::Current());
// Returns sums of a[i + k] conj(v[k]).
Array correlate(Operand a, Operand v, ConvolveMode mode = ConvolveMode::kValid,
                Loc loc = Loc::Current());

struct GradientOptions {
  double spacing = 1;                   // of neighbours
  std::vector<Array> coordinates = {};  // [size] for each dim, instead of the spacing
};
// Returns the differences of neighbours divided by their distance, along each dim: central, and at
// the ends one-sided. Coordinates promote with x. Throws ShapeError for dims of less than two
// elements.
std::vector<Array> gradient(Operand x, Dims dims = All, GradientOptions options = {},
                            Loc loc = Loc::Current());

struct TrapezoidOptions {
  Array x = {};  // places of the samples; default: equal distances dx
  double dx = 1;
  int dim = -1;
};
// Returns the integral of the samples y by the trapezoidal rule: [...] without the dim. Places
// promote with y, and are [size] or of the rank of y. Throws ShapeError for places of another size.
Array trapezoid(Operand y, TrapezoidOptions options = {}, Loc loc = Loc::Current());

struct InterpOptions {
  std::optional<double> left = {}, right = {};  // beyond the ends; default: fp there
  std::optional<double> period = {};            // of the places
};
// Returns at x [...] the line through the points (xp [n], fp [n]), whose places are ascending.
Array interp(Operand x, Operand xp, Operand fp, InterpOptions options = {},
             Loc loc = Loc::Current());

// The elements beyond the ends of a dim a b c d.
enum class EdgeMode : uint8_t {
  kConstant,  // a fill value
  kNearest,   // a a a | a b c d | d d d
  kWrap,      // b c d | a b c d | a b c
  kMirror,    // d c b | a b c d | c b a
  kReflect    // c b a | a b c d | d c b
};
struct MapCoordinatesOptions {
  int order = 1;  // 0: the nearest element; 1: on the line between two elements, in each dim
  EdgeMode mode = EdgeMode::kConstant;
  std::optional<Scalar> fill_value = {};           // of kConstant; default: 0
  std::optional<PartitionSpec> out_sharding = {};  // needed if a dim of x is sharded
};
// Returns the elements of x at places between its elements. The coordinates are one array [...] for
// each dim, which broadcast; the result [...] has their shape and sharding, and x's dtype; ints are
// rounded, halves away from 0. Throws ShapeError for another number of arrays, and other orders
// than 0 and 1.
Array map_coordinates(Operand x, std::vector<Array> coordinates, MapCoordinatesOptions options = {},
                      Loc loc = Loc::Current());

struct UnwrapOptions {
  int dim = -1;
  std::optional<double> discont = {};  // a larger jump is a wrap; default: half a period
  double period = 6.283185307179586;
};
// Returns x with multiples of the period added, so that neighbours differ by half of one at most.
Array unwrap(Operand x, UnwrapOptions options = {}, Loc loc = Loc::Current());

// ---- windows [n], in the default float ----

Array bartlett(int64_t n, Loc loc = Loc::Current());
Array blackman(int64_t n, Loc loc = Loc::Current());
Array hamming(int64_t n, Loc loc = Loc::Current());
Array hanning(int64_t n, Loc loc = Loc::Current());
Array kaiser(int64_t n, double beta, Loc loc = Loc::Current());

// ---- products of stacks: other dims broadcast ----

// Returns the sum of conj(a) b along `dim`.
Array vecdot(Operand a, Operand b, int dim = -1, Loc loc = Loc::Current());
// Returns the products of matrices a [..., n, m] and vectors b [..., m]: [..., n].
Array matvec(Operand a, Operand b, Loc loc = Loc::Current());
// Returns the products of conj(a) [..., n] and matrices b [..., n, m]: [..., m].
Array vecmat(Operand a, Operand b, Loc loc = Loc::Current());

}  // namespace tessera
