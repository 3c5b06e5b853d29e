// A position in StableHLO text and the words that can be read there.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "tessera/error.h"

namespace tessera::stablehlo {

// Levels of brackets, types, attributes, locations and regions. Real programs have about ten.
inline constexpr int kMostLevels = 200;

class Lexer {
 public:
  Lexer(std::string_view text, Loc file) : text_(text), file_(file) {}

  // Skips blanks and `//` comments and returns the next character, 0 at the end.
  char Peek() {
    Skip();
    return Here();
  }
  bool AtEnd() {
    Skip();
    return at_ == text_.size();
  }
  bool Accept(char c) {
    if (Peek() != c || at_ == text_.size()) return false;
    ++at_;
    return true;
  }
  void Expect(char c) {
    if (!Accept(c)) FailToFind(std::string_view(&c, 1));
  }
  // Takes a token. One that ends in a letter is a whole word.
  bool Accept(std::string_view token);
  bool PeekIs(std::string_view token);
  void Expect(std::string_view token) {
    if (!Accept(token)) FailToFind(token);
  }
  // Returns a word of letters, digits, `_`, `$` and `.`; "" if there is none. It takes `-` as well
  // where a letter follows, as in cross-replica-sum.
  std::string_view AcceptWord();
  std::string_view Word(const char* what);
  // Returns the name after `%` or `^`: letters, digits, `_`, `$`, `.` and `-`.
  std::string_view Suffix();
  // Returns the text between quotes, as it is written.
  std::string_view Quoted();
  bool AtNumber();
  // Returns a number as it is written: `-2`, `5.0e-01`, `0x7FC0`.
  std::string_view Number();
  int64_t Integer();
  uint32_t SmallInteger();
  // Returns a bracket with all to its closing bracket. Strings and `->` are passed over.
  std::string_view Balanced();
  // Returns the text up to the `>` that closes a `<` which was read, and takes it.
  std::string_view BodyOfDense();

  size_t place() const { return at_; }
  void set_place(size_t place) { at_ = place; }
  std::string_view text() const { return text_; }
  std::string_view Since(size_t begin) const { return text_.substr(begin, at_ - begin); }
  [[noreturn]] void Fail(std::string reason) { FailAt(at_, std::move(reason)); }
  [[noreturn]] void FailAt(size_t place, std::string reason) const;
  // Same, where the text has an operation, attribute or type of no known form.
  [[noreturn]] void FailAtUnknown(size_t place, std::string reason) const;
  // Throws the error of something that is nested too deep. Reading ends there.
  [[noreturn]] void FailAtLevel(int most) const;
  [[noreturn]] void FailToFind(std::string_view token);

 private:
  char Here() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  void Skip();

  std::string_view text_;
  Loc file_;
  size_t at_ = 0;
};

// Counts a level of nesting while it lives.
class Level {
 public:
  Level(int& level, const Lexer& lexer, int most = kMostLevels) : level_(level) {
    if (++level_ > most) lexer.FailAtLevel(most);
  }
  ~Level() { --level_; }
  Level(const Level&) = delete;
  Level& operator=(const Level&) = delete;

 private:
  int& level_;
};

// Throws a RuntimeError for a place of a text, with its line and column.
[[noreturn]] void FailInText(std::string_view text, Loc file, size_t place, std::string reason);

bool IsWordLetter(char c);

}  // namespace tessera::stablehlo
