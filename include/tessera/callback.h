// pure_callback: calls a host function from inside a program.
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
  kSequential,    // one call for each batch element
  kExpandDims,    // one call: mapped dim in front, of size 1 where unmapped
  kBroadcastAll,  // one call: unmapped arrays are repeated along the dim
};
struct PureCallbackOptions {
  VmapMethod vmap_method = VmapMethod::kSequential;
};

namespace detail {

std::vector<Array> PureCallback(Body f, std::vector<Array> arguments,
                                const std::vector<Array>& like, const PureCallbackOptions& options,
                                Loc loc);

// Returns the arguments of a call as a tuple.
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

// Returns f(arguments), computed on the host, with the shapes and dtypes of `like`: a tree of
// abstract arrays (abstract_array) or of any others. Pass several arguments as one tuple.
//
// An eager call runs f at once. In a traced function, f runs on a runtime thread whenever the
// program reaches the call. It gets arrays on no mesh, and may compute with them. f must be pure:
// the program may leave calls out or repeat them.
//
// Arguments are passed whole: sharded ones are gathered, and the report shows this as implied. Each
// result is replicated, or sharded as the type of its `like` is. Inside of shard_map each device
// calls f with its own arrays. There is no derivative: give one with custom_jvp or custom_vjp
// around a function that calls pure_callback.
//
// Throws ShardingError for unreduced arguments, and RuntimeError if the results have other types
// than `like` or if f throws; the exception of f is nested in it.
template <class F, Tree R, Tree T>
R pure_callback(F f, R like, T arguments, PureCallbackOptions options = {},
                Loc loc = Loc::Current()) {
  auto tuple = detail::ArgumentsOf(std::move(arguments));
  using Arguments = decltype(tuple);
  if constexpr (detail::HostFunctionOf<R, Arguments>::template Check<F>()) {
    std::vector<Array> given = detail::LeavesOf(tuple);
    detail::Replace(tuple, std::vector<Array>(given.size()));  // keeps f alive, but no array
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
