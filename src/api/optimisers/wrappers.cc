// Optimisers of optimisers: micro-steps, shards, and steps that are skipped.
#include <fmt/format.h>

#include "api/core/specs.h"
#include "api/optimisers/optimiser.h"
#include "base/error.h"

namespace tessera {

using namespace api;
using detail::GradientTransformation;

namespace {

constexpr char kMicroSteps[] = "micro_steps", kLossScale[] = "loss_scale", kScale[] = "scale";

// A step of an optimiser that may be left out.
class StepIf {
 public:
  StepIf(const Optimiser& optimiser, const Parameters& params, const Slots& slots)
      : slots_(slots), before_(slots.state()), step_(BeginChain(optimiser, params, slots)) {}
  // Does the step if `go`; else the updates are 0, and the state is as before.
  void operator()(const Located& go, std::vector<Array>& updates) const {
    step_(updates);
    for (Array& u : updates) u = If(go, Located(u, go.loc()), 0.0);
    for (auto& [name, x] : slots_.state()) {
      if (!name.starts_with(slots_.prefix())) continue;
      const Array& old = before_.at(name);
      if (x.impl() != old.impl()) x = If(go, Located(x, go.loc()), Located(old, go.loc()));
    }
  }

 private:
  Slots slots_;
  OptimiserState before_;
  ArraysStep step_;
};

GradientTransformation MicroSteps(const Optimiser& inner, int64_t k, MultiStepsOptions o) {
  const auto init = [=](const Parameters& params, const Slots& slots) {
    slots.Add("step", StrongScalar(0, i32, params.call));
    slots.Add("gradients", params, ZerosLike(params, o.accumulator_dtype));
    InitChain(inner, params, slots.Inner());
  };
  const auto begin = [=](const Parameters& params, const Slots& slots) -> ArraysStep {
    const Located step = slots.Get("step"), is_last = step == k - 1;
    const StepIf inner_step(inner, params, slots.Inner());
    return [=](std::vector<Array>& updates) {
      std::vector<Located> sums;
      for (size_t i = 0; i < updates.size(); ++i) {
        const Located g(updates[i], params.call.loc), sum = slots.Get("gradients", params, i);
        const Located own = sum.With(Convert(step + 1, sum.dtype(), params.call));
        sums.push_back(o.use_grad_mean ? sum + (g - sum) / own : g + sum);
        updates[i] = Convert(sums[i], g.dtype(), params.call);
      }
      inner_step(is_last, updates);
      slots.Set("step", If(is_last, 0, step + 1));
      for (size_t i = 0; i < sums.size(); ++i)
        slots.Set("gradients", params, i, If(is_last, 0.0, sums[i]));
    };
  };
  return {.name = kMicroSteps, .init = init, .begin = begin, .counts_steps = false};
}

// Returns the arrays resharded to the specs.
std::vector<Array> Resharded(const std::vector<Array>& xs, const std::vector<PartitionSpec>& specs,
                             Loc loc) {
  std::vector<Array> moved;
  for (size_t i = 0; i < xs.size(); ++i)
    moved.push_back(reshard(Operand(xs[i], loc), specs[i], loc));
  return moved;
}

GradientTransformation Sharded(const Optimiser& inner, const Specs& specs) {
  const auto on_shards = [specs](const Parameters& params) {
    return params.With(
        Resharded(params.arrays,
                  LeavesFor(specs, params.tree, {.option = "specs", .tree = "params"}, params.call),
                  params.call.loc));
  };
  const auto init = [=](const Parameters& params, const Slots& slots) {
    InitChain(inner, on_shards(params), slots.Inner());
  };
  const auto begin = [=](const Parameters& params, const Slots& slots) -> ArraysStep {
    const Parameters shards = on_shards(params);
    const ArraysStep step = BeginChain(inner, shards, slots.Inner());
    return [=](std::vector<Array>& updates) {
      std::vector<PartitionSpec> there, back;
      for (size_t i = 0; i < params.count(); ++i) {
        there.push_back(type_of(shards.arrays[i]).spec());
        back.push_back(type_of(params.arrays[i]).spec());
      }
      updates = Resharded(updates, there, params.call.loc);
      step(updates);
      updates = Resharded(updates, back, params.call.loc);
    };
  };
  return {.name = "sharded", .init = init, .begin = begin, .reshards = true, .counts_steps = false};
}

GradientTransformation LossScale(const Optimiser& inner, LossScaleOptions o) {
  const auto init = [=](const Parameters& params, const Slots& slots) {
    slots.Add(kScale, StrongScalar(o.initial, f32, params.call));
    slots.Add("good_steps", StrongScalar(0, i32, params.call));
    InitChain(inner, params, slots.Inner());
  };
  const auto begin = [=](const Parameters& params, const Slots& slots) -> ArraysStep {
    const Located scale = slots.Get(kScale), good = slots.Get("good_steps") + 1;
    const StepIf inner_step(inner, params, slots.Inner());
    return [=](std::vector<Array>& updates) {
      for (Array& u : updates) {
        const Located wide(u, params.call.loc);
        u = (wide.dtype().size() < 4 ? wide.With(Convert(wide, f32, params.call)) : wide) / scale;
      }
      const Located finite = AllFinite(updates, o.axes, params.call), grows = good == o.period;
      inner_step(finite, updates);
      const Located smaller = scale / o.factor, larger = scale * o.factor;
      slots.Set(kScale, If(finite, If(grows & AllFinite({larger}, {}, params.call), larger, scale),
                           If(smaller < o.min_scale, o.min_scale, smaller)));
      slots.Set("good_steps", If(finite & !grows, good, 0));
    };
  };
  return {.name = kLossScale, .init = init, .begin = begin, .counts_steps = false};
}

}  // namespace

Optimiser multi_steps(Optimiser optimiser, int64_t k, MultiStepsOptions options, Loc loc) {
  const Call call{"multi_steps", loc};
  if (k < 1) FailShape(call, 17, fmt::format("{} micro-steps are not a positive number", k));
  return OfParts({MicroSteps(optimiser, k, options)});
}

Optimiser sharded(Optimiser optimiser, Specs specs) { return OfParts({Sharded(optimiser, specs)}); }

Optimiser dynamic_loss_scale(Optimiser optimiser, LossScaleOptions options, Loc loc) {
  const Call call{"dynamic_loss_scale", loc};
  CheckPositive("initial", options.initial, call);
  CheckPositive("min_scale", options.min_scale, call);
  CheckPositive("period", static_cast<double>(options.period), call);
  if (!(options.factor > 1))
    FailShape(call, 17, fmt::format("factor is {}, not more than 1", options.factor));
  return OfParts({LossScale(optimiser, options)});
}

Array loss_scale(const OptimiserState& state, Loc loc) {
  const auto found = state.find(fmt::format("{}.{}", kLossScale, kScale));
  if (found == state.end())
    FailTrace({"loss_scale", loc}, 2, "the state has no loss scale",
              {"make the state by an optimiser of dynamic_loss_scale"});
  return found->second;
}

}  // namespace tessera
