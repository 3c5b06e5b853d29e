// A small parser of our text formats: meshes, shardings, types and programs. Every failure is a
// RuntimeError that names the line and column.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/error.h"

namespace tessera::base {

// Returns the text quoted on one line, in the form that Reader::Quoted reads.
std::string Quote(std::string_view text);

class Reader {
 public:
  // `what` names the kind of text in messages ("sharding"). `loc` is the caller's line; or a file
  // at line 0 that contains this text, and then errors name lines of that file.
  Reader(std::string_view text, const char* what, Loc loc) : text_(text), what_(what), loc_(loc) {}

  // Skips blanks, line breaks and `//` comments, then takes `token` if it is next. A token of
  // letters must be a whole word: it does not match the start of a longer one.
  bool Accept(std::string_view token);
  bool Peek(std::string_view token);
  void Expect(std::string_view token);
  // Takes a word of letters, digits, '_' and '.'. AcceptWord may return an empty word.
  std::string AcceptWord();
  std::string Word();
  std::string Quoted();      // written by Quote
  int64_t Integer();         // with an optional minus sign
  std::string NumberWord();  // 1.5e-3, -inf, nan, 0x1p3
  bool AtEnd();
  void ExpectEnd();
  // Takes `open item, item, ... close`.
  template <class F>
  void List(std::string_view open, std::string_view close, F item) {
    Expect(open);
    if (Accept(close)) return;
    do item();
    while (Accept(","));
    Expect(close);
  }
  // Throws an error at the current position. Its fixes replace the text `wrong`, which is there.
  [[noreturn]] void Fail(std::string reason, const std::string& wrong = {},
                         const std::vector<std::string>& replacements = {});
  size_t position() const { return at_; }
  // Returns the location of the next token: its line of the file, or the caller's line.
  Loc Here();
  void set_position(size_t at) { at_ = at; }
  std::string_view Since(size_t begin) const { return text_.substr(begin, at_ - begin); }
  // Returns the comment that follows the last token on its line, without `//` and
  // surrounding blanks.
  std::string_view Comment();

 private:
  void SkipBlanks();
  std::string_view text_;
  const char* what_;
  Loc loc_;
  size_t at_ = 0;
  // The range of blanks and comments skipped last.
  size_t blanks_begin_ = 0, blanks_end_ = 0;
  // Lines are counted from the last position asked for.
  size_t counted_ = 0;
  int line_ = 1;
};

}  // namespace tessera::base
