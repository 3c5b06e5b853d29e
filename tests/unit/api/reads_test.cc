// Elementwise ops read through slices, pads, concatenations, rolls, reversals, transposes and
// broadcasts without a copy. Compares random programs, compiled for one device and for many, with
// the same ops run one by one.
#include <gmock/gmock.h>
#include <tessera/tessera.h>

#include <random>

#include "fuzz.h"

namespace tessera::reads_test {
namespace {

// A program of moves and elementwise ops on arrays of one shape.
class Moves {
 public:
  Moves(uint32_t seed, Shape shape) : seed_(seed), shape_(std::move(shape)) {}

  Array operator()(Array x, Array y) const {
    std::mt19937 random(seed_);
    const auto below = [&](int64_t n) {
      return static_cast<int64_t>(random() % static_cast<uint64_t>(n));
    };
    std::vector<Array> known = {x, y};
    const auto any = [&] { return known[static_cast<size_t>(below(std::ssize(known)))]; };
    for (int k = 0; k < 5; ++k) {
      Array moved = any();
      for (int64_t n = 1 + below(3); n > 0; --n) moved = Moved(moved, any(), below);
      known.push_back(below(3) == 0 ? moved * any() : moved + any() * 0.5f);
    }
    const Array last = known.back() + known[known.size() - 2];
    if (below(3) != 0) return last;
    // A reduction reads rows: all elements of the reduced dims.
    std::vector<int> dims;
    for (int d = static_cast<int>(below(2)); d < std::ssize(shape_.dims()); ++d) dims.push_back(d);
    return max(exp(last * 0.01f), dims);
  }

 private:
  // Another array of the same shape, made of a's elements and some of b's.
  template <class Below>
  Array Moved(Array a, Array b, Below below) const {
    const auto rank = std::ssize(shape_.dims());
    const int64_t dim = below(rank), size = shape_.dims()[static_cast<size_t>(dim)],
                  by = 1 + below(std::max<int64_t>(size / 3, 1));
    const auto cut = [&](Array x, int64_t begin, int64_t end) {
      std::vector<int64_t> starts(static_cast<size_t>(rank), 0);
      std::vector<int64_t> limits(shape_.dims().begin(), shape_.dims().end());
      starts[static_cast<size_t>(dim)] = begin, limits[static_cast<size_t>(dim)] = end;
      return slice(x, starts, limits);
    };
    std::vector<Padding> edges(static_cast<size_t>(rank));
    switch (below(7)) {
      case 0:
        return roll(a, below(2) ? by : -by, static_cast<int>(dim));
      case 1:
        return concatenate({cut(a, by, size), cut(b, 0, by)}, static_cast<int>(dim));
      case 2:
        edges[static_cast<size_t>(dim)].low = by;
        return pad(cut(a, 0, size - by), edges, 2.5);
      case 3:
        edges[static_cast<size_t>(dim)].low = edges[static_cast<size_t>(dim)].high = 1;
        return cut(pad(a, edges, -1), 2, size + 2);
      case 4:
        return flip(a, static_cast<int>(dim));
      case 5:
        return broadcast_to(cut(a, by - 1, by), shape_);
      default: {
        if (rank < 3) return roll(a, 1, static_cast<int>(dim));
        return reshape(swapaxes(a, 0, 1), shape_);
      }
    }
  }

  uint32_t seed_;
  Shape shape_;
};

std::vector<float> Values(const Array& x) { return x.to_vector<float>(); }

TEST(Reads, RandomMovesEqualTheirOpsOneByOne) {
  const Shape shapes[] = {{16, 80},  {200},       {8, 2, 70},   {4, 8, 64},
                          {24, 130}, {4, 1, 128}, {2, 3, 1, 66}};
  for (uint32_t seed = 0; seed < FuzzCount(120); ++seed) {
    const Shape& shape = shapes[seed % std::size(shapes)];
    const Moves program(seed, shape);
    const std::string what = "seed " + std::to_string(seed);
    SetDeviceCount(1);
    const Array x = random::normal(random::key(seed), shape), y = x * x;
    const std::vector<float> want = Values(program(x, y));
    EXPECT_EQ(Values(jit(program)(x, y)), want) << what;
    SetDeviceCount(8);
    MeshScope mesh(make_mesh({{"a", 4, Auto}, {"b", 2, Auto}}));
    const PartitionSpec spec = seed % 3 == 0 ? P("a") : seed % 3 == 1 ? P({"b", "a"}) : P();
    const auto on_devices = [&](Array u, Array v) {
      return program(with_sharding_constraint(u, spec), with_sharding_constraint(v, spec));
    };
    EXPECT_EQ(Values(jit(on_devices)(x, y)), want) << what << " on 8 devices";
  }
}

// Joins the windows of an image, as a convolution by a matrix product does.
Array Windows(const Array& x, int64_t side) {
  const Array p = pad(x, {{0, 0}, {1, 1}, {1, 1}, {0, 0}}, 2);
  std::vector<Array> taps;
  for (int64_t i = 0; i < side; ++i)
    for (int64_t j = 0; j < side; ++j)
      taps.push_back(p[{All, Slice(i, x.shape(1) + 2 - side + i + 1),
                        Slice(j, x.shape(2) + 2 - side + j + 1), All}]);
  return concatenate(taps, -1);
}

TEST(Reads, JoinsOfWindowsAreCopiedFromTheImage) {
  const auto f = [](Array x) { return Windows(x, 3); };
  for (const DType t : {f32, f16, i8, f64})
    for (const auto& shape : {Shape({2, 9, 7, 16}), Shape({8, 12, 12, 8}), Shape({4, 5, 40, 33})}) {
      SetDeviceCount(1);
      const Array x = (random::normal(random::key(3), shape) * 20.0).astype(t);
      const std::vector<float> want = Values(f(x).astype(f32));
      EXPECT_EQ(Values(jit(f)(x).astype(f32)), want) << t.name() << " " << x.shape(3);
      SetDeviceCount(4);
      MeshScope mesh(make_mesh({{"a", 4, Auto}}));
      for (const PartitionSpec& spec : {P("a"), P(None, "a"), P(None, None, "a"), P()}) {
        const auto laid_out = [&](Array v) { return f(with_sharding_constraint(v, spec)); };
        EXPECT_EQ(Values(jit(laid_out)(x).astype(f32)), want) << t.name() << " " << spec.text();
      }
    }
  // Neither the padded image nor a window of it is computed.
  SetDeviceCount(1);
  const Array x = random::normal(random::key(3), {16, 28, 28, 16});
  const Profile profile = jit(f).lower(x).profile(x);
  EXPECT_THAT(profile.text(), testing::HasSubstr("concatenate"));
  EXPECT_THAT(profile.text(), testing::Not(testing::HasSubstr("slice")));
  EXPECT_THAT(profile.text(), testing::Not(testing::HasSubstr("pad at")));
  EXPECT_EQ(Values(jit(f)(x)), Values(f(x)));
}

// A product with the windows copies a few of them at a time; the numbers are whole, so that every
// order of the sums gives the same bits.
TEST(Reads, ProductsOfWindowsAssembleThemInTiles) {
  const auto f = [](Array x, Array w) { return matmul(Windows(x, 3), w); };
  for (const auto& shape : {Shape({9, 28, 28, 16}), Shape({2, 37, 41, 16}), Shape({3, 50, 22, 13}),
                            Shape({1, 56, 56, 64})})
    for (const int64_t n : {3, 16, 40}) {
      SetDeviceCount(1);
      const Array x = round(random::normal(random::key(3), shape) * 4.0);
      const Array w = round(random::normal(random::key(4), {9 * shape.dims()[3], n}) * 4.0);
      const std::vector<float> want = Values(f(x, w));
      EXPECT_EQ(Values(jit(f)(x, w)), want) << shape.dims()[3] << " " << n;
      const std::string profile = jit(f).lower(x, w).profile(x, w).text();
      EXPECT_THAT(profile, testing::HasSubstr("dot_general"));
      EXPECT_THAT(profile, testing::Not(testing::HasSubstr("concatenate")));
      // The gradient reads the windows too, so they are in memory.
      const auto g = [&](Array v, Array u) {
        return grad([&](Array t) { return sum(f(v, t) * 0.5f); })(u);
      };
      EXPECT_EQ(Values(jit(g)(x, w)), Values(g(x, w)));
      SetDeviceCount(4);
      MeshScope mesh(make_mesh({{"a", 4, Auto}}));
      const auto laid_out = [&](Array v, Array u) {
        return f(with_sharding_constraint(v, P(None, "a")), u);
      };
      EXPECT_EQ(Values(jit(laid_out)(x, w)), want) << shape.dims()[3] << " " << n;
    }
}

// Rows of a dim of 1 are not neighbours where that is one of several in memory.
TEST(Reads, RowsWithADimOfOneAreReadByItsStride) {
  SetDeviceCount(1);
  const Array x = reshape(arange(4 * 128, {.dtype = f32}), {4, 1, 128});
  const auto f = [](Array u) {
    const Array padded = pad(u, {{0, 0}, {1, 0}, {0, 0}}, 0);
    return sum(slice(padded, {0, 1, 0}, {4, 2, 64}) * 2);
  };
  EXPECT_EQ(Values(jit(f)(x)), Values(f(x)));
}

// A reshape splits the dim of 8 into 4 and 2, and joins the 4 to the dim of 2 before it: as that is
// whole, neither part can be cut in the operand. (Found by the programs above: seed 277.)
TEST(Reads, AReshapeCutsNoFactorThatItsOperandHasWhole) {
  SetDeviceCount(8);
  MeshScope mesh(make_mesh({{"a", 4, Auto}, {"b", 2, Auto}}));
  const Array x = reshape(arange(2 * 8 * 5, {.dtype = f32}), {2, 8, 5});
  const auto f = [](Array u) {
    const Array cut = with_sharding_constraint(u, P(None, {"b", "a"}, None));
    return with_sharding_constraint(reshape(cut, {8, 2, 5}), P(None, SubAxis("a", 2, 2), None));
  };
  EXPECT_EQ(Values(jit(f)(x)), Values(x));
}

// However many moves follow each other, composing them takes no more of the stack.
TEST(Reads, LongChainsOfMovesEnd) {
  SetDeviceCount(1);
  const int moves = 20001;
  const Array x = reshape(arange(3 * 64, {.dtype = f32}), {3, 64});
  const auto f = [](Array u) {
    for (int k = 0; k < moves; ++k) u = roll(u, 1, 0);
    return u + 1;
  };
  EXPECT_EQ(Values(jit(f)(x)), Values(roll(x, moves % 3, 0) + 1));
}

// ---- elements: a loop over few of them takes as long as it has steps ----

// Of a step of a differential equation in three variables.
Array Slope(Array y) {
  const Array a = y[0], b = y[1], c = y[2];
  return stack({10 * (b - a), a * (28 - c) - b, a * b - 2.5f * c}, 0);
}

TEST(Reads, ElementsAreReadWhereTheyLieAndComputedTogether) {
  SetDeviceCount(1);
  const auto f = [](Array y) {
    return fori_loop(
        0, 8, [](Array, Array y) { return y + 0.01f * Slope(y); }, y);
  };
  const Array y = array({1.0f, 2.0f, 3.0f});
  int64_t calls = 0;
  for (const ProfileStep& step : jit(f).lower(y).profile(y).steps()) calls += step.calls;
  // Per iteration: the numbers, their join, and the sum.
  EXPECT_LE(calls, 8 * 3 + 1);
  Array by_hand = y;
  for (int k = 0; k < 8; ++k) by_hand += 0.01f * Slope(by_hand);
  EXPECT_EQ(Values(jit(f)(y)), Values(by_hand));
}

// A source that is much larger than an element lives no longer for it.
TEST(Reads, OneElementKeepsNoLargeArray) {
  SetDeviceCount(1);
  const auto f = [](Array x) {
    const Array large = exp(x);
    const Array first = large[0], rest = sum(large);
    return sort(sort(sort(x * rest)) + x) * first;
  };
  const Array x = ones({1 << 16});
  EXPECT_LT(jit(f).lower(x).peak_bytes(), (3 * 4 << 16) + 4096);
  EXPECT_EQ(Values(jit(f)(x)), Values(f(x)));
}

// Random programs of numbers and short arrays.
TEST(Reads, RandomElementsEqualTheirOpsOneByOne) {
  SetDeviceCount(1);
  for (uint32_t seed = 0; seed < FuzzCount(100); ++seed) {
    const auto program = [seed](Array x) {
      std::mt19937 random(seed);
      const auto below = [&](size_t n) { return static_cast<int>(random() % n); };
      std::vector<Array> numbers = {x[1] + 1}, arrays = {x, x * 0.5f};
      const auto any = [&](const std::vector<Array>& of) {
        return of[static_cast<size_t>(below(of.size()))];
      };
      for (int k = 0; k < 12; ++k) {
        switch (below(7)) {
          case 0:
            numbers.push_back(any(arrays)[below(3)]);
            break;
          case 1:
            numbers.push_back(any(numbers) * 0.5f - any(numbers));
            break;
          case 2:
            numbers.push_back(where(any(numbers) > 0, any(numbers), any(arrays)[{2}]));
            break;
          case 3:
            numbers.push_back(sum(any(arrays)) * 0.25f);
            break;
          case 4:
            arrays.push_back(stack({any(numbers), any(arrays)[below(3)], any(numbers)}, 0));
            break;
          case 5:
            arrays.push_back(any(arrays) * any(numbers) * 0.5f);
            break;
          default:
            arrays.push_back(any(arrays).at({below(3)}).set(any(numbers)));
        }
      }
      return arrays.back() + arrays[arrays.size() / 2] * numbers.back();
    };
    const auto loop = [&](Array x) {
      return fori_loop(
          0, 3, [&](Array, Array v) { return tanh(program(v)); }, x);
    };
    const Array x = random::normal(random::key(seed), {3});
    EXPECT_EQ(Values(jit(program)(x)), Values(program(x))) << "seed " << seed;
    Array by_hand = x;
    for (int k = 0; k < 3; ++k) by_hand = tanh(program(by_hand));
    EXPECT_EQ(Values(jit(loop)(x)), Values(by_hand)) << "seed " << seed;
  }
}

}  // namespace
}  // namespace tessera::reads_test
