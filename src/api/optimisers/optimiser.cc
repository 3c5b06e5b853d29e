// Chains of transformations: their states, the checks of their arguments, and sums over trees.
#include "api/optimisers/optimiser.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "api/core/manual_axes.h"
#include "api/core/reshard_to.h"
#include "api/core/tree_match.h"
#include "base/error.h"
#include "tessera/shard_map.h"
#include "trace/scopes.h"

namespace tessera {

using namespace api;

namespace api {

namespace {

constexpr char kCount[] = "count";  // the name of the number of steps

std::string SlotName(const char* slot, const std::string& parameter) {
  return parameter.empty() ? slot : fmt::format("{}.{}", slot, parameter);
}

std::string NameOf(const Parameters& params, size_t i) {
  return params.names[i].empty() ? "the parameter" : params.names[i];
}

// C14: throws DTypeError for a parameter that has no updates.
void CheckFloats(const Parameters& params) {
  for (size_t i = 0; i < params.count(); ++i) {
    const DType t = TypeOf(params.arrays[i])->dtype();
    if (!t.is_floating())
      FailDType(
          params.call, 14,
          fmt::format("{} is {}, not floats", NameOf(params, i), TypeOf(params.arrays[i])->text()),
          {"keep arrays that are not trained out of the tree of parameters"});
  }
}

// Throws unless the gradient has the shape of its parameter and, unless it is resharded, its place.
void CheckGradient(const Array& gradient, const Parameters& params, size_t i, bool reshards) {
  const ir::Type &g = *TypeOf(gradient), &p = *TypeOf(params.arrays[i]);
  const std::string differ = fmt::format("the gradient of {} is {}, but the parameter is {}",
                                         NameOf(params, i), g.text(), p.text());
  if (g.shape() != p.shape()) FailShape(params.call, 18, differ);
  if (!g.dtype().is_floating()) FailDType(params.call, 14, differ);
  if (VaryingOf(g) != VaryingOf(p))
    FailSharding(params.call, 18, differ,
                 {"sum it over the axes that only it varies over: psum(gradient, axes)"});
  if (!reshards && p.mesh() && g.sharding() != p.sharding())
    FailSharding(params.call, 18, differ,
                 {fmt::format("reshard it to the parameter's spec: reshard(gradient, {})",
                              sharding::ToSpec(p.sharding()).reduced({}).text()),
                  "or let the optimiser do so: sharded(optimiser, specs)"});
}

// Throws unless the update has the shape and the place of its parameter: the state may be of
// others.
void CheckUpdate(const Array& update, const Parameters& params, size_t i) {
  const ir::Type &u = *TypeOf(update), &p = *TypeOf(params.arrays[i]);
  if (u.shape() != p.shape() || (p.mesh() && u.sharding() != p.sharding()))
    FailSharding(params.call, 18,
                 fmt::format("the update of {} would be {}, but the parameter is {}",
                             NameOf(params, i), u.text(), p.text()),
                 {"pass the state that `init` of this optimiser made for these parameters"});
}

Parameters ParametersOf(detail::TreeRef tree, Call call) {
  trace::UseAll(tree, "params", call.name, call.loc);
  Parameters params{tree, detail::NamesOf(tree), detail::LeavesOf(tree), call};
  CheckFloats(params);
  return params;
}

}  // namespace

Array Parameters::Constrained(size_t i, const Array& x) const {
  if (constraints.empty() || ShapeOf(x) != ShapeOf(arrays[i])) return x;
  return api::Constrained(x, constraints[i], {"sharded", call.loc});
}

Located Slots::count() const { return Slots(*state_, chain_, call_).Get(kCount); }
void Slots::AddCount() const { Add(kCount, StrongScalar(0, i32, call_)); }
void Slots::Increment() const { Set(kCount, Incremented(count())); }

void Slots::Add(const std::string& name, Array x) const {
  (*state_)[prefix() + name] = std::move(x);
}
Located Slots::Get(const std::string& name) const {
  const auto found = state_->find(prefix() + name);
  if (found == state_->end())
    FailTrace(call_, 2, fmt::format("the state has no array \"{}\"", prefix() + name),
              {"pass the state that `init` of this optimiser made for these parameters"});
  return {found->second, call_.loc};
}
void Slots::Set(const std::string& name, const Array& x) const {
  Array& old = (*state_)[prefix() + name];
  const ir::Type &was = *TypeOf(old), &is = *TypeOf(x);
  if (was.shape() != is.shape() || (was.mesh() && was.sharding() != is.sharding()))
    FailShape(call_, 18,
              fmt::format("\"{}\" of the state is {}, but would become {}", prefix() + name,
                          was.text(), is.text()),
              {"pass the state that `init` of this optimiser made for these parameters"});
  old = Convert(x, was.dtype(), call_);
}
void Slots::Add(const char* slot, const Parameters& params, const std::vector<Array>& xs) const {
  for (size_t i = 0; i < xs.size(); ++i)
    Add(SlotName(slot, params.names[i]), params.Constrained(i, xs[i]));
}
Located Slots::Get(const char* slot, const Parameters& params, size_t i) const {
  return Wide(Get(SlotName(slot, params.names[i])));
}
void Slots::Set(const char* slot, const Parameters& params, size_t i, const Array& x) const {
  Set(SlotName(slot, params.names[i]), params.Constrained(i, x));
}

Optimiser OfParts(std::vector<detail::GradientTransformation> parts) {
  std::vector<detail::TransformationPtr> shared;
  for (detail::GradientTransformation& part : parts)
    shared.push_back(std::make_shared<const detail::GradientTransformation>(std::move(part)));
  return Optimiser(std::move(shared));
}

namespace {

// Calls f(part, slots) for each part. The second part of a name is numbered: "trace_2". A layout
// alone gives no name, so that a state is the same with and without it.
template <class F>
void ForEachPart(const Optimiser& optimiser, const Slots& slots, const F& f) {
  if (optimiser.parts().size() == 1 && optimiser.parts()[0]->reshards)
    return f(*optimiser.parts()[0], slots);
  std::map<std::string, int> uses;
  for (const detail::TransformationPtr& part : optimiser.parts()) {
    const int use = ++uses[part->name];
    f(*part, slots.Part(use == 1 ? part->name : fmt::format("{}_{}", part->name, use)));
  }
}

bool CountsSteps(const Optimiser& optimiser) {
  bool counts = false;
  for (const detail::TransformationPtr& part : optimiser.parts())
    counts = counts || part->counts_steps;
  return counts;
}

}  // namespace

void InitChain(const Optimiser& optimiser, const Parameters& params, const Slots& slots) {
  if (CountsSteps(optimiser)) slots.AddCount();
  ForEachPart(optimiser, slots, [&](const detail::GradientTransformation& part, const Slots& own) {
    if (part.init) part.init(params, own);
  });
}

ArraysStep BeginChain(const Optimiser& optimiser, const Parameters& params, const Slots& slots) {
  std::vector<ArraysStep> steps;
  ForEachPart(optimiser, slots, [&](const detail::GradientTransformation& part, const Slots& own) {
    steps.push_back(part.begin(params, own));
  });
  if (CountsSteps(optimiser)) slots.Increment();
  return [steps = std::move(steps)](std::vector<Array>& updates) {
    for (const ArraysStep& step : steps) step(updates);
  };
}

std::vector<Array> FullLike(const Parameters& params, DType dtype, double number) {
  const Loc loc = params.call.loc;
  std::vector<Array> made;
  for (const Array& p : params.arrays) {
    const DType t = dtype.is_default() ? WideDType(TypeOf(p)->dtype()) : dtype;
    made.push_back(full_like(p, Operand(number, loc), {.dtype = t}, loc));
  }
  return made;
}

std::vector<Array> InDTypesOf(const std::vector<Array>& gradients, const Parameters& params,
                              const std::vector<Array>& updates) {
  std::vector<Array> made;
  for (size_t i = 0; i < updates.size(); ++i) {
    const DType t =
        Promoted(TypeOf(gradients[i])->dtype(), TypeOf(params.arrays[i])->dtype(), params.call);
    made.push_back(Convert(updates[i], t, params.call));
  }
  return made;
}

Located SumOverShards(const Located& x, const AxisSet& axes) {
  const Call call{"psum", x.loc()};
  std::vector<AxisRef> sharded;
  for (const AxisRef& axis : axes.axes())
    for (const StateOver& over : StatesOver(TypeOf(x)->sharding(), ManualAxes(axis, call)))
      if (over.state == Variance::kVarying) sharded.push_back(axis);
  return sharded.empty() ? x : x.With(psum(x, AxisSet(sharded), x.loc()));
}

Located SumOfSquares(const Located& x, const AxisSet& axes) {
  return SumOverShards(x.With(sum(Square(Wide(x)), All, {}, x.loc())), axes);
}

Located AllFinite(const std::vector<Array>& xs, const AxisSet& axes, Call call) {
  // Sums of counts are added before devices combine them: all arrays need one message. A sum of
  // floats of at least 0 does not become 0 again.
  std::optional<Located> lacking;
  for (const Array& x : xs) {
    const Located finite(is_finite(Operand(x, call.loc), call.loc), call.loc);
    const Located count(sum(Convert(!finite, f32, call), All, {}, call.loc), call.loc);
    lacking = lacking ? *lacking + count : count;
  }
  return lacking ? SumOverShards(*lacking, axes) == 0
                 : Located(StrongScalar(true, bool_, call), call.loc);
}

Debias::Debias(double decay, const Located& count) : decay_(decay), count_(count), by_(By(f32)) {}
Located Debias::By(DType dtype) const {
  const Located n = count_.With(Convert(count_, dtype, {"update", count_.loc()}));
  return 1.0 - n.With(pow(Operand(decay_, n.loc()), n, {}, n.loc()));
}
Located Debias::operator()(const Located& x) const {
  const Located by = x.dtype().size() > 4 ? By(x.dtype()) : by_;
  return x / x.With(Convert(by, x.dtype(), {"update", x.loc()}));
}

Located Incremented(const Located& count) {
  constexpr int kMost = std::numeric_limits<int32_t>::max();
  return If(count < kMost, count + 1, kMost);
}

void CheckRate(const char* name, const RateSchedule& rate, Call call) {
  if (rate.number()) CheckNotNegative(name, *rate.number(), call);
}
void CheckNotNegative(const char* name, double number, Call call) {
  if (!(number >= 0 && std::isfinite(number)))
    FailShape(call, 17, fmt::format("{} is {}, not a finite number of at least 0", name, number));
}
void CheckPositive(const char* name, double number, Call call) {
  if (!(number > 0 && std::isfinite(number)))
    FailShape(call, 17, fmt::format("{} is {}, not a finite positive number", name, number));
}
void CheckBeta(const char* name, double beta, Call call) {
  if (!(beta >= 0 && beta < 1))
    FailShape(call, 17,
              fmt::format("{} is {}, but a decay is at least 0 and less than 1", name, beta));
}

}  // namespace api

OptimiserState Optimiser::Init(detail::TreeRef params, Loc loc) const {
  const Call call{"init", loc};
  OptimiserState state;
  InitChain(*this, ParametersOf(params, call), Slots(state, "", call));
  return state;
}

detail::UpdatedLeaves Optimiser::Update(detail::TreeRef gradients, OptimiserState state,
                                        detail::TreeRef params, Loc loc) const {
  const Call call{"update", loc};
  const Parameters all = ParametersOf(params, call);
  trace::UseAll(gradients, "gradients", call.name, loc);
  trace::UseAll(state, "state", call.name, loc);
  CheckNames(call, 2, all.names, detail::NamesOf(gradients),
             "compared with the parameters, the "
             "gradients are",
             {"pass one gradient for each parameter"});
  const std::vector<Array> given = detail::LeavesOf(gradients);
  const bool reshards = !parts_.empty() && parts_[0]->reshards;
  for (size_t i = 0; i < given.size(); ++i) CheckGradient(given[i], all, i, reshards);
  std::vector<Array> updates = given;
  BeginChain(*this, all, Slots(state, "", call))(updates);
  updates = InDTypesOf(given, all, updates);
  for (size_t i = 0; i < updates.size(); ++i) CheckUpdate(updates[i], all, i);
  return {std::move(updates), std::move(state)};
}

Optimiser chain(const std::vector<Optimiser>& parts) {
  std::vector<detail::TransformationPtr> all;
  for (const Optimiser& part : parts)
    all.insert(all.end(), part.parts().begin(), part.parts().end());
  return Optimiser(std::move(all));
}

namespace detail {

namespace {

// Replaces each array of `tree` by f(array, array of `other`).
template <class F>
void Combine(TreeRef tree, TreeRef other, const char* what, Call call, const F& f) {
  trace::UseAll(tree, "params", call.name, call.loc);
  trace::UseAll(other, what, call.name, call.loc);
  CheckNames(call, 2, NamesOf(tree), NamesOf(other),
             fmt::format("compared with the parameters, the {} are", what).c_str(),
             {"pass trees whose arrays have the same names"});
  std::vector<Array> xs = LeavesOf(tree);
  const std::vector<Array> ys = LeavesOf(other);
  for (size_t i = 0; i < xs.size(); ++i)
    xs[i] = f(Located(xs[i], call.loc), Located(ys[i], call.loc));
  Replace(tree, xs);
}

}  // namespace

void ApplyUpdates(TreeRef params, TreeRef updates, Loc loc) {
  const Call call{"apply_updates", loc};
  Combine(params, updates, "updates", call,
          [&](const Located& p, const Located& u) { return Convert(p + u, p.dtype(), call); });
}

void MoveTowards(TreeRef average, TreeRef params, const Array& step_size, Loc loc) {
  const Call call{"incremental_update", loc};
  const Located step(step_size, loc);
  Combine(average, params, "averages", call, [&](const Located& old, const Located& x) {
    return Convert(step * Wide(x) + (1.0 - step) * Wide(old), old.dtype(), call);
  });
}

Array GlobalNorm(TreeRef tree, const AxisSet& axes, Loc loc) {
  trace::UseAll(tree, "tree", "global_norm", loc);
  std::optional<Located> total;
  for (const Array& x : LeavesOf(tree)) {
    const Located squares = SumOfSquares({x, loc}, axes);
    total = total ? *total + squares : squares;
  }
  return total ? Sqrt(*total) : Located(StrongScalar(0, f32, {"global_norm", loc}), loc);
}

Array AllFinite(TreeRef tree, const AxisSet& axes, Loc loc) {
  trace::UseAll(tree, "tree", "all_finite", loc);
  return api::AllFinite(LeavesOf(tree), axes, {"all_finite", loc});
}

}  // namespace detail
}  // namespace tessera
