// Reads indices: counts negative ones from the end, and cuts slices to the array.
#include "api/array/index_entries.h"

#include <fmt/format.h>

#include <algorithm>

#include "api/array/index_lookups.h"
#include "trace/array.h"

namespace tessera::api {

namespace {

int64_t SliceBound(const Slice::End& b, int64_t size, int64_t missing, int64_t low, int64_t high) {
  if (!b.value) return missing;
  int64_t v = *b.value < 0 ? *b.value + size : *b.value;
  return std::clamp(v, low, high);
}

IndexPiece SlicePiece(const Slice& s, int64_t size, Call call) {
  if (s.step == 0) FailShape(call, 18, "the step of a slice is 0");
  if (s.step > 0) {
    int64_t begin = SliceBound(s.begin, size, 0, 0, size),
            end = SliceBound(s.end, size, size, 0, size);
    return {begin, std::max(begin, end), s.step};
  }
  // A negative step takes the same elements forwards, and then reverses them.
  int64_t begin = SliceBound(s.begin, size, size - 1, -1, size - 1),
          end = SliceBound(s.end, size, -1, -1, size - 1);
  if (begin <= end) return {0, 0, 1};
  int64_t count = (begin - end - s.step - 1) / -s.step;
  int64_t first = begin + (count - 1) * s.step;
  return {first, begin + 1, -s.step, true};
}

IndexEntry IndexEntryOf(const Index& i, size_t d, int64_t size, bool is_checked, Call call) {
  if (i.kind() == Index::kSlice) return {IndexEntry::kSlice, SlicePiece(i.slice(), size, call)};
  if (i.kind() == Index::kArray) {
    trace::Use(i.array(), call.name, call.loc);
    DType t = TypeOf(i.array())->dtype();
    if (t.is_bool())
      FailDType(call, 15, "indices must be integers, not bool",
                {"the shape would depend on the data: use where(mask, a, b)"});
    return {IndexEntry::kArray, {0, size, 1}, FromEnd(i.array(), size, call, is_checked)};
  }
  int64_t at = i.integer() < 0 ? i.integer() + size : i.integer();
  if (at < 0 || at >= size)
    FailShape(call, 18,
              fmt::format("index {} is outside of dim {} of size {}", i.integer(), d, size));
  return {IndexEntry::kInteger, {at, at + 1, 1, false, true}};
}

}  // namespace

ParsedIndex ParseIndex(std::vector<Index> index, const base::Shape& shape, bool is_checked,
                       Call call) {
  size_t named = 0, dots = 0, d = 0;
  for (const Index& i : index) {
    named += i.kind() != Index::kNew && i.kind() != Index::kEllipsis;
    dots += i.kind() == Index::kEllipsis;
  }
  if (dots > 1) FailShape(call, 17, "an index has at most one Ellipsis");
  if (named > shape.size())
    FailShape(call, 17, fmt::format("{} indices for an array of rank {}", named, shape.size()));
  if (dots == 0) index.push_back(Index(Ellipsis, call.loc));
  ParsedIndex parsed;
  for (const Index& i : index) {
    if (i.kind() == Index::kNew) {
      parsed.entries.push_back({IndexEntry::kNew});
    } else if (i.kind() == Index::kEllipsis) {
      if (named == shape.size()) parsed.entries.push_back({IndexEntry::kNothing});
      for (size_t k = named; k < shape.size(); ++k, ++d)
        parsed.entries.push_back({IndexEntry::kSlice, {0, shape[d], 1}});
    } else {
      parsed.entries.push_back(IndexEntryOf(i, d, shape[d], is_checked, call));
      parsed.arrays = parsed.arrays || i.kind() == Index::kArray;
      ++d;
    }
  }
  return parsed;
}

}  // namespace tessera::api
