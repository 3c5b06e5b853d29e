// Finds the spec, or another leaf, of each array of a tree among those that are nested like it.
#include "frontend/specs.h"

#include <fmt/format.h>

#include "base/error.h"

namespace tessera::frontend {

void FailLeaf(size_t parts, Said said, Call call) {
  std::string reason =
      parts > 0 ? fmt::format(".{} has {} {}s for one array", said.option, parts, said.leaf)
                : fmt::format(".{} has no {} for one of the arrays", said.option, said.leaf);
  FailSharding(
      call, 13, std::move(reason),
      {fmt::format("give one {0} for all, or one for each, nested like the arrays", said.leaf)});
}

void FailParts(size_t given, size_t parts, Said said, Call call) {
  FailSharding(
      call, 16,
      fmt::format(".{} has {} for {}", said.option, base::CountText(given, said.leaf),
                  base::CountText(parts, "value")),
      {fmt::format("give one {0} for all, or one for each, nested like the arrays", said.leaf)});
}

}  // namespace tessera::frontend
