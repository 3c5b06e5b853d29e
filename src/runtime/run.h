// Runs plans. Knows no op, sharding or program: only buffers, kernels and exchanges.
//
// Threads: Run may be called from several threads, and from kernels. There is one team of workers;
// a run that finds it busy is done by its caller's thread alone. After a fork the child has a team
// of its own.
#pragma once
#include <vector>

#include "runtime/buffers.h"
#include "runtime/prepare.h"

namespace tessera::runtime {

// Returns the outputs' buffers; they may share storage with inputs, constants and each other.
// `inputs` are in the order of Plan::inputs; those that the plan may take
// (plan::PlanInput::donated) are consumed if the caller has moved the only reference in. Throws
// what a kernel threw first, or RuntimeError; then all buffers made by the run have been released,
// and a donated input may have been overwritten. `device`: of a run inside of a kernel, whose it
// is, for records; -1: the plan says it.
std::vector<Buffers> Run(const Executable& executable, std::vector<Buffers> inputs,
                         int32_t device = -1);

// Workers of the team from the next run on: n >= 1, or 0 for one per core.
void SetWorkerCount(int n);
int WorkerCount();

// Tests: always use all workers, however small the work.
void ForceParallel(bool on);

}  // namespace tessera::runtime
