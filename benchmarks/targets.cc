// The instruction sets that our kernels and oneDNN use on this machine.
#include <hwy/highway.h>
#include <oneapi/dnnl/dnnl.h>

#include <cstdio>

#include "benchmarks/workloads.h"

namespace tessera::bench {
namespace {

const char* DnnlTarget() {
  const int isa = dnnl_get_effective_cpu_isa();
  const auto has = [isa](int bits) { return (isa & bits) == bits; };
  if (has(dnnl_cpu_isa_avx512_core_amx)) return "AVX-512 with AMX";
  if (has(dnnl_cpu_isa_avx512_core_bf16)) return "AVX-512 with bf16";
  if (has(dnnl_cpu_isa_avx512_core)) return "AVX-512";
  return has(dnnl_cpu_isa_avx2) ? "AVX2" : has(dnnl_cpu_isa_avx) ? "AVX" : "SSE4.1";
}

}  // namespace

void PrintTargets() {
  // The lowest bit is the best target.
  const int64_t targets = hwy::SupportedTargets();
  std::fprintf(stderr, "instructions: ours %s, oneDNN's %s\n", hwy::TargetName(targets & -targets),
               DnnlTarget());
}

}  // namespace tessera::bench
