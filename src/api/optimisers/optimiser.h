// A transformation of gradients, the part of optimisers, and the arrays that it works on.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "api/core/located.h"
#include "tessera/optimisers.h"

namespace tessera::api {

// The parameters of a step, in the order of their tree.
struct Parameters {
  detail::TreeRef tree;
  std::vector<std::string> names;
  std::vector<Array> arrays;
  Call call;
  std::vector<PartitionSpec> constraints = {};  // of the states over Auto axes; empty: none

  size_t count() const { return arrays.size(); }
  Located at(size_t i) const { return {arrays[i], call.loc}; }
  // Returns an array of the state of parameter i, or its gradient, under the constraint. Arrays of
  // other shapes than the parameter have none.
  Array Constrained(size_t i, const Array& x) const;
  // Returns parameter i alone.
  Parameters Only(size_t i) const {
    Parameters one{tree, {names[i]}, {arrays[i]}, call};
    if (!constraints.empty()) one.constraints = {constraints[i]};
    return one;
  }
};

// Replaces the updates, and the arrays of the state.
using ArraysStep = std::function<void(std::vector<Array>& updates)>;

// The arrays of a chain in a state, or of one part of the chain.
class Slots {
 public:
  Slots(OptimiserState& state, std::string chain, Call call, std::string part = {})
      : state_(&state), chain_(std::move(chain)), part_(std::move(part)), call_(call) {}
  // Returns the slots of a part of the chain, whose names begin with `part`.
  Slots Part(const std::string& part) const { return {*state_, chain_, call_, part + "."}; }
  // Returns the slots of a chain inside of this part.
  Slots Inner() const { return {*state_, chain_ + part_, call_}; }

  // Returns the number of steps that the chain has done: i32 [].
  Located count() const;
  // Adds the number of steps, and adds one to it.
  void AddCount() const;
  void Increment() const;

  void Add(const std::string& name, Array x) const;
  // Returns an array of the state. Throws TraceError if the state has none of this name.
  Located Get(const std::string& name) const;
  // Replaces an array, in its dtype.
  void Set(const std::string& name, const Array& x) const;

  // Same, for an array per parameter. Get returns it in its WideDType.
  void Add(const char* slot, const Parameters& params, const std::vector<Array>& xs) const;
  Located Get(const char* slot, const Parameters& params, size_t i) const;
  void Set(const char* slot, const Parameters& params, size_t i, const Array& x) const;

  OptimiserState& state() const { return *state_; }
  // The names of all arrays of these slots begin with it.
  std::string prefix() const { return chain_ + part_; }

 private:
  OptimiserState* state_;
  std::string chain_, part_;
  Call call_;
};

}  // namespace tessera::api

namespace tessera::detail {

struct GradientTransformation {
  std::string name;  // the first word of the names of its arrays
  // Adds the arrays of the state; empty: there are none.
  std::function<void(const api::Parameters&, const api::Slots&)> init = {};
  // Computes the numbers of a step, and returns the rest of it. A chain computes the numbers of all
  // its parts before the arrays, so that these follow one another.
  std::function<api::ArraysStep(const api::Parameters&, const api::Slots&)> begin;
  bool reshards = false;     // it takes gradients of any sharding
  bool counts_steps = true;  // the state has the number of steps done
};

}  // namespace tessera::detail

namespace tessera::api {

Optimiser OfParts(std::vector<detail::GradientTransformation> parts);

// Adds the state of a chain to the slots.
void InitChain(const Optimiser& optimiser, const Parameters& params, const Slots& slots);
// Begins one step of a chain, as GradientTransformation::begin.
ArraysStep BeginChain(const Optimiser& optimiser, const Parameters& params, const Slots& slots);

// Updates are computed in their WideDType, from parameters and arrays of the state in theirs.
inline Located Wide(const Located& x) { return x.With(ToWide(x, {"update", x.loc()})); }

// Returns arrays like the parameters for a state, filled with a number. Their dtype is `dtype`; by
// default the WideDType of each parameter, because narrow means of squares underflow, and narrow
// means stop to move.
std::vector<Array> FullLike(const Parameters& params, DType dtype = {}, double number = 0);
// Returns the step that replaces update i by f(update, i).
template <class F>
ArraysStep ForEach(const Parameters& params, F f) {
  return [=](std::vector<Array>& updates) {
    for (size_t i = 0; i < updates.size(); ++i)
      updates[i] = f(Wide(Located(updates[i], params.call.loc)), i);
  };
}
// Returns a transformation without a state that applies f(update, parameter) to each array.
template <class F>
detail::GradientTransformation Stateless(std::string name, F f) {
  const auto begin = [f](const Parameters& params, const Slots&) {
    return ForEach(params,
                   [=](const Located& u, size_t i) -> Array { return f(u, Wide(params.at(i))); });
  };
  return {.name = std::move(name), .begin = begin, .counts_steps = false};
}

// Returns the sum over all devices of Manual axes over which x varies, if `axes` has them.
Located SumOverShards(const Located& x, const AxisSet& axes);
// Returns updates in the dtypes that their gradients and parameters promote to.
std::vector<Array> InDTypesOf(const std::vector<Array>& gradients, const Parameters& params,
                              const std::vector<Array>& updates);
// Returns the sum of the squares: f32 [], or f64 for f64. Over Manual axes, of all shards.
Located SumOfSquares(const Located& x, const AxisSet& axes = {});
// Returns whether all elements of all arrays are finite.
Located AllFinite(const std::vector<Array>& xs, const AxisSet& axes, Call call);
// Returns decay * old + (1 - decay) * x.
inline Located Average(const Located& x, const Located& old, double decay) {
  return (1 - decay) * x + decay * old;
}
// Divides by 1 - decay^count, for means of numbers that were averaged with a start of 0.
class Debias {
 public:
  Debias(double decay, const Located& count);
  Located operator()(const Located& x) const;

 private:
  Located By(DType dtype) const;
  double decay_;
  Located count_, by_;  // by_: f32
};
// Returns count + 1; the largest int stays.
Located Incremented(const Located& count);

// C17: throw ShapeError for a number out of its range.
void CheckRate(const char* name, const RateSchedule& rate, Call call);
void CheckNotNegative(const char* name, double number, Call call);
void CheckPositive(const char* name, double number, Call call);
void CheckBeta(const char* name, double beta, Call call);  // in [0, 1)

}  // namespace tessera::api
