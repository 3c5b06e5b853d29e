// Sort by indices, for several operands and keys. sort_values.cc sorts a single operand,
// sort_pairs.cc values with their positions.
#include "kernels/sort/sort.h"

#include <cmath>
#include <memory>
#include <utility>

#include "base/dtype.h"
#include "base/element_bits.h"
#include "base/shape.h"
#include "kernels/sort/sort_keys.h"
#include "kernels/sort/sort_pairs.h"
#include "kernels/sort/sort_values.h"

namespace tessera::kernels {
namespace {

// Scratch of a call: the entries of one lane, and with several keys the order found so far.
template <class Entry>
struct LaneScratch {
  Entry* entries;
  int64_t* order;
};

// Sets entry j to the index j and the key of element order[j] (null: element j). Elements are
// `stride` bytes apart.
template <class T, class Entry>
void ReadKeys(const std::byte* in, int64_t stride, const SortConfig& config, const int64_t* order,
              Entry* entries) {
  const auto flip = static_cast<BitsOf<T>>(config.descending ? -1 : 0);
  for (int64_t j = 0; j < config.n; ++j) {
    const BitsOf<T> key = SortKey<T, true>(in + (order ? order[j] : j) * stride);
    entries[j] = MakeEntry<Entry>(static_cast<BitsOf<T>>(key ^ flip), j);
  }
}

// Sets out[j] = in[index of entry j].
template <class Bits, class Entry>
void Permute(const std::byte* in, std::byte* out, const SortConfig& config, const Entry* entries) {
  const auto* from = reinterpret_cast<const Bits*>(in);
  auto* to = reinterpret_cast<Bits*>(out);
  for (int64_t j = 0; j < config.n; ++j)
    to[j * config.inner] = from[EntryIndex(entries[j]) * config.inner];
}

template <class Entry>
void PermuteOperand(int size, const std::byte* in, std::byte* out, const SortConfig& config,
                    const Entry* entries) {
  switch (size) {
    case 1:
      return Permute<uint8_t>(in, out, config, entries);
    case 2:
      return Permute<uint16_t>(in, out, config, entries);
    case 4:
      return Permute<uint32_t>(in, out, config, entries);
    case 8:
      return Permute<uint64_t>(in, out, config, entries);
    default:
      return Permute<base::ElementBits>(in, out, config, entries);
  }
}

// Leaves the final order of the lane's elements in the entries: sorts by the last key first, then
// stably by each key before it.
template <class Entry>
void OrderLane(const plan::KernelArgs& call, const SortConfig& config, int64_t at,
               const LaneScratch<Entry>& lane) {
  for (size_t k = config.keys.size(); k-- > 0;) {
    const bool first = k == config.keys.size() - 1;
    const SortKeyPart& key = config.keys[k];
    const int64_t size = config.dtypes[key.operand].size();
    base::VisitDType(key.dtype, [&](auto zero) {
      using T = decltype(zero);
      if constexpr (sizeof(Entry) > 8 || sizeof(T) <= 4)
        ReadKeys<T>(call.in[key.operand] + at * size + key.offset, size * config.inner, config,
                    first ? nullptr : lane.order, lane.entries);
    });
    SortEntries(lane.entries, config.n);
    if (config.keys.size() == 1) return;
    for (int64_t j = 0; j < config.n; ++j) {
      const int64_t index = EntryIndex(lane.entries[j]);
      lane.entries[j] = MakeEntry<Entry>(0, first ? index : lane.order[index]);
    }
    for (int64_t j = 0; j < config.n; ++j) lane.order[j] = EntryIndex(lane.entries[j]);
  }
}

template <class Entry>
void SortByIndex(const plan::KernelArgs& call) {
  const auto& config = *static_cast<const SortConfig*>(call.config);
  const Range lanes = Share(config.lanes, 1, call.part, call.parts);
  auto* entries = reinterpret_cast<Entry*>(call.scratch);
  const LaneScratch<Entry> scratch{entries, reinterpret_cast<int64_t*>(entries + config.n)};
  for (int64_t lane = lanes.begin; lane < lanes.end; ++lane) {
    const int64_t at = LaneBegin(config, lane);
    OrderLane(call, config, at, scratch);
    for (size_t k = 0; k < config.dtypes.size(); ++k) {
      const int size = config.dtypes[k].size();
      PermuteOperand(size, call.in[k] + at * size, call.out[k] + at * size, config, entries);
    }
  }
}

std::vector<SortKeyPart> KeysOf(const std::vector<DType>& dtypes, int64_t num_keys) {
  std::vector<SortKeyPart> keys;
  for (int64_t k = 0; k < num_keys; ++k) {
    const DType dtype = dtypes[k], part = base::PartOf(dtype);
    keys.push_back({k, part, 0});
    if (dtype.is_complex()) keys.push_back({k, part, part.size()});
  }
  return keys;
}

// There are no keys, so the operands keep their order.
void CopyAll(const plan::KernelArgs& call) {
  const auto& config = *static_cast<const SortConfig*>(call.config);
  for (size_t k = 0; k < config.dtypes.size(); ++k)
    CopyBytes(call.out[k], call.in[k], config.lanes * config.n * config.dtypes[k].size());
}

}  // namespace

plan::Kernel Sort(const std::vector<DType>& dtypes, const Shape& shape, int64_t dim,
                  int64_t num_keys, bool descending) {
  const auto [outer, n, inner] = base::Around(shape, dim);
  SortConfig config{.dtypes = dtypes,
                    .n = n,
                    .inner = inner,
                    .lanes = outer * inner,
                    .keys = KeysOf(dtypes, num_keys),
                    .descending = descending};
  int64_t element = 0, key = 0;
  for (DType dtype : dtypes) element += dtype.size();
  for (const SortKeyPart& part : config.keys) key = std::max<int64_t>(key, part.dtype.size());
  const double elements = static_cast<double>(config.lanes * config.n);
  const double log = std::log2(static_cast<double>(std::max<int64_t>(2, config.n)));
  plan::Kernel kernel;
  kernel.flops = elements * log * static_cast<double>(std::max<size_t>(1, config.keys.size()));
  kernel.bytes = 2 * elements * static_cast<double>(element);
  if (num_keys == 0) {
    kernel.fn = CopyAll;
  } else {
    kernel.max_parts = MaxParts(elements * 16, config.lanes);  // about 3 ns per element
    const int64_t order = config.keys.size() > 1 ? 8 * config.n : 0;
    if (dtypes.size() == 1 && !dtypes[0].is_complex()) {
      kernel.fn = SortValuesFunction(dtypes[0]);
      kernel.scratch_bytes = SortValuesScratch(dtypes[0], config.n);
    } else if (dtypes.size() == 2 && num_keys == 2 && SortsPairs(dtypes[0], dtypes[1])) {
      kernel.fn = SortPairsFunction(dtypes[0], dtypes[1]);
      kernel.scratch_bytes = SortPairsScratch(dtypes[0], dtypes[1], config.n);
    } else if (FitsNarrow(key, config.n)) {
      kernel.fn = SortByIndex<NarrowEntry>;
      kernel.scratch_bytes = 8 * config.n + order;
    } else {
      kernel.fn = SortByIndex<WideEntry>;
      kernel.scratch_bytes = 16 * config.n + order;
    }
  }
  kernel.config = std::make_shared<const SortConfig>(std::move(config));
  return kernel;
}

}  // namespace tessera::kernels
