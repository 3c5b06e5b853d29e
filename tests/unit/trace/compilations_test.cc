// Compiled programs outlive the functions that captured arrays; the captured arrays do not.
#include "trace/compilations.h"

#include <gmock/gmock.h>
#include <tessera/tessera.h>

namespace tessera::trace {
namespace {

Executor::Compiled Compiled(const Array& x, const Array& captured, double scale) {
  const auto f = [&](Array x) { return sin(x * captured) * scale; };
  return CompileOnce(jit(f).trace(x).program(), {false}, {x.impl(), captured.impl()});
}

TEST(Compilations, AreOfProgramsWhateverTheyCapture) {
  const Array x = ones({3});
  const Executor::Compiled first = Compiled(x, ones({3}), 2);
  EXPECT_EQ(Compiled(x, zeros({3}), 2), first);
  EXPECT_NE(Compiled(x, ones({3}), 3), first) << "a number";
  EXPECT_NE(Compiled(x, ones({}), 2), first) << "a type";
  const auto g = [&](Array x) { return sin(x * x) * 2; };
  const auto h = [&](Array x) { return sin(x * x) * 2; };
  EXPECT_NE(CompileOnce(jit(g).trace(x).program(), {false}, {x.impl()}),
            CompileOnce(jit(h).trace(x).program(), {false}, {x.impl()}))
      << "a line";
}

TEST(Compilations, HoldNoArrays) {
  const Array x = ones({3});
  std::weak_ptr<ArrayImpl> kept;
  for (const bool again : {false, true}) {
    const Array captured = x * 2;
    kept = captured.impl();
    EXPECT_EQ(grad([&](Array v) { return sum(v * captured); })(x).to_vector<float>(),
              std::vector<float>({2, 2, 2}))
        << again;
  }
  EXPECT_TRUE(kept.expired());
}

TEST(Compilations, OfGradientsOfOneProgram) {
  const Array x = 3.0f;
  for (const float scale : {1.0f, 2.0f, 3.0f}) {
    const Array w = scale;
    const auto f = [&](Array v, Array u) { return v * v * w * u; };
    EXPECT_EQ(grad(f)(x, x).item<float>(), 18 * scale);
    EXPECT_EQ(grad<1>(f)(x, x).item<float>(), 9 * scale);
    EXPECT_EQ((value_and_grad<1>(f)(x, x).first.item<float>()), 27 * scale);
    const auto [gv, gu] = grad<0, 1>(f)(x, x);
    EXPECT_EQ(gv.item<float>() + gu.item<float>(), 27 * scale);
    EXPECT_EQ(grad([&](Array v) { return grad(f)(v, w); })(x).item<float>(), 2 * scale * scale);
    EXPECT_EQ(vjp([&](Array v) { return f(v, w); }, x).second(1.0f).item<float>(),
              6 * scale * scale);
  }
}

}  // namespace
}  // namespace tessera::trace
