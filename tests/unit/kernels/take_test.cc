// The kernel of take against its contract: rows held here, rows of other devices, rows outside.
#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "unit/kernels/copy_test_util.h"

namespace tessera::kernels {
namespace {

template <class T>
T OutsideValue() {
  if constexpr (std::is_same_v<T, bool>)
    return true;
  else if constexpr (dtype_of<T>().is_floating())
    return T(std::nanf(""));
  else if constexpr (std::is_signed_v<T>)
    return std::numeric_limits<T>::min();
  else
    return std::numeric_limits<T>::max();
}

// The contract, element by element.
Bytes NaiveTake(const TakeDesc& desc, const Bytes& in, const std::vector<int64_t>& indices,
                int64_t begin) {
  const int64_t item = desc.dtype.size(), rows = desc.operand[desc.dim];
  const int64_t inner = DenseStrides(desc.operand)[desc.dim];
  int64_t outer = 1;
  for (int64_t d = 0; d < desc.dim; ++d) outer *= desc.operand[d];
  Bytes outside(item), out;
  base::VisitDType(desc.dtype, [&](auto zero) {
    outside = ToBytes<decltype(zero)>({OutsideValue<decltype(zero)>()});
  });
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t index : indices)
      for (int64_t i = 0; i < inner; ++i) {
        Bytes value(item);  // what no sum notices: zero, of floats the negative one
        if (desc.dtype.is_floating()) value.back() = static_cast<Bytes::value_type>(0x80);
        const int64_t local = index - begin;
        if (index < 0 || index >= desc.size) {
          if (begin == 0) value = outside;
        } else if (local >= 0 && local < rows) {
          std::memcpy(value.data(), in.data() + ((o * rows + local) * inner + i) * item, item);
        }
        out.insert(out.end(), value.begin(), value.end());
      }
  return out;
}

Bytes IndexBytes(DType index, const std::vector<int64_t>& indices) {
  Bytes bytes;
  base::VisitDType(index, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_integral_v<T>)
      bytes = ToBytes(std::vector<T>(indices.begin(), indices.end()));
  });
  return bytes;
}

// 13 rows of which device 0 holds [0, 7) and device 1 [7, 13) padded to 7.
TEST(Take, PicksHeldRowsAndMasksTheOthersInEveryDType) {
  struct {
    Shape outer, inner;
    int64_t count;
  } const cases[] = {{{}, {}, 10},    {{}, {3}, 10},   {{2}, {5}, 6}, {{}, {64}, 300},
                     {{4}, {}, 3000}, {{}, {2, 2}, 4}, {{3}, {0}, 4}, {{2}, {3}, 0}};
  for (int code = DType::kBool; code <= DType::kF64; ++code)
    for (DType index : {i8, i32, i64, u8, u64})
      for (const auto& c : cases) {
        TakeDesc desc{.dtype = DType(static_cast<DType::Code>(code)),
                      .index = index,
                      .operand = c.outer,
                      .indices = {c.count},
                      .dim = static_cast<int64_t>(c.outer.size()),
                      .size = 13,
                      .begins = {0, 7}};
        desc.operand.push_back(7);
        desc.operand.insert(desc.operand.end(), c.inner.begin(), c.inner.end());
        std::mt19937 random(3);
        std::vector<int64_t> indices;
        for (int64_t i = 0; i < c.count; ++i)
          indices.push_back(static_cast<int64_t>(random() % 18) - (index.is_signed() ? 3 : 0));
        const Bytes in = RandomBytes(Product(desc.operand) * desc.dtype.size(), 1);
        const Bytes index_bytes = IndexBytes(index, indices);
        const plan::Kernel kernel = Take(desc);
        for (int32_t device : {0, 1}) {
          const Bytes want = NaiveTake(desc, in, indices, desc.begins[device]);
          for (int32_t parts : {1, std::min(3, kernel.max_parts)}) {
            Bytes got(want.size());
            RunParts(kernel, {&in, &index_bytes}, {&got}, parts, device);
            ASSERT_TRUE(SameItems(got, want, desc.dtype.size()))
                << desc.dtype.name() << testing::PrintToString(desc.operand) << " by "
                << index.name() << ", device " << device << ", parts " << parts;
          }
        }
      }
}

TEST(Take, WithoutBeginsEveryDeviceHoldsTheWholeDim) {
  const TakeDesc desc{.dtype = f32,
                      .index = i32,
                      .operand = {3},
                      .indices = {2},
                      .dim = 0,
                      .size = 3,
                      .begins = {}};
  const Bytes in = ToBytes<float>({1, 2, 3}), indices = ToBytes<int32_t>({2, 0});
  Bytes got(8);
  RunParts(Take(desc), {&in, &indices}, {&got}, 1, 4);
  EXPECT_TRUE(SameItems(got, ToBytes<float>({3, 1}), 4));
}

TEST(Take, AnEmptyDimGivesTheFillValue) {
  const TakeDesc desc{.dtype = i16,
                      .index = i32,
                      .operand = {0, 2},
                      .indices = {1},
                      .dim = 0,
                      .size = 0,
                      .begins = {}};
  const Bytes in, indices = ToBytes<int32_t>({0});
  Bytes got(4);
  RunParts(Take(desc), {&in, &indices}, {&got}, 1);
  EXPECT_TRUE(SameItems(got, ToBytes<int16_t>({-32768, -32768}), 2));
}

}  // namespace
}  // namespace tessera::kernels
