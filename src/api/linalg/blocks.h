// The layouts of one large matrix, for functions that run block by block.
#pragma once
#include <algorithm>
#include <utility>
#include <vector>

#include "api/linalg/formulas.h"
#include "tessera/lookup.h"

namespace tessera::api {

// The layouts of a matrix and its pieces: by rows or by columns, over all axes of its dims.
class MatrixBlocks {
 public:
  MatrixBlocks(const Array& a, Call call) : f_(call), mesh_(TypeOf(a)->mesh()) {
    const sharding::TensorSharding& s = TypeOf(a)->sharding();
    axes_ = s.dims[0].axes;
    axes_.insert(axes_.end(), s.dims[1].axes.begin(), s.dims[1].axes.end());
    devices_ = sharding::SizeOf(axes_);
  }
  Array ByRows(const Array& x) const { return LaidOut(x, 0); }
  Array ByColumns(const Array& x) const { return LaidOut(x, 1); }
  Array Whole(const Array& x) const { return LaidOut(x, -1); }
  // Returns the size of the first block of a dim of `left` elements out of `size`.
  int64_t BlockOf(int64_t left, int64_t size) const {
    constexpr int64_t kBlock = 256, kFewest = 4;
    const int64_t block = std::clamp<int64_t>(size / kFewest, 1, kBlock);
    return std::min(left, Divided(block));
  }
  int64_t devices() const { return devices_; }
  // Returns the next size that divides over the devices.
  int64_t Divided(int64_t size) const { return (size + devices_ - 1) / devices_ * devices_; }

  // Returns x in a layout, without the axes that do not divide its dims, or those of `shape`.
  Array In(const Array& x, sharding::TensorSharding layout, const base::Shape& shape) const {
    for (size_t d = 0; d < layout.dims.size(); ++d) {
      const int64_t shards = sharding::SizeOf(layout.dims[d].axes);
      if (ShapeOf(x)[d] % shards != 0 || shape[d] % shards != 0) layout.dims[d].axes.clear();
    }
    return TypeOf(x)->sharding() == layout ? x : Moved(x, std::move(layout), f_.call());
  }

  const MatrixFormulas& f() const { return f_; }
  Array Rows(const Array& x, int64_t begin, int64_t end) const {
    return f_.Slice(x, 2, begin, end);
  }
  Array Columns(const Array& x, int64_t begin, int64_t end) const {
    return f_.Slice(x, 1, begin, end);
  }
  Array Below(std::vector<Array> parts) const { return Joined(std::move(parts), 0); }
  Array Beside(std::vector<Array> parts) const { return Joined(std::move(parts), 1); }
  Array RowsInOrder(const Array& x, const Array& order) const {
    return tessera::take(x, order, 0, {}, f_.loc());
  }
  // Returns x after `before` rows of zeros, and before `after` columns of zeros.
  Array AfterRows(const Array& x, int64_t rows) const {
    return rows == 0 ? x : tessera::pad(x, {{rows, 0}, {0, 0}}, f_.NumberLike(x, 0), f_.loc());
  }
  Array AfterColumns(const Array& x, int64_t columns) const {
    return columns == 0 ? x
                        : tessera::pad(x, {{0, 0}, {columns, 0}}, f_.NumberLike(x, 0), f_.loc());
  }

 private:
  Array LaidOut(const Array& x, int dim) const {
    sharding::TensorSharding to = sharding::Replicated(mesh_, static_cast<int>(Rank(x)));
    if (dim >= 0 && !ShapeOf(x).empty()) to.dims[static_cast<size_t>(dim)].axes = axes_;
    return TypeOf(x)->sharding() == to ? x : Moved(x, std::move(to), f_.call());
  }
  Array Joined(std::vector<Array> parts, int dim) const {
    return parts.size() == 1 ? parts[0] : tessera::concatenate(std::move(parts), dim, f_.loc());
  }

  MatrixFormulas f_;
  const sharding::MeshDef* mesh_;
  sharding::AxisList axes_;
  int64_t devices_ = 1;
};

}  // namespace tessera::api
