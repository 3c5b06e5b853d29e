// reduce_window with a combiner: dim by dim, by windows of powers of two.
#include "api/array/windows.h"
#include "api/combiners/element_function.h"
#include "base/at.h"
#include "ops/params.h"
#include "sharding/edit_code.h"

namespace tessera {

using namespace api;

namespace {

using ops::DimWindow;

// Arrays along one dim. Padding and gaps are positions that hold no element.
struct Positions {
  Arrays xs;
  std::optional<Array> held;  // bool [positions]; none: all hold an element
};

// Whether positions along a dim may hold no element.
bool HasGaps(const DimWindow& w) { return w.low > 0 || w.high > 0 || w.base_dilation > 1; }

class WindowReducer {
 public:
  WindowReducer(Call call, const ElementFunction& combine, const Arrays& inits)
      : call_(call), combine_(combine), inits_(inits) {}

  // Returns xs with a result for each window along the dim. A window without elements has an
  // unspecified one.
  Arrays Along(const Arrays& xs, size_t dim, const DimWindow& w) const {
    const Positions one = Spread(xs, dim, w);
    const int64_t length = ShapeOf(one.xs[0])[dim];
    const int64_t windows = length < w.reach() ? 0 : (length - w.reach()) / w.stride + 1;
    // Result i of `power` combines 2^k positions from i on. A window is one such run for each bit
    // of its size, from the highest bit on.
    std::vector<Positions> power{one};
    for (int64_t size = 1; 2 * size <= w.size; size *= 2) {
      const int64_t reach = (2 * size - 1) * w.window_dilation;
      const int64_t n = std::max<int64_t>(length - reach, 0), next = size * w.window_dilation;
      power.push_back(
          Join(Part(power.back(), dim, 0, n, 1), Part(power.back(), dim, next, next + n, 1), dim));
    }
    std::optional<Positions> all;
    int64_t offset = 0;
    for (size_t k = power.size(); k-- > 0;) {
      if (!(w.size >> k & 1)) continue;
      const int64_t end = windows == 0 ? offset : offset + (windows - 1) * w.stride + 1;
      const Positions run = Part(power[k], dim, offset, end, w.stride);
      all = all ? Join(*all, run, dim) : run;
      offset += (int64_t{1} << k) * w.window_dilation;
    }
    return all->xs;
  }

 private:
  // Puts the padding and the positions between elements into xs.
  Positions Spread(const Arrays& xs, size_t dim, const DimWindow& w) const {
    const int64_t n = ShapeOf(xs[0])[dim];
    const Padding along{w.low, w.high, w.base_dilation - 1};
    std::vector<Padding> padding(ShapeOf(xs[0]).size());
    padding[dim] = along;
    Positions spread;
    for (size_t k = 0; k < xs.size(); ++k)
      spread.xs.push_back(pad(xs[k], padding, inits_[k], call_.loc));
    if (HasGaps(w))
      spread.held = pad(full({n}, true, {.dtype = bool_}, call_.loc), {along}, false, call_.loc);
    return spread;
  }
  Positions Part(const Positions& of, size_t dim, int64_t begin, int64_t end, int64_t step) const {
    Positions part{Pieces(of.xs, dim, begin, end, step, call_), {}};
    if (of.held) part.held = Pieces({*of.held}, 0, begin, end, step, call_)[0];
    return part;
  }
  Positions Join(const Positions& a, const Positions& b, size_t dim) const {
    if (!a.held) return {combine_(a.xs, b.xs), {}};
    const Loc loc = call_.loc;
    const Array in_a = Mask(*a.held, a.xs[0], dim), in_b = Mask(*b.held, a.xs[0], dim);
    const Array both = logical_and(in_a, in_b, {}, loc);
    Positions joined{CombinedWhere(both, combine_, a.xs, b.xs, call_), {}};
    for (size_t k = 0; k < joined.xs.size(); ++k)
      joined.xs[k] = where(in_b, where(in_a, joined.xs[k], b.xs[k], {}, loc), a.xs[k], {}, loc);
    joined.held = logical_or(*a.held, *b.held, {}, loc);
    return joined;
  }
  // Returns the flags along the dim of an array like x.
  Array Mask(const Array& flags, const Array& x, size_t dim) const {
    base::Shape shape(ShapeOf(x).size(), 1);
    shape[dim] = ShapeOf(flags)[0];
    return reshape(flags, Shape(shape), {}, call_.loc);
  }

  const Call call_;
  const ElementFunction& combine_;
  const Arrays& inits_;
};

// C19: throws ShardingError if a windowed dim is sharded over Explicit axes.
void CheckWhole(const Array& x, const std::string& name, const std::vector<DimWindow>& windows,
                Call call) {
  sharding::TensorSharding whole = TypeOf(x)->sharding();
  for (size_t d = 0; d < windows.size(); ++d)
    if (!windows[d].is_trivial()) whole.dims[d].axes.clear();
  if (whole.dims == TypeOf(x)->sharding().dims) return;
  FailSharding(call, 19,
               name + " is " + TypeOf(x)->text() +
                   ": a dim with windows must not be sharded, unless the function is a known "
                   "reduction",
               {"write " + sharding::ReshardCode("x", sharding::ToSpec(whole))});
}

Arrays CombinedWindows(const ElementFunction& combine, const Arrays& xs, const Arrays& inits,
                       const std::vector<std::string>& names, const std::vector<DimWindow>& windows,
                       Call call) {
  if (const std::optional<Reduction> known = combine.KnownReduction()) {
    const Arrays reduced{RunWindows(xs[0], *known, windows, call)};
    return combine(InitsLike(inits, reduced, call), reduced);
  }
  CheckWhole(xs[0], names[0], windows, call);
  // The types are checked as those of a known reduction.
  const Array some = FilledWith(true, TypeOf(xs[0])->WithDType(bool_), call);
  const Array held = RunWindows(some, Reduction::kOr, windows, call);
  const WindowReducer reducer(call, combine, inits);
  Arrays results = xs;
  bool all_held = true;
  for (size_t d = windows.size(); d-- > 0;) {
    if (windows[d].is_trivial()) continue;
    results = reducer.Along(results, d, windows[d]);
    all_held = all_held && !HasGaps(windows[d]);
  }
  const Arrays full = InitsLike(inits, results, call);
  if (all_held) return combine(full, results);
  const Arrays joined = CombinedWhere(held, combine, full, results, call);
  for (size_t k = 0; k < joined.size(); ++k)
    results[k] = where(held, joined[k], full[k], {}, call.loc);
  return results;
}

}  // namespace

namespace detail {

Arrays ReduceWindowBy(TreeRef xs, TreeRef inits, const OnTwoTrees& combine,
                      const std::vector<int64_t>& window, const WindowOptions& options, Loc loc) {
  const Call call{"reduce_window", loc};
  const CombinerOperands o = OperandsOf(xs, inits, call);
  const std::vector<DimWindow> windows = WindowsOf(ShapeOf(o.xs[0]), window, options, call);
  return RunWithInits(call, o, [&](const Arrays& operands, const Arrays& inner) {
    const ElementFunction f(call, operands, o.names, combine, ElementFunction::kLikeOperands);
    return CombinedWindows(f, operands, inner, o.names, windows, call);
  });
}

}  // namespace detail
}  // namespace tessera
