// NumPy's ways to join, split and arrange arrays.
#include "tessera/pieces.h"

#include <absl/algorithm/container.h>
#include <fmt/format.h>

#include "api/array/apply_elementwise.h"
#include "api/core/option_fields.h"
#include "api/core/positions.h"
#include "api/numpy/part.h"
#include "api/numpy/sized.h"
#include "base/at.h"
#include "base/shape.h"

namespace tessera {

using namespace api;

static std::string Code(const BitsOptions& v) {
  return OptionFields().Add("dim", v.dim, -1).Add("little", v.little, false).code();
}

namespace {

// Returns f(x, call) as one call.
template <class F>
Array One(const char* name, const Operand& x, Loc loc, const F& f) {
  const Call call{name, loc};
  return AsOne(call, {x}, [&](const Operand& a) -> Array { return f(ToArray(a, call), call); });
}

// Returns the arrays joined after each was changed by f.
template <class F>
Array Joined(const char* name, const std::vector<Array>& xs, Loc loc, const F& f) {
  const Call call{name, loc};
  if (xs.empty()) FailShape(call, 17, "there are no arrays to join");
  return AsOne(call, {xs}, [&](std::vector<Array> all) {
    int dim = 0;
    for (Array& x : all) std::tie(x, dim) = f(x);
    return concatenate(all, dim, loc);
  });
}

Array AtLeast3d(const Array& x, Call call) {
  base::Shape shape = ShapeOf(x);
  if (shape.size() < 2) shape.insert(shape.begin(), 1);
  while (shape.size() < 3) shape.push_back(1);
  return Rank(x) >= 3 ? Same(x) : Reshape(x, shape, call);
}

std::vector<Array> SplitAlong(const char* name, const Operand& x, int64_t parts, int dim, Loc loc) {
  const Call call{name, loc};
  return AsOne(call, {x, parts}, [&](const Operand& a) { return split(a, parts, dim, loc); });
}

// Returns the broadcast shape. C16: throws ShapeError.
base::Shape Broadcast(const std::vector<base::Shape>& shapes, Call call) {
  base::Shape both;
  for (const base::Shape& own : shapes) {
    if (own.size() > both.size()) both.insert(both.begin(), own.size() - both.size(), 1);
    if (!BroadcastWith(both, own))
      FailShape(
          call, 16,
          fmt::format("shapes {} and {} do not match", ir::FieldText(both), ir::FieldText(own)));
  }
  return both;
}

}  // namespace

Array vstack(std::vector<Array> xs, Loc loc) {
  return Joined("vstack", xs, loc,
                [&](const Array& x) { return std::pair(atleast_2d(x, loc), 0); });
}
Array hstack(std::vector<Array> xs, Loc loc) {
  return Joined("hstack", xs, loc, [&](const Array& x) {
    const Array line = atleast_1d(x, loc);
    return std::pair(line, Rank(line) == 1 ? 0 : 1);
  });
}
Array dstack(std::vector<Array> xs, Loc loc) {
  return Joined("dstack", xs, loc, [&](const Array& x) {
    return std::pair(AtLeast3d(x, {"dstack", loc}), 2);
  });
}
Array column_stack(std::vector<Array> xs, Loc loc) {
  return Joined("column_stack", xs, loc, [&](const Array& x) {
    return std::pair(Rank(x) < 2 ? expand_dims(atleast_1d(x, loc), 1, loc) : x, 1);
  });
}
Array block(std::vector<std::vector<Array>> rows, Loc loc) {
  const Call call{"block", loc};
  std::vector<Array> all;
  int64_t rank = 2;
  for (const auto& row : rows) {
    if (row.empty()) FailShape(call, 17, "a row has no blocks");
    for (const Array& x : row) {
      all.push_back(x);
      rank = std::max<int64_t>(rank, Rank(x));
    }
  }
  if (rows.empty()) FailShape(call, 17, "there are no rows");
  const auto code = [&] {
    size_t next = 0;
    std::vector<std::string> lists;
    for (const auto& row : rows) {
      std::vector<std::string> names;
      for (size_t i = 0; i < row.size(); ++i) names.push_back(fmt::format("operands[{}]", next++));
      lists.push_back(fmt::format("{{{}}}", fmt::join(names, ", ")));
    }
    return fmt::format("block({{{}}})", fmt::join(lists, ", "));
  };
  const auto made = [&](std::vector<Array> xs) {
    size_t next = 0;
    std::vector<Array> joined;
    for (const auto& row : rows) {
      std::vector<Array> parts;
      for (size_t i = 0; i < row.size(); ++i) {
        base::Shape shape = ShapeOf(xs[next]);
        shape.insert(shape.begin(), base::Size(rank) - shape.size(), 1);
        parts.push_back(Reshape(xs[next++], shape, call));
      }
      joined.push_back(concatenate(parts, -1, loc));
    }
    return concatenate(joined, -2, loc);
  };
  return AsOne(call, {all}, made, {.code = code});
}

std::vector<Array> array_split(Operand x, int64_t parts, int dim, Loc loc) {
  const Call call{"array_split", loc};
  if (parts < 1) FailShape(call, 17, fmt::format("an array has no {} pieces", parts));
  return AsOne(call, {x, parts, dim}, [&](const Operand& operand) {
    const Array a = ToArray(operand, call);
    const int64_t n = base::At(ShapeOf(a), NormalDim(dim, Rank(a), call));
    std::vector<int64_t> sizes(base::Size(parts), n / parts);
    for (int64_t i = 0; i < n % parts; ++i) ++base::At(sizes, i);
    return split(a, sizes, dim, loc);
  });
}
std::vector<Array> hsplit(Operand x, int64_t parts, Loc loc) {
  const int64_t rank = Rank(ToArray(x, {"hsplit", loc}));
  return SplitAlong("hsplit", x, parts, rank == 1 ? 0 : 1, loc);
}
std::vector<Array> vsplit(Operand x, int64_t parts, Loc loc) {
  return SplitAlong("vsplit", x, parts, 0, loc);
}
std::vector<Array> dsplit(Operand x, int64_t parts, Loc loc) {
  return SplitAlong("dsplit", x, parts, 2, loc);
}
Array atleast_3d(Operand x, Loc loc) { return One("atleast_3d", x, loc, AtLeast3d); }

std::vector<Array> broadcast_arrays(std::vector<Array> xs, Loc loc) {
  const Call call{"broadcast_arrays", loc};
  return AsOne(call, {xs}, [&](std::vector<Array> all) {
    std::vector<base::Shape> shapes;
    for (const Array& x : all) shapes.push_back(ShapeOf(x));
    const base::Shape shape = Broadcast(shapes, call);
    for (Array& x : all) x = ShapeOf(x) == shape ? Same(x) : BroadcastTo(x, shape, call);
    return all;
  });
}
std::vector<int64_t> broadcast_shapes(std::vector<Shape> shapes, Loc loc) {
  std::vector<base::Shape> all;
  for (const Shape& s : shapes) all.push_back(s.dims());
  return Broadcast(all, {"broadcast_shapes", loc});
}

// ---- arrange ----

Array fliplr(Operand x, Loc loc) {
  return One("fliplr", x, loc, [&](const Array& a, Call) { return flip(a, 1, loc); });
}
Array flipud(Operand x, Loc loc) {
  return One("flipud", x, loc, [&](const Array& a, Call) { return flip(a, 0, loc); });
}
Array rot90(Operand x, int64_t k, Dims dims, Loc loc) {
  const Call call{"rot90", loc};
  return AsOne(call, {x, k, dims}, [&](const Operand& operand) {
    const Array a = ToArray(operand, call);
    const std::vector<int64_t> plane = NormalDims(dims, Rank(a), call);
    if (plane.size() != 2)
      FailShape(call, 12, fmt::format("a plane has 2 dims, not {}", plane.size()));
    const auto d1 = static_cast<int>(plane[0]), d2 = static_cast<int>(plane[1]);
    const int64_t quarters = ((k % 4) + 4) % 4;
    if (quarters == 0) return Same(a);
    if (quarters == 2) return flip(a, plane, loc);
    return quarters == 1 ? swapaxes(flip(a, d2, loc), d1, d2, loc)
                         : flip(swapaxes(a, d1, d2, loc), d2, loc);
  });
}
Array rollaxis(Operand x, int dim, int start, Loc loc) {
  const Call call{"rollaxis", loc};
  return AsOne(call, {x, dim, start}, [&](const Operand& operand) {
    const Array a = ToArray(operand, call);
    const int64_t rank = Rank(a), from = NormalDim(dim, rank, call);
    const int64_t to = start == rank ? rank : NormalDim(start, rank, call);
    return moveaxis(a, static_cast<int>(from), static_cast<int>(from < to ? to - 1 : to), loc);
  });
}

namespace {
// Returns the elements of x [n], repeated to this number.
Array Repeated(const Array& x, int64_t size, Call call) {
  const int64_t n = ShapeOf(x)[0];
  if (n == size) return x;
  if (n == 0) return zeros({size}, {.dtype = TypeOf(x)->dtype()}, call.loc);
  return Part(tile(x, (size + n - 1) / n, call.loc), 0, 0, size, call.loc);
}
}  // namespace

Array resize(Operand x, Shape shape, Loc loc) {
  const Call call{"resize", loc};
  CheckShape(shape.dims(), call);
  return AsOne(call, {x, shape}, [&](const Operand& operand) {
    const Array flat = Line(ToArray(operand, call), call);
    return Reshape(Repeated(flat, base::Elements(shape.dims()), call), shape.dims(), call);
  });
}

Array delete_(Operand x, std::vector<int64_t> indices, int dim, Loc loc) {
  const Call call{"delete_", loc};
  return AsOne(call, {x, indices, dim}, [&](const Operand& operand) {
    const Array a = ToArray(operand, call);
    const int64_t d = NormalDim(dim, Rank(a), call), n = base::At(ShapeOf(a), d);
    std::vector<bool> is_kept(base::Size(n), true);
    for (int64_t i : indices) {
      if (i < -n || i >= n) FailShape(call, 13, fmt::format("there is no slice {} among {}", i, n));
      is_kept[base::Size(i < 0 ? i + n : i)] = false;
    }
    std::vector<Array> runs;
    for (int64_t i = 0, first = 0; i <= n; ++i) {
      if (i < n && is_kept[base::Size(i)]) continue;
      if (i > first) runs.push_back(Part(a, d, first, i, loc));
      first = i + 1;
    }
    return runs.empty() ? Part(a, d, 0, 0, loc) : concatenate(runs, dim, loc);
  });
}

Array insert(Operand x, int64_t index, Operand values, int dim, Loc loc) {
  const Call call{"insert", loc};
  return AsOne(
      call, {{"operand", x}, index, {"values", values}, dim},
      [&](const Operand& operand, const Operand& given) {
        const Array a = ToArray(operand, call);
        const int64_t d = NormalDim(dim, Rank(a), call), n = base::At(ShapeOf(a), d);
        if (index < -n || index > n)
          FailShape(call, 13, fmt::format("there is no place {} among {} slices", index, n));
        const int64_t at = index < 0 ? index + n : index;
        base::Shape row = ShapeOf(a);
        row.erase(row.begin() + d);
        const Array one =
            BroadcastTo(Convert(ToArray(given, call), TypeOf(a)->dtype(), call), row, call);
        return concatenate({Part(a, d, 0, at, loc), expand_dims(one, static_cast<int>(d), loc),
                            Part(a, d, at, n, loc)},
                           dim, loc);
      });
}

Array ediff1d(Operand x, Ediff1dOptions options, Loc loc) {
  return One("ediff1d", x, loc, [&](const Array& a, Call call) -> Array {
    const Array line = Line(a, call), none = zeros({0}, {.dtype = TypeOf(a)->dtype()}, loc);
    const auto given = [&](const Array& x) {
      return x.is_given() ? Line(Convert(x, TypeOf(a)->dtype(), call), call) : none;
    };
    const Array before = given(options.before), after = given(options.after);
    const int64_t n = ShapeOf(line)[0], first = ShapeOf(before)[0], last = ShapeOf(after)[0];
    if (n == 0) return concatenate({before, after}, 0, loc);
    // The steps move to their places in the result, so that they can stay sharded.
    const Array zero = StrongScalar(0, TypeOf(a)->dtype(), call);
    const Array next = pad(line, {{first - 1, last}}, zero, loc);
    const Array own = pad(line, {{first, last - 1}}, zero, loc);
    const int64_t size = ShapeOf(own)[0];
    const Located place(Positions(own, 0, i32, call), loc);
    const auto fitted = [&](const Array& x, int64_t low) {
      return pad(x, {{low, size - low - ShapeOf(x)[0]}}, zero, loc);
    };
    Located made(sub(next, own, {}, loc), loc);
    if (first > 0) made = If(place < first, made.With(fitted(before, 0)), made);
    if (last > 0) made = If(place >= size - last, made.With(fitted(after, size - last)), made);
    return made;
  });
}

// ---- bits ----

namespace {
// Returns the shift of each bit of a byte, along a new last dim of an array of this rank.
Array Shifts(int64_t rank, bool little, Call call) {
  const Array up = Positions(8, rank, rank + 1, u8, call);
  return little ? up : sub(StrongScalar(7, u8, call), up, {}, call.loc);
}
}  // namespace

Array packbits(Operand x, BitsOptions options, Loc loc) {
  const Call call{"packbits", loc};
  return AsOne(call, {x, options}, [&](const Operand& operand) {
    const Array a = ToArray(operand, call);
    if (TypeOf(a)->dtype().is_inexact()) FailDType(call, 14, "bits are ints or bools");
    const int64_t d = NormalDim(options.dim, Rank(a), call);
    Array bits = moveaxis(Convert(ToBool(a, call), u8, call), options.dim, -1, loc);
    base::Shape shape = ShapeOf(bits);
    const int64_t n = shape.back(), bytes = (n + 7) / 8;
    std::vector<Padding> behind(shape.size());
    behind.back().high = 8 * bytes - n;
    bits = pad(bits, behind, StrongScalar(0, u8, call), loc);
    shape.back() = bytes;
    shape.push_back(8);
    bits = shift_left(Reshape(bits, shape, call), Shifts(Rank(a), options.little, call), {}, loc);
    return moveaxis(reduce_or(bits, -1, {}, loc), -1, static_cast<int>(d), loc);
  });
}

Array unpackbits(Operand x, BitsOptions options, Loc loc) {
  const Call call{"unpackbits", loc};
  return AsOne(call, {x, options}, [&](const Operand& operand) {
    const Array a = ToArray(operand, call);
    if (TypeOf(a)->dtype() != u8)
      FailDType(call, 14, fmt::format("bytes are u8, not {}", TypeOf(a)->dtype().name()));
    const int64_t d = NormalDim(options.dim, Rank(a), call);
    const Array bytes = moveaxis(a, options.dim, -1, loc);
    Array bits = shift_right_logical(expand_dims(bytes, -1, loc),
                                     Shifts(Rank(a), options.little, call), {}, loc);
    bits = bitwise_and(bits, StrongScalar(1, u8, call), {}, loc);
    base::Shape shape = ShapeOf(bytes);
    shape.back() *= 8;
    return moveaxis(Reshape(bits, shape, call), -1, static_cast<int>(d), loc);
  });
}

}  // namespace tessera
