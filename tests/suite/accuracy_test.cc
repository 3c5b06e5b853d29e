// docs/accuracy.md: the largest error of every elementwise function of floats, over all 16-bit
// numbers, and over all exponents of wider dtypes.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>

#include "fuzz.h"
#include "suite/accuracy_rows.h"

namespace tessera::suite::accuracy_test {
namespace {

constexpr const char* kHead =
    R"(<!-- Written by tests/suite/accuracy_test.cc; UPDATE_GOLDEN=1 ctest -R suite raises its figures. -->
# Accuracy

The tables give the largest error of every elementwise function of floats, in units in the last
place (ulp) of the exact result; 0.5 is correct rounding. In f16 and bf16 every function is tested
on all numbers. In f32 and f64 it is tested on all exponents, near its zeros, ends and turning
points, and where it overflows and underflows. Functions of two numbers are tested on pairs of
special numbers and on random numbers of all exponents. Figures are the largest over AVX-512, AVX2
and SSE4, rounded up. Special values are exact: NaN, infinities, signed zeros. Infinity counts as
the number after the largest one, so no function overflows early. Subnormal results count like
others, so no function underflows early.

The test `AccuracyTable` checks all figures, and a limit of 4 ulp for every op.
`scripts/nightly fuzz` tests more numbers. References are computed in long double, and these are
compared with MPFR (`tests/suite/references_test.cc`).

## Ops

If |`digamma`| < 1, its error is in units in the last place of 1, because it has zeros.

)";
constexpr const char* kComposites = R"(
## Functions made of several ops

f16 and bf16 are rounded after each op, as in JAX. `silu` and `gelu` have large errors only where
they are almost 0: the argument of their exponential is rounded, and the exponential becomes
subnormal before the product does. If |`logaddexp`| or |`polygamma`| < 1, its error is in units in
the last place of 1.

)";
constexpr DType kFloats[] = {f32, f64, f16, bf16};

const std::string kDocument = std::string(TESSERA_SOURCE_DIR) + "/docs/accuracy.md";

Array Of(DType dtype, const std::vector<double>& numbers) {
  return astype(array(numbers, {.dtype = f64}), dtype);
}
void Append(std::vector<double>& to, const std::vector<double>& more) {
  to.insert(to.end(), more.begin(), more.end());
}

// Returns the arguments on which a function is tried.
void Arguments(const AccuracyRow& row, DType dtype, std::vector<double>& x,
               std::vector<double>& y) {
  if (row.binary) return Pairs(dtype, FuzzCount(30000), x, y);
  x = AllExponents(dtype, FuzzCount(dtype == f64 ? 8 : 64));
  if (dtype.size() > 2) {
    Append(x, HardNumbers(dtype));
    const Format format = FormatOf(dtype);
    Append(x, RangeEnds(dtype, x, [&](double v) { return row.want(v, 0, format); }));
  }
  y.assign(x.size(), 0);
}

// Returns the largest error of a function, and checks it against the row's bound.
double ErrorOf(const AccuracyRow& row, DType dtype) {
  std::vector<double> x, y;
  Arguments(row, dtype, x, y);
  const Array a = Of(dtype, x), z = row.unary ? row.unary(a) : row.binary(a, Of(dtype, y));
  const std::vector<double> got = astype(z, f64).to_vector<double>();
  const Format format = FormatOf(dtype);
  double worst = 0;
  size_t at = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    const double units = Units(got[i], row.want(x[i], y[i], format), format, row.least);
    if (units > worst) worst = units, at = i;
  }
  EXPECT_LE(worst, dtype.size() > 2 ? row.units : row.narrow) << fmt::format(
      "{} of {} {:a} ({}), {:a} ({}): got {}, want {}", row.name, dtype.name(), x[at], x[at], y[at],
      y[at], got[at], static_cast<double>(row.want(x[at], y[at], format)));
  return worst;
}

// Returns a figure as the document prints it: tenths, rounded up, and whole numbers from 10 on.
double Figure(double units) {
  constexpr double kExtended = 1.0 / 1024;  // the error that rounding twice adds
  if (units <= 0.5 + kExtended) return units == 0 ? 0 : 0.5;
  return units < 10 ? std::ceil(units * 10) / 10 : std::ceil(units);
}

using Figures = std::map<std::string, std::vector<double>>;

// Reads rows of tables: | name | 1.2 | ...
Figures Documented() {
  Figures figures;
  std::ifstream in(kDocument);
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with("| `")) continue;
    std::istringstream cells(line.substr(3));
    std::string name, cell;
    std::getline(cells, name, '`');
    std::getline(cells, cell, '|');
    for (size_t i = 0; i < std::size(kFloats) && std::getline(cells, cell, '|'); ++i)
      figures[name].push_back(std::atof(cell.c_str()));
  }
  return figures;
}

std::string TableText(const std::vector<AccuracyRow>& rows, const Figures& figures) {
  std::string text = "| function | f32 | f64 | f16 | bf16 |\n|---|---|---|---|---|\n";
  for (const AccuracyRow& row : rows) {
    text += fmt::format("| `{}` |", row.name);
    for (double figure : figures.at(row.name)) text += fmt::format(" {} |", figure);
    text += '\n';
  }
  return text;
}

TEST(AccuracyTable, HoldsEveryFunction) {
  const bool update = std::getenv("UPDATE_GOLDEN") != nullptr, more = FuzzCount(1) > 1;
  const Figures before = Documented();
  Figures figures;
  for (const auto* rows : {&OpRows(), &CompositeRows()}) {
    for (const AccuracyRow& row : *rows) {
      for (size_t i = 0; i < std::size(kFloats); ++i) {
        const double units = ErrorOf(row, kFloats[i]), figure = Figure(units);
        const auto known = before.find(row.name);
        const double documented =
            known != before.end() && i < known->second.size() ? known->second[i] : 0;
        if (!update && !more) {
          EXPECT_LE(figure, documented) << row.name << " of " << kFloats[i].name();
        }
        figures[row.name].push_back(update ? std::max(figure, documented) : documented);
      }
    }
  }
  const std::string text =
      kHead + TableText(OpRows(), figures) + kComposites + TableText(CompositeRows(), figures);
  if (update) {
    std::ofstream(kDocument) << text;
    return;
  }
  std::ostringstream document;
  document << std::ifstream(kDocument).rdbuf();
  EXPECT_EQ(document.str(), text) << "UPDATE_GOLDEN=1 writes the document anew";
}

// The arguments include NaN, infinities, zeros and the ends of ranges.
TEST(AccuracyTable, TriesTheHardArguments) {
  const AccuracyRow& exp = *std::find_if(OpRows().begin(), OpRows().end(),
                                         [](const AccuracyRow& row) { return row.name == "exp"; });
  std::vector<double> x, y;
  Arguments(exp, f32, x, y);
  const auto has = [&](double v) { return std::find(x.begin(), x.end(), v) != x.end(); };
  const auto zero_of = [&](bool sign) {
    return std::any_of(x.begin(), x.end(),
                       [&](double v) { return v == 0 && std::signbit(v) == sign; });
  };
  EXPECT_TRUE(zero_of(true) && zero_of(false) && has(HUGE_VAL) && has(-HUGE_VAL));
  EXPECT_TRUE(std::any_of(x.begin(), x.end(), [](double v) { return std::isnan(v); }));
  EXPECT_TRUE(has(0x1.62e42ep+6f) && has(0x1.62e430p+6f));    // e^x is finite, then infinite
  EXPECT_TRUE(has(-0x1.9fe368p+6f) && has(-0x1.9fe36ap+6f));  // e^x is subnormal, then zero
  EXPECT_EQ(tessera::exp(Array(0x1.62e42ep+6f)).item<float>(), 0x1.ffff08p+127f);
  EXPECT_EQ(tessera::exp(Array(0x1.62e430p+6f)).item<float>(), HUGE_VALF);
  EXPECT_EQ(tessera::exp(Array(-0x1.9fe368p+6f)).item<float>(), 0x1p-149f);
  EXPECT_EQ(tessera::exp(Array(-0x1.9fe36ap+6f)).item<float>(), 0);
}

}  // namespace
}  // namespace tessera::suite::accuracy_test
