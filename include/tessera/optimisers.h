// Optimisers: updates of parameters from gradients, with optax's numbers.
//
//   const Optimiser optimiser = chain({optimisers::clip_by_global_norm(1),
//   optimisers::adamw(1e-3)}); OptimiserState state = optimiser.init(params); auto [updates, next]
//   = optimiser.update(gradients, state, params);   // also in a traced step params =
//   apply_updates(params, updates);
//
// Parameters are a tree of floating arrays. A state is a tree too: save_safetensors stores it, and
// a step may donate it. Its arrays have the shapes and shardings of the parameters, and their
// names: "adam.mu.layers.w". Arithmetic and arrays of the state are f32 for narrower parameters and
// gradients; updates have the dtype that the gradient and the parameter promote to.
//
// Over Explicit axes a gradient must have the sharding of its parameter, unless `sharded` is
// applied to it first: it reshards them. Inside of shard_map each device updates its own arrays;
// norms are of these, unless an option names the axes over which arrays are sharded.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "tessera/ops.h"
#include "tessera/specs.h"
#include "tessera/tree.h"

namespace TESSERA_PUBLIC tessera {

// A number that depends on the number of steps done: a plain number, a scalar array, or a function
// of the steps done, an i32 []. schedules:: has the usual ones.
class RateSchedule {
 public:
  template <RealNumber T>
  RateSchedule(T value) : number_(static_cast<double>(value)) {}
  RateSchedule(Array value);
  template <class F>
  requires(!RealNumber<F> && !std::is_same_v<F, RateSchedule> &&
           std::is_invocable_r_v<Array, const F&, Array>) RateSchedule(F f)
      : f_(std::move(f)) {}
  // Returns the number after `step` steps: a floating [].
  Array operator()(Operand step, Loc loc = Loc::Current()) const;
  const std::optional<double>& number() const { return number_; }  // if it is always the same

 private:
  std::optional<double> number_;
  std::function<Array(Array)> f_;
};

// The arrays of an optimiser, by name.
using OptimiserState = std::map<std::string, Array>;

// The results of a step. Updates are laid out like the parameters, and are to be added to them.
template <class T>
struct Updated {
  T updates;
  OptimiserState state;
};

namespace detail {

struct GradientTransformation;
using TransformationPtr = std::shared_ptr<const GradientTransformation>;

struct UpdatedLeaves {
  std::vector<Array> updates;
  OptimiserState state;
};

}  // namespace detail

// A chain of transformations of gradients. A value: copies are cheap, and it does not change.
class Optimiser {
 public:
  explicit Optimiser(std::vector<detail::TransformationPtr> parts) : parts_(std::move(parts)) {}

  // Returns the state before the first step. Throws DTypeError for parameters that are not floats.
  template <Tree T>
  OptimiserState init(T params, Loc loc = Loc::Current()) const {
    return Init(params, loc);
  }
  // Returns the updates and the next state. Throws TraceError for gradients with other arrays than
  // the parameters, and for the state of other parameters or of another optimiser; ShapeError and
  // ShardingError for gradients of other shapes and shardings.
  template <Tree T>
  Updated<T> update(T gradients, OptimiserState state, std::type_identity_t<T> params,
                    Loc loc = Loc::Current()) const {
    detail::UpdatedLeaves made = Update(gradients, std::move(state), params, loc);
    return {detail::Rebuilt(std::move(gradients), made.updates), std::move(made.state)};
  }
  const std::vector<detail::TransformationPtr>& parts() const { return parts_; }

 private:
  OptimiserState Init(detail::TreeRef params, Loc loc) const;
  detail::UpdatedLeaves Update(detail::TreeRef gradients, OptimiserState state,
                               detail::TreeRef params, Loc loc) const;
  std::vector<detail::TransformationPtr> parts_;
};

// Returns the optimiser that applies these, one after the other.
Optimiser chain(const std::vector<Optimiser>& parts);

namespace detail {
void ApplyUpdates(TreeRef params, TreeRef updates, Loc loc);
void MoveTowards(TreeRef average, TreeRef params, const Array& step_size, Loc loc);
Array GlobalNorm(TreeRef tree, const AxisSet& axes, Loc loc);
Array AllFinite(TreeRef tree, const AxisSet& axes, Loc loc);
}  // namespace detail

// Returns params + updates, in the dtypes of the parameters. Throws TraceError for trees that
// differ.
template <Tree T>
T apply_updates(T params, std::type_identity_t<T> updates, Loc loc = Loc::Current()) {
  detail::ApplyUpdates(params, updates, loc);
  return params;
}
// Returns step_size * params + (1 - step_size) * average: a moving average of parameters. Throws
// TraceError for trees that differ.
template <Tree T>
T incremental_update(T params, std::type_identity_t<T> average, Array step_size,
                     Loc loc = Loc::Current()) {
  detail::MoveTowards(average, params, step_size, loc);
  return average;
}

// Over these Manual axes the arrays that vary are shards of one array each: sums are of all shards.
struct NormAxes {
  AxisSet axes = {};
};
// Returns the square root of the sum of all squares: f32 [], or f64 if an array is f64.
template <Tree T>
Array global_norm(T tree, NormAxes options = {}, Loc loc = Loc::Current()) {
  return detail::GlobalNorm(tree, options.axes, loc);
}
// Returns whether no element is infinite or NaN: bool [].
template <Tree T>
Array all_finite(T tree, NormAxes options = {}, Loc loc = Loc::Current()) {
  return detail::AllFinite(tree, options.axes, loc);
}

// Chooses parameters by their names in the tree, "layers.w", and their types.
using ParameterMask = std::function<bool(const std::string& name, const Array& param)>;

// Options that end in _dtype choose the dtypes of arrays of the state; default: the dtype of each
// parameter, or f32 for narrower ones. A narrow dtype halves the bytes and costs accuracy: means in
// bf16 stop to move when a step adds less than 1/256 of them (in f16 1/2048), as means of squares
// with b2 = 0.999 always do, and squares of gradients below 2e-4 are 0 in f16.
struct SgdOptions {
  double momentum = 0;
  bool nesterov = false;
  DType accumulator_dtype = {};  // of the momentum
};
struct AdamOptions {
  double b1 = 0.9, b2 = 0.999;  // decays of the means of gradients and of their squares
  double eps = 1e-8, eps_root = 0;
  DType mu_dtype = {}, nu_dtype = {};  // of the means of gradients and of their squares
  bool nesterov = false;
};
struct AdamWOptions {
  double b1 = 0.9, b2 = 0.999;
  double eps = 1e-8, eps_root = 0;
  DType mu_dtype = {}, nu_dtype = {};
  RateSchedule weight_decay = 1e-4;
  ParameterMask mask = {};  // the parameters that decay; default: all
  bool nesterov = false;
};
struct LionOptions {
  double b1 = 0.9, b2 = 0.99;
  DType mu_dtype = {};
  RateSchedule weight_decay = 1e-3;
  ParameterMask mask = {};
};
struct AdafactorOptions {
  int64_t min_dim_size_to_factor = 128;
  double decay_rate = 0.8;
  int64_t decay_offset = 0;  // steps before this one do not count
  bool multiply_by_parameter_scale = true;
  std::optional<double> clipping_threshold = 1;
  std::optional<double> momentum = {};
  DType dtype_momentum = {}, dtype_squares = {};
  RateSchedule weight_decay_rate = 0;
  double eps = 1e-30;
  bool factored = true;
  ParameterMask weight_decay_mask = {};
};
struct RmspropOptions {
  double decay = 0.9, eps = 1e-8, initial_scale = 0;
  bool eps_in_sqrt = true;
  bool centered = false;  // divide by the standard deviation
  std::optional<double> momentum = {};
  bool nesterov = false;
  bool bias_correction = false;
  DType mu_dtype = {}, nu_dtype = {}, accumulator_dtype = {};
};
struct LambOptions {
  double b1 = 0.9, b2 = 0.999;
  double eps = 1e-6, eps_root = 0;
  RateSchedule weight_decay = 0;
  ParameterMask mask = {};
  AxisSet axes = {};  // of the norms, as NormAxes
  DType mu_dtype = {}, nu_dtype = {};
};
struct EmaOptions {
  bool debias = true;
  DType accumulator_dtype = {};
};

// Functions that take numbers throw ShapeError for numbers out of their range: negative rates and
// decays, betas outside of [0, 1).
namespace optimisers {

Optimiser sgd(RateSchedule rate, SgdOptions options = {}, Loc loc = Loc::Current());
Optimiser adam(RateSchedule rate, AdamOptions options = {}, Loc loc = Loc::Current());
Optimiser adamw(RateSchedule rate, AdamWOptions options = {}, Loc loc = Loc::Current());
Optimiser lion(RateSchedule rate, LionOptions options = {}, Loc loc = Loc::Current());
// Squares of gradients of rank 2 and more are kept as the means of their rows and columns. Means
// are of the arrays of a device inside of shard_map.
Optimiser adafactor(RateSchedule rate = 1, AdafactorOptions options = {}, Loc loc = Loc::Current());
Optimiser rmsprop(RateSchedule rate, RmspropOptions options = {}, Loc loc = Loc::Current());
Optimiser lamb(RateSchedule rate, LambOptions options = {}, Loc loc = Loc::Current());

// ---- parts of chains ----

// Return gradients limited to [-max_delta, max_delta], and gradients scaled down to a global norm
// of max_norm.
Optimiser clip(double max_delta, Loc loc = Loc::Current());
Optimiser clip_by_global_norm(double max_norm, NormAxes options = {}, Loc loc = Loc::Current());
// Scales down each array whose root mean square is above the threshold.
Optimiser clip_by_block_rms(double threshold, Loc loc = Loc::Current());
Optimiser scale(double by, Loc loc = Loc::Current());
// Multiplies by minus the rate.
Optimiser scale_by_learning_rate(RateSchedule rate, Loc loc = Loc::Current());
Optimiser scale_by_adam(AdamOptions options = {}, Loc loc = Loc::Current());
// Multiplies each update by the norm of its parameter divided by its own.
Optimiser scale_by_trust_ratio(NormAxes options = {}, Loc loc = Loc::Current());
// Adds weight_decay * parameter.
Optimiser add_decayed_weights(RateSchedule weight_decay, ParameterMask mask = {},
                              Loc loc = Loc::Current());
// Replaces gradients by gradient + decay * previous result.
Optimiser trace(double decay, bool nesterov = false, DType accumulator_dtype = {},
                Loc loc = Loc::Current());
// Replaces gradients by their moving average. Parameters passed as gradients are averaged too.
Optimiser ema(double decay, EmaOptions options = {}, Loc loc = Loc::Current());
// Applies f(update, parameter) to each array; narrower floats are passed as f32.
Optimiser stateless(std::function<Array(Array, Array)> f);

}  // namespace optimisers

// ---- optimisers of optimisers ----

struct MultiStepsOptions {
  bool use_grad_mean = true;  // of the micro-steps; else their sum
  DType accumulator_dtype = f32;
};
// Adds up the gradients of k micro-steps, and updates after each k-th; other updates are 0. Throws
// ShapeError unless k is positive.
Optimiser multi_steps(Optimiser optimiser, int64_t k, MultiStepsOptions options = {},
                      Loc loc = Loc::Current());

// Lays out the state and the work by `specs`, one for all arrays or nested like the parameters
// (ZeRO): gradients are resharded (scattered, if they are partial sums), and updates are resharded
// to the parameters (gathered). Over Auto axes these are sharding constraints: the state has the
// axes of its spec, and updates are whole over them; other axes follow propagation where a spec is
// open. init and update throw ShardingError as reshard does, with the name of the parameter.
Optimiser sharded(Optimiser optimiser, Specs specs);
// Same, with specs by name and parameter: sharded(adamw(1e-3), spec_by_name({{"*.w", P("data")},
// {"*", P()}})).
Optimiser sharded(Optimiser optimiser, ParameterSpecs specs);

struct LossScaleOptions {
  double initial = 32768;
  double factor = 2;      // the scale is multiplied or divided by it
  int64_t period = 2000;  // steps with finite gradients before the scale grows
  double min_scale = 1;
  AxisSet axes = {};  // Manual axes whose devices decide together
};
// For f16: gradients are of a loss multiplied by loss_scale(state), and are divided by it in f32.
// If one is not finite, the step is skipped (updates are 0) and the scale shrinks.
Optimiser dynamic_loss_scale(Optimiser optimiser, LossScaleOptions options = {},
                             Loc loc = Loc::Current());
// Returns the scale: f32 []. Throws TraceError for the state of another optimiser.
Array loss_scale(const OptimiserState& state, Loc loc = Loc::Current());

struct ExponentialDecayOptions {
  int64_t transition_begin = 0;
  bool staircase = false;  // only whole powers
  std::optional<double> end_value = {};
};
struct CosineDecayOptions {
  double alpha = 0;  // share of the first value at the end
  double exponent = 1;
};
struct WarmupCosineOptions {
  double end_value = 0;
  double exponent = 1;
};

// Numbers that depend on the steps done, as optax's. Throw ShapeError unless steps are positive and
// numbers are finite.
namespace schedules {

// Returns value.
RateSchedule constant(double value);
// Goes from init_value to end_value in steps transition_begin to transition_begin +
// transition_steps; along a power for `polynomial`.
RateSchedule linear(double init_value, double end_value, int64_t transition_steps,
                    int64_t transition_begin = 0, Loc loc = Loc::Current());
RateSchedule polynomial(double init_value, double end_value, double power, int64_t transition_steps,
                        int64_t transition_begin = 0, Loc loc = Loc::Current());
// Multiplies by each scale from the step of its boundary on.
RateSchedule piecewise_constant(double init_value, std::map<int64_t, double> scales,
                                Loc loc = Loc::Current());
// Returns init_value * decay_rate^(step / transition_steps).
RateSchedule exponential_decay(double init_value, int64_t transition_steps, double decay_rate,
                               ExponentialDecayOptions options = {}, Loc loc = Loc::Current());
// Falls along half a cosine wave in decay_steps.
RateSchedule cosine_decay(double init_value, int64_t decay_steps, CosineDecayOptions options = {},
                          Loc loc = Loc::Current());
// Rises linearly in warmup_steps, then falls as cosine_decay until step decay_steps.
RateSchedule warmup_cosine_decay(double init_value, double peak_value, int64_t warmup_steps,
                                 int64_t decay_steps, WarmupCosineOptions options = {},
                                 Loc loc = Loc::Current());
// Returns schedule i from boundary i - 1 on, which counts as its step 0. Throws ShapeError unless
// there is one boundary between each two schedules.
RateSchedule join(std::vector<RateSchedule> parts, std::vector<int64_t> boundaries,
                  Loc loc = Loc::Current());

}  // namespace schedules
}  // namespace tessera
