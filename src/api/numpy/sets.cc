// Which elements: those that are not 0, and sets.
#include <fmt/format.h>

#include <numeric>

#include "api/array/apply_elementwise.h"
#include "api/core/option_fields.h"
#include "api/core/positions.h"
#include "api/numpy/sized.h"
#include "base/at.h"
#include "base/dtype.h"

namespace tessera {

using namespace api;

static std::string Code(const SizeOptions& v) {
  return OptionFields().Add("size", v.size).Add("fill_value", v.fill_value).code();
}
static std::string Code(const SetOptions& v) {
  return OptionFields().Add("size", v.size).Add("fill_value", v.fill_value).code();
}
static std::string Code(const UniqueOptions& v) {
  return OptionFields()
      .Add("size", v.size)
      .Add("fill_value", v.fill_value)
      .Add("dim", v.dim)
      .code();
}

namespace {

Located True(const Array& x, Call call) { return {ToBool(x, call), call.loc}; }
Array CountOf(const Located& mask) { return sum(mask, All, {}, mask.loc()); }

// Returns the numbers of the true elements of a mask [n]: [size], and n at the end.
Located Numbers(const Located& mask, const std::optional<int64_t>& size, Call call) {
  const int64_t n = mask.shape()[0];
  const Array number = Positions(n, 0, 1, base::DefaultInt(), call);
  return mask.With(Kept(number, mask, SizeOr(size, CountOf(mask), call), Scalar(n), call));
}

std::vector<Array> Nonzero(const Operand& x, const SizeOptions& options, Call call) {
  const Loc loc = call.loc;
  const Array a = ToArray(x, call);
  if (Rank(a) == 0) FailShape(call, 17, "a scalar has no elements to number");
  const Located number = Numbers(True(Flat(a, call), call), options.size, call);
  const Located is_filled = number == TypeOf(a)->elements();
  const Operand fill(options.fill_value.value_or(Scalar(0)), loc);
  std::vector<Array> made;
  int64_t step = 1;
  for (int64_t d = Rank(a) - 1; d >= 0; --d) {
    const int64_t size = base::At(ShapeOf(a), d);
    const Array index = remainder(floor_divide(number, Operand(step, loc), {}, loc),
                                  Operand(std::max<int64_t>(size, 1), loc), {}, loc);
    made.insert(made.begin(),
                Convert(where(is_filled, fill, index, {}, loc), number.dtype(), call));
    step *= std::max<int64_t>(size, 1);
  }
  return made;
}

}  // namespace

std::vector<Array> nonzero(Operand x, SizeOptions options, Loc loc) {
  const Call call{"nonzero", loc};
  return AsOne(call, {x, options}, [&](const Operand& a) { return Nonzero(a, options, call); });
}
Array argwhere(Operand x, SizeOptions options, Loc loc) {
  const Call call{"argwhere", loc};
  return AsOne(call, {x, options},
               [&](const Operand& a) { return stack(Nonzero(a, options, call), 1, loc); });
}
Array flatnonzero(Operand x, SizeOptions options, Loc loc) {
  const Call call{"flatnonzero", loc};
  return AsOne(call, {x, options}, [&](const Operand& a) {
    return Nonzero(Operand(Flat(ToArray(a, call), call), loc), options, call)[0];
  });
}

Array compress(Operand condition, Operand x, Dims dim, SizeOptions options, Loc loc) {
  const Call call{"compress", loc};
  return AsOne(
      call, {{"condition", condition}, {"operand", x}, dim, options},
      [&](const Operand& where, const Operand& operand) {
        Array a = ToArray(operand, call);
        if (dim.all()) a = Flat(a, call);
        const std::vector<int64_t> dims = NormalDims(dim.all() ? Dims(0) : dim, Rank(a), call);
        if (dims.size() != 1)
          FailShape(call, 12, fmt::format("slices are along one dim, not {}", dims.size()));
        const auto d = static_cast<int>(dims[0]);
        a = moveaxis(WholeAlong(a, d, call), d, 0, loc);
        Located mask = True(Flat(ToArray(where, call), call), call);
        const int64_t n = mask.shape()[0], rows = ShapeOf(a)[0];
        if (n > rows)
          FailShape(call, 18, fmt::format("the condition has {} elements for {} slices", n, rows));
        mask = mask.With(pad(mask, {{0, rows - n}}, StrongScalar(false, bool_, call), loc));
        const int64_t size = SizeOr(options.size, CountOf(mask), call);
        return moveaxis(Kept(a, mask, size, options.fill_value.value_or(Scalar(0)), call), 0, d,
                        loc);
      });
}

Array extract(Operand condition, Operand x, SizeOptions options, Loc loc) {
  const Call call{"extract", loc};
  return AsOne(call, {{"condition", condition}, {"operand", x}, options},
               [&](const Operand& where, const Operand& operand) {
                 return compress(where, operand, All, options, loc);
               });
}

Array trim_zeros(Operand x, SizeOptions options, Loc loc) {
  const Call call{"trim_zeros", loc};
  return AsOne(call, {x, options}, [&](const Operand& operand) {
    const Array a = Gathered(ToArray(operand, call), call);
    if (Rank(a) != 1) FailShape(call, 17, fmt::format("the array has rank 1, not {}", Rank(a)));
    const Array others = Convert(ne(a, Operand(0, loc), {}, loc), i32, call);
    const Located before(cummax(others, 0, {}, loc), loc);
    const Located after(cummax(others, 0, {.reverse = true}, loc), loc);
    const Array kept = (before != 0) & (after != 0);
    const Array count = sum(Convert(kept, i32, call), All, {}, loc);
    const int64_t size = SizeOr(options.size, count, call);
    return Kept(a, kept, size, options.fill_value.value_or(Scalar(0)), call);
  });
}

// ---- sets ----

namespace {

Located Same(const Located& a, const Located& b) {
  if (!a.dtype().is_inexact()) return a == b;
  return (a == b) | (IsNan(a) & IsNan(b));
}

// The elements [n], or slices [n, ...], in order, and whether each is the first of its kind.
struct Runs {
  Array sorted, order;
  Located is_first;
};

// Returns the order of elements [n], or of slices [n, ...] by their first elements that differ.
Array OrderOf(const Array& x, Call call) {
  const int64_t n = ShapeOf(x)[0], size = n == 0 ? 0 : TypeOf(x)->elements() / n;
  const Array number = Positions(n, 0, 1, base::DefaultInt(), call);
  if (size == 0) return number;
  std::vector<Array> keys =
      Rank(x) == 1 ? std::vector{x} : unstack(Reshape(x, {n, size}, call), 1, call.loc);
  keys.push_back(number);
  return sort(keys, 0, {.num_keys = static_cast<int>(size)}, call.loc).back();
}

Runs RunsOf(const Array& x, Call call) {
  const Loc loc = call.loc;
  const int64_t n = ShapeOf(x)[0];
  const Array order = OrderOf(x, call);
  const Located all(take(x, order, 0, {}, loc), loc);
  base::Shape low(ShapeOf(x).size(), 0), behind = low, high = ShapeOf(x), ahead = high;
  behind[0] = std::min<int64_t>(n, 1);
  ahead[0] = std::max<int64_t>(n - 1, 0);
  Array differs =
      !Same(all.With(slice(all, behind, high, {}, loc)), all.With(slice(all, low, ahead, {}, loc)));
  std::vector<int64_t> own(ShapeOf(x).size() - 1);
  std::iota(own.begin(), own.end(), 1);
  differs = any(differs, own, {}, loc);
  const Array first = full({std::min<int64_t>(n, 1)}, Operand(true, loc), {}, loc);
  return {all, order, all.With(concatenate({first, differs}, 0, loc))};
}

// Returns a mask [n] with dims of 1 after it, so that it broadcasts with slices [n, ...].
Array BesideSlices(const Array& mask, const Array& slices, Call call) {
  base::Shape shape(ShapeOf(slices).size(), 1);
  shape[0] = ShapeOf(mask)[0];
  return Reshape(mask, shape, call);
}

// Returns the elements or slices where the mask holds, and at the end the fill value, or the first
// of them.
Array Elements(const Located& sorted, const Located& mask, const SetOptions& options, Call call) {
  const Loc loc = call.loc;
  const int64_t size = SizeOr(options.size, CountOf(mask), call);
  Array made = Kept(sorted, mask, size, Scalar(0), call);
  const Located number(Positions(size, 0, 1, i32, call), loc);
  const Located is_there =
      number.With(BesideSlices(number < number.With(CountOf(mask)), made, call));
  if (options.fill_value)
    return If(is_there, number.With(made),
              number.With(StrongScalar(*options.fill_value, TypeOf(made)->dtype(), call)));
  if (size == 0) return made;
  const Located least(take(made, Operand(0, loc), 0, {}, loc), loc);
  return If(is_there, number.With(made), least);
}

// Runs f on two arrays of one dtype.
template <class F>
Array OfSets(const char* name, const Operand& a, const Operand& b, SetOptions options, Loc loc,
             const F& f) {
  const Call call{name, loc};
  return AsOne(call, {{"a", a}, {"b", b}, options},
               [&](const Operand& lhs, const Operand& rhs) -> Array {
                 const DType t = PromotedDType({lhs, rhs}, call);
                 return f(Convert(ToArray(lhs, call), t, call),
                          Convert(ToArray(rhs, call), t, call), options, call);
               });
}

// Looks each element up in the sorted values.
Located IsIn(const Array& x, const Array& values, Call call) {
  const Loc loc = call.loc;
  const int64_t n = TypeOf(values)->elements();
  if (n == 0) return {zeros_like(x, {.dtype = bool_}, loc), loc};
  // A few elements are compared with all values where these are, without sorting or moving them.
  constexpr int64_t kFew = 64;
  if (TypeOf(x)->elements() <= kFew && !(OwnSpec(x) && OwnSpec(values))) {
    base::Shape wide = ShapeOf(x);
    wide.resize(wide.size() + static_cast<size_t>(Rank(values)), 1);
    std::vector<int64_t> own(static_cast<size_t>(Rank(values)));
    std::iota(own.begin(), own.end(), Rank(x));
    return {any(eq(Reshape(x, wide, call), values, {}, loc), own, {}, loc), loc};
  }
  const Array flat = Flat(values, call);
  const Array sorted = sort(flat, 0, {}, loc);
  const Array place = minimum(searchsorted(sorted, x, {}, loc), Operand(n - 1, loc), {}, loc);
  return Located(take(sorted, place, 0, {}, loc), loc) == Located(x, loc);
}

}  // namespace

namespace {

// Returns the elements [n] that unique compares, or the slices [n, ...] along a dim.
Array ComparedOf(const Array& x, const std::optional<int>& dim, Call call) {
  if (!dim) return Flat(x, call);
  return moveaxis(Gathered(x, call), *dim, 0, call.loc);
}
Array Back(const Array& values, const std::optional<int>& dim, Call call) {
  return dim ? moveaxis(values, 0, *dim, call.loc) : values;
}
SetOptions SizeAndFill(const UniqueOptions& options) { return {options.size, options.fill_value}; }

}  // namespace

Unique unique_all(Operand x, UniqueOptions options, Loc loc) {
  const Call call{"unique_all", loc};
  const std::vector<Array> made =
      AsOne(call, {x, options}, [&](const Operand& operand) -> std::vector<Array> {
        const Array a = ToArray(operand, call);
        const Runs runs = RunsOf(ComparedOf(a, options.dim, call), call);
        const int64_t n = ShapeOf(runs.sorted)[0];
        const int64_t size = SizeOr(options.size, CountOf(runs.is_first), call);
        const DType t = base::DefaultInt();
        const Array values =
            Elements(Located(runs.sorted, loc), runs.is_first, SizeAndFill(options), call);
        const Located run = Located(cumsum(Convert(runs.is_first, t, call), 0, {}, loc), loc) - 1;
        const Array inverse =
            AtRows(scatter, zeros({n}, {.dtype = t}, loc), runs.order, run, {}, call);
        const Array counts = AtRows(scatter_add, zeros({size}, {.dtype = t}, loc), run,
                                    ones({n}, {.dtype = t}, loc), {}, call);
        Array index = Kept(runs.order, runs.is_first, size, Scalar(0), call);
        if (size > 0) {
          const Located number(Positions(size, 0, 1, t, call), loc);
          index = If(number < number.With(CountOf(runs.is_first)), number.With(index),
                     number.With(take(index, Operand(0, loc), 0, {}, loc)));
        }
        return {Back(values, options.dim, call), index,
                options.dim ? inverse : Reshape(inverse, ShapeOf(a), call), counts};
      });
  return {made[0], made[1], made[2], made[3]};
}

Array unique(Operand x, UniqueOptions options, Loc loc) {
  const Call call{"unique", loc};
  return AsOne(call, {x, options}, [&](const Operand& operand) {
    const Runs runs = RunsOf(ComparedOf(ToArray(operand, call), options.dim, call), call);
    return Back(Elements(Located(runs.sorted, loc), runs.is_first, SizeAndFill(options), call),
                options.dim, call);
  });
}

Array isin(Operand x, Operand values, Loc loc) {
  const Call call{"isin", loc};
  return AsOne(call, {{"operand", x}, {"values", values}},
               [&](const Operand& operand, const Operand& of) -> Array {
                 const DType t = PromotedDType({operand, of}, call);
                 return IsIn(Convert(ToArray(operand, call), t, call),
                             Convert(ToArray(of, call), t, call), call);
               });
}

Array union1d(Operand a, Operand b, SetOptions options, Loc loc) {
  return OfSets(
      "union1d", a, b, options, loc,
      [](const Array& x, const Array& y, const SetOptions& o, Call call) {
        const Runs runs = RunsOf(concatenate({Flat(x, call), Flat(y, call)}, 0, call.loc), call);
        return Elements(Located(runs.sorted, call.loc), runs.is_first, o, call);
      });
}
Array intersect1d(Operand a, Operand b, SetOptions options, Loc loc) {
  return OfSets("intersect1d", a, b, options, loc,
                [](const Array& x, const Array& y, const SetOptions& o, Call call) {
                  const Runs runs = RunsOf(Flat(x, call), call);
                  return Elements(Located(runs.sorted, call.loc),
                                  runs.is_first & IsIn(runs.sorted, y, call), o, call);
                });
}
Array setdiff1d(Operand a, Operand b, SetOptions options, Loc loc) {
  return OfSets("setdiff1d", a, b, options, loc,
                [](const Array& x, const Array& y, const SetOptions& o, Call call) {
                  const Runs runs = RunsOf(Flat(x, call), call);
                  return Elements(Located(runs.sorted, call.loc),
                                  runs.is_first & !IsIn(runs.sorted, y, call), o, call);
                });
}
Array setxor1d(Operand a, Operand b, SetOptions options, Loc loc) {
  return OfSets(
      "setxor1d", a, b, options, loc,
      [](const Array& x, const Array& y, const SetOptions& o, Call call) {
        const Runs runs = RunsOf(concatenate({Flat(x, call), Flat(y, call)}, 0, call.loc), call);
        const Located in_both = IsIn(runs.sorted, x, call) & IsIn(runs.sorted, y, call);
        return Elements(Located(runs.sorted, call.loc), runs.is_first & !in_both, o, call);
      });
}

// ---- orders ----

Array lexsort(std::vector<Array> keys, int dim, Loc loc) {
  const Call call{"lexsort", loc};
  if (keys.empty()) FailShape(call, 17, "there are no keys");
  return AsOne(call, {keys, dim}, [&](std::vector<Array> xs) {
    std::reverse(xs.begin(), xs.end());
    const auto d = static_cast<int>(NormalDim(dim, Rank(xs[0]), call));
    const auto count = static_cast<int>(xs.size());
    xs.push_back(BroadcastTo(Positions(xs[0], d, base::DefaultInt(), call), ShapeOf(xs[0]), call));
    return sort(xs, d, {.num_keys = count}, loc).back();
  });
}

Array sort_complex(Operand x, Loc loc) {
  const Call call{"sort_complex", loc};
  return AsOne(call, {x}, [&](const Operand& operand) {
    const Array a = ToFloat(operand, call);
    const DType t = TypeOf(a)->dtype();
    const DType made = t.is_complex() ? t : t == f64 ? c128 : c64;
    return Convert(sort(a, -1, {}, loc), made, call);
  });
}

namespace {
void CheckPlace(const Array& x, int64_t kth, int dim, Call call) {
  const int64_t n = base::At(ShapeOf(x), NormalDim(dim, Rank(x), call));
  if (kth < -n || kth >= n)
    FailShape(call, 17, fmt::format("there is no place {} among {} elements", kth, n));
}
}  // namespace

Array partition(Operand x, int64_t kth, int dim, Loc loc) {
  const Call call{"partition", loc};
  return AsOne(call, {x, kth, dim}, [&](const Operand& operand) {
    const Array a = ToArray(operand, call);
    CheckPlace(a, kth, dim, call);
    return sort(a, dim, {}, loc);
  });
}
Array argpartition(Operand x, int64_t kth, int dim, Loc loc) {
  const Call call{"argpartition", loc};
  return AsOne(call, {x, kth, dim}, [&](const Operand& operand) {
    const Array a = ToArray(operand, call);
    CheckPlace(a, kth, dim, call);
    return argsort(a, dim, {}, loc);
  });
}

}  // namespace tessera
