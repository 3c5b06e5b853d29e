// Explains the shardings of propagated programs, dumps them, and pins them to a dump.
#include "compile/inspect/explain.h"

#include <absl/algorithm/container.h>
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

namespace {

[[noreturn]] void FailUnknown(const compile::ValueNames& values, std::string_view value, Loc loc) {
  base::ThrowRuntime(base::Refusal(
      "explain", 1, base::Where(loc),
      fmt::format("the program has no value \"{}\"{}", value, values.Suggestion(value)),
      {values.are_of_text()
           ? "values have their names in the text, such as %3 or @relu/%0, and arguments also "
             "those of JAX"
           : "name it in the function with named(x, \"name\"), or use a number from the program "
             "text"}));
}

}  // namespace

std::string explain(const Program& program, std::string_view value, propagation::Stage stop_after,
                    Loc loc) {
  compile::ProgramExplainer explainer(*program.program(), stop_after);
  const std::vector<const compile::ValueNames::Entry*> found = explainer.values().Find(value);
  if (found.empty()) FailUnknown(explainer.values(), value, loc);
  std::vector<std::string> all;  // values that are alike are told once
  std::string text;
  for (size_t k = 0; k < found.size(); ++k) {
    std::string one = explainer.Of(*found[k]).text;
    if (absl::c_linear_search(all, one)) continue;
    if (!all.empty()) text += fmt::format("# {}, {} of {}\n", value, k + 1, found.size());
    text += one;
    all.push_back(std::move(one));
  }
  return all.size() == 1 ? text : fmt::format("# {}, 1 of {}\n", value, found.size()) + text;
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
