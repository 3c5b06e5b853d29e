// Each batch element takes its own branch. The branches that it does not take add nothing to
// derivatives, even if they compute NaN.
#include <gmock/gmock.h>
#include <tessera/tessera.h>

#include <cmath>

#include "unit/api/count.h"

namespace tessera::mapped_branches_test {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::FloatNear;
using testing::Pointwise;

std::vector<float> Values(const Array& x) { return x.to_vector<float>(); }
const Array& Takes() {
  static const Array takes = array({true, false, true});
  return takes;
}
const float kHalf = std::sqrt(0.5f);

TEST(MappedBranches, DerivativesAreOfWhatALaneTakes) {
  const auto f = [](Array p, Array x) {
    return cond(
        p, [](Array x) { return sqrt(x); }, [](Array x) { return x + 10; }, x);
  };
  const Array x = array({0.25f, 0.0f, 1.0f});
  const auto loss = [&](Array x) { return sum(vmap(f)(Takes(), x)); };
  EXPECT_THAT(Values(grad(loss)(x)), ElementsAre(1, 1, 0.5f));
  EXPECT_THAT(Values(jit(grad(loss))(x)), ElementsAre(1, 1, 0.5f));
  EXPECT_THAT(Values(jvp(loss, x, ones({3})).second), ElementsAre(2.5f));
  EXPECT_THAT(Values(vmap(grad([&](Array x, Array p) { return f(p, x); }))(x, Takes())),
              ElementsAre(1, 1, 0.5f));
  const auto slope = [&](Array x) { return sum(grad(loss)(x)); };
  EXPECT_THAT(Values(grad(slope)(x)), ElementsAre(-2, 0, -0.25f));
  EXPECT_THAT(Values(jvp(grad(loss), x, ones({3})).second), ElementsAre(-2, 0, -0.25f));
  EXPECT_THAT(Values(linearize(loss, x).second(ones({3}))), ElementsAre(2.5f));
}

TEST(MappedBranches, ChoiceByNumber) {
  const auto f = [](Array i, Array x) {
    return switch_case(
        i,
        std::tuple([](Array x) { return sqrt(x); }, [](Array x) { return log(x) + 1 / x; },
                   [](Array x) { return 3 * x; }),
        x);
  };
  for (DType t : {i32, u8, i64}) {
    const Array i = array({-1, 1, 7, 2}).astype(t == u8 ? i32 : t);
    const Array index = t == u8 ? maximum(i, 0).astype(u8) : i;
    const auto loss = [&](Array x) { return sum(vmap(f)(index, x)); };
    EXPECT_THAT(Values(grad(loss)(array({4.0f, 2.0f, 0.0f, 0.0f}))),
                ElementsAre(0.25f, 0.25f, 3, 3));
  }
}

// The gradient of a shared value is a sum over batch elements. Those that do not use it add zeros.
TEST(MappedBranches, DerivativesOfWhatLanesShare) {
  const Array w = array({2.0f, 0.5f}), x = array({{1.0f, 4.0f}, {0.0f, 0.0f}, {1.0f, 1.0f}});
  const auto check = [&](const char* what, auto f, auto one) {
    SCOPED_TRACE(what);
    const auto loss = [&](Array w, Array x) {
      return sum(vmap([&](Array p, Array x) {
        return cond(
            p, [&](Array x) { return f(w, x); }, [&](Array x) { return sum(x * 3 + w); }, x);
      })(Takes(), x));
    };
    const auto lane_by_lane = [&](Array w, Array x) {
      return one(w, x[{0}]) + sum(x[{1}] * 3 + w) + one(w, x[{2}]);
    };
    const auto [gw, gx] = grad<0, 1>(loss)(w, x);
    const auto [ew, ex] = grad<0, 1>(lane_by_lane)(w, x);
    EXPECT_THAT(Values(gw), Pointwise(FloatNear(1e-5f), Values(ew)));
    EXPECT_THAT(Values(gx), Pointwise(FloatNear(1e-5f), Values(ex)));
    const auto second = [&](auto f) {
      return [f](Array w, Array x) {
        const auto [a, b] = grad<0, 1>(f)(w, x);
        return sum(sin(a)) + sum(sin(b));
      };
    };
    const auto [hw, hx] = grad<0, 1>(second(loss))(w, x);
    const auto [fw, fx] = grad<0, 1>(second(lane_by_lane))(w, x);
    EXPECT_THAT(Values(hw), Pointwise(FloatNear(1e-4f), Values(fw)));
    EXPECT_THAT(Values(hx), Pointwise(FloatNear(1e-4f), Values(fx)));
  };
  const auto same = [&](const char* what, auto f) { check(what, f, f); };
  same("by element", [](Array w, Array x) { return sum(w / x); });
  same("scalar", [](Array w, Array x) { return sum(sum(w) * sqrt(x)); });
  same("product", [](Array w, Array x) { return matmul(w, 1 / x); });
  same("sqrt of a product", [](Array w, Array x) { return sqrt(matmul(w, x)); });
  same("lookup", [](Array w, Array x) { return take(w, Array(1), 0) / x[0] + x[1]; });
  same("joined", [](Array w, Array x) {
    return sum(sqrt(concatenate({w * 0, x}, 0)[{Slice(2, 4)}]));
  });
  same("loop", [](Array w, Array x) {
    return sum(fori_loop(
        0, 2, [&](Array, Array v) { return sqrt(v) * w + matmul(w, sqrt(v)); }, x));
  });
  same("inner branch", [](Array w, Array x) {
    return cond(
        sum(w) > 0, [&](Array x) { return matmul(w, log(x + 1) + sqrt(x)); },
        [&](Array x) { return sum(x); }, x);
  });
  same("inner choice", [](Array w, Array x) {
    return cond(
        sum(x) > 3, [&](Array x) { return matmul(w, x / sum(x - 1)) * sum(w); },
        [&](Array x) { return matmul(w, sqrt(x)); }, x);
  });
  same("checkpoint", [](Array w, Array x) {
    return checkpoint([](Array w, Array x) { return matmul(w, sqrt(x)) + sum(w / x); })(w, x);
  });
  same("rule", [](Array w, Array x) {
    return sum(custom_jvp([](Array w, Array x) { return w * sqrt(x); },
                          [](std::tuple<Array, Array> at, std::tuple<Array, Array> t) {
                            const auto& [w, x] = at;
                            const auto& [dw, dx] = t;
                            return std::pair(w * sqrt(x), dw * sqrt(x) + w * dx / (2 * sqrt(x)));
                          })(w, x));
  });
}

// A function of shared values alone, whose derivative is infinite, where no lane takes it.
TEST(MappedBranches, ThatNoLaneTakes) {
  const auto f = [](Array p, Array x, Array w) {
    return cond(
        p, [&](Array x) { return sqrt(w) * x; }, [&](Array x) { return w + x; }, x);
  };
  const auto loss = [&](Array w, Array x) {
    return sum(vmap([&](Array p, Array x) { return f(p, x, w); })(x > 1, x));
  };
  const auto [gw, gx] = grad<0, 1>(loss)(Array(0.0f), array({0.0f, 1.0f}));
  EXPECT_EQ(gw.item<float>(), 2);
  EXPECT_THAT(Values(gx), ElementsAre(1, 1));
}

TEST(MappedBranches, OfTwoMaps) {
  const Array x = array({{0.0f, 1.0f}, {4.0f, 0.0f}});
  const auto row = [&](Array w) {
    return [=](Array x) {
      return vmap([=](Array x) {
        return cond(
            x > 0.5f, [=](Array x) { return w / x + sqrt(x); }, [=](Array x) { return w * x; }, x);
      })(x);
    };
  };
  const auto loss = [&](Array w, Array x) { return sum(vmap(row(w))(x)); };
  const auto [gw, gx] = grad<0, 1>(loss)(Array(2.0f), x);
  EXPECT_EQ(gw.item<float>(), 1.25f);
  EXPECT_THAT(Values(gx), ElementsAre(2, -1.5f, 0.125f, 2));
}

// Loops whose lanes stop one by one have derivatives forward.
TEST(MappedBranches, LanesThatAreDone) {
  const auto f = [](Array x) {
    return while_loop([](Array v) { return v > 1.0f; }, [](Array v) { return sqrt(v - 1); }, x);
  };
  const auto [y, dy] = jvp(vmap(f), array({0.5f, 2.5f}), ones({2}));
  EXPECT_THAT(Values(y), ElementsAre(0.5f, std::sqrt(std::sqrt(1.5f) - 1)));
  EXPECT_EQ(dy[0].item<float>(), 1);
  EXPECT_TRUE(std::isfinite(dy[1].item<float>()));
}

// A loop in a branch ends when the lanes that take the branch are done: the others may never be.
TEST(MappedBranches, LanesThatDoNotTakeALoop) {
  const auto doubled = [](Array x) {
    return while_loop([](Array v) { return v < 10.0f; }, [](Array v) { return v * 2; }, x);
  };
  const auto f = [&](Array x) {
    return cond(
        x > 0, doubled, [](Array x) { return x - 1; }, x);
  };
  const Array x = array({0.0f, 3.0f, -1.0f, 12.0f});
  const auto [y, dy] = jvp(vmap(f), x, ones({4}));
  EXPECT_THAT(Values(y), ElementsAre(-1, 12, -2, 12));
  EXPECT_THAT(Values(dy), ElementsAre(1, 4, 1, 1));
  EXPECT_THAT(Values(jit(vmap(f))(-x)), ElementsAre(-1, -4, 16, -13));
}

// Devices that choose by themselves, and need one another in the branches.
TEST(MappedBranches, OfDevices) {
  SetDeviceCount(4);
  MeshScope mesh(make_mesh({{"x", 2}, {"y", 2}}));
  const Array x = reshard(array({0.25f, 0.0f}), P("x")), w = Array(2.0f);
  const auto f = [](Array w, Array x) {
    const auto part = shard_map(
        [](Array w, Array x) {
          return cond(
              x[0] > 0.1f, [&](Array x) { return psum(sqrt(x) + w / x, "y"); },
              [&](Array x) { return psum(x + w, "y"); }, x);
        },
        {.in_specs = {P(), P("x")}, .out_specs = P("x")});
    return sum(part(w, x));
  };
  const auto [gw, gx] = jit(grad<0, 1>(f))(w, x);
  EXPECT_EQ(gw.item<float>(), 2 * (4 + 1));
  EXPECT_THAT(Values(gx), ElementsAre(2 * (1 - 32), 2));
}

// Where no derivative is taken nothing of this is left.
TEST(MappedBranches, CostNothingForward) {
  const Array w = ones({4, 4});
  const auto f = [&](Array p, Array x) {
    return cond(
        p, [&](Array x) { return tanh(x * sum(w)); }, [&](Array x) { return x * 2; }, x);
  };
  const std::string text =
      jit(vmap(f)).lower(array({true, false}), ones({2, 4})).device_program().text();
  EXPECT_EQ(text.find("stop_gradient"), std::string::npos) << text;
  EXPECT_EQ(text.find("reduce_or"), std::string::npos) << text;
  EXPECT_EQ(text.find("select_n"), text.rfind("select_n")) << text;
}

}  // namespace
}  // namespace tessera::mapped_branches_test
