// Control flow inside of programs: loops and branches whose course depends on values.
//
// Functions are traced once each. What they carry or return are trees (tree.h); what they use of
// the outside is captured. Outside of `jit` a call is traced, compiled and run at once.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "tessera/array.h"
#include "tessera/transforms.h"
#include "tessera/tree.h"

namespace tessera {

struct ScanOptions {
  std::optional<int64_t> length = {};  // number of steps; by default the leading size of xs
  bool reverse = false;                // steps from the last slice to the first
  int64_t unroll = 1;                  // steps that one iteration of the loop does
};
struct LoopOptions {
  int64_t unroll = 1;  // as for scan; the bounds are then numbers
};

namespace trace {

// A tree taken apart: its arrays with a name for each ("carry[1]"), and the text of all else.
struct Leaves {
  std::vector<Array> arrays;
  std::vector<std::string> names;
  std::string statics;
};
// A user's function on the arrays of its arguments.
using LeafFunction = std::function<Leaves(const std::vector<Array>&)>;

// The results' arrays. Those of a scan's body are those of the next carry, which have names, and
// then those of y, which have none.
std::vector<Array> WhileLoop(Leaves carry, const LeafFunction& condition, const LeafFunction& body,
                             Loc loc);
std::vector<Array> ForiLoop(const Operand& lower, const Operand& upper, Leaves carry,
                            const LeafFunction& body, const LoopOptions& options, Loc loc);
std::vector<Array> Scan(Leaves carry, const Leaves& xs, const LeafFunction& body,
                        const ScanOptions& options, Loc loc);
std::vector<Array> Cond(const Operand& predicate, const Leaves& arguments,
                        const std::vector<LeafFunction>& branches);
std::vector<Array> SwitchCase(const Operand& index, const Leaves& arguments,
                              const std::vector<LeafFunction>& branches);

template <class T>
Leaves TakeApart(T& t, const std::string& name) {
  Leaves leaves;
  tree::Collect collect{leaves.arrays, &leaves.statics};
  tree::Visit(t, collect);
  const tree::Outline outline = tree::OutlineOf(t);
  for (const tree::Path& path : outline.arrays) {
    leaves.names.push_back(name);
    for (size_t i : path) leaves.names.back() += "[" + std::to_string(i) + "]";
  }
  return leaves;
}

template <class T>
T Rebuilt(T t, const std::vector<Array>& leaves) {
  tree::Replace replace{leaves};
  tree::Visit(t, replace);
  return t;
}

// f, which returns a tree like its arguments' or an array, as a function of leaves. `kept`, if not
// null, gets the tree that it returned last.
template <class R, class F, class... A>
LeafFunction OnLeaves(const F& f, const std::tuple<A...>& arguments, const char* name,
                      std::optional<R>* kept = nullptr) {
  return [&f, &arguments, name, kept](const std::vector<Array>& leaves) {
    R result(std::apply(f, Rebuilt(arguments, leaves)));
    Leaves out = TakeApart(result, name);
    if (kept) kept->emplace(std::move(result));
    return out;
  };
}

}  // namespace trace

// Returns the carry after `carry = body(carry)` as long as condition(carry), a scalar bool, is
// true. The body keeps the tree and the types of the carry, shardings included (weak numbers become
// what the body makes of them); else TraceError.
template <class Condition, class Body, class S>
auto while_loop(Condition condition, Body body, S init, Loc loc = Loc::Current()) {
  using Carry = trace::Traced<S>;
  std::tuple<Carry> carry{Carry(std::move(init))};
  return trace::Rebuilt(
      std::get<0>(carry),
      trace::WhileLoop(
          trace::TakeApart(std::get<0>(carry), "carry"),
          trace::OnLeaves<Array>(condition, carry, "condition"),
          trace::OnLeaves<trace::Traced<std::invoke_result_t<Body&, Carry>>>(body, carry, "carry"),
          loc));
}

// Returns the carry after `carry = body(i, carry)` for i from lower to upper - 1. Both are scalar
// integers; with numbers the trip count is known before running. As for while_loop otherwise.
template <class Body, class S>
auto fori_loop(Operand lower, Operand upper, Body body, S init, LoopOptions options = {},
               Loc loc = Loc::Current()) {
  using Carry = trace::Traced<S>;
  std::tuple<Array, Carry> arguments{Array(), Carry(std::move(init))};
  Carry& carry = std::get<1>(arguments);
  using Result = trace::Traced<std::invoke_result_t<Body&, Array, Carry>>;
  return trace::Rebuilt(
      carry, trace::ForiLoop(lower, upper, trace::TakeApart(carry, "carry"),
                             trace::OnLeaves<Result>(body, arguments, "carry"), options, loc));
}

// Returns the last carry and the stacked ys of `[carry, y] = f(carry, x)` for each slice x of xs
// along dim 0, which is not sharded. xs and y are trees or None; without xs, give .length. Throws
// ShapeError for leading sizes that differ, ShardingError for a sharded dim 0, TraceError as
// while_loop does.
template <class F, class S, class Xs>
auto scan(F f, S init, Xs xs, ScanOptions options = {}, Loc loc = Loc::Current()) {
  using Carry = trace::Traced<S>;
  std::tuple<Carry, Xs> arguments{Carry(std::move(init)), std::move(xs)};
  auto& [carry, slices] = arguments;
  using Result = std::decay_t<std::invoke_result_t<F&, Carry, Xs>>;
  using Next = trace::Traced<typename Result::first_type>;
  using Y = trace::Traced<typename Result::second_type>;
  std::optional<Y> kept;
  auto body = [&](const std::vector<Array>& leaves) {
    auto [first, second] = std::apply(f, trace::Rebuilt(arguments, leaves));
    Next next(std::move(first));
    trace::Leaves out = trace::TakeApart(next, "carry");
    kept.emplace(std::move(second));
    for (Array& y : trace::TakeApart(*kept, "y").arrays) out.arrays.push_back(std::move(y));
    return out;
  };
  trace::Leaves init_leaves = trace::TakeApart(carry, "carry");
  size_t carries = init_leaves.arrays.size();
  std::vector<Array> results =
      trace::Scan(std::move(init_leaves), trace::TakeApart(slices, "xs"), body, options, loc);
  std::vector<Array> ys(results.begin() + static_cast<long>(carries), results.end());
  return std::pair(trace::Rebuilt(std::move(carry), results), trace::Rebuilt(std::move(*kept), ys));
}

namespace trace {
template <class F, class Arguments>
struct ApplyResult;
template <class F, class... A>
struct ApplyResult<F, std::tuple<A...>> {
  using Type = Traced<std::invoke_result_t<F&, A...>>;
};
}  // namespace trace

// Returns on_true(args...) or on_false(args...): only one of them runs. The predicate is a scalar,
// true if not 0. Both give one tree of one list of types, shardings included, or TraceError.
template <class F, class G, class... A>
auto cond(Operand predicate, F on_true, G on_false, A... args) {
  std::tuple<trace::Traced<A>...> arguments{trace::Traced<A>(std::move(args))...};
  using R = typename trace::ApplyResult<F, decltype(arguments)>::Type;
  static_assert(std::is_same_v<R, typename trace::ApplyResult<G, decltype(arguments)>::Type>,
                "both branches return trees of one type");
  std::optional<R> kept;
  std::vector<Array> results = trace::Cond(predicate, trace::TakeApart(arguments, "argument"),
                                           {trace::OnLeaves<R>(on_true, arguments, "result", &kept),
                                            trace::OnLeaves<R>(on_false, arguments, "result")});
  return trace::Rebuilt(std::move(*kept), results);
}

namespace trace {
template <class R, class Arguments, class... F>
R Switch(const Operand& index, Arguments& arguments, const F&... branch) {
  std::optional<R> kept;
  std::vector<Array> results = SwitchCase(index, TakeApart(arguments, "argument"),
                                          {OnLeaves<R>(branch, arguments, "result", &kept)...});
  return Rebuilt(std::move(*kept), results);
}
}  // namespace trace

// Returns branch(args...) of the branch that the index, a scalar integer, names; indices outside
// name the first or the last. As for cond otherwise.
template <class F, class... G, class... A>
auto switch_case(Operand index, std::tuple<F, G...> branches, A... args) {
  std::tuple<trace::Traced<A>...> arguments{trace::Traced<A>(std::move(args))...};
  using R = typename trace::ApplyResult<F, decltype(arguments)>::Type;
  static_assert(
      (std::is_same_v<R, typename trace::ApplyResult<G, decltype(arguments)>::Type> && ...),
      "all branches return trees of one type");
  return std::apply(
      [&](const auto&... branch) { return trace::Switch<R>(index, arguments, branch...); },
      branches);
}
// The same of any number of functions of one type, at least one.
template <class F, class... A>
auto switch_case(Operand index, std::vector<F> branches, A... args) {
  std::tuple<trace::Traced<A>...> arguments{trace::Traced<A>(std::move(args))...};
  using R = typename trace::ApplyResult<F, decltype(arguments)>::Type;
  std::optional<R> kept;
  std::vector<trace::LeafFunction> functions;
  for (const F& branch : branches)
    functions.push_back(trace::OnLeaves<R>(branch, arguments, "result", &kept));
  std::vector<Array> results =
      trace::SwitchCase(index, trace::TakeApart(arguments, "argument"), functions);
  return trace::Rebuilt(std::move(*kept), results);
}

}  // namespace tessera
