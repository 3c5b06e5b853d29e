// Trees in a form that can be compared: arrays by name, and facts about everything else.
#pragma once
#include <string>
#include <vector>

#include "tessera/tree.h"

namespace tessera::trace {

// A fact about a part of a tree: "carry.heads", "is 4"; "carry.layers", "has 2 parts".
struct Fact {
  std::string where, what;
};

struct Leaves {
  std::vector<Array> arrays;
  std::vector<std::string> names = {};  // of each array: "carry[1].w"
  std::vector<Fact> facts = {};         // of every part, in order
};

// Returns the arrays and facts of a tree named `name`, or of its part at `above`.
Leaves TakeApart(detail::TreeRef tree, const std::string& name, const detail::Path& above = {});
// Returns arrays without facts, where only arrays are compared.
Leaves TakeArrays(detail::TreeRef tree, const std::string& name, const detail::Path& above = {});

// Returns the first difference between two trees, "carry.layers has 2 parts instead of 3", or "".
std::string DifferenceOf(const Leaves& wanted, const Leaves& came);
// Returns the first difference between the names of their arrays.
std::string DifferenceOf(const std::vector<std::string>& wanted,
                         const std::vector<std::string>& came);

}  // namespace tessera::trace
