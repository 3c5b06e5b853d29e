// Refuses options whose leaves do not match the arrays of a tree.
#include "api/core/specs.h"

#include <fmt/format.h>

#include "base/error.h"

namespace tessera::api {

namespace {
[[noreturn]] void FailOption(int check, std::string reason, Said said, Call call) {
  std::vector<std::string> notes = {
      fmt::format("give one {0} for all, or one for each, nested like the arrays", said.leaf)};
  if (said.of_dims) FailShape(call, check, std::move(reason), std::move(notes));
  FailSharding(call, check, std::move(reason), std::move(notes));
}
}  // namespace

void FailLeaf(size_t parts, Said said, Call call) {
  std::string reason =
      parts > 0 ? fmt::format(".{} has {} {}s for one array", said.option, parts, said.leaf)
                : fmt::format(".{} has no {} for one of the arrays", said.option, said.leaf);
  FailOption(13, std::move(reason), said, call);
}

void FailParts(size_t given, size_t parts, Said said, Call call) {
  FailOption(16,
             fmt::format(".{} has {} for {}", said.option, base::CountText(given, said.leaf),
                         base::CountText(parts, "value")),
             said, call);
}

}  // namespace tessera::api
