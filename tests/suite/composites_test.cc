// Functions composed of several ops give the same bits whether they run one by one or fused.
#include <gmock/gmock.h>

#include <cstring>

#include "fuzz.h"
#include "suite/accuracy_rows.h"

namespace tessera::suite::composites_test {
namespace {

TEST(Composites, AreTheSameOneByOneAndFused) {
  for (DType dtype : {f16, bf16, f32, f64}) {
    const std::vector<double> numbers = AllExponents(dtype, FuzzCount(dtype == f64 ? 4 : 32));
    const Array x = astype(array(numbers, {.dtype = f64}), dtype);
    for (const AccuracyRow& row : CompositeRows()) {
      const auto call = [&](Array v) { return row.unary ? row.unary(v) : row.binary(v, flip(v)); };
      const auto eager = astype(call(x), f64).to_vector<double>();
      const auto fused = astype(jit(call)(x), f64).to_vector<double>();
      for (size_t i = 0; i < numbers.size(); ++i) {
        const bool same = std::memcmp(&eager[i], &fused[i], sizeof(double)) == 0;
        ASSERT_TRUE(same || (std::isnan(eager[i]) && std::isnan(fused[i])))
            << row.name << " " << dtype.name() << " of " << numbers[i] << ": " << eager[i]
            << " one by one, " << fused[i] << " fused";
      }
    }
  }
}

}  // namespace
}  // namespace tessera::suite::composites_test
