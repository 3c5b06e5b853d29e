// The kernel of top_k: reads a lane once and keeps its best candidates.
#include "kernels/sort/top_k.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "base/dtype.h"
#include "base/shape.h"
#include "kernels/parts.h"
#include "kernels/sort/sort_keys.h"

namespace tessera::kernels {
namespace {

struct TopKConfig {
  int64_t lanes = 1, n = 0, k = 0;
  int64_t room = 0;  // candidates collected before all but the k best are dropped
  int index_bytes = 4;
};

// Moves the k smallest entries to the front; returns the largest key among them.
template <class Entry>
uint64_t KeepBest(Entry* entries, int64_t k, int64_t count) {
  std::nth_element(entries, entries + k - 1, entries + count,
                   [](const Entry& a, const Entry& b) { return EntryLess(a, b); });
  return EntryKey(entries[k - 1]);
}

// Leaves the entries of the k largest elements, in order. Keys are complemented, so the best are
// the smallest, and among equal elements the first.
template <class T, class Entry>
void SelectLane(const std::byte* in, const TopKConfig& config, Entry* entries) {
  using Bits = BitsOf<T>;
  const auto key = [in](int64_t i) {
    return static_cast<Bits>(~SortKey<T, false>(in + i * static_cast<int64_t>(sizeof(T))));
  };
  int64_t count = std::min(config.n, config.room);
  for (int64_t i = 0; i < count; ++i) entries[i] = MakeEntry<Entry>(key(i), i);
  if (count < config.n) {
    uint64_t worst = KeepBest(entries, config.k, count);
    int64_t kept = config.k;
    for (int64_t i = count; i < config.n; ++i) {
      const uint64_t candidate = key(i);
      if (candidate >= worst) continue;  // of equal elements the earlier one wins
      entries[kept++] = MakeEntry<Entry>(candidate, i);
      if (kept < config.room) continue;
      worst = KeepBest(entries, config.k, kept);
      kept = config.k;
    }
    count = kept;
  }
  if (count > config.k) KeepBest(entries, config.k, count);
  SortEntries(entries, config.k);
}

// Stores the low bytes of a little-endian integer, which are the index in every integer dtype.
void StoreIndex(std::byte* out, int bytes, int64_t index) {
  switch (bytes) {
    case 1:
      std::memcpy(out, &index, 1);
      break;
    case 2:
      std::memcpy(out, &index, 2);
      break;
    case 4:
      std::memcpy(out, &index, 4);
      break;
    default:
      std::memcpy(out, &index, 8);
  }
}

template <class T, class Entry>
void RunTopK(const plan::KernelArgs& call) {
  const auto& config = *static_cast<const TopKConfig*>(call.config);
  if (config.k == 0) return;
  auto* entries = reinterpret_cast<Entry*>(call.scratch);
  const Range lanes = Share(config.lanes, 1, call.part, call.parts);
  for (int64_t lane = lanes.begin; lane < lanes.end; ++lane) {
    const auto* in = reinterpret_cast<const T*>(call.in[0]) + lane * config.n;
    auto* values = reinterpret_cast<T*>(call.out[0]) + lane * config.k;
    std::byte* indices = call.out[1] + lane * config.k * config.index_bytes;
    SelectLane<T>(reinterpret_cast<const std::byte*>(in), config, entries);
    for (int64_t j = 0; j < config.k; ++j) {
      const int64_t index = EntryIndex(entries[j]);
      values[j] = in[index];
      StoreIndex(indices + j * config.index_bytes, config.index_bytes, index);
    }
  }
}

}  // namespace

plan::Kernel TopK(DType dtype, DType index, const Shape& shape, int64_t k) {
  TopKConfig config;
  config.n = shape.back();
  config.lanes = base::Around(shape, static_cast<int64_t>(shape.size()) - 1).outer;
  config.k = k;
  config.room = std::max<int64_t>(2 * k, 64);
  config.index_bytes = index.size();
  const double elements = static_cast<double>(config.lanes * config.n);
  const bool narrow = FitsNarrow(dtype.size(), config.n);
  plan::Kernel kernel;
  kernel.flops = elements * 4;
  kernel.bytes = elements * dtype.size() +
                 static_cast<double>(config.lanes * k * (dtype.size() + index.size()));
  kernel.scratch_bytes = std::min(config.n, config.room) * (narrow ? 8 : 16);
  kernel.max_parts = MaxParts(elements * 8, config.lanes);  // about 1 ns per element
  base::VisitDType(dtype, [&](auto zero) {
    using T = decltype(zero);
    kernel.fn = RunTopK<T, WideEntry>;
    if constexpr (sizeof(T) <= 4)
      if (narrow) kernel.fn = RunTopK<T, NarrowEntry>;
  });
  kernel.config = std::make_shared<const TopKConfig>(config);
  return kernel;
}

}  // namespace tessera::kernels
