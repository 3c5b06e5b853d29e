// Random bits of the fused kernels: known answers, and all layouts of counters in memory.
#include <gtest/gtest.h>

#include <bit>

#include "kernels/fused/fused.h"
#include "unit/kernels/fused_testing.h"

namespace tessera::kernels {
namespace {

using plan::ScalarOp;
using test::Buffer;
using test::Call;
using test::Group;

// The block function as in its paper.
uint64_t Threefry(uint64_t key, uint64_t counter) {
  const uint32_t k0 = static_cast<uint32_t>(key >> 32), k1 = static_cast<uint32_t>(key);
  const uint32_t ks[3] = {k0, k1, k0 ^ k1 ^ 0x1BD11BDAu};
  const int rotations[8] = {13, 15, 26, 6, 17, 29, 16, 24};
  uint32_t x0 = static_cast<uint32_t>(counter >> 32) + k0, x1 = static_cast<uint32_t>(counter) + k1;
  for (uint32_t r = 0; r < 20; ++r) {
    x0 += x1;
    x1 = std::rotl(x1, rotations[r % 8]) ^ x0;
    if (r % 4 != 3) continue;
    const uint32_t group = r / 4 + 1;
    x0 += ks[group % 3];
    x1 += ks[(group + 1) % 3] + group;
  }
  return uint64_t{x0} << 32 | x1;
}
uint32_t Bits32(uint64_t key, uint64_t counter) {
  const uint64_t both = Threefry(key, counter);
  return static_cast<uint32_t>(both >> 32) ^ static_cast<uint32_t>(both);
}

// The known answers of Random123 (kat_vectors, threefry2x32 of 20 rounds).
TEST(RandomBits, HaveTheKnownAnswers) {
  EXPECT_EQ(Threefry(0, 0), 0x6b20015999ba4efeu);
  EXPECT_EQ(Threefry(~uint64_t{0}, ~uint64_t{0}), 0x1cb996fcbb002be7u);
  EXPECT_EQ(Threefry(0x13198a2e03707344u, 0x243f6a8885a308d3u), 0xc4923a9c483df7a0u);
}

Buffer Keys(const std::vector<uint64_t>& keys) {
  Buffer b(key_dtype, static_cast<int64_t>(keys.size()));
  std::memcpy(b.bytes.get(), keys.data(), keys.size() * sizeof(uint64_t));
  return b;
}

// One key, or one per row, under counters that step by `strides` from the device's offset.
void ExpectBits(const Shape& dims, const std::vector<int64_t>& key_strides,
                const std::vector<int64_t>& strides, int64_t offset, const char* what) {
  std::vector<uint64_t> keys;
  for (uint64_t k = 0; k < 7; ++k) keys.push_back(k * 0x9e3779b97f4a7c15u);
  const Buffer key = Keys(keys);
  Group g(dims);
  const int k = g.Input(key_dtype, key_strides), i = g.Iota(u64, 0);
  g.desc.iotas[0] = {strides, {offset}};
  g.Output(g.Op(ScalarOp::kRandomBits32, u32, k, i));
  Buffer got(u32, test::Count(dims));
  const plan::Kernel kernel = Fused(g.desc);
  for (int parts : {1, std::min(3, kernel.max_parts)}) {
    Call(kernel, {&key}, {&got}, parts);
    for (int64_t at = 0; at < got.n; ++at) {
      int64_t rest = at, counter = offset, from = 0;
      for (size_t d = dims.size(); d-- > 0; rest /= dims[d]) {
        counter += rest % dims[d] * strides[d];
        from += rest % dims[d] * key_strides[d];
      }
      const uint32_t want = Bits32(keys[static_cast<size_t>(from)], static_cast<uint64_t>(counter));
      ASSERT_EQ(got.as<uint32_t>()[at], want) << what << ", element " << at;
    }
  }
}

TEST(RandomBits, OfOneKeyAreThoseOfTheIndex) {
  for (int64_t n : {1, 7, 16, 33, 127, 128, 129, 10000}) ExpectBits({n}, {0}, {1}, 0, "counted");
  ExpectBits({1000}, {0}, {1}, int64_t{5} << 32, "a second word");
  ExpectBits({1000}, {0}, {1}, (int64_t{3} << 32) - 500, "the first word wraps");
  ExpectBits({1000}, {0}, {3}, (int64_t{3} << 32) - 500, "steps of 3");
  ExpectBits({5, 64}, {0, 0}, {256, 1}, 64, "a part of longer rows");
  ExpectBits({64, 5}, {0, 0}, {20, 1}, 5, "a part of short rows");
  ExpectBits({5, 40}, {0, 0}, {1, 5}, 0, "transposed");
  ExpectBits({4, 3, 50}, {0, 0, 0}, {0, 50, 1}, 0, "repeated");
}
TEST(RandomBits, OfManyKeysAreThoseOfEach) {
  ExpectBits({7, 100}, {1, 0}, {0, 1}, 0, "a key per row");
  ExpectBits({7, 5}, {1, 0}, {0, 1}, 0, "a key per short row");
  ExpectBits({100, 7}, {0, 1}, {1, 0}, 9, "a key per column");
  ExpectBits({7}, {1}, {0}, int64_t{1} << 33, "a key per element");
}

TEST(RandomBits, OfBothWordsAreThoseOfTheIndex) {
  for (ScalarOp op : {ScalarOp::kRandomBits64, ScalarOp::kRandomFoldIn}) {
    const Buffer key = Keys({0x123456789abcdef0u});
    const DType made = op == ScalarOp::kRandomFoldIn ? key_dtype : u64;
    Group g({333});
    const int k = g.Input(key_dtype, {0}), i = g.Iota(u64, 0);
    g.desc.iotas[0].offsets = {(int64_t{1} << 32) - 100};
    g.Output(g.Op(op, made, k, i));
    Buffer got(made, 333);
    Call(Fused(g.desc), {&key}, {&got});
    for (int64_t at = 0; at < 333; ++at)
      ASSERT_EQ(got.as<uint64_t>()[at],
                Threefry(0x123456789abcdef0u, static_cast<uint64_t>(at) + 0xffffff9cu));
  }
}

TEST(RandomBits, BecomeFloatsInTheSameGroup) {
  const Buffer key = Keys({42});
  Group g({500});
  const int k = g.Input(key_dtype, {0}), i = g.Iota(u64, 0);
  const int bits = g.Op(ScalarOp::kRandomBits32, u32, k, i);
  const int shifted = g.Op(ScalarOp::kShiftRightLogical, u32, bits, g.Constant(u32, 9));
  g.Output(g.Op(ScalarOp::kConvert, f32, shifted));
  Buffer got(f32, 500);
  Call(Fused(g.desc), {&key}, {&got});
  for (int64_t at = 0; at < 500; ++at)
    ASSERT_EQ(got.as<float>()[at], static_cast<float>(Bits32(42, static_cast<uint64_t>(at)) >> 9));
}

}  // namespace
}  // namespace tessera::kernels
