// Scatter: combines slices into a copy of the operand. Each part of the call owns a range of one
// dim of the operand, copies it, and applies to it, in order, the pieces of all slices that fall
// into it.
#include "kernels/index/scatter.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include "base/at.h"
#include "base/dtype.h"
#include "base/element_bits.h"
#include "base/shape.h"
#include "kernels/copy/copy_bytes.h"
#include "kernels/index/lookup.h"
#include "kernels/parts.h"
#include "kernels/reduce/combine.h"
#include "kernels/reduce/reduce_elements.h"

namespace tessera::kernels {
namespace {

// Combines n elements; strides are in elements.
using ElementsFn = void (*)(std::byte* out, const std::byte* slice, int64_t n, int64_t out_stride,
                            int64_t slice_stride);

constexpr int64_t kTogether = 256;  // elements whose offsets are found together
// Combines n <= kTogether elements at slices + i * slice_stride with those at out + offsets[i],
// which are left out if the offset is negative; strides and offsets are in bytes.
using ScatteredFn = void (*)(std::byte* out, const int64_t* offsets, const std::byte* slices,
                             int64_t slice_stride, int64_t n);

// A dim of the operand, or several merged dims that slices span entirely.
struct ScatterDim {
  int64_t size = 1, stride = 0;
  int64_t window = 1, slice_stride = 0;
  int64_t entry = -1;  // index into `entries`: gives the start of slices
  int64_t query = -1;
};

struct ScatterQuery {
  int64_t size = 1, index_stride = 0, slice_stride = 0, whole = 1;
  int64_t dim = -1;  // the dim along which the query runs; -1: none
  std::vector<int64_t> begins;
};

struct ScatterConfig {
  std::vector<ScatterDim> dims;
  std::vector<LookupEntry> entries;
  std::vector<ScatterQuery> queries;
  size_t split = 0;  // the dim that is divided between parts
  size_t inner = 0;  // the dim whose elements are combined in one call
  int64_t grain = 1;
  int64_t element = 1, elements = 0;  // bytes of an element; elements of the operand
  bool clip = false;
  bool rows = false;     // the only query has one entry: the index in dims[0] of a whole row
  bool singles = false;  // slices have one element, and no query runs along a dim
  std::vector<bool> leads;
  std::byte identity[16] = {};
  ElementsFn strided = nullptr;
  ScatteredFn scattered = nullptr;
  plan::CombineFn dense = nullptr;  // combines contiguous elements; null: they are copied
};

// Along one dim, the piece of a slice that falls into the part's range.
struct SlicePiece {
  int64_t out = 0, slice = 0, size = 1;  // first elements; number of elements
};

// A fixed-size array with one entry per dim or index of an op. Few ops have more than eight, and
// calls are often small, so it rarely allocates.
template <class T>
class FewOf {
 public:
  explicit FewOf(size_t n) : more_(n > std::size(few_) ? n : 0) {
    values_ = n > std::size(few_) ? more_.data() : few_;
  }
  FewOf(const FewOf&) = delete;
  T& operator[](size_t i) { return values_[i]; }

 private:
  T few_[8] = {};
  std::vector<T> more_;
  T* values_;
};

// Sets offsets[i] as OffsetsOf does for one entry, to some negative number if the slice is left
// out: one comparison for each index.
template <class Index>
void OffsetsOfEntry(const HeldEntry& entry, const Index* indices, int64_t step, int64_t n,
                    int64_t* offsets) {
  const int64_t begin = std::max<int64_t>(entry.before + entry.first, 0);
  const int64_t end = std::min(entry.before + entry.first + entry.held, entry.last + 1);
  const auto held = static_cast<uint64_t>(std::max<int64_t>(end - begin, 0));
  const int64_t offset = (begin - entry.before) * entry.stride, stride = entry.stride;
  for (int64_t i = 0; i < n; ++i) {
    const auto at = static_cast<uint64_t>(Begin(indices[i * step], entry.last, false)) -
                    static_cast<uint64_t>(begin);
    offsets[i] = at < held ? offset + static_cast<int64_t>(at) * stride : kElsewhere;
  }
}

template <class Index>
class ScatterPart {
 public:
  ScatterPart(const plan::KernelArgs& call)
      : c_(*static_cast<const ScatterConfig*>(call.config)),
        call_(call),
        pieces_(c_.dims.size()),
        begins_(c_.entries.size()) {
    owned_ = c_.dims.empty() ? Share(1, 1, call.part, call.parts)
                             : Share(c_.dims[c_.split].size, c_.grain, call.part, call.parts);
  }

  void Run() {
    if (c_.elements == 0 || owned_.begin >= owned_.end) return;
    InitialiseOwned();
    const auto* indices = reinterpret_cast<const Index*>(call_.in[1]);
    if (c_.rows) return CombineRows(indices);
    if (c_.singles) return CombineSingles(0, indices, 0, HeldEntries());
    RunQueries(0, indices, 0);
  }

 private:
  // Initialises the owned range of the result, before any slice is combined into it.
  void InitialiseOwned() {
    const bool leads = c_.leads.empty() || c_.leads[call_.device];
    if (leads && call_.in[0] == call_.out[0]) return;
    const int64_t size = c_.dims.empty() ? 1 : c_.dims[c_.split].size;
    const int64_t inner = (c_.dims.empty() ? 1 : c_.dims[c_.split].stride) * c_.element;
    const int64_t bytes = (owned_.end - owned_.begin) * inner;
    const Pattern identity(c_.identity, c_.element);
    for (int64_t at = owned_.begin * inner; at < c_.elements * c_.element; at += size * inner) {
      if (leads)
        CopyBytes(call_.out[0] + at, call_.in[0] + at, bytes);
      else
        FillBytes(call_.out[0] + at, bytes, identity);
    }
  }

  // Of this part.
  std::vector<HeldEntry> HeldEntries() const {
    std::vector<HeldEntry> held;
    for (size_t k = 0; k < c_.entries.size(); ++k) {
      const LookupEntry& from = c_.entries[k];
      HeldEntry entry{.at = from.at, .last = from.last, .held = 1};
      if (!from.begins.empty()) entry.before = from.begins[base::Size(call_.device)];
      for (size_t d = 0; d < c_.dims.size(); ++d) {
        if (c_.dims[d].entry != static_cast<int64_t>(k)) continue;
        const Range range = d == c_.split ? owned_ : Range{0, c_.dims[d].size};
        entry.first = range.begin, entry.held = range.end - range.begin;
        entry.stride = c_.dims[d].stride * c_.element;
      }
      held.push_back(entry);
    }
    return held;
  }
  void CombineSingles(size_t q, const Index* vector, int64_t slice,
                      const std::vector<HeldEntry>& held) {
    const ScatterQuery& query = c_.queries[q];
    const int64_t before = query.begins.empty() ? 0 : query.begins[call_.device];
    const int64_t count = std::min(query.size, query.whole - before);
    if (q + 1 < c_.queries.size()) {
      for (int64_t i = 0; i < count; ++i)
        CombineSingles(q + 1, vector + i * query.index_stride, slice + i * query.slice_stride,
                       held);
      return;
    }
    int64_t offsets[kTogether];
    for (int64_t i = 0; i < count; i += kTogether) {
      const int64_t n = std::min(kTogether, count - i);
      const Index* vectors = vector + i * query.index_stride;
      if (held.size() == 1 && held[0].at >= 0 && !c_.clip)
        OffsetsOfEntry(held[0], vectors + held[0].at, query.index_stride, n, offsets);
      else
        OffsetsOf(held, c_.clip, vectors, query.index_stride, n, offsets);
      c_.scattered(call_.out[0], offsets,
                   call_.in[2] + (slice + i * query.slice_stride) * c_.element,
                   query.slice_stride * c_.element, n);
    }
  }

  // One loop over index vectors of one entry, each the position of a row.
  void CombineRows(const Index* indices) {
    const LookupEntry& entry = c_.entries[0];
    const ScatterQuery& query = c_.queries[0];
    const bool splits_rows = c_.split == 0;
    const Range held = splits_rows ? owned_ : Range{0, c_.dims[0].size};
    const int64_t first = entry.begins.empty() ? 0 : entry.begins[call_.device];
    const int64_t row = c_.dims[0].stride * c_.element;
    const int64_t begin = splits_rows ? 0 : owned_.begin;
    const int64_t n = (splits_rows ? c_.dims[1].size : owned_.end) - begin;
    std::byte* out = call_.out[0] + begin * c_.element;
    const std::byte* slices = call_.in[2] + begin * c_.element;
    const int64_t before = query.begins.empty() ? 0 : query.begins[call_.device];
    const int64_t count = std::min(query.size, query.whole - before);
    for (int64_t i = 0; i < count; ++i) {
      const int64_t at = Begin(indices[i * query.index_stride], entry.last, c_.clip);
      const int64_t here = at - first;
      if (Inside(at, entry.last) && here >= held.begin && here < held.end)
        Combine(out + here * row, slices + i * query.slice_stride * c_.element, n);
    }
  }

  void RunQueries(size_t q, const Index* vector, int64_t slice) {
    if (q == c_.queries.size()) return ApplySlice(vector, slice);
    const ScatterQuery& query = c_.queries[q];
    const int64_t first = query.begins.empty() ? 0 : query.begins[call_.device];
    Range range{0, std::min(query.size, query.whole - first)};
    if (query.dim >= 0 && base::Size(query.dim) == c_.split)
      range = {std::max(range.begin, owned_.begin), std::min(range.end, owned_.end)};
    for (int64_t i = range.begin; i < range.end; ++i) {
      if (query.dim >= 0) pieces_[base::Size(query.dim)].out = i * c_.dims[query.dim].stride;
      RunQueries(q + 1, vector + i * query.index_stride, slice + i * query.slice_stride);
    }
  }

  void ApplySlice(const Index* vector, int64_t slice) {
    for (size_t k = 0; k < c_.entries.size(); ++k) {
      const LookupEntry& entry = c_.entries[k];
      begins_[k] = BeginOf(entry, vector, c_.clip);
      if (!Inside(begins_[k], entry.last)) return;
      if (!entry.begins.empty()) begins_[k] -= entry.begins[call_.device];
    }
    int64_t out = 0;
    for (size_t d = 0; d < c_.dims.size(); ++d) {
      const ScatterDim& dim = c_.dims[d];
      SlicePiece& piece = pieces_[d];
      if (dim.query < 0) {
        const int64_t begin = dim.entry < 0 ? 0 : begins_[base::Size(dim.entry)];
        const Range held = d == c_.split ? owned_ : Range{0, dim.size};
        const int64_t from = std::max(begin, held.begin);
        piece.size = std::min(begin + dim.window, held.end) - from;
        if (piece.size <= 0) return;
        piece.out = from * dim.stride;
        slice += (from - begin) * dim.slice_stride;
      }
      out += piece.out;
    }
    CombinePieces(0, out, slice);
  }

  void CombinePieces(size_t d, int64_t out, int64_t slice) {
    while (d < c_.dims.size() && (d == c_.inner || pieces_[d].size == 1)) ++d;
    if (d >= c_.dims.size()) return Combine(out, slice);
    for (int64_t i = 0; i < pieces_[d].size; ++i)
      CombinePieces(d + 1, out + i * c_.dims[d].stride, slice + i * c_.dims[d].slice_stride);
  }

  void Combine(int64_t out, int64_t slice) {
    std::byte* to = call_.out[0] + out * c_.element;
    const std::byte* from = call_.in[2] + slice * c_.element;
    if (c_.inner == c_.dims.size()) return Combine(to, from, 1);
    const ScatterDim& dim = c_.dims[c_.inner];
    const int64_t n = pieces_[c_.inner].size;
    if (dim.stride == 1 && dim.slice_stride == 1) return Combine(to, from, n);
    c_.strided(to, from, n, dim.stride, dim.slice_stride);
  }

  // Combines n contiguous elements.
  void Combine(std::byte* to, const std::byte* from, int64_t n) {
    if (n < kDense) return c_.strided(to, from, n, 1, 1);
    if (!c_.dense) return CopyBytes(to, from, n * c_.element);
    const std::byte* const sources[] = {to, from};
    c_.dense(sources, 2, to, n, false);
  }

  static constexpr int64_t kDense = 8;  // fewer elements are faster one at a time
  const ScatterConfig& c_;
  const plan::KernelArgs& call_;
  Range owned_;
  FewOf<SlicePiece> pieces_;
  FewOf<int64_t> begins_;
};

template <class Index>
void RunScatter(const plan::KernelArgs& call) {
  ScatterPart<Index>(call).Run();
}

template <class T, class F>
void ForElements(std::byte* out, const std::byte* slice, int64_t n, int64_t out_stride,
                 int64_t slice_stride, F f) {
  for (int64_t i = 0; i < n; ++i) {
    std::byte* to = out + i * out_stride * static_cast<int64_t>(sizeof(T));
    T old, update;
    std::memcpy(&old, to, sizeof(T));
    std::memcpy(&update, slice + i * slice_stride * static_cast<int64_t>(sizeof(T)), sizeof(T));
    const T made = f(old, update);
    std::memcpy(to, &made, sizeof(T));
  }
}

// The offsets that are left out are found before, as the processor cannot predict them.
template <class T, class F>
void ForScattered(std::byte* out, const int64_t* offsets, const std::byte* slices,
                  int64_t slice_stride, int64_t n, F f) {
  int64_t kept[kTogether], count = 0;
  for (int64_t i = 0; i < n; ++i) {
    kept[count] = i;
    count += static_cast<int64_t>(offsets[i] >= 0);
  }
  for (int64_t k = 0; k < count;) {
    const int64_t at = offsets[kept[k]];
    T made, update;
    std::memcpy(&made, out + at, sizeof(T));
    // Sorted indices give the same offset several times: the sum need not go through memory.
    do {
      std::memcpy(&update, slices + kept[k] * slice_stride, sizeof(T));
      made = f(made, update);
      ++k;
    } while (k < count && offsets[kept[k]] == at);
    std::memcpy(out + at, &made, sizeof(T));
  }
}

// The functions that combine elements T by F.
template <class T, class F>
struct ElementFunctions {
  static void Strided(std::byte* out, const std::byte* slice, int64_t n, int64_t out_stride,
                      int64_t slice_stride) {
    ForElements<T>(out, slice, n, out_stride, slice_stride, F());
  }
  static void Scattered(std::byte* out, const int64_t* offsets, const std::byte* slices,
                        int64_t slice_stride, int64_t n) {
    ForScattered<T>(out, offsets, slices, slice_stride, n, F());
  }
  static void Fill(ScatterConfig& config) {
    config.strided = &Strided, config.scattered = &Scattered;
  }
};

template <class T, Reduction reduction>
struct Combined {
  T operator()(T a, T b) const {
    return Narrow<T>(kernels::Combine(reduction, Widen(a), Widen(b)));
  }
};
struct Replaced {
  template <class T>
  T operator()(T, T b) const {
    return b;
  }
};

template <class T>
void FillCombine(ScatterConfig& config, Reduction reduction) {
  switch (reduction) {
    case Reduction::kProd:
      return ElementFunctions<T, Combined<T, Reduction::kProd>>::Fill(config);
    case Reduction::kMax:
      return ElementFunctions<T, Combined<T, Reduction::kMax>>::Fill(config);
    case Reduction::kMin:
      return ElementFunctions<T, Combined<T, Reduction::kMin>>::Fill(config);
    default:
      return ElementFunctions<T, Combined<T, Reduction::kSum>>::Fill(config);
  }
}

void FillSet(ScatterConfig& config) {
  switch (config.element) {
    case 1:
      return ElementFunctions<uint8_t, Replaced>::Fill(config);
    case 2:
      return ElementFunctions<uint16_t, Replaced>::Fill(config);
    case 4:
      return ElementFunctions<uint32_t, Replaced>::Fill(config);
    case 8:
      return ElementFunctions<uint64_t, Replaced>::Fill(config);
    default:
      return ElementFunctions<base::ElementBits, Replaced>::Fill(config);
  }
}

template <class T>
void SetIdentity(Reduction reduction, std::byte* bytes) {
  T identity;
  if constexpr (std::is_same_v<T, bool>)
    identity = reduction == Reduction::kProd || reduction == Reduction::kMin;
  else if constexpr (std::is_integral_v<T>)
    identity = ReductionIdentity<T>(reduction);
  else if constexpr (kIsComplex<T>)
    identity = reduction == Reduction::kSum ? -T() : ReductionIdentity<T>(reduction);
  else
    identity = reduction == Reduction::kSum
                   ? T(-0.0f)
                   : T(static_cast<float>(ReductionIdentity<double>(reduction)));
  std::memcpy(bytes, &identity, sizeof(T));
}

// Whether slices span all of the dim.
bool IsSpanned(const ScatterDim& dim) {
  return dim.query < 0 && dim.entry < 0 && dim.window == dim.size;
}

// Returns the operand's dims. Neighbours that slices span entirely, in the same order, are merged.
std::vector<ScatterDim> DimsOf(const LookupDesc& desc, const std::vector<LookupEntry>& entries) {
  std::vector<ScatterDim> dims;
  for (size_t d = 0; d < desc.dims.size(); ++d) {
    const LookupDesc::Dim& from = desc.dims[d];
    ScatterDim dim{from.size, from.stride, from.window, from.slice_stride, -1, from.query};
    for (size_t k = 0; k < entries.size(); ++k)
      if (entries[k].dim == static_cast<int64_t>(d) && (entries[k].last != 0))
        dim.entry = static_cast<int64_t>(k);
    if (IsSpanned(dim) && dim.size == 1) continue;
    if (!dims.empty() && IsSpanned(dim) && IsSpanned(dims.back()) &&
        dims.back().slice_stride == dim.slice_stride * dim.size) {
      dim.size *= dims.back().size;
      dim.window = dim.size;
      dims.back() = dim;
    } else {
      dims.push_back(dim);
    }
  }
  return dims;
}

// Chooses the dim that is divided between parts. Prefers a long dim that slices span entirely or
// that a query runs along, since all parts then have the same work; else takes the longest dim.
void ChooseSplit(ScatterConfig& config) {
  constexpr int64_t kRunBytes = 512;  // bytes of a row that is cut
  int64_t best = 0, longest = 0;
  for (size_t d = 0; d < config.dims.size(); ++d) {
    const ScatterDim& dim = config.dims[d];
    const bool even = IsSpanned(dim) || dim.query >= 0;
    const int64_t grain = std::max<int64_t>(1, kRunBytes / (dim.stride * config.element));
    const int64_t units = dim.size / grain;
    if (even && units >= 8 && units > best) {
      best = units;
      config.split = d;
      config.grain = grain;
    }
  }
  for (size_t d = 0; d < config.dims.size() && best == 0; ++d) {
    if (config.dims[d].size <= longest) continue;
    longest = config.dims[d].size;
    config.split = d;
    config.grain = std::max<int64_t>(1, 64 / (config.dims[d].stride * config.element));
  }
}

void ChooseInner(ScatterConfig& config) {
  config.inner = config.dims.size();
  for (size_t d = 0; d < config.dims.size(); ++d)
    if (config.dims[d].window > 1) config.inner = d;  // later dims have smaller strides
}

bool IsOfRows(const ScatterConfig& config) {
  if (config.queries.size() != 1 || config.queries[0].dim >= 0) return false;
  if (config.entries.size() != 1 || config.entries[0].at != 0) return false;
  if (config.dims.empty() || config.dims[0].entry != 0 || config.dims[0].window != 1) return false;
  if (config.dims.size() != 2) return false;
  const ScatterDim& row = config.dims[1];
  return IsSpanned(row) && row.stride == 1 && row.slice_stride == 1;
}

bool IsOfSingles(const ScatterConfig& config) {
  for (const ScatterDim& dim : config.dims)
    if (dim.window != 1 || dim.entry < 0) return false;
  for (const ScatterQuery& query : config.queries)
    if (query.dim >= 0) return false;
  return true;
}

}  // namespace

plan::Kernel Scatter(const LookupDesc& desc, std::optional<Reduction> reduction) {
  ScatterConfig config;
  config.element = desc.dtype.size();
  config.clip = desc.clip;
  config.leads = desc.leads;
  config.entries = EntriesOf(desc);
  config.dims = DimsOf(desc, config.entries);
  config.elements = 1;
  double updated = config.element;
  for (const LookupDesc::Dim& dim : desc.dims) {
    config.elements *= dim.size;
    if (dim.query < 0) updated *= static_cast<double>(dim.window);
  }
  for (const LookupDesc::Query& query : desc.queries) {
    updated *= static_cast<double>(query.size);
    config.queries.push_back(
        {query.size, query.index_stride, query.slice_stride, query.whole, -1, query.begins});
  }
  for (size_t d = 0; d < config.dims.size(); ++d)
    if (config.dims[d].query >= 0)
      config.queries[config.dims[d].query].dim = static_cast<int64_t>(d);
  if (config.elements > 0) ChooseSplit(config);
  ChooseInner(config);
  if (config.queries.empty()) config.queries.emplace_back();  // a single index is a vector of one
  config.rows = IsOfRows(config);
  config.singles = IsOfSingles(config);
  base::VisitElement(desc.dtype, [&](auto zero) {
    using T = decltype(zero);
    if (!reduction) return FillSet(config);
    FillCombine<T>(config, *reduction);
    SetIdentity<T>(*reduction, config.identity);
  });
  if (reduction) config.dense = Combiner(desc.dtype, *reduction);
  plan::Kernel kernel;
  kernel.bytes = 2.0 * static_cast<double>(config.elements * config.element) + 3 * updated;
  const int64_t units =
      config.dims.empty() ? 1 : std::max<int64_t>(1, config.dims[config.split].size / config.grain);
  kernel.max_parts = MaxParts(kernel.bytes, units);
  kernel.in_place = 1;
  kernel.fn = VisitIndex(desc.index, [](auto zero) { return RunScatter<decltype(zero)>; });
  kernel.config = std::make_shared<const ScatterConfig>(std::move(config));
  return kernel;
}

}  // namespace tessera::kernels
