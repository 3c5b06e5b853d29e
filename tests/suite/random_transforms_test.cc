// Random programs with random transforms of random parts: gradients against finite differences,
// mapped functions against one batch element at a time, several devices against one.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <tessera/tessera.h>

#include <cmath>
#include <functional>
#include <memory>

#include "fuzz.h"
#include "suite/random_program.h"

namespace tessera::suite::random_transforms_test {
namespace {

using Function = std::function<Array(Array)>;

// Makes functions of f64 arrays that return one of the same shape, and are smooth for ordinary
// numbers. Every dim but the first is whole on each device; along the first they work row by row.
class TransformMaker {
 public:
  explicit TransformMaker(int64_t seed) : dice_(static_cast<int>(seed)) {}

  // `rank`: of f's argument, 1 or 2. `depth`: how deep transforms may nest.
  Function Block(int rank, int depth) {
    std::vector<Function> steps;
    for (int n = 1 + Below(3); n > 0; --n) steps.push_back(Step(rank, depth));
    return [steps](Array x) {
      for (const Function& f : steps) x = f(x);
      return x;
    };
  }
  const std::string& text() const { return text_; }
  // A row [6] that some steps combine with each row of theirs. The caller of f sets it.
  Array& row() { return *row_; }

 private:
  int Below(int n) { return dice_.Below(n); }

  Function Step(int rank, int depth) {
    return Below(5) < 3 && depth > 0 ? Transformed(rank, depth - 1) : Plain(rank);
  }

  Function Plain(int rank) {
    if (Below(4) == 0) return BesideRow();
    SmoothStep step = RandomSmoothStep(dice_, rank);
    text_ += step.name + std::string(" ");
    return step.f;
  }

  // Linear in the row: sharded rows may meet it where it is reduced.
  Function BesideRow() {
    text_ += "row ";
    const int way = Below(5);
    return [row = row_, way](Array x) -> Array {
      const Array& r = *row;
      switch (way) {
        case 0:
          return x * 0.5 + r;
        case 1:
          return x * (1 + sin(r)) * 0.5;
        case 2:
          return r - tanh(x);
        case 3:
          return where(x > 10, x, r * r) + x * 0.3;
        default:
          return r / (2 + square(x)) + sin(x * r);
      }
    };
  }

  Function Transformed(int rank, int depth) {
    switch (Below(rank == 2 ? 11 : 9)) {
      case 0: {
        text_ += "jit(";
        Function f = Block(rank, depth);
        text_ += ") ";
        return [f](Array x) { return jit(f)(x); };
      }
      case 1: {
        text_ += "scan(";
        Function f = Block(rank, depth), g = Block(rank, depth);
        const bool reverse = Below(2) != 0;
        text_ += ") ";
        return [=](Array x) {
          Array xs = iota({3}, 0, {.dtype = f64}) * 0.1;
          auto [last, ys] = scan(
              [&](Array c, Array s) { return std::pair(f(c) * 0.5 + s * x, sum(g(c) * s, -1)); }, x,
              xs, {.reverse = reverse});
          return last + mean(ys, 0).reshape(Kept(x)) * 0.1;
        };
      }
      case 2: {
        text_ += "fori(";
        Function f = Block(rank, depth);
        text_ += ") ";
        return [f](Array x) {
          return fori_loop(
              0, 2, [&](Array, Array v) { return f(v) * 0.5; }, x);
        };
      }
      case 3: {
        text_ += "cond(";
        Function f = Block(rank, depth), g = Block(rank, depth);
        text_ += ") ";
        return [=](Array x) { return cond(stop_gradient(Scalar(x)) > 0.1, f, g, x); };
      }
      case 4: {
        text_ += "grad(";
        Function f = Block(rank, depth);
        text_ += ") ";
        return [f](Array x) { return grad([&](Array v) { return sum(f(v) * 0.3); })(x); };
      }
      case 5: {
        text_ += "jvp(";
        Function f = Block(rank, depth);
        text_ += ") ";
        return [f](Array x) {
          auto [y, dy] = jvp(f, x, x * 0.5);
          return y * 0.1 + dy;
        };
      }
      case 6: {
        text_ += "checkpoint(";
        Function f = Block(rank, depth);
        const Remat save = Below(2) ? Remat::kNothing : Remat::kDots;
        text_ += ") ";
        return [=](Array x) { return checkpoint(f, {.save = save})(x); };
      }
      case 7: {
        text_ += "vjp(";
        Function f = Block(rank, depth);
        text_ += ") ";
        return [f](Array x) {
          auto [y, pullback] = vjp(f, x);
          return y * 0.2 + pullback(x * 0.1);
        };
      }
      case 8: {
        text_ += "vmap of copies(";
        Function f = Block(rank, depth);
        text_ += ") ";
        return [f](Array x) {
          Array scales = iota({2}, 0, {.dtype = f64}) + 1;
          return sum(vmap([&](Array s) { return f(x * s) * 0.4; })(scales), 0);
        };
      }
      default: {
        text_ += "vmap(";
        Function f = Block(1, depth);
        text_ += ") ";
        return [f](Array x) { return vmap(f)(x); };
      }
    }
  }
  static std::vector<int64_t> Kept(const Array& x) {
    std::vector<int64_t> shape = x.shape();
    shape.back() = 1;
    return shape;
  }
  static Array Scalar(const Array& x) {
    // The same on each device: a reduced value, not an element of a sharded dim.
    return sum(sin(x));
  }

  Dice dice_;
  std::string text_;
  std::shared_ptr<Array> row_ = std::make_shared<Array>(cos(iota({6}, 0, {.dtype = f64})));
};

Array Start(int64_t seed) {
  return sin(iota({4, 6}, 0, {.dtype = f64}) * 1.7 + iota({4, 6}, 1, {.dtype = f64}) * 0.9 +
             static_cast<double>(seed % 17));
}
Array Direction() {
  return cos(iota({4, 6}, 0, {.dtype = f64}) * 0.7 + iota({4, 6}, 1, {.dtype = f64}) * 2.3);
}
double Number(const Array& x) { return x.item<double>(); }
std::vector<double> Values(const Array& x) { return x.to_vector<double>(); }

double Largest(const std::vector<double>& a) {
  double largest = 1;
  for (double v : a) largest = std::max(largest, std::fabs(v));
  return largest;
}
void ExpectNear(const Array& got, const std::vector<double>& want, double tolerance,
                const char* what) {
  const std::vector<double> values = Values(got);
  ASSERT_EQ(values.size(), want.size());
  const double allowed = tolerance * Largest(want);
  for (size_t i = 0; i < want.size(); ++i)
    ASSERT_NEAR(values[i], want[i], allowed) << what << " " << i;
}

// Compares the gradient of the row with differences. On devices that share the row it is a sum of
// terms, which is compared once it is summed.
void TryRow(int64_t seed, TransformMaker& maker, const Function& f) {
  const Array x = Start(seed), row = maker.row(), d = sin(row * 5);
  const auto loss = [&](Array r, Array v) {
    maker.row() = r;
    return sum(sin(f(v) + r) * cos(Direction() * 3));
  };
  const Array whole = grad(loss)(row, x);
  const std::vector<double> gradient = Values(whole);
  const double h = 1e-6, slope = Number(sum(whole * d));
  const double difference = (Number(loss(row + d * h, x)) - Number(loss(row - d * h, x))) / (2 * h);
  if (std::fabs(slope) > 1e6 || !std::isfinite(slope)) return;
  EXPECT_NEAR(slope, difference, 2e-4 * std::max({1.0, std::fabs(slope), Largest(gradient)}));
  MeshScope mesh(make_mesh({{"x", 2}, {"y", 2}}));
  const std::vector<AxisRef> over =
      seed % 2 ? std::vector<AxisRef>{"x"} : std::vector<AxisRef>{"x", "y"};
  const Array got = jit(grad(loss))(reshard(row, P().reduced(over)), reshard(x, P(over)));
  EXPECT_EQ(type_of(got).text(), seed % 2 ? "f64[6]{U:x}" : "f64[6]{U:(x,y)}");
  ExpectNear(reshard(got, P()), gradient, 1e-8, "reduced");
}

void Try(int64_t seed) {
  TransformMaker maker(seed);
  const Function f = maker.Block(2, 3);
  SCOPED_TRACE(fmt::format("seed {}: {}", seed, maker.text()));
  const Array x = Start(seed), d = Direction();
  auto loss = [&](Array v) { return sum(sin(f(v)) * cos(Direction() * 3)); };
  const Array g = grad(loss)(x);
  const std::vector<double> whole = Values(f(x)), gradient = Values(g);
  for (double v : gradient)
    if (!std::isfinite(v) || std::fabs(v) > 1e6) return;  // chaotic: differences say nothing
  const double slope = Number(sum(g * d));
  const double h = 1e-6;
  const double difference = (Number(loss(x + d * h)) - Number(loss(x - d * h))) / (2 * h);
  EXPECT_NEAR(slope, difference, 2e-4 * std::max({1.0, std::fabs(slope), Largest(gradient)}));
  auto [value, tangent] = jvp(loss, x, d);
  EXPECT_NEAR(Number(tangent), slope, 1e-9 * std::max(1.0, Largest(gradient)));
  ExpectNear(jit(grad(loss))(x), gradient, 1e-9, "jitted");

  const Array lanes = stack({x, x * 0.5, d}, 0);
  const Array mapped = vmap(f)(lanes);
  ExpectNear(mapped[{0}], whole, 1e-9, "lane");
  ExpectNear(mapped[{2}], Values(f(d)), 1e-9, "lane");

  for (AxisMode mode : {Explicit, Auto}) {
    MeshScope mesh(make_mesh({{"x", 2, mode}, {"y", 2, mode}}));
    auto placed = [&](Array v) { return mode == Auto ? v : reshard(v, P("x")); };
    auto laid_out = [&](Array v) { return mode == Auto ? with_sharding_constraint(v, P("x")) : v; };
    auto step = jit([&](Array v) { return grad(loss)(laid_out(v)); });
    ExpectNear(step(placed(x)), gradient, 1e-8, mode == Auto ? "auto" : "explicit");
    const Array both = vmap(f)(mode == Auto ? lanes : reshard(lanes, P(None, "x")));
    ExpectNear(both[{1}], Values(mapped[{1}]), 1e-8, "sharded lane");
  }
  TryRow(seed, maker, f);
}

TEST(RandomTransforms, AgreeWithDifferencesLanesAndOneDevice) {
  for (int64_t seed = 0; seed < FuzzCount(200); ++seed) {
    try {
      Try(seed);
    } catch (const Error& e) {
      TransformMaker maker(seed);
      maker.Block(2, 3);
      ADD_FAILURE() << "seed " << seed << ": " << maker.text() << "\n" << e.what();
    }
    if (testing::Test::HasFailure()) break;
  }
}

}  // namespace
}  // namespace tessera::suite::random_transforms_test
