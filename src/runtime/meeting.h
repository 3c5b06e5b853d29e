// Places in a program where all processes meet, and check that they do the same.
#pragma once
#include <absl/functional/function_ref.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace tessera::runtime {

struct Meeting {
  std::string what;   // the activity of the process: "compiling a program"
  std::string where;  // the user's line
  uint64_t hash = 0;  // of all that must be equal on all processes
  // Returns that as lines. Only called if the hashes differ. The part of a line after " // " is not
  // compared. It names the user's line.
  absl::FunctionRef<std::string()> text;
  std::string hint = "";    // how to make the texts equal
  std::string object = "";  // shown after the activity: "out.npy"; not compared
};

// All processes call it. Throws the same RuntimeError on every process if they do not all do the
// same. It shows the first line of the texts that differs.
void Meet(const Meeting& meeting);
// Same, for an activity that has no text.
void Meet(const std::string& what, const std::string& where);

// Returns a hash that is equal on all processes. absl's hashes differ between processes.
uint64_t SharedHash(std::string_view text);
inline uint64_t MixShared(uint64_t hash, uint64_t more) {
  return ((hash ^ more) * 0x9e3779b97f4a7c15u) ^ (hash >> 29);
}

}  // namespace tessera::runtime
