// Sorting, looking up and basic indexing.
#include <fmt/format.h>

#include <algorithm>

#include "api/edits.h"
#include "api/operands.h"
#include "base/defaults.h"
#include "ops/params.h"

namespace tessera {
namespace {
using api::Call;
const ir::Shape& ShapeOf(const Array& x) { return api::TypeOf(x)->shape(); }
}  // namespace

Array take(Operand x, Operand indices, int dim, OutOptions options, Loc loc) {
  Call call{"take", loc};
  Array a = api::ToArray(x, call), i = api::ToArray(indices, call);
  DType t = api::TypeOf(i)->dtype();
  if (!t.is_integer())
    api::FailDType(call, 15, fmt::format("indices are integers, not {}", t.name()));
  int64_t d = api::NormalDim(dim, api::TypeOf(a)->rank(), call);
  if (t.is_signed()) {
    DType wide = t.size() < 4 ? i32 : t;
    i = api::Convert(i, wide, call);
    Array size = api::ScalarOf(ShapeOf(a)[static_cast<size_t>(d)], wide, false, call);
    Array zero = api::ScalarOf(0, wide, false, call);
    i = where(lt(i, zero, {}, loc), add(i, size, {}, loc), i, {}, loc);
  }
  int rank = api::TypeOf(a)->rank() - 1 + api::TypeOf(i)->rank();
  return api::Run(ops::kTake, ir::MakeParams(ops::DimParams{{d}}), {a, i}, call,
                  {.out_sharding = options.out_sharding, .rank = rank});
}

std::vector<Array> sort(std::vector<Array> xs, int dim, SortOptions options, Loc loc) {
  Call call{"sort", loc};
  if (xs.empty()) api::FailShape(call, 17, "there is nothing to sort");
  for (const Array& x : xs) trace::Use(x, "sort", loc);
  int64_t d = api::NormalDim(dim, api::TypeOf(xs[0])->rank(), call);
  return api::RunAll(ops::kSort,
                     ir::MakeParams(ops::SortParams{{d}, options.num_keys, options.descending}), xs,
                     call);
}

// Descending is the ascending order reversed, as NumPy's: NaN first.
Array sort(Operand x, int dim, SortOptions options, Loc loc) {
  if (options.descending) {
    options.descending = false;
    return rev(sort(x, dim, options, loc), dim, loc);
  }
  return sort(std::vector<Array>{api::ToArray(x, {"sort", loc})}, dim, options, loc)[0];
}

Array argsort(Operand x, int dim, SortOptions options, Loc loc) {
  Call call{"argsort", loc};
  Array a = api::ToArray(x, call);
  int64_t d = api::NormalDim(dim, api::TypeOf(a)->rank(), call);
  ir::ShapeAndDType counting{ShapeOf(a), base::DefaultInt()};
  trace::Application index{.op = ops::kIota,
                           .params = ir::MakeParams(ops::IotaParams{{d}}),
                           .operands = {},
                           .wanted = &counting,
                           .loc = loc,
                           .shown_as = "argsort"};
  sharding::TensorSharding s = api::TypeOf(a)->sharding();
  s.unreduced.clear();
  s.reduced.clear();
  if (s.mesh) index.out_sharding = &s;
  options.num_keys = 1;
  return sort({a, trace::Apply(index)[0]}, dim, options, loc)[1];
}

TopK top_k(Operand x, int64_t k, Loc loc) {
  Call call{"top_k", loc};
  std::vector<Array> r =
      api::RunAll(ops::kTopK, ir::MakeParams(ops::TopKParams{k}), {api::ToArray(x, call)}, call);
  return {r[0], r[1]};
}

Array one_hot(Operand x, int64_t n, OneHotOptions options, Loc loc) {
  Call call{"one_hot", loc};
  Array a = api::ToArray(x, call);
  if (n < 0) api::FailShape(call, 18, fmt::format("there are no {} classes", n));
  DType index = api::TypeOf(a)->dtype();
  int64_t rank = api::TypeOf(a)->rank() + 1, d = api::NormalDim(options.dim, rank, call);
  ir::Shape line(static_cast<size_t>(rank), 1), column = ShapeOf(a);
  line[static_cast<size_t>(d)] = n;
  column.insert(column.begin() + d, 1);
  ir::ShapeAndDType counting{line, index};
  std::optional<PartitionSpec> along;
  if (options.out_sharding) {
    std::vector<DimSharding> dims(static_cast<size_t>(d) + 1);
    if (options.out_sharding->rank() > d)
      dims.back() = options.out_sharding->dims()[static_cast<size_t>(d)];
    along = PartitionSpec(std::move(dims));
  }
  Array classes =
      api::Run(ops::kIota, ir::MakeParams(ops::IotaParams{{d}}), {}, call,
               {.wanted = &counting, .out_sharding = along, .rank = static_cast<int>(rank)});
  Array hit =
      eq(api::Reshape(a, column, call), classes, {.out_sharding = options.out_sharding}, loc);
  return api::Convert(hit, options.dtype.is_default() ? base::DefaultFloat() : options.dtype, call);
}

// ---- basic indexing ----

namespace {

// One dim of the operand: what is kept of it.
struct Piece {
  int64_t start, limit, stride;
  bool reversed = false, dropped = false;
};

int64_t Bound(const Slice::Bound& b, int64_t size, int64_t missing, int64_t low, int64_t high) {
  if (!b.value) return missing;
  int64_t v = *b.value < 0 ? *b.value + size : *b.value;
  return std::clamp(v, low, high);
}

Piece SlicePiece(const Slice& s, int64_t size, Call call) {
  if (s.step == 0) api::FailShape(call, 18, "the step of a slice is 0");
  if (s.step > 0) {
    int64_t begin = Bound(s.begin, size, 0, 0, size), end = Bound(s.end, size, size, 0, size);
    return {begin, std::max(begin, end), s.step};
  }
  // Backwards from begin to above end: the same elements forwards, then reversed.
  int64_t begin = Bound(s.begin, size, size - 1, -1, size - 1),
          end = Bound(s.end, size, -1, -1, size - 1);
  if (begin <= end) return {0, 0, 1};
  int64_t count = (begin - end - s.step - 1) / -s.step;
  int64_t first = begin + (count - 1) * s.step;
  return {first, begin + 1, -s.step, true};
}

Array ApplyIndex(const Array& x, std::vector<Index> index, Loc loc) {
  Call call{"index", loc};
  trace::Use(x, "index", loc);
  const ir::Shape shape = ShapeOf(x);
  size_t named = 0, dots = 0;
  for (const Index& i : index) {
    named += i.kind() == Index::kInteger || i.kind() == Index::kSlice;
    dots += i.kind() == Index::kEllipsis;
  }
  if (dots > 1) api::FailShape(call, 17, "an index has at most one Ellipsis");
  if (named > shape.size())
    api::FailShape(call, 17,
                   fmt::format("{} indices for an array of rank {}", named, shape.size()));
  if (dots == 0) index.push_back(Index(Ellipsis, loc));
  std::vector<Piece> pieces;
  ir::Shape result;
  auto keep = [&](Piece p) {
    if (!p.dropped) result.push_back((p.limit - p.start + p.stride - 1) / p.stride);
    pieces.push_back(p);
  };
  for (const Index& i : index) {
    if (i.kind() == Index::kEllipsis) {
      for (size_t k = named; k < shape.size(); ++k) keep({0, shape[pieces.size()], 1});
    } else if (i.kind() == Index::kNew) {
      result.push_back(1);
    } else if (i.kind() == Index::kSlice) {
      keep(SlicePiece(i.slice(), shape[pieces.size()], call));
    } else {
      int64_t size = shape[pieces.size()], at = i.integer() < 0 ? i.integer() + size : i.integer();
      if (at < 0 || at >= size)
        api::FailShape(call, 18,
                       fmt::format("index {} is outside of dim {} of size {}", i.integer(),
                                   pieces.size(), size));
      keep({at, at + 1, 1, false, true});
    }
  }
  ops::SliceParams p;
  std::vector<int64_t> reversed;
  bool whole = true;
  for (size_t d = 0; d < pieces.size(); ++d) {
    p.starts.push_back(pieces[d].start);
    p.limits.push_back(pieces[d].limit);
    p.strides.push_back(pieces[d].stride);
    whole = whole && pieces[d].start == 0 && pieces[d].limit == shape[d] && pieces[d].stride == 1;
    if (pieces[d].reversed) reversed.push_back(static_cast<int64_t>(d));
  }
  ir::ParamsPtr cut = whole ? nullptr : ir::MakeParams(std::move(p));
  return api::WithEdits({x}, call, [&](const std::vector<Array>& xs) {
    Array y = whole ? xs[0] : api::Run(ops::kSlice, cut, xs, call);
    if (!reversed.empty())
      y = api::Run(ops::kRev, ir::MakeParams(ops::DimsParams{reversed}), {y}, call);
    return std::vector<Array>{api::Reshape(y, result, call)};
  })[0];
}

}  // namespace

Array Array::operator[](Index index) const { return ApplyIndex(*this, {index}, index.loc()); }
Array Array::operator[](std::initializer_list<Index> index) const {
  return ApplyIndex(*this, index, index.size() ? index.begin()->loc() : Loc::Unknown());
}

}  // namespace tessera
