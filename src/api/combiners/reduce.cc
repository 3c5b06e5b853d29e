// reduce with a combiner: the known reduction, or pairs of neighbours until one element is left.
#include <fmt/format.h>

#include <algorithm>

#include "api/array/reductions.h"
#include "api/combiners/element_function.h"
#include "api/control/blocks.h"
#include "base/at.h"
#include "ops/reduction_ops.h"

namespace tessera {

using namespace api;

namespace {

// Reduces dims by a combiner that no op computes.
class PairReducer {
 public:
  PairReducer(Call call, const ElementFunction& combine) : call_(call), combine_(combine) {}

  // Returns xs without the dim, whose size is at least 1. If it is sharded, first each shard is
  // reduced:
  //
  //   [..., blocks * size, ...] -> [..., blocks, size, ...] -> [..., blocks, ...] -> [...]
  Arrays Along(const Arrays& xs, size_t dim) const {
    const std::vector<int64_t> dims(xs.size(), static_cast<int64_t>(dim));
    const int64_t blocks = BlocksOf(xs, dims);
    if (blocks == 1) return ByPairs(AxesOf(xs[0], dims[0]).empty() ? xs : Whole(xs, dims), dim);
    Arrays split;
    for (const Array& x : xs) {
      base::Shape shape = ShapeOf(x);
      shape[dim] /= blocks;
      shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(dim), blocks);
      split.push_back(Reshape(x, shape, call_));
    }
    return ByPairs(Whole(ByPairs(split, dim + 1), dims), dim);
  }

 private:
  // Combines neighbours, so that elements keep their order. `tail` holds the elements after those
  // that form pairs.
  Arrays ByPairs(Arrays xs, size_t dim) const {
    Arrays tail;
    for (int64_t n = ShapeOf(xs[0])[dim]; n > 1; n /= 2) {
      if (n % 2) {
        const Arrays last = Pieces(xs, dim, n - 1, n, 1, call_);
        tail = tail.empty() ? last : combine_(last, tail);
      }
      xs = combine_(Pieces(xs, dim, 0, n - n % 2, 2, call_),
                    Pieces(xs, dim, 1, n - n % 2, 2, call_));
    }
    if (!tail.empty()) xs = combine_(xs, tail);
    for (Array& x : xs) x = squeeze(x, static_cast<int>(dim), call_.loc);
    return xs;
  }
  Arrays Whole(const Arrays& xs, const std::vector<int64_t>& dims) const {
    if (AxesOf(xs[0], dims[0]).empty()) return WholeByPropagation(xs, dims, call_.loc);
    Arrays whole;
    for (const Array& x : xs) {
      sharding::TensorSharding to = TypeOf(x)->sharding();
      to.dims[base::Size(dims[0])].axes.clear();
      whole.push_back(Moved(x, std::move(to), call_));
    }
    return whole;
  }

  const Call call_;
  const ElementFunction& combine_;
};

// Returns an init for each element of the result: its dims are those of x that stay.
Arrays OnlyInits(const Arrays& inits, const Arrays& xs, const std::vector<int64_t>& dims,
                 Call call) {
  Arrays made;
  for (size_t k = 0; k < xs.size(); ++k) {
    base::Shape shape;
    sharding::TensorSharding s = TypeOf(xs[k])->sharding();
    std::vector<sharding::DimAxes> kept;
    for (size_t d = 0; d < ShapeOf(xs[k]).size(); ++d) {
      if (std::ranges::count(dims, static_cast<int64_t>(d))) continue;
      shape.push_back(ShapeOf(xs[k])[d]);
      kept.push_back(s.dims[d]);
    }
    s.dims.assign(kept.begin(), kept.end());
    made.push_back(Filled(inits[k], shape, s, call));
  }
  return made;
}

Arrays ReducedBy(const ElementFunction& combine, Arrays xs, const Arrays& inits,
                 std::vector<int64_t> dims, Call call) {
  bool is_empty = false;
  for (int64_t d : dims) is_empty = is_empty || base::At(ShapeOf(xs[0]), d) == 0;
  if (is_empty) return OnlyInits(inits, xs, dims, call);
  if (const std::optional<Reduction> known = combine.KnownReduction()) {
    xs = {Reduce(xs[0], {*ops::OpsOf(*known).dims, dims}, call)};
  } else {
    std::ranges::sort(dims, std::greater());
    const PairReducer reducer(call, combine);
    for (int64_t d : dims) xs = reducer.Along(xs, base::Size(d));
  }
  return combine(InitsLike(inits, xs, call), xs);
}

}  // namespace

namespace detail {

Arrays ReduceBy(TreeRef xs, TreeRef inits, const OnTwoTrees& combine, const Dims& dims, Loc loc) {
  const Call call{"reduce", loc};
  const CombinerOperands o = OperandsOf(xs, inits, call);
  const std::vector<int64_t> reduced = NormalDims(dims, Rank(o.xs[0]), call);
  return RunWithInits(call, o, [&](const Arrays& operands, const Arrays& inner) {
    const ElementFunction f(call, operands, o.names, combine, ElementFunction::kLikeOperands);
    return ReducedBy(f, operands, inner, reduced, call);
  });
}

}  // namespace detail
}  // namespace tessera
