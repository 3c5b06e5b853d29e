// Reads the tokens of program text (words, numbers, quoted names) and reports where one is missing.
#include "base/reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/at.h"
#include "base/error.h"

namespace tessera::base {
namespace {
bool IsWordChar(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '.';
}
bool IsFile(Loc loc) { return loc.line() == 0 && *loc.file(); }
}  // namespace

void Reader::SkipBlanks() {
  size_t begin = at_;
  while (at_ < text_.size()) {
    char c = text_[at_];
    if (c == ' ' || c == '\n' || c == '\t' || c == '\r')
      ++at_;
    else if (text_.substr(at_, 2) == "//")
      at_ = std::min(text_.find('\n', at_), text_.size());
    else
      break;
  }
  if (at_ != begin) blanks_begin_ = begin, blanks_end_ = at_;
}

bool Reader::Peek(std::string_view token) {
  SkipBlanks();
  if (text_.substr(at_, token.size()) != token) return false;
  size_t end = at_ + token.size();
  return token.empty() ||
         !(IsWordChar(token.back()) && end < text_.size() && IsWordChar(text_[end]));
}

bool Reader::Accept(std::string_view token) {
  if (!Peek(token)) return false;
  at_ += token.size();
  return true;
}

void Reader::Expect(std::string_view token) {
  if (Accept(token)) return;
  std::string found = at_ < text_.size() ? fmt::format("'{}'", text_[at_]) : "the end of the text";
  Fail(fmt::format("expected '{}' but found {}", token, found));
}

std::string Reader::AcceptWord() {
  SkipBlanks();
  size_t begin = at_;
  while (at_ < text_.size() && IsWordChar(text_[at_])) ++at_;
  return std::string(text_.substr(begin, at_ - begin));
}

std::string Reader::Word() {
  std::string word = AcceptWord();
  if (word.empty()) Fail("expected a word");
  return word;
}

std::string Quote(std::string_view text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    c == '\n' ? out += "\\n" : out += c;
  }
  return out + '"';
}

std::string Reader::Quoted() {
  Expect("\"");
  std::string word;
  for (; at_ < text_.size() && text_[at_] != '"'; ++at_) {
    const bool escaped = text_[at_] == '\\' && at_ + 1 < text_.size();
    if (escaped) ++at_;
    word += escaped && text_[at_] == 'n' ? '\n' : text_[at_];
  }
  if (at_ == text_.size()) Fail("expected a closing quote");
  ++at_;
  return word;
}

int64_t Reader::Integer() {
  SkipBlanks();
  int64_t value = 0;
  auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
  if (error == std::errc::result_out_of_range) Fail("the number does not fit into 64 bits");
  if (error != std::errc()) Fail("expected an integer");
  at_ = base::Size(end - text_.data());
  return value;
}

std::string Reader::NumberWord() {
  SkipBlanks();
  size_t begin = at_;
  while (at_ < text_.size() && (IsWordChar(text_[at_]) || text_[at_] == '-' || text_[at_] == '+'))
    ++at_;
  if (begin == at_) Fail("expected a number");
  return std::string(text_.substr(begin, at_ - begin));
}

bool Reader::AtEnd() {
  SkipBlanks();
  return at_ >= text_.size();
}

void Reader::ExpectEnd() {
  if (!AtEnd()) Fail(fmt::format("unexpected '{}' after the {}", text_[at_], what_));
}

std::string_view Reader::Comment() {
  SkipBlanks();
  if (blanks_end_ != at_) return {};
  std::string_view line = text_.substr(blanks_begin_, at_ - blanks_begin_);
  line = line.substr(0, line.find('\n'));
  size_t mark = line.find("//");
  if (mark == std::string_view::npos) return {};
  line.remove_prefix(std::min(line.find_first_not_of(" \t", mark + 2), line.size()));
  return line.substr(0, line.find_last_not_of(" \t\r") + 1);
}

Loc Reader::Here() {
  if (!IsFile(loc_)) return loc_;
  SkipBlanks();
  if (at_ < counted_) counted_ = 0, line_ = 1;
  auto begin = text_.begin();
  line_ += static_cast<int>(
      std::count(begin + static_cast<long>(counted_), begin + static_cast<long>(at_), '\n'));
  counted_ = at_;
  return Loc::Current(loc_.file(), line_);
}

void Reader::Fail(std::string reason, const std::string& wrong,
                  const std::vector<std::string>& replacements) {
  size_t at = std::min(at_, text_.size());
  size_t line_begin = at == 0 ? 0 : text_.rfind('\n', at - 1) + 1;
  if (line_begin == std::string_view::npos + 1) line_begin = 0;
  auto line = std::count(text_.begin(), text_.begin() + static_cast<long>(at), '\n') + 1;
  std::string shown(
      text_.substr(line_begin, std::min(text_.find('\n', line_begin), text_.size()) - line_begin));
  // Such characters would end or garble the message.
  for (char& c : shown)
    if (static_cast<unsigned char>(c) < ' ' && c != '\t' && c != '\r') c = '?';
  size_t column = at - line_begin;
  if (shown.size() > 80) {
    size_t cut = column > 40 ? column - 40 : 0;
    shown = shown.substr(cut, 80);
    column -= cut;
  }
  std::vector<std::string> notes = {shown, std::string(column, ' ') + "^"};
  if (!IsFile(loc_)) notes.push_back("read at " + Where(loc_));
  std::string place =
      IsFile(loc_) ? fmt::format("{}:{}:{}", loc_.file(), line, at - line_begin + 1)
                   : fmt::format("{} text, line {}, column {}", what_, line, at - line_begin + 1);
  std::vector<Fix> fixes;
  for (const std::string& r : replacements)
    fixes.push_back({.text = r, .replaced = wrong, .replacement = r});
  ThrowRuntime({.kind = {},
                .op = {},
                .label = fmt::format("{}.parse", what_),
                .where = std::move(place),
                .reason = std::move(reason),
                .operands = {},
                .notes = std::move(notes),
                .fixes = std::move(fixes)});
}

}  // namespace tessera::base
