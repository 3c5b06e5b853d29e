// The text of a program, split into the rows of a table.
#pragma once
#include <string>
#include <vector>

namespace tessera::cli {

struct ListedAxis {
  std::string name, size;
  bool is_auto = false;
};

// A row of the table: a value, or a line that defines none.
struct ListedRow {
  size_t depth = 0;         // number of enclosing regions
  std::string value, type;  // "%3", "f32[8,4]"; empty if the line defines no value
  std::string name;         // given by the user; empty if there is none
  std::string op;           // "dot_general", "argument"
  std::string rest;         // after the op: "%0, %1 {...}"
  std::string line;         // "model.cc:12"
  std::string scope;        // of the line: "jit(step)/mlp/dot_general"
  bool backward = false;    // in the backward pass
};

struct Listing {
  std::vector<ListedAxis> axes;
  std::vector<ListedRow> rows;
};

Listing ReadListing(const std::string& text);

}  // namespace tessera::cli
