// The workloads, named and sized as the figures that they are compared with.
#pragma once
#include "benchmarks/measure.h"

namespace tessera::bench {

// Says on stderr which instructions the kernels use.
void PrintTargets();

// LIMIT.*, and W3 by two threads on shared memory (peer "threads"). The thread that calls them
// stays pinned to a core.
void Limits(Recorder& recorder);
void ThreadReference(Recorder& recorder);

// What W3 and its reference have in common. Sizes are bytes per device, of eight devices.
std::vector<size_t> CollectiveSizes(bool quick);
Json CollectiveParams(const char* op, size_t bytes);
Json CollectiveCost(const char* op, size_t bytes);

// W1 by oneDNN and OpenBLAS, for all its variants but what follows a product; pinned as above.
void ProductLibraries(Recorder& recorder);
std::vector<int64_t> MatmulSizes(bool quick);
struct MatmulVariant {
  const char *mesh, *name;
  int devices;
};
inline constexpr MatmulVariant kMatmulVariants[] = {{"1", "single", 1},
                                                    {"2x4", "rows_cols", 8},
                                                    {"2x4", "contract_all_reduce", 8},
                                                    {"2x4", "contract_reduce_scatter", 8}};

void Matmul(Recorder& recorder, int devices);       // W1
void Elementwise(Recorder& recorder, int devices);  // W2
void Collectives(Recorder& recorder);               // W3
void ManualCollectives(Recorder& recorder);         // W3, from shard_map
void GptStep(Recorder& recorder, int devices);      // W4
void CompileChain(Recorder& recorder);              // W5
void LowerLargeStep(Recorder& recorder);            // W5
void LowerLlama(Recorder& recorder);                // W5
void Dispatch(Recorder& recorder, int devices);     // W6
void Propagation(Recorder& recorder);               // W7
// W8: each number of devices in a process of its own, as memory is measured; and that process.
void ManyDevices(Recorder& recorder);
void ManyDevicesProcess(Recorder& recorder, int devices);
void HeatEquation(Recorder& recorder, int devices);  // W9
void Gradients(Recorder& recorder, int devices);     // W10, W12

void RandomNumbers(Recorder& recorder);           // W11
void Decoding(Recorder& recorder, int devices);   // W13
void Attention(Recorder& recorder, int devices);  // W14
void RingAttention(Recorder& recorder);           // W14

// spots. With TESSERA_JAX_PYTHON, a Python that has JAX, JAX's time for each row follows ours.
void SlowSpots(Recorder& recorder);

}  // namespace tessera::bench
