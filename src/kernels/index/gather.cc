// Gather: copies slices of the operand in the order of the result.
#include "kernels/index/gather.h"

#include <absl/algorithm/container.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include "base/at.h"
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
  std::vector<HeldEntry> held;  // `before` is the device's
  int64_t rounds = 1, run_bytes = 0, element = 1;
  bool clip = false;
  std::vector<bool> leads;
  std::byte fill[16] = {}, nothing[16] = {};  // `nothing` is the identity of sums
};

// The offsets of some slices of a line, in bytes.
template <class Index>
class LineOffsets {
 public:
  LineOffsets(const GatherConfig& config, int32_t device)
      : entries_(config.held), clips_(config.clip) {
    for (size_t k = 0; k < entries_.size(); ++k) {
      const std::vector<int64_t>& begins = config.entries[k].begins;
      if (!begins.empty()) entries_[k].before = begins[base::Size(device)];
    }
  }
  static constexpr int64_t kMost = 256;
  // Returns the offsets for n <= kMost index vectors that are `step` indices apart.
  const int64_t* Of(const Index* vectors, int64_t step, int64_t n) {
    OffsetsOf(entries_, clips_, vectors, step, n, offsets_);
    return offsets_;
  }

 private:
  std::vector<HeldEntry> entries_;
  const bool clips_;
  int64_t offsets_[kMost];
};

// The position of a round in all loops but the last.
struct LoopPosition {
  std::vector<int64_t> at;
  int64_t index = 0, operand = 0;

  LoopPosition(const std::vector<GatherLoop>& loops, int64_t line) : at(loops.size(), 0) {
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
template <class Index, int kRun>
void RunGather(const plan::KernelArgs& call) {
  const auto& config = *static_cast<const GatherConfig*>(call.config);
  if (config.rounds == 0 || config.run_bytes == 0) return;
  const int64_t run = kRun ? kRun : config.run_bytes;
  const Range range = Share(config.rounds, 1, call.part, call.parts);
  const bool leads = config.leads.empty() || config.leads[call.device];
  const Pattern nothing(config.nothing, config.element);
  const Pattern outside(leads ? config.fill : config.nothing, config.element);
  const auto* indices = reinterpret_cast<const Index*>(call.in[1]);
  LineOffsets<Index> line_offsets(config, call.device);
  const GatherLoop line = config.loops.back();
  const bool varies = line.index_stride != 0;
  std::byte* out = call.out[0] + range.begin * run;
  LoopPosition position(config.loops, range.begin / line.size);
  int64_t i = range.begin % line.size;
  for (int64_t round = range.begin; round < range.end;) {
    const int64_t most = varies ? LineOffsets<Index>::kMost : line.size;
    const int64_t n = std::min({line.size - i, range.end - round, most});
    const int64_t* offsets = line_offsets.Of(indices + position.index + i * line.index_stride,
                                             line.index_stride, varies ? n : 1);
    const std::byte* in = call.in[0] + position.operand + i * line.operand_stride;
    for (int64_t k = 0; k < n; ++k, out += run, in += line.operand_stride) {
      const int64_t offset = offsets[varies ? k : 0];
      if (offset < 0)
        FillBytes(out, run, offset == kOutside ? outside : nothing);
      else if constexpr (kRun > 0)
        std::memcpy(out, in + offset, kRun);
      else
        CopyBytes(out, in + offset, run);
    }
    round += n, i += n;
    if (i < line.size) continue;
    position.Next(config.loops);
    i = 0;
  }
}

template <class Index>
plan::KernelFn GatherFunction(int64_t run_bytes) {
  switch (run_bytes) {
    case 1:
      return RunGather<Index, 1>;
    case 2:
      return RunGather<Index, 2>;
    case 4:
      return RunGather<Index, 4>;
    case 8:
      return RunGather<Index, 8>;
    default:
      return RunGather<Index, 0>;
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
    config.held.push_back({.at = entry.at,
                           .last = entry.last,
                           .held = std::max<int64_t>(dim.size - dim.window + 1, 0),
                           .stride = dim.stride * config.element});
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
  kernel.fn = VisitIndex(
      desc.index, [&](auto zero) { return GatherFunction<decltype(zero)>(config.run_bytes); });
  kernel.config = std::make_shared<const GatherConfig>(std::move(config));
  return kernel;
}

}  // namespace tessera::kernels
