// Explains the shardings of propagated programs, dumps them, and pins them to a dump.
#include "compile/inspect/explain.h"

#include <fmt/format.h>

#include "api/core/operands.h"
#include "base/error.h"
#include "compile/auto/pins.h"
#include "compile/auto/sharding_dump.h"
#include "tessera/explain.h"
#include "trace/scopes.h"

namespace tessera {

using namespace api;

Array named(Operand x, std::string_view name, Loc loc) {
  Array a = ToArray(x, {"named", loc});
  if (a.is_traced()) {
    auto* traced = static_cast<const trace::TracedArray*>(trace::Use(a, "named", loc).get());
    traced->trace->Name(std::string(name), traced->value);
  }
  return a;
}

std::string explain(const Program& program, std::string_view value, propagation::Stage stop_after,
                    Loc loc) {
  compile::ProgramExplainer explainer(*program.program(), stop_after);
  const compile::ValueNames::Entry* e = explainer.values().Find(value);
  if (!e)
    base::ThrowRuntime(base::Refusal("explain", 1, base::Where(loc),
                                     fmt::format("the program has no value \"{}\"{}", value,
                                                 explainer.values().Suggestion(value)),
                                     {"name it in the function with named(x, \"name\"), or use a "
                                      "number from the program text"}));
  return explainer.Of(*e).text;
}

std::vector<Explanation> explain_all(const Program& program, propagation::Stage stop_after) {
  compile::ProgramExplainer explainer(*program.program(), stop_after);
  std::vector<Explanation> all;
  for (const compile::ValueNames::Entry& e : explainer.values().entries())
    all.push_back(explainer.Of(e));
  return all;
}

std::string dump_shardings(const Program& program) { return compile::Dump(*program.program()); }

PinShardings::PinShardings(std::string_view text, Loc loc) : old_(compile::PinnedShardings()) {
  if (!compile::IsDump(text))
    base::ThrowRuntime(base::Refusal(
        "PinShardings", 1, base::Where(loc), "the text is not a dump of dump_shardings",
        {"its lines are like `%3 dot_general f32[8,64] : <@mesh, [{\"x\"}, {}]>`"}));
  compile::SetPinnedShardings(std::string(text));
}
PinShardings::~PinShardings() { compile::SetPinnedShardings(old_); }

}  // namespace tessera
