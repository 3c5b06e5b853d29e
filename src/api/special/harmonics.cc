// Spherical harmonics, by recurrence over their degrees.
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <numbers>

#include "api/core/option_fields.h"
#include "api/numpy/sized.h"
#include "api/special/real.h"
#include "tessera/control.h"
#include "tessera/special.h"

namespace tessera {

using namespace api;

static std::string Code(const HarmonicsOptions& o) {
  return OptionFields().Add("n_max", o.n_max).code();
}

namespace {

// Returns the normalized associated Legendre function of the degree and the order at cos(theta),
// and 1 / sqrt(4 pi) for the degree 0. From degree m on, which is reached along the diagonal, the
// recurrence has two terms.
Located Legendre(const Located& degree, const Located& order, const Located& theta,
                 int64_t highest) {
  const Loc loc = theta.loc();
  const Located cosine = Cos(theta), sine = Abs(Sin(theta)), squared = Square(order);
  const Located zeros = theta.With(zeros_like(degree + order + theta, {}, loc));
  using State = std::array<Array, 3>;  // of the last two degrees, and of `degree`
  const auto next = [&](Array k, State s) -> State {
    const Located last(s[0], loc), now(s[1], loc), kept(s[2], loc);
    const Located n = theta.With(astype(k, theta.dtype(), loc)) + 1.0;
    const Located is_diagonal = order >= n, below = If(is_diagonal, n + 1.0, order);
    const Located gap = Abs(Square(n) - Square(below));
    const Located first = Sqrt((4.0 * Square(n) - 1.0) / gap);
    const Located before = Square(n - 1.0) - squared;
    const Located second = Sqrt((2.0 * n + 1.0) * If(is_diagonal | (n == 1), 0.0, before) /
                                (If(n == 1, 1.0, 2.0 * n - 3.0) * gap));
    const Located along = -Sqrt(1.0 + 0.5 / n) * sine * now;
    const Located made = If(is_diagonal, along, first * cosine * now - second * last);
    return {If(is_diagonal, zeros, now), made, If(n == degree, made, kept)};
  };
  const Located start = zeros + 0.5 * std::numbers::inv_sqrtpi;
  const State end = fori_loop(0, highest, next, State{zeros, start, start}, {}, loc);
  return theta.With(end[2]);
}

}  // namespace

Array sph_harm_y(Operand n, Operand m, Operand theta, Operand phi, HarmonicsOptions options,
                 Loc loc) {
  const Call call{"sph_harm_y", loc};
  const Arguments arguments{{"n", n}, {"m", m}, {"theta", theta}, {"phi", phi}, options};
  return AsOne(call, arguments, [&](const Operands& xs) -> Array {
    const std::vector<Array> whole = Promote({xs[0], xs[1]}, call);
    if (!TypeOf(whole[0])->dtype().is_integer())
      FailDType(
          call, 14,
          fmt::format("degrees and orders are ints, not {}", TypeOf(whole[0])->dtype().name()));
    if (options.n_max && *options.n_max < 0)
      FailShape(call, 17, fmt::format("the largest degree, {}, is negative", *options.n_max));
    if (!options.n_max && (whole[0].is_traced() || whole[0].is_abstract()))
      FailTrace(call, 17, "the largest degree depends on elements that are not known here",
                {"give .n_max"});
    const int64_t highest = SizeOr(options.n_max, max(whole[0], All, {}, loc), call);
    const std::vector<Array> angles = PromoteFloat({xs[2], xs[3]}, call);
    for (const Array& x : angles) CheckReal(x, call);
    const Located polar(Convert(angles[0], f64, call), loc),
        azimuth(Convert(angles[1], f64, call), loc);
    const auto number = [&](const Array& x) {
      return Located(Convert(x, polar.dtype(), call), loc);
    };
    const std::vector<Array> all =
        Promote({number(whole[0]), number(whole[1]), polar, azimuth}, call);
    const auto at = [&](size_t i) { return Located(all[i], loc); };
    const Located top =
        at(0).With(minimum(at(0), Operand(static_cast<double>(highest), loc), {}, loc));
    const Located order = Abs(at(1)), angle = order * at(3);
    const Located odd = order.With(remainder(order, Operand(2, loc), {}, loc)) != 0;
    const Located is_low = at(1) < 0, value = Legendre(top, order, at(2), highest);
    // Y of -m is the conjugate of Y of m, times (-1)^m.
    const Located size = If(is_low & odd, -value, value);
    const Located imaginary = size * Sin(angle);
    const Array made = complex(size * Cos(angle), If(is_low, -imaginary, imaginary), {}, loc);
    return TypeOf(angles[0])->dtype() == f64 ? made : Convert(made, c64, call);
  });
}

}  // namespace tessera
