// The expectations of testing.h, and the messages of those that do not hold.
#include <gmock/gmock.h>

#include "tessera/tessera.h"
#include "tessera/testing.h"

namespace tessera {
namespace {

using testing::HasSubstr;

Array Product(Array a, Array b) { return matmul(a, b, {.out_sharding = P()}); }

class Expectations : public testing::Test {
 protected:
  static void SetUpTestSuite() { SetDeviceCount(4); }
  MeshScope scope_{make_mesh({{"x", 2}, {"y", 2}})};
  Lowered lowered_ =
      jit(Product).lower(abstract_array("f32[8,16@(x,y)]"), abstract_array("f32[16@(x,y),4]"));
};

TEST_F(Expectations, Hold) {
  EXPECT_SENDS(lowered_, "all_reduce over x,y", 1);
  EXPECT_SENDS(lowered_, "all_reduce", 1, lowered_.comm().bytes());
  EXPECT_SENDS(lowered_.comm(), "all_gather", 0);
  EXPECT_SENDS_NOTHING(jit([](Array x) { return exp(x); }).lower(abstract_array("f32[8@x]")));
  EXPECT_PEAK_AT_MOST(lowered_, lowered_.peak_bytes());
  const Mesh mesh = current_mesh();
  EXPECT_SAME_ON_MESHES(
      [](Array a, Array b) { return jit(Product)(a, b); },
      std::tuple(random::normal(random::key(1), {8, 16}), random::normal(random::key(2), {16, 4})),
      {{mesh}, {mesh, {P(None, "x"), P("x")}}, {mesh, {P(None, "y"), P("y")}}});
  EXPECT_GRADIENTS([](Array x) { return sum(tanh(x)); }, Array(0.5f));
}

TEST_F(Expectations, SayTheReport) {
  using namespace expectations;
  const CommReport report = lowered_.comm();
  EXPECT_THAT(Sends(report, "all_gather over x", 2),
              HasSubstr("all_gather over x runs 0 times, not 2\nall_reduce "));
  EXPECT_THAT(Sends(report, "all_reduce over x,y", 1, 5), HasSubstr("B from a device, not 5 B\n"));
  EXPECT_THAT(Sends(report, "all_reduce over x", 1), HasSubstr("runs 0 times"));
  EXPECT_THAT(SendsNothing(report), HasSubstr("B leave each device\nall_reduce "));
  EXPECT_THAT(PeakIsAtMost(lowered_, 10), HasSubstr("more than 10 B\n"));
  EXPECT_THROW(Sends(report, "allreduce", 1), RuntimeError);
  const auto scaled = [](Array x) {
    return jit([](Array y) { return y * (type_of(y).spec() == P("x") ? 2 : 3); })(x);
  };
  const auto same =
      SameOnMeshes(scaled, std::tuple(ones({8})), {{current_mesh()}, {current_mesh(), P("x")}});
  EXPECT_FALSE(same);
  EXPECT_THAT(same.message(), HasSubstr("place 0 (a) and place 1 (b) differ\nthe first value"));
  const auto wrong =
      custom_jvp([](Array x) { return x * 2; },
                 [](auto primals, auto tangents) {
                   return std::pair(std::get<0>(primals) * 2, std::get<0>(tangents) * 3);
                 });
  EXPECT_FALSE(HasGradients(wrong, Array(1.0f)));
}

}  // namespace
}  // namespace tessera
