// The per-device program: local shapes, and the collectives that join the devices.
#pragma once
#include "ir/builder.h"
#include "ir/program.h"
#include "sharding/reshard.h"

namespace tessera::spmd {

struct DeviceProgram;

// What lowering adds to an instruction of the device program.
struct Note {
  bool implied = true;           // a move that the user did not ask for
  int64_t bytes = 0;             // of a move: payload that leaves a device
  sharding::AxisList axes = {};  // of a move
  double flops = 0;              // of a device, each time
  double whole_flops = 0;        // of one device that does all of it
  // The instruction's regions, lowered; its own `regions` are their programs.
  std::vector<std::shared_ptr<const DeviceProgram>> regions = {};
};

struct DeviceProgram {
  ir::Program program;                  // per_device
  std::vector<const ir::Type*> placed;  // per value: the global type, with the sharding it has here
  std::vector<Note> notes;              // per instruction
};

// Work; a loop of unknown trip count counts as one iteration, of branches that with the most work.
struct Flops {
  double device = 0;  // on each device
  double whole = 0;   // if nothing were done twice, on all devices together
};
Flops FlopsOf(const DeviceProgram& device);

// How often a region runs each time that its instruction does.
struct Times {
  int64_t times = 1;
  bool known = true;  // else `times` is that of one iteration
};
Times TimesOf(const ir::Instruction& instruction);

// Returns the program as each device of its mesh runs it: factors of every op sharded in the way
// that costs least (sharding::ChoosePartition), reshards inserted as collectives, dead and repeated
// code removed. What has no data of its own (broadcasts, iota, constants and what is computed from
// these alone) is made as it is used: a device that uses a part makes that part.
DeviceProgram Lower(const ir::Program& program);

// Returns the type of one device's part of a value that lies as `placed` says.
const ir::Type* LocalType(const ir::Type* placed);

// Removes instructions whose results nothing uses, and instructions equal to an earlier one.
void Simplify(DeviceProgram& device);

}  // namespace tessera::spmd
