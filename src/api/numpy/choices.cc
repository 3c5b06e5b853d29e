// Elements that conditions and numbers choose, and elements that are put.
#include <fmt/format.h>

#include <algorithm>

#include "api/array/apply_elementwise.h"
#include "api/core/positions.h"
#include "api/numpy/sized.h"
#include "base/at.h"
#include "tessera/pieces.h"

namespace tessera {

using namespace api;

Array select(std::vector<Array> conditions, std::vector<Array> choices, Operand otherwise,
             Loc loc) {
  const Call call{"select", loc};
  if (conditions.empty() || conditions.size() != choices.size())
    FailShape(
        call, 17,
        fmt::format("there are {} conditions for {} choices", conditions.size(), choices.size()));
  return AsOne(call, {{"conditions", conditions}, {"choices", choices}, {"otherwise", otherwise}},
               [&](const Operands& xs) {
                 const size_t n = conditions.size();
                 Array made = ToArray(xs.back(), call);
                 for (size_t i = n; i-- > 0;) {
                   const DType kind = TypeOf(xs[i].array())->dtype();
                   if (!kind.is_bool())
                     FailDType(call, 14, fmt::format("a condition is bool, not {}", kind.name()));
                   made = where(xs[i], xs[n + i], made, {}, loc);
                 }
                 return made;
               });
}

Array choose(Operand which, std::vector<Array> choices, Loc loc) {
  const Call call{"choose", loc};
  if (choices.empty()) FailShape(call, 17, "there are no choices");
  return AsOne(call, {{"which", which}, {"choices", choices}}, [&](const Operands& xs) {
    const Array at = ToArray(xs[0], call);
    if (!TypeOf(at)->dtype().is_integer())
      FailDType(call, 14,
                fmt::format("choices are numbered by ints, not {}", TypeOf(at)->dtype().name()));
    std::vector<Array> all = Promote(Operands(xs.begin() + 1, xs.end()), call);
    all.push_back(Convert(at, i32, call));
    all = broadcast_arrays(all, loc);
    const Array number = all.back();
    all.pop_back();
    return select_n(number, all, {}, loc);
  });
}

Array piecewise(Operand x, std::vector<Array> conditions,
                std::vector<std::function<Array(Array)>> functions, Loc loc) {
  const Call call{"piecewise", loc};
  const size_t n = conditions.size();
  if (functions.size() != n && functions.size() != n + 1)
    FailShape(call, 17,
              fmt::format("there are {} functions for {} conditions", functions.size(), n));
  return AsOne(call, {{"operand", x}, {"conditions", conditions}, Argument::Value("functions")},
               [&](const Operands& xs) -> Array {
                 const Array a = ToArray(xs[0], call);
                 Located made(zeros_like(a, {}, loc), loc);
                 const auto of = [&](size_t i) {
                   return made.With(Convert(functions[i](a), made.dtype(), call));
                 };
                 if (functions.size() > n) made = of(n);
                 for (size_t i = 0; i < n; ++i)
                   made = If(made.With(xs[i + 1].array()), of(i), made);
                 return made;
               });
}

Array put_along_dim(Operand x, Operand indices, Operand values, int dim, Loc loc) {
  const Call call{"put_along_dim", loc};
  return AsOne(
      call, {{"operand", x}, {"indices", indices}, {"values", values}, dim},
      [&](const Operand& operand, const Operand& at, const Operand& given) {
        const Array a = ToArray(operand, call);
        Array i = ToArray(at, call);
        if (Rank(i) != Rank(a))
          FailShape(call, 16,
                    fmt::format("x has rank {}, but the indices have rank {}", Rank(a), Rank(i)));
        const int64_t d = NormalDim(dim, Rank(a), call);
        base::Shape shape = ShapeOf(a);
        base::At(shape, d) = base::At(ShapeOf(i), d);
        i = BroadcastTo(i, shape, call);
        const Array v =
            BroadcastTo(Convert(ToArray(given, call), TypeOf(a)->dtype(), call), shape, call);
        std::vector<Index> index;
        for (int64_t k = 0; k < Rank(a); ++k)
          index.push_back(k == d
                              ? Index(i, loc)
                              : Index(Positions(base::At(shape, k), k, Rank(a), i32, call), loc));
        return At(a, index).set(v, {}, loc);
      });
}

namespace {
// Returns x with values[i] at places[i] in row-major order. Each device writes into its own shard.
Array PutAt(const Array& x, const Located& places, const Array& values, Call call) {
  const base::Shape& sizes = ShapeOf(x);
  ScatterDims dims;
  std::vector<Array> at(sizes.size());
  int64_t step = 1;
  for (size_t d = sizes.size(); d-- > 0;) {
    dims.inserted.insert(dims.inserted.begin(), static_cast<int64_t>(d));
    // A place beyond the end is beyond the end of the first dim.
    const Array number = floor_divide(places, Operand(step, call.loc), {}, call.loc);
    at[d] = d == 0 ? number : remainder(number, Operand(sizes[d], call.loc), {}, call.loc);
    step *= std::max<int64_t>(sizes[d], 1);
  }
  dims.start = dims.inserted;
  return scatter(x, stack(at, 1, call.loc), values, dims, {}, call.loc);
}
// Returns the values in one dim and in the dtype of x.
Array ValuesFor(const Array& x, const Array& values, Call call) {
  const Array line = Line(Convert(values, TypeOf(x)->dtype(), call), call);
  if (ShapeOf(line)[0] == 0) FailShape(call, 18, "there are no values");
  return line;
}
}  // namespace

Array put(Operand x, Operand indices, Operand values, Loc loc) {
  const Call call{"put", loc};
  return AsOne(call, {{"operand", x}, {"indices", indices}, {"values", values}},
               [&](const Operand& operand, const Operand& at, const Operand& given) {
                 const Array a = ToArray(operand, call);
                 const Located i(Line(ToArray(at, call), call), loc);
                 const Array line = ValuesFor(a, ToArray(given, call), call);
                 const Array all = resize(line, {i.shape()[0]}, loc);
                 if (TypeOf(a)->elements() == 0) return a;
                 const Located places = If(i < 0, i + TypeOf(a)->elements(), i);
                 if (Rank(a) > 0) return PutAt(a, places, all, call);
                 return Reshape(PutAt(Reshape(a, {1}, call), places, all, call), {}, call);
               });
}

Array place(Operand x, Operand mask, Operand values, Loc loc) {
  const Call call{"place", loc};
  return AsOne(
      call, {{"operand", x}, {"mask", mask}, {"values", values}},
      [&](const Operand& operand, const Operand& where, const Operand& given) {
        const Array a = ToArray(operand, call);
        const Located is_set(Line(ToBool(where, call), call), loc);
        const int64_t n = TypeOf(a)->elements();
        if (is_set.shape()[0] != n)
          FailShape(
              call, 18,
              fmt::format("the mask has {} elements, but the array {}", is_set.shape()[0], n));
        const Located count(
            cumsum(Convert(is_set, i32, call), 0, {.out_sharding = OwnSpec(is_set)}, loc), loc);
        const Array line = ValuesFor(a, ToArray(given, call), call);
        const Located number =
            is_set.With(remainder(count - 1, Operand(ShapeOf(line)[0], loc), {}, loc));
        const Located chosen(take(line, number, 0, {}, loc), loc), old(Line(a, call), loc);
        return Reshape(If(is_set, chosen, old), ShapeOf(a), call);
      });
}

Array fill_diagonal(Operand x, Operand value, Loc loc) {
  const Call call{"fill_diagonal", loc};
  return AsOne(
      call, {{"operand", x}, {"value", value}},
      [&](const Operand& operand, const Operand& given) -> Array {
        const Located a(ToArray(operand, call), loc);
        if (Rank(a) < 2)
          FailShape(call, 11, fmt::format("a matrix has rank 2 or more, not {}", Rank(a)));
        const Located row(Positions(a, Rank(a) - 2, i32, call), loc),
            column(Positions(a, Rank(a) - 1, i32, call), loc);
        const Located v(Convert(ToArray(given, call), a.dtype(), call), loc);
        if (Rank(v) == 0) return If(row == column, v, a);
        return If(
            row == column,
            v.With(expand_dims(
                resize(ValuesFor(a, v, call), {a.shape()[a.shape().size() - 2]}, loc), 1, loc)),
            a);
      });
}

}  // namespace tessera
