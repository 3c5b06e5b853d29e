// Fused programs on complex numbers.
#include <functional>

#include "kernels/fused/fused.h"
#include "unit/kernels/complex_testing.h"

namespace tessera::kernels::complex_fused_test {
namespace {

using namespace test;
using enum plan::ScalarOp;
using plan::ScalarOp;

DType ResultOf(ScalarOp op, DType dtype) {
  if (op == kAbs || op == kReal || op == kImag) return base::PartOf(dtype);
  return op == kEq || op == kNe || op == kIsFinite ? bool_ : dtype;
}

Buffer Apply(ScalarOp op, DType result, const std::vector<const Buffer*>& in) {
  Group g({in[0]->n});
  int args[3] = {-1, -1, -1};
  for (size_t k = 0; k < in.size(); ++k) args[k] = g.Input(in[k]->dtype);
  g.Output(g.Op(op, result, args[0], args[1], args[2]));
  Buffer out(result, in[0]->n);
  Call(Fused(g.desc), in, {&out});
  return out;
}

// ---- arithmetic, in vectors -----------------------------------------------------------------

template <class T>
void ExpectArithmetic(DType dtype, int64_t n) {
  using C = std::complex<T>;
  const Buffer a = RandomComplex(dtype, n, 1), b = RandomComplex(dtype, n, 2);
  const DType part = base::PartOf(dtype);
  const auto expect = [&](ScalarOp op, const std::vector<const Buffer*>& in, auto f) {
    const Buffer got = Apply(op, ResultOf(op, dtype), in);
    Buffer want(got.dtype, n);
    for (int64_t i = 0; i < n; ++i) {
      using R = decltype(f(C(), C()));
      want.as<R>()[i] = f(a.as<C>()[i], b.as<C>()[i]);
    }
    EXPECT_TRUE(SameBits(got, want)) << dtype.name() << " op " << static_cast<int>(op);
  };
  expect(kAdd, {&a, &b}, [](C x, C y) { return x + y; });
  expect(kSub, {&a, &b}, [](C x, C y) { return x - y; });
  expect(kMul, {&a, &b}, [](C x, C y) {
    const volatile T rr = x.real() * y.real(), ii = x.imag() * y.imag();
    const volatile T ri = x.real() * y.imag(), ir = x.imag() * y.real();
    return C(rr - ii, ri + ir);
  });
  expect(kNeg, {&a}, [](C x, C) { return -x; });
  expect(kConj, {&a}, [](C x, C) { return std::conj(x); });
  expect(kReal, {&a}, [](C x, C) { return x.real(); });
  expect(kImag, {&a}, [](C x, C) { return x.imag(); });
  expect(kEq, {&a, &b}, [](C x, C y) { return x == y; });
  expect(kNe, {&a, &b}, [](C x, C y) { return x != y; });
  const Buffer re = Random(part, n, 3), im = Random(part, n, 4);
  Buffer want(dtype, n);
  for (int64_t i = 0; i < n; ++i) want.as<C>()[i] = C(re.as<T>()[i], im.as<T>()[i]);
  EXPECT_TRUE(SameBits(Apply(kComplex, dtype, {&re, &im}), want));
}

TEST(Complex, ArithmeticOfAllLengths) {
  for (int64_t n : {1, 2, 3, 7, 8, 15, 16, 31, 33, 127, 128, 129, 1000, 9000}) {
    ExpectArithmetic<float>(c64, n);
    ExpectArithmetic<double>(c128, n);
  }
}

TEST(Complex, ComparesBothParts) {
  for (DType dtype : {c64, c128}) {
    const Buffer a = ComplexNumbers(dtype, {{1, 2}, {1, 2}, {1, 2}, {0, -0.0}, {kNan, 0}});
    const Buffer b = ComplexNumbers(dtype, {{1, 2}, {1, 3}, {3, 2}, {-0.0, 0}, {kNan, 0}});
    EXPECT_TRUE(Near(Apply(kEq, bool_, {&a, &b}), {1, 0, 0, 1, 0}, 0));
    EXPECT_TRUE(Near(Apply(kNe, bool_, {&a, &b}), {0, 1, 1, 0, 1}, 0));
    const Buffer c = ComplexNumbers(dtype, {{1, 2}, {kInf, 2}, {1, kNan}, {-kInf, kNan}});
    EXPECT_TRUE(Near(Apply(kIsFinite, bool_, {&c}), {1, 0, 0, 0}, 0));
  }
}

TEST(Complex, ExtremesAreLexicographic) {
  for (DType dtype : {c64, c128}) {
    const Buffer a = ComplexNumbers(dtype, {{1, 2}, {1, 5}, {3, -1}, {kNan, 1}, {2, 2}});
    const Buffer b = ComplexNumbers(dtype, {{2, 0}, {1, 4}, {3, -2}, {7, 7}, {2, 2}});
    EXPECT_TRUE(SameBits(Apply(kMax, dtype, {&a, &b}),
                         ComplexNumbers(dtype, {{2, 0}, {1, 5}, {3, -1}, {7, 7}, {2, 2}})));
    EXPECT_TRUE(SameBits(Apply(kMin, dtype, {&a, &b}),
                         ComplexNumbers(dtype, {{1, 2}, {1, 4}, {3, -2}, {7, 7}, {2, 2}})));
    const Buffer low = ComplexNumbers(dtype, {{2, 0}}), x = ComplexNumbers(dtype, {{1, 9}}),
                 high = ComplexNumbers(dtype, {{4, 0}});
    EXPECT_TRUE(SameBits(Apply(kClamp, dtype, {&low, &x, &high}), low));
  }
}

TEST(Complex, SelectsBothParts) {
  for (DType dtype : {c64, c128}) {
    const Buffer p = Random(bool_, 333, 1), a = RandomComplex(dtype, 333, 2),
                 b = RandomComplex(dtype, 333, 3);
    Buffer want(dtype, 333);
    for (int64_t i = 0; i < 333; ++i) SetComplex(want, i, Long(ComplexAt(p.At(i) != 0 ? b : a, i)));
    EXPECT_TRUE(SameBits(Apply(kSelect, dtype, {&p, &a, &b}), want));
  }
}

TEST(Complex, Converts) {
  for (DType from : {c64, c128}) {
    for (DType to : {c64, c128, f16, f32, f64, i8, i32, i64, bool_}) {
      Buffer x = RandomComplex(from, 300, 1, true);
      SetComplex(x, 4, {0, 1});
      Buffer want(to, x.n);
      for (int64_t i = 0; i < x.n; ++i) {
        const auto v = ComplexAt(x, i);
        SetComplex(want, i, to.is_bool() ? Long(v != 0.0) : Long(v));
      }
      EXPECT_TRUE(SameBits(Apply(kConvert, to, {&x}), want)) << from.name() << to.name();
    }
  }
  for (DType from : {f16, f32, f64, i8, i32, u64, bool_}) {
    for (DType to : {c64, c128}) {
      const Buffer x = Random(from, 300, 1);
      Buffer want(to, x.n);
      for (int64_t i = 0; i < x.n; ++i) SetComplex(want, i, x.At(i));
      EXPECT_TRUE(SameBits(Apply(kConvert, to, {&x}), want)) << from.name() << to.name();
    }
  }
}

TEST(Complex, ConstantsAndIndices) {
  for (DType dtype : {c64, c128}) {
    Group g({37});
    const Buffer value = ComplexNumbers(dtype, {{0.5, -3}});
    const int x = g.Iota(dtype, 0), c = g.Constant(base::PartOf(dtype), 0);
    plan::FusedNode& node = g.desc.nodes[static_cast<size_t>(c)];
    node.dtype = dtype;
    std::memcpy(node.bits.data(), value.bytes.get(), value.size());
    g.Output(g.Op(kAdd, dtype, x, c));
    Buffer out(dtype, 37);
    Call(Fused(g.desc), {}, {&out});
    for (int64_t i = 0; i < 37; ++i)
      EXPECT_EQ(ComplexAt(out, i), std::complex<double>(static_cast<double>(i) + 0.5, -3));
  }
}

// ---- layouts --------------------------------------------------------------------------------

// Computes conj(a) * b + c, where b is one number per row and c is transposed.
TEST(Complex, ReadsRowsNumbersAndStrides) {
  for (DType dtype : {c64, c128}) {
    for (const auto& [rows, n] : std::vector<std::pair<int64_t, int64_t>>{
             {5, 300}, {3, 40}, {200, 3}, {65, 9}, {2, 5}, {1, 1000}}) {
      Group g({rows, n});
      const int a = g.Input(dtype), b = g.Input(dtype, {1, 0}), c = g.Input(dtype, {1, rows});
      g.Output(g.Op(kAdd, dtype, g.Op(kMul, dtype, g.Op(kConj, dtype, a), b), c));
      const Buffer x = RandomComplex(dtype, rows * n, 1), y = RandomComplex(dtype, rows, 2),
                   z = RandomComplex(dtype, rows * n, 3);
      Buffer out(dtype, rows * n);
      for (int parts : {1, 3}) {
        Call(Fused(g.desc), {&x, &y, &z}, {&out}, parts);
        std::vector<Long> want;
        for (int64_t i = 0; i < rows; ++i)
          for (int64_t j = 0; j < n; ++j)
            want.push_back(std::conj(Long(ComplexAt(x, i * n + j))) * Long(ComplexAt(y, i)) +
                           Long(ComplexAt(z, j * rows + i)));
        EXPECT_TRUE(NearComplex(out, want, 256)) << rows << " x " << n << " parts " << parts;
      }
    }
  }
}

// Numbers of both sizes and of real dtypes in one program.
TEST(Complex, MixesSizes) {
  for (int64_t rows : {1, 70}) {
    const int64_t n = rows == 1 ? 203 : 5;
    Group g({rows, n});
    const int a = g.Input(c64), b = g.Input(c128), r = g.Input(f32);
    const int wide = g.Op(kAdd, c128, g.Op(kConvert, c128, a), b);
    g.Output(g.Op(kMul, c64, g.Op(kConvert, c64, wide),
                  g.Op(kComplex, c64, r, g.Op(kImag, f32, g.Op(kExp, c64, a)))));
    g.Output(wide);
    const Buffer x = RandomComplex(c64, rows * n, 1), y = RandomComplex(c128, rows * n, 2),
                 z = Random(f32, rows * n, 3);
    Buffer out(c64, rows * n), out_wide(c128, rows * n);
    Call(Fused(g.desc), {&x, &y, &z}, {&out, &out_wide});
    std::vector<Long> want, want_wide;
    for (int64_t i = 0; i < rows * n; ++i) {
      const Long v(ComplexAt(x, i));
      want_wide.push_back(v + Long(ComplexAt(y, i)));
      want.push_back(want_wide.back() * Long(z.At(i), std::exp(v).imag()));
    }
    EXPECT_TRUE(NearComplex(out, want, 16));
    EXPECT_TRUE(NearComplex(out_wide, want_wide, 2));
  }
}

TEST(Complex, ReadsParts) {
  for (DType dtype : {c64, c128}) {
    const int64_t n = 5000, cut = 1234;
    const Buffer a = RandomComplex(dtype, n, 1), b = RandomComplex(dtype, n, 2),
                 zero = ComplexNumbers(dtype, {{0.5, 4}});
    Group g({n});
    const int x = g.Input(dtype);
    g.Output(g.Op(kAdd, dtype, x, x));
    g.desc.inputs[0].parts = {
        {{0}, {cut}, {1}, 7, 0}, {{cut}, {n - 1000}, {1}, 0, 1}, {{n - 1000}, {n}, {0}, 0, 2}};
    Buffer out(dtype, n);
    Call(Fused(g.desc), {&a, &b, &zero}, {&out}, 2);
    Buffer want(dtype, n);
    for (int64_t i = 0; i < n; ++i) {
      const auto v = i < cut        ? ComplexAt(a, i + 7)
                     : i < n - 1000 ? ComplexAt(b, i)
                                    : std::complex<double>(0.5, 4);
      SetComplex(want, i, Long(v + v));
    }
    EXPECT_TRUE(SameBits(out, want));
  }
}

TEST(Complex, WritesOverItsOperand) {
  Buffer x = RandomComplex(c64, 1000, 1);
  const Buffer before = x;
  Group g({1000});
  const int a = g.Input(c64);
  g.Output(g.Op(kMul, c64, a, a));
  const plan::Kernel kernel = Fused(g.desc);
  ASSERT_EQ(kernel.in_place, 1u);
  Call(kernel, {&x}, {&x});
  EXPECT_TRUE(SameBits(x, Apply(kMul, c64, {&before, &before})));
}

TEST(Complex, StreamsLargeResults) {
  for (DType dtype : {c64, c128}) {
    const int64_t n = (48 << 20) / dtype.size();
    Group g({n});
    g.desc.streams = true;
    const int a = g.Input(dtype);
    g.Output(g.Op(kConj, dtype, a));
    const Buffer x = RandomComplex(dtype, n, 1);
    Buffer out(dtype, n);
    Call(Fused(g.desc), {&x}, {&out});
    for (int64_t i = 0; i < n; ++i) ASSERT_EQ(ComplexAt(out, i), std::conj(ComplexAt(x, i)));
  }
}

TEST(Complex, SumsOfRows) {
  for (DType dtype : {c64, c128}) {
    for (const auto& [rows, n] : std::vector<std::pair<int64_t, int64_t>>{
             {1, 1}, {3, 40}, {2, 20000}, {100, 17}, {4, 333}}) {
      Group g({rows, n}, 1);
      const int a = g.Input(dtype), sum = g.Reduce(Reduction::kSum, dtype, a);
      g.OutputPerRow(sum);
      g.Output(g.Op(kMul, dtype, a, sum));
      const Buffer x = RandomComplex(dtype, rows * n, 5);
      Buffer out(dtype, rows), all(dtype, rows * n);
      Call(Fused(g.desc), {&x}, {&out, &all});
      std::vector<Long> want, products;
      for (int64_t i = 0; i < rows; ++i) {
        want.emplace_back();
        for (int64_t j = 0; j < n; ++j) want.back() += Long(ComplexAt(x, i * n + j));
        for (int64_t j = 0; j < n; ++j)
          products.push_back(want.back() * Long(ComplexAt(x, i * n + j)));
      }
      EXPECT_TRUE(NearComplex(out, want, 64)) << rows << " x " << n;
      EXPECT_TRUE(NearComplex(all, products, 64)) << rows << " x " << n;
    }
  }
}

// ---- functions ------------------------------------------------------------------------------

using Function = std::function<Long(Long)>;

Long Series(Long z, bool log) {
  Long sum = 0, power = 1;
  for (int k = 1; k < 12; ++k) {
    power *= log ? -z : z / static_cast<long double>(k);
    sum += log ? -power / static_cast<long double>(k) : power;
  }
  return sum;
}

struct FunctionCase {
  const char* name;
  ScalarOp op;
  Function want;
  int most;  // exponents of parts; -1: the dtype's
};

const std::vector<FunctionCase>& Functions() {
  static const std::vector<FunctionCase> all = {
      {"abs", kAbs, [](Long z) { return Long(std::abs(z)); }, -1},
      {"sign", kSign, [](Long z) { return z == Long() ? z : z / std::abs(z); }, -1},
      {"sqrt", kSqrt, [](Long z) { return std::sqrt(z); }, -1},
      {"rsqrt", kRsqrt, [](Long z) { return 1.0L / std::sqrt(z); }, -1},
      {"exp", kExp, [](Long z) { return std::exp(z); }, 7},
      {"exp2", kExp2, [](Long z) { return std::exp(z * std::log(2.0L)); }, 7},
      {"expm1", kExpm1,
       [](Long z) { return std::abs(z) < 1e-3L ? Series(z, false) : std::exp(z) - 1.0L; }, 7},
      {"log", kLog, [](Long z) { return std::log(z); }, -1},
      {"log1p", kLog1p,
       [](Long z) { return std::abs(z) < 1e-3L ? Series(z, true) : std::log(1.0L + z); }, -1},
      {"logistic", kLogistic, [](Long z) { return 1.0L / (1.0L + std::exp(-z)); }, 6},
      {"sin", kSin, [](Long z) { return std::sin(z); }, 6},
      {"cos", kCos, [](Long z) { return std::cos(z); }, 6},
      {"tan", kTan, [](Long z) { return std::tan(z); }, 6},
      {"asin", kAsin, [](Long z) { return std::asin(z); }, -1},
      {"acos", kAcos, [](Long z) { return std::acos(z); }, -1},
      {"atan", kAtan, [](Long z) { return std::atan(z); }, 60},
      {"sinh", kSinh, [](Long z) { return std::sinh(z); }, 6},
      {"cosh", kCosh, [](Long z) { return std::cosh(z); }, 6},
      {"tanh", kTanh, [](Long z) { return std::tanh(z); }, 6},
      {"asinh", kAsinh, [](Long z) { return std::asinh(z); }, -1},
      {"acosh", kAcosh, [](Long z) { return std::acosh(z); }, -1},
      {"atanh", kAtanh, [](Long z) { return std::atanh(z); }, 60},
  };
  return all;
}

TEST(Complex, FunctionsOverAllExponents) {
  for (DType dtype : {c64, c128}) {
    const int most = dtype == c64 ? 126 : 1020;
    for (const FunctionCase& f : Functions()) {
      const int limit = f.most < 0 ? most : f.most;
      for (int least : {-most, -8}) {
        const Buffer x = AllExponents(dtype, 4000, 7, least, limit);
        std::vector<Long> want;
        for (int64_t i = 0; i < x.n; ++i) want.push_back(f.want(Long(ComplexAt(x, i))));
        EXPECT_TRUE(NearComplex(Apply(f.op, ResultOf(f.op, dtype), {&x}), want, 8)) << f.name;
      }
    }
  }
}

// Where the logarithm is small, and on the circle on which its real part is.
TEST(Complex, LogarithmsNearZero) {
  for (DType dtype : {c64, c128}) {
    const int digits = dtype == c64 ? 23 : 52;
    Buffer near_one = AllExponents(dtype, 3000, 1, -digits, -2), on_circle(dtype, 3000);
    std::vector<Long> want, want_circle;
    for (int64_t i = 0; i < near_one.n; ++i) {
      SetComplex(near_one, i, Long(1) + Long(ComplexAt(near_one, i)));
      want.push_back(std::log(Long(ComplexAt(near_one, i))));
      SetComplex(on_circle, i, std::polar(1.0L, static_cast<long double>(i) / 400) - 1.0L);
      const Long z(ComplexAt(on_circle, i));
      want_circle.push_back(std::abs(z) < 1e-3L ? Series(z, true) : std::log(1.0L + z));
    }
    EXPECT_TRUE(NearComplex(Apply(kLog, dtype, {&near_one}), want, 8));
    EXPECT_TRUE(NearComplex(Apply(kLog1p, dtype, {&on_circle}), want_circle, 8));
  }
}

TEST(Complex, QuotientsOverAllExponents) {
  for (DType dtype : {c64, c128}) {
    const int most = dtype == c64 ? 126 : 1020;
    const Buffer x = AllExponents(dtype, 20000, 1, -most, most),
                 y = AllExponents(dtype, 20000, 2, -most, most);
    std::vector<Long> want;
    Buffer divisor = y;
    for (int64_t i = 0; i < x.n; ++i) {
      if (ComplexAt(y, i) == 0.0) SetComplex(divisor, i, 1);
      want.push_back(Long(ComplexAt(x, i)) / Long(ComplexAt(divisor, i)));
    }
    EXPECT_TRUE(NearComplex(Apply(kDiv, dtype, {&x, &divisor}), want, 4));
  }
}

TEST(Complex, Powers) {
  for (DType dtype : {c64, c128}) {
    const Buffer x = AllExponents(dtype, 3000, 1, -20, 20), y = AllExponents(dtype, 3000, 2, -6, 3);
    std::vector<Long> want;
    for (int64_t i = 0; i < x.n; ++i) {
      const Long a(ComplexAt(x, i)), b(ComplexAt(y, i));
      if (b == Long())
        want.push_back(1);
      else if (a == Long())
        want.push_back(b.real() > 0 ? 0 : std::numeric_limits<long double>::infinity());
      else
        want.push_back(std::exp(b * std::log(a)));
    }
    EXPECT_TRUE(NearComplex(Apply(kPow, dtype, {&x, &y}), want, 8));
  }
}

TEST(Complex, AnglesOfTwoNumbers) {
  for (DType dtype : {c64, c128}) {
    const Buffer y = RandomComplex(dtype, 500, 1), x = RandomComplex(dtype, 500, 2);
    std::vector<Long> want;
    for (int64_t i = 0; i < x.n; ++i) {
      const Long a(ComplexAt(y, i)), b(ComplexAt(x, i)), unit(0, 1);
      want.push_back(-unit * std::log((b + unit * a) / std::sqrt(a * a + b * b)));
    }
    EXPECT_TRUE(NearComplex(Apply(kAtan2, dtype, {&y, &x}), want, 200));
  }
}

// Returns all pairs of parts of special values.
std::vector<std::complex<double>> Specials() {
  std::vector<std::complex<double>> all;
  const double parts[] = {0.0, -0.0, 1.0, -1.0, 2.5, kInf, -kInf, kNan};
  for (double re : parts)
    for (double im : parts) all.emplace_back(re, im);
  return all;
}

// Whether the parts are alike: NaN, infinite with the same sign, or close.
bool Alike(double got, double want) {
  if (std::isnan(want)) return std::isnan(got);
  return std::isinf(want) ? got == want : std::fabs(got - want) < 1e-5;
}

TEST(Complex, FunctionsOfInfinitiesAndNan) {
  const std::vector<std::complex<double>> values = Specials();
  const struct {
    ScalarOp op;
    std::complex<double> (*want)(const std::complex<double>&);
  } cases[] = {{kSqrt, std::sqrt},  {kSin, std::sin},   {kCos, std::cos},     {kTan, std::tan},
               {kSinh, std::sinh},  {kCosh, std::cosh}, {kTanh, std::tanh},   {kAsin, std::asin},
               {kAcos, std::acos},  {kAtan, std::atan}, {kAsinh, std::asinh}, {kAcosh, std::acosh},
               {kAtanh, std::atanh}};
  for (DType dtype : {c64, c128}) {
    const Buffer x = ComplexNumbers(dtype, values);
    for (const auto& c : cases) {
      const Buffer got = Apply(c.op, dtype, {&x});
      for (int64_t i = 0; i < x.n; ++i) {
        const auto want = c.want(values[static_cast<size_t>(i)]), z = ComplexAt(got, i);
        EXPECT_TRUE(Alike(z.real(), want.real()) && Alike(z.imag(), want.imag()))
            << static_cast<int>(c.op) << " of " << ComplexAt(x, i) << ": " << z << ", " << want;
      }
    }
  }
}

// The compiler's division follows annex G of C. For infinite numerators that leaves open which
// parts are NaN.
TEST(Complex, QuotientsOfInfinitiesAndNan) {
  const std::vector<std::complex<double>> values = Specials();
  std::vector<std::complex<double>> x, y;
  for (const auto& a : values)
    for (const auto& b : values) x.push_back(a), y.push_back(b);
  const auto infinite = [](std::complex<double> z) {
    return std::isinf(z.real()) || std::isinf(z.imag());
  };
  for (DType dtype : {c64, c128}) {
    const Buffer a = ComplexNumbers(dtype, x), b = ComplexNumbers(dtype, y);
    const Buffer got = Apply(kDiv, dtype, {&a, &b});
    for (int64_t i = 0; i < a.n; ++i) {
      const auto want = ComplexAt(a, i) / ComplexAt(b, i), z = ComplexAt(got, i);
      const bool is_open = infinite(ComplexAt(a, i)) && std::isfinite(std::abs(ComplexAt(b, i)));
      const bool alike = is_open ? !std::isfinite(std::abs(z))
                                 : Alike(z.real(), want.real()) && Alike(z.imag(), want.imag());
      EXPECT_TRUE(alike) << ComplexAt(a, i) << " / " << ComplexAt(b, i) << ": " << z << ", "
                         << want;
    }
  }
}

// As XLA: NaN in either part gives NaN.
TEST(Complex, LogarithmsAndSizesOfInfinitiesAndZeros) {
  for (DType dtype : {c64, c128}) {
    const Buffer x = ComplexNumbers(dtype, Specials());
    const Buffer log = Apply(kLog, dtype, {&x}), abs = Apply(kAbs, base::PartOf(dtype), {&x});
    for (int64_t i = 0; i < x.n; ++i) {
      const auto z = ComplexAt(x, i), got = ComplexAt(log, i);
      const bool nan = std::isnan(z.real()) || std::isnan(z.imag());
      const auto want = nan ? std::complex<double>(kNan, kNan) : std::log(z);
      EXPECT_TRUE(Alike(got.real(), want.real()) && Alike(got.imag(), want.imag())) << z << got;
      EXPECT_EQ(std::signbit(got.imag()), nan ? std::signbit(got.imag()) : std::signbit(z.imag()));
      EXPECT_TRUE(Alike(abs.At(i), nan ? kNan : std::abs(z))) << z << abs.At(i);
    }
  }
}

TEST(Complex, ExponentialsBeyondTheRangeOfTheirSize) {
  const Buffer narrow = ComplexNumbers(c64, {{89.5, 1.4}, {1000, 0}, {-kInf, 1}, {-1000, 2}}),
               wide = ComplexNumbers(c128, {{711, 1.4}, {1e5, 0}, {-kInf, 1}, {-1e5, 2}});
  for (const Buffer* x : {&narrow, &wide}) {
    const Buffer got = Apply(kExp, x->dtype, {x});
    const Long want = std::exp(Long(ComplexAt(*x, 0)));
    EXPECT_NEAR(ComplexAt(got, 0).real() / static_cast<double>(want.real()), 1, 1e-4);
    EXPECT_EQ(ComplexAt(got, 1), std::complex<double>(kInf, 0));
    EXPECT_EQ(ComplexAt(got, 2), 0.0);
    EXPECT_EQ(ComplexAt(got, 3), 0.0);
  }
}

TEST(Complex, FunctionsAtZero) {
  for (DType dtype : {c64, c128}) {
    const Buffer zero = ComplexNumbers(dtype, {{0, 0}}), one = ComplexNumbers(dtype, {{1, 0}}),
                 minus = ComplexNumbers(dtype, {{-2, 0}});
    EXPECT_EQ(ComplexAt(Apply(kSign, dtype, {&zero}), 0), 0.0);
    EXPECT_EQ(ComplexAt(Apply(kLog1p, dtype, {&zero}), 0), 0.0);
    EXPECT_EQ(ComplexAt(Apply(kExpm1, dtype, {&zero}), 0), 0.0);
    EXPECT_EQ(ComplexAt(Apply(kPow, dtype, {&zero, &zero}), 0), 1.0);
    EXPECT_EQ(ComplexAt(Apply(kPow, dtype, {&zero, &one}), 0), 0.0);
    EXPECT_TRUE(std::isinf(ComplexAt(Apply(kRsqrt, dtype, {&zero}), 0).real()));
    EXPECT_FALSE(std::isfinite(ComplexAt(Apply(kPow, dtype, {&zero, &minus}), 0).real()));
    EXPECT_EQ(ComplexAt(Apply(kLogistic, dtype, {&zero}), 0), 0.5);
  }
}

// Both parts of a function come from one block, whichever is used first.
TEST(Complex, PartsOfFunctions) {
  for (DType dtype : {c64, c128}) {
    for (bool imaginary_first : {false, true}) {
      const DType part = base::PartOf(dtype);
      Group g({259});
      const int e = g.Op(kExp, dtype, g.Input(dtype));
      const int re = g.Op(kReal, part, e), im = g.Op(kImag, part, e);
      g.Output(imaginary_first ? g.Op(kSub, part, im, re) : g.Op(kSub, part, re, im));
      g.Output(e);
      g.Output(im);
      const Buffer x = RandomComplex(dtype, 259, 1);
      Buffer out(part, 259), all(dtype, 259), ims(part, 259);
      Call(Fused(g.desc), {&x}, {&out, &all, &ims});
      std::vector<Long> want, exp, imag;
      for (int64_t i = 0; i < x.n; ++i) {
        exp.push_back(std::exp(Long(ComplexAt(x, i))));
        imag.push_back(exp.back().imag());
        want.push_back((exp.back().real() - exp.back().imag()) * (imaginary_first ? -1.0L : 1.0L));
      }
      EXPECT_TRUE(NearComplex(all, exp, 8));
      EXPECT_TRUE(NearComplex(ims, imag, 16));
      for (int64_t i = 0; i < x.n; ++i)
        EXPECT_NEAR(out.At(i), static_cast<double>(want[static_cast<size_t>(i)].real()), 1e-5);
    }
  }
}

}  // namespace
}  // namespace tessera::kernels::complex_fused_test
