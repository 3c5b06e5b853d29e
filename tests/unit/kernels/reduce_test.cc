// Reduction kernels against a loop in double, for every form, dtype and special value.
#include "kernels/reduce/reduce.h"

#include "base/dtype.h"
#include "unit/kernels/fused_testing.h"

namespace tessera::kernels {
namespace {

using test::Buffer;
using test::Call;
using test::Count;
using test::kAllDTypes;
using test::kInf;
using test::kNan;
using test::Near;
using test::Numbers;
using test::Random;
using test::SameBits;

double Identity(Reduction r) {
  switch (r) {
    case Reduction::kProd:
      return 1;
    case Reduction::kAnd:
      return -1;  // all ones
    case Reduction::kMax:
      return -kInf;
    case Reduction::kMin:
      return kInf;
    default:
      return 0;
  }
}
double Combine(Reduction r, double a, double b) {
  switch (r) {
    case Reduction::kProd:
      return a * b;
    case Reduction::kMax:
      return std::isnan(a) || std::isnan(b) ? kNan : std::max(a, b);
    case Reduction::kMin:
      return std::isnan(a) || std::isnan(b) ? kNan : std::min(a, b);
    case Reduction::kAnd:
      return static_cast<double>(static_cast<int64_t>(a) & static_cast<int64_t>(b));
    case Reduction::kOr:
      return static_cast<double>(static_cast<int64_t>(a) | static_cast<int64_t>(b));
    case Reduction::kXor:
      return static_cast<double>(static_cast<int64_t>(a) ^ static_cast<int64_t>(b));
    default:
      return a + b;
  }
}

// Reduces in double, one element after the other.
std::vector<double> Want(const Buffer& x, const Shape& shape, const std::vector<int64_t>& dims,
                         Reduction r) {
  Shape kept;
  for (size_t d = 0; d < shape.size(); ++d)
    if (std::find(dims.begin(), dims.end(), static_cast<int64_t>(d)) == dims.end())
      kept.push_back(shape[d]);
  std::vector<double> out(static_cast<size_t>(Count(kept)), Identity(r));
  for (int64_t i = 0; i < x.n; ++i) {
    int64_t rest = i, to = 0, stride = 1;
    for (size_t d = shape.size(); d-- > 0; rest /= shape[d]) {
      if (std::find(dims.begin(), dims.end(), static_cast<int64_t>(d)) != dims.end()) continue;
      to += rest % shape[d] * stride;
      stride *= shape[d];
    }
    auto& sum = out[static_cast<size_t>(to)];
    sum = Combine(r, sum, x.At(i));
  }
  return out;
}

struct Form {
  Shape shape;
  std::vector<int64_t> dims;
};
const Form kForms[] = {{{7}, {0}},
                       {{1}, {0}},
                       {{5, 9}, {1}},
                       {{5, 9}, {0}},
                       {{5, 9}, {0, 1}},
                       {{3, 4, 5}, {1}},
                       {{3, 4, 5}, {0, 2}},
                       {{3, 1, 5}, {1}},
                       {{2, 3, 4, 5}, {1, 3}},
                       {{2, 3, 4, 5}, {0, 2}},
                       {{70, 1300}, {0}},
                       {{2, 9, 4200}, {1}},
                       {{3, 300}, {1}},
                       {{40, 3}, {1}},
                       {{70, 9, 3}, {1}},
                       {{17, 20, 31}, {1}},
                       {{4, 5}, {}},
                       {{20, 3, 30}, {0, 1}},
                       {{600, 5}, {0}},
                       {{2, 5000}, {1}}};

TEST(Reduce, MatchesALoopForAllFormsAndDTypes) {
  for (const Form& f : kForms) {
    for (DType dtype : kAllDTypes) {
      const bool is_float = dtype.is_floating();
      const Buffer x = Random(dtype, Count(f.shape), 5);
      for (Reduction r : {Reduction::kSum, Reduction::kMax, Reduction::kMin, Reduction::kAnd,
                          Reduction::kOr, Reduction::kXor}) {
        if (is_float && r >= Reduction::kAnd) continue;
        if (dtype.is_bool() && r == Reduction::kSum) continue;
        std::vector<double> want = Want(x, f.shape, f.dims, r);
        Buffer y(dtype, static_cast<int64_t>(want.size())), z = y;
        for (size_t i = 0; i < want.size() && dtype.is_integer(); ++i) {
          base::VisitDType(dtype, [&](auto t) {
            using T = decltype(t);
            if constexpr (std::is_integral_v<T>)
              want[i] = static_cast<double>(static_cast<T>(static_cast<int64_t>(want[i])));
          });
        }
        const plan::Kernel kernel = Reduce(dtype, f.shape, f.dims, r);
        Call(kernel, {&x}, {&y});
        Call(kernel, {&x}, {&z}, 3);
        const double tol = dtype == f64 ? 1e-13 : dtype == f32 ? 4e-6 : dtype == f16 ? 2e-3 : 1e-2;
        EXPECT_TRUE(Near(y, want, is_float && r == Reduction::kSum ? tol : 0))
            << dtype.name() << " reduction " << static_cast<int>(r) << " rank " << f.shape.size()
            << " first size " << f.shape[0];
        EXPECT_TRUE(SameBits(z, y)) << dtype.name();
      }
    }
  }
}

// Wide arrays are cut into wider panels of columns.
TEST(Reduce, AColumnHasTheSameSumInAnyArray) {
  constexpr int64_t kRows = 150, kAll = 200000, kSome = 700, kFrom = 5000;
  const Buffer all = Random(f32, kRows * kAll, 5);
  Buffer some(f32, kRows * kSome), sums(f32, kAll), want(f32, kSome), got(f32, kSome);
  for (int64_t r = 0; r < kRows; ++r)
    std::copy_n(all.as<float>() + r * kAll + kFrom, kSome, some.as<float>() + r * kSome);
  Call(Reduce(f32, {kRows, kAll}, {0}, Reduction::kSum), {&all}, {&sums});
  Call(Reduce(f32, {kRows, kSome}, {0}, Reduction::kSum), {&some}, {&want});
  std::copy_n(sums.as<float>() + kFrom, kSome, got.as<float>());
  EXPECT_TRUE(SameBits(got, want));
}

// With few columns, those of many outer indices are summed together.
TEST(Reduce, FewColumnsHaveTheSameSumsAlone) {
  for (int64_t outer : {16, 70, 600})
    for (int64_t columns : {2, 3, 31, 32}) {
      constexpr int64_t kRows = 150;
      const int64_t n = kRows * columns;
      const Buffer x = Random(f32, outer * n, 5);
      Buffer got(f32, outer * columns), want = got, one(f32, n), sums(f32, columns);
      Call(Reduce(f32, {outer, kRows, columns}, {1}, Reduction::kSum), {&x}, {&got}, 3);
      for (int64_t o = 0; o < outer; ++o) {
        std::copy_n(x.as<float>() + o * n, n, one.as<float>());
        Call(Reduce(f32, {1, kRows, columns}, {1}, Reduction::kSum), {&one}, {&sums});
        std::copy_n(sums.as<float>(), columns, want.as<float>() + o * columns);
      }
      EXPECT_TRUE(SameBits(got, want)) << outer << " " << columns;
    }
}

TEST(Reduce, ProductsAndWrappingSums) {
  const Buffer x = Numbers(i8, {100, 100, 3, 2, -128, 2});
  Buffer sum(i8, 2), product(i8, 2), columns(i8, 3);
  Call(Reduce(i8, {2, 3}, {1}, Reduction::kSum), {&x}, {&sum});
  Call(Reduce(i8, {2, 3}, {1}, Reduction::kProd), {&x}, {&product});
  Call(Reduce(i8, {2, 3}, {0}, Reduction::kProd), {&x}, {&columns});
  EXPECT_TRUE(Near(sum, {-53, -124}, 0));
  EXPECT_TRUE(Near(product, {48, 0}, 0));
  EXPECT_TRUE(Near(columns, {-56, 0, 6}, 0));
  const Buffer half = Numbers(f16, {300, 300, 0.001});
  Buffer p(f16, 1);
  Call(Reduce(f16, {3}, {0}, Reduction::kProd), {&half}, {&p});
  EXPECT_TRUE(Near(p, {90.0}, 2e-3)) << "the product passes through numbers that f16 does not have";
}

TEST(Reduce, OfNothingIsTheIdentity) {
  for (const Form& f : {Form{{2, 0}, {1}}, Form{{0, 2}, {0}}, Form{{2, 0, 1, 3}, {1, 3}}}) {
    const Buffer x(f32, 0), k(i8, 0), b(bool_, 0);
    Buffer y(f32, 2), z(i8, 2), w(bool_, 2);
    Call(Reduce(f32, f.shape, f.dims, Reduction::kMax), {&x}, {&y});
    if (f.shape.size() < 4) {
      EXPECT_TRUE(Near(y, {-kInf, -kInf}, 0));
      Call(Reduce(i8, f.shape, f.dims, Reduction::kMax), {&k}, {&z});
      EXPECT_TRUE(Near(z, {-128, -128}, 0));
      Call(Reduce(i8, f.shape, f.dims, Reduction::kMin), {&k}, {&z});
      EXPECT_TRUE(Near(z, {127, 127}, 0));
      Call(Reduce(bool_, f.shape, f.dims, Reduction::kAnd), {&b}, {&w});
      EXPECT_TRUE(Near(w, {1, 1}, 0));
    }
  }
}

TEST(Reduce, MaxAndMinPropagateNaNAndOrderZeros) {
  for (const auto& dims : {std::vector<int64_t>{0}, std::vector<int64_t>{1}}) {
    const Buffer x = Numbers(f32, {1, kNan, kNan, 2}), zeros = Numbers(f32, {-0.0, 0.0, 0.0, -0.0});
    Buffer y(f32, 2), z(f32, 2);
    Call(Reduce(f32, {2, 2}, dims, Reduction::kMax), {&x}, {&y});
    EXPECT_TRUE(Near(y, {kNan, kNan}, 0));
    Call(Reduce(f32, {2, 2}, dims, Reduction::kMin), {&zeros}, {&z});
    EXPECT_TRUE(SameBits(z, Numbers(f32, {-0.0, -0.0})));
    Call(Reduce(f32, {2, 2}, dims, Reduction::kMax), {&zeros}, {&z});
    EXPECT_TRUE(SameBits(z, Numbers(f32, {0.0, 0.0})));
  }
}

TEST(Reduce, LongSumsOfF32KeepTheirDigits) {
  constexpr int64_t kN = 1 << 20;
  Buffer x(f32, kN);
  for (int64_t i = 0; i < kN; ++i) x.as<float>()[i] = 0.1f;
  const double want = static_cast<double>(0.1f) * kN;
  Buffer rows(f32, 1), columns(f32, 4);
  Call(Reduce(f32, {kN}, {0}, Reduction::kSum), {&x}, {&rows});
  EXPECT_TRUE(Near(rows, {want}, 1e-6));
  Call(Reduce(f32, {kN / 4, 4}, {0}, Reduction::kSum), {&x}, {&columns});
  EXPECT_TRUE(Near(columns, {want / 4, want / 4, want / 4, want / 4}, 1e-6));
}

}  // namespace
}  // namespace tessera::kernels
