// NumPy's functions that order, join and split arrays, composed of the functions in shape.cc.
#include <absl/algorithm/container.h>
#include <fmt/format.h>

#include <algorithm>

#include "api/core/edits.h"
#include "base/at.h"

namespace tessera {

using namespace api;

namespace {

Array AtLeast(int64_t rank, const Operand& x, Call call) {
  Array a = ToArray(x, call);
  base::Shape shape = ShapeOf(a);
  if (Rank(a) < rank) shape.insert(shape.begin(), base::Size(rank - Rank(a)), 1);
  return Reshape(a, shape, call);
}

Array InOrder(const Array& x, const std::vector<int64_t>& order, Call call) {
  return absl::c_is_sorted(order) ? Same(x) : transpose(x, order, call.loc);
}

}  // namespace

// ---- order ----

Array moveaxis(Operand x, Dims source, Dims destination, Loc loc) {
  Call call{"moveaxis", loc};
  Array a = ToArray(x, call);
  std::vector<int64_t> from = NormalDims(source, Rank(a), call);
  std::vector<int64_t> to = NormalDims(destination, Rank(a), call);
  if (from.size() != to.size())
    FailShape(call, 12,
              fmt::format("the source names {} dims, but the destination names {}", from.size(),
                          to.size()));
  std::vector<int64_t> order(base::Size(Rank(a)), -1);
  for (size_t i = 0; i < to.size(); ++i) base::At(order, to[i]) = from[i];
  int64_t next = 0;
  for (int64_t& d : order) {
    if (d >= 0) continue;
    while (absl::c_count(from, next)) ++next;
    d = next++;
  }
  return InOrder(a, order, call);
}

Array swapaxes(Operand x, int dim1, int dim2, Loc loc) {
  Call call{"swapaxes", loc};
  Array a = ToArray(x, call);
  int64_t d1 = NormalDim(dim1, Rank(a), call);
  int64_t d2 = NormalDim(dim2, Rank(a), call);
  std::vector<int64_t> order(base::Size(Rank(a)));
  absl::c_iota(order, 0);
  std::swap(base::At(order, d1), base::At(order, d2));
  return InOrder(a, order, call);
}

Array flip(Operand x, Dims dims, Loc loc) {
  return AsOne({"flip", loc}, {x, dims}, [&](const Operand& a) { return rev(a, dims, loc); });
}

// ---- rank ----

Array ravel(Operand x, OutOptions options, Loc loc) {
  const Call call{"ravel", loc};
  return AsOne(call, {x, options}, [&](const Operand& operand) {
    const Array a = ToArray(operand, call);
    return reshape(a, TypeOf(a)->elements(), options, loc);
  });
}

Array atleast_1d(Operand x, Loc loc) { return AtLeast(1, x, {"atleast_1d", loc}); }
Array atleast_2d(Operand x, Loc loc) { return AtLeast(2, x, {"atleast_2d", loc}); }

// ---- join and take apart ----

Array append(Operand x, Operand values, Loc loc) {
  return AsOne({"append", loc}, {{"operand", x}, {"values", values}},
               [&](const Operand& a, const Operand& b) {
                 return concatenate({ravel(a, {}, loc), ravel(b, {}, loc)}, 0, loc);
               });
}
Array append(Operand x, Operand values, int dim, Loc loc) {
  const Call call{"append", loc};
  return AsOne(call, {{"operand", x}, {"values", values}, dim},
               [&](const Operand& a, const Operand& b) {
                 return concatenate({ToArray(a, call), ToArray(b, call)}, dim, loc);
               });
}

std::vector<Array> unstack(Operand x, int dim, Loc loc) {
  const Call call{"unstack", loc};
  return AsOne(call, {x, dim}, [&](const Operand& operand) {
    const Array a = ToArray(operand, call);
    const int64_t n = base::At(ShapeOf(a), NormalDim(dim, Rank(a), call));
    std::vector<Array> parts = split(a, std::vector<int64_t>(base::Size(n), 1), dim, loc);
    for (Array& part : parts) part = squeeze(part, dim, loc);
    return parts;
  });
}

namespace {

Array Differences(Array a, const std::vector<Array>& parts, int dim, int64_t n, Call call) {
  const Loc loc = call.loc;
  const int64_t d = NormalDim(dim, Rank(a), call);
  if (parts.size() > 1) a = concatenate(parts, dim, loc);
  for (int64_t i = 0; i < n; ++i) {
    base::Shape starts(ShapeOf(a).size(), 0), limits = ShapeOf(a), first(starts), last = limits;
    base::At(starts, d) = std::min<int64_t>(1, base::At(limits, d));
    base::At(last, d) = std::max<int64_t>(0, base::At(limits, d) - 1);
    Array behind = slice(a, starts, limits, {}, loc), before = slice(a, first, last, {}, loc);
    bool bools = TypeOf(a)->dtype().is_bool();
    a = bools ? ne(behind, before, {}, loc) : sub(behind, before, {}, loc);
  }
  return a;
}

}  // namespace

Array diff(Operand x, int dim, DiffOptions options, Loc loc) {
  const Call call{"diff", loc};
  if (options.n < 0)
    FailShape(call, 17, fmt::format("differences cannot be taken {} times", options.n));
  const auto differ = [&](const Operands& xs) {
    Array a = ToArray(xs[0], call);
    if (options.n == 0) return Same(a);
    base::Shape row = ShapeOf(a);
    base::At(row, NormalDim(dim, Rank(a), call)) = 1;
    const auto edge = [&](const Array& rows) {
      return Rank(rows) == 0 ? BroadcastTo(rows, row, call) : rows;
    };
    std::vector<Array> parts{a};
    if (options.prepend.is_given()) parts.insert(parts.begin(), edge(options.prepend));
    if (options.append.is_given()) parts.push_back(edge(options.append));
    return Differences(a, parts, dim, options.n, call);
  };
  return AsOneWith(call, {{"operand", x}, dim, options},
                   {{"prepend", &options.prepend}, {"append", &options.append}}, differ);
}

}  // namespace tessera
