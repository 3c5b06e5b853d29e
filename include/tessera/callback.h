// Functions of the host that compute arrays inside of programs.
//
//   Array y = pure_callback(lookup, abstract_array("f32[8]"), std::tuple(x, table));
#pragma once
#include <cstdint>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include "tessera/wrapped.h"

namespace TESSERA_PUBLIC tessera {

// How vmap calls the function of a pure_callback.
enum class VmapMethod : uint8_t {
  kSequential,    // once for each lane
  kExpandDims,    // once: arrays get the mapped dim in front, of size 1 if they are not mapped
  kBroadcastAll,  // once: the same, but arrays that are not mapped are repeated along it
};
struct PureCallbackOptions {
  VmapMethod vmap_method = VmapMethod::kSequential;
};

namespace detail {

std::vector<Array> PureCallback(Body f, std::vector<Array> arguments,
                                const std::vector<Array>& like, const PureCallbackOptions& options,
                                Loc loc);

// The arguments of a call as a tuple.
template <class T>
auto ArgumentsOf(T arguments) {
  if constexpr (kTuple<T>)
    return arguments;
  else
    return std::tuple<T>(std::move(arguments));
}

// Checks at compile time that f takes the arguments and returns a tree of type R.
template <class R, class Arguments>
struct HostFunctionOf;
template <class R, class... A>
struct HostFunctionOf<R, std::tuple<A...>> {
  template <class F>
  static constexpr bool Check() {
    constexpr bool kTakes = std::is_invocable_r_v<R, F&, A...>;
    static_assert(kTakes,
                  "the function of pure_callback takes the arguments, by value or const reference, "
                  "and returns a tree of the type of `like`");
    return kTakes;
  }
};

}  // namespace detail

// Returns f(arguments), computed by the host, with the shapes and dtypes of `like`, a tree of
// arrays without values (abstract_array) or of any others. Several arguments are one tuple. Eager
// calls run f at once. In a traced function f is called whenever the program gets there, by a
// thread of the runtime, with arrays on no mesh that have the values; it may compute with them, and
// must return the same for the same. The program may leave calls out, or repeat them. Arguments are
// whole: those that are sharded are gathered, which the report shows as implied. A result is on
// every device, or is cut as the type of its `like` is sharded. Inside of shard_map each device
// calls f with its own arrays. There is no derivative: custom_jvp or custom_vjp of a function that
// calls pure_callback gives one. Throws ShardingError for unreduced arguments; RuntimeError for
// results of other types than `like`, and for an exception of f, which is nested in it.
template <class F, Tree R, Tree T>
R pure_callback(F f, R like, T arguments, PureCallbackOptions options = {},
                Loc loc = Loc::Current()) {
  auto tuple = detail::ArgumentsOf(std::move(arguments));
  using Arguments = decltype(tuple);
  if constexpr (detail::HostFunctionOf<R, Arguments>::template Check<F>()) {
    std::vector<Array> given = detail::LeavesOf(tuple);
    detail::Replace(tuple, std::vector<Array>(given.size()));  // f is kept, and no array with it
    auto kept = std::make_shared<std::pair<F, Arguments>>(std::move(f), std::move(tuple));
    const detail::Body body = [kept, loc](const std::vector<Array>& arrays) {
      R tree(detail::Invoke(kept->first, detail::Rebuilt(kept->second, arrays), loc));
      std::vector<Array> leaves = detail::LeavesOf(tree);
      return detail::FunctionResult{std::move(leaves), {}};
    };
    const std::vector<Array> results =
        detail::PureCallback(body, std::move(given), detail::LeavesOf(like), options, loc);
    return detail::Rebuilt(std::move(like), results);
  }
}

}  // namespace tessera
