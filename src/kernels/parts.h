// How the work of a call is divided into parts for several workers.
#pragma once
#include <algorithm>
#include <cstdint>

namespace tessera::kernels {

struct Range {
  int64_t begin, end;
};

// Returns share `part` of [0, n), cut at multiples of `grain`.
inline Range Share(int64_t n, int64_t grain, int32_t part, int32_t parts) {
  if (parts == 1) return {0, n};
  const int64_t units = (n + grain - 1) / grain;
  return {std::min(n, units * part / parts * grain),
          std::min(n, units * (part + 1) / parts * grain)};
}

// A smaller part is not worth handing to another worker.
inline constexpr int64_t kPartBytes = int64_t{32} << 10;

// Returns the number of parts for `bytes` of work that can be cut into `units`. Callers count work
// that takes longer than moving its bytes as more bytes.
inline int32_t MaxParts(double bytes, int64_t units) {
  const auto parts = static_cast<int64_t>(std::min(bytes / kPartBytes, 1e9));
  return static_cast<int32_t>(std::max<int64_t>(1, std::min(parts, units)));
}

}  // namespace tessera::kernels
