// Small programs for propagation, written in a line per op, with what is expected of them:
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
// What a case gives and does not expect to change keeps its sharding; other values have none.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "propagation/graph.h"

namespace tessera::propagation::engine::testing {

struct GoldenCase {
  std::string name;
  FlatGraph graph;
  bool import = false;  // constants, constraints and groups are dealt with before
  std::map<std::string, ValueId> values;
  // By name, or "return 0": the text of a sharding; of those given, what was given.
  std::map<std::string, std::string> expected;
};

// Returns the cases of a file. Throws RuntimeError with the place of what is wrong.
std::vector<GoldenCase> ReadCases(const std::string& path);

// Returns a sharding's text, "open" if there is none or nothing in it.
std::string ShardingText(const TensorSharding* sharding);

}  // namespace tessera::propagation::engine::testing
