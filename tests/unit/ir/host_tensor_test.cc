// Numbers stored in host tensors are rounded once.
#include "ir/host_tensor.h"

#include <gtest/gtest.h>

namespace tessera::ir {
namespace {

double Stored(DType dtype, long double v) {
  HostTensor t(dtype, {1});
  t.SetFloat(0, v);
  return t.Float(0);
}

// Rounding to f32 first would turn each of these into a tie, and round the tie the other way.
TEST(HostTensor, FloatsAreRoundedOnce) {
  EXPECT_EQ(Stored(f16, 1 + 0x1p-11 + 0x1p-40), 1 + 0x1p-10);
  EXPECT_EQ(Stored(f16, 1 + 0x1p-10 + 0x1p-11 - 0x1p-40), 1 + 0x1p-10);
  EXPECT_EQ(Stored(bf16, -1 - 0x1p-8 - 0x1p-40), -1 - 0x1p-7);
  EXPECT_EQ(Stored(f32, static_cast<long double>(uint64_t{0xffffff8000000001})), 0x1p64);
}

TEST(HostTensor, IntegersInFloatsAreRoundedOnce) {
  HostTensor t(bf16, {1});
  t.SetInt(0, (int64_t{1} << 40) + (int64_t{1} << 32) + 1);
  EXPECT_EQ(t.Float(0), 0x1p40 + 0x1p33);
}

}  // namespace
}  // namespace tessera::ir
