// Optimisers of optimisers: micro-steps, shards, and steps that are skipped.
#include <absl/algorithm/container.h>
#include <absl/strings/match.h>
#include <fmt/format.h>

#include "api/core/reshard_to.h"
#include "api/core/specs.h"
#include "api/optimisers/optimiser.h"
#include "base/error.h"
#include "tessera/propagation_hints.h"

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
    slots.Add("gradients", params, FullLike(params, o.accumulator_dtype));
    InitChain(inner, params, slots.Inner());
  };
  const auto begin = [=](const Parameters& params, const Slots& slots) -> ArraysStep {
    const Located step = slots.Get("step"), is_last = step == k - 1;
    const StepIf inner_step(inner, params, slots.Inner());
    return [=](std::vector<Array>& updates) {
      std::vector<Located> sums;
      for (size_t i = 0; i < updates.size(); ++i) {
        const Located g = Wide(Located(updates[i], params.call.loc)),
                      sum = slots.Get("gradients", params, i);
        const Located own = sum.With(Convert(step + 1, sum.dtype(), params.call));
        sums.push_back(o.use_grad_mean ? sum + (g - sum) / own : g + sum);
        updates[i] = sums[i];
      }
      inner_step(is_last, updates);
      slots.Set("step", If(is_last, 0, step + 1));
      for (size_t i = 0; i < sums.size(); ++i)
        slots.Set("gradients", params, i, If(is_last, 0.0, sums[i]));
    };
  };
  return {.name = kMicroSteps, .init = init, .begin = begin, .counts_steps = false};
}

// ---- sharded states ----

constexpr char kSharded[] = "sharded", kParams[] = "params";

// Returns x where it does not get the axes of the state: over Auto axes they would spread to the
// parameters and to the computation of gradients.
Array Kept(const Array& x, Call call) {
  return propagation_barrier(x, propagation::Direction::kForward, call.loc);
}

// The specs of a sharded state, one for each parameter.
class ShardSpecs {
 public:
  explicit ShardSpecs(Specs specs) : specs_(std::move(specs)) {}
  explicit ShardSpecs(ParameterSpecs of) : of_(std::move(of)) {}

  // Returns the parameters laid out as their states.
  Parameters OnShards(const Parameters& params) const {
    const Call call{kSharded, params.call.loc};
    const std::vector<PartitionSpec> specs = For(params, call);
    const sharding::MeshDef* mesh = MeshInScope(params.arrays);
    const bool constrains = mesh && mesh->has_mode(AxisMode::Auto);
    Parameters shards = params;
    shards.constraints.clear();  // of another `sharded` around this one
    for (size_t i = 0; i < params.count(); ++i) {
      const auto lay_out = [&] {
        if (!constrains) return ReshardTo(params.arrays[i], specs[i], call);
        CheckSpec(params.arrays[i], specs[i], mesh, call);
        shards.constraints.push_back(PartOfSpec(specs[i], mesh, SpecPart::kHints));
        const Array x =
            ReshardTo(params.arrays[i], PartOfSpec(specs[i], mesh, SpecPart::kTyped), call);
        return Constrained(Kept(x, call), shards.constraints[i], call);
      };
      try {
        shards.arrays[i] = lay_out();
      } catch (const ShardingError& e) {
        base::ThrowSharding(OfParameter(e.detail(), params, i));
      }
    }
    return shards;
  }

 private:
  std::vector<PartitionSpec> For(const Parameters& params, Call call) const {
    if (!of_) return LeavesFor(specs_, params.tree, {.option = "specs", .tree = kParams}, call);
    std::vector<PartitionSpec> all;
    for (size_t i = 0; i < params.count(); ++i)
      all.push_back(of_(params.names[i], params.arrays[i]));
    return all;
  }

  // C1, C7: throws ShardingError. Constraints alone do not check that the axes divide the dims.
  static void CheckSpec(const Array& x, const PartitionSpec& spec, const sharding::MeshDef* mesh,
                        Call call) {
    const sharding::Resolved all = sharding::Resolve(spec, mesh, Rank(x));
    if (all.problem) FailSharding(call, 1, all.problem->reason, {"spec: " + spec.text()});
    CheckDivides(TypeOf(x), all.sharding, call);
  }

  // Returns the error of one array as an error of parameter i. Its fixes are of the whole tree.
  ErrorDetail OfParameter(ErrorDetail detail, const Parameters& params, size_t i) const {
    const detail::Path path = detail::OutlineOf(params.tree).arrays[i];
    const std::string name = trace::NameOf(params.tree, kParams, path);
    std::erase_if(detail.notes, [](const std::string& n) { return n.starts_with("operand: "); });
    const Array& x = params.arrays[i];
    detail.operands = {{name, TypeOf(x)->text(), base::Where(x.impl()->loc())}};
    for (Fix& fix : detail.fixes) {
      const std::string code = of_ ? "" : CodeWith(specs_, params.tree, path, fix.spec);
      fix.text = (code.empty() ? fmt::format("{} for {}", fix.spec.text(), InSentence(name))
                               : fmt::format("sharded(optimiser, {})", code)) +
                 fix.text.substr(std::min(fix.text.find("   "), fix.text.size()));
    }
    return detail;
  }

  Specs specs_;
  ParameterSpecs of_;
};

// Returns the gradient of parameter i where its state is.
Array Scattered(const Array& gradient, const Parameters& shards, size_t i) {
  const auto name = [&] { return trace::TakeArrays(shards.tree, "gradients").names[i]; };
  const PartitionSpec spec = type_of(shards.arrays[i]).spec();
  const Call call{kSharded, shards.call.loc};
  const Array x = ReshardNamed(gradient, spec, call, name);
  return shards.constraints.empty() ? x : shards.Constrained(i, Kept(x, call));
}

// Returns the update of parameter i where the parameter is. Types do not show its place over Auto
// axes, so the update is whole over those of the state.
Array GatheredTo(const Array& update, const Parameters& params, const Parameters& shards,
                 size_t i) {
  const Call call{kSharded, params.call.loc};
  Array whole = update;
  if (!shards.constraints.empty()) {
    std::vector<AxisRef> axes;
    for (const DimSharding& d : shards.constraints[i].dims())
      axes.insert(axes.end(), d.axes().begin(), d.axes().end());
    const PartitionSpec open(std::vector<DimSharding>(ShapeOf(update).size(), Open()));
    whole = Constrained(whole, open.replicated(AxisSet(axes)), call);
  }
  return ReshardTo(whole, type_of(params.arrays[i]).spec(), call);
}

GradientTransformation Sharded(const Optimiser& inner, const ShardSpecs& specs) {
  const auto init = [=](const Parameters& params, const Slots& slots) {
    InitChain(inner, specs.OnShards(params), slots.Inner());
  };
  const auto begin = [=](const Parameters& params, const Slots& slots) -> ArraysStep {
    const Parameters shards = specs.OnShards(params);
    const ArraysStep step = BeginChain(inner, shards, slots.Inner());
    return [=](std::vector<Array>& updates) {
      const std::vector<Array> given = updates;
      for (size_t i = 0; i < updates.size(); ++i) updates[i] = Scattered(updates[i], shards, i);
      step(updates);
      updates = InDTypesOf(given, params, updates);  // narrow ones are half as many bytes to send
      for (size_t i = 0; i < updates.size(); ++i)
        updates[i] = GatheredTo(updates[i], params, shards, i);
    };
  };
  return {.name = kSharded, .init = init, .begin = begin, .reshards = true, .counts_steps = false};
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
      for (Array& u : updates) u = Wide(Located(u, params.call.loc)) / scale;
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

Optimiser sharded(Optimiser optimiser, Specs specs) {
  return OfParts({Sharded(optimiser, ShardSpecs(std::move(specs)))});
}
Optimiser sharded(Optimiser optimiser, ParameterSpecs specs) {
  return OfParts({Sharded(optimiser, ShardSpecs(std::move(specs)))});
}

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
  // Wrappers, such as multi_steps, put their names before the names inside.
  const std::string name = fmt::format("{}.{}", kLossScale, kScale);
  const auto found = absl::c_find_if(state, [&](const auto& slot) {
    return slot.first == name || absl::EndsWith(slot.first, "." + name);
  });
  if (found == state.end())
    FailTrace({"loss_scale", loc}, 2, "the state has no loss scale",
              {"make the state by an optimiser of dynamic_loss_scale"});
  return found->second;
}

}  // namespace tessera
