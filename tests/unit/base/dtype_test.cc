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
