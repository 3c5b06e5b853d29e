// Advice on memory: changes of a program that lower its peak, each tried before it is offered.
#pragma once
#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include "tessera/program.h"

namespace TESSERA_PUBLIC tessera {

enum class MemoryChangeKind : uint8_t {
  kDonate,      // results take the memory of an argument
  kCheckpoint,  // the backward pass computes values again
  kShard        // an argument is stored in parts
};

// A change, and the costs of the program with it alone.
struct MemoryChange {
  MemoryChangeKind kind;
  std::string where = {};  // the user's line: "model.cc:12"
  std::string text = {};   // "donate argument 0: its results take the memory of 12 arrays"
  int64_t peak_bytes = 0;  // of a device
  int64_t more_bytes = 0;  // that leave each device, more than without the change
  int64_t more_flops = 0;  // of a device
};

struct MemoryAdvice {
  int64_t peak_bytes = 0;             // without a change
  std::vector<MemoryChange> changes;  // at most three: first the one with the lowest peak
  int64_t tried = 0;                  // changes
  // Returns the peak, and a line with its costs for each change.
  std::string text() const;
};
std::ostream& operator<<(std::ostream& os, const MemoryAdvice& advice);

// Returns the changes that lower the peak of a program most, by one argument of the function, one
// line or one loop each. They are made in the traced program and lowered: arguments that a result
// has the type of are donated; values that are kept for the backward pass, and those of an
// iteration of a loop, are computed again; arguments that all devices hold are sharded over an axis
// that divides a dim, and gathered where they are read if the axis is Explicit. No change is
// returned that does not lower the peak, nor one that a CommPolicy in scope forbids. Lowers up to
// 25 programs, in the scopes of the call (CommPolicy, MachineBalance). Throws ShardingError if the
// program itself violates a CommPolicy in scope.
MemoryAdvice advise_memory(const Lowered& lowered);

}  // namespace tessera
