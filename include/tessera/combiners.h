// Reductions, windows, sorts and scatters by functions of the user.
//
//   Array y = reduce([](Array a, Array b) { return logaddexp(a, b); }, x, -INFINITY, {1});
//
// A combiner takes two trees of scalars, and returns one like them. A comparator returns a bool.
// They are traced once, and run on all elements at the same time; they may capture scalars. A
// combiner that is one add, multiply, minimum, maximum, `and`, `or` or `xor` of a single array
// becomes that reduction. All others run as written, with derivatives through them. A combiner must
// be associative; it need not be commutative: elements keep their row-major order, but not their
// grouping.
//
// All functions throw TraceError if the function returns another number of arrays, other dtypes, or
// arrays that are not scalars.
#pragma once
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

#include "tessera/lookup.h"
#include "tessera/options.h"
#include "tessera/tree.h"
#include "tessera/windows.h"
#include "tessera/wrapped.h"

namespace TESSERA_PUBLIC tessera {

namespace detail {

// Combines or compares the arrays of two trees.
using OnTwoTrees =
    std::function<std::vector<Array>(const std::vector<Array>&, const std::vector<Array>&)>;
// Return the arrays of the result.
std::vector<Array> ReduceBy(TreeRef xs, TreeRef inits, const OnTwoTrees& combine, const Dims& dims,
                            Loc loc);
std::vector<Array> ReduceWindowBy(TreeRef xs, TreeRef inits, const OnTwoTrees& combine,
                                  const std::vector<int64_t>& window, const WindowOptions& options,
                                  Loc loc);
std::vector<Array> SortBy(TreeRef xs, const OnTwoTrees& is_before, int dim,
                          const OutOptions& options, Loc loc);
Array ScatterBy(const Operand& x, const Operand& indices, const Operand& updates,
                const OnTwoTrees& combine, const ScatterDims& dims, const ScatterOptions& options,
                Loc loc);

// Returns f as a function of the arrays of two trees like `tree`, which must outlive it.
template <class F, class Tree>
OnTwoTrees OnArrays(F& f, const Tree& tree) {
  return [&](const std::vector<Array>& a, const std::vector<Array>& b) {
    auto result = f(Rebuilt(tree, a), Rebuilt(tree, b));
    return LeavesOf(result);
  };
}
template <class F, class T>
concept OfTwo = std::is_invocable_v<F&, Traced<T>, Traced<T>>;

}  // namespace detail

// Returns the elements of xs along `dims` combined with each other, and with the scalars of
// `inits`: [...] -> the other dims. xs and `inits` are trees with the same number of arrays and the
// same dtypes; all arrays of xs have one shape and sharding. If there are no elements, the result
// is `inits`. The results keep the axes of the other dims. Along a sharded dim, every device
// combines its shard, and the results of the shards are gathered and combined. Throws ShapeError if
// the shapes differ, or an init is not a scalar, and DTypeError if the dtypes differ.
// jax.lax.reduce.
template <class F, class T, class I>
requires detail::OfTwo<F, T>
auto reduce(F combine, T xs, I inits, Dims dims = All, Loc loc = Loc::Current()) {
  using Tree = detail::Traced<T>;
  Tree tree(std::move(xs));
  detail::Traced<I> init_tree(std::move(inits));
  return detail::Rebuilt(
      tree, detail::ReduceBy(tree, init_tree, detail::OnArrays(combine, tree), dims, loc));
}

// Returns the elements of each window combined with each other, and with the scalars of `inits`:
// [...] -> [windows along each dim]. Windows and options are those of reduce_window of windows.h;
// positions without an element are left out. A window without elements gives `inits`. A dim with
// windows must not be sharded over Explicit axes, unless the function is a known one. Throws as
// `reduce` and as reduce_window.
template <class F, class T, class I>
requires detail::OfTwo<F, T>
auto reduce_window(F combine, T xs, I inits, std::vector<int64_t> window,
                   WindowOptions options = {}, Loc loc = Loc::Current()) {
  using Tree = detail::Traced<T>;
  Tree tree(std::move(xs));
  detail::Traced<I> init_tree(std::move(inits));
  return detail::Rebuilt(
      tree, detail::ReduceWindowBy(tree, init_tree, detail::OnArrays(combine, tree), window,
                                   options, loc));
}

// Returns all arrays of xs, which have one shape, in the order of a comparator along `dim`:
// is_before(a, b) says whether the elements a of the arrays come before the elements b. Equal
// elements (neither comes before the other) keep their order. A comparator must be a strict weak
// order, else the order is unspecified; the results are the elements of xs even then. Comparing the
// first arrays by < or > becomes a sort by this key; other comparators take O(log(n)^2) passes over
// the keys. The results are sharded as xs, or as `.out_sharding` says, which a sharded `dim` needs
// over Explicit axes; it is then gathered.
template <class T, class F>
requires detail::OfTwo<F, T>
auto sort(T xs, F is_before, int dim = -1, OutOptions options = {}, Loc loc = Loc::Current()) {
  using Tree = detail::Traced<T>;
  Tree tree(std::move(xs));
  return detail::Rebuilt(
      tree, detail::SortBy(tree, detail::OnArrays(is_before, tree), dim, options, loc));
}

// Returns x with slices combined with `updates`: an element becomes combine(element, update).
// Several updates of one element are combined in their order. A combiner that returns its second
// argument sets the elements. Arrays, dims and options are those of the other scatters of lookup.h.
// A combiner that is not recognised sorts the updates by their elements, and refuses arrays that
// are sharded over Explicit axes, unless `.out_sharding` is given: they are then gathered.
template <class F>
requires detail::OfTwo<F, Array> Array scatter(Operand x, Operand indices, Operand updates,
                                               F combine, ScatterDims dims,
                                               ScatterOptions options = {},
                                               Loc loc = Loc::Current()) {
  const Array like;
  return detail::ScatterBy(x, indices, updates, detail::OnArrays(combine, like), dims, options,
                           loc);
}

}  // namespace tessera
