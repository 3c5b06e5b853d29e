// Runs plans. Knows no op, sharding or program: only buffers, kernels and exchanges.
//
// Threads: Run may be called from several threads, and from kernels. There is one team of
// workers. If it is busy, the calling thread does the run alone. After a fork the child has a
// team of its own.
#pragma once
#include <vector>

#include "runtime/buffers.h"
#include "runtime/prepare.h"

namespace tessera::runtime {

// Returns the buffers of the outputs, which may share storage with inputs, constants and each
// other. `inputs` are in the order of Plan::inputs. A donated input (plan::PlanInput::donated) is
// consumed if the caller moved in the only reference to it. Throws the first exception of a
// kernel, or RuntimeError. All buffers made by the run have then been released, and donated inputs
// may have been overwritten. `device`: in records, the device of a run that a kernel starts; -1:
// as the plan says.
std::vector<Buffers> Run(const Executable& executable, std::vector<Buffers> inputs,
                         int32_t device = -1);

// Sets the number of workers from the next run on: n >= 1, or 0 for one per core.
void SetWorkerCount(int n);
int WorkerCount();
// Sets the number of cores that this process has for itself, if others use some of those on which
// it may run.
void SetCores(int n);

// For tests: always use all workers, however small the work.
void ForceParallel(bool on);
// For tests: in each run, worker 0 does the work of all from this barrier on, as on a machine whose
// cores other processes use. 0: not.
void DissolveTeamsAfter(int barriers);

}  // namespace tessera::runtime
