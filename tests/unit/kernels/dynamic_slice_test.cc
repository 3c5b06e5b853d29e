// Kernels that read and write a window at starts known at run time, which are clamped.
#include "kernels/index/dynamic_slice.h"

#include <gmock/gmock.h>

#include "base/dtype.h"
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

// Returns the starts as scalars of dtype `index`, saturated to it.
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

// The whole array is held.
WindowDesc Whole(int32_t itemsize, DType index, const Shape& operand, const Shape& sizes) {
  WindowDesc window{itemsize, index, operand, sizes, {}, {}};
  for (size_t d = 0; d < sizes.size(); ++d) window.last.push_back(operand[d] - sizes[d]);
  window.begins.resize(sizes.size());
  return window;
}

// The shard of one device when dim `d` of the array is cut into blocks: the window on it, and the
// index in the whole array of each element.
struct Shard {
  WindowDesc window;
  std::vector<int64_t> held;  // per element: its index in the whole array; -1 past the end
};
Shard ShardOf(WindowDesc window, size_t d, int64_t block, int64_t i) {
  const Shape whole = window.shape;
  window.shape[d] = block;
  window.begins[d].assign(8, 0);
  for (size_t k = 0; k < 8; ++k) window.begins[d][k] = static_cast<int64_t>(k) * block;
  Shard shard{window, {}};
  for (int64_t e = 0; e < Product(window.shape); ++e) {
    int64_t rest = e, index = 0, stride = 1;
    bool inside = true;
    for (size_t k = whole.size(); k-- > 0; rest /= window.shape[k]) {
      const int64_t at = rest % window.shape[k] + (k == d ? i * block : 0);
      inside = inside && at < whole[k];
      index += at * stride;
      stride *= whole[k];
    }
    shard.held.push_back(inside ? index : -1);
  }
  return shard;
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
        const plan::Kernel kernel = DynamicSlice(Whole(itemsize, index, c.operand, c.sizes));
        for (int32_t parts : {1, std::min(3, kernel.max_parts)}) {
          Bytes got(want.size());
          RunParts(kernel, operands, {&got}, parts);
          ASSERT_TRUE(SameItems(got, want, itemsize))
              << testing::PrintToString(c.operand) << " at " << testing::PrintToString(c.starts)
              << " of " << index.name() << ", parts " << parts;
        }
      }
}

// Runs a test for the shards of each case along each of its dims, for several sizes of blocks.
template <class F>
void ForShards(F test) {
  for (int32_t itemsize : {1, 4, 16})
    for (const Case& c : kCases)
      for (size_t d = 0; d < c.sizes.size(); ++d)
        for (int64_t block : {int64_t{1}, int64_t{3}, (c.operand[d] + 3) / 4})
          for (int64_t i = 0; i < 8 && c.sizes[d] != c.operand[d] && block < 50; ++i)
            test(itemsize, c, ShardOf(Whole(itemsize, i32, c.operand, c.sizes), d, block, i), i);
}

plan::KernelArgs OnDevice(const plan::Kernel& kernel, int64_t device, int32_t part, int32_t parts) {
  plan::KernelArgs call;
  call.config = kernel.config.get();
  call.device = static_cast<int32_t>(device);
  call.part = part, call.parts = parts;
  return call;
}
void RunOn(const plan::Kernel& kernel, int64_t device, const std::vector<const Bytes*>& ins,
           Bytes& out, int32_t parts) {
  std::vector<const std::byte*> in;
  for (const Bytes* bytes : ins) in.push_back(bytes->data());
  std::byte* outs[] = {out.data()};
  for (int32_t part = 0; part < parts; ++part) {
    plan::KernelArgs call = OnDevice(kernel, device, part, parts);
    call.in = in.data(), call.out = outs;
    kernel.fn(call);
  }
}

TEST(DynamicSlice, GivesWhatAShardHoldsOfTheWindow) {
  ForShards([](int32_t itemsize, const Case& c, const Shard& shard, int64_t device) {
    const Bytes in = RandomBytes(static_cast<int64_t>(shard.held.size()) * itemsize, 1);
    Bytes want(Product(c.sizes) * itemsize);
    ForWindow(c, [&](int64_t at, int64_t i) {
      for (size_t e = 0; e < shard.held.size(); ++e)
        if (shard.held[e] == at)
          std::memcpy(want.data() + i * itemsize, in.data() + e * itemsize, itemsize);
    });
    const std::vector<Bytes> starts = Starts(i32, c.starts);
    std::vector<const Bytes*> operands{&in};
    for (const Bytes& s : starts) operands.push_back(&s);
    for (int32_t parts : {1, 3}) {
      Bytes got(want.size(), std::byte{7});
      RunOn(DynamicSlice(shard.window), device, operands, got, parts);
      ASSERT_TRUE(SameItems(got, want, itemsize)) << testing::PrintToString(c.operand);
    }
  });
}

TEST(DynamicUpdateSlice, WritesWhatFallsIntoAShard) {
  ForShards([](int32_t itemsize, const Case& c, const Shard& shard, int64_t device) {
    const Bytes in = RandomBytes(static_cast<int64_t>(shard.held.size()) * itemsize, 1);
    const Bytes update = RandomBytes(Product(c.sizes) * itemsize, 2);
    Bytes want = in;
    ForWindow(c, [&](int64_t at, int64_t i) {
      for (size_t e = 0; e < shard.held.size(); ++e)
        if (shard.held[e] == at)
          std::memcpy(want.data() + e * itemsize, update.data() + i * itemsize, itemsize);
    });
    const std::vector<Bytes> starts = Starts(i32, c.starts);
    for (const bool in_place : {false, true})
      for (int32_t parts : {1, 3}) {
        Bytes got = in_place ? in : Bytes(want.size());
        std::vector<const Bytes*> operands{in_place ? &got : &in, &update};
        for (const Bytes& s : starts) operands.push_back(&s);
        RunOn(DynamicUpdateSlice(shard.window), device, operands, got, parts);
        ASSERT_TRUE(SameItems(got, want, itemsize)) << testing::PrintToString(c.operand);
      }
  });
}

TEST(DynamicSlice, HugeUnsignedStartsAreClamped) {
  const Bytes in = ToBytes<int32_t>({1, 2, 3, 4}), start = ToBytes<uint64_t>({uint64_t{1} << 63});
  Bytes got(8);
  RunParts(DynamicSlice(Whole(4, u64, {4}, {2})), {&in, &start}, {&got}, 1);
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
        const plan::Kernel kernel = DynamicUpdateSlice(Whole(itemsize, index, c.operand, c.sizes));
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
  EXPECT_EQ(DynamicUpdateSlice(Whole(4, i32, {4}, {2})).in_place, 1u);
}

}  // namespace
}  // namespace tessera::kernels
