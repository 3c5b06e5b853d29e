// The search for the largest or smallest elements of columns, by vectors of columns.
#pragma once
#include <cstddef>
#include <cstdint>

#include "tessera/dtype.h"

namespace tessera::kernels {

// Rows of some columns, and the best of each column so far: its key, which is the element, or of
// f16 and bf16 an i16 in their order, and the number of its row.
struct ArgColumns {
  const std::byte* in = nullptr;
  int64_t stride = 0;  // elements from a row to the next one
  int64_t columns = 0;
  std::byte* keys = nullptr;
  int64_t* at = nullptr;
};

struct ArgScan {
  // Searches rows [begin, end), after those before `begin`. A NaN beats numbers, the first one
  // wins.
  void (*scan)(const ArgColumns& c, int64_t begin, int64_t end) = nullptr;
  // Where `inner` columns were searched as if `sides` rows next to each other were one, what
  // remains are `inner` columns, of elements.
  void (*fold)(const ArgColumns& c, int64_t sides, int64_t inner) = nullptr;
};

// Returns the search in elements of the dtype.
ArgScan ArgScanOf(DType dtype, bool largest);

}  // namespace tessera::kernels
