// Specs by patterns of names.
#include <fmt/format.h>

#include "api/core/operands.h"
#include "base/near_names.h"
#include "base/pattern.h"
#include "tessera/specs.h"

namespace tessera {

using namespace api;

ParameterSpecs spec_by_name(std::vector<std::pair<std::string, PartitionSpec>> rows, Loc loc) {
  return [rows = std::move(rows), loc](const std::string& name, const Array&) {
    for (const auto& [pattern, spec] : rows)
      if (base::Matches(pattern, name)) return spec;
    std::vector<std::string> patterns;
    for (const auto& [pattern, spec] : rows) patterns.push_back(pattern);
    std::vector<std::string> notes = {"a last row {\"*\", P()} matches all others"};
    for (const std::string& near : base::NearNames(std::move(patterns), name, 1))
      notes.insert(notes.begin(), fmt::format("the nearest pattern is \"{}\"", near));
    FailSharding({"spec_by_name", loc}, 17, fmt::format("no pattern matches \"{}\"", name),
                 std::move(notes));
  };
}

}  // namespace tessera
