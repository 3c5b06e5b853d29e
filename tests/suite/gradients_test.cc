// Derivatives of every op on every sample: against finite differences, against each other, and on
// several devices against one.
#include "tessera/gradients.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "ir/infer.h"
#include "ir/program_text.h"
#include "ir/simplify.h"
#include "ops/params.h"
#include "ops/tangents.h"
#include "suite/compare.h"
#include "suite/placements.h"
#include "suite/run.h"
#include "suite/smooth.h"
#include "suite/table.h"

namespace tessera::suite::gradients_test {
namespace {

using ir::HostTensor;
using sharding::MeshDef;

// Ops that derivatives treat as constants, whatever finite differences give. JAX has no derivative
// of the sign of a complex number.
bool IsStopped(const ir::OpDef& op) {
  return &op == &ops::Elementwise(plan::ScalarOp::kSign) || &op == &ops::kStopGradient ||
         &op == &ops::kBitcastConvertType;
}

// Ops whose derivative in the first operand is an op without derivative, as in JAX.
bool HasNoSecond(const ir::OpDef& op) {
  return &op == &ops::Elementwise(plan::ScalarOp::kIgamma) ||
         &op == &ops::Elementwise(plan::ScalarOp::kIgammac);
}

// Every op has rows here or a reason for having none.
TEST(GradientsOfOps, AreAllTried) {
  for (const ir::OpDef* op : DifferentiableOps()) {  // all but loops, branches, calls and moves
    if (!SmoothSamples(*op).empty()) continue;
    EXPECT_TRUE(IsFlat(*op)) << op->name << " has a derivative, and no sample of floats";
    for (const Sample* s : SamplesOf(*op))
      for (const SampleOperand& o : s->operands)
        EXPECT_FALSE(o.dtype.is_inexact()) << s->name() << " is not tried";
  }
}

// One application: data, directions, and the op as a function.
struct GradientTry {
  Case c;
  std::vector<HostTensor> data, directions;

  explicit GradientTry(const Sample& sample) : c(Unsharded(sample)), data(SmoothData(sample)) {
    directions = data;
    for (size_t i = 0; i < data.size(); ++i) {
      if (!IsFloating(data[i])) continue;
      HostTensor parts = PartsOf(data[i]);
      for (int64_t k = 0; k < parts.size(); ++k)
        parts.SetFloat(k, IsConstant(*c.sample->op, i) ? 0 : Number(i, k));
      SetParts(directions[i], parts);
    }
  }
  auto Function() const {
    return [this](std::vector<Array> xs) { return ApplySmooth(c, std::move(xs)); };
  }
  // The function whose results are unique, so that they have finite differences.
  auto Unique() const {
    return [this](std::vector<Array> xs) {
      std::vector<Array> made = ApplySmooth(c, std::move(xs));
      return c.sample->unique ? c.sample->unique(made) : made;
    };
  }
  std::vector<Array> Placed(const std::vector<HostTensor>& tensors) const {
    std::vector<Array> arrays;
    for (size_t i = 0; i < tensors.size(); ++i)
      arrays.push_back(Place(tensors[i], c.operands[i], c.mesh));
    return arrays;
  }
  std::vector<HostTensor> Moved(double step) const {
    std::vector<HostTensor> moved = data;
    for (size_t i = 0; i < data.size(); ++i) {
      if (!IsFloating(data[i])) continue;
      HostTensor to = PartsOf(data[i]);
      const HostTensor along = PartsOf(directions[i]);
      for (int64_t k = 0; k < to.size(); ++k) to.SetFloat(k, to.Float(k) + step * along.Float(k));
      SetParts(moved[i], to);
    }
    return moved;
  }
  std::vector<HostTensor> At(double step) const { return ReadAll(Unique()(Placed(Moved(step)))); }
};

class Gradients : public testing::TestWithParam<const ir::OpDef*> {};

TEST_P(Gradients, JvpIsTheFiniteDifference) {
  bool any = false;
  const std::vector<Sample> samples = SmoothSamples(*GetParam());
  if (samples.empty()) GTEST_SKIP() << "of no floats";
  for (const Sample& sample : samples) {
    SCOPED_TRACE(sample.name());
    const GradientTry t(sample);
    auto [out, tangents] = jvp(t.Unique(), t.Placed(t.data), t.Placed(t.directions));
    constexpr double kStep = 1e-6;
    const std::vector<HostTensor> above = PartsOf(t.At(kStep)), below = PartsOf(t.At(-kStep)),
                                  got = PartsOf(ReadAll(tangents));
    for (size_t r = 0; r < got.size() && IsFloating(above[r]); ++r)
      for (int64_t k = 0; k < got[r].size(); ++k) {
        const double want =
            IsStopped(*GetParam()) ? 0 : (above[r].Float(k) - below[r].Float(k)) / (2 * kStep);
        if (!std::isfinite(want)) continue;  // the largest of nothing is -infinity
        any = any || want != 0;
        const double size = std::max({1.0, std::fabs(want), std::fabs(above[r].Float(k)) * 1e-3});
        ASSERT_NEAR(got[r].Float(k), want, 2e-5 * size) << "result " << r << " element " << k;
      }
  }
  EXPECT_EQ(any, !IsFlat(*GetParam()) && !IsStopped(*GetParam()))
      << "some sample has a derivative that is not 0: " << any;
}

// Returns the real part of the sum of products: cotangents of complex numbers are not conjugated.
double Dot(const std::vector<HostTensor>& a, const std::vector<HostTensor>& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i)
    for (int64_t k = 0; k < a[i].size() && IsFloating(a[i]); ++k)
      sum += (a[i].Complex(k) * b[i].Complex(k)).real();
  return sum;
}

TEST_P(Gradients, VjpIsTheAdjointOfJvp) {
  for (const Sample& sample : SmoothSamples(*GetParam())) {
    SCOPED_TRACE(sample.name());
    const GradientTry t(sample);
    auto [out, tangents] = jvp(t.Function(), t.Placed(t.data), t.Placed(t.directions));
    auto [same, pullback] = vjp(t.Function(), t.Placed(t.data));
    EXPECT_THAT(ReadAll(same), AreSameBits(ReadAll(out)));
    const std::vector<HostTensor> cts = Cotangents(ReadAll(out));
    std::vector<Array> ct;
    for (size_t r = 0; r < cts.size(); ++r)
      ct.push_back(Place(cts[r], ir::Type::Get(cts[r].shape, cts[r].dtype)));
    const double forward = Dot(cts, ReadAll(tangents)),
                 backward = Dot(ReadAll(pullback(ct)), t.directions);
    EXPECT_NEAR(forward, backward, 1e-9 * std::max(1.0, std::fabs(forward)));
  }
}

// Compares the derivative of the gradient, of some weighted sum of the results, with
// its differences.
TEST_P(Gradients, OfSecondOrderAreFiniteDifferencesOfTheFirst) {
  for (const Sample& sample : SmoothSamples(*GetParam())) {
    SCOPED_TRACE(sample.name());
    const GradientTry t(sample);
    std::vector<Array> ct;
    for (const HostTensor& c : Cotangents(ReadAll(t.Unique()(t.Placed(t.data)))))
      ct.push_back(Place(c, ir::Type::Get(c.shape, c.dtype)));
    const auto gradient =
        jit([&](const std::vector<Array>& xs) { return vjp(t.Unique(), xs).second(ct); });
    if (HasNoSecond(*GetParam())) {
      EXPECT_THROW(jvp(gradient, t.Placed(t.data), t.Placed(t.directions)), TraceError);
      continue;
    }
    constexpr double kStep = 1e-5;
    const std::vector<HostTensor>
        above = PartsOf(ReadAll(gradient(t.Placed(t.Moved(kStep))))),
        below = PartsOf(ReadAll(gradient(t.Placed(t.Moved(-kStep))))),
        got = PartsOf(ReadAll(jvp(gradient, t.Placed(t.data), t.Placed(t.directions)).second));
    for (size_t r = 0; r < got.size(); ++r)
      for (int64_t k = 0; IsFloating(above[r]) && k < got[r].size(); ++k) {
        const double want = (above[r].Float(k) - below[r].Float(k)) / (2 * kStep);
        if (!std::isfinite(want)) continue;
        const double size = std::max({1.0, std::fabs(want), std::fabs(above[r].Float(k)) * 1e-2});
        ASSERT_NEAR(got[r].Float(k), want, 1e-4 * size) << "operand " << r << " element " << k;
      }
  }
}

// Returns placements in which floats may also be partial sums or reduced. One mesh axis only, as
// there are many.
std::vector<sharding::TensorSharding> SmoothPlacements(const MeshDef* mesh,
                                                       const SampleOperand& o) {
  const bool all = o.dtype.is_inexact() && mesh->axes().size() == 1;
  auto placements = Placements(mesh, o.shape, {.unreduced = all, .reduced = all});
  std::erase_if(placements, [](const sharding::TensorSharding& s) {
    return !s.unreduced.empty() && s.kind != Reduction::kSum;
  });
  return placements;
}

void ExpectClose(const std::vector<Array>& got, const std::vector<HostTensor>& want) {
  for (size_t i = 0; i < got.size(); ++i) {
    if (!IsFloating(want[i])) continue;
    EXPECT_EQ(Difference(ReadBack(got[i]), want[i], {.eps = 1e4, .magnitude = 1}), "")
        << "number " << i;
  }
}

// Compares gradients over Auto axes, for some layouts of the operands.
TEST_P(Gradients, OverAutoAxesAreThoseOfOneDevice) {
  const MeshDef* mesh = MeshOf({2, 2})->WithModes({AxisMode::Auto, AxisMode::Auto});
  for (const Sample& sample : SmoothSamples(*GetParam())) {
    if (!sample.truth) continue;
    GradientTry t(sample);
    const auto both = jit([&](std::vector<Array> xs, std::vector<Array> ts, std::vector<Array> ct) {
      return std::pair(jvp(t.Function(), xs, ts).second, vjp(t.Function(), xs).second(ct));
    });
    std::vector<Array> cts;
    for (const HostTensor& c : Cotangents(ReadAll(t.Function()(t.Placed(t.data)))))
      cts.push_back(Place(c, ir::Type::Get(c.shape, c.dtype)));
    const auto [tangents, gradients] = both(t.Placed(t.data), t.Placed(t.directions), cts);
    const std::vector<HostTensor> want = ReadAll(tangents), want_back = ReadAll(gradients);
    constexpr size_t kTrials = 3;
    for (size_t trial = 0; trial < kTrials; ++trial) {
      t.c.mesh = mesh;
      t.c.operands.clear();
      for (const SampleOperand& o : sample.operands) {
        const auto all = Placements(mesh->WithoutModes(), o.shape);
        t.c.operands.push_back(ir::Type::Get(o.shape, o.dtype, all[(1 + 5 * trial) % all.size()]));
      }
      SCOPED_TRACE(t.c.name());
      std::vector<Array> placed;
      for (const HostTensor& c : Cotangents(want))
        placed.push_back(
            Place(c,
                  ir::Type::Get(
                      c.shape, c.dtype,
                      sharding::Replicated(mesh->WithoutModes(), static_cast<int>(c.shape.size()))),
                  mesh));
      const auto [forward, backward] = both(t.Placed(t.data), t.Placed(t.directions), placed);
      ExpectClose(forward, want);
      ExpectClose(backward, want_back);
    }
  }
}

// Gradients of sharded arguments have the cotangents' types, and the numbers of one device.
TEST_P(Gradients, ShardedEqualsUnsharded) {
  for (const Sample& sample : SmoothSamples(*GetParam())) {
    if (!sample.truth) continue;
    GradientTry t(sample);
    auto [whole, pull_whole] = vjp(t.Function(), t.Placed(t.data));
    const std::vector<HostTensor> cts = Cotangents(ReadAll(whole));
    std::vector<Array> ct;
    for (size_t r = 0; r < cts.size(); ++r)
      ct.push_back(Place(cts[r], ir::Type::Get(cts[r].shape, cts[r].dtype)));
    const std::vector<HostTensor> want = ReadAll(pull_whole(ct));
    const std::vector<HostTensor> tangents =
        ReadAll(jvp(t.Function(), t.Placed(t.data), t.Placed(t.directions)).second);
    for (const MeshDef* mesh : {MeshOf({2}), MeshOf({2, 2})}) {
      std::vector<std::vector<sharding::TensorSharding>> placements;
      std::vector<size_t> counts;
      for (const SampleOperand& o : sample.operands) {
        placements.push_back(SmoothPlacements(mesh, o));
        counts.push_back(placements.back().size());
      }
      ForEachChoice(counts, [&](const std::vector<size_t>& choice) {
        if (HasFatalFailure()) return;
        t.c.mesh = mesh;
        t.c.operands.clear();
        for (size_t i = 0; i < choice.size(); ++i)
          t.c.operands.push_back(ir::Type::Get(sample.operands[i].shape, sample.operands[i].dtype,
                                               placements[i][choice[i]]));
        const std::vector<const ir::Type*> results = ResultTypes(t.c);
        if (results.empty()) return;
        SCOPED_TRACE(t.c.name());
        if (mesh->axes().size() == 1)
          ExpectClose(jvp(t.Function(), t.Placed(t.data), t.Placed(t.directions)).second, tangents);
        auto [out, pullback] = vjp(t.Function(), t.Placed(t.data));
        const auto gradients = jit([&](std::vector<Array> xs, std::vector<Array> given) {
          return vjp(t.Function(), xs).second(given);
        });
        std::vector<Array> placed;
        for (size_t r = 0; r < cts.size(); ++r)
          placed.push_back(Place(cts[r], ops::CotangentType(results[r]), mesh));
        EXPECT_NO_THROW(
            ir::ParseProgram(gradients.trace(t.Placed(t.data), placed).text(), Loc::Unknown()));
        const std::vector<Array> got = pullback(placed);
        for (size_t i = 0; i < got.size(); ++i)
          ASSERT_EQ(got[i].impl()->type()->text(), ops::CotangentType(t.c.operands[i])->text());
        ExpectClose(got, want);
      });
    }
  }
}

// A gradient's program has neither unneeded nor repeated instructions.
TEST_P(Gradients, ComputeNothingTwiceOrInVain) {
  for (const Sample& sample : SmoothSamples(*GetParam())) {
    SCOPED_TRACE(sample.name());
    const GradientTry t(sample);
    const auto gradients = grad([&](std::vector<Array> xs) {
      Array loss = Array(0.0).astype(f64);
      for (const Array& out : t.Function()(xs))
        if (type_of(out).dtype().is_inexact()) loss = loss + sum(real(out));
      return loss;
    });
    ir::Program program =
        ir::ParseProgram(gradients.trace(t.Placed(t.data)).text(), Loc::Unknown());
    const std::string text = ir::Text(program);
    ir::Simplify(program);
    EXPECT_EQ(ir::Text(program), text);
  }
}

INSTANTIATE_TEST_SUITE_P(EveryOp, Gradients, testing::ValuesIn(DifferentiableOps()),
                         [](const auto& op) { return std::string(op.param->name); });

}  // namespace
}  // namespace tessera::suite::gradients_test
