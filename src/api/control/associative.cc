// associative_scan: running results of a user's function, by halves, and by blocks if the dim is
// sharded.
#include <absl/algorithm/container.h>
#include <fmt/format.h>

#include "api/control/blocks.h"
#include "api/core/operands.h"
#include "api/core/regions.h"
#include "base/at.h"
#include "base/error.h"
#include "tessera/batching.h"
#include "tessera/control.h"
#include "tessera/ops.h"
#include "trace/scopes.h"
#include "trace/tree.h"

namespace tessera {

using namespace api;

namespace {

using detail::JoinTrees;

// A scan along one dim of each array.
class AssociativeScanner {
 public:
  AssociativeScanner(Call call, const JoinTrees& join, const std::vector<std::string>& names,
                     std::vector<int64_t> dims, bool reverse)
      : call_(call), join_(join), names_(names), dims_(std::move(dims)), reverse_(reverse) {}

  Arrays Scan(const Arrays& xs) const { return reverse_ ? Flip(ByHalves(Flip(xs))) : ByHalves(xs); }

  // Scans each block, and then combines it with the blocks before it. `whole` lays out an array
  // with one element per block, for a scan; `split` lays it out as the blocks.
  //
  // xs [..., blocks * size, ...] -> [..., blocks, size, ...] -> [..., blocks * size, ...]
  template <class Layout>
  Arrays ScanBlocks(const Arrays& xs, int64_t blocks, Layout whole, Layout split) const {
    const int64_t size = Length(xs) / blocks;
    const auto in_blocks = [&](const Array& x, size_t dim) {
      base::Shape shape = ShapeOf(x);
      shape[dim] = size;
      shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(dim), blocks);
      return Reshape(x, shape, call_);
    };
    const Arrays local = InBlocks({Each(xs, in_blocks)}, [&](const Arrays& x) { return Scan(x); });
    const int64_t end = reverse_ ? 0 : size - 1;
    const Arrays ends = Each(local, [&](const Array& x, size_t dim) {
      return squeeze(Piece(x, dim + 1, end, end + 1), static_cast<int>(dim) + 1, call_.loc);
    });
    const Arrays before = split(Before(Scan(whole(ends))));
    const Arrays joined = InBlocks({Spread(before, size), local}, join_);
    return Merged(local, joined, xs);
  }

  // Scans all but the last `left` elements by blocks, and joins their last result with these.
  template <class Layout>
  Arrays ScanBlocksAndRest(const Arrays& xs, int64_t left, int64_t blocks, Layout whole,
                           Layout split) const {
    if (left == 0) return ScanBlocks(xs, blocks, whole, split);
    const int64_t all = Length(xs), n = all - left, begin = reverse_ ? left : 0;
    const Arrays main = ScanBlocks(Pieces(xs, begin, begin + n), blocks, whole, split);
    const Arrays rest = reverse_ ? Pieces(xs, 0, left) : Pieces(xs, n, all);
    const int64_t end = reverse_ ? 0 : n - 1;
    const Arrays last = Each(whole(Pieces(main, end, end + 1)), [&](const Array& x, size_t dim) {
      base::Shape shape = ShapeOf(x);
      shape[dim] = left;
      return broadcast_to(x, Shape(shape), {}, call_.loc);
    });
    const Arrays joined = whole(Join(last, Scan(whole(rest))));
    return reverse_ ? Concatenated(joined, main) : Concatenated(main, joined);
  }

 private:
  int64_t Length(const Arrays& xs) const { return ShapeOf(xs[0])[base::Size(dims_[0])]; }

  // Returns f(x, dim) for each array.
  template <class F>
  Arrays Each(const Arrays& xs, F f) const {
    Arrays ys;
    for (size_t k = 0; k < xs.size(); ++k) ys.push_back(f(xs[k], base::Size(dims_[k])));
    return ys;
  }
  Array Piece(const Array& x, size_t dim, int64_t begin, int64_t end, int64_t step = 1) const {
    const base::Shape& shape = ShapeOf(x);
    std::vector<int64_t> starts(shape.size()), limits(shape.begin(), shape.end()),
        strides(shape.size(), 1);
    starts[dim] = begin, limits[dim] = end, strides[dim] = step;
    return slice(x, starts, limits, strides, call_.loc);
  }
  Arrays Pieces(const Arrays& xs, int64_t begin, int64_t end, int64_t step = 1) const {
    return Each(xs, [&](const Array& x, size_t dim) { return Piece(x, dim, begin, end, step); });
  }
  Arrays Flip(const Arrays& xs) const {
    return Each(
        xs, [&](const Array& x, size_t dim) { return flip(x, static_cast<int>(dim), call_.loc); });
  }
  Arrays Concatenated(const Arrays& xs, const Arrays& ys) const {
    Arrays all;
    for (size_t k = 0; k < xs.size(); ++k)
      all.push_back(concatenate({xs[k], ys[k]}, static_cast<int>(dims_[k]), call_.loc));
    return all;
  }

  Arrays Join(const Arrays& a, const Arrays& b) const {
    Arrays joined = join_(a, b);
    CheckJoined(joined, b);
    return joined;
  }

  // Scans the joined pairs of neighbours, which gives every second result, and joins these with the
  // elements after them.
  Arrays ByHalves(const Arrays& xs) const {
    const int64_t n = Length(xs);
    if (n < 2) return xs;
    const Arrays odd = ByHalves(Join(Pieces(xs, 0, n - 1, 2), Pieces(xs, 1, n, 2)));
    const Arrays first = Pieces(xs, 0, 1);
    if (n == 2) return Concatenated(first, odd);
    const Arrays even = Join(n % 2 ? odd : Pieces(odd, 0, n / 2 - 1), Pieces(xs, 2, n, 2));
    return Interleaved(Concatenated(first, even), odd, n);
  }
  Arrays Interleaved(const Arrays& even, const Arrays& odd, int64_t n) const {
    const Arrays paired = Pieces(even, 0, n / 2);
    Arrays all;
    for (size_t k = 0; k < even.size(); ++k) {
      base::Shape shape = ShapeOf(even[k]);
      shape[base::Size(dims_[k])] = n / 2 * 2;
      const int after = static_cast<int>(dims_[k]) + 1;
      all.push_back(Reshape(stack({paired[k], odd[k]}, after, call_.loc), shape, call_));
    }
    return n % 2 ? Concatenated(all, Pieces(even, n / 2, n / 2 + 1)) : all;
  }

  // Calls f for every block of the trees, which have a dim of blocks before the scanned one.
  Arrays InBlocks(const std::vector<Arrays>& trees,
                  const std::function<Arrays(const Arrays&)>& f) const {
    return vmap(f, Mapping(trees.size()))(trees[0]);
  }
  Arrays InBlocks(const std::vector<Arrays>& trees, const JoinTrees& f) const {
    return vmap(f, Mapping(trees.size()))(trees[0], trees[1]);
  }
  VmapOptions Mapping(size_t trees) const {
    std::vector<MapDims> of_arrays;
    for (int64_t dim : dims_) of_arrays.emplace_back(static_cast<int>(dim));
    const MapDims of_tree(of_arrays);
    return {.in_dims = MapDims(std::vector<MapDims>(trees, of_tree)), .out_dims = of_tree};
  }

  // Returns the result before each block. The first one has none: it gets its own.
  Arrays Before(const Arrays& running) const {
    const int64_t n = Length(running);
    return reverse_ ? Concatenated(Pieces(running, 1, n), Pieces(running, n - 1, n))
                    : Concatenated(Pieces(running, 0, 1), Pieces(running, 0, n - 1));
  }
  // [..., blocks, ...] -> [..., blocks, size, ...]
  Arrays Spread(const Arrays& before, int64_t size) const {
    return Each(before, [&](const Array& x, size_t dim) {
      base::Shape shape = ShapeOf(x);
      shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(dim) + 1, size);
      return broadcast_to(expand_dims(x, static_cast<int>(dim) + 1, call_.loc), Shape(shape), {},
                          call_.loc);
    });
  }
  // Returns the local results of the first block, and the joined ones of the others.
  Arrays Merged(const Arrays& local, const Arrays& joined, const Arrays& xs) const {
    Arrays merged;
    for (size_t k = 0; k < xs.size(); ++k) {
      const size_t dim = base::Size(dims_[k]);
      const int64_t first = reverse_ ? ShapeOf(local[k])[dim] - 1 : 0;
      const sharding::TensorSharding& sharding = TypeOf(local[k])->sharding();
      CreateOptions like{.dtype = i64};
      if (sharding.mesh) like.out_sharding = sharding::ToSpec(sharding);
      const Array block = iota(Shape(ShapeOf(local[k])), static_cast<int>(dim), like, call_.loc);
      const Array is_first = eq(block, first, {}, call_.loc);
      merged.push_back(
          Reshape(where(is_first, local[k], joined[k], {}, call_.loc), ShapeOf(xs[k]), call_));
    }
    return merged;
  }

  // C18: the function must return the types that it gets.
  void CheckJoined(const Arrays& joined, const Arrays& like) const {
    if (joined.size() != like.size())
      FailTrace(
          call_, 18,
          fmt::format("the function returns {} arrays, but xs has {}", joined.size(), like.size()));
    for (size_t k = 0; k < like.size(); ++k)
      if (ShapeOf(joined[k]) != ShapeOf(like[k]) ||
          TypeOf(joined[k])->dtype() != TypeOf(like[k])->dtype())
        FailTrace(call_, 18,
                  fmt::format("the function returns {} for {}, but takes {}",
                              TypeOf(joined[k])->text(), names_[k], TypeOf(like[k])->text()));
  }

  const Call call_;
  const JoinTrees& join_;
  const std::vector<std::string>& names_;  // of the arrays
  const std::vector<int64_t> dims_;
  const bool reverse_;
};

// C4: all arrays have one size along the dim. Returns it.
std::vector<int64_t> DimsOf(Call call, const trace::Leaves& xs, int dim) {
  if (xs.arrays.empty()) FailShape(call, 4, "there is no array to scan");
  std::vector<int64_t> dims;
  for (const Array& x : xs.arrays) dims.push_back(NormalDim(dim, TypeOf(x)->rank(), call));
  const auto size = [&](size_t k) { return ShapeOf(xs.arrays[k])[base::Size(dims[k])]; };
  for (size_t k = 1; k < dims.size(); ++k)
    if (size(k) != size(0))
      FailShape(call, 4,
                fmt::format("{} has {} elements along the dim, but {} has {}", xs.names[k], size(k),
                            xs.names[0], size(0)));
  return dims;
}

// C5, C6: a dim sharded over Explicit axes needs an out_sharding, and is sharded alike in all
// arrays.
void CheckSharded(Call call, const trace::Leaves& xs, const std::vector<int64_t>& dims,
                  const AssociativeScanOptions& options) {
  for (size_t k = 0; k < dims.size(); ++k) {
    if (AxesOf(xs.arrays[k], dims[k]) != AxesOf(xs.arrays[0], dims[0]))
      FailSharding(
          call, 6,
          fmt::format("the dim is sharded differently in {}, {}, and {}, {}", xs.names[0],
                      TypeOf(xs.arrays[0])->text(), xs.names[k], TypeOf(xs.arrays[k])->text()));
    if (!AxesOf(xs.arrays[k], dims[k]).empty() && !options.out_sharding.given())
      FailSharding(call, 5,
                   fmt::format("the dim of {}, {}, is sharded: say how the results are sharded",
                               xs.names[k], TypeOf(xs.arrays[k])->text()),
                   {fmt::format("write .out_sharding = {}",
                                sharding::ToSpec(TypeOf(xs.arrays[k])->sharding()).text())});
  }
}

// Returns the arrays with these axes on the dim.
Arrays WithAxes(const Arrays& xs, const std::vector<int64_t>& dims, const sharding::AxisList& axes,
                Loc loc) {
  Arrays laid_out;
  for (size_t k = 0; k < xs.size(); ++k) {
    sharding::TensorSharding to = TypeOf(xs[k])->sharding();
    if (!to.mesh || to.dims[base::Size(dims[k])].axes == axes) {
      laid_out.push_back(xs[k]);
      continue;
    }
    to.dims[base::Size(dims[k])].axes = axes;
    laid_out.push_back(reshard(xs[k], sharding::ToSpec(to), loc));
  }
  return laid_out;
}

}  // namespace

namespace detail {

Arrays AssociativeScan(TreeRef tree, const JoinTrees& join, const AssociativeScanOptions& options,
                       Loc loc) {
  const Call call{"associative_scan", loc};
  const trace::Leaves xs = trace::TakeArrays(tree, "xs");
  const std::vector<int64_t> dims = DimsOf(call, xs, options.dim);
  CheckSharded(call, xs, dims, options);
  const AssociativeScanner scanner(call, join, xs.names, dims, options.reverse);
  const int64_t left = LeftOver(xs.arrays, dims);
  const int64_t blocks = BlocksOf(xs.arrays, dims, left);
  const sharding::AxisList axes = AxesOf(xs.arrays[0], dims[0]);
  const bool propagates = blocks > 1 && axes.empty();
  const std::function whole = [&](const Arrays& ends) {
    return propagates ? WholeByPropagation(ends, dims, loc) : WithAxes(ends, dims, {}, loc);
  };
  // Otherwise propagation would shard the scan of the ends, with an exchange for each of its steps.
  const std::function split = [&](const Arrays& ends) {
    return propagates ? WholeByPropagation(ends, dims, loc) : WithAxes(ends, dims, axes, loc);
  };
  Arrays results = blocks == 1 ? scanner.Scan(WithAxes(xs.arrays, dims, {}, loc))
                               : scanner.ScanBlocksAndRest(xs.arrays, left, blocks, whole, split);
  if (!options.out_sharding.given()) return results;
  const Outline outline = OutlineOf(tree);
  for (size_t k = 0; k < results.size(); ++k)
    if (const PartitionSpec* spec = options.out_sharding.At(outline.arrays[k]))
      results[k] = reshard(results[k], *spec, loc);
  return results;
}

}  // namespace detail
}  // namespace tessera
