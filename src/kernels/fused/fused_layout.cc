// Divides the iteration space of a fused group into rows.
#include "kernels/fused/fused_layout.h"

#include <absl/algorithm/container.h>

#include <algorithm>
#include <utility>

#include "base/at.h"
#include "base/shape.h"
#include "kernels/fused/fused_config.h"

namespace tessera::kernels {
namespace {

using Strides = std::vector<int64_t>;

// A row of fewer elements is not worth starting. Then all dims form one row, and tensors that are
// not dense are gathered.
constexpr int64_t kLeastRow = 32;

// Merges neighbouring dims that are contiguous in every tensor, and drops dims of size 1.
void Collapse(Strides& dims, std::vector<Strides*> tensors) {
  size_t kept = 0;
  for (size_t d = 0; d < dims.size(); ++d) {
    if (dims[d] == 1) continue;
    const bool merges = kept > 0 && absl::c_all_of(tensors, [&](Strides* s) {
                          return (*s)[kept - 1] == (*s)[d] * dims[d];
                        });
    if (!merges) ++kept;
    dims[kept - 1] = merges ? dims[kept - 1] * dims[d] : dims[d];
    for (Strides* s : tensors) (*s)[kept - 1] = (*s)[d];
  }
  dims.resize(kept);
  for (Strides* s : tensors) s->resize(kept);
}

struct Source {
  int itemsize;
  Strides strides;
  bool per_row = false;
  std::vector<plan::FusedDesc::Part> parts = {};  // replaces `strides`
};

std::vector<Source> Sources(const plan::FusedDesc& desc) {
  std::vector<Source> all;
  for (const auto& t : desc.inputs) all.push_back({t.dtype.size(), t.strides, false, t.parts});
  for (const auto& t : desc.outputs) {
    const size_t rank = desc.dims.size(), row = rank - base::Size(desc.reduced);
    const bool per_row = desc.reduced > 0 && std::all_of(t.strides.begin() + row, t.strides.end(),
                                                         [](int64_t s) { return s == 0; });
    Strides strides = t.strides;
    if (per_row) {
      strides = base::DenseStrides(
          Strides(desc.dims.begin(), desc.dims.begin() + std::ssize(desc.dims) - desc.reduced));
      strides.resize(rank, 0);
    }
    all.push_back({t.dtype.size(), strides, per_row});
  }
  for (const auto& iota : desc.iotas) all.push_back({1, iota.strides, false});
  return all;
}

TensorView View(const Source& source, size_t outer_rank, Strides row_dims) {
  TensorView view;
  view.itemsize = source.itemsize;
  view.per_row = source.per_row;
  Strides row(source.strides.begin() + static_cast<int64_t>(outer_rank), source.strides.end());
  Collapse(row_dims, {&row});
  if (row.empty())
    view.kind = TensorView::kStream;
  else if (row.size() == 1 && row[0] <= 1 && row[0] >= 0)
    view.kind = row[0] == 0 ? TensorView::kScalar : TensorView::kStream;
  else
    view.kind = TensorView::kGather, view.gather = {row_dims, row};
  return view;
}

// The same space with fewer dims. Drops dims of size 1 and merges neighbours that are contiguous in
// all sources and all parts. Dims from `row` on, if there are any, do not merge with those before.
class PartSpace {
 public:
  PartSpace(Strides& dims, std::vector<Source>& sources, size_t row)
      : dims_(dims), sources_(sources) {
    for (size_t d = dims.size(); d-- > 0;) {
      if (dims_[d] == 1)
        Drop(d);
      else if (d + 1 < dims_.size() && d + 1 != row && Merges(d))
        Merge(d);
      else
        continue;
      row -= d < row;
    }
    row_ = row;
  }
  size_t row() const { return row_; }

 private:
  template <class F>
  void ForEachStrides(F f) {
    for (Source& s : sources_) {
      f(s.strides);
      for (auto& part : s.parts) f(part.strides);
    }
  }
  template <class F>
  void ForEachPart(F f) {
    for (Source& s : sources_)
      for (auto& part : s.parts) f(part);
  }
  static void Erase(Strides& s, size_t d) { s.erase(s.begin() + static_cast<int64_t>(d)); }

  bool Merges(size_t d) {
    bool all = true;
    for (Source& s : sources_)
      if (s.parts.empty()) all &= s.strides[d] == s.strides[d + 1] * dims_[d + 1];
    ForEachPart([&](const plan::FusedDesc::Part& p) {
      all &= p.begin[d + 1] == 0 && p.end[d + 1] == dims_[d + 1] &&
             p.strides[d] == p.strides[d + 1] * dims_[d + 1];
    });
    return all;
  }
  void Merge(size_t d) {
    ForEachStrides([&](Strides& s) { Erase(s, d); });
    ForEachPart([&](plan::FusedDesc::Part& p) {
      p.begin[d] *= dims_[d + 1], p.end[d] *= dims_[d + 1];
      Erase(p.begin, d + 1), Erase(p.end, d + 1);
    });
    dims_[d] *= dims_[d + 1];
    Erase(dims_, d + 1);
  }
  void Drop(size_t d) {
    ForEachStrides([&](Strides& s) { Erase(s, d); });
    ForEachPart([&](plan::FusedDesc::Part& p) { Erase(p.begin, d), Erase(p.end, d); });
    Erase(dims_, d);
  }

  Strides& dims_;
  std::vector<Source>& sources_;
  size_t row_;
};

RowRead ReadOf(const Source& source, size_t tensor, size_t outer_rank, int64_t n) {
  RowRead read{.tensor = tensor, .parts = {}};
  for (const auto& part : source.parts) {
    RowPart row{.begin = part.begin, .end = part.end, .outer = part.strides};
    row.fills = absl::c_all_of(part.strides, [](auto s) { return s == 0; });
    for (Strides* s : {&row.begin, &row.end, &row.outer}) s->resize(outer_rank);
    for (int64_t& stride : row.outer) stride *= source.itemsize;
    const bool one_dim = part.begin.size() == outer_rank + 1;
    row.begin.push_back(one_dim ? part.begin.back() : 0);
    row.end.push_back(one_dim ? part.end.back() : n);
    row.offset = part.offset * source.itemsize;
    row.operand = part.operand;
    read.parts.push_back(std::move(row));
  }
  return read;
}

// Marks inputs that read elements which another input has just read: in a stencil all rows but the
// last. The two must be less than kCachedElements elements apart, so that the elements are still in
// a cache.
void MarkFollowers(const plan::FusedDesc& desc, RowLayout& layout) {
  struct Main {  // the largest part of an input
    int32_t operand;
    int64_t offset, elements;
  };
  constexpr int64_t kCachedElements = 1 << 16;
  std::vector<Main> main;
  for (size_t t = 0; t < desc.inputs.size(); ++t) {
    const auto& input = desc.inputs[t];
    main.push_back({input.operand < 0 ? static_cast<int32_t>(t) : input.operand, 0, -1});
    for (const auto& part : input.parts) {
      int64_t elements = 1;
      for (size_t d = 0; d < part.begin.size(); ++d) elements *= part.end[d] - part.begin[d];
      if (elements > main[t].elements) main[t] = {part.operand, part.offset, elements};
    }
  }
  for (size_t t = 0; t < main.size(); ++t)
    for (size_t other = 0; other < main.size(); ++other)
      if (main[t].operand == main[other].operand &&
          main[other].offset - main[t].offset < kCachedElements &&
          std::pair(main[t].offset, t) < std::pair(main[other].offset, other))
        layout.tensors[t].follows = true;
}

// `outer`: number of dims before those of a row; -1: all but the last.
RowLayout LayoutOfParts(std::vector<Source> sources, Strides dims, int64_t outer) {
  size_t row = PartSpace(dims, sources, base::Size(outer)).row();
  if (outer < 0) row = std::max<size_t>(dims.size(), 1) - 1;
  RowLayout layout;
  const Strides row_dims(dims.begin() + static_cast<int64_t>(row), dims.end());
  layout.n = base::Elements(row_dims);
  layout.outer.assign(dims.begin(), dims.begin() + static_cast<int64_t>(row));
  layout.rows = base::Elements(layout.outer);
  size_t parts = 0;
  for (size_t t = 0; t < sources.size(); ++t) {
    const Source& s = sources[t];
    if (!s.parts.empty()) {
      layout.reads.push_back(ReadOf(s, t, row, layout.n));
      layout.reads.back().number = layout.reads.size() - 1;
      layout.reads.back().first = parts;
      parts += s.parts.size();
    }
    layout.tensors.push_back(s.parts.empty()
                                 ? View(s, row, row_dims)
                                 : TensorView{.kind = TensorView::kStream, .itemsize = s.itemsize});
    for (size_t d = 0; d < row; ++d)
      layout.tensors.back().outer.push_back(s.parts.empty() ? s.strides[d] * s.itemsize : 0);
  }
  return layout;
}

// Fewer rows run one at a time.
constexpr int64_t kLeastAcross = 32;

// Whether the dims from `outer` on form rows that are short enough (at most `most` elements) and
// numerous enough to make each tile one column of many rows. Random bits need consecutive counters,
// so their groups never run across.
bool RunsAcross(const plan::FusedDesc& desc, const Strides& dims, size_t outer, int64_t most) {
  const auto row = dims.begin() + static_cast<int64_t>(outer);
  const int64_t n = base::Elements(Strides(row, dims.end()));
  const bool counts = absl::c_any_of(desc.nodes, [](const auto& node) {
    return node.kind == plan::FusedNode::kScalar && node.op == plan::ScalarOp::kRandomBits32;
  });
  return n >= 1 && n <= most && !counts &&
         base::Elements(Strides(dims.begin(), row)) >= kLeastAcross;
}

// Returns how many of the collapsed dims are outside of a row. Inputs that are not dense along a
// row are gathered; outputs are never scattered.
size_t OuterRank(const plan::FusedDesc& desc, const Strides& dims,
                 const std::vector<Source>& sources) {
  bool dense = true, rows = true;
  for (size_t k = 0; k < desc.outputs.size(); ++k) {
    const Strides& strides = sources[desc.inputs.size() + k].strides;
    dense &= strides == base::DenseStrides(dims);
    rows &= strides.empty() || strides.back() == 1;
  }
  if (!dense) return dims.size() - (rows ? 1 : 0);
  if (dims.size() < 2) return 0;
  const bool rows_apart =
      dims.back() >= kLeastRow || RunsAcross(desc, dims, dims.size() - 1, kLeastRow);
  return rows_apart ? dims.size() - 1 : 0;
}

}  // namespace

RowLayout MakeLayout(const plan::FusedDesc& desc, bool has_rows) {
  std::vector<Source> sources = Sources(desc);
  Strides dims = desc.dims;
  const bool parts = absl::c_any_of(sources, [](const Source& s) { return !s.parts.empty(); });
  if (parts) {
    const int64_t outer = has_rows ? std::ssize(dims) - desc.reduced : -1;
    RowLayout layout = LayoutOfParts(std::move(sources), dims, outer);
    MarkFollowers(desc, layout);
    return layout;
  }
  size_t outer_rank = dims.size() - base::Size(desc.reduced);
  const auto pointers = [&] {
    std::vector<Strides*> all;
    for (Source& s : sources) all.push_back(&s.strides);
    return all;
  };
  if (!has_rows) {
    Collapse(dims, pointers());
    outer_rank = OuterRank(desc, dims, sources);
  }
  RowLayout layout;
  const Strides row_dims(dims.begin() + static_cast<int64_t>(outer_rank), dims.end());
  for (Source& s : sources) {
    layout.tensors.push_back(View(s, outer_rank, row_dims));
    s.strides.resize(outer_rank);
  }
  layout.n = base::Elements(row_dims);
  // Without reductions longer rows need no transposition: each starts its own program.
  layout.across = RunsAcross(desc, dims, outer_rank, has_rows ? kShortRow : kLeastRow - 1);
  dims.resize(outer_rank);
  Collapse(dims, pointers());
  layout.outer = dims;
  layout.rows = base::Elements(dims);
  for (size_t t = 0; t < sources.size(); ++t)
    for (int64_t stride : sources[t].strides)
      layout.tensors[t].outer.push_back(stride * sources[t].itemsize);
  return layout;
}

}  // namespace tessera::kernels
