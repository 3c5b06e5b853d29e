// Reads the words of StableHLO text.
#include "stablehlo/text/lexer.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/reader.h"
#include "stablehlo/text/unsupported.h"

namespace tessera::stablehlo {
namespace {

constexpr std::array<bool, 256> kIsWordLetter = [] {
  std::array<bool, 256> is{};
  for (int c = '0'; c <= '9'; ++c) is[static_cast<size_t>(c)] = true;
  for (int c = 'a'; c <= 'z'; ++c) is[static_cast<size_t>(c)] = true;
  for (int c = 'A'; c <= 'Z'; ++c) is[static_cast<size_t>(c)] = true;
  is['_'] = is['$'] = is['.'] = true;
  return is;
}();

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsHexDigit(char c) { return IsDigit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }

char ClosingOf(char open) {
  switch (open) {
    case '(':
      return ')';
    case '[':
      return ']';
    case '{':
      return '}';
    case '<':
      return '>';
    default:
      return '\0';
  }
}

}  // namespace

bool IsWordLetter(char c) { return kIsWordLetter[static_cast<unsigned char>(c)]; }

void FailInText(std::string_view text, Loc file, size_t place, std::string reason) {
  base::Reader reader(text, "stablehlo", file);
  reader.set_position(place);
  reader.Fail(std::move(reason));
}

void Lexer::Skip() {
  while (at_ < text_.size()) {
    const char c = text_[at_];
    if (c == ' ' || c == '\n' || c == '\t' || c == '\r')
      ++at_;
    else if (c == '/' && text_.substr(at_, 2) == "//")
      at_ = std::min(text_.find('\n', at_), text_.size());
    else
      break;
  }
}

bool Lexer::PeekIs(std::string_view token) {
  Skip();
  if (text_.substr(at_, token.size()) != token) return false;
  const size_t end = at_ + token.size();
  return !(IsWordLetter(token.back()) && end < text_.size() && IsWordLetter(text_[end]));
}

bool Lexer::Accept(std::string_view token) {
  if (!PeekIs(token)) return false;
  at_ += token.size();
  return true;
}

std::string_view Lexer::AcceptWord() {
  Skip();
  const size_t begin = at_;
  const char first = Here();
  if (!IsWordLetter(first) || IsDigit(first)) return {};
  while (at_ < text_.size()) {
    const char c = text_[at_];
    const bool joins = c == '-' && at_ + 1 < text_.size() && text_[at_ + 1] >= 'a';
    if (!IsWordLetter(c) && !joins) break;
    ++at_;
  }
  return Since(begin);
}

std::string_view Lexer::Word(const char* what) {
  const std::string_view word = AcceptWord();
  if (word.empty()) Fail(fmt::format("expected {}", what));
  return word;
}

std::string_view Lexer::Suffix() {
  const size_t begin = at_;
  while (at_ < text_.size() && (IsWordLetter(text_[at_]) || text_[at_] == '-')) {
    if (text_[at_] == '-' && text_.substr(at_, 2) == "->") break;
    ++at_;
  }
  if (at_ == begin) Fail("expected a name");
  return Since(begin);
}

std::string_view Lexer::Quoted() {
  Expect('"');
  const size_t begin = at_;
  while (true) {
    at_ = text_.find('"', at_);
    if (at_ == std::string_view::npos) FailAt(begin - 1, "this string has no closing quote");
    // An even number of backslashes before the quote are escaped backslashes.
    size_t slash = at_;
    while (slash > begin && text_[slash - 1] == '\\') --slash;
    ++at_;
    if ((at_ - 1 - slash) % 2 == 0) return text_.substr(begin, at_ - 1 - begin);
  }
}

bool Lexer::AtNumber() {
  const char c = Peek();
  return IsDigit(c) || (c == '-' && at_ + 1 < text_.size() && IsDigit(text_[at_ + 1]));
}

std::string_view Lexer::Number() {
  if (!AtNumber()) Fail("expected a number");
  const size_t begin = at_;
  if (Here() == '-') ++at_;
  const auto digits = [&] {
    while (IsDigit(Here())) ++at_;
  };
  if (Here() == '0' && at_ + 2 < text_.size() && text_[at_ + 1] == 'x' &&
      IsHexDigit(text_[at_ + 2])) {
    at_ += 2;
    while (IsHexDigit(Here())) ++at_;
    return Since(begin);
  }
  digits();
  if (Here() == '.') {
    ++at_;
    digits();
  }
  if (const char e = Here(); e == 'e' || e == 'E') {
    const size_t sign = at_ + 1;
    const bool has_sign = sign < text_.size() && (text_[sign] == '-' || text_[sign] == '+');
    const size_t digit = sign + (has_sign ? 1 : 0);
    if (digit < text_.size() && IsDigit(text_[digit])) {
      at_ = digit;
      digits();
    }
  }
  return Since(begin);
}

int64_t Lexer::Integer() {
  const size_t begin = at_;
  const std::string_view word = Number();
  int64_t value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error == std::errc::result_out_of_range) FailAt(begin, "the number needs more than 64 bits");
  if (error != std::errc() || end != word.data() + word.size())
    FailAt(begin, "expected an integer");
  return value;
}

uint32_t Lexer::SmallInteger() {
  const size_t begin = at_;
  const int64_t value = Integer();
  if (value < 0 || value > INT32_MAX) FailAt(begin, "expected a number below 2^31");
  return static_cast<uint32_t>(value);
}

std::string_view Lexer::Balanced() {
  std::array<char, kMostLevels> closing;
  size_t open = 0;
  Skip();
  const size_t begin = at_;
  if (ClosingOf(Here()) == '\0') Fail("expected a bracket");
  do {
    at_ = std::min(text_.find_first_of("\"()[]{}<>", at_), text_.size());
    if (at_ == text_.size()) FailAt(begin, "this bracket is not closed");
    const char c = text_[at_];
    if (c == '"') {
      Quoted();
      continue;
    }
    const bool is_arrow = c == '>' && at_ > begin && text_[at_ - 1] == '-';
    if (const char close = ClosingOf(c); close != '\0') {
      if (open == closing.size()) FailAtLevel(kMostLevels);
      closing[open++] = close;
    } else if (!is_arrow) {
      if (closing[open - 1] != c) Fail(fmt::format("expected '{}'", closing[open - 1]));
      --open;
    }
    ++at_;
  } while (open > 0);
  return Since(begin);
}

std::string_view Lexer::BodyOfDense() {
  Skip();
  const size_t begin = at_;
  // The next `>` is looked for once, however many strings come before it.
  for (size_t end = begin;;) {
    if (end <= at_) end = text_.find('>', at_);
    if (end == std::string_view::npos) FailAt(begin, "this constant is not closed by '>'");
    const size_t quote = text_.substr(at_, end - at_).find('"');
    at_ = quote == std::string_view::npos ? end : at_ + quote;
    if (at_ == end) break;
    Quoted();
  }
  std::string_view body = Since(begin);
  while (!body.empty() && (body.back() == ' ' || body.back() == '\n')) body.remove_suffix(1);
  ++at_;
  return body;
}

void Lexer::FailAt(size_t place, std::string reason) const {
  FailInText(text_, file_, place, std::move(reason));
}

void Lexer::FailAtUnknown(size_t place, std::string reason) const {
  FailAtUnknownPart(text_, file_, place, std::move(reason));
}

void Lexer::FailAtLevel(int most) const {
  FailAt(at_, fmt::format("this is nested more than {} levels deep", most));
}

void Lexer::FailToFind(std::string_view token) {
  Skip();
  if (at_ == text_.size()) Fail(fmt::format("expected '{}' but the text ends here", token));
  Fail(fmt::format("expected '{}'", token));
}

}  // namespace tessera::stablehlo
