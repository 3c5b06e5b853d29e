// The memory of a schedule. Schedules have one on abstract meshes of any size, which have no plan.
// A run needs at most as much, since the values of a plan share memory (runtime/flow.cc).
#pragma once
#include <cstdint>
#include <vector>

#include "spmd/schedule/schedule.h"

namespace tessera::spmd {

// A value that a device holds during the items [begin, end).
struct HeldValue {
  const ir::Program* program;  // the device program, or a region of it
  ir::ValueId value;
  int64_t bytes;
  size_t begin, end;
  bool is_input;        // of the device program
  bool is_output;       // of the device program
  bool is_received;     // a move makes it
  bool is_kept;         // made in the forward pass, read in the backward pass
  bool is_of_backward;  // made in the backward pass
};

// Returns all values that a device holds, with their items. Item 0 is the time before the schedule
// begins: its item k is k + 1. A loop or branch holds the values of the region that holds most, at
// the peak of that region and without its inputs. `donated`: per input; empty: none. A result takes
// the memory of a donated input of its size that nothing reads any more.
std::vector<HeldValue> HeldValues(const ir::Program& device, const Schedule& schedule,
                                  const std::vector<bool>& donated = {});

// Returns the most bytes that one device holds at any time: arguments, results and temporaries.
int64_t PeakBytes(const ir::Program& device, const Schedule& schedule,
                  const std::vector<bool>& donated = {});

}  // namespace tessera::spmd
