// Random branches under vmap, singular where they are not taken: derivatives of the map against a
// loop over lanes that runs one branch each.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <tessera/tessera.h>

#include <cmath>
#include <functional>

#include "fuzz.h"
#include "suite/random_program.h"

namespace tessera::suite::random_branches_test {
namespace {

using Branch = std::function<Array(Array, Array)>;  // of w, which lanes share, and a lane's x

constexpr int64_t kLanes = 4, kSize = 3;

// Makes functions of f64 [3] that return the same shape and are singular where x is zero.
class BranchMaker {
 public:
  explicit BranchMaker(int64_t seed) : dice_(static_cast<int>(seed)) {}

  Branch Make(int depth) {
    std::vector<Branch> steps;
    for (int n = 1 + dice_.Below(2); n > 0; --n) steps.push_back(Step(depth));
    // Functions of x itself come last, so that a value that is zero in x is zero where it
    // is singular.
    return [steps](Array w, Array x) {
      Array sum = zeros({kSize}, {.dtype = f64});
      for (const Branch& f : steps) sum += f(w, x);
      return sum;
    };
  }
  int Below(int n) { return dice_.Below(n); }
  const std::string& text() const { return text_; }

 private:
  Branch Named(const char* name, Branch f) {
    text_ += name + std::string(" ");
    return f;
  }
  Branch Around(const char* name, const std::function<Branch()>& make) {
    text_ += name + std::string("(");
    Branch f = make();
    text_ += ") ";
    return f;
  }
  static Array Matrix(const Array& w) { return outer(w, cos(w)) + w; }

  Branch Step(int depth) {
    switch (Below(depth > 0 ? 16 : 9)) {
      case 0:
        return Named("sqrt", [](Array w, Array x) { return sqrt(x) * w; });
      case 1:
        return Named("over", [](Array w, Array x) { return w / x; });
      case 2:
        return Named("log", [](Array w, Array x) { return log(x) - sum(w); });
      case 3:
        return Named("product", [](Array w, Array x) { return matmul(Matrix(w), rsqrt(x)); });
      case 4:
        return Named("root of product", [](Array w, Array x) { return sqrt(sum(w * w * x)) * x; });
      case 5:
        return Named("power", [](Array w, Array x) { return pow(x, w); });
      case 6:
        return Named("lookup",
                     [](Array w, Array x) { return take(w, (x > 1).astype(i32), 0) * sqrt(x); });
      case 7:
        return Named("norm", [](Array w, Array x) { return x / sqrt(sum(square(x))) + w; });
      case 8:
        return Named("joined", [](Array w, Array x) {
          return sqrt(concatenate({x, w * w}, 0)[{Slice(1, 4)}]) * w;
        });
      case 9:
        return Around("loop", [&]() -> Branch {
          const Branch f = Make(depth - 1);
          return [f](Array w, Array x) {
            return fori_loop(
                0, 2, [&](Array, Array v) { return v * 0.5 + f(w, x) * w; }, w);
          };
        });
      case 10:
        return Around("scan", [&]() -> Branch {
          const Branch f = Make(depth - 1);
          return [f](Array w, Array x) {
            const auto [last, ys] =
                scan([&](Array c, Array s) { return std::pair(c + f(w * s, x), sqrt(x * s) * c); },
                     zeros({kSize}, {.dtype = f64}), array({0.5, 1.5}, {.dtype = f64}));
            return last + sum(ys, 0);
          };
        });
      case 11:
      case 12:
        return Around("cond", [&]() -> Branch {
          const Branch f = Make(depth - 1), g = Make(depth - 1);
          const bool by_lane = Below(2) != 0;
          return [=](Array w, Array x) {
            return cond((by_lane ? x[0] : w[0]) > 1.2, [=](Array x) { return f(w, x); },
                        [=](Array x) { return g(w, x); }, x);
          };
        });
      case 13:
        return Around("checkpoint", [&]() -> Branch {
          const Branch f = Make(depth - 1);
          return [f](Array w, Array x) { return checkpoint(f)(w, x); };
        });
      case 14:
        return Around("grad", [&]() -> Branch {
          const Branch f = Make(depth - 1);
          return [f](Array w, Array x) { return grad([&](Array x) { return sum(f(w, x)); })(x); };
        });
      default:
        return Around("vmap", [&]() -> Branch {
          const Branch f = Make(depth - 1);
          return [f](Array w, Array x) {
            return sum(vmap([&](Array s) {
                         return cond(
                             s > 1.5, [&](Array s) { return f(w, x * s); },
                             [&](Array s) { return w * s; }, s);
                       })(array({1.0, 2.0}, {.dtype = f64})),
                       0);
          };
        });
    }
  }

  Dice dice_;
  std::string text_;
};

std::vector<double> Values(const Array& x) { return x.to_vector<double>(); }

void ExpectNear(const std::vector<Array>& got, const std::vector<Array>& want, const char* what) {
  for (size_t k = 0; k < got.size(); ++k) {
    const std::vector<double> a = Values(got[k]), b = Values(want[k]);
    double largest = 1;
    for (double v : b) largest = std::max(largest, std::fabs(v));
    for (size_t i = 0; i < b.size(); ++i)
      ASSERT_NEAR(a[i], b[i], 1e-9 * largest) << what << ", argument " << k << ", element " << i;
  }
}

void Try(int64_t seed) {
  BranchMaker maker(seed);
  // Lanes of zeros take the last branch, which is smooth there.
  const int branches = 1 + maker.Below(2);
  std::vector<Branch> all;
  for (int k = 0; k < branches; ++k) all.push_back(maker.Make(2));
  all.emplace_back([](Array w, Array x) { return sin(x + w) * w; });
  SCOPED_TRACE(fmt::format("seed {}: {}", seed, maker.text()));
  std::vector<int> taken;
  std::vector<Array> rows;
  for (int64_t lane = 0; lane < kLanes; ++lane) {
    taken.push_back(maker.Below(branches + 1));
    const double scale = taken.back() == branches ? 0 : 0.4 + 0.2 * static_cast<double>(lane);
    rows.push_back((iota({kSize}, 0, {.dtype = f64}) * 0.3 + 0.7) * scale);
  }
  const Array x = stack(rows, 0), w = array({0.8, 1.1, 1.3}, {.dtype = f64}), i = array(taken);
  const auto mapped_by = [&](Array index, Array w, Array x) {
    return sum(sin(vmap([&](Array i, Array x) {
      std::vector<std::function<Array(Array)>> of;
      for (const Branch& f : all) of.emplace_back([&f, w](Array x) { return f(w, x); });
      if (branches == 1) return cond(i == 0, of[0], of[1], x);
      return switch_case(i, of, x);
    })(index, x)));
  };
  const auto mapped = [&](Array w, Array x) { return mapped_by(i, w, x); };
  const auto by_lane = [&](Array w, Array x) {
    Array total = zeros({}, {.dtype = f64});
    for (int64_t lane = 0; lane < kLanes; ++lane)
      total += sum(sin(all[static_cast<size_t>(taken[static_cast<size_t>(lane)])](w, x[{lane}])));
    return total;
  };
  const auto first = [](auto f) {
    return [f](Array w, Array x) {
      const auto [a, b] = grad<0, 1>(f)(w, x);
      return std::vector<Array>{a, b};
    };
  };
  const std::vector<Array> want = first(by_lane)(w, x);
  for (const Array& g : want)
    for (double v : Values(g))
      if (!std::isfinite(v) || std::fabs(v) > 1e6) return;
  ExpectNear(first(mapped)(w, x), want, "grad");
  const Array dw = cos(w), dx = cos(x * 3);
  ExpectNear({jvp(mapped, std::tuple(w, x), std::tuple(dw, dx)).second},
             {jvp(by_lane, std::tuple(w, x), std::tuple(dw, dx)).second}, "jvp");
  const auto slope = [&](auto f) {
    return [f, first](Array w, Array x) {
      const std::vector<Array> g = first(f)(w, x);
      return sum(sin(g[0])) + sum(sin(g[1]));
    };
  };
  ExpectNear(jit(first(slope(mapped)))(w, x), jit(first(slope(by_lane)))(w, x), "grad of grad");
  ExpectNear({jit([&](Array w, Array x) {
               return jvp([&](Array w, Array x) { return slope(mapped)(w, x); }, std::tuple(w, x),
                          std::tuple(dw, dx))
                   .second;
             })(w, x)},
             {jvp(slope(by_lane), std::tuple(w, x), std::tuple(dw, dx)).second}, "jvp of grad");
  for (AxisMode mode : {Explicit, Auto}) {
    MeshScope mesh(make_mesh({{"x", 2, mode}}));
    const auto placed = [&](const Array& v) {
      return mode == Auto ? with_sharding_constraint(v, P("x")) : reshard(v, P("x"));
    };
    const auto f = [&](Array w, Array x) { return mapped_by(placed(i), w, x); };
    ExpectNear(jit([&](Array w, Array x) { return first(f)(w, placed(x)); })(w, x), want,
               "sharded lanes");
  }
}

TEST(RandomBranches, HaveDerivativesOfWhatLanesTake) {
  for (int64_t seed = 0; seed < FuzzCount(40); ++seed) {
    try {
      Try(seed);
    } catch (const Error& e) {
      ADD_FAILURE() << "seed " << seed << "\n" << e.what();
    }
    if (testing::Test::HasFailure()) break;
  }
}

}  // namespace
}  // namespace tessera::suite::random_branches_test
