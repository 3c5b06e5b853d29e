// explain, dump_shardings and PinShardings, over programs with loops and branches.
#include <gmock/gmock.h>
#include <tessera/tessera.h>

namespace tessera::explain_test {
namespace {

using testing::HasSubstr;

class Explaining : public testing::Test {
 protected:
  MeshScope scope_{abstract_mesh({{"x", 2, Auto}, {"y", 4, Auto}})};
  std::tuple<Array, Array> args_{abstract_array("f32[8]"), abstract_array("f32[5,8]")};
};

auto Sums(PartitionSpec start) {
  return [start](Array a, Array xs) {
    auto step = [](Array c, Array x) {
      Array n = named(c * 0.5 + x, "n");
      return std::pair(n, n * 2);
    };
    auto [last, ys] = scan(step, with_sharding_constraint(a, start), xs);
    auto more = [](Array t) { return t + 1; };
    auto less = [](Array t) { return t * 2; };
    return std::pair(cond(sum(last) > 0, more, less, last), ys);
  };
}

TEST_F(Explaining, FindsNamesInsideLoops) {
  std::string text = explain(Sums(P("y")), args_, "n");
  EXPECT_THAT(text, testing::StartsWith("n: <@mesh, [{\"y\", ?}]>\n"));
  EXPECT_THAT(text, HasSubstr("given by sharding_constraint at explain_test.cc:"));
  EXPECT_THAT(text, HasSubstr("sideways through the border of scan at explain_test.cc:"));
}

TEST_F(Explaining, RefusesNamesThatNoValueHas) {
  EXPECT_THROW(explain(Sums(P("y")), args_, "m"), RuntimeError);
  EXPECT_THROW(explain(Sums(P("y")), args_, "%99"), RuntimeError);
}

TEST_F(Explaining, TellsWhichAxisAContractionSumsOver) {
  const auto f = [](Array a, Array b) {
    return named(matmul(with_sharding_constraint(a, P("x", "y")), b), "product") * 2;
  };
  const auto args = std::tuple(abstract_array("f32[8,16]"), abstract_array("f32[16,4]"));
  const std::string text = explain(f, args, "product");
  EXPECT_THAT(text, testing::StartsWith("product: <@mesh, [{\"x\", ?}, {?}]>\n"));
  EXPECT_THAT(text, testing::ContainsRegex("\"y\" of dim 1 of .* ends here: dot_general at "
                                           "explain_test.cc:[0-9]+ sums over that dim, and over "
                                           "\"y\"\n"));
  // An axis that the result has in another dim is not lost.
  EXPECT_THAT(explain([](Array a, Array) { return named(sum(a, 1), "sum"); }, args, "sum"),
              testing::Not(HasSubstr("ends here")));
}

TEST_F(Explaining, DumpsNameTheValuesOfProgramText) {
  std::string dump = dump_shardings(Sums(P("y")), args_);
  EXPECT_THAT(dump, HasSubstr("%5 region input f32[8] : <@mesh, [{\"y\"}]>\n"));
  EXPECT_THAT(jit(Sums(P("y"))).trace(std::get<0>(args_), std::get<1>(args_)).text(),
              HasSubstr("region(%5: f32[8], %6: f32[8])"));
}

TEST_F(Explaining, PinsHoldInsideLoopsToo) {
  std::string over_y = dump_shardings(Sums(P("y")), args_);
  std::string over_x = dump_shardings(Sums(P("x")), args_);
  ASSERT_NE(over_x, over_y);
  PinShardings pin(over_x);
  EXPECT_EQ(dump_shardings(Sums(P("x")), args_), over_x);
  EXPECT_EQ(dump_shardings(Sums(P("y")), args_), over_x);
}

TEST_F(Explaining, TheOfferedPriorityTurnsTheConflictRound) {
  auto sum_of = [](int priority) {
    return [priority](Array xs, Array ys) {
      xs = with_sharding_constraint(xs, P(Open("x").priority(priority), Open()));
      ys = with_sharding_constraint(ys, P(Open(), Open("x")));
      return named(xs + ys, "sum");
    };
  };
  std::tuple<Array, Array> args{abstract_array("f32[8,8]"), abstract_array("f32[8,8]")};
  std::string text = explain(sum_of(0), args, "sum");
  EXPECT_THAT(text, HasSubstr("[{\"x\", ?}, {?}]>\n"));
  EXPECT_THAT(text,
              HasSubstr("to let \"x\" in: write .priority(1) for dim 0 in sharding_constraint"));
  EXPECT_THAT(explain(sum_of(1), args, "sum"), HasSubstr("[{?}, {\"x\", ?}]>\n"));
}

}  // namespace
}  // namespace tessera::explain_test
