// checkpoint: a call of a function whose derivative recomputes values.
#include "tessera/checkpoint.h"

#include <fmt/format.h>

#include <set>

#include "api/core/operands.h"
#include "api/core/regions.h"
#include "base/error.h"
#include "ops/calls.h"
#include "trace/inline.h"
#include "trace/scopes.h"

namespace tessera {

using namespace api;

namespace {

void AddNames(const ir::Program& program, std::set<std::string>& names) {
  for (const auto& [name, v] : program.names) names.insert(name);
  for (const ir::Instruction& i : program.instructions)
    for (const ir::RegionPtr& r : i.regions) AddNames(*r, names);
}

// C3: refuses a name in the options that no value has.
void CheckKeptNames(const CheckpointOptions& options, const ir::Program& program, Call call) {
  std::set<std::string> names;
  AddNames(program, names);
  for (const std::string& wanted : options.names)
    if (!names.count(wanted))
      FailTrace(call, 3, "no value in the function is named " + base::Quote(wanted),
                {names.empty() ? "mark it with named(value, " + base::Quote(wanted) + ")"
                               : fmt::format("its named values: {}", fmt::join(names, ", "))});
}

}  // namespace

namespace detail {

std::string Checkpoint::TextOf(const CheckpointOptions& options) {
  return ir::MakeParams(ops::CheckpointParams{options.save, options.names})->text();
}

FunctionResult Checkpoint::Call(const FunctionCall& f) const {
  const api::Call call{"checkpoint", f.loc};
  const CallArguments arguments(f, call);
  if (!trace::InsideTrace(arguments.refs)) return f.body(arguments.leaves.arrays);
  std::vector<trace::TracedFunction> regions;
  regions.push_back(TraceRegion(arguments.types, f.body, call));
  FunctionResult result{{}, regions[0].tree};
  if (HasNoResultOrEffect(regions)) return result;
  const std::vector<trace::ArrayRef> constants = trace::CloseRegions(regions);
  CheckKeptNames(options_, regions[0].program, call);
  ops::CheckpointParams params{options_.save, options_.names};
  result.arrays = ApplyRegions(ops::kCheckpoint, ir::MakeParams(std::move(params)), constants,
                               arguments.leaves.arrays, regions, call);
  return result;
}

}  // namespace detail
}  // namespace tessera
