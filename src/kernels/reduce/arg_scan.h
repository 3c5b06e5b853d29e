// Search for the largest or smallest element of each column, by vectors of columns.
#pragma once
#include <cstddef>
#include <cstdint>

#include "tessera/dtype.h"

namespace tessera::kernels {

// Rows of some columns, and the best element of each column so far. Its key is the element (for f16
// and bf16 an i16 with the same order), and `at` is the number of its row.
struct ArgColumns {
  const std::byte* in = nullptr;
  int64_t stride = 0;  // elements from one row to the next
  int64_t columns = 0;
  std::byte* keys = nullptr;
  int64_t* at = nullptr;
};

struct ArgScan {
  // Searches rows [begin, end), after all rows before `begin`. NaN beats all numbers; the first
  // one wins.
  void (*scan)(const ArgColumns& c, int64_t begin, int64_t end) = nullptr;
  // Finishes a search that treated `sides` adjacent rows of `inner` columns as one row: merges
  // them, so that `inner` columns remain.
  void (*fold)(const ArgColumns& c, int64_t sides, int64_t inner) = nullptr;
};

// Returns the search for elements of the dtype.
ArgScan ArgScanOf(DType dtype, bool largest);

}  // namespace tessera::kernels
