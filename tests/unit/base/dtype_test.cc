// Promotion of dtypes, scopes of default dtypes, and the conversions of f16 and bf16.
#include "tessera/dtype.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "base/dtype.h"

namespace tessera {
namespace {

TEST(PromoteTypes, FollowsTheLattice) {
  struct {
    DType a, b, want;
  } const cases[] = {{bool_, i8, i8},    {i8, u8, i16},    {u32, i8, i64},   {u64, i8, f32},
                     {i64, f16, f16},    {f16, bf16, f32}, {bf16, f32, f32}, {u8, u32, u32},
                     {i64, c64, c64},    {c64, bf16, c64}, {c64, f64, c128}, {c64, c128, c128},
                     {bool_, c128, c128}};
  for (auto [a, b, want] : cases) {
    EXPECT_STREQ(promote_types(a, b).name(), want.name()) << a.name() << " with " << b.name();
    EXPECT_STREQ(promote_types(b, a).name(), want.name()) << b.name() << " with " << a.name();
  }
}

TEST(PromoteTypes, MixedSignsOf64BitsGiveTheDefaultFloat) {
  DefaultDtypes scope(i64, f64);
  EXPECT_EQ(promote_types(u64, i64), f64);
}

// As in JAX's lattice: bool and weak numbers take a storage dtype, and so do whole bytes of
// integers with f8.
TEST(PromoteTypes, StorageDtypesPromoteWithFewOthers) {
  for (DType f8 : {f8_e3m4, f8_e4m3fn, f8_e5m2fnuz}) {
    EXPECT_EQ(promote_types(f8, f8), f8);
    EXPECT_EQ(promote_types(bool_, f8), f8);
    for (DType t : {i8, u16, i32, u64}) EXPECT_EQ(promote_types(t, f8), f8);
    for (DType t : {i4, u2, f8_e5m2, f16, bf16, f32, f64, c64})
      EXPECT_THROW(promote_types(f8, t), DTypeError) << t.name();
  }
  for (DType small : {i2, i4, u2, u4}) {
    EXPECT_EQ(promote_types(small, small), small);
    EXPECT_EQ(promote_types(small, bool_), small);
    for (DType t : {i8, u8, i32, f8_e4m3, bf16, f32, c128})
      EXPECT_THROW(promote_types(t, small), DTypeError) << t.name();
  }
  EXPECT_THROW(promote_types(i4, u4), DTypeError);
}

TEST(StorageDtypes, HaveTheirBitsAndOneByte) {
  for (auto [dtype, bits] : {std::pair{i2, 2}, {u2, 2}, {i4, 4}, {u4, 4}, {f8_e4m3, 8}, {i8, 8}}) {
    EXPECT_EQ(dtype.bits(), bits);
    EXPECT_EQ(dtype.size(), 1);
    EXPECT_EQ(base::ParseDType(dtype.name()), dtype);
  }
  EXPECT_EQ(base::BytesOf(5, i4), 3);
  EXPECT_EQ(base::BytesOf(5, u2), 2);
  EXPECT_EQ(base::BytesOf(5, f32), 20);
  EXPECT_EQ(base::BytesOf(int64_t{1} << 58, f32), int64_t{1} << 60);
}

TEST(StorageDtypes, HostTypesRoundAndWrap) {
  EXPECT_EQ(static_cast<float>(Float8E4M3FN(449.0f)), 448.0f);
  EXPECT_TRUE(std::isnan(static_cast<float>(Float8E4M3FN(465.0f))));
  EXPECT_TRUE(std::isinf(static_cast<float>(Float8E5M2(65536.0f))));
  EXPECT_EQ(static_cast<int>(Int4(9)), -7);
  EXPECT_EQ(static_cast<int>(Int4(-9)), 7);
  EXPECT_EQ(static_cast<int>(UInt4(-1)), 15);
  EXPECT_EQ(static_cast<int>(Int2(2)), -2);
  EXPECT_EQ(static_cast<int>(UInt2(7)), 3);
  EXPECT_EQ(dtype_of<Float8E5M2FNUZ>(), f8_e5m2fnuz);
  EXPECT_EQ(dtype_of<UInt4>(), u4);
}

TEST(DefaultDtypesScope, RefusesWrongKindsAndRestores) {
  EXPECT_THROW(DefaultDtypes(f32, f32), DTypeError);
  {
    DefaultDtypes scope(i64, f64);
    EXPECT_EQ(base::DefaultFloat(), f64);
  }
  EXPECT_EQ(base::DefaultFloat(), f32);
}

TEST(Float16, ConvertsEveryPatternBack) {
  for (int bits = 0; bits < 65536; ++bits) {
    Float16 h;
    h.bits = static_cast<uint16_t>(bits);
    float v = static_cast<float>(h);
    if (std::isnan(v)) continue;
    ASSERT_EQ(Float16(v).bits, h.bits) << bits;
  }
}

TEST(Float16, RoundsToNearestEven) {
  EXPECT_EQ(static_cast<float>(Float16(2049.0f)), 2048.0f);
  EXPECT_EQ(static_cast<float>(Float16(2051.0f)), 2052.0f);
  EXPECT_EQ(static_cast<float>(Float16(65519.9f)), 65504.0f);
  EXPECT_TRUE(std::isinf(static_cast<float>(Float16(65520.0f))));
}

TEST(BFloat16, RoundsToNearestEvenAndKeepsNaN) {
  EXPECT_EQ(static_cast<float>(BFloat16(257.0f)), 256.0f);
  EXPECT_EQ(static_cast<float>(BFloat16(259.0f)), 260.0f);
  EXPECT_TRUE(std::isnan(static_cast<float>(BFloat16(std::numeric_limits<float>::quiet_NaN()))));
}

}  // namespace
}  // namespace tessera
