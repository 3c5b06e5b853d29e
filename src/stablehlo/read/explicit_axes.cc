// Types of operations from their operands, or from the constraints that follow.
#include "stablehlo/read/explicit_axes.h"

#include <algorithm>
#include <exception>
#include <functional>

#include "base/at.h"
#include "tessera/modes.h"

namespace tessera::stablehlo {
namespace {

// Returns the results, or nothing if the operation is refused.
std::optional<Arrays> Tried(const std::function<Arrays()>& read) {
  try {
    return read();
  } catch (const Error&) {
    return {};
  }
}

}  // namespace

sharding::TensorSharding Over(AxisMode mode, const sharding::MeshDef& modes,
                              sharding::TensorSharding s) {
  const auto keep = [&](sharding::AxisList& axes) {
    const auto has_mode = [&](sharding::AxisPart a) {
      return base::At(modes.axes(), a.axis).mode == mode;
    };
    axes.erase(std::stable_partition(axes.begin(), axes.end(), has_mode), axes.end());
  };
  for (sharding::DimAxes& d : s.dims) keep(d.axes);
  keep(s.unreduced);
  keep(s.replicated);
  return s;
}

sharding::TensorSharding OverExplicit(const sharding::MeshDef& modes, sharding::TensorSharding s) {
  s = Over(AxisMode::Explicit, modes, std::move(s));
  s.mesh = &modes;
  s.replicated.clear();
  for (sharding::DimAxes& d : s.dims) d.open = false, d.priority = -1;
  return s;
}

Arrays ReadStated(const OpReader& reader, ReadCall& call,
                  const std::vector<PartitionSpec>& stated) {
  std::exception_ptr refusal;
  try {
    return reader.read(call);
  } catch (const ShardingError&) {
    if (stated.empty()) throw;
    refusal = std::current_exception();
  }
  if (stated.size() == 1) {
    call.set_out_sharding(stated[0]);
    const std::optional<Arrays> results = Tried([&] { return reader.read(call); });
    call.set_out_sharding({});
    if (results) return *results;
  }
  // Ops without an out_sharding: typed without shardings, then laid out.
  const auto plain = [&](const Arrays& operands) {
    call.in = operands;
    return reader.read(call);
  };
  const AutoAxesOptions options{.out_sharding =
                                    Specs(std::vector<Specs>(stated.begin(), stated.end()))};
  const std::optional<Arrays> results =
      Tried([&] { return auto_axes(plain, options, call.loc())(Arrays(call.in)); });
  if (!results) std::rethrow_exception(refusal);
  return *results;
}

}  // namespace tessera::stablehlo
