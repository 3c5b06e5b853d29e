// The transformations that optimisers are chains of.
#include <fmt/format.h>

#include "api/optimisers/optimiser.h"
#include "base/at.h"

namespace tessera {

using namespace api;
using detail::GradientTransformation;

namespace {

void CheckAdam(const AdamOptions& o, Call call) {
  CheckBeta("b1", o.b1, call);
  CheckBeta("b2", o.b2, call);
  CheckNotNegative("eps", o.eps, call);
  CheckNotNegative("eps_root", o.eps_root, call);
}

GradientTransformation Adam(AdamOptions o) {
  const auto init = [o](const Parameters& params, const Slots& slots) {
    slots.Add("mu", params, FullLike(params, o.mu_dtype));
    slots.Add("nu", params, FullLike(params, o.nu_dtype));
  };
  const auto begin = [o](const Parameters& params, const Slots& slots) {
    const Located count = Incremented(slots.count());
    const Debias mu_debias(o.b1, count), nu_debias(o.b2, count),
        next_debias(o.b1, o.nesterov ? Incremented(count) : count);
    return ForEach(params, [=](const Located& g, size_t i) -> Array {
      const Located mu = Average(g, slots.Get("mu", params, i), o.b1);
      const Located nu = Average(Square(g), slots.Get("nu", params, i), o.b2);
      slots.Set("mu", params, i, mu);
      slots.Set("nu", params, i, nu);
      const Located ahead =
          o.nesterov ? o.b1 * next_debias(mu) + (1 - o.b1) * mu_debias(g) : mu_debias(mu);
      return ahead / (Sqrt(nu_debias(nu) + o.eps_root) + o.eps);
    });
  };
  return {.name = "adam", .init = init, .begin = begin};
}

GradientTransformation Lion(LionOptions o) {
  const auto init = [o](const Parameters& params, const Slots& slots) {
    slots.Add("mu", params, FullLike(params, o.mu_dtype));
  };
  const auto begin = [o](const Parameters& params, const Slots& slots) {
    return ForEach(params, [=](const Located& g, size_t i) -> Array {
      const Located mu = slots.Get("mu", params, i);
      slots.Set("mu", params, i, Average(g, mu, o.b2));
      return Sign(Average(g, mu, o.b1));
    });
  };
  return {.name = "lion", .init = init, .begin = begin, .counts_steps = false};
}

// Divides by the root of the mean square, or by the standard deviation.
GradientTransformation Rms(RmspropOptions o) {
  const auto init = [o](const Parameters& params, const Slots& slots) {
    if (o.centered) slots.Add("mu", params, FullLike(params, o.mu_dtype));
    slots.Add("nu", params, FullLike(params, o.nu_dtype, o.initial_scale));
  };
  const auto begin = [o](const Parameters& params, const Slots& slots) {
    std::optional<Debias> debias;
    if (o.bias_correction) debias.emplace(o.decay, Incremented(slots.count()));
    const auto debiased = [=](const Located& x) { return debias ? (*debias)(x) : x; };
    return ForEach(params, [=](const Located& g, size_t i) -> Array {
      const Located nu = Average(Square(g), slots.Get("nu", params, i), o.decay);
      slots.Set("nu", params, i, nu);
      Located spread = debiased(nu);
      if (o.centered) {
        const Located mu = Average(g, slots.Get("mu", params, i), o.decay);
        slots.Set("mu", params, i, mu);
        spread = spread - Square(debiased(mu));
        spread = If(spread < 0, 0.0, spread);  // rounded, where all gradients are equal
      }
      return (o.eps_in_sqrt ? Rsqrt(spread + o.eps) : 1.0 / (Sqrt(spread) + o.eps)) * g;
    });
  };
  return {.name = "rms", .init = init, .begin = begin, .counts_steps = o.bias_correction};
}

GradientTransformation Trace(double decay, bool nesterov, DType dtype) {
  const auto init = [=](const Parameters& params, const Slots& slots) {
    slots.Add("trace", params, FullLike(params, dtype));
  };
  const auto begin = [=](const Parameters& params, const Slots& slots) {
    return ForEach(params, [=](const Located& g, size_t i) -> Array {
      const Located next = g + decay * slots.Get("trace", params, i);
      slots.Set("trace", params, i, next);
      return nesterov ? g + decay * next : next;
    });
  };
  return {.name = "momentum", .init = init, .begin = begin, .counts_steps = false};
}

GradientTransformation MovingAverage(double decay, EmaOptions o) {
  const auto init = [=](const Parameters& params, const Slots& slots) {
    slots.Add("mean", params, FullLike(params, o.accumulator_dtype));
  };
  const auto begin = [=](const Parameters& params, const Slots& slots) {
    std::optional<Debias> debias;
    if (o.debias) debias.emplace(decay, Incremented(slots.count()));
    return ForEach(params, [=](const Located& g, size_t i) -> Array {
      const Located mean = Average(g, slots.Get("mean", params, i), decay);
      slots.Set("mean", params, i, mean);
      return debias ? (*debias)(mean) : mean;
    });
  };
  return {.name = "ema", .init = init, .begin = begin, .counts_steps = o.debias};
}

// Returns the number of a schedule after the steps done, or nullopt if it is always the same.
std::optional<Located> NumberNow(const RateSchedule& rate, const Slots& slots, Loc loc) {
  if (rate.number()) return std::nullopt;
  return Located(rate(slots.count(), loc), loc);
}
// Returns number * x, in the dtype of x.
Located Times(const std::optional<Located>& number, const RateSchedule& rate, const Located& x) {
  return number ? x.With(Convert(*number, x.dtype(), {"update", x.loc()})) * x : *rate.number() * x;
}

// Multiplies by sign * rate.
GradientTransformation ScaleBy(const RateSchedule& rate, double sign) {
  const auto begin = [=](const Parameters& params, const Slots& slots) {
    const std::optional<Located> now = NumberNow(rate, slots, params.call.loc);
    return ForEach(params, [=](const Located& u, size_t) -> Array {
      return now ? sign * Times(now, rate, u) : sign * *rate.number() * u;
    });
  };
  return {.name = "rate", .begin = begin, .counts_steps = !rate.number()};
}

GradientTransformation AddDecayed(const RateSchedule& decay, const ParameterMask& mask) {
  const auto begin = [=](const Parameters& params, const Slots& slots) {
    const std::optional<Located> now = NumberNow(decay, slots, params.call.loc);
    return ForEach(params, [=](const Located& u, size_t i) -> Array {
      if (mask && !mask(params.names[i], params.arrays[i])) return u;
      return u + Times(now, decay, Wide(params.at(i)));
    });
  };
  return {.name = "decay", .begin = begin, .counts_steps = !decay.number()};
}

GradientTransformation ClipByGlobalNorm(double most, AxisSet axes) {
  const auto begin = [=](const Parameters& params, const Slots&) -> ArraysStep {
    return [=](std::vector<Array>& updates) {
      std::optional<Located> squares;
      for (const Array& x : updates) {
        const Located own = SumOfSquares({x, params.call.loc}, axes);
        squares = squares ? *squares + own : own;
      }
      if (!squares) return;
      const Located norm = Sqrt(*squares), is_small = norm < most;
      for (Array& x : updates) {
        const Located u = Wide(Located(x, params.call.loc));
        x = If(is_small, u, u / u.With(Convert(norm, u.dtype(), params.call)) * most);
      }
    };
  };
  return {.name = "clip", .begin = begin, .counts_steps = false};
}

Located MeanSquare(const Located& x) { return x.With(mean(Square(x), All, {}, x.loc())); }

GradientTransformation ClipByBlockRms(double threshold) {
  return Stateless("clip", [threshold](const Located& u, const Located&) {
    const Located over = Sqrt(MeanSquare(u)) / threshold;
    return u / u.With(maximum(Operand(1.0, u.loc()), over, {}, u.loc()));
  });
}

GradientTransformation ScaleByBlockRms() {
  return Stateless("block_rms", [](const Located& u, const Located& p) {
    constexpr double kLeast = 1e-3;
    const Located rms = Sqrt(MeanSquare(p));
    return u * If(rms <= kLeast, kLeast, rms);
  });
}

GradientTransformation TrustRatio(AxisSet axes) {
  return Stateless("trust_ratio", [axes](const Located& u, const Located& p) {
    const auto norm_of = [&](const Located& x) {
      return x.With(Convert(Sqrt(SumOfSquares(x, axes)), p.dtype(), {"update", x.loc()}));
    };
    const Located of_p = norm_of(p), of_u = norm_of(u);
    return u * If((of_p == 0) | (of_u == 0), 1.0, of_p / of_u);
  });
}

// The dims whose means are kept: the two largest. `columns` is the largest.
struct FactoredDims {
  int64_t rows, columns;
};
std::optional<FactoredDims> FactoredDimsOf(const base::Shape& shape, const AdafactorOptions& o) {
  if (!o.factored || shape.size() < 2) return std::nullopt;
  FactoredDims best{-1, -1};
  for (size_t d = 0; d < shape.size(); ++d) {
    const auto dim = static_cast<int64_t>(d);
    const auto size = [&](int64_t at) { return at < 0 ? -1 : base::At(shape, at); };
    if (shape[d] >= size(best.columns))
      best = {best.columns, dim};
    else if (shape[d] >= size(best.rows))
      best.rows = dim;
  }
  if (base::At(shape, best.rows) < o.min_dim_size_to_factor) return std::nullopt;
  return best;
}

Located MeanAlong(const Located& x, int64_t dim, bool keepdims = false) {
  return x.With(mean(x, static_cast<int>(dim), {.keepdims = keepdims}, x.loc()));
}

// Returns g divided by the root of its estimated squares, of the means along both dims.
Located ByFactors(const Located& g, const Located& rows, const Located& columns,
                  const FactoredDims& dims) {
  const int64_t left = dims.rows - (dims.rows > dims.columns ? 1 : 0);
  const auto widened = [](const Located& x, int64_t dim) {
    return x.With(expand_dims(x, static_cast<int>(dim), x.loc()));
  };
  return g * widened(Rsqrt(rows / MeanAlong(rows, left, true)), dims.columns) *
         widened(Rsqrt(columns), dims.rows);
}

// Squares of a matrix are estimated by the product of the means of its rows and of its columns.
GradientTransformation FactoredRms(AdafactorOptions o) {
  const auto init = [o](const Parameters& params, const Slots& slots) {
    const std::vector<Array> zeros = FullLike(params, o.dtype_squares);
    for (size_t i = 0; i < zeros.size(); ++i) {
      const Parameters one = params.Only(i);
      const Located zero(zeros[i], params.call.loc);
      if (const auto dims = FactoredDimsOf(zero.shape(), o)) {
        slots.Add("rows", one, {MeanAlong(zero, dims->columns)});
        slots.Add("columns", one, {MeanAlong(zero, dims->rows)});
      } else {
        slots.Add("squares", one, {zero});
      }
    }
  };
  const auto begin = [o](const Parameters& params, const Slots& slots) {
    const Call call = params.call;
    // Up to the offset the first squares are taken as they are.
    const Located steps = slots.count() - o.decay_offset + 1;
    const Located t(Convert(If(steps < 1, 1, steps), f32, call), call.loc);
    const Located decay = 1.0 - t.With(pow(t, Operand(-o.decay_rate, t.loc()), {}, t.loc()));
    // Returns the next value of an array of the state.
    const auto next = [=](const char* slot, size_t i, const Located& x) {
      const Located old = slots.Get(slot, params, i);
      const Located made = x.With(Convert(decay * old + (1.0 - decay) * x, old.dtype(), call));
      slots.Set(slot, params, i, made);
      return made;
    };
    return ForEach(params, [=](const Located& g, size_t i) -> Array {
      const Located squares = Square(g) + o.eps;
      const auto dims = FactoredDimsOf(g.shape(), o);
      if (!dims) return Convert(g * Rsqrt(next("squares", i, squares)), g.dtype(), call);
      const Located rows = next("rows", i, MeanAlong(squares, dims->columns)),
                    columns = next("columns", i, MeanAlong(squares, dims->rows));
      return Convert(ByFactors(g, rows, columns, *dims), g.dtype(), call);
    });
  };
  return {.name = "factored", .init = init, .begin = begin};
}

void CheckDecay(const RateSchedule& decay, Call call) { CheckRate("weight_decay", decay, call); }

// Returns the chain of the parts, and then -rate.
Optimiser WithRate(std::vector<GradientTransformation> parts, const RateSchedule& rate) {
  parts.push_back(ScaleBy(rate, -1));
  return OfParts(std::move(parts));
}

}  // namespace

namespace optimisers {

Optimiser sgd(RateSchedule rate, SgdOptions options, Loc loc) {
  const Call call{"optimisers::sgd", loc};
  CheckRate("the rate", rate, call);
  CheckBeta("momentum", options.momentum, call);
  if (options.momentum == 0) return WithRate({}, rate);
  return WithRate({Trace(options.momentum, options.nesterov, options.accumulator_dtype)}, rate);
}

Optimiser adam(RateSchedule rate, AdamOptions options, Loc loc) {
  const Call call{"optimisers::adam", loc};
  CheckRate("the rate", rate, call);
  CheckAdam(options, call);
  return WithRate({Adam(options)}, rate);
}

Optimiser adamw(RateSchedule rate, AdamWOptions options, Loc loc) {
  const Call call{"optimisers::adamw", loc};
  const AdamOptions adam{.b1 = options.b1,
                         .b2 = options.b2,
                         .eps = options.eps,
                         .eps_root = options.eps_root,
                         .mu_dtype = options.mu_dtype,
                         .nu_dtype = options.nu_dtype,
                         .nesterov = options.nesterov};
  CheckRate("the rate", rate, call);
  CheckAdam(adam, call);
  CheckDecay(options.weight_decay, call);
  return WithRate({Adam(adam), AddDecayed(options.weight_decay, options.mask)}, rate);
}

Optimiser lion(RateSchedule rate, LionOptions options, Loc loc) {
  const Call call{"optimisers::lion", loc};
  CheckRate("the rate", rate, call);
  CheckBeta("b1", options.b1, call);
  CheckBeta("b2", options.b2, call);
  CheckDecay(options.weight_decay, call);
  return WithRate({Lion(options), AddDecayed(options.weight_decay, options.mask)}, rate);
}

Optimiser adafactor(RateSchedule rate, AdafactorOptions options, Loc loc) {
  const Call call{"optimisers::adafactor", loc};
  CheckRate("the rate", rate, call);
  CheckNotNegative("decay_rate", options.decay_rate, call);
  CheckNotNegative("eps", options.eps, call);
  CheckDecay(options.weight_decay_rate, call);
  std::vector<GradientTransformation> parts{FactoredRms(options)};
  if (options.clipping_threshold) {
    CheckPositive("clipping_threshold", *options.clipping_threshold, call);
    parts.push_back(ClipByBlockRms(*options.clipping_threshold));
  }
  parts.push_back(ScaleBy(rate, 1));
  if (options.multiply_by_parameter_scale) parts.push_back(ScaleByBlockRms());
  if (options.momentum) {
    CheckBeta("momentum", *options.momentum, call);
    parts.push_back(MovingAverage(*options.momentum,
                                  {.debias = false, .accumulator_dtype = options.dtype_momentum}));
  }
  if (options.weight_decay_rate.number().value_or(1) != 0)
    parts.push_back(AddDecayed(options.weight_decay_rate, options.weight_decay_mask));
  return WithRate(std::move(parts), 1);
}

Optimiser rmsprop(RateSchedule rate, RmspropOptions options, Loc loc) {
  const Call call{"optimisers::rmsprop", loc};
  CheckRate("the rate", rate, call);
  CheckBeta("decay", options.decay, call);
  CheckNotNegative("eps", options.eps, call);
  CheckNotNegative("initial_scale", options.initial_scale, call);
  std::vector<GradientTransformation> parts{Rms(options), ScaleBy(rate, -1)};
  if (options.momentum) {
    CheckBeta("momentum", *options.momentum, call);
    parts.push_back(Trace(*options.momentum, options.nesterov, options.accumulator_dtype));
  }
  return OfParts(std::move(parts));
}

Optimiser lamb(RateSchedule rate, LambOptions options, Loc loc) {
  const Call call{"optimisers::lamb", loc};
  const AdamOptions adam{.b1 = options.b1,
                         .b2 = options.b2,
                         .eps = options.eps,
                         .eps_root = options.eps_root,
                         .mu_dtype = options.mu_dtype,
                         .nu_dtype = options.nu_dtype};
  CheckRate("the rate", rate, call);
  CheckAdam(adam, call);
  CheckDecay(options.weight_decay, call);
  return WithRate(
      {Adam(adam), AddDecayed(options.weight_decay, options.mask), TrustRatio(options.axes)}, rate);
}

Optimiser clip(double max_delta, Loc loc) {
  CheckNotNegative("max_delta", max_delta, {"optimisers::clip", loc});
  return OfParts({Stateless("clip", [=](const Located& u, const Located&) {
    return u.With(
        tessera::clip(u, Operand(-max_delta, u.loc()), Operand(max_delta, u.loc()), u.loc()));
  })});
}
Optimiser clip_by_global_norm(double max_norm, NormAxes options, Loc loc) {
  CheckPositive("max_norm", max_norm, {"optimisers::clip_by_global_norm", loc});
  return OfParts({ClipByGlobalNorm(max_norm, options.axes)});
}
Optimiser clip_by_block_rms(double threshold, Loc loc) {
  CheckPositive("the threshold", threshold, {"optimisers::clip_by_block_rms", loc});
  return OfParts({ClipByBlockRms(threshold)});
}
Optimiser scale(double by, Loc) { return OfParts({ScaleBy(by, 1)}); }
Optimiser scale_by_learning_rate(RateSchedule rate, Loc loc) {
  CheckRate("the rate", rate, {"optimisers::scale_by_learning_rate", loc});
  return WithRate({}, rate);
}
Optimiser scale_by_adam(AdamOptions options, Loc loc) {
  CheckAdam(options, {"optimisers::scale_by_adam", loc});
  return OfParts({Adam(options)});
}
Optimiser scale_by_trust_ratio(NormAxes options, Loc) {
  return OfParts({TrustRatio(options.axes)});
}
Optimiser add_decayed_weights(RateSchedule weight_decay, ParameterMask mask, Loc loc) {
  CheckDecay(weight_decay, {"optimisers::add_decayed_weights", loc});
  return OfParts({AddDecayed(weight_decay, mask)});
}
Optimiser trace(double decay, bool nesterov, DType accumulator_dtype, Loc loc) {
  CheckBeta("the decay", decay, {"optimisers::trace", loc});
  return OfParts({Trace(decay, nesterov, accumulator_dtype)});
}
Optimiser ema(double decay, EmaOptions options, Loc loc) {
  CheckBeta("the decay", decay, {"optimisers::ema", loc});
  return OfParts({MovingAverage(decay, options)});
}
Optimiser stateless(std::function<Array(Array, Array)> f) {
  return OfParts({Stateless("stateless", [f = std::move(f)](const Located& u, const Located& p) {
    return f(u.plain(), p.plain());
  })});
}

}  // namespace optimisers
}  // namespace tessera
