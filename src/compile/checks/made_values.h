// The fingerprints of a watch, which devices make in parts.
#pragma once
#include <cstdint>
#include <map>
#include <mutex>
#include <tuple>
#include <utility>
#include <vector>

#include "compile/checks/fingerprint.h"

namespace tessera::compile {

// A fingerprint that was kept when a program made a value.
struct MadeValue {
  int64_t value = 0;                     // its number in ValueWatch::values()
  std::vector<int64_t> iterations = {};  // of the loops around it
  int64_t device = -1;                   // if devices run the region differently
  Fingerprint print = {};
};

// Elements of a value: those of shard `second` of array `first`, as ShardAt and ArrayAt number
// them.
using ShardElements = std::pair<int64_t, int64_t>;

// The fingerprint of a part of a buffer.
struct MadePart {
  int64_t program = 0;  // number of the program in the watch
  int64_t value = 0;
  int64_t device = -1;
  std::vector<int64_t> iterations = {};
  std::pair<int64_t, int64_t> at;  // mesh position and chunk: no two parts of a value have the same
  size_t parts = 1;                // of the value, on all devices
  std::vector<ShardElements> elements = {};  // that the buffer holds: several if they are equal
  Fingerprint print = {};
  uint64_t hash = 0;  // of the bits, if another buffer holds the same elements
};

// The place of a value in its program: instructions from the outermost to its own.
struct InstructionStep {
  int64_t instruction = 0;  // number in its program
  bool is_loop = false;
  int64_t region = 0;  // of the instruction, which the next step is in
};
using InstructionPath = std::vector<InstructionStep>;

// Puts values together of the parts that devices make. Thread-safe.
class MadeValues {
 public:
  // A run of a program begins. Values that an earlier run of it did not complete are dropped: it
  // failed.
  void BeginRun(int64_t program);
  void Add(MadePart part);
  // Returns the complete values: the runs of programs one after the other, each in program order. A
  // run inside of another one, by a host function, comes before the values that were incomplete
  // then.
  std::vector<MadeValue> InOrder(const std::vector<InstructionPath>& paths) const;

 private:
  struct Complete {
    size_t run = 0;
    MadeValue made;
  };
  // The moments of a value on a device in the current run. Each part comes once for each moment, in
  // the order of moments.
  struct Moments {
    std::map<std::pair<int64_t, int64_t>, size_t> seen;  // how often, by MadePart::at
    std::map<size_t, std::vector<MadePart>> incomplete;  // by number
  };

  mutable std::mutex mutex_;
  std::vector<size_t> begins_;      // of runs: how many values were complete then
  std::map<int64_t, size_t> runs_;  // of programs: the current ones
  // By program, value and device.
  std::map<std::tuple<int64_t, int64_t, int64_t>, Moments> moments_;
  std::vector<Complete> complete_;
};

}  // namespace tessera::compile
