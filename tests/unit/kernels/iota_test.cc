// The kernel of iota in every dtype, with and without offsets per device.
#include <gmock/gmock.h>

#include "unit/kernels/copy_test_util.h"

namespace tessera::kernels {
namespace {

template <class T>
T Number(int64_t i) {
  if constexpr (std::is_same_v<T, Float16> || std::is_same_v<T, BFloat16>)
    return T(static_cast<float>(i));
  else
    return static_cast<T>(i);
}

TEST(Iota, CountsAlongTheDimInEveryDType) {
  struct {
    Shape shape;
    int64_t dim;
  } const cases[] = {{{5}, 0},         {{0}, 0},      {{3, 4}, 0},      {{3, 4}, 1},
                     {{2, 300, 3}, 1}, {{100000}, 0}, {{200, 1000}, 0}, {{1000, 200}, 1},
                     {{7, 1, 40}, 1},  {{3, 0}, 0},   {{2, 3, 4, 5}, 3}};
  for (int code = DType::kBool; code <= DType::kF64; ++code) {
    const DType dtype(static_cast<DType::Code>(code));
    for (const auto& c : cases) {
      const Shape& shape = c.shape;
      const int64_t dim = c.dim;
      const int64_t inner = DenseStrides(shape)[dim], size = Product(shape);
      const plan::Kernel kernel = Iota(dtype, shape, dim, {0, 100});
      for (int32_t device : {0, 1}) {
        Bytes want;
        base::VisitDType(dtype, [&](auto zero) {
          using T = decltype(zero);
          std::vector<T> values;
          for (int64_t i = 0; i < size; ++i)
            values.push_back(Number<T>(i / inner % shape[dim] + 100 * device));
          want = ToBytes(values);
        });
        for (int32_t parts : {1, std::min(3, kernel.max_parts)}) {
          Bytes got(want.size());
          RunParts(kernel, {}, {&got}, parts, device);
          ASSERT_TRUE(SameItems(got, want, dtype.size()))
              << dtype.name() << testing::PrintToString(shape) << " dim " << dim << ", parts "
              << parts;
        }
      }
    }
  }
}

TEST(Iota, WithoutOffsetsEveryDeviceStartsAtZero) {
  Bytes got(12);
  RunParts(Iota(i32, {3}, 0, {}), {}, {&got}, 1, 7);
  EXPECT_TRUE(SameItems(got, ToBytes<int32_t>({0, 1, 2}), 4));
}

}  // namespace
}  // namespace tessera::kernels
