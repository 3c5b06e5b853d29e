// Trees as they are compared: their arrays by name, and whatever else is in them.
#pragma once
#include <string>
#include <vector>

#include "tessera/tree.h"

namespace tessera::trace {

// What is where in a tree: "carry.heads", "is 4"; "carry.layers", "has 2 parts".
struct Fact {
  std::string where, what;
};

struct Leaves {
  std::vector<Array> arrays;
  std::vector<std::string> names = {};  // of each array: "carry[1].w"
  std::vector<Fact> facts = {};         // of everything, in order
};

// Returns the arrays of a tree, which is called `name`; or of its part at `above`.
Leaves TakeApart(detail::TreeRef tree, const std::string& name, const detail::Path& above = {});
// The same without facts, where only arrays are compared.
Leaves TakeArrays(detail::TreeRef tree, const std::string& name, const detail::Path& above = {});

// Returns the first difference between two trees: "carry.layers has 2 parts instead of 3". Empty if
// there is none.
std::string DifferenceOf(const Leaves& wanted, const Leaves& came);
// The same of the names of their arrays alone.
std::string DifferenceOf(const std::vector<std::string>& wanted,
                         const std::vector<std::string>& came);

}  // namespace tessera::trace
