// Splits lines of program text into values, types and shardings, respecting brackets.
#include "cli/listing.h"

#include <sstream>

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
    std::string line = whole.substr(begin), where;
    if (size_t comment = line.rfind(" // "); comment != std::string::npos) {
      where = line.substr(comment + 4);
      line.resize(line.find_last_not_of(' ', comment) + 1);
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
      Instruction(line, depth, where);
    } else if (line != "}") {
      Plain(depth, line);
    }
  }

  void Plain(size_t depth, const std::string& op) {
    ListedRow row;
    row.depth = depth;
    row.op = op;
    listing_.rows.push_back(std::move(row));
  }

  void Header(const std::string& line, size_t depth, const char* what) {
    for (ListedRow& row : Defined(line)) {
      row.depth = depth;
      row.op = what;
      row.made = false;
      listing_.rows.push_back(std::move(row));
    }
  }

  void Instruction(const std::string& line, size_t depth, const std::string& where) {
    size_t equals = line.find(" = ");
    size_t k = 0;
    for (ListedRow& row : Defined(line.substr(0, equals))) {
      row.depth = depth;
      row.op = k == 0 ? line.substr(equals + 3) : "result " + std::to_string(k);
      row.made = k++ == 0;
      row.line = where;
      listing_.rows.push_back(std::move(row));
    }
  }

  Listing listing_;
};

}  // namespace

Listing ReadListing(const std::string& text) { return ListingReader().Run(text); }

}  // namespace tessera::cli
