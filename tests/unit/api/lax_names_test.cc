// Names of lax for collectives; the numbers are those of JAX 0.10.2.
#include <gmock/gmock.h>
#include <tessera/lax_names.h>
#include <tessera/tessera.h>

namespace tessera::lax_names_test {
namespace {

using testing::ElementsAre;

class LaxNames : public testing::Test {
 protected:
  static void SetUpTestSuite() { SetDeviceCount(4); }
  template <class F>
  static std::vector<int> OnFour(F f, const Array& x) {
    return jit(shard_map(f, {.in_specs = P("x"), .out_specs = P("x")}))(reshard(x, P("x")))
        .template to_vector<int>();
  }
  MeshScope scope_{make_mesh({{"x", 4}})};
};

TEST_F(LaxNames, PshuffleNamesTheSourceOfEachPosition) {
  const auto f = [](Array a) { return pshuffle(a, "x", {2, 0, 3, 1}); };
  EXPECT_THAT(OnFour(f, arange(8)), ElementsAre(4, 5, 0, 1, 6, 7, 2, 3));
}

TEST_F(LaxNames, PswapaxesExchangesADimAndTheGroup) {
  const auto f = [](Array a) { return pswapaxes(a, "x", 1); };
  EXPECT_THAT(OnFour(f, arange(32).reshape({8, 4})),
              ElementsAre(0, 8, 16, 24, 4, 12, 20, 28, 1, 9, 17, 25, 5, 13, 21, 29, 2, 10, 18, 26,
                          6, 14, 22, 30, 3, 11, 19, 27, 7, 15, 23, 31));
}

TEST_F(LaxNames, AxisSizeIsAPlainNumber) {
  const auto f = [](Array a) { return a * axis_size("x"); };
  EXPECT_THAT(OnFour(f, arange(4)), ElementsAre(0, 4, 8, 12));
}

}  // namespace
}  // namespace tessera::lax_names_test
