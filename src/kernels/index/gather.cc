// Gather: copies slices of the operand in the order of the result.
#include "kernels/index/gather.h"

#include <absl/algorithm/container.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include "base/shape.h"
#include "kernels/copy/copy_bytes.h"
#include "kernels/index/lookup.h"
#include "kernels/parts.h"

namespace tessera::kernels {
namespace {

// A loop over a dim of the result, which comes from the queries or from a dim of the operand.
struct GatherLoop {
  int64_t size = 1;
  int64_t index_stride = 0;    // in elements
  int64_t operand_stride = 0;  // in bytes
  int64_t result_stride = 0;   // in elements; determines the order of the loops
};

struct GatherConfig {
  std::vector<GatherLoop> loops;  // outer loops first; each round copies one run
  std::vector<LookupEntry> entries;
  // per entry: bytes of a step; the last begin of a slice that is held here
  std::vector<int64_t> entry_strides, held;
  int64_t rounds = 1, run_bytes = 0, element = 1;
  bool clip = false;
  std::vector<bool> leads;
  std::byte fill[16] = {}, nothing[16] = {};  // `nothing` is the identity of sums
};

enum : int64_t { kOutside = -1, kElsewhere = -2 };

// Finds where slices begin on one device.
template <class Index>
class Begins {
 public:
  Begins(const GatherConfig& config, int32_t device) : config_(config), device_(device) {}
  // Returns the offset in the operand in bytes, kOutside, or kElsewhere if another device holds
  // the slice.
  int64_t Offset(const Index* vector) const {
    int64_t offset = 0;
    bool here = true;
    for (size_t k = 0; k < config_.entries.size(); ++k) {
      const LookupEntry& entry = config_.entries[k];
      int64_t begin = BeginOf(entry, vector, config_.clip);
      if (!Inside(begin, entry.last)) return kOutside;
      if (!entry.begins.empty()) {
        begin -= entry.begins[device_];
        here = here && begin >= 0 && begin <= config_.held[k];
      }
      offset += begin * config_.entry_strides[k];
    }
    return here ? offset : kElsewhere;
  }

 private:
  const GatherConfig& config_;
  const int32_t device_;
};

// The same for index vectors with one entry, with all values in registers.
template <class Index>
class OneBegin {
 public:
  OneBegin(const GatherConfig& config, int32_t device)
      : last_(config.entries[0].last), held_(config.held[0]), stride_(config.entry_strides[0]) {
    const std::vector<int64_t>& begins = config.entries[0].begins;
    if (!begins.empty()) begin_ = begins[device];
    clips_ = config.clip;
  }
  int64_t Offset(const Index* vector) const {
    int64_t begin = Begin(*vector, last_, clips_);
    if (!Inside(begin, last_)) return kOutside;
    begin -= begin_;
    return static_cast<uint64_t>(begin) <= static_cast<uint64_t>(held_) ? begin * stride_
                                                                        : kElsewhere;
  }

 private:
  int64_t last_, held_, stride_, begin_ = 0;
  bool clips_;
};

// The position of a round in all loops but the last.
struct Position {
  std::vector<int64_t> at;
  int64_t index = 0, operand = 0;

  Position(const std::vector<GatherLoop>& loops, int64_t line) : at(loops.size(), 0) {
    for (size_t l = loops.size() - 1; l-- > 0; line /= loops[l].size) {
      at[l] = line % loops[l].size;
      index += at[l] * loops[l].index_stride;
      operand += at[l] * loops[l].operand_stride;
    }
  }
  void Next(const std::vector<GatherLoop>& loops) {
    for (size_t l = loops.size() - 1; l-- > 0;) {
      index += loops[l].index_stride;
      operand += loops[l].operand_stride;
      if (++at[l] < loops[l].size) return;
      index -= at[l] * loops[l].index_stride;
      operand -= at[l] * loops[l].operand_stride;
      at[l] = 0;
    }
  }
};

// kRun: bytes of a run, or 0 if the size is not known at compile time.
template <class Index, class Vectors, int kRun>
void RunGather(const plan::KernelArgs& call) {
  const auto& config = *static_cast<const GatherConfig*>(call.config);
  if (config.rounds == 0 || config.run_bytes == 0) return;
  const int64_t run = kRun ? kRun : config.run_bytes;
  const Range range = Share(config.rounds, 1, call.part, call.parts);
  const bool leads = config.leads.empty() || config.leads[call.device];
  const Pattern nothing(config.nothing, config.element);
  const Pattern outside(leads ? config.fill : config.nothing, config.element);
  const auto* indices = reinterpret_cast<const Index*>(call.in[1]);
  const Vectors vectors(config, call.device);
  const GatherLoop line = config.loops.back();
  std::byte* out = call.out[0] + range.begin * run;
  Position position(config.loops, range.begin / line.size);
  int64_t i = range.begin % line.size;
  for (int64_t round = range.begin; round < range.end; position.Next(config.loops), i = 0) {
    const int64_t end = std::min(line.size, i + range.end - round);
    round += end - i;
    int64_t offset = 0;
    if (line.index_stride == 0) offset = vectors.Offset(indices + position.index);
    for (; i < end; ++i, out += run) {
      if (line.index_stride != 0)
        offset = vectors.Offset(indices + position.index + i * line.index_stride);
      if (offset < 0) {
        FillBytes(out, run, offset == kOutside ? outside : nothing);
        continue;
      }
      const std::byte* from = call.in[0] + position.operand + i * line.operand_stride + offset;
      if constexpr (kRun > 0)
        std::memcpy(out, from, kRun);
      else
        CopyBytes(out, from, run);
    }
  }
}

template <class Index, class Vectors>
plan::KernelFn GatherFunction(int64_t run_bytes) {
  switch (run_bytes) {
    case 1:
      return RunGather<Index, Vectors, 1>;
    case 2:
      return RunGather<Index, Vectors, 2>;
    case 4:
      return RunGather<Index, Vectors, 4>;
    case 8:
      return RunGather<Index, Vectors, 8>;
    default:
      return RunGather<Index, Vectors, 0>;
  }
}

// Returns the loops over the result's dims in their order, without dims of size 1.
std::vector<GatherLoop> LoopsOf(const LookupDesc& desc) {
  std::vector<GatherLoop> loops;
  for (size_t q = 0; q < desc.queries.size(); ++q) {
    const LookupDesc::Query& query = desc.queries[q];
    GatherLoop loop{query.size, query.index_stride, 0, query.slice_stride};
    for (const LookupDesc::Dim& dim : desc.dims)
      if (dim.query == static_cast<int64_t>(q)) loop.operand_stride = dim.stride;
    if (loop.size != 1) loops.push_back(loop);
  }
  for (const LookupDesc::Dim& dim : desc.dims)
    if (dim.query < 0 && dim.window != 1)
      loops.push_back({dim.window, 0, dim.stride, dim.slice_stride});
  absl::c_stable_sort(loops, [](const GatherLoop& a, const GatherLoop& b) {
    return a.result_stride > b.result_stride;
  });
  return loops;
}

}  // namespace

plan::Kernel Gather(const LookupDesc& desc, const base::ElementBits& fill) {
  GatherConfig config;
  config.element = desc.dtype.size();
  config.clip = desc.clip;
  config.leads = desc.leads;
  std::memcpy(config.fill, fill.data(), sizeof fill);
  const int64_t part = base::PartOf(desc.dtype).size();
  if (desc.dtype.is_inexact())  // -0
    for (int64_t end = part; end <= config.element; end += part)
      config.nothing[end - 1] = std::byte{0x80};
  config.entries = EntriesOf(desc);
  for (const LookupEntry& entry : config.entries) {
    const LookupDesc::Dim& dim = desc.dims[entry.dim];
    config.entry_strides.push_back(dim.stride * config.element);
    config.held.push_back(dim.size - dim.window);
  }
  config.loops = LoopsOf(desc);
  int64_t elements = 1, run = 1;
  for (const GatherLoop& loop : config.loops) elements *= loop.size;
  // A run consists of the last dims, as far as they are contiguous in the operand.
  while (!config.loops.empty() && elements > 0) {
    const GatherLoop& last = config.loops.back();
    if (last.index_stride != 0 || last.operand_stride != run || last.size == 0) break;
    run *= last.size;
    config.loops.pop_back();
  }
  for (GatherLoop& loop : config.loops) loop.operand_stride *= config.element;
  if (config.loops.empty()) config.loops.emplace_back();
  config.run_bytes = run * config.element;
  config.rounds = elements / run;
  plan::Kernel kernel;
  int64_t vectors = 1;
  for (const LookupDesc::Query& query : desc.queries) vectors *= query.size;
  kernel.bytes = 2.0 * static_cast<double>(elements * config.element) +
                 static_cast<double>(vectors * desc.entries * desc.index.size());
  kernel.max_parts = MaxParts(kernel.bytes, config.rounds);
  const bool one = config.entries.size() == 1 && desc.entries == 1;
  kernel.fn = VisitIndex(desc.index, [&](auto zero) {
    using Index = decltype(zero);
    return one ? GatherFunction<Index, OneBegin<Index>>(config.run_bytes)
               : GatherFunction<Index, Begins<Index>>(config.run_bytes);
  });
  kernel.config = std::make_shared<const GatherConfig>(std::move(config));
  return kernel;
}

}  // namespace tessera::kernels
