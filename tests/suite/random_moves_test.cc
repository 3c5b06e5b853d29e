// Reshards next to ops that only move elements run in one pass, and give the elements of
// one device.
#include <gmock/gmock.h>
#include <tessera/tessera.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <string>

#include "suite/random_program.h"

namespace tessera::suite::random_moves_test {
namespace {

Array Cut(Dice& dice, const Array& x) {
  std::vector<int64_t> starts(x.shape().size()), limits = x.shape();
  const auto d = static_cast<size_t>(dice.Below(x.rank()));
  starts[d] = limits[d] / 4;
  limits[d] = starts[d] + limits[d] / 2;
  return slice(x, starts, limits);
}

Array Transposed(Dice& dice, const Array& x) {
  std::vector<int64_t> order(x.shape().size());
  std::iota(order.begin(), order.end(), 0);
  for (size_t d = order.size(); d-- > 1;)
    std::swap(order[d], order[static_cast<size_t>(dice.Below(static_cast<int>(d) + 1))]);
  return transpose(x, order);
}

Array Moved(Dice& dice, const Array& x) { return reshard(x, RandomSpec(dice, x.shape())); }

// Returns the seed's moves of x. Separate dice choose their layouts.
std::vector<Array> Program(int seed, const Array& x, bool lays_out) {
  Dice dice(seed), layouts(seed + 1);
  std::vector<Array> out;
  Array y = x;
  for (int n = 0; n < 4; ++n) {
    const bool cuts = dice.Below(4) == 0;
    if (lays_out) y = cuts ? reshard(y, P()) : Moved(layouts, y);
    if (cuts) y = Cut(dice, y);
    y = Transposed(dice, y);
    if (lays_out) y = Moved(layouts, y);
    if (dice.Below(3) == 0) out.push_back(y);
    if (dice.Below(3) == 0) y = -y;
  }
  out.push_back(y);
  return out;
}

void ExpectSame(const std::vector<Array>& got, const std::vector<Array>& want,
                const std::string& what) {
  ASSERT_EQ(got.size(), want.size()) << what;
  for (size_t i = 0; i < got.size(); ++i)
    EXPECT_TRUE(all(reshard(got[i], P()) == want[i]).item<bool>()) << what;
}

// RANDOM_MOVES=first,count runs other seeds.
struct Seeds {
  int first = 0, count = 200;
  Seeds() {
    if (const char* s = std::getenv("RANDOM_MOVES")) std::sscanf(s, "%d,%d", &first, &count);
  }
};

TEST(RandomMoves, AgreeWithOneDevice) {
  const auto [first, count] = Seeds();
  for (int seed = first; seed < first + count; ++seed) {
    Dice dice(seed + 1000);
    std::vector<int64_t> shape(static_cast<size_t>(2 + dice.Below(3)));
    for (int64_t& size : shape) size = dice.Of(std::vector<int64_t>{4, 8, 12, 16, 24, 36});
    const DType dtype = dice.Of(std::vector<DType>{i8, bf16, f32, f64});
    const int64_t n = std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
    const Array x = astype(reshape(arange(n) % 97, shape), dtype);
    const std::vector<Array> want = Program(seed, x, false);
    MeshScope scope(make_mesh({{"x", 2}, {"y", 2}, {"z", 2}}));
    const auto f = [&](const Array& in) { return Program(seed, in, true); };
    const std::vector<Array> got = jit(f)(x);
    ExpectSame(got, want, "seed " + std::to_string(seed));
  }
}

Array Each(Dice& dice, const Array& x) {
  switch (dice.Below(6)) {
    case 0:
      return -x;
    case 1:
      return x * x;
    case 2:
      return maximum(x, Array(2)) + Array(1);
    default:
      return astype(x, dice.Of(std::vector<DType>{i8, i32, u32, f16, bf16, f32, f64}));
  }
}

// Moves long rows, with elementwise functions before and after.
std::vector<Array> Computed(int seed, const Array& x, bool lays_out) {
  Dice dice(seed), layouts(seed + 1);
  std::vector<Array> out;
  Array y = x;
  for (int n = 0; n < 4; ++n) {
    if (dice.Below(2) == 0) y = Each(dice, y);
    y = Each(dice, y);
    if (lays_out) y = Moved(layouts, y);
    if (dice.Below(3) == 0) y = Each(dice, y);
    if (dice.Below(4) == 0) out.push_back(y);
  }
  out.push_back(y);
  return out;
}

TEST(RandomMoves, ComputeOnTheWay) {
  const auto [first, count] = Seeds();
  for (int seed = first; seed < first + count; ++seed) {
    Dice dice(seed + 1000);
    std::vector<int64_t> shape(static_cast<size_t>(1 + dice.Below(3)));
    for (int64_t& size : shape) size = dice.Of(std::vector<int64_t>{1, 2, 4, 8, 12, 24});
    shape.back() = dice.Of(std::vector<int64_t>{512, 600, 1000, 1024, 4096, 5000, 8192});
    const DType dtype = dice.Of(std::vector<DType>{i8, f16, bf16, f32, f64});
    const int64_t n = std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
    const Array x = astype(reshape(arange(n) % 211 - 100, shape), dtype);
    const std::vector<Array> want = Computed(seed, x, false);
    MeshScope scope(make_mesh({{"x", 2}, {"y", 2}, {"z", 2}}));
    const auto f = [&](const Array& in) { return Computed(seed, in, true); };
    const std::vector<Array> got = jit(f)(reshard(x, RandomSpec(dice, x.shape())));
    ExpectSame(got, want, "seed " + std::to_string(seed));
  }
}

// Results of more than 16 MiB are written past the caches, by whole lines and by rows of 257
// elements, which are not aligned.
TEST(LargeMoves, ComputeOnTheWay) {
  for (const int64_t columns : {2304, 2056}) {
    const Array x = astype(reshape(arange(2048 * columns) % 251 - 100, {2048, columns}), bf16);
    const Array wide = astype(x, f32);
    MeshScope scope(make_mesh({{"x", 8}}));
    const auto f = [](const Array& narrow, const Array& in) {
      return std::vector<Array>{astype(reshard(narrow, P(None, "x")), f32),
                                reshard(in * Array(0.5f), P(None, "x")), reshard(in, P(None, "x"))};
    };
    ExpectSame(jit(f)(reshard(x, P("x", None)), reshard(wide, P("x", None))),
               {wide, wide * Array(0.5f), wide}, std::to_string(columns) + " columns");
  }
}

}  // namespace
}  // namespace tessera::suite::random_moves_test
