// Kernels that read and write a window at starts known at run time, which are clamped.
#include <gmock/gmock.h>

#include "unit/kernels/copy_test_util.h"

namespace tessera::kernels {
namespace {

struct Case {
  Shape operand, sizes, starts;
};

const Case kCases[] = {
    {{}, {}, {}},
    {{7}, {3}, {2}},
    {{7}, {3}, {100}},
    {{7}, {3}, {-5}},
    {{7}, {0}, {3}},
    {{0}, {0}, {1}},
    {{5, 6}, {5, 6}, {1, 1}},
    {{5, 6}, {2, 6}, {1, 0}},
    {{5, 6}, {2, 3}, {4, 2}},
    {{300, 200}, {200, 150}, {50, 17}},
    {{300, 200}, {7, 200}, {255, 0}},
    {{40, 30, 50}, {30, 1, 50}, {3, 29, 0}},
    {{100000}, {60000}, {333}},
};

// Calls f with the operand's item and the window's item, for each item of the window.
template <class F>
void ForWindow(const Case& c, F&& f) {
  const Shape strides = DenseStrides(c.operand);
  for (int64_t i = 0; i < Product(c.sizes); ++i) {
    int64_t at = 0, rest = i;
    for (size_t d = c.sizes.size(); d-- > 0; rest /= c.sizes[d])
      at += (rest % c.sizes[d] + std::clamp<int64_t>(c.starts[d], 0, c.operand[d] - c.sizes[d])) *
            strides[d];
    f(at, i);
  }
}

// The starts as scalars of dtype `index`, saturated to it.
std::vector<Bytes> Starts(DType index, const Shape& starts) {
  std::vector<Bytes> bytes;
  for (int64_t start : starts)
    base::VisitDType(index, [&](auto zero) {
      using T = decltype(zero);
      if constexpr (std::is_integral_v<T>) {
        int64_t v = start;
        if (sizeof(T) < 8) v = std::min<int64_t>(v, std::numeric_limits<T>::max());
        bytes.push_back(ToBytes<T>({static_cast<T>(v)}));
      }
    });
  return bytes;
}

bool Fits(DType index, const Shape& starts) {
  for (int64_t start : starts)
    if ((index.is_unsigned() && start < 0) || (index.size() == 1 && start > 127)) return false;
  return true;
}

TEST(DynamicSlice, TakesTheClampedWindow) {
  for (DType index : {i8, i16, i32, i64, u8, u16, u32, u64})
    for (int32_t itemsize : {1, 2, 4, 8})
      for (const Case& c : kCases) {
        if (!Fits(index, c.starts)) continue;
        const Bytes in = RandomBytes(Product(c.operand) * itemsize, 1);
        Bytes want(Product(c.sizes) * itemsize);
        ForWindow(c, [&](int64_t at, int64_t i) {
          std::memcpy(want.data() + i * itemsize, in.data() + at * itemsize, itemsize);
        });
        const std::vector<Bytes> starts = Starts(index, c.starts);
        std::vector<const Bytes*> operands{&in};
        for (const Bytes& s : starts) operands.push_back(&s);
        const plan::Kernel kernel = DynamicSlice(itemsize, index, c.operand, c.sizes);
        for (int32_t parts : {1, std::min(3, kernel.max_parts)}) {
          Bytes got(want.size());
          RunParts(kernel, operands, {&got}, parts);
          ASSERT_TRUE(SameItems(got, want, itemsize))
              << testing::PrintToString(c.operand) << " at " << testing::PrintToString(c.starts)
              << " of " << index.name() << ", parts " << parts;
        }
      }
}

TEST(DynamicSlice, HugeUnsignedStartsAreClamped) {
  const Bytes in = ToBytes<int32_t>({1, 2, 3, 4}), start = ToBytes<uint64_t>({uint64_t{1} << 63});
  Bytes got(8);
  RunParts(DynamicSlice(4, u64, {4}, {2}), {&in, &start}, {&got}, 1);
  EXPECT_TRUE(SameItems(got, ToBytes<int32_t>({3, 4}), 4));
}

TEST(DynamicUpdateSlice, ReplacesTheClampedWindow) {
  for (DType index : {i32, i64, u8})
    for (int32_t itemsize : {1, 2, 4, 8})
      for (const Case& c : kCases) {
        if (!Fits(index, c.starts)) continue;
        const Bytes in = RandomBytes(Product(c.operand) * itemsize, 1);
        const Bytes update = RandomBytes(Product(c.sizes) * itemsize, 2);
        Bytes want = in;
        ForWindow(c, [&](int64_t at, int64_t i) {
          std::memcpy(want.data() + at * itemsize, update.data() + i * itemsize, itemsize);
        });
        const std::vector<Bytes> starts = Starts(index, c.starts);
        const plan::Kernel kernel = DynamicUpdateSlice(itemsize, index, c.operand, c.sizes);
        for (const bool in_place : {false, true})
          for (int32_t parts : {1, std::min(3, kernel.max_parts)}) {
            Bytes got = in_place ? in : Bytes(want.size());
            std::vector<const Bytes*> operands{in_place ? &got : &in, &update};
            for (const Bytes& s : starts) operands.push_back(&s);
            RunParts(kernel, operands, {&got}, parts);
            ASSERT_TRUE(SameItems(got, want, itemsize))
                << testing::PrintToString(c.operand) << " at " << testing::PrintToString(c.starts)
                << ", in place " << in_place << ", parts " << parts;
          }
      }
}

TEST(DynamicUpdateSlice, MayWorkInPlaceOnItsOperandAlone) {
  EXPECT_EQ(DynamicUpdateSlice(4, i32, {4}, {2}).in_place, 1u);
}

}  // namespace
}  // namespace tessera::kernels
