// Small programs for propagation, one op a line, with the shardings that they expect:
//
//   case "9: all operands join"
//     mesh a=2 b=2
//     x: 8x8 [{a}, {b}]
//     w: 8x16
//     y: 8x8 = elementwise x x
//     r: 8x16 = einsum "i k, k j -> i j" y w
//     return r
//   expect
//     y [{a, ?}, {b, ?}]
//     return 0 [{a, ?}, {?}]
//
// A value with a given sharding is expected to keep it; other values are expected to have none.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "propagation/graph.h"

namespace tessera::propagation::engine::testing {

struct GoldenCase {
  std::string name;
  FlatGraph graph;
  bool import = false;  // runs the import steps before
  std::map<std::string, ValueId> values;
  // The expected text of a sharding by name, or by "return 0".
  std::map<std::string, std::string> expected;
};

// Returns the cases of a file. Throws RuntimeError with the place of the mistake.
std::vector<GoldenCase> ReadCases(const std::string& path);

// Returns a sharding's text; "open" if there is none, or if it is empty and open.
std::string ShardingText(const TensorSharding* sharding);

}  // namespace tessera::propagation::engine::testing
