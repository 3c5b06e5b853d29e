// Masks instruction sets for a whole test program: TESSERA_TARGET=avx2 or sse4 is the most that it
// uses. scripts/nightly runs the tests so.
#include <hwy/targets.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace {

// Before main: kernels are chosen once, when the first is made.
const bool masked = [] {
  const char* most = std::getenv("TESSERA_TARGET");
  if (most == nullptr) return false;
  const std::string_view name = most;
  if (name != "avx2" && name != "sse4") {
    std::fprintf(stderr, "TESSERA_TARGET is avx2 or sse4, not \"%s\"\n", most);
    std::exit(2);
  }
  // A better target is a lower bit.
  const int64_t bit = name == "avx2" ? HWY_AVX2 : HWY_SSE4;
  hwy::DisableTargets(bit - 1);
  return true;
}();

}  // namespace
