// The entries of an index in the terms of the dims that they take elements of.
#pragma once
#include <vector>

#include "api/core/operands.h"
#include "tessera/lookup.h"

namespace tessera::api {

// The kept elements of one dim of the operand.
struct IndexPiece {
  int64_t start, limit, stride;
  bool reversed = false, dropped = false;
  int64_t size() const { return (limit - start + stride - 1) / stride; }
};

// One entry of an index. An Ellipsis becomes one slice per dim, or kNothing if no dim is left.
struct IndexEntry {
  enum Kind : uint8_t { kNew, kNothing, kInteger, kSlice, kArray } kind;
  IndexPiece piece{0, 0, 1};
  Array array = {};  // integers, with negative ones counted from the end
  bool has_dim() const { return kind != kNew && kind != kNothing; }
  // Whether the elements of a slice are contiguous and in order.
  bool neighbours() const { return (piece.stride == 1 && !piece.reversed) || piece.size() <= 1; }
};

struct ParsedIndex {
  std::vector<IndexEntry> entries;
  bool arrays = false;  // whether an entry is an array
  // Whether the entry is an index array. Next to arrays, integers count as arrays too.
  bool picks(const IndexEntry& e) const {
    return e.kind == IndexEntry::kArray || (arrays && e.kind == IndexEntry::kInteger);
  }
};

// Returns the entries of the index of an array of this shape. Throws if the index does not fit.
// Index arrays are checked inside of a CheckedIndices, if `is_checked`.
ParsedIndex ParseIndex(std::vector<Index> index, const base::Shape& shape, bool is_checked,
                       Call call);

}  // namespace tessera::api
