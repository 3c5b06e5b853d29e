// Control flow inside programs: loops and branches that depend on values.
//
// Each function argument is traced once. It takes and returns trees (tree.h), and may capture
// arrays from outside. A call outside of `jit` is traced, compiled and run at once.
#pragma once
#include <functional>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "tessera/specs.h"
#include "tessera/wrapped.h"

namespace TESSERA_PUBLIC tessera {

struct ScanOptions {
  std::optional<int64_t> length = {};  // number of steps; default: the size of dim 0 of xs
  bool reverse = false;                // run from the last slice to the first
  int64_t unroll = 1;                  // steps per iteration of the loop
};
struct LaxMapOptions {
  std::optional<int64_t> batch_size = {};  // slices that one step computes, by vmap
};
struct AssociativeScanOptions {
  int dim = 0;           // negative: from the last
  bool reverse = false;  // each result combines the elements from its own to the last
  // Of the results: one for all arrays, or one for each. Needed if the dim is sharded over Explicit
  // axes.
  Specs out_sharding = {};
};
struct LoopOptions {
  int64_t unroll = 1;  // as for scan; needs bounds that are plain numbers
};

namespace detail {

// Return the results of the loop or branch. Loops write theirs into the carry; the tree of a scan's
// result is a pair of the carry and y.
std::vector<Array> WhileLoop(TreeRef carry, const Body& condition, const Body& body, Loc loc);
std::vector<Array> ForiLoop(const Operand& lower, const Operand& upper, TreeRef carry,
                            const Body& body, const LoopOptions& options, Loc loc);
FunctionResult Scan(TreeRef carry, TreeRef xs, const Body& body, const ScanOptions& options,
                    Loc loc);
FunctionResult LaxMap(TreeRef xs, const Body& body, const LaxMapOptions& options, Loc loc);
// Combines the arrays of two trees.
using JoinTrees =
    std::function<std::vector<Array>(const std::vector<Array>&, const std::vector<Array>&)>;
std::vector<Array> AssociativeScan(TreeRef xs, const JoinTrees& join,
                                   const AssociativeScanOptions& options, Loc loc);
FunctionResult Cond(const Operand& predicate, TreeRef arguments, const std::vector<Body>& branches);
FunctionResult SwitchCase(const Operand& index, TreeRef arguments,
                          const std::vector<Body>& branches);

template <class Condition, class Body, class Carry>
constexpr bool CheckWhile() {
  constexpr bool kTakes =
      std::is_invocable_v<Condition&, Carry> && std::is_invocable_v<Body&, Carry>;
  static_assert(kTakes, "the condition and the body take the carry, by value or const reference");
  return kTakes;
}
template <class Body, class Carry>
constexpr bool CheckFori() {
  static_assert(std::is_invocable_v<Body&, Array, Carry>,
                "the body takes the index, an Array, and the carry, by value or const reference");
  return std::is_invocable_v<Body&, Array, Carry>;
}
template <class F, class Carry, class Xs>
constexpr bool CheckScan() {
  static_assert(std::is_invocable_v<F&, Carry, Xs>,
                "the function of a scan takes the carry and a slice of xs (None if there are no "
                "xs), by value or const reference");
  if constexpr (std::is_invocable_v<F&, Carry, Xs>) {
    using Returned = std::decay_t<std::invoke_result_t<F&, Carry, Xs>>;
    constexpr bool kPair = requires { typename Returned::second_type; };
    static_assert(kPair, "the function of a scan returns a pair: the carry, and y or None");
    return kPair;
  }
  return false;
}
template <class F, class Xs>
constexpr bool CheckMap() {
  static_assert(std::is_invocable_v<F&, Xs>,
                "the function of lax_map takes a slice of xs, by value or const reference");
  if constexpr (std::is_invocable_v<F&, Xs>)
    return CheckTrees<std::decay_t<std::invoke_result_t<F&, Xs>>, Xs>();
  return false;
}
template <class F, class T>
constexpr bool CheckJoin() {
  static_assert(std::is_invocable_v<F&, T, T>,
                "the function of an associative_scan takes two trees like xs, by value or const "
                "reference");
  if constexpr (std::is_invocable_v<F&, T, T>) {
    constexpr bool kLikeXs = std::is_same_v<Traced<std::invoke_result_t<F&, T, T>>, T>;
    static_assert(kLikeXs, "the function of an associative_scan returns a tree like xs");
    return kLikeXs;
  }
  return false;
}
// Checks at compile time that every branch takes the arguments.
template <class... A>
struct OfBranches {
  template <class... F>
  static constexpr bool Check() {
    constexpr bool kTake = (std::is_invocable_v<const F&, A...> && ...);
    static_assert(kTake,
                  "every branch takes the arguments that follow the branches, by value or const "
                  "reference");
    return kTake;
  }
};

}  // namespace detail

// Returns the final carry of `while (condition(carry)) carry = body(carry)`; condition returns bool
// []. The body must return the tree and the types of the carry, shardings included, else
// TraceError. A weak number in `init` takes the type that the body returns.
template <class Condition, class Body, class S>
auto while_loop(Condition condition, Body body, S init, Loc loc = Loc::Current()) {
  using Carry = detail::Traced<S>;
  std::tuple<Carry> arguments{Carry(std::move(init))};
  Carry& carry = std::get<0>(arguments);
  if constexpr (detail::CheckWhile<Condition, Body, Carry>()) {
    using Next = detail::Traced<std::invoke_result_t<Body&, Carry>>;
    return detail::Rebuilt(
        carry, detail::WhileLoop(carry, detail::BodyOf<Array>(condition, arguments, loc),
                                 detail::BodyOf<Next>(body, arguments, loc), loc));
  }
}

// Returns the final carry of `carry = body(i, carry)` for i from lower to upper - 1. The bounds are
// integers []; if they are plain numbers, the trip count is known at compile time. The rules for
// the carry are those of while_loop.
template <class Body, class S>
auto fori_loop(Operand lower, Operand upper, Body body, S init, LoopOptions options = {},
               Loc loc = Loc::Current()) {
  using Carry = detail::Traced<S>;
  std::tuple<Array, Carry> arguments{Array(), Carry(std::move(init))};
  Carry& carry = std::get<1>(arguments);
  if constexpr (detail::CheckFori<Body, Carry>()) {
    using Next = detail::Traced<std::invoke_result_t<Body&, Array, Carry>>;
    return detail::Rebuilt(
        carry, detail::ForiLoop(lower, upper, carry, detail::BodyOf<Next>(body, arguments, loc),
                                options, loc));
  }
}

// Returns the final carry and the stacked ys of `[carry, y] = f(carry, x)`, for each slice x of xs
// along dim 0:
//
//   xs [n, a...] -> x [a...]        y [b...] -> ys [n, b...]
//
// Dim 0 must not be sharded. xs and y are trees or None; without xs, set .length. Throws
// ShapeError if the leading sizes differ, ShardingError if dim 0 is sharded, and TraceError as
// while_loop does.
template <class F, class S, class Xs>
auto scan(F f, S init, Xs xs, ScanOptions options = {}, Loc loc = Loc::Current()) {
  using Carry = detail::Traced<S>;
  std::tuple<Carry, Xs> arguments{Carry(std::move(init)), std::move(xs)};
  auto& [carry, slices] = arguments;
  if constexpr (detail::CheckScan<F, Carry, Xs>()) {
    using Returned = std::decay_t<std::invoke_result_t<F&, Carry, Xs>>;
    using Y = detail::Traced<typename Returned::second_type>;
    using Step = std::pair<detail::Traced<typename Returned::first_type>, Y>;
    const detail::FunctionResult last =
        detail::Scan(carry, slices, detail::BodyOf<Step>(f, arguments, loc), options, loc);
    return detail::Rebuilt(std::pair<Carry, Y>(std::move(carry), last.tree.As<Step>().second),
                           last.arrays);
  }
}

// Returns f(x) for each slice x of xs along dim 0, stacked: [n, a...] -> [n, b...]. It is a scan
// without a carry (jax.lax.map) and computes one slice after the other, or `.batch_size` slices at
// once by vmap. Throws as scan does, and ShapeError for a batch size below 1.
template <class F, class Xs>
auto lax_map(F f, Xs xs, LaxMapOptions options = {}, Loc loc = Loc::Current()) {
  std::tuple<Xs> arguments{std::move(xs)};
  if constexpr (detail::CheckMap<F, Xs>()) {
    using Y = detail::Traced<std::invoke_result_t<F&, Xs>>;
    const detail::FunctionResult result =
        detail::LaxMap(std::get<0>(arguments), detail::BodyOf<Y>(f, arguments, loc), options, loc);
    return result.As<Y>();
  }
}

// Returns the running results of an associative function along a dim: element i combines elements 0
// to i of xs, a tree of arrays that all have n elements along the dim.
//
//   f(a, b): trees like xs, of any number of elements along the dim; b follows a.
//   xs [..., n, ...] -> [..., n, ...]
//
// It calls f about 2 log2(n) times while tracing. If the dim is sharded, every device scans its
// shard, and exchanges one element per shard; over Explicit axes this needs an out_sharding. The
// results are sharded as xs, or as out_sharding says. Throws ShapeError if the sizes along the dim
// differ, ShardingError without out_sharding, and TraceError if f returns other types.
// Source: Blelloch, "Prefix sums and their applications", 1990.
template <class F, class T>
auto associative_scan(F f, T xs, AssociativeScanOptions options = {}, Loc loc = Loc::Current()) {
  using Tree = detail::Traced<T>;
  Tree tree(std::move(xs));
  if constexpr (detail::CheckJoin<F, Tree>()) {
    const detail::JoinTrees join = [&](const std::vector<Array>& a, const std::vector<Array>& b) {
      Tree joined = f(detail::Rebuilt(tree, a), detail::Rebuilt(tree, b));
      return detail::LeavesOf(joined);
    };
    return detail::Rebuilt(tree, detail::AssociativeScan(tree, join, options, loc));
  }
}

namespace detail {
// Calls `choose`, which is Cond or SwitchCase, with these branches.
template <class... A, class F, class... G>
auto Choose(FunctionResult (*choose)(const Operand&, TreeRef, const std::vector<Body>&),
            const Operand& which, std::tuple<A...> arguments, const F& first, const G&... others) {
  if constexpr (OfBranches<A...>::template Check<F, G...>()) {
    using R = Traced<std::invoke_result_t<const F&, A...>>;
    static_assert((std::is_same_v<R, Traced<std::invoke_result_t<const G&, A...>>> && ...),
                  "all branches return trees of one type");
    const Loc loc = which.loc();
    const FunctionResult result = choose(
        which, arguments, {BodyOf<R>(first, arguments, loc), BodyOf<R>(others, arguments, loc)...});
    return result.As<R>();
  }
}
}  // namespace detail

// Returns on_true(args...) if the predicate, a scalar, is not 0, else on_false(args...). Only
// one of them runs. Throws TraceError unless both return the same tree with the same types,
// shardings included.
template <class F, class G, class... A>
auto cond(Operand predicate, F on_true, G on_false, A... args) {
  return detail::Choose(&detail::Cond, predicate,
                        std::tuple<detail::Traced<A>...>(std::move(args)...), on_true, on_false);
}

// Returns branches[index](args...) for an integer index []. An index out of bounds is clamped: it
// selects the first or the last branch. Same rules as cond.
template <class F, class... G, class... A>
auto switch_case(Operand index, std::tuple<F, G...> branches, A... args) {
  return std::apply(
      [&](const auto&... branch) {
        return detail::Choose(&detail::SwitchCase, index,
                              std::tuple<detail::Traced<A>...>(std::move(args)...), branch...);
      },
      branches);
}
// Same, for one or more functions of one type.
template <class F, class... A>
auto switch_case(Operand index, std::vector<F> branches, A... args) {
  std::tuple<detail::Traced<A>...> arguments{detail::Traced<A>(std::move(args))...};
  if constexpr (detail::OfBranches<detail::Traced<A>...>::template Check<F>()) {
    using R = detail::Traced<std::invoke_result_t<const F&, detail::Traced<A>...>>;
    std::vector<detail::Body> bodies;
    for (const F& branch : branches)
      bodies.push_back(detail::BodyOf<R>(branch, arguments, index.loc()));
    const detail::FunctionResult result = detail::SwitchCase(index, arguments, bodies);
    return result.As<R>();
  }
}

}  // namespace tessera
