// Splits a template into blocks and fills them in.
#include "cli/template.h"

namespace tessera::cli {

Template::Template(std::string_view text) {
  constexpr std::string_view kBegin = "=== ";
  while (text.starts_with(kBegin)) {
    const size_t line_end = text.find('\n'), next = text.find("\n=== ", line_end);
    const std::string name(text.substr(kBegin.size(), line_end - kBegin.size()));
    std::string_view block = text.substr(line_end + 1, next - line_end - 1);
    text = next == text.npos ? "" : text.substr(next + 1);
    if (text.empty() && block.ends_with('\n')) block.remove_suffix(1);
    blocks_[name] = block;
  }
}

std::string Template::Fill(const std::string& block,
                           const std::map<std::string, std::string>& fields) const {
  const std::string& text = blocks_.at(block);
  std::string out;
  size_t at = 0;
  for (size_t open; (open = text.find("{{", at)) != text.npos;) {
    const size_t name = open + 2, close = text.find("}}", name);
    out += text.substr(at, open - at) + fields.at(text.substr(name, close - name));
    at = close + 2;
  }
  return out + text.substr(at);
}

}  // namespace tessera::cli
