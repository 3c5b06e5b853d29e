// The kernel of top_k against a full sort, in every dtype and order of its input.
#include "kernels/sort/top_k.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <numeric>

#include "base/dtype.h"
#include "unit/kernels/sort_test_util.h"

namespace tessera::kernels {
namespace {

// Orders the largest first: NaN before numbers, +0 before -0, equal elements by index.
template <class T>
bool Before(const Bytes& in, int64_t a, int64_t b) {
  const T x = ElementAt<T>(in, a), y = ElementAt<T>(in, b);
  const int order = Compare(x, y);
  if (order != 0) return order > 0;
  if constexpr (kIsFloating<T>)
    if (AsDouble(x) == 0 && std::signbit(AsDouble(x)) != std::signbit(AsDouble(y)))
      return std::signbit(AsDouble(y));
  return a < b;
}

void ExpectTopK(DType dtype, DType index, const Shape& shape, int64_t k, int64_t distinct) {
  const Bytes in = SortInput(dtype, Product(shape), 1, distinct);
  const int64_t n = shape.back(), lanes = n == 0 ? 0 : Product(shape) / n;
  Bytes want_values, want_indices;
  for (int64_t lane = 0; lane < lanes; ++lane) {
    std::vector<int64_t> order(n);
    std::iota(order.begin(), order.end(), lane * n);
    base::VisitDType(dtype, [&](auto zero) {
      std::sort(order.begin(), order.end(),
                [&](int64_t a, int64_t b) { return Before<decltype(zero)>(in, a, b); });
    });
    for (int64_t j = 0; j < k; ++j) {
      const auto value = in.begin() + order[j] * dtype.size();
      want_values.insert(want_values.end(), value, value + dtype.size());
      const int64_t position = order[j] - lane * n;
      const auto* bytes = reinterpret_cast<const std::byte*>(&position);
      want_indices.insert(want_indices.end(), bytes, bytes + index.size());
    }
  }
  const plan::Kernel kernel = TopK(dtype, index, shape, k);
  for (int32_t parts : {1, std::min(3, kernel.max_parts)}) {
    Bytes values(want_values.size()), indices(want_indices.size());
    RunParts(kernel, {&in}, {&values, &indices}, parts);
    ASSERT_TRUE(SameItems(values, want_values, dtype.size()))
        << dtype.name() << testing::PrintToString(shape) << " k " << k << ", parts " << parts;
    ASSERT_TRUE(SameItems(indices, want_indices, index.size()))
        << "indices of " << dtype.name() << testing::PrintToString(shape) << " k " << k
        << ", parts " << parts;
  }
}

TEST(TopK, SelectsInEveryDType) {
  struct {
    Shape shape;
    int64_t k;
  } const cases[] = {{{1}, 1},      {{5}, 0},        {{5}, 5},          {{40}, 3},
                     {{3, 100}, 7}, {{2, 100}, 100}, {{2, 3, 500}, 40}, {{20, 1000}, 1},
                     {{0, 4}, 2},   {{3, 0}, 0},     {{2, 64}, 32},     {{2, 65}, 32}};
  for (int code = DType::kBool; code <= DType::kF64; ++code)
    for (const auto& [shape, k] : cases)
      for (int64_t distinct : {3, 100000})
        ExpectTopK(DType(static_cast<DType::Code>(code)), i32, shape, k, distinct);
}

TEST(TopK, WritesIndicesOfAnyDType) {
  for (DType index : {i8, u8, i16, i32, u32, i64, u64}) ExpectTopK(f32, index, {4, 100}, 9, 1000);
}

TEST(TopK, SelectsFromAscendingAndDescendingLanes) {
  std::vector<int32_t> up(5000), down;
  std::iota(up.begin(), up.end(), 0);
  down.assign(up.rbegin(), up.rend());
  const Bytes want = ToBytes<int32_t>({4999, 4998, 4997});
  for (const auto& lane : {up, down}) {
    const Bytes in = ToBytes(lane);
    Bytes values(12), indices(12);
    RunParts(TopK(i32, i32, {5000}, 3), {&in}, {&values, &indices}, 1);
    EXPECT_TRUE(SameItems(values, want, 4));
  }
}

}  // namespace
}  // namespace tessera::kernels
