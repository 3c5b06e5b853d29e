// Chooses the order of transforms along several dims, and the moves between them.
#include "api/fft/pencils.h"

#include <absl/algorithm/container.h>

#include <limits>

#include "api/core/reshard_to.h"
#include "base/at.h"
#include "base/dtype.h"

namespace tessera::api {
namespace {

using sharding::TensorSharding;

int64_t SizeAfter(const FourierPass& pass) {
  return pass.op == &ops::kRfft ? pass.n / 2 + 1 : pass.n;
}

// The next pass, and the layout in which it runs.
struct PencilStep {
  FourierPass pass;
  TensorSharding layout;
};
struct Route {
  int64_t bytes = 0;
  std::vector<PencilStep> steps;
};

// Searches for the moves between passes that send the fewest bytes.
class Search {
 public:
  Search(sharding::ItemSize itemsize, const TensorSharding& to) : itemsize_(itemsize), to_(to) {}

  Route Best(const base::Shape& shape, const TensorSharding& layout,
             const std::vector<FourierPass>& left) const {
    if (left.empty()) return {sharding::ReshardBytes(shape, itemsize_, layout, to_), {}};
    Route best{std::numeric_limits<int64_t>::max(), {}};
    for (size_t i = 0; i < left.size(); ++i) {
      if (!MayRun(left, i)) continue;
      const size_t dim = base::Size(left[i].dim);
      // A pass that needs no move is never better later.
      if (layout.dims[dim].axes.empty()) return After(shape, layout, layout, left, i);
      for (const TensorSharding& moved : WithDimWhole(shape, layout, dim)) {
        Route route = After(shape, layout, moved, left, i);
        if (route.bytes < best.bytes) best = std::move(route);
      }
    }
    return best;
  }

 private:
  static bool MayRun(const std::vector<FourierPass>& left, size_t i) {
    const bool has_first = absl::c_any_of(left, [](const FourierPass& p) { return p.is_first; });
    if (has_first) return left[i].is_first;
    return !left[i].is_last || left.size() == 1;
  }
  // Returns the layouts in which the dim is whole: its axes are on another dim, or on none.
  static std::vector<TensorSharding> WithDimWhole(const base::Shape& shape,
                                                  const TensorSharding& layout, size_t dim) {
    std::vector<TensorSharding> layouts;
    const sharding::AxisList axes = layout.dims[dim].axes;
    TensorSharding whole = layout;
    whole.dims[dim].axes.clear();
    for (size_t d = 0; d < shape.size(); ++d) {
      TensorSharding moved = whole;
      sharding::AxisList& list = moved.dims[d].axes;
      list.insert(list.end(), axes.begin(), axes.end());
      if (d != dim && shape[d] % sharding::SizeOf(list) == 0) layouts.push_back(std::move(moved));
    }
    layouts.push_back(std::move(whole));
    return layouts;
  }
  Route After(const base::Shape& shape, const TensorSharding& before, const TensorSharding& layout,
              std::vector<FourierPass> left, size_t i) const {
    const FourierPass pass = left[i];
    left.erase(left.begin() + static_cast<std::ptrdiff_t>(i));
    base::Shape made = shape;
    made[base::Size(pass.dim)] = SizeAfter(pass);
    Route rest = Best(made, layout, left);
    rest.bytes += sharding::ReshardBytes(shape, itemsize_, before, layout);
    rest.steps.insert(rest.steps.begin(), {pass, layout});
    return rest;
  }

  const sharding::ItemSize itemsize_;
  const TensorSharding& to_;
};

// Returns x with `size` elements along a dim: the first ones, and zeros after them.
Array OfSize(const Array& x, int64_t dim, int64_t size, Call call) {
  const int64_t own = base::At(ShapeOf(x), dim);
  if (own == size) return x;
  std::vector<Padding> padding(ShapeOf(x).size());
  padding[base::Size(dim)].high = size - own;
  return pad(x, padding, ScalarLike(0, TypeOf(x), call), call.loc);
}

// Whether the shards of the pass's dim divide the size that it reads.
bool ShardsDivide(const Array& x, const FourierPass& pass) {
  const TensorSharding& s = TypeOf(x)->sharding();
  return pass.reads % sharding::SizeOf(s.dims[base::Size(pass.dim)].axes) == 0;
}

Array RunPass(const Array& x, const FourierPass& pass, Call call) {
  return Run(*pass.op, ir::MakeParams(ops::FourierParams{{pass.dim}, pass.n}),
             {OfSize(x, pass.dim, pass.reads, call)}, call);
}

}  // namespace

Array RunPasses(const Array& x, std::vector<FourierPass> passes,
                const std::optional<PartitionSpec>& to, Call call) {
  Array y = x;
  for (const FourierPass& pass : passes)
    if (ShardsDivide(y, pass)) y = OfSize(y, pass.dim, pass.reads, call);
  const auto layout = ResolveSpec(to, static_cast<int>(Rank(x)), MeshInScope({x}), call);
  if (!layout) {
    absl::c_stable_partition(passes, [](const FourierPass& p) { return !p.is_last; });
    absl::c_stable_partition(passes, [](const FourierPass& p) { return p.is_first; });
    for (const FourierPass& pass : passes) y = RunPass(y, pass, call);
    return y;
  }
  const Route route = Search(2 * base::PartOf(TypeOf(x)->dtype()).size(), *layout)
                          .Best(ShapeOf(y), TypeOf(y)->sharding(), passes);
  for (const PencilStep& step : route.steps) {
    if (TypeOf(y)->sharding().dims != step.layout.dims) {
      TensorSharding moved = TypeOf(y)->sharding();
      moved.dims = step.layout.dims;
      y = ReshardTo(y, moved, call);
    }
    y = RunPass(y, step.pass, call);
  }
  return ReshardTo(y, *to, call);
}

}  // namespace tessera::api
