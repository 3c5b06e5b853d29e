// Special functions that StableHLO lacks: the programs of functions of other ops, whose loops run
// until no element changes. They are computed in f64.
#include "tessera/special.h"

#include <fmt/format.h>

#include <limits>

#include "api/core/located.h"
#include "ir/inline.h"
#include "stablehlo/write/exporter.h"
#include "tessera/control.h"
#include "tessera/program.h"
#include "tessera/transforms.h"

namespace tessera::stablehlo {
namespace {

using api::If;
using api::Located;
using Locateds = std::vector<Located>;
using LoopState = std::vector<Array>;

constexpr double kUnit = std::numeric_limits<double>::epsilon();
constexpr double kNoResult = std::numeric_limits<double>::quiet_NaN();
constexpr double kEndless = std::numeric_limits<double>::infinity();

constexpr double kMostTerms = 5000;

Located ZerosOf(const Located& x) { return x.With(zeros_like(x, {}, x.loc())); }

// Returns the state after as many steps as some element needs, and at most `most`. step(k, state)
// returns the next state, and which elements have not converged.
struct LoopStep {
  Locateds next;
  Located goes_on;
};
template <class F>
Locateds Repeat(const Locateds& start, double most, const F& step) {
  const Loc loc = start[0].loc();
  const auto located = [loc](const LoopState& s, size_t first) {
    Locateds values;
    for (size_t i = first; i < s.size(); ++i) values.emplace_back(s[i], loc);
    return values;
  };
  const auto is_more = [&](LoopState s) -> Array {
    return Located(s[1], loc) & (Located(s[0], loc) < most);
  };
  const auto next = [&](LoopState s) -> LoopState {
    const Located k(s[0], loc);
    const LoopStep made = step(k, located(s, 2));
    LoopState after{k + 1.0, any(made.goes_on, All, {}, loc)};
    for (const Located& x : made.next) after.push_back(x);
    return after;
  };
  LoopState state{Array(1.0).astype(f64, loc), Array(true)};
  for (const Located& x : start) state.push_back(x);
  return located(while_loop(is_more, next, state, loc), 2);
}

// ---- gamma --------------------------------------------------------------------------------------

// x^a e^-x / gamma(a + 1)
Located GammaTerm(const Located& a, const Located& x) {
  return Exp(a * Log(x) - x - Lgamma(a + 1.0));
}

// The sum of x^n / ((a + 1) ... (a + n)) over n >= 0, and its derivative in a.
Locateds LowerSeries(const Located& a, const Located& x) {
  const Located zeros = ZerosOf(a + x), ones = zeros + 1.0;
  const Locateds end = Repeat({ones, zeros, ones, zeros}, 2000, [&](const Located& k, Locateds s) {
    const Located r = a + k, slope = (s[1] - s[0] / r) * (x / r), term = s[0] * (x / r);
    const Located sum = s[2] + term, sum_slope = s[3] + slope;
    return LoopStep{{term, slope, sum, sum_slope},
                    (term > sum * kUnit) | (Abs(slope) > Abs(sum_slope) * kUnit)};
  });
  return {end[2], end[3]};
}

// The continued fraction of the upper function over x^a e^-x / gamma(a), and its derivative in a,
// for x > 1 and x > a. From the last term to the first, which keeps all digits: forwards the errors
// of numerators and denominators add up. The number of terms is measured, for all digits of f64.
Locateds UpperFraction(const Located& a, const Located& x) {
  const Located first = x + 1.0 - a, terms = Floor(20.0 + 110.0 / x + 2.5 * Sqrt(a));
  const Located last = ZerosOf(a + x) + If(terms < kMostTerms, terms, kMostTerms);
  const Locateds start = {first + 2.0 * last, ZerosOf(last) - 1.0};
  const Locateds end = Repeat(start, kMostTerms, [&](const Located& k, const Locateds& s) {
    const Located n = last + 1.0 - k, c = n * (n - a), &y = s[0], &slope = s[1];
    const Located is_term = n >= 1.0;
    return LoopStep{{If(is_term, first + 2.0 * (n - 1.0) - c / y, y),
                     If(is_term, (n * y + c * slope) / (y * y) - 1.0, slope)},
                    n > 1.0};
  });
  return {1.0 / end[0], -end[1] / (end[0] * end[0])};
}

struct GammaParts {
  Located is_upper;  // where the fraction is used, else the series
  Locateds series, fraction;
  Located a, x;  // safe where the result is a special value
};
GammaParts PartsOf(const Locateds& xs) {
  const Located is_plain = (xs[0] > 0) & (xs[0] < kEndless) & (xs[1] > 0) & (xs[1] < kEndless);
  const Located a = If(is_plain, xs[0], 1.0), x = If(is_plain, xs[1], 1.0);
  const Located is_upper = (x > 1) & (x > a);
  return {is_upper, LowerSeries(a, If(is_upper, 0.5, x)),
          UpperFraction(If(is_upper, a, 1.0), If(is_upper, x, 2.0)), a, x};
}

Located Tail(const Locateds& xs, bool upper) {
  const GammaParts g = PartsOf(xs);
  const Located term = GammaTerm(g.a, g.x), low = term * g.series[0],
                high = term * g.a * g.fraction[0];
  const Located y = upper ? If(g.is_upper, high, 1.0 - low) : If(g.is_upper, 1.0 - high, low);
  const Located &a = xs[0], &x = xs[1];
  const Located at_end = (x == kEndless) | (a == 0), at_start = (x == 0) | (a == kEndless);
  const Located special = If(at_end, upper ? 0.0 : 1.0, If(at_start, upper ? 1.0 : 0.0, y));
  return If((a >= 0) & (x >= 0) & ((a > 0) | (x > 0)), special, kNoResult);
}
Located Igamma(const Locateds& xs) { return Tail(xs, false); }
Located Igammac(const Locateds& xs) { return Tail(xs, true); }

// The derivative of a sample in the shape, for plain numbers.
Located SampleSlope(const GammaParts& g) {
  const Located high = g.x * (g.fraction[1] + g.fraction[0] * (Log(g.x) - Digamma(g.a)));
  const Located low = -(g.series[1] + g.series[0] * (Log(g.x) - Digamma(g.a + 1.0))) * (g.x / g.a);
  return If(g.is_upper, high, low);
}
Located RandomGammaGrad(const Locateds& xs) {
  const Located y = SampleSlope(PartsOf(xs));
  const Located special = If(xs[1] == 0, 0.0, If(xs[1] == kEndless, kEndless, y));
  return If((xs[0] > 0) & (xs[1] >= 0), special, kNoResult);
}
Located IgammaGradA(const Locateds& xs) {
  const GammaParts g = PartsOf(xs);
  const Located density = GammaTerm(g.a, g.x) * (g.a / g.x);
  const Located is_zero = (xs[1] == 0) | (xs[1] == kEndless) | (xs[0] == kEndless);
  return If((xs[0] > 0) & (xs[1] >= 0), If(is_zero, 0.0, -density * SampleSlope(g)), kNoResult);
}

// ---- beta and exponential integrals -------------------------------------------------------------

// The continued fraction of DLMF 8.17.22 (Lentz).
Located BetaFraction(const Located& a, const Located& b, const Located& x) {
  const Located ones = ZerosOf(a + b + x) + 1.0, d = 1.0 / (1.0 - x * (a + b) / (a + 1.0));
  return Repeat({ones, d, d}, 2000, [&](const Located& m, Locateds s) {
    const Located even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
    const Located odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
    Located c = 1.0 + even / s[0], e = 1.0 / (1.0 + even * s[1]), y = s[2] * c * e;
    c = 1.0 + odd / c, e = 1.0 / (1.0 + odd * e);
    return LoopStep{{c, e, y * c * e}, Abs(c * e - 1.0) > kUnit};
  })[2];
}
Located Betainc(const Locateds& xs) {
  const Located is_plain = (xs[0] > 0) & (xs[0] < kEndless) & (xs[1] > 0) & (xs[1] < kEndless) &
                           (xs[2] > 0) & (xs[2] < 1);
  const Located a = If(is_plain, xs[0], 1.0), b = If(is_plain, xs[1], 1.0),
                x = If(is_plain, xs[2], 0.5);
  const Located swaps = x >= (a + 1.0) / (a + b + 2.0);
  const Located p = If(swaps, b, a), q = If(swaps, a, b), z = If(swaps, 1.0 - x, x);
  const Located log_beta = Lgamma(a) + Lgamma(b) - Lgamma(a + b);
  const Located term = Exp(a * Log(x) + b * Log1p(-x) - log_beta) / p;
  const Located y = term * BetaFraction(p, q, z);
  const Located at_zero = (xs[0] == 0) | (xs[1] == kEndless);
  const Located at_one = (xs[1] == 0) | (xs[0] == kEndless), zeros = ZerosOf(y);
  const Located is_low = at_zero & (xs[2] > 0), is_high = (xs[2] == 1) & (!at_zero);
  const Located flat = If(is_low | is_high, 1.0, zeros);
  const Located inside = (xs[0] >= 0) & (xs[1] >= 0) & (xs[2] >= 0) & (xs[2] <= 1);
  return If(inside & (!(at_zero & at_one)), If(is_plain, If(swaps, 1.0 - y, y), flat), kNoResult);
}

// The continued fraction for x > 1 (Lentz), and the power series for others, with the gamma
// function if n < 0.
Located Expn(const Locateds& xs) {
  const Located &n = xs[0], &x = xs[1], zeros = ZerosOf(n + x), ones = zeros + 1.0;
  const Located is_high = (x > 1) & (x < kEndless), is_low = (x > 0) & (x <= 1) & (n != 0);
  const Located far = If(is_high, x, 2.0) + n, u = If(is_low, x, 0.5);
  const Locateds fraction =
      Repeat({zeros + kEndless, 1.0 / far, 1.0 / far}, 2000, [&](const Located& k, Locateds s) {
        const Located top = -k * (n - 1.0 + k), b = far + 2.0 * k;
        const Located d = 1.0 / (top * s[1] + b), c = b + top / s[0];
        return LoopStep{{c, d, s[2] * c * d}, is_high & (Abs(c * d - 1.0) > kUnit)};
      });
  const Located order = If(is_low, n, 1.0), logarithm = Digamma(order) - Log(u);
  const auto part = [&](const Located& term, const Located& k) {
    const Located gap = k - order + 1.0;
    return If(gap == 0, term * logarithm, -term / If(gap == 0, 1.0, gap));
  };
  const Located first = part(ones, zeros);
  const Locateds series = Repeat({ones, first}, 2000, [&](const Located& k, Locateds s) {
    const Located term = s[0] * -u / k, more = part(term, k + zeros);
    return LoopStep{{term, s[1] + more}, (k + zeros <= order) | (Abs(more) > kUnit * Abs(s[1]))};
  });
  const Located has_power = (n < 0) | (n != Floor(n)), shape = 1.0 - If(has_power, n, -1.0);
  const Located power = x.With(gamma(shape, x.loc())) * Exp(-shape * Log(u));
  const Located low = series[1] + If(has_power, power, 0.0);
  const Located y = If(is_high, Exp(-x) * fraction[2], low);
  const Located at_zero = If(n > 1, 1.0 / If(n > 1, n - 1.0, 1.0), kEndless);
  const Located special = If(x == 0, at_zero, If(n == 0, Exp(-x) / x, y));
  return If((n == n) & (x >= 0), If(x == kEndless, 0.0, special), kNoResult);
}

// ---- the writer ---------------------------------------------------------------------------------

// Writes the program of the function on operands of one shape.
template <Located (*f)(const Locateds&)>
OutValues AsProgram(const WriteCall& c) {
  const OutType type{c.out().shape, f64};
  OutValues in;
  LoopState operands;
  for (const OutValue& x : c.in) {
    in.push_back(c.w.SpreadTo(c.w.Convert(x, f64), type.shape));
    operands.push_back(abstract_array(fmt::format("f64[{}]", fmt::join(type.shape, ","))));
  }
  const auto function = [loc = c.instruction.loc](LoopState xs) -> Array {
    Locateds located;
    for (const Array& x : xs) located.emplace_back(x, loc);
    return f(located);
  };
  const auto program = ir::InlineCallsAlone(jit(function).trace(operands).program());
  return {c.w.Convert(c.exporter.Run(*program, in)[0], c.out().dtype)};
}

}  // namespace

std::vector<OpWriter> SpecialWriters() {
  return {
      {"betainc", AsProgram<Betainc>}, {"expn", AsProgram<Expn>},
      {"igamma", AsProgram<Igamma>},   {"igamma_grad_a", AsProgram<IgammaGradA>},
      {"igammac", AsProgram<Igammac>}, {"random_gamma_grad", AsProgram<RandomGammaGrad>},
  };
}

}  // namespace tessera::stablehlo
