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

inline constexpr char kIsArray[] = "is an array";  // the text of the fact that a part is an array

struct Leaves {
  std::vector<Array> arrays;
  std::vector<std::string> names = {};  // of each array: "carry[1].w"
  std::vector<Fact> facts = {};         // of every part, in order
};

// Returns the arrays and facts of a tree named `name`, or of its part at `above`.
Leaves TakeApart(detail::TreeRef tree, const std::string& name, const detail::Path& above = {});
// Returns arrays without facts, where only arrays are compared.
Leaves TakeArrays(detail::TreeRef tree, const std::string& name, const detail::Path& above = {});

// Returns the arrays and facts of a call's arguments, which are a tuple. The names are
// "argument 0.layers[1].w".
Leaves TakeArguments(detail::TreeRef arguments);
// Returns the name of a part of a tree named `name`.
std::string NameOf(detail::TreeRef tree, const std::string& name, const detail::Path& part);
// The name of the arguments of a call as one tree: their parts are named "argument 0".
inline constexpr char kArguments[] = "argument #";
inline constexpr char kResult[] = "result";  // the name of the result of a call

// Throws TraceError if an array of the tree cannot be used (see Use). The message names it.
void UseAll(detail::TreeRef tree, const std::string& name, const char* op, Loc loc);

// Returns the first difference between two trees, "carry.layers has 2 parts instead of 3", or "".
std::string DifferenceOf(const Leaves& wanted, const Leaves& came);
// Returns the first difference between the names of their arrays.
std::string DifferenceOf(const std::vector<std::string>& wanted,
                         const std::vector<std::string>& came);

}  // namespace tessera::trace
