// scatter with a combiner: the known scatter, or updates that are first combined per element.
#include <absl/algorithm/container.h>
#include <fmt/format.h>

#include "api/combiners/element_function.h"
#include "base/at.h"
#include "base/shape.h"
#include "sharding/edit_code.h"
#include "tessera/control.h"
#include "trace/apply.h"

namespace tessera {

using namespace api;

namespace {

// Scatters one update after the other into the elements of arrays that are whole on each device.
class SortedScatter {
 public:
  SortedScatter(Call call, const ElementFunction& combine) : call_(call), combine_(combine) {}

  // Sorts the updates by the elements that they go to, combines each run of them, and writes the
  // last of each run.
  Array Scatter(const Array& x, const Array& indices, const Array& updates, const ScatterDims& dims,
                const ScatterOptions& options) const {
    const Loc loc = call_.loc;
    const int64_t size = base::Elements(ShapeOf(x)), count = base::Elements(ShapeOf(updates));
    if (size == 0 || count == 0) return x;
    const Array at = reshape(TargetsOf(x, indices, updates, dims, options), {count}, {}, loc);
    const Arrays sorted =
        tessera::sort({at, reshape(updates, {count}, {}, loc)}, 0, {.num_keys = 1}, loc);
    const Array differs = ne(Part(sorted[0], 1, count), Part(sorted[0], 0, count - 1), {}, loc);
    const Array edge = array(std::vector<bool>{true}, {}, loc);
    const Array is_first = concatenate({edge, differs}, 0, loc);
    const Array is_last = concatenate({differs, edge}, 0, loc);
    const Array combined = Running(is_first, sorted[1]);
    const Array flat = reshape(x, {size}, {}, loc);
    const Array safe = minimum(sorted[0], size - 1, {}, loc);
    const Array next = combine_({take(flat, safe, 0, {}, loc)}, {combined})[0];
    const Array target = where(is_last, sorted[0], size, {}, loc);
    const ScatterDims one{.window = {}, .inserted = {0}, .start = {0}};
    const Array written = tessera::scatter(flat, expand_dims(target, 1, loc), next, one, {}, loc);
    return reshape(written, Shape(ShapeOf(x)), {}, loc);
  }

 private:
  Array Part(const Array& x, int64_t begin, int64_t end) const {
    return Pieces({x}, 0, begin, end, 1, call_)[0];
  }
  // Returns the number of the element to which each update goes: the size of x if it is dropped.
  Array TargetsOf(const Array& x, const Array& indices, const Array& updates,
                  const ScatterDims& dims, const ScatterOptions& options) const {
    const Loc loc = call_.loc;
    const int64_t size = base::Elements(ShapeOf(x));
    const DType counting = size < std::numeric_limits<int32_t>::max() ? i32 : i64;
    const Array numbers =
        reshape(arange(size, {.dtype = counting}, loc), Shape(ShapeOf(x)), {}, loc);
    base::Shape slice;
    for (size_t d = 0, next = 0; d < ShapeOf(x).size(); ++d) {
      const auto k = static_cast<int64_t>(d);
      const bool is_one = absl::c_count(dims.inserted, k) || absl::c_count(dims.operand_batch, k);
      slice.push_back(is_one ? 1 : base::At(ShapeOf(updates), dims.window.at(next++)));
    }
    return gather(numbers, indices,
                  {.offset = dims.window,
                   .collapsed = dims.inserted,
                   .start = dims.start,
                   .operand_batch = dims.operand_batch,
                   .indices_batch = dims.indices_batch},
                  Shape(slice),
                  {.mode = options.mode.value_or(LookupMode::kDrop), .fill_value = size}, loc);
  }
  // Returns the running results of each run of updates.
  Array Running(const Array& is_first, const Array& updates) const {
    const Loc loc = call_.loc;
    using Runs = std::tuple<Array, Array>;
    const auto join = [&](const Runs& a, const Runs& b) {
      const auto& [a_first, a_value] = a;
      const auto& [b_first, b_value] = b;
      const Array both = logical_not(b_first, loc);
      const Array joined = CombinedWhere(both, combine_, {a_value}, {b_value}, call_)[0];
      return Runs{logical_or(a_first, b_first, {}, loc), where(b_first, b_value, joined, {}, loc)};
    };
    return std::get<1>(associative_scan(join, Runs{is_first, updates}, {}, loc));
  }

  const Call call_;
  const ElementFunction& combine_;
};

using ScatterFunction = Array (*)(Operand, Operand, Operand, ScatterDims, ScatterOptions, Loc);

// Returns the scatter that the function names; null if there is none.
ScatterFunction KnownScatter(const ElementFunction& combine) {
  if (combine.IsSecond()) return &tessera::scatter;
  const std::optional<Reduction> r = combine.KnownReduction();
  if (!r) return nullptr;
  switch (*r) {
    case Reduction::kSum:
      return &scatter_add;
    case Reduction::kProd:
      return &scatter_mul;
    case Reduction::kMax:
      return &scatter_max;
    case Reduction::kMin:
      return &scatter_min;
    default:
      return nullptr;
  }
}

// C19: throws ShardingError if an array is sharded over Explicit axes and no out_sharding is given.
Arrays Whole(const Arrays& xs, const ScatterOptions& options, Call call) {
  constexpr std::array kNames = {"x", "indices", "updates"};
  Arrays whole;
  for (size_t k = 0; k < xs.size(); ++k) {
    sharding::TensorSharding to = TypeOf(xs[k])->sharding();
    const bool is_sharded =
        absl::c_any_of(to.dims, [](const sharding::DimAxes& d) { return !d.axes.empty(); });
    if (is_sharded && !options.out_sharding)
      FailSharding(call, 19,
                   fmt::format("{} is {}: the function is not a known one, so the arrays must not "
                               "be sharded",
                               kNames[k], TypeOf(xs[k])->text()),
                   {"write " + sharding::OutShardingCode(P()) + ", which gathers them",
                    "write " + sharding::ReshardCode(kNames[k], P())});
    for (sharding::DimAxes& d : to.dims) d.axes.clear();
    whole.push_back(is_sharded ? Moved(xs[k], std::move(to), call) : xs[k]);
  }
  return whole;
}

Array Scattered(const ElementFunction& combine, const Arrays& xs, const ScatterDims& dims,
                const ScatterOptions& options, Call call) {
  if (const ScatterFunction known = KnownScatter(combine))
    return known(xs[0], xs[1], xs[2], dims, options, call.loc);
  // The types are checked as those of a known scatter.
  ScatterOptions plain = options;
  plain.out_sharding.reset();
  const Arrays whole = Whole(xs, options, call);
  tessera::scatter(whole[0], whole[1], whole[2], dims, plain, call.loc);
  const Array y = SortedScatter(call, combine).Scatter(whole[0], whole[1], whole[2], dims, plain);
  return options.out_sharding ? reshard(y, *options.out_sharding, call.loc) : y;
}

}  // namespace

namespace detail {

Array ScatterBy(const Operand& x, const Operand& indices, const Operand& updates,
                const OnTwoTrees& combine, const ScatterDims& dims, const ScatterOptions& options,
                Loc loc) {
  const Call call{"scatter", loc};
  Array a = ToArray(x, call);
  a = Convert(Plain(a, call), TypeOf(a)->dtype(), call);
  const Array u = updates.scalar() ? StrongScalar(*updates.scalar(), TypeOf(a)->dtype(), call)
                                   : ToArray(updates, call);
  if (TypeOf(u)->dtype() != TypeOf(a)->dtype())
    FailDType(
        call, 12,
        fmt::format("x is {}, but the updates are {}", TypeOf(a)->text(), TypeOf(u)->text()),
        {fmt::format("cast one of them, e.g. updates.astype({})", TypeOf(a)->dtype().name())});
  return RunAsProgram(call, {a, ToArray(indices, call), u}, [&](const Arrays& xs) {
    const ElementFunction f(call, {xs[0]}, {"x"}, combine, ElementFunction::kLikeOperands);
    return Arrays{Scattered(f, xs, dims, options, call)};
  })[0];
}

}  // namespace detail
}  // namespace tessera
