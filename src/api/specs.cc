// Finds the spec of each array of a tree among specs that are nested like it.
#include "api/specs.h"

#include <fmt/format.h>

namespace tessera {

const Specs* Specs::Find(const detail::Path& path) const {
  const Specs* at = this;
  for (size_t i : path) {
    if (at->parts_.empty()) break;
    if (i >= at->parts_.size()) return nullptr;
    at = &at->parts_[i];
  }
  return at;
}

const PartitionSpec* Specs::At(const detail::Path& path) const {
  const Specs* at = Find(path);
  return at && at->parts_.empty() ? &at->spec_ : nullptr;
}

size_t Specs::PartsAt(const detail::Path& path) const {
  const Specs* at = Find(path);
  return at ? at->parts_.size() : 0;
}

std::vector<PartitionSpec> Specs::All() const {
  if (parts_.empty()) return {spec_};
  std::vector<PartitionSpec> all;
  for (const Specs& part : parts_)
    for (PartitionSpec& spec : part.All()) all.push_back(std::move(spec));
  return all;
}

namespace api {

namespace {
constexpr const char* kNestSpecs = "give one spec for all, or one for each, nested like the arrays";
}  // namespace

const PartitionSpec& SpecOf(const Specs& specs, const detail::Path& path, const char* option,
                            Call call) {
  if (const PartitionSpec* spec = specs.At(path)) return *spec;
  std::string reason = fmt::format(".{} has no spec for one of the arrays", option);
  if (size_t parts = specs.PartsAt(path); parts > 0)
    reason = fmt::format(".{} has {} specs for one array", option, parts);
  FailSharding(call, 13, std::move(reason), {kNestSpecs});
}

void CheckParts(const Specs& specs, const detail::Outline& tree, const char* option, Call call) {
  for (const auto& [path, parts] : tree.nodes)
    if (size_t given = specs.PartsAt(path); given > parts)
      FailSharding(call, 16,
                   parts == 1 ? fmt::format(".{} has {} specs for 1 value", option, given)
                              : fmt::format(".{} has {} specs for {} values", option, given, parts),
                   {kNestSpecs});
}

}  // namespace api
}  // namespace tessera
