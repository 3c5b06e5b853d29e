// Sorts keys with Highway's sort, or with std::sort if there are few.
#include "kernels/sort/sort_keys.h"

#include <hwy/contrib/sort/vqsort.h>

#include <algorithm>
#include <functional>

namespace tessera::kernels {
namespace {

// Below this, std::sort beats Highway's sort, whose call costs about 300 ns.
constexpr int64_t kFewKeys = 24;

// One sorter per thread: later versions of Highway keep their buffer in it.
const hwy::Sorter& Sorter() {
  thread_local const hwy::Sorter sorter;
  return sorter;
}

}  // namespace

void SortEntries(NarrowEntry* entries, int64_t n) {
  if (n < kFewKeys)
    std::sort(entries, entries + n);
  else
    Sorter()(entries, n, hwy::SortAscending());
}

void SortEntries(WideEntry* entries, int64_t n) {
  const auto less = [](const WideEntry& a, const WideEntry& b) { return EntryLess(a, b); };
  if (n < kFewKeys)
    std::sort(entries, entries + n, less);
  else
    Sorter()(entries, n, hwy::SortAscending());
}

template <class Int>
void SortInts(Int* keys, int64_t n, bool descending) {
  if (n < kFewKeys) {
    if (descending)
      std::sort(keys, keys + n, std::greater<Int>());
    else
      std::sort(keys, keys + n);
  } else if (descending) {
    Sorter()(keys, n, hwy::SortDescending());
  } else {
    Sorter()(keys, n, hwy::SortAscending());
  }
}

template void SortInts(int16_t*, int64_t, bool);
template void SortInts(int32_t*, int64_t, bool);
template void SortInts(int64_t*, int64_t, bool);
template void SortInts(uint16_t*, int64_t, bool);
template void SortInts(uint32_t*, int64_t, bool);
template void SortInts(uint64_t*, int64_t, bool);

}  // namespace tessera::kernels
