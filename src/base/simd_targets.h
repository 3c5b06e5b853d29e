// Which instruction sets the SIMD files are compiled for. Include before any header of Highway.
// SSE4 is the least: older CPUs than that are not supported.
#pragma once
#define HWY_BASELINE_TARGETS HWY_SSE4
