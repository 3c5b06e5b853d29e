// CheckedIndices: eager, traced, in loops, gradients, shards and maps; and calls that say
// otherwise.
#include <gmock/gmock.h>

#include "tessera/check.h"
#include "tessera/tessera.h"

namespace tessera {
namespace {

using testing::HasSubstr;

class CheckedIndicesTest : public testing::Test {
 protected:
  static void SetUpTestSuite() { SetDeviceCount(4); }
};

// Returns the message of the call inside of the scope, "" if it has none.
template <class F>
std::string Found(const F& f) {
  const CheckedIndices scope;
  try {
    f();
  } catch (const RuntimeError& e) {
    return e.what();
  }
  return "";
}

TEST_F(CheckedIndicesTest, NamesLineIndexAndSize) {
  const Array x = arange(5), i = array({1, 7});
  const std::string text = Found([&] { take(x, i, 0); });
  EXPECT_THAT(text, HasSubstr("checked_indices_test.cc:"));
  EXPECT_THAT(text, HasSubstr("RuntimeError in take [take.bounds]: index 7 is out of bounds for a "
                              "dim of size 5"));
  EXPECT_THAT(text, HasSubstr("element [1]"));
  EXPECT_EQ(Found([&] { take(x, array({-5, 4}), 0); }), "");
  EXPECT_THAT(Found([&] { take(x, array({-6}), 0); }), HasSubstr("index -6"));
}

TEST_F(CheckedIndicesTest, OfEveryLookup) {
  const Array x = zeros({4, 5}), far = array({9}), row = full({1, 5}, 1.0);
  EXPECT_THAT(Found([&] { x[far]; }), HasSubstr("index 9 is out of bounds for a dim of size 4"));
  EXPECT_THAT(Found([&] { x[{All, far}]; }), HasSubstr("size 5"));
  EXPECT_THAT(Found([&] { x.at(far).get(); }), HasSubstr("in at.get"));
  EXPECT_THAT(Found([&] { x.at(far).set(1.0); }), HasSubstr("in at.set"));
  EXPECT_THAT(Found([&] { x.at(far).add(1.0); }), HasSubstr("in at.add"));
  EXPECT_THAT(Found([&] { take_along_dim(x, full({1, 5}, 4), 0); }), HasSubstr("index 4"));
  EXPECT_THAT(Found([&] {
                dynamic_slice(x, {2, 0}, {3, 5});
              }),
              HasSubstr("3 elements from index 2 on are out of bounds for a dim of size 4"));
  EXPECT_THAT(Found([&] { dynamic_update_slice(x, row, {4, 0}); }), HasSubstr("index 4"));
  EXPECT_THAT(
      Found([&] {
        gather(x, array({{0, 3}}), {.offset = {1}, .collapsed = {0}, .start = {0, 1}}, {1, 3});
      }),
      HasSubstr("3 elements from index 3 on"));
  EXPECT_THAT(Found([&] {
                scatter_add(x, array({{-1}}), row, {.window = {1}, .inserted = {0}, .start = {0}});
              }),
              HasSubstr("index -1"));
  EXPECT_THAT(Found([&] { embedding(x, far); }), HasSubstr("index 9"));
}

TEST_F(CheckedIndicesTest, NotWhereTheCallSaysOtherwise) {
  const Array x = arange(5), far = array({9});
  EXPECT_EQ(Found([&] {
              x.at(far).get({.mode = LookupMode::kClip});
              x.at(far).get({.mode = LookupMode::kFill, .fill_value = -1});
              x.at(far).set(1, {.mode = LookupMode::kDrop});
              take(x, far, 0, {.mode = TakeMode::kClip});
              take(x, far, 0, {.mode = TakeMode::kWrap});
              take(x, far, 0, {.fill_value = 3});
              take_along_dim(x, far, 0, {.fill_value = 3});
              take_along_dim(x, far, 0, {.mode = LookupMode::kFill});
              gather(x, array({{9}}), {.collapsed = {0}, .start = {0}}, {1},
                     {.mode = LookupMode::kClip});
              scatter(x, array({{9}}), array({1}), {.inserted = {0}, .start = {0}},
                      {.mode = LookupMode::kDrop});
            }),
            "");
  EXPECT_THAT(Found([&] { x.at(far).get({.mode = LookupMode::kPromise}); }), HasSubstr("index 9"));
  EXPECT_EQ(x[far].item<int>(), 4);  // outside of the scope
}

// These functions put the elements that they leave out into rows out of bounds.
TEST_F(CheckedIndicesTest, NotOfFunctionsThatLeaveElementsOut) {
  const Array x = array({0, 1, 0, 2});
  EXPECT_EQ(Found([&] {
              nonzero(x, {.size = 3});
              flatnonzero(x, {.size = 3});
              argwhere(x, {.size = 3});
              unique(x, {.size = 2});
              compress(array({false, true, false, true}), x, All, {.size = 1});
              extract(x > 0, x, {.size = 1});
              intersect1d(x, array({1, 7}), {.size = 1});
            }),
            "");
}

TEST_F(CheckedIndicesTest, OfATracedProgramAndOnlyInsideOfTheScope) {
  const auto f = jit([](Array x, Array i) { return x[i]; });
  const Array x = arange(5);
  EXPECT_EQ(f(x, Array(7)).item<int>(), 4);
  EXPECT_THAT(Found([&] { f(x, Array(7)); }), HasSubstr("index 7"));
  EXPECT_EQ(Found([&] { f(x, Array(-1)); }), "");
  EXPECT_EQ(f(x, Array(7)).item<int>(), 4);
}

TEST_F(CheckedIndicesTest, InALoopNamesTheIteration) {
  const auto f = jit([](Array x) {
    return fori_loop(
        0, 8, [&](Array i, Array sum) { return sum + x[i]; }, Array(0));
  });
  const std::string text = Found([&] { f(arange(5)); });
  EXPECT_THAT(text, HasSubstr("index 5 is out of bounds"));
  EXPECT_THAT(text, HasSubstr("in iteration 5 of the loop"));
}

TEST_F(CheckedIndicesTest, OnlyTheBranchThatRuns) {
  const auto f = jit([](Array x, Array i) {
    return cond(
        i < 5, [&](Array k) { return x[k]; }, [](Array k) { return k; }, i);
  });
  EXPECT_EQ(Found([&] { f(arange(5), Array(7)); }), "");
}

TEST_F(CheckedIndicesTest, InGradients) {
  const auto f = jit(grad([](Array x, Array i) { return sum(square(x[i])); }));
  EXPECT_THAT(Found([&] { f(ones({5}), array({0, 5})); }), HasSubstr("index 5"));
  EXPECT_EQ(Found([&] { f(ones({5}), array({0, 4})); }), "");
}

TEST_F(CheckedIndicesTest, OfShardsNamesTheDevice) {
  MeshScope scope(make_mesh({{"d", 4}}));
  const Array x = arange(5), i = reshard(array({0, 1, 2, 3, 4, 5, 1, 0}), P("d"));
  const auto f = jit([](Array v, Array k) { return take(v, k, 0); });
  const std::string text = Found([&] { f(x, i); });
  EXPECT_THAT(text, HasSubstr("index 5"));
  EXPECT_THAT(text, HasSubstr("element [5], on device 2"));
  const auto g = jit(shard_map([](Array v, Array k) { return v[k]; },
                               {.in_specs = {P(), P("d")}, .out_specs = P("d")}));
  EXPECT_THAT(Found([&] { g(x, i); }), HasSubstr("index 5"));
}

TEST_F(CheckedIndicesTest, UnderVmap) {
  const auto f = jit(vmap([](Array x, Array i) { return x[i]; }, {.in_dims = {None, 0}}));
  EXPECT_THAT(Found([&] { f(arange(5), array({1, 6})); }), HasSubstr("index 6"));
  EXPECT_EQ(Found([&] { f(arange(5), array({1, -5})); }), "");
}

}  // namespace
}  // namespace tessera
