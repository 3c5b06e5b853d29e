// Host functions are called at once outside of traces, and by the program inside of one.
#include "api/control/host_calls.h"

#include <absl/algorithm/container.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "compile/host/host_array.h"
#include "ir/host_notes.h"
#include "ops/host_call.h"
#include "trace/apply.h"
#include "trace/inline.h"

namespace tessera::api {

bool HasTypesAlone(const std::vector<trace::ArrayRef>& arrays) {
  return absl::c_any_of(
      arrays, [](const trace::ArrayRef& a) { return a->kind() == trace::ArrayImpl::kAbstract; });
}

void CallHost(const std::shared_ptr<const ir::HostFunction>& f,
              const std::vector<trace::ArrayRef>& refs, CallbackOptions options, Call call) {
  if (trace::InsideTrace(refs)) {
    trace::Apply({.op = ops::CallbackOp(options.ordered),
                  .params = ir::MakeParams(ir::HostCallParams{{f}}),
                  .operands = {refs.begin(), refs.end()},
                  .loc = call.loc,
                  .shown_as = call.name});
    return;
  }
  if (HasTypesAlone(refs)) return;
  ir::HostArguments arguments;
  for (const trace::ArrayRef& a : refs)
    arguments.values.push_back(compile::ArgumentOf(static_cast<const trace::ConcreteArray&>(*a)));
  f->Run(arguments);
}

std::vector<std::string> PlaceNotes(const ir::HostArguments& arguments, size_t mesh_position,
                                    const std::vector<int64_t>& index) {
  std::vector<std::string> notes = ir::IterationNotes(arguments), where;
  if (!index.empty()) where.push_back(fmt::format("element [{}]", fmt::join(index, ", ")));
  const std::string device =
      ir::DeviceNote(arguments, *arguments.values[0].place, static_cast<int64_t>(mesh_position));
  if (!device.empty()) where.push_back(device);
  if (!where.empty()) notes.insert(notes.begin(), fmt::format("{}", fmt::join(where, ", ")));
  return notes;
}

}  // namespace tessera::api
