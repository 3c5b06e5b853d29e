// Simplifies the dims of a copy and chooses its strategy.
#include "kernels/copy/copy_plan.h"

#include <utility>

#include "kernels/copy/copy_planes.h"

namespace tessera::kernels {
namespace {

using Dim = CopyPlan::Dim;

// Reads the box as dims sorted by output stride, in bytes, with positive output strides. Returns
// false if the box is empty.
bool ReadBox(const CopyDesc& desc, bool keep_outer, CopyPlan* plan) {
  for (size_t d = 0; d < desc.box.size(); ++d) {
    Dim dim{desc.box[d], desc.in_strides[d] * desc.itemsize, desc.out_strides[d] * desc.itemsize};
    if (dim.n == 0) return false;
    if (dim.out == 0) {  // every index writes the same element: only the last write counts
      plan->in_offset += (dim.n - 1) * dim.in;
      dim.n = 1;
    }
    if (dim.out < 0) {
      plan->in_offset += (dim.n - 1) * dim.in;
      plan->out_offset += (dim.n - 1) * dim.out;
      dim = {dim.n, -dim.in, -dim.out};
    }
    if (dim.n > 1 || (keep_outer && d == 0)) plan->dims.push_back(dim);
  }
  const auto begin = plan->dims.begin() + (keep_outer ? 1 : 0);
  std::stable_sort(begin, plan->dims.end(),
                   [](const Dim& a, const Dim& b) { return a.out > b.out; });
  return true;
}

// Merges neighbouring dims, from dims[first] on, that are contiguous in both buffers.
void Merge(std::vector<Dim>* dims, size_t first) {
  std::vector<Dim> merged;
  for (const Dim& dim : *dims) {
    if (merged.size() > first) {
      Dim& outer = merged.back();
      if (outer.in == dim.in * dim.n && outer.out == dim.out * dim.n) {
        outer = {outer.n * dim.n, dim.in, dim.out};
        continue;
      }
    }
    merged.push_back(dim);
  }
  *dims = std::move(merged);
}

// Merges a short contiguous last dim into the item.
void WidenItem(CopyPlan* plan, size_t keep) {
  if (plan->dims.size() <= keep) return;
  const Dim& last = plan->dims.back();
  const int64_t bytes = last.n * plan->item;
  const bool power = bytes == 2 || bytes == 4 || bytes == 8 || bytes == 16;
  if (last.in != plan->item || last.out != plan->item || !power) return;
  plan->item = bytes;
  plan->dims.pop_back();
}

// Chooses how the elements outside of the box are filled.
void PlanGaps(CopyPlan* plan) {
  plan->fill_dims = plan->dims;
  plan->gaps = CopyPlan::kNested;
  int64_t span = plan->item;
  for (size_t d = plan->dims.size(); d-- > 0;) {
    if (plan->dims[d].out < span) plan->gaps = CopyPlan::kAny;
    span += (plan->dims[d].n - 1) * plan->dims[d].out;
  }
  constexpr int64_t kChunkBytes = int64_t{128} << 10;
  if (!plan->dims.empty())
    plan->fill_chunk = std::max<int64_t>(1, kChunkBytes / std::max<int64_t>(1, plan->dims[0].out));
}

// Returns the outermost dim that is long enough to be split evenly, or else the longest dim.
size_t ChooseSplit(const std::vector<Dim>& dims) {
  size_t longest = 0;
  for (size_t d = 0; d < dims.size(); ++d) {
    if (dims[d].n >= 16) return d;
    if (dims[d].n > dims[longest].n) longest = d;
  }
  return longest;
}

// Makes dims[from] the last but one, so that its index is the row of the plane.
void MoveToRow(CopyPlan* plan, size_t from) {
  const size_t to = plan->dims.size() - 2;
  const Dim dim = plan->dims[from];
  plan->dims.erase(plan->dims.begin() + from);
  plan->dims.insert(plan->dims.begin() + to, dim);
  if (plan->split == from)
    plan->split = to;
  else if (plan->split > from && plan->split <= to)
    --plan->split;
}

// Makes the copy a transposition of planes if a dim other than the last is contiguous in the input.
// Returns whether there is such a dim.
bool ChooseTranspose(CopyPlan* plan) {
  int log2 = 0;
  while ((1 << log2) < plan->item) ++log2;
  for (size_t d = 0; d + 1 < plan->dims.size(); ++d) {
    if (plan->dims[d].in != plan->item || plan->dims[d].n == 1) continue;
    MoveToRow(plan, d);
    plan->transpose = Simd().transpose[log2];
    plan->stream = plan->stream || plan->box_bytes >= kStreamTransposed;
    plan->plane = plan->stream ? StreamTransposePlane : TransposePlane;
    return true;
  }
  return false;
}

void ChoosePlane(CopyPlan* plan) {
  const Dim row = plan->dims[plan->dims.size() - 2], col = plan->dims.back();
  const int64_t item = plan->item, bytes = col.n * item;
  plan->plane = StridedPlane(item);
  if (col.out != item) return;
  if (col.in == item) {
    const bool repeats = row.in == 0 && row.out == bytes && row.n > 1 && bytes <= 2048;
    plan->plane = repeats ? RepeatRow : CopyRows;
    if (!repeats && bytes < 512) plan->stream = false;
  } else if (col.in == 0) {
    plan->plane = FillRows;
  } else {
    ChooseTranspose(plan);
  }
}

void Walk(const CopyPlan& plan, size_t d, int64_t split_n, const std::byte* in, std::byte* out) {
  const auto size = [&](size_t k) { return k == plan.split ? split_n : plan.dims[k].n; };
  if (d + 2 == plan.dims.size()) return plan.plane(plan, in, out, size(d), size(d + 1));
  const int64_t n = size(d);
  for (int64_t i = 0; i < n; ++i)
    Walk(plan, d + 1, split_n, in + i * plan.dims[d].in, out + i * plan.dims[d].out);
}

// Fills the gap from *pos to the box's first row at `at`, and the gaps between its rows. Sets *pos
// to the end of the last row.
void FillBetween(const CopyPlan& plan, size_t d, int64_t n, std::byte* at, std::byte** pos,
                 const Pattern& pattern) {
  const Dim& dim = plan.fill_dims[d];
  if (d + 1 < plan.fill_dims.size()) {
    for (int64_t i = 0; i < n; ++i)
      FillBetween(plan, d + 1, plan.fill_dims[d + 1].n, at + i * dim.out, pos, pattern);
    return;
  }
  std::byte* end = at + (n - 1) * dim.out + plan.item;
  std::byte* fill_end = dim.out == plan.item ? at : end;
  FillBytes(*pos, fill_end - *pos, pattern, plan.stream);
  *pos = end;
}

// Copies the rows of `range` and fills the gaps from the first of them to the row after the last.
// The first range also fills everything before the box, and the last range everything after it.
void CopyAndFill(const CopyPlan& plan, const CopyArgs& args, Range range, const Pattern& pattern) {
  const Dim& outer = plan.fill_dims[0];
  std::byte* box = args.out + plan.out_offset + args.out_shift;
  std::byte* pos = range.begin == 0 ? args.out : box + range.begin * outer.out;
  for (int64_t i = range.begin; i < range.end; i += plan.fill_chunk) {
    const Range chunk{i, std::min(range.end, i + plan.fill_chunk)};
    FillBetween(plan, 0, chunk.end - i, box + i * outer.out, &pos, pattern);
    RunCopyRange(plan, args, chunk);
  }
  std::byte* end = range.end == outer.n ? args.out + plan.out_bytes : box + range.end * outer.out;
  FillBytes(pos, end - pos, pattern, plan.stream);
}

}  // namespace

int32_t CopyPlan::max_parts() const {
  if (empty) return MaxParts(static_cast<double>(out_bytes), out_bytes / 64);
  if (gaps == kAny) return 1;
  return MaxParts(bytes_touched(), (split_size() + grain - 1) / grain);
}

double CopyPlan::bytes_touched() const {
  const int64_t filled = gaps == kNone ? 0 : out_bytes - box_bytes;
  int64_t read = item;  // a dim with stride 0 reads the same items repeatedly
  for (const Dim& dim : dims) read *= dim.in == 0 ? 1 : dim.n;
  return static_cast<double>(read + box_bytes + filled);
}

CopyPlan MakeCopyPlan(const CopyDesc& desc, bool keep_outer) {
  CopyPlan plan;
  keep_outer = keep_outer && !desc.box.empty();
  const size_t kept = keep_outer ? 1 : 0;
  plan.item = plan.element = desc.itemsize;
  plan.in_offset = desc.in_offset * desc.itemsize;
  plan.out_offset = desc.out_offset * desc.itemsize;
  plan.out_bytes = desc.out_size * desc.itemsize;
  plan.empty = !ReadBox(desc, keep_outer, &plan);
  if (plan.empty) {
    plan.dims = {{0, 0, 0}, {0, 0, 0}};
    plan.gaps = desc.fill ? CopyPlan::kAny : CopyPlan::kNone;
    return plan;
  }
  Merge(&plan.dims, kept);
  WidenItem(&plan, std::max<size_t>(kept, 1));
  plan.box_bytes = plan.item;
  for (const Dim& dim : plan.dims) plan.box_bytes *= dim.n;
  plan.stream = desc.streams || plan.box_bytes >= kStreamBytes;
  if (plan.dims.empty()) plan.dims.push_back({1, plan.item, plan.item});
  if (desc.fill && plan.box_bytes != plan.out_bytes) PlanGaps(&plan);
  plan.split = keep_outer || plan.gaps != CopyPlan::kNone ? 0 : ChooseSplit(plan.dims);
  if (plan.dims.size() == 1) {
    plan.dims.insert(plan.dims.begin(), {1, 0, 0});
    ++plan.split;
  }
  ChoosePlane(&plan);
  const bool in_plane = plan.split + 2 >= plan.dims.size();
  // Cuts inside a plane are at whole lines of the output and at whole blocks of a transposition.
  if (in_plane && !keep_outer && plan.split_size() >= 256) plan.grain = kBlockRows;
  return plan;
}

void RunCopyRange(const CopyPlan& plan, const CopyArgs& args, Range range) {
  if (range.begin >= range.end || plan.empty) return;
  const Dim& dim = plan.dims[plan.split];
  Walk(plan, 0, range.end - range.begin,
       args.in + plan.in_offset + args.in_shift + range.begin * dim.in,
       args.out + plan.out_offset + args.out_shift + range.begin * dim.out);
  if (plan.stream) StreamFence();
}

void RunFill(const CopyPlan& plan, const CopyArgs& args, int32_t part, int32_t parts) {
  const Range range = Share(plan.out_bytes, 64, part, parts);
  FillBytes(args.out + range.begin, range.end - range.begin, Pattern(args.fill, plan.element),
            plan.out_bytes >= kStreamBytes);
  StreamFence();
}

void RunCopy(const CopyPlan& plan, const CopyArgs& args, int32_t part, int32_t parts) {
  if (plan.empty) {
    if (plan.gaps != CopyPlan::kNone) RunFill(plan, args, part, parts);
    return;
  }
  const Range range = Share(plan.split_size(), plan.grain, part, parts);
  if (plan.gaps == CopyPlan::kNested) {
    if (range.begin < range.end) CopyAndFill(plan, args, range, Pattern(args.fill, plan.element));
    return;
  }
  if (plan.gaps == CopyPlan::kAny) RunFill(plan, args, 0, 1);
  RunCopyRange(plan, args, range);
}

}  // namespace tessera::kernels
