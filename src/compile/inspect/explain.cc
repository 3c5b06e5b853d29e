// Propagates a program with its events recorded, and explains one named value after the other.
#include "compile/inspect/explain.h"

#include <absl/algorithm/container.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/at.h"
#include "base/error.h"
#include "compile/auto/sharding_dump.h"
#include "compile/lowered.h"
#include "propagation/border.h"
#include "propagation/priorities.h"
#include "propagation/propagate.h"
#include "sharding/text.h"

namespace tessera::compile {
namespace {

Propagated Propagate(const ir::Program& program, propagation::Stage stop_after) {
  if (program.per_device) base::ThrowRuntime(base::Refusal("explain", 2, "", kOfDevice));
  propagation::engine::EngineOptions options;
  options.stop_after = stop_after;
  options.record = true;
  return PropagateProgram(program, options);
}

// Describes a value over Manual axes, as a device of shard_map has it.
std::vector<std::string> BlockText(const sharding::TensorSharding& type) {
  if (!type.mesh || !type.mesh->has_mode(AxisMode::Manual)) return {};
  std::vector<std::string> all, varying, same;
  for (int a = 0; a < type.mesh->rank(); ++a) {
    const MeshAxis& axis = base::At(type.mesh->axes(), a);
    if (axis.mode != AxisMode::Manual) continue;
    const bool varies =
        absl::c_any_of(type.varying, [&](sharding::AxisPart part) { return part.axis == a; });
    all.push_back(fmt::format("\"{}\"", axis.name));
    (varies ? varying : same).push_back(all.back());
  }
  std::vector<std::string> lines{
      fmt::format("a local block in a shard_map over {}", fmt::join(all, ", "))};
  if (!varying.empty())
    lines.push_back(fmt::format("it varies over {}: devices along {} have their own values",
                                fmt::join(varying, ", "), varying.size() > 1 ? "them" : "it"));
  if (!same.empty())
    lines.push_back(fmt::format("it does not vary over {}: devices along {} have the same values",
                                fmt::join(same, ", "), same.size() > 1 ? "them" : "it"));
  return lines;
}

}  // namespace

ProgramExplainer::ProgramExplainer(const ir::Program& program, propagation::Stage stop_after)
    : propagated_(Propagate(program, stop_after)), values_(propagated_.built) {
  auto info = [this](propagation::OpId i) -> const ProgramGraph::OpInfo& {
    return propagated_.built.ops[i];
  };
  names_.value = [this](propagation::ValueId v) { return values_.Text(v); };
  names_.op = [=](propagation::OpId i) {
    if (info(i).instruction) return std::string(info(i).instruction->op->name);
    const ir::Instruction* edge = info(i).edge_of;
    if (!edge) return std::string("return");
    return (edge->regions.empty() ? "" : "the border of ") + std::string(edge->op->name);
  };
  names_.where = [=](propagation::OpId i) {
    const ir::Instruction* at = info(i).instruction ? info(i).instruction : info(i).edge_of;
    return at ? base::Where(at->loc) : std::string();
  };
  names_.given = [this](propagation::ValueId v, const std::string& maker) {
    return maker.empty() ? "the layout of argument " + values_.Text(v)
                         : "the type of the result of " + maker;
  };
  names_.block = [this](propagation::ValueId v) {
    const ValueNames::Entry* e = values_.First(v);
    return e ? BlockText(e->type->sharding()) : std::vector<std::string>();
  };
  if (values_.are_of_text()) names_.open = "P.UNCONSTRAINED", names_.has_priorities = false;
  if (stop_after >= propagation::Stage::kOpPriority)
    names_.rounds = propagation::engine::DefaultRoundNames();
  explainer_.emplace(propagated_.result, names_);
}

namespace {

// Returns a line that states the final place, if it differs from the place that propagation chose;
// else "".
std::string LineOfPlace(const Propagated& propagated, const ValueNames::Entry& e) {
  const sharding::TensorSharding* s = propagated.result.sharding(e.id);
  if (!s) return "";
  const sharding::TensorSharding closed = propagation::engine::Closed(*s),
                                 place = PlaceOf(propagated, e);
  if (place.dims == closed.dims) return "";
  const bool enters = place.dims != OverParts(closed, e.type->shape(), propagated.over_parts).dims;
  return fmt::format("  its final sharding is {}, {}\n", Text(place),
                     enters
                         ? "as an argument: it is laid out further inside"
                         : "over the part of its axes that divides, which costs less than padding");
}

}  // namespace

Explanation ProgramExplainer::Of(const ValueNames::Entry& e) {
  const sharding::TensorSharding* s = propagated_.result.sharding(e.id);
  std::string text = explainer_->Explain(e.id);
  text.insert(std::min(text.find('\n'), text.size() - 1) + 1, LineOfPlace(propagated_, e));
  return {values_.Number(e), s ? Text(*s) : std::string(), std::move(text)};
}

}  // namespace tessera::compile
