// Trees as control flow compares them: their arrays by name.
#pragma once
#include <string>
#include <vector>

#include "tessera/tree.h"

namespace tessera::trace {

struct Leaves {
  std::vector<Array> arrays;
  std::vector<std::string> names;  // of each array: "carry[1]"
  std::string statics;             // the text of everything that is no array
};

// Returns the arrays of a tree, which is called `name`.
Leaves TakeApart(detail::TreeRef tree, const std::string& name);
// The same of part `part` of a pair or tuple.
Leaves TakePartApart(detail::TreeRef tree, size_t part, const std::string& name);

}  // namespace tessera::trace
