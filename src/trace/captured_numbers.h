// Detects whether numbers that a function captured by reference have changed since it was traced.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ir/program.h"
#include "tessera/wrapped.h"

namespace tessera::trace {

// A word of memory that a function object points to, as it was before the function was traced.
struct SeenWord {
  const void* address;
  uint64_t bits;
  size_t size;  // bytes that can be read
};
// Returns the words that the function's pointers lead to. References that dangle are safe: the
// kernel copies the bytes, and refuses addresses that are not mapped.
std::vector<SeenWord> WordsBehind(detail::FunctionBytes function);

// A variable that holds a number of a traced program.
struct CapturedNumber {
  enum Kind : uint8_t { kDouble, kFloat, kInt64, kInt32 };
  const void* address;
  Kind kind;
  uint64_t bits;
};
// Returns the words that held a number of the program before it was traced, and still do. Numbers
// that are 0, and ints that are 1, are left out: counters and flags have them by chance.
std::vector<CapturedNumber> NumbersOf(const ir::Program& program,
                                      const std::vector<SeenWord>& words);

// Returns "from 0.1 to 0.2" for the first number that has changed.
std::optional<std::string> ChangedNumber(const std::vector<CapturedNumber>& numbers);

}  // namespace tessera::trace
