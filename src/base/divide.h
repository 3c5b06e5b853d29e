// Integer division that rounds down or up, for any signs.
#pragma once
#include <cstdint>

namespace tessera::base {

inline int64_t FloorDiv(int64_t a, int64_t b) {
  return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
}
inline int64_t CeilDiv(int64_t a, int64_t b) { return -FloorDiv(-a, b); }

}  // namespace tessera::base
