// How the iteration space of a fused group becomes rows.
#include <algorithm>

#include "base/shape.h"
#include "kernels/fused/fused_config.h"

namespace tessera::kernels {
namespace {

using Strides = std::vector<int64_t>;

// Below this many elements a row is not worth its start; then all dims are one row, and what is not
// dense is gathered.
constexpr int64_t kLeastRow = 32;

// Merges neighbouring dims that every tensor walks as one, and drops dims of size 1.
void Collapse(Strides& dims, std::vector<Strides*> tensors) {
  size_t kept = 0;
  for (size_t d = 0; d < dims.size(); ++d) {
    if (dims[d] == 1) continue;
    const bool merges = kept > 0 && std::all_of(tensors.begin(), tensors.end(), [&](Strides* s) {
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
};

std::vector<Source> Sources(const plan::FusedDesc& desc) {
  std::vector<Source> all;
  for (const auto& t : desc.inputs) all.push_back({t.dtype.size(), t.strides, false});
  for (const auto& t : desc.outputs) {
    const size_t rank = desc.dims.size(), row = rank - static_cast<size_t>(desc.reduced);
    const bool per_row = desc.reduced > 0 && std::all_of(t.strides.begin() + row, t.strides.end(),
                                                         [](int64_t s) { return s == 0; });
    Strides dims = desc.dims;
    if (per_row) dims.resize(row);
    Strides strides = base::DenseStrides(dims);
    strides.resize(rank, 0);
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

}  // namespace

RowLayout MakeLayout(const plan::FusedDesc& desc, bool has_rows) {
  std::vector<Source> sources = Sources(desc);
  Strides dims = desc.dims;
  size_t outer_rank = dims.size() - static_cast<size_t>(desc.reduced);
  const auto pointers = [&] {
    std::vector<Strides*> all;
    for (Source& s : sources) all.push_back(&s.strides);
    return all;
  };
  if (!has_rows) {
    Collapse(dims, pointers());
    const bool long_rows = dims.size() > 1 && dims.back() >= kLeastRow;
    outer_rank = long_rows ? dims.size() - 1 : 0;
  }
  RowLayout layout;
  const Strides row_dims(dims.begin() + static_cast<int64_t>(outer_rank), dims.end());
  for (Source& s : sources) {
    layout.tensors.push_back(View(s, outer_rank, row_dims));
    s.strides.resize(outer_rank);
  }
  layout.n = base::Elements(row_dims);
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
