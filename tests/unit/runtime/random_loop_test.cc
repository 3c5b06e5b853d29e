// Random nested loops against a naive evaluation, for every team. Carries are computed, in place or
// not, and permuted over devices, in whole or in part.
#include <gmock/gmock.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "base/ids.h"
#include "fuzz.h"
#include "plans.h"
#include "runtime/executable.h"

namespace tessera::runtime {
namespace {

constexpr int32_t kLoopDevices = 4;
constexpr int64_t kRandomBytes = 128, kElements = kRandomBytes / 4;

class LoopGenerator {
 public:
  explicit LoopGenerator(uint32_t seed) : deep_(seed % 4 == 0), rng_(seed) {
    for (int k = 0; k < 2; ++k) known_.push_back(b.Input(kRandomBytes, kPerDevice, Below(2) == 0));
    AddNodes(3, kDepth);
    AddLoop(deep_ ? 5 : kDepth - 1);
    for (int k = 0; k < 4; ++k) b.Output(Any());
  }

  PlanBuilder b{kLoopDevices};

 private:
  static constexpr int kDepth = 2;

  int Below(int n) { return static_cast<int>(rng_() % static_cast<uint32_t>(n)); }
  // Prefers recent values.
  plan::PlanValueId Any() {
    const auto n = static_cast<int>(known_.size());
    return known_[Below(4) == 0 ? Below(n) : n - 1 - Below(std::min(n, 3))];
  }

  void AddNodes(int count, int depth) {
    for (int k = 0; k < count; ++k) {
      const int kind = Below(6);
      if (kind == 0 && depth > 0)
        AddLoop(depth - 1);
      else
        known_.push_back(Make(kind < 3));
    }
  }

  plan::PlanValueId Make(bool exchange) {
    if (exchange) return b.AddExchange(AnyPermutation(), Any(), kRandomBytes, kPerDevice);
    b.Segment();
    const bool two = Below(3) == 0;
    std::vector<plan::PlanValueId> in = {Any()};
    if (two) in.push_back(Any());
    const auto made =
        b.Apply(two ? MulAdd : AddValue, in, 0.25f, kRandomBytes, kPerDevice, Below(4));
    if (Below(4) == 0) b.LastStep().kernel.run_seconds = 1e-6;  // devices may take different times
    return made;
  }

  plan::Exchange AnyPermutation() {
    std::vector<int32_t> sources(kLoopDevices);
    std::iota(sources.begin(), sources.end(), 0);
    std::shuffle(sources.begin(), sources.end(), rng_);
    if (Below(3) == 0) sources[static_cast<size_t>(Below(kLoopDevices))] = -1;
    return Permute(f32, kElements, sources);
  }

  void AddLoop(int depth) {
    plan::Loop loop;
    loop.trips = Below(deep_ ? 3 : 5);
    const auto outside = known_;
    const int carries = 1 + Below(2);
    b.Segment();
    std::vector<plan::PlanValueId> values;
    for (int k = 0; k < carries; ++k)
      values.push_back(b.Apply(AddValue, {Any()}, 0, kRandomBytes, kPerDevice, Below(2)));
    known_.insert(known_.end(), values.begin(), values.end());
    std::vector<plan::Node> outer = std::exchange(b.plan.nodes, {});
    AddNodes(1 + Below(deep_ ? 2 : 4), std::min(depth, kDepth));
    if (depth >= kDepth) AddLoop(depth - 1);
    for (auto value : values) loop.carries.push_back({value, Make(Below(2) == 0)});
    loop.body = std::exchange(b.plan.nodes, std::move(outer));
    b.plan.nodes.emplace_back(std::move(loop));
    known_ = outside;
    known_.insert(known_.end(), values.begin(), values.end());
  }

  bool deep_;  // loops nested deeper than the assigner walks repeatedly for barriers
  std::mt19937 rng_;
  std::vector<plan::PlanValueId> known_;
};

using PlanValues = base::IdVector<plan::PlanValueId, Values>;

// Evaluates nodes one by one, with each value in memory of its own.
void Evaluate(const std::vector<plan::Node>& nodes, PlanValues& values) {
  for (const plan::Node& node : nodes) {
    if (const auto* segment = std::get_if<plan::Segment>(&node)) {
      for (const plan::Step& step : segment->steps) {
        Values out(kLoopDevices, std::vector<float>(kElements));
        for (int32_t d = 0; d < kLoopDevices; ++d) {
          std::vector<const std::byte*> in;
          for (auto v : step.in)
            in.push_back(reinterpret_cast<const std::byte*>(values[v][d].data()));
          auto* to = reinterpret_cast<std::byte*>(out[d].data());
          step.kernel.fn({step.kernel.config.get(), in.data(), &to, nullptr, d, 0, 1});
        }
        values[step.out[0]] = out;
      }
    } else if (const auto* exchange = std::get_if<plan::Exchange>(&node)) {
      values[exchange->out] = NaiveExchange(*exchange, values[exchange->in[0]], kRandomBytes);
    } else {
      const auto& loop = std::get<plan::Loop>(node);
      for (int64_t i = 0; i < loop.trips; ++i) {
        Evaluate(loop.body, values);
        for (const plan::Carry& carry : loop.carries) values[carry.value] = values[carry.next];
      }
    }
  }
}

TEST(RandomLoops, EqualANaiveEvaluation) {
  for (uint32_t seed = 0; seed < FuzzCount(250); ++seed) {
    const LoopGenerator g(seed);
    const plan::Plan& plan = g.b.plan;
    PlanValues values(plan.values.size());
    for (size_t k = 0; k < 2; ++k)
      values[plan.inputs[k].value] =
          Read(MakeInput(kRandomBytes, kLoopDevices, static_cast<int32_t>(k)), kLoopDevices);
    const PlanValues inputs = values;
    Evaluate(plan.nodes, values);
    const SharedPlan shared(plan, /*keeps_order=*/seed % 2 == 0);
    const auto here = [&](Values all) { return shared.Here(plan, plan.inputs[0].value, all); };
    const auto executable = Prepare(shared.plan);
    for (const TeamCase& t : kTeams) {
      SCOPED_TRACE("seed " + std::to_string(seed) + ", " + Name(t));
      const Team team(t);
      std::vector<Buffers> in;
      for (size_t k = 0; k < 2; ++k)
        in.push_back(MakeBuffers(here(inputs[plan.inputs[k].value]), kRandomBytes));
      const auto out = RunPlan(*executable, std::move(in));
      for (size_t k = 0; k < out.size(); ++k) {
        const Values want = here(values[plan.outputs[k]]);
        ASSERT_EQ(Read(out[k], static_cast<int32_t>(want.size())), want) << "output " << k;
      }
    }
  }
}

// A carried value that moves around a ring is never copied, whatever is computed from it.
TEST(RandomLoops, ARingCopiesNothing) {
  for (bool partial : {false, true}) {
    PlanBuilder b(kLoopDevices);
    const auto in = b.Input(kRandomBytes, kPerDevice);
    b.Segment();
    const auto value = b.Apply(AddValue, {in}, 1, kRandomBytes, kPerDevice);
    plan::Loop loop;
    loop.trips = 3;
    std::vector<plan::Node> outer = std::exchange(b.plan.nodes, {});
    const std::vector<int32_t> sources = {partial ? -1 : 3, 0, 1, 2};
    loop.carries = {
        {value, b.AddExchange(Permute(f32, kElements, sources), value, kRandomBytes, kPerDevice)}};
    loop.body = std::exchange(b.plan.nodes, std::move(outer));
    b.plan.nodes.emplace_back(std::move(loop));
    b.Output(value);
    const auto executable = Prepare(b.plan);
    EXPECT_EQ(executable->peak_bytes, kRandomBytes);
    const Buffers out = RunPlan(*executable, {MakeInput(kRandomBytes, kLoopDevices)})[0];
    const Values before = Read(MakeInput(kRandomBytes, kLoopDevices), kLoopDevices),
                 after = Read(out, kLoopDevices);
    for (int32_t d = 0; d < kLoopDevices; ++d) {
      const float want = before[(d + 1) % kLoopDevices][3] + 1;
      EXPECT_EQ(after[d][3], partial && d < 3 ? 0 : want) << partial << d;
    }
  }
}

}  // namespace
}  // namespace tessera::runtime
