// Traces functions of the user's, and applies ops to regions.
#include "api/regions.h"

#include <fmt/format.h>

#include "base/error.h"
#include "tessera/sharding.h"
#include "trace/inline.h"
#include "trace/scopes.h"

namespace tessera::api {

detail::Result CallTransformed(const detail::FunctionCall& f, const detail::Jit& kept,
                               const detail::Body& in_trace, Call call) {
  const std::vector<Array> arrays = detail::LeavesOf(f.arguments);
  if (trace::InsideTrace(RefsOf(arrays, call))) return in_trace(arrays);
  return kept.Call({f.arguments, in_trace, f.loc});
}

trace::TracedFunction TraceRegion(const std::vector<const ir::Type*>& types, const detail::Body& f,
                                  Call call) {
  std::vector<trace::Parameter> parameters;
  for (const ir::Type* type : types) parameters.push_back({type, call.loc});
  return trace::TraceFunction(parameters, f, call.name, call.loc, trace::CurrentTrace());
}

std::vector<Array> ApplyRegions(const ir::OpDef& op, ir::ParamsPtr params,
                                const std::vector<ArrayRef>& constants,
                                const std::vector<Array>& arguments,
                                std::vector<trace::TracedFunction>& regions, Call call) {
  trace::Application a{.op = op, .params = std::move(params), .operands = {}, .loc = call.loc};
  a.operands.assign(constants.begin(), constants.end());
  for (const Array& x : arguments) a.operands.push_back(trace::Use(x, call.name, call.loc));
  for (trace::TracedFunction& r : regions)
    a.regions.push_back(std::make_shared<const ir::Program>(std::move(r.program)));
  return trace::Apply(a);
}

std::string Edit(const ir::Type& from, const ir::Type& to, const std::string& name) {
  if (from.shape() != to.shape()) return "";
  std::string text = name;
  if (from.dtype() != to.dtype()) text += fmt::format(".astype({})", to.dtype().name());
  if (from.sharding() != to.sharding())
    text = fmt::format("reshard({}, {})", text, ArrayType(&to).spec().text());
  return text;
}

ErrorOperand Shown(const std::string& name, const ir::Type& type, Loc loc) {
  return {name, type.text(), loc.line() > 0 ? base::Where(loc) : ""};
}

}  // namespace tessera::api
