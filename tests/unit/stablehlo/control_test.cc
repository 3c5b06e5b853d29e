// Loops of known length.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <tessera/stablehlo.h>
#include <tessera/tessera.h>

#include <string>
#include <vector>

namespace tessera::stablehlo {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// A loop that squares four numbers while its counter, which begins at 1, is less than `limit`.
std::string LoopText(const std::string& limit, int step) {
  return fmt::format(R"(module {{
func.func @main(%a: tensor<4xf32>, %n: tensor<i32>) -> tensor<4xf32> {{
  %c = stablehlo.constant dense<1> : tensor<i32>
  %limit = stablehlo.constant dense<6> : tensor<i32>
  %0:2 = stablehlo.while(%i = %c, %x = %a) : tensor<i32>, tensor<4xf32>
  cond {{
    %1 = stablehlo.compare LT, %i, {}, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  }} do {{
    %step = stablehlo.constant dense<{}> : tensor<i32>
    %1 = stablehlo.multiply %x, %x : tensor<4xf32>
    %2 = stablehlo.add %i, %step : tensor<i32>
    stablehlo.return %2, %1 : tensor<i32>, tensor<4xf32>
  }}
  return %0#1 : tensor<4xf32>
}}
}}
)",
                     limit, step);
}

TEST(StablehloControl, LoopsOfKnownLengthAreScans) {
  const Program p = import_stablehlo(LoopText("%limit", 1));
  EXPECT_THAT(p.text(), HasSubstr("length=5"));
  EXPECT_THAT(p.text(), Not(HasSubstr("while_loop")));
  EXPECT_GE(lower(p).flops(), 5 * 4);  // the products
  EXPECT_LE(lower(p).flops(), 5 * 5);  // and the counter
}

TEST(StablehloControl, LoopsOfKnownLengthHaveDerivativesInReverse) {
  const auto f = to_function(import_stablehlo(LoopText("%limit", 1)));
  const auto loss = [&](Array x) { return sum(f({x, Array(6).astype(i32)})[0]); };
  // x^32 has the derivative 32 x^31.
  EXPECT_EQ(grad(loss)(ones({4})).to_vector<float>(), std::vector<float>(4, 32));
}

TEST(StablehloControl, OtherLoopsRunAsWritten) {
  const Array x = full({4}, 2.0f), six = Array(6).astype(i32);
  for (const auto& [limit, step, made] :
       {std::tuple("%n", 1, 4294967296.f), std::tuple("%limit", 3, 16.f)}) {
    const Program p = import_stablehlo(LoopText(limit, step));
    EXPECT_THAT(p.text(), HasSubstr("while_loop"));
    EXPECT_EQ(to_function(p)({x, six})[0].to_vector<float>(), std::vector<float>(4, made));
  }
}

}  // namespace
}  // namespace tessera::stablehlo
