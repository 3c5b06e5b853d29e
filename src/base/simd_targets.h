// The instruction sets that SIMD files are compiled for. Include it before any header of Highway.
// CPUs older than SSE4 are not supported.
#pragma once
#define HWY_BASELINE_TARGETS HWY_SSE4
