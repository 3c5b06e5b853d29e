// Spherical harmonics, by recurrence over their degrees.
#include <fmt/format.h>

#include <cmath>
#include <numbers>
#include <type_traits>
#include <vector>

#include "api/core/option_fields.h"
#include "api/numpy/sized.h"
#include "api/special/precise.h"
#include "api/special/real.h"
#include "tessera/control.h"
#include "tessera/gradients.h"
#include "tessera/special.h"

namespace tessera {

using namespace api;

static std::string Code(const HarmonicsOptions& o) {
  return OptionFields().Add("n_max", o.n_max).code();
}

namespace {

using LoopParts = std::vector<Array>;

// Loops carry numbers as arrays.
LoopParts PartsOf(const std::vector<Located>& numbers) { return {numbers.begin(), numbers.end()}; }
LoopParts PartsOf(const std::vector<Precise>& numbers) {
  LoopParts parts;
  for (const Precise& x : numbers) parts.insert(parts.end(), {x.high, x.low});
  return parts;
}
template <class T>
std::vector<T> FromParts(const LoopParts& parts, Loc loc) {
  std::vector<T> numbers;
  if constexpr (std::is_same_v<T, Precise>)
    for (size_t i = 0; i + 1 < parts.size(); i += 2)
      numbers.push_back({{parts[i], loc}, {parts[i + 1], loc}});
  else
    for (const Array& part : parts) numbers.emplace_back(part, loc);
  return numbers;
}
Located Rounded(const Located& x) { return x; }
Located Rounded(const Precise& x) { return x.high; }

template <class T>
struct CosineAndSine {
  T cosine, sine;
};
// Returns the cosine of an angle, and the size of its sine.
template <class T>
CosineAndSine<T> CosineAndSineOf(const Located& theta);

template <>
CosineAndSine<Located> CosineAndSineOf(const Located& theta) {
  return {Cos(theta), Abs(Sin(theta))};
}

// By Taylor series at the distance from the nearest multiple of pi / 2.
template <>
CosineAndSine<Precise> CosineAndSineOf(const Located& theta) {
  constexpr int64_t kTerms = 13;
  // pi / 2 in three parts. Multiples of two of them are exact up to kLarge.
  constexpr double kFirst = 0x1.921fb544p0, kSecond = 0x1.0b4611a6p-34,
                   kThird = 0x1.3198a2e037073p-69, kLarge = 0x1p20;
  const Loc loc = theta.loc();
  const Located is_large = !(Abs(theta) < kLarge), x = If(is_large, 0.0, theta);
  const Located zeros = x.With(zeros_like(x, {}, loc));
  const Located turns = x.With(round(x * (2 / std::numbers::pi), {}, loc));
  const Precise distance = ExactSum(x - turns * kFirst, -turns * kSecond) + -turns * kThird;
  const Precise square = -(distance * distance);
  const auto next = [&](Array i, LoopParts parts) -> LoopParts {
    const Located n = 2.0 * x.With(astype(i, f64, loc));
    const std::vector<Precise> s = FromParts<Precise>(parts, loc);
    const Precise even = s[0] * square / ((n - 1.0) * n), odd = s[1] * square / (n * (n + 1.0));
    return PartsOf({even, odd, s[2] + even, s[3] + odd});
  };
  const Precise one{zeros + 1.0, zeros};
  const LoopParts parts =
      fori_loop(1, kTerms, next, PartsOf({one, distance, one, distance}), {}, loc);
  const std::vector<Precise> sums = FromParts<Precise>(parts, loc);
  const Located quarter = x.With(remainder(turns, Operand(4, loc), {}, loc));
  const Located swaps = (quarter == 1) | (quarter == 3);
  const Precise cosine = If(swaps, sums[3], sums[2]), sine = If(swaps, sums[2], sums[3]);
  const CosineAndSine<Located> rounded = CosineAndSineOf<Located>(theta);
  const Located is_back = (quarter == 1) | (quarter == 2);
  return {If(is_large, {rounded.cosine, zeros}, If(is_back, -cosine, cosine)),
          If(is_large, {rounded.sine, zeros}, If(sine.high < 0, -sine, sine))};
}

// Returns the normalized associated Legendre function of the degree and the order at cos(theta),
// and 1 / sqrt(4 pi) for the degree 0. From degree m on, which is reached along the diagonal, the
// recurrence has two terms. They cancel where the function is close to 0.
template <class T>
Located Legendre(const Located& degree, const Located& order, const Located& theta,
                 int64_t highest) {
  const Loc loc = theta.loc();
  const Located squared = Square(order),
                zeros = degree.With(zeros_like(degree + order + theta, {}, loc));
  const CosineAndSine<T> at = CosineAndSineOf<T>(theta);
  const auto next = [&](Array k, LoopParts s) -> LoopParts {
    const Located kept(s.back(), loc);
    s.pop_back();
    const std::vector<T> numbers = FromParts<T>(s, loc);
    const T &last = numbers[0], &now = numbers[1], &before = numbers[2];
    const Located n = theta.With(astype(k, f64, loc)) + 1.0, is_diagonal = order >= n;
    const T gap = Sqrt(Quotient<T>(If(is_diagonal, 2.0 * n, Square(n) - squared),
                                   If(is_diagonal, 2.0 * n + 1.0, 4.0 * Square(n) - 1.0)));
    const T made = (If(is_diagonal, -at.sine, at.cosine) * now - before * last) / gap;
    LoopParts next = PartsOf({now, made, If(is_diagonal, before, gap)});
    next.push_back(If(n == degree, Rounded(made), kept));
    return next;
  };
  const auto number = [&](const Located& x) -> T {
    if constexpr (std::is_same_v<T, Precise>)
      return {x, zeros};
    else
      return x;
  };
  const Located start = zeros + 0.5 * std::numbers::inv_sqrtpi;
  LoopParts first = PartsOf({number(zeros), number(start), number(zeros)});
  first.push_back(start);
  return theta.With(fori_loop(0, highest, next, first, {}, loc).back());
}

// As Legendre<Precise>, with the derivatives of Legendre<Located>.
Located PreciseLegendre(const Located& degree, const Located& order, const Located& theta,
                        int64_t highest) {
  const Loc loc = theta.loc();
  const auto applied = [=](auto f, const LoopParts& xs) -> Array {
    return f({xs[0], loc}, {xs[1], loc}, {xs[2], loc}, highest);
  };
  const auto precise = [=](LoopParts xs) -> Array { return applied(Legendre<Precise>, xs); };
  const auto rule = [=](const std::tuple<LoopParts>& primals,
                        const std::tuple<LoopParts>& tangents) {
    const auto rounded = [=](LoopParts xs) -> Array { return applied(Legendre<Located>, xs); };
    const LoopParts &at = std::get<0>(primals), &along = std::get<0>(tangents);
    return std::pair<Array, Array>(precise(at), jvp(rounded, at, along, loc).second);
  };
  return theta.With(custom_jvp(precise, rule, loc)(LoopParts{degree, order, theta}, loc));
}

// Returns the cosine and the sine of x * y. The product's rounding error may be more than a sine
// close to 0.
CosineAndSine<Located> OfProduct(const Located& x, const Located& y) {
  constexpr double kLarge = 0x1p500;
  const Located product = x * y, is_large = !((Abs(x) < kLarge) & (Abs(y) < kLarge));
  const Located lost = Constant(ExactProduct(If(is_large, 0.0, x), If(is_large, 0.0, y)).low);
  const Located cosine = Cos(product), sine = Sin(product);
  return {cosine - lost * sine, sine + lost * cosine};
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
    const bool is_precise = TypeOf(angles[0])->dtype() == f64;
    const Located order = Abs(at(1));
    const auto [cosine, sine] = OfProduct(order, at(3));
    const Located odd = order.With(remainder(order, Operand(2, loc), {}, loc)) != 0;
    const Located is_low = at(1) < 0;
    const Located value =
        (is_precise ? PreciseLegendre : Legendre<Located>)(top, order, at(2), highest);
    // Y of -m is the conjugate of Y of m, times (-1)^m.
    const Located size = If(is_low & odd, -value, value);
    const Located imaginary = size * sine;
    const Array made = complex(size * cosine, If(is_low, -imaginary, imaginary), {}, loc);
    return is_precise ? made : Convert(made, c64, call);
  });
}

}  // namespace tessera
