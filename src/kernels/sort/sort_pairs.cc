// Sorts pairs as integers with the value's key in the high and the position's in the low bits,
// which hold the whole pair. Only zeros and NaNs can be equal with different bits, so they are set
// aside and sorted by their positions. Runs that are sorted already are merged if they are few: a
// sort over devices joins sorted pieces.
#include "kernels/sort/sort_pairs.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "base/dtype.h"
#include "kernels/parts.h"
#include "kernels/sort/sort.h"
#include "kernels/sort/sort_keys.h"

namespace tessera::kernels {
namespace {

constexpr size_t kMostRuns = 8;  // more are slower to merge than to sort

template <class T, class I>
using PairEntry = std::conditional_t<sizeof(T) <= 4 && sizeof(I) <= 4, NarrowEntry, WideEntry>;

uint64_t LowOf(NarrowEntry e) { return e & 0xffffffff; }
uint64_t LowOf(const WideEntry& e) { return e.lo; }

// Begins of sorted runs of entries, and the end of the last run.
struct EntryRuns {
  std::array<int64_t, kMostRuns + 1> begins = {};
  size_t count = 0;
  bool too_many = false;
  void Add(int64_t begin) {
    if (count == kMostRuns)
      too_many = true;
    else
      begins[count++] = begin;
  }
};

template <class Entry>
void MergeTwo(const Entry* a, int64_t n, const Entry* b, int64_t m, Entry* out) {
  const Entry *a_end = a + n, *b_end = b + m;
  while (a < a_end && b < b_end) {
    const bool takes_b = EntryLess(*b, *a);
    *out++ = *(takes_b ? b : a);
    a += !takes_b, b += takes_b;
  }
  out = std::copy(a, a_end, out);
  std::copy(b, b_end, out);
}

// Merges neighbouring runs, back and forth between the entries and `room`, until one is left.
template <class Entry>
void MergeRuns(Entry* entries, EntryRuns runs, int64_t n, Entry* room) {
  Entry *from = entries, *to = room;
  for (; runs.count > 1; std::swap(from, to)) {
    EntryRuns merged;
    const auto begin = [&](size_t k) { return k < runs.count ? runs.begins[k] : n; };
    for (size_t k = 0; k < runs.count; k += 2) {
      const int64_t first = begin(k), middle = begin(k + 1), end = begin(k + 2);
      MergeTwo(from + first, middle - first, from + middle, end - middle, to + first);
      merged.Add(first);
    }
    runs = merged;
  }
  if (from != entries) std::copy_n(from, n, entries);
}

template <class T, class I>
class PairSort {
 public:
  using Entry = PairEntry<T, I>;

  // `entries` and `room` have space for a lane.
  PairSort(const SortConfig& config, Entry* entries, Entry* room)
      : c_(config), entries_(entries), room_(room) {}

  // Sorts the lane of these arrays; its elements are `inner` apart.
  void Lane(const std::byte* values, const std::byte* positions, std::byte* values_out,
            std::byte* positions_out) {
    Read(values, positions);
    if (runs_.too_many)
      SortEntries(entries_, kept_);
    else
      MergeRuns(entries_, runs_, kept_, room_);
    values_out_ = values_out, positions_out_ = positions_out;
    Write();
  }

 private:
  using Bits = BitsOf<T>;
  using PositionBits = BitsOf<I>;
  static constexpr Bits kSign = kSignBit<T>;

  Bits Flip() const { return static_cast<Bits>(c_.descending ? -1 : 0); }
  PositionBits FlipPosition() const { return static_cast<PositionBits>(c_.descending ? -1 : 0); }
  static bool IsZero(Bits bits) { return static_cast<Bits>(bits & ~kSign) == 0; }
  static bool IsSetAside(Bits bits) {
    if constexpr (kIsFloat<T>)
      return IsZero(bits) || static_cast<Bits>(bits & ~kSign) > InfinityBits<T>();
    else
      return false;
  }
  static Bits ValueOf(Bits key) {
    if constexpr (kIsFloat<T>)
      return static_cast<Bits>(key & kSign ? key ^ kSign : ~key);
    else
      return std::is_signed_v<T> ? static_cast<Bits>(key ^ kSign) : key;
  }

  // Makes the entries. Those set aside are at the end of the room, by their positions.
  void Read(const std::byte* values, const std::byte* positions) {
    runs_ = {}, kept_ = 0;
    int64_t aside = 0;
    Entry last{};
    for (int64_t j = 0; j < c_.n; ++j) {
      const std::byte* value = values + j * c_.inner * static_cast<int64_t>(sizeof(T));
      Bits bits;
      std::memcpy(&bits, value, sizeof(T));
      const PositionBits position =
          SortKey<I, true>(positions + j * c_.inner * static_cast<int64_t>(sizeof(I))) ^
          FlipPosition();
      if (IsSetAside(bits)) {
        room_[c_.n - ++aside] = MakeEntry<Entry>(position, bits);
        continue;
      }
      const auto key = static_cast<Bits>(SortKey<T, true>(value) ^ Flip());
      const Entry entry = MakeEntry<Entry>(key, position);
      // After too many runs their ends do not matter, and could not be predicted.
      if (!runs_.too_many && (kept_ == 0 || EntryLess(entry, last))) runs_.Add(kept_);
      last = entries_[kept_++] = entry;
    }
    Entry* first = room_ + kept_;
    std::reverse(first, first + aside);
    const auto less = [](const Entry& a, const Entry& b) { return EntryKey(a) < EntryKey(b); };
    if (!std::is_sorted(first, first + aside, less)) std::stable_sort(first, first + aside, less);
  }

  void Put(int64_t j, Bits value, uint64_t position_key) {
    auto key = static_cast<PositionBits>(position_key ^ FlipPosition());
    if (std::is_signed_v<I>) key ^= kSignBit<I>;
    std::memcpy(values_out_ + j * c_.inner * static_cast<int64_t>(sizeof(T)), &value, sizeof(T));
    std::memcpy(positions_out_ + j * c_.inner * static_cast<int64_t>(sizeof(I)), &key, sizeof(I));
  }
  // Writes entries [begin, end), the first one to element `at`, and returns the next element.
  int64_t WriteKept(int64_t begin, int64_t end, int64_t at) {
    for (int64_t k = begin; k < end; ++k) {
      const Entry& e = entries_[k];
      Put(at++, ValueOf(static_cast<Bits>(EntryKey(e) ^ Flip())), LowOf(e));
    }
    return at;
  }
  int64_t WriteAside(bool zeros, int64_t at) {
    for (const Entry* e = room_ + kept_; e < room_ + c_.n; ++e) {
      const auto bits = static_cast<Bits>(LowOf(*e));
      if (IsZero(bits) == zeros) Put(at++, bits, EntryKey(*e));
    }
    return at;
  }
  void Write() {
    if (kept_ == c_.n) {
      WriteKept(0, kept_, 0);
      return;
    }
    const Bits zero = static_cast<Bits>(kSign ^ Flip());
    const int64_t before =
        std::partition_point(entries_, entries_ + kept_,
                             [&](const Entry& e) { return EntryKey(e) < zero; }) -
        entries_;
    int64_t at = 0;
    if (c_.descending) at = WriteAside(false, at);
    at = WriteKept(0, before, at);
    at = WriteAside(true, at);
    at = WriteKept(before, kept_, at);
    if (!c_.descending) WriteAside(false, at);
  }

  const SortConfig& c_;
  Entry *entries_, *room_;
  EntryRuns runs_;
  int64_t kept_ = 0;
  std::byte *values_out_ = nullptr, *positions_out_ = nullptr;
};

template <class T, class I>
void RunSortPairs(const plan::KernelArgs& call) {
  const auto& config = *static_cast<const SortConfig*>(call.config);
  const Range lanes = Share(config.lanes, 1, call.part, call.parts);
  auto* entries = reinterpret_cast<PairEntry<T, I>*>(call.scratch);
  PairSort<T, I> sort(config, entries, entries + config.n);
  for (int64_t lane = lanes.begin; lane < lanes.end; ++lane) {
    const int64_t at = LaneBegin(config, lane);
    const int64_t value = at * static_cast<int64_t>(sizeof(T)),
                  position = at * static_cast<int64_t>(sizeof(I));
    sort.Lane(call.in[0] + value, call.in[1] + position, call.out[0] + value,
              call.out[1] + position);
  }
}

}  // namespace

bool SortsPairs(DType values, DType positions) {
  return !values.is_complex() && (positions == i32 || positions == i64);
}

plan::KernelFn SortPairsFunction(DType values, DType positions) {
  return base::VisitDType(values, [&](auto zero) -> plan::KernelFn {
    using T = decltype(zero);
    return positions == i32 ? &RunSortPairs<T, int32_t> : &RunSortPairs<T, int64_t>;
  });
}

int64_t SortPairsScratch(DType values, DType positions, int64_t n) {
  const bool is_narrow = values.size() <= 4 && positions.size() <= 4;
  return 2 * n * static_cast<int64_t>(is_narrow ? sizeof(NarrowEntry) : sizeof(WideEntry));
}

}  // namespace tessera::kernels
