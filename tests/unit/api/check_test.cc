// check: eager, traced, in loops, branches and shard_map; and off.
#include "tessera/check.h"

#include <gmock/gmock.h>

#include "tessera/tessera.h"

namespace tessera {
namespace {

using testing::HasSubstr;

class CheckTest : public testing::Test {
 protected:
  static void SetUpTestSuite() { SetDeviceCount(4); }
};

template <class F>
std::string MessageOf(const F& f) {
  try {
    f();
  } catch (const RuntimeError& e) {
    return e.what();
  }
  return "";
}

TEST_F(CheckTest, AnEagerCallThrowsAtOnce) {
  const Array x = arange(6).reshape({2, 3});
  check(x >= 0, "all are at least 0");
  const std::string text = MessageOf([&] { check(x < 4, "all are below 4", x, 4); });
  EXPECT_THAT(text, HasSubstr("check_test.cc:"));
  EXPECT_THAT(text, HasSubstr("all are below 4\n"));
  EXPECT_THAT(text, HasSubstr("element [1, 1]"));
  EXPECT_THAT(text, HasSubstr("values: 4, 4"));
}

TEST_F(CheckTest, OfAShardedProgramNamesTheDevice) {
  MeshScope scope(make_mesh({{"d", 4}}));
  const auto f = jit([](Array x) {
    check(x < 6, "all are below 6", x);
    return x * 2;
  });
  EXPECT_EQ(f(reshard(arange(4), P("d"))).to_vector<int>()[3], 6);
  const std::string text = MessageOf([&] { f(reshard(arange(8), P("d"))); });
  EXPECT_THAT(text, HasSubstr("element [6], on device 3"));
  EXPECT_THAT(text, HasSubstr("values: 6"));
  // The library is usable afterwards.
  EXPECT_EQ(f(reshard(arange(4), P("d"))).to_vector<int>()[1], 2);
}

TEST_F(CheckTest, InALoopNamesTheIteration) {
  const auto f = jit([](Array x) {
    return fori_loop(
        0, 5,
        [](Array i, Array v) {
          check(v < 20, "v grows too large", v, i);
          return v * 2;
        },
        x);
  });
  EXPECT_THAT(MessageOf([&] { f(Array(2)); }), HasSubstr("in iteration 4 of the loop"));
  EXPECT_EQ(MessageOf([&] { f(Array(1)); }), "");
}

TEST_F(CheckTest, OnlyTheBranchThatRunsChecks) {
  const auto f = jit([](Array x) {
    return cond(
        x > 0, [](Array v) { return v; },
        [](Array v) {
          check(v == 0, "x is negative", v);
          return v;
        },
        x);
  });
  EXPECT_EQ(MessageOf([&] { f(Array(1)); }), "");
  EXPECT_THAT(MessageOf([&] { f(Array(-3)); }), HasSubstr("values: -3"));
}

TEST_F(CheckTest, InShardMapEachDeviceChecksItsOwn) {
  MeshScope scope(make_mesh({{"d", 4}}));
  const auto f = jit(shard_map(
      [](Array own) {
        check(own < 6, "below 6", own);
        return own;
      },
      {.in_specs = P("d"), .out_specs = P("d")}));
  EXPECT_THAT(MessageOf([&] { f(reshard(arange(8), P("d"))); }), HasSubstr("values: 6"));
}

TEST_F(CheckTest, OffByAScope) {
  Checks off(false);
  check(Array(1) < 0, "never");
  jit([](Array x) {
    check(x < 0, "never");
    return x;
  })(Array(1));
}

// A scope around a call decides, also if the function was traced without it, or with it.
TEST_F(CheckTest, ScopesAroundACallDecide) {
  for (const bool first : {false, true}) {
    const auto f = jit([](Array x) {
      check(x < 0, "negative");
      return x;
    });
    const auto throws = [&](bool on) {
      const Checks scope(on);
      return !MessageOf([&] { f(Array(1)); }).empty();
    };
    EXPECT_EQ(throws(first), first);
    EXPECT_EQ(throws(!first), !first);
    EXPECT_EQ(throws(first), first);
  }
}

TEST_F(CheckTest, RefusesOtherPredicatesAndShapes) {
  EXPECT_THROW(check(arange(3), "ints"), DTypeError);
  EXPECT_THROW(check(arange(3) < 5, "shapes", arange(2)), ShapeError);
}

}  // namespace
}  // namespace tessera
