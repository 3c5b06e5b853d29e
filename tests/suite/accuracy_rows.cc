// The functions of the accuracy table. The ops come from the rows that kernel tests use.
#include "suite/accuracy_rows.h"

#include <cmath>
#include <numbers>

#include "api/core/operands.h"
#include "elementwise_rows.h"

namespace tessera::suite {
namespace {

Array Apply(plan::ScalarOp op, const std::vector<Array>& operands) {
  return api::Run(ops::Elementwise(op), nullptr, operands, {"accuracy", Loc::Current()});
}

Real SoftplusReal(Real x) { return std::max<Real>(x, 0) + std::log1p(std::exp(-std::fabs(x))); }
Real LogAddExpReal(Real x, Real y) {
  if (std::isinf(x) && x == y) return x;
  return std::fmax(x, y) + std::log1p(std::exp(-std::fabs(x - y)));
}
Real SiluReal(Real x) { return x / (1 + std::exp(-x)); }
Real TanhGeluReal(Real x) {
  const Real t = std::sqrt(2 / std::numbers::pi_v<Real>) * (x + 0.044715L * x * x * x);
  return x / (1 + std::exp(-2 * t));
}
Real ErfGeluReal(Real x) { return x / 2 * std::erfc(-x / std::numbers::sqrt2_v<Real>); }
Real RemainderReal(Real x, Real y) {
  const Real r = std::fmod(x, y);
  if (r == 0) return std::copysign(Real{0}, y);
  return (r < 0) != (y < 0) ? r + y : r;
}
Real PolygammaReal(int n, Real x) {
  return (n % 2 == 0 ? -1 : 1) * std::tgamma(n + Real{1}) * ZetaReal(n + 1, x);
}

template <class F>
AccuracyRow Unary(std::string name, std::function<Array(Array)> call, F want) {
  return {.name = std::move(name),
          .unary = std::move(call),
          .binary = {},
          .want = [want](Real x, Real, const Format&) -> Real { return want(x); }};
}
template <class F>
AccuracyRow Binary(std::string name, std::function<Array(Array, Array)> call, F want) {
  return {.name = std::move(name),
          .unary = {},
          .binary = std::move(call),
          .want = [want](Real x, Real y, const Format&) -> Real { return want(x, y); }};
}

}  // namespace

const std::vector<AccuracyRow>& OpRows() {
  static const auto* rows = [] {
    auto* all = new std::vector<AccuracyRow>;
    const auto add = [&](AccuracyRow row, double units, Real least) {
      row.units = units, row.narrow = std::min(units, 0.501), row.least = least;
      all->push_back(std::move(row));
    };
    for (const UnaryRow& r : UnaryRows())
      if (r.want)
        add(Unary(
                r.name, [op = r.op](Array x) { return Apply(op, {x}); }, r.want),
            r.units, r.least);
    for (const BinaryRow& r : BinaryRows())
      if (r.want)
        add(Binary(
                r.name,
                [op = r.op](Array x, Array y) {
                  return Apply(op, {x, y});
                },
                r.want),
            r.units, 0);
    AccuracyRow next = Binary(
        "nextafter", [](Array x, Array y) { return nextafter(x, y); },
        [](Real, Real) { return Real{}; });
    next.want = NextReal;
    add(next, 0, 0);
    return all;
  }();
  return *rows;
}

const std::vector<AccuracyRow>& CompositeRows() {
  static const auto* rows = [] {
    auto* all = new std::vector<AccuracyRow>;
    const auto add = [&](AccuracyRow row, double units = 4, double narrow = 4, Real least = 0) {
      row.units = units, row.narrow = narrow, row.least = least;
      all->push_back(std::move(row));
    };
    add(Unary(
        "square", [](Array x) { return square(x); }, [](Real x) { return x * x; }));
    add(Unary(
        "reciprocal", [](Array x) { return reciprocal(x); }, [](Real x) { return 1 / x; }));
    add(Unary(
        "integer_pow(x, 5)", [](Array x) { return integer_pow(x, 5); },
        [](Real x) { return x * x * x * x * x; }));
    add(Unary(
        "log2", [](Array x) { return log2(x); }, [](Real x) { return std::log2(x); }));
    add(Unary(
        "log10", [](Array x) { return log10(x); }, [](Real x) { return std::log10(x); }));
    add(Unary(
        "softplus", [](Array x) { return softplus(x); }, SoftplusReal));
    add(Unary(
            "silu", [](Array x) { return silu(x); }, SiluReal),
        800, 60);
    add(Unary(
            "gelu", [](Array x) { return gelu(x, {.approximate = true}); }, TanhGeluReal),
        4000, 3000);
    add(Unary(
            "gelu, not approximate", [](Array x) { return gelu(x, {.approximate = false}); },
            ErfGeluReal),
        4000, 200);
    for (int n : {1, 2})
      add(Unary(
              "polygamma(" + std::to_string(n) + ", x)", [n](Array x) { return polygamma(n, x); },
              [n](Real x) { return PolygammaReal(n, x); }),
          4, 0.501, 1);
    add(Binary(
        "hypot", [](Array x, Array y) { return hypot(x, y); },
        [](Real x, Real y) { return std::hypot(x, y); }));
    add(Binary(
            "logaddexp", [](Array x, Array y) { return logaddexp(x, y); }, LogAddExpReal),
        4, 4, 1);
    add(Binary(
        "remainder", [](Array x, Array y) { return remainder(x, y); }, RemainderReal));
    return all;
  }();
  return *rows;
}

}  // namespace tessera::suite
