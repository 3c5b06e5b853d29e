// Host functions are called at once outside of traces, and by the program inside of one.
#include "api/control/host_calls.h"

#include <absl/algorithm/container.h>

#include "compile/host/host_array.h"
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

}  // namespace tessera::api
