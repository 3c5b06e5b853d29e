// Polynomials as arrays of coefficients.
#include "tessera/polynomials.h"

#include <fmt/format.h>

#include <limits>

#include "api/core/located.h"
#include "api/core/option_fields.h"
#include "base/at.h"
#include "base/dtype.h"
#include "tessera/linalg.h"
#include "tessera/statistics.h"

namespace tessera {

using namespace api;

static std::string Code(const VanderOptions& v) {
  return OptionFields().Add("columns", v.columns).Add("increasing", v.increasing, false).code();
}
static std::string Code(const PolyfitOptions& v) {
  return OptionFields()
      .AddNamed("w", v.w)
      .Add("rcond", v.rcond)
      .Add("unscaled", v.unscaled, false)
      .code();
}

namespace {

// C17: throws ShapeError unless p has rank 1.
Array Coefficients(const Operand& p, Call call) {
  const Array a = atleast_1d(ToArray(p, call), call.loc);
  if (Rank(a) != 1) FailShape(call, 17, fmt::format("coefficients have rank 1, not {}", Rank(a)));
  return a;
}
int64_t SizeOf(const Array& p) { return ShapeOf(p)[0]; }
Array From(const Array& p, int64_t first, int64_t limit, Loc loc) {
  return slice(p, {first}, {limit}, {}, loc);
}
Array Padded(const Array& p, int64_t low, int64_t high, Call call) {
  return pad(p, {{low, high}}, StrongScalar(0, TypeOf(p)->dtype(), call), call.loc);
}

using SumCall = Array (*)(Operand, Operand, OutOptions, Loc);
Array Sum(const char* name, SumCall f, const Operand& a, const Operand& b, Loc loc) {
  const Call call{name, loc};
  return AsOne(call, {a, b}, [&](const Operand& lhs, const Operand& rhs) {
    const std::vector<Array> xs = Promote({Coefficients(lhs, call), Coefficients(rhs, call)}, call);
    const int64_t n = std::max(SizeOf(xs[0]), SizeOf(xs[1]));
    return f(Padded(xs[0], n - SizeOf(xs[0]), 0, call), Padded(xs[1], n - SizeOf(xs[1]), 0, call),
             {}, loc);
  });
}

// Returns numbers of the host in the dtype of x.
Array Numbers(const std::vector<double>& values, const Array& like, Call call) {
  return Convert(array(values, {}, call.loc), TypeOf(like)->dtype(), call);
}

}  // namespace

Array polyval(Operand p, Operand x, Loc loc) {
  const Call call{"polyval", loc};
  return AsOne(call, {{"p", p}, {"operand", x}},
               [&](const Operand& of, const Operand& at) -> Array {
                 const DType t = PromotedDType({of, at}, call);
                 const Array all = Convert(ToArray(of, call), t, call);
                 if (Rank(all) < 1) FailShape(call, 17, "coefficients have rank 1 or more, not 0");
                 const Located v(Convert(ToArray(at, call), t, call), loc);
                 Located y(zeros_like(v, {}, loc), loc);
                 const int64_t n = ShapeOf(all)[0];
                 for (int64_t i = 0; i < n; ++i)
                   y = y * v + y.With(take(all, StrongScalar(i, i32, call), 0, {}, loc));
                 return y;
               });
}

Array polyadd(Operand a, Operand b, Loc loc) { return Sum("polyadd", add, a, b, loc); }
Array polysub(Operand a, Operand b, Loc loc) { return Sum("polysub", sub, a, b, loc); }

Array polymul(Operand a, Operand b, Loc loc) {
  const Call call{"polymul", loc};
  return AsOne(call, {a, b}, [&](const Operand& lhs, const Operand& rhs) {
    const Array p = Coefficients(lhs, call), q = Coefficients(rhs, call);
    const Array zero = zeros({1}, {.dtype = PromotedDType({p, q}, call)}, loc);
    return convolve(SizeOf(p) > 0 ? p : zero, SizeOf(q) > 0 ? q : zero, ConvolveMode::kFull, loc);
  });
}

std::pair<Array, Array> polydiv(Operand u, Operand v, Loc loc) {
  const Call call{"polydiv", loc};
  const std::vector<Array> made = AsOne(
      call, {{"u", u}, {"v", v}}, [&](const Operand& of, const Operand& by) -> std::vector<Array> {
        const std::vector<Array> xs =
            PromoteFloat({Coefficients(of, call), Coefficients(by, call)}, call);
        const int64_t n = SizeOf(xs[0]), m = SizeOf(xs[1]), count = n - m + 1;
        if (m == 0) FailShape(call, 18, "there are no coefficients to divide by");
        const Located divisor(xs[1], loc);
        Located rest(xs[0], loc);
        const Located first = divisor.With(From(divisor, 0, 1, loc));
        std::vector<Array> quotient;
        for (int64_t i = 0; i < count; ++i) {
          const Located factor = rest.With(From(rest, i, i + 1, loc)) / first;
          quotient.push_back(factor);
          rest = rest - rest.With(Padded(divisor * factor, i, count - 1 - i, call));
        }
        if (quotient.empty()) quotient.push_back(zeros({1}, {.dtype = rest.dtype()}, loc));
        return {concatenate(quotient, 0, loc), rest};
      });
  return {made[0], made[1]};
}

Array polyder(Operand p, int64_t m, Loc loc) {
  const Call call{"polyder", loc};
  if (m < 0) FailShape(call, 18, fmt::format("there is no derivative number {}", m));
  return AsOne(call, {{"p", p}, m}, [&](const Operand& of) -> Array {
    const Array a = ToFloat(Coefficients(of, call), call);
    const int64_t n = SizeOf(a);
    if (m == 0) return Same(a);
    if (m >= n) return zeros({0}, {.dtype = TypeOf(a)->dtype()}, loc);
    std::vector<double> factors;
    for (int64_t power = n - 1; power >= m; --power) {
      double factor = 1;
      for (int64_t k = 0; k < m; ++k) factor *= static_cast<double>(power - k);
      factors.push_back(factor);
    }
    return Located(From(a, 0, n - m, loc), loc) * Located(Numbers(factors, a, call), loc);
  });
}

Array polyint(Operand p, int64_t m, Operand k, Loc loc) {
  const Call call{"polyint", loc};
  if (m < 0) FailShape(call, 18, fmt::format("there is no antiderivative number {}", m));
  return AsOne(call, {{"p", p}, m, {"k", k}}, [&](const Operand& of, const Operand& constants) {
    Located a(ToFloat(Coefficients(of, call), call), loc);
    Array own = Convert(Coefficients(constants, call), a.dtype(), call);
    if (SizeOf(own) == 1) own = BroadcastTo(own, {m}, call);
    if (SizeOf(own) != m)
      FailShape(call, 19, fmt::format("{} antiderivatives have {} constants", m, SizeOf(own)));
    for (int64_t i = 0; i < m; ++i) {
      std::vector<double> factors;
      for (int64_t power = SizeOf(a); power > 0; --power)
        factors.push_back(1 / static_cast<double>(power));
      a = a.With(
          concatenate({a * a.With(Numbers(factors, a, call)), From(own, i, i + 1, loc)}, 0, loc));
    }
    return Array(a);
  });
}

Array vander(Operand x, VanderOptions options, Loc loc) {
  const Call call{"vander", loc};
  return AsOne(call, {x, options}, [&](const Operand& operand) {
    const Array a = ToArray(operand, call);
    if (Rank(a) != 1) FailShape(call, 17, fmt::format("the array has rank 1, not {}", Rank(a)));
    const int64_t columns = options.columns.value_or(ShapeOf(a)[0]);
    if (columns < 0) FailShape(call, 18, fmt::format("a matrix has {} columns", columns));
    if (columns == 0) return zeros({ShapeOf(a)[0], 0}, {.dtype = TypeOf(a)->dtype()}, loc);
    std::vector<Array> powers{ones_like(a, {}, loc)};
    for (int64_t i = 1; i < columns; ++i) powers.push_back(integer_pow(a, i, loc));
    if (!options.increasing) std::reverse(powers.begin(), powers.end());
    return stack(powers, 1, loc);
  });
}

// The columns are scaled to length 1 first, so that few singular values are small.
namespace {

// The least squares problem of a fit, whose columns have norm 1, and its solution.
struct Fit {
  Located matrix, scale;  // [n, degree + 1], [degree + 1]
  linalg::Lstsq solution;
  bool many;  // y is [n, k]

  // Returns coefficients [degree + 1, ...] of the columns before they were scaled.
  Located Unscaled(const Located& c) const {
    return c / (many ? scale.With(expand_dims(scale, 1, c.loc())) : scale);
  }
};

Fit FitOf(const Operands& xs, int64_t degree, const PolyfitOptions& options, Call call) {
  const Loc loc = call.loc;
  const DType t = FloatOf(PromotedDType({xs[0], xs[1]}, call));
  const Array at = Convert(ToArray(xs[0], call), t, call);
  Located values(Convert(ToArray(xs[1], call), t, call), loc);
  if (Rank(at) != 1 || Rank(values) < 1 || Rank(values) > 2 ||
      values.shape()[0] != ShapeOf(at)[0] || ShapeOf(at)[0] == 0)
    FailShape(call, 18,
              fmt::format("places have shape [n] and values [n] or [n, k], not {} and {}",
                          ir::FieldText(ShapeOf(at)), ir::FieldText(values.shape())));
  const auto n = static_cast<double>(ShapeOf(at)[0]);
  const bool many = Rank(values) == 2;
  Located matrix(vander(at, {.columns = degree + 1}, loc), loc);
  if (options.w.is_given()) {
    const Located w(Convert(options.w, t, call), loc);
    matrix = matrix * w.With(expand_dims(w, 1, loc));
    values = values * (many ? w.With(expand_dims(w, 1, loc)) : w);
  }
  const Located scale = Sqrt(matrix.With(sum(Square(matrix), 0, {}, loc)));
  const double epsilon =
      t == f64 ? std::numeric_limits<double>::epsilon() : std::numeric_limits<float>::epsilon();
  matrix = matrix / scale;
  return {matrix, scale,
          linalg::lstsq(matrix, values, {.rcond = options.rcond.value_or(n * epsilon)}, loc), many};
}

// Returns the covariance of the coefficients: the inverse of the normal matrix, times the variance
// of a distance.
Located Covariance(const Fit& fit, bool unscaled, Call call) {
  const Loc loc = call.loc;
  const Located& m = fit.matrix;
  const int64_t n = m.shape()[0], count = m.shape()[1];
  const Located normal = m.With(matmul(swapaxes(m, 0, 1, loc), m, {}, loc));
  Located base =
      m.With(linalg::inv(normal, loc)) / fit.scale / m.With(expand_dims(fit.scale, 1, loc));
  if (fit.many) base = m.With(expand_dims(base, -1, loc));
  if (unscaled) return base;
  if (n <= count)
    FailShape(call, 17,
              fmt::format("the covariance of {} coefficients needs more points than {}", count, n),
              {"give .unscaled = true"});
  Located variance = m.With(fit.solution.residuals) / static_cast<double>(n - count);
  if (!fit.many) variance = m.With(Reshape(variance, {}, call));
  return base * variance;
}

void CheckDegree(int64_t degree, Call call) {
  if (degree < 0) FailShape(call, 17, fmt::format("there is no degree {}", degree));
}

}  // namespace

Array polyfit(Operand x, Operand y, int64_t degree, PolyfitOptions options, Loc loc) {
  const Call call{"polyfit", loc};
  CheckDegree(degree, call);
  const Arguments arguments{{"x", x}, {"y", y}, degree, options};
  return AsOneWith(call, arguments, {{"w", &options.w}}, [&](const Operands& xs) -> Array {
    const Fit fit = FitOf(xs, degree, options, call);
    return fit.Unscaled({fit.solution.x, loc});
  });
}

Polyfit polyfit_all(Operand x, Operand y, int64_t degree, PolyfitOptions options, Loc loc) {
  const Call call{"polyfit_all", loc};
  CheckDegree(degree, call);
  const Arguments arguments{{"x", x}, {"y", y}, degree, options};
  const std::vector<Array> made = AsOneWith(
      call, arguments, {{"w", &options.w}}, [&](const Operands& xs) -> std::vector<Array> {
        const Fit fit = FitOf(xs, degree, options, call);
        const linalg::Lstsq& s = fit.solution;
        return {fit.Unscaled({s.x, loc}), s.residuals, s.rank, s.singular_values,
                Covariance(fit, options.unscaled, call)};
      });
  return {made[0], made[1], made[2], made[3], made[4]};
}

Array poly(Operand roots, Loc loc) {
  const Call call{"poly", loc};
  return AsOne(call, {{"roots", roots}}, [&](const Operand& operand) -> Array {
    Array a = ToFloat(operand, call);
    if (Rank(a) == 2) a = linalg::eigvals(a, loc);
    if (Rank(a) != 1)
      FailShape(call, 17, fmt::format("roots have rank 1, and matrices rank 2, not {}", Rank(a)));
    Located p(ones({1}, {.dtype = TypeOf(a)->dtype()}, loc), loc);
    for (int64_t i = 0; i < SizeOf(a); ++i) {
      const Located root(From(a, i, i + 1, loc), loc);
      p = p.With(Padded(p, 0, 1, call)) - root * p.With(Padded(p, 1, 0, call));
    }
    return p;
  });
}

Array roots(Operand p, Loc loc) {
  const Call call{"roots", loc};
  return AsOne(call, {{"p", p}}, [&](const Operand& of) {
    const Array a = ToFloat(Coefficients(of, call), call);
    const int64_t n = SizeOf(a) - 1;
    const DType t = TypeOf(a)->dtype();
    if (n < 1) return zeros({0}, {.dtype = t.is_complex() ? t : t == f64 ? c128 : c64}, loc);
    const Located first(From(a, 0, 1, loc), loc);
    const Located row = -first.With(From(a, 1, n + 1, loc)) / first;
    const Array below = eye(n, {.dtype = t, .diagonal = -1}, loc);
    const Array rest = slice(below, {1, 0}, {n, n}, {}, loc);
    return linalg::eigvals(concatenate({Reshape(row, {1, n}, call), rest}, 0, loc), loc);
  });
}

}  // namespace tessera
