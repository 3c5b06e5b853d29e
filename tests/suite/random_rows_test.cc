// Arrays of millions of short rows against the same rows in pieces, and on devices.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <tessera/tessera.h>

#include <algorithm>

#include "fuzz.h"
#include "suite/random_program.h"

namespace tessera::suite::random_rows_test {
namespace {

// A function of whole numbers [n, width] that works row by row.
Array OfRows(Dice dice, Array x) {
  for (int n = 1 + dice.Below(3); n > 0; --n) {
    const int way = dice.Below(7);
    switch (way) {
      case 0:
        x = x - max(x, -1, {.keepdims = true});
        break;
      case 1:
        x = (x * x + sum(x, -1, {.keepdims = true})) % 101;
        break;
      case 2:
        x = where(x > 0, x, expand_dims(argmin(x, -1), -1).astype(x.dtype()));
        break;
      case 3:
        x = cumsum(x, -1) % 101;
        break;
      case 4:
        x = rev(x, -1) * 2 + 1;
        break;
      case 5:
        x = transpose(transpose(x, {1, 0}) + 3, {1, 0});
        break;
      default:
        x = concatenate({x, -x}, -1);
        x = slice(x, {0, 0}, {x.shape(0), x.shape(1) - 1});
    }
    x = x % 101;
  }
  return x;
}

// Millions of rows run in other kernels than the few rows of a piece.
void TryRows(int seed) {
  Dice dice(seed);
  const int64_t width = 1 + dice.Below(dice.Below(2) ? 4 : 40),
                rows = 2 * ((width <= 4 ? 500000 : 2000000 / width) + dice.Below(50000));
  const DType dtype = dice.Below(2) ? f32 : i32;
  SCOPED_TRACE(fmt::format("seed {}: {} [{},{}]", seed, dtype.name(), rows, width));
  const Dice steps(seed + 1);
  const auto f = jit([&](Array x) { return OfRows(steps, x); });
  const Array x = (iota({rows, width}, 0) * 37 + iota({rows, width}, 1) * 11) % 41 - 20;
  const Array typed = x.astype(dtype), whole = f(typed);
  int64_t sum_of_pieces = 0;
  constexpr int64_t kPiece = 1 << 15;
  for (int64_t begin = 0; begin < rows; begin += kPiece) {
    const int64_t end = std::min(begin + kPiece, rows);
    const auto piece = [&](const Array& a) { return slice(a, {begin, 0}, {end, a.shape(1)}); };
    // Two pieces are compared element by element; their sums are, for all.
    const Array few = OfRows(steps, piece(typed));
    if (begin == 0 || end == rows) {
      ASSERT_TRUE(all(few == piece(whole)).item<bool>()) << begin;
    }
    sum_of_pieces += sum(few.astype(i64)).item<int64_t>();
  }
  EXPECT_EQ(sum(whole.astype(i64)).item<int64_t>(), sum_of_pieces);
  MeshScope scope(make_mesh({{"x", 2}}));
  const Array sharded = f(reshard(typed, P("x")));
  EXPECT_EQ(sum(sharded.astype(i64)).item<int64_t>(), sum_of_pieces);
}

TEST(RandomRows, InTheMillions) {
  for (int seed = 0; seed < FuzzCount(2) && !HasFailure(); ++seed) TryRows(seed);
}

}  // namespace
}  // namespace tessera::suite::random_rows_test
