// Chooses the order of transforms along several dims, and the moves between them.
#include "api/fft/pencils.h"

#include <absl/algorithm/container.h>

#include <limits>

#include "api/core/reshard_to.h"
#include "base/at.h"
#include "base/divide.h"
#include "base/dtype.h"
#include "sharding/local.h"
#include "sharding/partition.h"

namespace tessera::api {
namespace {

using sharding::TensorSharding;

int64_t SizeAfter(const FourierPass& pass) {
  return pass.op == &ops::kRfft ? pass.n / 2 + 1 : pass.n;
}

// The layout of an array whose dims may have zeros after their elements, so that shards divide
// them.
struct Pencil {
  base::Shape shape;
  TensorSharding layout;
};

// The next pass, and the layout in which it runs.
struct PencilStep {
  FourierPass pass;
  Pencil pencil;
};
struct Route {
  double cost = 0;  // bytes, and FLOPs at the machine balance
  std::vector<PencilStep> steps;
};

// Searches for the moves between passes that send the fewest bytes and leave the least work.
class Search {
 public:
  Search(sharding::ItemSize itemsize, const TensorSharding& to) : itemsize_(itemsize), to_(to) {}

  Route Best(const Pencil& now, const std::vector<FourierPass>& left) const {
    if (left.empty()) return {BytesTo({now.shape, to_}, now.layout), {}};
    Route best{std::numeric_limits<double>::infinity(), {}};
    for (size_t i = 0; i < left.size(); ++i) {
      if (!MayRun(left, i)) continue;
      const size_t dim = base::Size(left[i].dim);
      // A pass that needs no move is never better later.
      if (now.layout.dims[dim].axes.empty()) return After(now, now, left, i);
      for (const Pencil& moved : WithDimWhole(now, dim, left)) {
        Route route = After(now, moved, left, i);
        if (route.cost < best.cost) best = std::move(route);
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
  // Returns the layouts in which the dim is whole: its axes are on another dim, or on none. A dim
  // that they do not divide is padded if it is whole when it is cut: before its own pass, or at the
  // end.
  std::vector<Pencil> WithDimWhole(const Pencil& now, size_t dim,
                                   const std::vector<FourierPass>& left) const {
    std::vector<Pencil> pencils;
    const sharding::AxisList axes = now.layout.dims[dim].axes;
    Pencil whole = now;
    whole.layout.dims[dim].axes.clear();
    for (const Pencil& from : {whole, Returned(whole, left)}) {
      for (size_t d = 0; d < now.shape.size(); ++d) {
        if (d == dim) continue;
        Pencil moved = from;
        sharding::AxisList& list = moved.layout.dims[d].axes;
        const bool may_pad = list.empty() && (to_.dims[d].axes.empty() || HasPass(left, d));
        list.insert(list.end(), axes.begin(), axes.end());
        const int64_t shards = sharding::SizeOf(list), size = now.shape[d];
        if (size % shards != 0 && (!may_pad || size < shards)) continue;
        moved.shape[d] = base::CeilDiv(size, shards) * shards;
        pencils.push_back(std::move(moved));
      }
    }
    pencils.push_back(std::move(whole));
    return pencils;
  }
  // Returns the pencil with the axes back on the dims that they have in the result, and whose
  // passes are done.
  Pencil Returned(Pencil pencil, const std::vector<FourierPass>& left) const {
    auto& dims = pencil.layout.dims;
    for (size_t d = 0; d < dims.size(); ++d) {
      const sharding::AxisList& home = to_.dims[d].axes;
      if (home.empty() || !dims[d].axes.empty() || HasPass(left, d)) continue;
      for (sharding::DimAxes& other : dims)
        if (other.axes == home) std::swap(other.axes, dims[d].axes);
    }
    return pencil;
  }
  static bool HasPass(const std::vector<FourierPass>& left, size_t dim) {
    return absl::c_any_of(left, [&](const FourierPass& p) { return base::Size(p.dim) == dim; });
  }
  // Returns the bytes that a device sends to lay an array of this pencil out.
  double BytesTo(const Pencil& pencil, const TensorSharding& from) const {
    return static_cast<double>(
        sharding::ReshardBytes(pencil.shape, itemsize_, from, pencil.layout));
  }
  Route After(const Pencil& before, const Pencil& now, std::vector<FourierPass> left,
              size_t i) const {
    const FourierPass pass = left[i];
    left.erase(left.begin() + static_cast<std::ptrdiff_t>(i));
    Pencil made = now;
    made.shape[base::Size(pass.dim)] = SizeAfter(pass);
    Route rest = Best(made, left);
    const auto points = static_cast<double>(sharding::LocalElements(made.shape, made.layout));
    rest.cost +=
        BytesTo(now, before.layout) + pass.op->flops_per_point * points / sharding::FlopsPerByte();
    rest.steps.insert(rest.steps.begin(), {pass, now});
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
  base::Shape sizes = ShapeOf(y);
  const Route route = Search(2 * base::PartOf(TypeOf(x)->dtype()).size(), *layout)
                          .Best({sizes, TypeOf(y)->sharding()}, passes);
  for (const PencilStep& step : route.steps) {
    for (size_t d = 0; d < sizes.size(); ++d)
      y = OfSize(y, static_cast<int64_t>(d), step.pencil.shape[d], call);
    if (TypeOf(y)->sharding().dims != step.pencil.layout.dims) {
      TensorSharding moved = TypeOf(y)->sharding();
      moved.dims = step.pencil.layout.dims;
      y = ReshardTo(y, moved, call);
    }
    y = RunPass(y, step.pass, call);
    base::At(sizes, step.pass.dim) = SizeAfter(step.pass);
  }
  if (ShapeOf(y) != sizes) {
    // Padded dims are whole in the result.
    y = ReshardTo(y, *to, call);
    for (size_t d = 0; d < sizes.size(); ++d)
      y = OfSize(y, static_cast<int64_t>(d), sizes[d], call);
  }
  return ReshardTo(y, *to, call);
}

}  // namespace tessera::api
