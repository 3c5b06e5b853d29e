// Every elementwise function of floats over every exponent, against libm's long double.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>

#include "elementwise_rows.h"
#include "fuzz.h"
#include "unit/kernels/fused_testing.h"

namespace tessera::kernels {
namespace {

using enum plan::ScalarOp;
using plan::ScalarOp;
using testing::Buffer;
using testing::Call;
using testing::Group;
using testing::SameBits;

// A kernel of one op on n elements.
plan::Kernel KernelOf(ScalarOp op, DType dtype, int64_t n, int operands) {
  Group g({n});
  const int x = g.Input(dtype);
  g.Output(g.Op(op, dtype, x, operands == 2 ? g.Input(dtype) : -1));
  return Fused(g.desc);
}

// Expects `got` within `most` units (of `least`, see Units) of want(i) for every i.
void ExpectAccurate(const std::string& name, const Buffer& got, double most, Real least,
                    const std::function<Real(int64_t)>& want,
                    const std::function<std::string(int64_t)>& arguments) {
  const Format format = FormatOf(got.dtype);
  double worst = 0;
  int64_t at = 0;
  for (int64_t i = 0; i < got.n; ++i) {
    const double units = Units(got.At(i), want(i), format, least);
    if (units > worst) worst = units, at = i;
  }
  // TESSERA_PRINT_UNITS=1 shows where each function stands.
  if (std::getenv("TESSERA_PRINT_UNITS") != nullptr)
    std::printf("%-5s%-11s%8.3f at %s\n", got.dtype.name(), name.c_str(), worst,
                arguments(at).c_str());
  EXPECT_LE(worst, most) << name << " of " << got.dtype.name() << " " << arguments(at) << ": got "
                         << got.At(at) << ", want " << static_cast<double>(want(at));
}
std::string Digits(double x) {
  char text[64];
  std::snprintf(text, sizeof text, "%.17g (%a)", x, x);
  return text;
}

TEST(Accuracy, FunctionsOfOneFloatOverAllExponents) {
  for (const UnaryRow& c : UnaryRows())
    EXPECT_TRUE(c.want || c.op == kIsFinite || c.dtypes[0] != f32) << c.name << " has no `want`";
  for (DType dtype : kFloats) {
    const Buffer x = testing::Numbers(dtype, AllExponents(dtype, FuzzCount(dtype == f32 ? 64 : 8)));
    for (const UnaryRow& c : UnaryRows()) {
      if (!c.want) continue;
      Buffer y(dtype, x.n);
      Call(KernelOf(c.op, dtype, x.n, 1), {&x}, {&y});
      ExpectAccurate(
          c.name, y, c.units, c.least, [&](int64_t i) { return c.want(x.At(i)); },
          [&](int64_t i) { return Digits(x.At(i)); });
    }
  }
}

// Any two numbers; two that are close to each other; x and y with x^y in range.
void FillPairs(Buffer& x, Buffer& y) {
  std::mt19937_64 random(12);
  const auto bits = [&](Buffer& b, int64_t i) {
    const uint64_t v = random();
    std::memcpy(b.bytes.get() + i * b.dtype.size(), &v, static_cast<size_t>(b.dtype.size()));
  };
  const Format format = FormatOf(x.dtype);
  for (int64_t i = 0; i < x.n; ++i) {
    const double unit = static_cast<double>(random() >> 11) * 0x1p-52 - 1;
    bits(x, i);
    if (i % 3 == 0) bits(y, i);
    if (i % 3 == 1) y.Set(i, x.At(i) * (1 + unit));
    if (i % 3 == 2) {
      const double power = unit * 1.1 * (format.end - format.least) / std::log2(std::fabs(x.At(i)));
      y.Set(i, x.At(i) < 0 ? std::nearbyint(power) : power);
    }
  }
}

TEST(Accuracy, FunctionsOfTwoFloatsOverAllExponents) {
  for (DType dtype : kFloats) {
    Buffer x(dtype, FuzzCount(30000)), y(dtype, x.n);
    FillPairs(x, y);
    for (const BinaryRow& c : BinaryRows()) {
      if (!c.want) continue;
      Buffer z(dtype, x.n);
      Call(KernelOf(c.op, dtype, x.n, 2), {&x, &y}, {&z});
      ExpectAccurate(
          c.name, z, c.units, 0, [&](int64_t i) { return c.want(x.At(i), y.At(i)); },
          [&](int64_t i) { return Digits(x.At(i)) + ", " + Digits(y.At(i)); });
    }
  }
}

// Rows of less than a tile end in vectors that are not full: the same bits as in long rows.
TEST(Accuracy, ResultsDoNotDependOnThePlaceInARow) {
  for (DType dtype : kFloats) {
    const Buffer all = testing::Numbers(dtype, AllExponents(dtype, 1));
    for (const UnaryRow& c : UnaryRows()) {
      if (!c.want) continue;
      Buffer want(dtype, all.n);
      Call(KernelOf(c.op, dtype, all.n, 1), {&all}, {&want});
      for (int64_t n : {1, 37}) {
        const plan::Kernel kernel = KernelOf(c.op, dtype, n, 1);
        for (int64_t begin = 0; begin + n <= all.n; begin += all.n / 50) {
          Buffer x(dtype, n), y(dtype, n), part(dtype, n);
          std::memcpy(x.bytes.get(), all.bytes.get() + begin * dtype.size(), x.size());
          std::memcpy(part.bytes.get(), want.bytes.get() + begin * dtype.size(), x.size());
          Call(kernel, {&x}, {&y});
          ASSERT_TRUE(SameBits(y, part)) << c.name << ", " << n << " elements from " << begin;
        }
      }
    }
  }
}

TEST(Accuracy, ExpOfLargeIntegersIsInfinite) {
  for (DType integer : {i64, u64}) {
    for (DType dtype : kFloats) {
      Group g({4});
      g.Output(g.Op(kExp, dtype, g.Op(kConvert, dtype, g.Input(integer))));
      const Buffer x = testing::Numbers(integer, {0, 100000, 5e9, 9e18});
      Buffer y(dtype, 4);
      Call(Fused(g.desc), {&x}, {&y});
      EXPECT_TRUE(testing::Near(y, {1, HUGE_VAL, HUGE_VAL, HUGE_VAL}, 0)) << integer.name();
    }
  }
}

}  // namespace
}  // namespace tessera::kernels
