// Random plans against a naive evaluation, for every team. They test lifetimes, reuse of memory,
// aliases and barriers together. ThreadSanitizer checks that the barriers are in the right places.
#include <gmock/gmock.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <random>
#include <vector>

#include "base/ids.h"
#include "fuzz.h"
#include "plans.h"

namespace tessera::runtime {
namespace {

class PlanGenerator {
 public:
  explicit PlanGenerator(uint32_t seed) : rng_(seed), builder_(Devices(rng_)) {
    devices_ = builder_.plan.devices;
    if (devices_ % 2 == 0) {
      builder_.AddLayout(MakeLayout(devices_, devices_ / 2));
      builder_.AddLayout(MakeLayout(devices_, devices_ / 2, true));
    }
    for (int k = 0; k < 4; ++k) AddInput();
    const int nodes = 3 + Below(12);
    for (int k = 0; k < nodes; ++k) {
      if (Below(5) < 3)
        AddSegment();
      else
        AddExchange();
    }
    AddOutputs();
  }

  const plan::Plan& plan() const { return builder_.plan; }
  int32_t Instances(plan::PlanValueId v) const {
    return plan().layouts[plan().values[v].layout].instances;
  }
  const Values& ValueOf(plan::PlanValueId v) const { return values_[v]; }

 private:
  static int32_t Devices(std::mt19937& rng) {
    const int32_t counts[] = {1, 2, 3, 4, 6, 8};
    return counts[rng() % 6];
  }
  int Below(int n) { return static_cast<int>(rng_() % static_cast<uint32_t>(n)); }
  int64_t Bytes() { return Below(2) ? 768 : 96; }  // 192 or 24 elements
  plan::PlanLayoutId AnyLayout() {
    return plan::PlanLayoutId{Below(static_cast<int>(plan().layouts.size()))};
  }

  void AddInput() {
    const auto layout = AnyLayout();
    const auto v = builder_.Input(Bytes(), layout, Below(2));
    Values value(Instances(v));
    for (auto& instance : value) {
      instance.resize(plan().values[v].bytes / 4);
      for (float& x : instance) x = static_cast<float>(Below(100));
    }
    values_.Add(std::move(value));
  }

  // Returns a value of that size, preferably a recent one; kNoPlanValue if there is none.
  plan::PlanValueId Pick(int64_t bytes, std::optional<plan::PlanLayoutId> layout = {}) {
    for (int k = 0; k < 30; ++k) {
      const auto n = static_cast<int>(values_.size());
      const plan::PlanValueId v{Below(3) ? n - 1 - Below(std::min(n, 5)) : Below(n)};
      if (plan().values[v].bytes == bytes && (!layout || plan().values[v].layout == layout)) {
        return v;
      }
    }
    return plan::kNoPlanValue;
  }

  void AddSegment() {
    builder_.Segment();
    const int steps = 1 + Below(5);
    for (int k = 0; k < steps; ++k) {
      const int64_t bytes = Bytes();
      const auto layout = AnyLayout();
      const auto a = Pick(bytes, Below(3) ? std::optional(layout) : std::nullopt), b = Pick(bytes);
      if (a == plan::kNoPlanValue) continue;
      const bool two = b != plan::kNoPlanValue && Below(2);
      std::vector<plan::PlanValueId> in = {a};
      if (two) in.push_back(b);
      if (TheTransport() && !std::all_of(in.begin(), in.end(), [&](plan::PlanValueId v) {
            return HasOneInstanceFor(layout, v);
          }))
        continue;
      builder_.Apply(two ? MulAdd : AddValue, in, 0.5f, bytes, layout, Below(4));
      values_.Add(Evaluate(two, in, layout));
    }
  }

  // Whether devices that share an instance of the layout share one of the value. Several processes
  // compute copies of such an instance, each from its own.
  bool HasOneInstanceFor(plan::PlanLayoutId layout, plan::PlanValueId v) const {
    const plan::Layout &shared = plan().layouts[layout],
                       &of_value = plan().layouts[plan().values[v].layout];
    for (int32_t d = 0; d < devices_; ++d) {
      const int32_t first = shared.device_of_instance[shared.instance_of_device[d]];
      if (of_value.instance_of_device[d] != of_value.instance_of_device[first]) return false;
    }
    return true;
  }

  Values Evaluate(bool two, const std::vector<plan::PlanValueId>& in,
                  plan::PlanLayoutId layout) const {
    Values out;
    for (int32_t device : plan().layouts[layout].device_of_instance) {
      const std::vector<float>& a = At(in[0], device);
      out.push_back(a);
      for (size_t i = 0; i < a.size(); ++i) {
        out.back()[i] = two ? a[i] * 0.5f + At(in[1], device)[i] : a[i] + 0.5f;
      }
    }
    return out;
  }

  const std::vector<float>& At(plan::PlanValueId v, int32_t device) const {
    const plan::Layout& layout = plan().layouts[plan().values[v].layout];
    return values_[v][layout.instance_of_device[device]];
  }

  void AddExchange() {
    const int64_t bytes = Bytes();
    const auto in = Pick(bytes, kPerDevice);
    if (in == plan::kNoPlanValue) return;
    const int64_t n = bytes / 4;
    const int32_t d = devices_;
    std::vector<int32_t> order(d);
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), rng_);
    switch (Below(7)) {
      case 0:
        return Add(AllReduce(d, 1, f32, n), in, bytes, kShared);
      case 6:
        return Together(in, bytes);
      case 1:
        return Add(AllReduce(d, d, f32, n), in, bytes, kPerDevice);
      case 2:
        return Add(AllToAll(d, f32, 24 / d, n / 24), in, bytes, kPerDevice);
      case 3:
        return Add(Permute(f32, n, order), in, bytes, kPerDevice);
      case 4:
        order[0] = -1;
        return Add(Permute(f32, n, order), in, bytes, kPerDevice);
      default:
        return Slice(in, n);
    }
  }

  // Gathers, then gives each device a part of the whole, of the size that it had.
  void Slice(plan::PlanValueId in, int64_t n) {
    const int32_t d = devices_;
    Add(AllGather(d, 1, f32, 1, n, 0), in, n * 4 * d, kShared);
    plan::Exchange slice = Dense(f32, n);
    for (int32_t i = 0; i < d; ++i) slice.pieces.push_back({{0, ((i + 1) % d) * n, 0}});
    Add(slice, values_.ids().back(), n * 4, kPerDevice);
  }

  // Adds up to four reductions that run as one, over values that exist already.
  void Together(plan::PlanValueId in, int64_t bytes) {
    const auto first = values_.next_id();
    const int more = Below(4);
    for (int k = 0; k <= more && in < first; ++k, in = Pick(bytes = Bytes(), kPerDevice)) {
      if (in == plan::kNoPlanValue) return;
      plan::Exchange reduce = AllReduce(devices_, k % 2 == 0 ? 1 : devices_, f32, bytes / 4);
      reduce.joined = k > 0;
      Add(reduce, in, bytes, k % 2 == 0 ? kShared : kPerDevice);
    }
  }

  void Add(const plan::Exchange& exchange, plan::PlanValueId in, int64_t bytes,
           plan::PlanLayoutId layout) {
    builder_.AddExchange(exchange, in, bytes, layout);
    values_.Add(NaiveExchange(exchange, values_[in], bytes));
  }

  void AddOutputs() {
    builder_.Output(values_.ids().back());
    const int more = Below(5);
    for (int k = 0; k < more; ++k)
      builder_.Output(plan::PlanValueId{Below(static_cast<int>(values_.size()))});
  }

  std::mt19937 rng_;
  PlanBuilder builder_;
  int32_t devices_ = 1;
  base::IdVector<plan::PlanValueId, Values> values_;
};

void Check(const PlanGenerator& g, const SharedPlan& shared, const Executable& executable,
           bool keep) {
  const auto here = [&](plan::PlanValueId v) { return shared.Here(g.plan(), v, g.ValueOf(v)); };
  const int64_t live = LiveBytes();
  {
    std::vector<Buffers> inputs, kept;
    for (const auto& [v, donated] : g.plan().inputs) {
      inputs.push_back(MakeBuffers(here(v), g.plan().values[v].bytes));
      if (keep) kept.push_back(inputs.back());
    }
    const std::vector<Buffers> out = RunPlan(executable, std::move(inputs));
    for (size_t k = 0; k < out.size(); ++k) {
      const auto v = g.plan().outputs[k];
      const Values want = here(v);
      ASSERT_EQ(Read(out[k], static_cast<int32_t>(want.size())), want) << "output " << k;
    }
    for (size_t k = 0; k < kept.size(); ++k) {
      const auto v = g.plan().inputs[k].value;
      const Values want = here(v);
      ASSERT_EQ(Read(kept[k], static_cast<int32_t>(want.size())), want) << "input " << k;
    }
  }
  ASSERT_EQ(LiveBytes(), live);
}

TEST(RandomPlans, EqualANaiveEvaluation) {
  for (uint32_t seed = 0; seed < FuzzCount(150); ++seed) {
    const PlanGenerator g(seed);
    // Sums of whole numbers have the same bits in any order.
    const SharedPlan shared(g.plan(), /*keeps_order=*/seed % 2 == 0);
    const auto executable = Prepare(shared.plan);
    for (const TeamCase& t : kTeams) {
      const Team team(t);
      for (bool keep : {true, false}) {
        SCOPED_TRACE("seed " + std::to_string(seed) + ", " + Name(t) + (keep ? ", kept" : ""));
        Check(g, shared, *executable, keep);
        if (testing::Test::HasFatalFailure()) return;
      }
    }
  }
}

}  // namespace
}  // namespace tessera::runtime
