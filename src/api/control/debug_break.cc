// debug_break: stops in a debugger where a predicate holds.
#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <cstdio>

#include "api/core/elements.h"
#include "api/core/operands.h"
#include "base/error.h"
#include "tessera/debug.h"

namespace tessera {

using namespace api;

namespace {

void Stop(Loc loc, const std::string& what) {
  std::fflush(stdout);  // output of the program comes first
  std::fprintf(stderr, "%s: debug_break: %s\n", base::Where(loc).c_str(), what.c_str());
  std::raise(SIGTRAP);
}

// Returns "element [2,0] of bool[4@x,8] is true".
std::string Position(const Array& predicate, int64_t element) {
  const base::Shape& shape = TypeOf(predicate)->shape();
  if (shape.empty()) return "the predicate is true";
  std::string index;
  for (size_t d = shape.size(); d-- > 0; element /= shape[d])
    index = fmt::format("{}{}{}", element % shape[d], index.empty() ? "" : ",", index);
  return fmt::format("element [{}] of {} is true", index, TypeOf(predicate)->text());
}

void StopWhereTrue(const Array& predicate, Loc loc) {
  const std::vector<bool> elements = predicate.to_vector<bool>(loc);
  const auto first = std::find(elements.begin(), elements.end(), true);
  if (first != elements.end()) Stop(loc, Position(predicate, first - elements.begin()));
}

}  // namespace

void debug_break(const Array& predicate, Loc loc) {
  const Call call{"debug_break", loc};
  const ir::Type* type = trace::Use(predicate, call.name, loc)->type();
  if (!type->dtype().is_bool())
    FailDType(call, 1, fmt::format("the predicate must be a bool, not {}", type->text()),
              {"write a comparison, such as isnan(x)"});
  debug_callback([loc](const Array& x) { StopWhereTrue(x, loc); }, {predicate}, {}, loc);
}

void debug_break(bool predicate, Loc loc) {
  if (predicate) Stop(loc, "the predicate is true");
}

}  // namespace tessera
