// Splits lines of program text into values, types and shardings, respecting brackets.
#include "cli/listing.h"

#include <algorithm>
#include <map>
#include <sstream>
#include <string_view>

namespace tessera::cli {
namespace {

bool StartsWith(const std::string& text, const char* prefix) { return text.rfind(prefix, 0) == 0; }

// Returns the end of the item at `at`: the next blank, comma or closing bracket outside of
// any brackets.
size_t EndOf(const std::string& text, size_t at) {
  int depth = 0;
  for (; at < text.size(); ++at) {
    char c = text[at];
    if (c == '[' || c == '{' || c == '(') ++depth;
    bool closes = c == ']' || c == '}' || c == ')';
    if (depth == 0 && (c == ' ' || c == ',' || closes)) break;
    if (closes) --depth;
  }
  return at;
}

// Takes a word, or a text in quotes, off the front of a comment.
std::string TakeWord(std::string_view& comment) {
  const bool quoted = comment.starts_with('"');
  std::string word;
  size_t at = quoted ? 1 : 0;
  for (; at < comment.size() && comment[at] != (quoted ? '"' : ' '); ++at) {
    if (quoted && comment[at] == '\\' && at + 1 < comment.size())
      word += comment[++at] == 'n' ? '\n' : comment[at];
    else
      word += comment[at];
  }
  comment.remove_prefix(std::min(at + quoted, comment.size()));
  comment.remove_prefix(std::min(comment.find_first_not_of(' '), comment.size()));
  return word;
}

// The comment of an instruction: its line, its scope and the names of its results.
struct Comment {
  bool backward = false;
  std::string line, scope;
  std::map<std::string, std::string> names;  // by the result's number; "": the only one's
};
Comment ReadComment(std::string_view text) {
  Comment comment;
  if (text.starts_with("backward ")) {
    comment.backward = true;
    text.remove_prefix(text.find(' ') + 1);
  }
  comment.line = TakeWord(text);
  if (text.starts_with('[')) {
    text.remove_prefix(1);
    const bool quoted = text.starts_with('"');
    comment.scope = TakeWord(text);
    if (quoted)
      text.remove_prefix(std::min<size_t>(2, text.size()));
    else if (comment.scope.ends_with(']'))
      comment.scope.pop_back();
  }
  while (!text.empty()) {
    std::string number;
    if (const size_t equals = text.find('='); text[0] == '%' && equals != text.npos) {
      number = text.substr(0, equals);
      text.remove_prefix(equals + 1);
    }
    comment.names[number] = TakeWord(text);
  }
  return comment;
}

// Returns where the comment of a line begins; npos if it has none. Texts in quotes may hold "//".
size_t CommentOf(const std::string& line) {
  bool quoted = false;
  for (size_t at = 0; at < line.size(); ++at) {
    if (quoted && line[at] == '\\')
      ++at;
    else if (line[at] == '"')
      quoted = !quoted;
    else if (!quoted && line.compare(at, 4, " // ") == 0)
      return at;
  }
  return line.npos;
}

// Returns the values that program text defines, each written `%3: type`.
std::vector<ListedRow> Defined(const std::string& text) {
  std::vector<ListedRow> rows;
  for (size_t at = text.find('%'); at != std::string::npos; at = text.find('%', at + 1)) {
    size_t colon = text.find_first_not_of("0123456789", at + 1);
    if (colon == std::string::npos || text.compare(colon, 2, ": ") != 0) continue;
    ListedRow row;
    row.value = text.substr(at, colon - at);
    row.type = text.substr(colon + 2, EndOf(text, colon + 2) - colon - 2);
    rows.push_back(std::move(row));
  }
  return rows;
}

// Parses a line such as `mesh @mesh = <["x"=2, "y"=4]> auto={"y"}`.
std::vector<ListedAxis> AxesOf(const std::string& line) {
  std::vector<ListedAxis> axes;
  size_t modes = line.find(" auto={");
  for (size_t at = line.find("<["), end; (at = line.find('"', at)) < modes; at = end) {
    end = line.find('"', at + 1);
    if (end == std::string::npos || line.compare(end, 2, "\"=") != 0) break;
    ListedAxis axis{line.substr(at + 1, end - at - 1), "", false};
    axis.size = line.substr(end + 2, line.find_first_not_of("0123456789", end + 2) - end - 2);
    size_t close = modes == std::string::npos ? modes : line.find('}', modes);
    size_t named = modes == std::string::npos ? modes : line.find('"' + axis.name + '"', modes);
    axis.is_auto = named != std::string::npos && named < close;
    axes.push_back(std::move(axis));
    ++end;
  }
  return axes;
}

class ListingReader {
 public:
  Listing Run(const std::string& text) {
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) Line(line);
    return std::move(listing_);
  }

 private:
  void Line(const std::string& whole) {
    size_t begin = whole.find_first_not_of(' ');
    if (begin == std::string::npos) return;
    std::string line = whole.substr(begin);
    Comment comment;
    if (const size_t at = CommentOf(line); at != line.npos) {
      comment = ReadComment(std::string_view(line).substr(at + 4));
      line.resize(line.find_last_not_of(' ', at) + 1);
    }
    // Regions are indented by four blanks more than their op.
    size_t depth = begin / 4;
    if (StartsWith(line, "mesh ")) {
      if (listing_.axes.empty()) listing_.axes = AxesOf(line);
    } else if (StartsWith(line, "func ") || StartsWith(line, "device func ")) {
      Header(line, depth, "argument");
    } else if (StartsWith(line, "region(")) {
      Plain(depth, "region");
      Header(line, depth, "input of the region");
    } else if (StartsWith(line, "%")) {
      Instruction(line, depth, comment);
    } else if (line != "}") {
      Plain(depth, line, comment);
    }
  }

  // Instructions without results have no value; `return` has operands only.
  void Plain(size_t depth, const std::string& line, const Comment& comment = {}) {
    ListedRow row;
    row.depth = depth;
    SetOp(row, line);
    SetPlace(row, comment);
    listing_.rows.push_back(std::move(row));
  }
  static void SetOp(ListedRow& row, const std::string& line) {
    const size_t space = line.find(' ');
    row.op = line.substr(0, space);
    if (space != line.npos) row.rest = line.substr(space + 1);
  }
  static void SetPlace(ListedRow& row, const Comment& comment) {
    row.line = comment.line;
    row.scope = comment.scope;
    row.backward = comment.backward;
  }

  void Header(const std::string& line, size_t depth, const char* what) {
    for (ListedRow& row : Defined(line)) {
      row.depth = depth;
      row.op = what;
      listing_.rows.push_back(std::move(row));
    }
  }

  void Instruction(const std::string& line, size_t depth, const Comment& comment) {
    const size_t equals = line.find(" = ");
    std::vector<ListedRow> rows = Defined(line.substr(0, equals));
    for (size_t k = 0; k < rows.size(); ++k) {
      ListedRow& row = rows[k];
      row.depth = depth;
      if (k == 0)
        SetOp(row, line.substr(equals + 3));
      else
        row.op = "result " + std::to_string(k);
      SetPlace(row, comment);
      const auto name = comment.names.find(rows.size() > 1 ? row.value : "");
      if (name != comment.names.end()) row.name = name->second;
      listing_.rows.push_back(row);
    }
  }

  Listing listing_;
};

}  // namespace

Listing ReadListing(const std::string& text) { return ListingReader().Run(text); }

}  // namespace tessera::cli
