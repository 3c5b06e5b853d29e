// Schedules: numbers that depend on the steps done.
#include <fmt/format.h>

#include <cmath>
#include <numbers>

#include "api/core/located.h"
#include "base/dtype.h"
#include "tessera/optimisers.h"

namespace tessera {

using namespace api;

RateSchedule::RateSchedule(Array value) : f_([value = std::move(value)](Array) { return value; }) {}

Array RateSchedule::operator()(Operand step, Loc loc) const {
  const Call call{"RateSchedule", loc};
  if (number_) return StrongScalar(*number_, base::DefaultFloat(), call);
  const Array made = f_(ToArray(step, call));
  if (!ShapeOf(made).empty() || !TypeOf(made)->dtype().is_floating())
    FailShape(call, 18,
              fmt::format("a schedule returns a floating scalar, not {}", TypeOf(made)->text()));
  return made;
}

namespace {

// C17: throw ShapeError.
void CheckFinite(const char* name, double number, Call call) {
  if (!std::isfinite(number))
    FailShape(call, 17, fmt::format("{} is {}, not a finite number", name, number));
}
void CheckSteps(const char* name, int64_t steps, int64_t least, Call call) {
  if (steps < least)
    FailShape(call, 17,
              fmt::format("{} is {}, but at least {} step{} needed", name, steps, least,
                          least == 1 ? " is" : "s are"));
}

// Returns a schedule of a formula of the step in the default float.
template <class F>
RateSchedule OfStep(Loc loc, F f) {
  return RateSchedule([=](Array step) -> Array {
    return f(Located(Convert(step, base::DefaultFloat(), {"RateSchedule", loc}), loc));
  });
}

Located Power(const Located& x, double exponent) {
  return exponent == 1 ? x : x.With(pow(x, Operand(exponent, x.loc()), {}, x.loc()));
}

RateSchedule Polynomial(double init, double end, double power, int64_t steps, int64_t begin,
                        Call call) {
  CheckFinite("init_value", init, call);
  CheckFinite("end_value", end, call);
  CheckSteps("transition_steps", steps, 1, call);
  CheckSteps("transition_begin", begin, 0, call);
  return OfStep(call.loc, [=](const Located& step) {
    const Located done = step.With(
        clip(step - begin, Operand(0, step.loc()), Operand(steps, step.loc()), step.loc()));
    return (init - end) * Power(1 - done / steps, power) + end;
  });
}

RateSchedule Cosine(double init, int64_t steps, CosineDecayOptions o, Call call) {
  CheckFinite("init_value", init, call);
  CheckFinite("alpha", o.alpha, call);
  CheckSteps("decay_steps", steps, 1, call);
  return OfStep(call.loc, [=](const Located& step) {
    const Located done = If(step < steps, step, static_cast<double>(steps));
    const Located wave = 0.5 * (1 + Cos(std::numbers::pi * done / steps));
    return init * ((1 - o.alpha) * Power(wave, o.exponent) + o.alpha);
  });
}

RateSchedule Joined(std::vector<RateSchedule> parts, std::vector<int64_t> boundaries, Call call) {
  if (parts.empty() || boundaries.size() + 1 != parts.size())
    FailShape(call, 17,
              fmt::format("{} schedules have {} boundaries between them, not {}", parts.size(),
                          std::max<size_t>(parts.size(), 1) - 1, boundaries.size()));
  return RateSchedule([=](Array at) -> Array {
    const Located step(at, call.loc);
    Located value(parts[0](step, call.loc), call.loc);
    for (size_t i = 0; i < boundaries.size(); ++i)
      value = If(step < boundaries[i], value,
                 Located(parts[i + 1](step - boundaries[i], call.loc), call.loc));
    return value;
  });
}

}  // namespace

namespace schedules {

RateSchedule constant(double value) { return value; }

RateSchedule linear(double init_value, double end_value, int64_t transition_steps,
                    int64_t transition_begin, Loc loc) {
  return Polynomial(init_value, end_value, 1, transition_steps, transition_begin,
                    {"schedules::linear", loc});
}
RateSchedule polynomial(double init_value, double end_value, double power, int64_t transition_steps,
                        int64_t transition_begin, Loc loc) {
  return Polynomial(init_value, end_value, power, transition_steps, transition_begin,
                    {"schedules::polynomial", loc});
}

RateSchedule piecewise_constant(double init_value, std::map<int64_t, double> scales, Loc loc) {
  const Call call{"schedules::piecewise_constant", loc};
  CheckFinite("init_value", init_value, call);
  for (const auto& [boundary, scale] : scales)
    if (!(scale >= 0 && std::isfinite(scale)))
      FailShape(call, 17,
                fmt::format("the scale at step {} is {}, not a finite number of at least 0",
                            boundary, scale));
  return RateSchedule([=](Array at) -> Array {
    const Located step(at, loc);
    Located value(StrongScalar(init_value, base::DefaultFloat(), call), loc);
    for (const auto& [boundary, scale] : scales) value = If(step < boundary, value, scale * value);
    return value;
  });
}

RateSchedule exponential_decay(double init_value, int64_t transition_steps, double decay_rate,
                               ExponentialDecayOptions options, Loc loc) {
  const Call call{"schedules::exponential_decay", loc};
  CheckFinite("init_value", init_value, call);
  CheckSteps("transition_steps", transition_steps, 1, call);
  CheckSteps("transition_begin", options.transition_begin, 0, call);
  if (!(decay_rate > 0 && std::isfinite(decay_rate)))
    FailShape(call, 17, fmt::format("decay_rate is {}, not a finite positive number", decay_rate));
  return OfStep(loc, [=](const Located& step) {
    const Located since = step - options.transition_begin;
    const Located periods = since / transition_steps;
    const Located power = options.staircase ? Floor(periods) : periods;
    const Located value = If(since <= 0, init_value,
                             init_value * step.With(pow(Operand(decay_rate, loc), power, {}, loc)));
    if (!options.end_value) return value;
    const Operand end(*options.end_value, loc);
    return step.With(decay_rate < 1 ? maximum(value, end, {}, loc) : minimum(value, end, {}, loc));
  });
}

RateSchedule cosine_decay(double init_value, int64_t decay_steps, CosineDecayOptions options,
                          Loc loc) {
  return Cosine(init_value, decay_steps, options, {"schedules::cosine_decay", loc});
}

RateSchedule warmup_cosine_decay(double init_value, double peak_value, int64_t warmup_steps,
                                 int64_t decay_steps, WarmupCosineOptions options, Loc loc) {
  const Call call{"schedules::warmup_cosine_decay", loc};
  CheckFinite("end_value", options.end_value, call);
  CheckSteps("decay_steps", decay_steps, warmup_steps + 1, call);
  const double alpha = peak_value == 0 ? 0 : options.end_value / peak_value;
  const RateSchedule rise = Polynomial(init_value, peak_value, 1, warmup_steps, 0, call);
  const RateSchedule fall = Cosine(peak_value, decay_steps - warmup_steps,
                                   {.alpha = alpha, .exponent = options.exponent}, call);
  return Joined({rise, fall}, {warmup_steps}, call);
}

RateSchedule join(std::vector<RateSchedule> parts, std::vector<int64_t> boundaries, Loc loc) {
  return Joined(std::move(parts), std::move(boundaries), {"schedules::join", loc});
}

}  // namespace schedules
}  // namespace tessera
