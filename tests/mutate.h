// Random edits of text and files, for tests of their readers.
#pragma once
#include <random>
#include <span>
#include <string>

namespace tessera {

// Returns `text` with one to four edits: a byte changed, bytes left out, a token put in or over.
inline std::string Mutated(std::string text, std::span<const char* const> tokens,
                           std::mt19937& engine) {
  auto below = [&](size_t n) { return std::uniform_int_distribution<size_t>(0, n - 1)(engine); };
  for (size_t edits = 1 + below(4); edits > 0 && !text.empty(); --edits) {
    const size_t at = below(text.size()), n = std::min(below(12), text.size() - at);
    switch (below(4)) {
      case 0:
        text[at] = static_cast<char>(below(256));
        break;
      case 1:
        text.erase(at, n);
        break;
      case 2:
        text.insert(at, tokens[below(tokens.size())]);
        break;
      default:
        text.replace(at, n, tokens[below(tokens.size())]);
    }
  }
  return text;
}

}  // namespace tessera
