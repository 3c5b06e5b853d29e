// Matrices of a form. Those of a size are formulas of the row and column numbers of each element.
#include "tessera/special_matrices.h"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <numbers>

#include "api/core/located.h"
#include "api/core/option_fields.h"
#include "api/linalg/formulas.h"
#include "base/dtype.h"

namespace tessera::linalg {

using namespace api;

static std::string Code(const MatrixOptions& v) {
  return OptionFields().Add(v.dtype).Add(v.out_sharding).code();
}
static std::string Code(PascalKind v) {
  return v == PascalKind::kLower   ? "linalg::PascalKind::kLower"
         : v == PascalKind::kUpper ? "linalg::PascalKind::kUpper"
                                   : "linalg::PascalKind::kSymmetric";
}
static std::string Code(const PascalOptions& v) {
  return OptionFields()
      .Add("kind", v.kind, PascalKind::kSymmetric)
      .Add(v.dtype)
      .Add(v.out_sharding)
      .code();
}
static std::string Code(const HelmertOptions& v) {
  return OptionFields().Add("full", v.full, false).Add(v.dtype).Add(v.out_sharding).code();
}
static std::string Code(DftScale v) {
  return v == DftScale::kSqrtN ? "linalg::DftScale::kSqrtN"
         : v == DftScale::kN   ? "linalg::DftScale::kN"
                               : "linalg::DftScale::kNone";
}
static std::string Code(const DftOptions& v) {
  return OptionFields()
      .Add("scale", v.scale, DftScale::kNone)
      .Add(v.dtype)
      .Add(v.out_sharding)
      .code();
}

namespace {

// The row and the column of each element of a matrix.
struct Places {
  Located row, column;
};

// Returns f of the places of a matrix [rows, columns], in a dtype.
template <class Options, class F>
Array OfPlaces(const char* name, std::pair<int64_t, int64_t> size, Options& options, DType places,
               DType made, Loc loc, const F& f) {
  const Call call{name, loc};
  const auto [rows, columns] = size;
  CheckShape({rows, columns}, call);
  int64_t n = columns;
  return AsOne(call, {n, options}, [&](const Operands&) {
    const auto numbers = [&](int dim) {
      const CreateOptions as{.dtype = places, .out_sharding = options.out_sharding};
      return Located(iota({rows, columns}, dim, as, loc), loc);
    };
    return std::vector<Array>{Convert(f(Places{numbers(0), numbers(1)}), made, call)};
  })[0];
}

DType FloatOr(DType given) { return given.is_default() ? base::DefaultFloat() : given; }

// Returns (n choose k), rounded to the whole number that it is; 0 unless 0 <= k <= n.
Located Binomial(const Located& n, const Located& k) {
  const Located number = Exp(Lgamma(n + 1) - Lgamma(k + 1) - Lgamma(n - k + 1));
  return If((k >= 0) & (k <= n), number.With(round(number, {}, n.loc())), 0.0);
}
// Returns 1 if x is even, else -1.
Located SignOf(const Located& x) {
  return 1 - 2 * x.With(remainder(x, Operand(2, x.loc()), {}, x.loc()));
}

}  // namespace

Array invhilbert(int64_t n, MatrixOptions options, Loc loc) {
  return OfPlaces("invhilbert", {n, n}, options, f64, FloatOr(options.dtype), loc,
                  [n](const Places& at) {
                    const Located &i = at.row, &j = at.column, s = i + j;
                    const auto size = static_cast<double>(n);
                    return SignOf(s) * (s + 1) * Binomial(i + size, size - 1 - j) *
                           Binomial(j + size, size - 1 - i) * Square(Binomial(s, i));
                  });
}

namespace {
Located PascalOf(PascalKind kind, const Places& at) {
  switch (kind) {
    case PascalKind::kLower:
      return Binomial(at.row, at.column);
    case PascalKind::kUpper:
      return Binomial(at.column, at.row);
    case PascalKind::kSymmetric:
      break;
  }
  return Binomial(at.row + at.column, at.row);
}
}  // namespace

Array pascal(int64_t n, PascalOptions options, Loc loc) {
  return OfPlaces("pascal", {n, n}, options, f64, FloatOr(options.dtype), loc,
                  [&](const Places& at) { return PascalOf(options.kind, at); });
}
// The inverse of the symmetric matrix is the product of the inverse triangles.
Array invpascal(int64_t n, PascalOptions options, Loc loc) {
  return OfPlaces(
      "invpascal", {n, n}, options, f64, FloatOr(options.dtype), loc,
      [&](const Places& at) -> Located {
        const Located sign = SignOf(at.row + at.column);
        if (options.kind != PascalKind::kSymmetric) return sign * PascalOf(options.kind, at);
        const Array i = iota({n, n}, 0, {.dtype = f64}, loc);
        const Array l = Binomial(Located(i, loc), Located(i.T(), loc));
        return sign * at.row.With(matmul(l.T(), l, {.out_sharding = options.out_sharding}, loc));
      });
}

Array helmert(int64_t n, HelmertOptions options, Loc loc) {
  const Call call{"helmert", loc};
  if (n < 1) FailShape(call, 17, fmt::format("there is no such matrix of size {}", n));
  const int64_t skipped = options.full ? 0 : 1;
  return OfPlaces("helmert", {n - skipped, n}, options, f64, FloatOr(options.dtype), loc,
                  [&](const Places& at) {
                    const Located k = at.row + static_cast<double>(skipped), &j = at.column;
                    const Located size = Sqrt(If(k == 0, 1.0, k * (k + 1)));
                    const Located contrast = If(j < k, 1 / size, If(j == k, -1 * k / size, 0.0));
                    return If(k == 0, 1 / std::sqrt(static_cast<double>(n)), contrast);
                  });
}

Array hadamard(int64_t n, MatrixOptions options, Loc loc) {
  const Call call{"hadamard", loc};
  if (n < 1 || !std::has_single_bit(static_cast<uint64_t>(n)))
    FailShape(call, 17, fmt::format("the size is a power of 2, not {}", n));
  const DType t = options.dtype.is_default() ? base::DefaultInt() : options.dtype;
  return OfPlaces("hadamard", {n, n}, options, i64, t, loc, [&](const Places& at) {
    const Located common = at.row.With(bitwise_and(at.row, at.column, {}, loc));
    return SignOf(common.With(population_count(common, loc)));
  });
}

// The product of the places is taken modulo n, so that angles are exact for large n too.
Array dft(int64_t n, DftOptions options, Loc loc) {
  const Call call{"dft", loc};
  const DType t =
      options.dtype.is_default() ? base::ComplexOf(base::DefaultFloat()) : options.dtype;
  if (!t.is_complex()) FailDType(call, 14, fmt::format("the dtype is complex, not {}", t.name()));
  return OfPlaces("dft", {n, n}, options, i64, t, loc, [&](const Places& at) {
    const auto size = static_cast<double>(n);
    const Located place =
        at.row.With(remainder(at.row * at.column, Operand(n == 0 ? 1 : n, loc), {}, loc));
    const Located angle = place.With(Convert(place, f64, call)) * (-2 * std::numbers::pi / size);
    const double scale = options.scale == DftScale::kSqrtN ? 1 / std::sqrt(size)
                         : options.scale == DftScale::kN   ? 1 / size
                                                           : 1;
    return angle.With(complex(Cos(angle) * scale, Sin(angle) * scale, {}, loc));
  });
}

// ---- of vectors ----

namespace {

int64_t SizeOf(const Array& x) { return ShapeOf(x).back(); }

// Returns the row and column numbers of matrices [rows, columns] as [rows, 1] and [1, columns].
Places PlacesIn(int64_t rows, int64_t columns, Loc loc) {
  return {Located(iota({rows, 1}, 0, {.dtype = i32}, loc), loc),
          Located(iota({1, columns}, 1, {.dtype = i32}, loc), loc)};
}

void CheckSize(const char* what, const Array& x, int64_t least, Call call) {
  if (SizeOf(x) < least)
    FailShape(call, 17,
              fmt::format("{} needs {} elements or more, not {}", what, least, SizeOf(x)));
}

// Returns two vectors in their common dtype, with common batch dims.
std::vector<Array> Vectors(const Operand& a, const Operand& b, Call call) {
  const DType t = PromotedDType({a, b}, call);
  const MatrixFormulas f(call);
  const auto vectors = [&](const Operand& x) {
    return ToVectors(Convert(ToArray(x, call), t, call), call);
  };
  const Array x = vectors(a), y = vectors(b);
  base::Shape batch = BatchOf(x, 1);
  if (!BroadcastWith(batch, BatchOf(y, 1)))
    FailShape(call, 18,
              fmt::format("batch dims {} and {} do not broadcast", ir::FieldText(BatchOf(x, 1)),
                          ir::FieldText(BatchOf(y, 1))));
  return {f.WithBatch(x, batch, 1), f.WithBatch(y, batch, 1)};
}

Array HankelOf(const Array& c, const Array& r, Call call) {
  const MatrixFormulas f(call);
  const int64_t m = SizeOf(c), n = SizeOf(r);
  if (m == 0 || n == 0) return f.Mul(f.Column(c), f.Row(r));
  const Array all = concatenate({c, f.Slice(r, 1, 1, n)}, -1, call.loc);
  const Places at = PlacesIn(m, n, call.loc);
  return take(all, at.row + at.column, -1, {}, call.loc);
}

}  // namespace

Array hankel(Operand c, std::optional<Operand> r, Loc loc) {
  const Call call{"hankel", loc};
  if (!r)
    return AsOne(call, {c}, [&](const Operand& x) {
      const Array column = ToVectors(ToArray(x, call), call);
      return HankelOf(column, zeros_like(column, {}, loc), call);
    });
  return AsOne(call, {c, *r}, [&](const Operand& x, const Operand& y) {
    const std::vector<Array> both = Vectors(x, y, call);
    return HankelOf(both[0], both[1], call);
  });
}

Array circulant(Operand c, Loc loc) {
  const Call call{"circulant", loc};
  return AsOne(call, {c}, [&](const Operand& x) -> Array {
    const MatrixFormulas f(call);
    const Array column = ToVectors(ToArray(x, call), call);
    const int64_t n = SizeOf(column);
    if (n == 0) return f.Mul(f.Column(column), f.Row(column));
    const Places at = PlacesIn(n, n, loc);
    const Array place = remainder(at.row - at.column, Operand(n, loc), {}, loc);
    return take(column, place, -1, {}, loc);
  });
}

Array leslie(Operand f, Operand s, Loc loc) {
  const Call call{"leslie", loc};
  return AsOne(call, {{"f", f}, {"s", s}}, [&](const Operand& first, const Operand& below) {
    const MatrixFormulas formulas(call);
    const std::vector<Array> both = Vectors(first, below, call);
    CheckSize("f", both[0], 2, call);
    const int64_t n = SizeOf(both[0]);
    if (SizeOf(both[1]) != n - 1)
      FailShape(call, 18,
                fmt::format("s has {} elements, and f {}: it has one less", SizeOf(both[1]), n));
    const Array is_below = eye(n - 1, {.dtype = bool_, .columns = n}, loc);
    const Array rows =
        formulas.Where(is_below, formulas.Column(both[1]), formulas.NumberLike(both[1], 0));
    return concatenate({formulas.Row(both[0]), rows}, -2, loc);
  });
}

Array companion(Operand a, Loc loc) {
  const Call call{"companion", loc};
  return AsOne(call, {a}, [&](const Operand& x) {
    const MatrixFormulas f(call);
    const Array all = ToVectors(ToFloat(x, call), call);
    CheckSize("a polynomial", all, 2, call);
    const int64_t n = SizeOf(all) - 1;
    const Array first = f.Div(neg(f.Slice(all, 1, 1, n + 1), loc), f.Slice(all, 1, 0, 1));
    const Array below = eye(n - 1, {.dtype = TypeOf(first)->dtype(), .columns = n}, loc);
    return concatenate({f.Row(first), f.WithBatch(below, BatchOf(all, 1), 2)}, -2, loc);
  });
}

// In the even rows i, -a[i + 2] is to the right of the diagonal and -a[i + 1] to its left; ones are
// two places to the right in even rows, and two to the left in odd rows.
Array fiedler_companion(Operand a, Loc loc) {
  const Call call{"fiedler_companion", loc};
  return AsOne(call, {a}, [&](const Operand& x) -> Array {
    const MatrixFormulas f(call);
    const Array all = ToVectors(ToFloat(x, call), call);
    CheckSize("a polynomial", all, 1, call);
    const int64_t n = SizeOf(all) - 1;
    const Located monic(neg(f.Div(all, f.Slice(all, 1, 0, 1)), loc), loc);
    if (n == 0) return f.Mul(f.Row(f.Slice(all, 1, 1, 1)), f.Column(f.Slice(all, 1, 0, 0)));
    if (n == 1) return f.Row(f.Slice(monic, 1, 1, 2));
    const Places at = PlacesIn(n, n, loc);
    const Located &i = at.row, &j = at.column;
    const auto beside = [&](int64_t by) {
      const Array place = clip(i + by, Operand(0, loc), Operand(n, loc), loc);
      return monic.With(take(monic, place, -1, {}, loc));
    };
    const Located even = i.With(remainder(i, Operand(2, loc), {}, loc)) == 0;
    const Located ones = (even & (j == i + 2)) | ((!even) & (j == i - 2)) | ((i == 1) & (j == 0));
    const Located corner = (i == 0) & (j == 0);
    const Located left = even & (j == i - 1), right = even & (j == i + 1);
    return If(corner | left, beside(1),
              If(right, beside(2), If(ones, 1.0, Located(f.NumberLike(monic, 0), loc))));
  });
}

Array fiedler(Operand a, Loc loc) {
  const Call call{"fiedler", loc};
  return AsOne(call, {a}, [&](const Operand& x) {
    const MatrixFormulas f(call);
    const Array all = ToVectors(ToArray(x, call), call);
    return abs(f.Sub(f.Column(all), f.Row(all)), loc);
  });
}

// Column j is a, moved down by j. The modes leave out rows at both ends.
Array convolution_matrix(Operand a, int64_t n, ConvolveMode mode, Loc loc) {
  const Call call{"convolution_matrix", loc};
  if (n < 1) FailShape(call, 17, fmt::format("the vector has one element or more, not {}", n));
  return AsOne(call, {a, n, mode}, [&](const Operand& x) -> Array {
    const MatrixFormulas f(call);
    const Array all = ToArray(x, call);
    if (Rank(all) == 0) FailShape(call, 17, "a vector has rank 1 or more, not 0");
    CheckSize("a", all, 1, call);
    const int64_t m = SizeOf(all), shared = std::min(n, m) - 1;
    const int64_t first = mode == ConvolveMode::kFull   ? 0
                          : mode == ConvolveMode::kSame ? shared / 2
                                                        : shared;
    const int64_t rows = mode == ConvolveMode::kFull   ? m + n - 1
                         : mode == ConvolveMode::kSame ? std::max(n, m)
                                                       : std::max(n, m) - shared;
    const Places at = PlacesIn(rows, n, loc);
    const Located place = at.row + first - at.column;
    const Array inside = clip(place, Operand(0, loc), Operand(m - 1, loc), loc);
    const Array made = take(all, inside, -1, {}, loc);
    return f.Where((place >= 0) & (place < m), made, f.NumberLike(made, 0));
  });
}

}  // namespace tessera::linalg
