// Which process hosts which devices.
#pragma once
#include <cstdint>

#include "ir/program.h"
#include "plan/localise/localise.h"
#include "runtime/buffers.h"

namespace tessera::compile {

// The number of this process, and how many there are.
int32_t Process();
int32_t Processes();

// Gives this process its share of the cores on which other processes of its machine may run too.
// All processes call it.
void ShareCores();

// Whether reading an array that is elsewhere gathers it; see ProcessOptions.
bool ReadsGather();
void SetReadsGather(bool on);

// Returns the process that hosts a device. Devices are split evenly and in order.
int32_t ProcessOf(int64_t device);
// Whether this process hosts a device of a mesh of the program.
bool TakesPart(const ir::Program& program);
// Whether it is the first process that does.
bool IsFirst(const ir::Program& program);
// Whether this process hosts a device of the mesh. A value without a mesh is on every process.
bool IsHere(const sharding::MeshDef* mesh);
// Whether this process is the first of those that host a device of the mesh.
bool IsFirstHost(const sharding::MeshDef* mesh);
// Whether every process hosts a device of the mesh.
bool IsEverywhere(const sharding::MeshDef* mesh);

// Whether a program with a mesh has devices of some processes only. The others take no part in it.
bool LeavesOut(const ir::Program& program);
// Returns a result without a mesh on every process, which those that take part in a program have.
// All processes call it.
// `is_first`: this process sends its own to the others.
runtime::Buffers SharedWithAll(runtime::Buffers mine, int64_t bytes, bool takes_part,
                               bool is_first);

// Returns the processes that run the plan of a program for `devices` devices. Devices outside of
// its meshes take no part.
plan::Hosts HostsOf(const ir::Program& program, int32_t devices);

}  // namespace tessera::compile
