// Counts of the ops in programs.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "tessera/program.h"

namespace TESSERA_PUBLIC tessera {

// The instructions of one op in a program, on whole arrays.
struct OpCount {
  std::string op;
  // Instructions in the text, those of loops and branches included, and their results.
  int64_t count = 0, results = 0;
  // Of all runs. A loop of unknown trip count counts as one iteration; all branches count.
  int64_t result_bytes = 0, flops = 0;
};
// Returns the ops of a program, the most frequent first.
std::vector<OpCount> count_ops(const Program& program);

}  // namespace tessera
