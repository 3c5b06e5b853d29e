// Queries of locations.
#include "stablehlo/text/locations.h"

#include <algorithm>

namespace tessera::stablehlo {
namespace {

// Locations share parts, so all parts of one may be many more than the text has.
constexpr size_t kMostParts = 512;

bool IsInstalled(std::string_view file) {
  for (const char* part : {"/site-packages/", "/dist-packages/", "/jax/_src/", "/jaxlib/"})
    if (file.find(part) != std::string_view::npos) return true;
  return file.starts_with('<');
}

}  // namespace

std::vector<LocationNumber> Locations::Inside(LocationNumber number) const {
  const Location& location = all[number];
  std::vector<LocationNumber> inside;
  if (location.kind == Location::Kind::kFused) {
    const auto begin = fused.begin() + location.first;
    inside.assign(begin, begin + location.second);
  } else {
    if (location.first != kNoLocation) inside.push_back(location.first);
    if (location.second != kNoLocation) inside.push_back(location.second);
  }
  return inside;
}

std::vector<LocationNumber> Locations::Parts(LocationNumber number) const {
  std::vector<LocationNumber> parts, open;
  if (number != kNoLocation) open.push_back(number);
  while (!open.empty() && parts.size() < kMostParts) {
    parts.push_back(open.back());
    open.pop_back();
    const size_t begin = open.size();
    for (LocationNumber inside : Inside(parts.back()))
      if (open.size() < 2 * kMostParts) open.push_back(inside);
    std::reverse(open.begin() + static_cast<long>(begin), open.end());
  }
  return parts;
}

UserLine Locations::LineOf(LocationNumber number) const {
  UserLine innermost;
  for (LocationNumber part : Parts(number)) {
    const Location& location = all[part];
    if (location.kind != Location::Kind::kFile) continue;
    if (!IsInstalled(location.range.file)) return {location.range, true};
    if (innermost.range.file.empty()) innermost.range = location.range;
  }
  return innermost;
}

std::string_view Locations::NameStack(LocationNumber number) const {
  // Names further inside are those of Python functions.
  while (number != kNoLocation && all[number].kind == Location::Kind::kFused)
    number = all[number].second > 0 ? fused[all[number].first] : kNoLocation;
  const bool is_name = number != kNoLocation && all[number].kind == Location::Kind::kName;
  return is_name ? all[number].range.file : "";
}

LocationNumber Locations::FindCycle() const {
  enum Mark : uint8_t { kNew, kOpen, kDone };
  std::vector<Mark> marks(all.size(), kNew);
  std::vector<LocationNumber> open;
  // Aliases are the last locations to be defined, so a cycle is met first at one of them.
  for (LocationNumber start = 0; start < all.size(); ++start) {
    if (marks[start] == kNew) open.push_back(start);
    while (!open.empty()) {
      const LocationNumber at = open.back();
      if (marks[at] != kNew) {
        marks[at] = kDone;
        open.pop_back();
        continue;
      }
      marks[at] = kOpen;
      for (LocationNumber inside : Inside(at)) {
        if (marks[inside] == kOpen) return inside;
        if (marks[inside] == kNew) open.push_back(inside);
      }
    }
  }
  return kNoLocation;
}

}  // namespace tessera::stablehlo
