// The workloads, with the names and sizes of the figures that they are compared with.
#pragma once
#include "benchmarks/measure.h"

namespace tessera::bench {

// Prints to stderr the instruction sets that the kernels use.
void PrintTargets();

// LIMIT.*, and W3 by two threads on shared memory (peer "threads"). The calling thread stays pinned
// to a core.
void Limits(Recorder& recorder);
void ThreadReference(Recorder& recorder);

// Shared by W3 and its reference. Sizes are bytes per device.
inline constexpr int kW3Devices = 8;
std::vector<size_t> CollectiveSizes(bool quick);
Json CollectiveParams(const char* op, size_t bytes);
Json CollectiveCost(const char* op, size_t bytes);

// W1 by oneDNN and OpenBLAS, for the variants that have nothing after the product. The calling
// thread stays pinned to a core.
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
// W8: each number of devices runs in a process of its own, because memory is measured; and
// that process.
void ManyDevices(Recorder& recorder);
void ManyDevicesProcess(Recorder& recorder, int devices);
void HeatEquation(Recorder& recorder, int devices);  // W9
void Gradients(Recorder& recorder, int devices);     // W10, W12

void RandomNumbers(Recorder& recorder);           // W11
void Decoding(Recorder& recorder, int devices);   // W13
void Attention(Recorder& recorder, int devices);  // W14
void RingAttention(Recorder& recorder);           // W14

void ManyArraysInAFile(Recorder& recorder);  // W16

// W15: the rows whose name contains `part`; JAX's times as in spots. The second are those of
// convolutions by oneDNN, which need a thread that has measured no limits: its threads are not
// pinned.
void Numerics(Recorder& recorder, int devices, const std::string& part);
void ConvolutionLibrary(Recorder& recorder, const std::string& part);

// spots: the rows whose name contains `part`. With TESSERA_JAX_PYTHON, a Python that has JAX, each
// of our times is followed by JAX's.
void SlowSpots(Recorder& recorder, const std::string& part);

}  // namespace tessera::bench
