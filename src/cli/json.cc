// Writes JSON.
#include "cli/json.h"

#include <cstdio>

namespace tessera::cli {

std::string JsonText(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20 || c == '<' || c == '>' || c == '&') {
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\u%04x", byte);
      out += escape;
    } else {
      out += c;
    }
  }
  return out + '"';
}

int64_t TextTable::IndexOf(const std::string& text) {
  const auto [found, is_new] = indices_.try_emplace(text, static_cast<int64_t>(texts_.size()));
  if (is_new) texts_.push_back(text);
  return found->second;
}

std::string TextTable::Json() const {
  JsonArray array;
  for (const std::string& text : texts_) array.Add(JsonText(text));
  return array.Json();
}

}  // namespace tessera::cli
