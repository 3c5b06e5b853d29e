// Patterns of names.
#pragma once
#include <string_view>

namespace tessera::base {

// Whether the name matches the pattern, in which * matches any text.
inline bool Matches(std::string_view pattern, std::string_view name) {
  const size_t star = pattern.find('*');
  if (star == std::string_view::npos) return name == pattern;
  if (!name.starts_with(pattern.substr(0, star))) return false;
  const std::string_view rest = pattern.substr(star + 1);
  for (size_t at = star; at <= name.size(); ++at)
    if (Matches(rest, name.substr(at))) return true;
  return false;
}

}  // namespace tessera::base
