// All derivatives of all results at once.
#pragma once
#include <array>
#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "tessera/gradients.h"

namespace TESSERA_PUBLIC tessera {

namespace detail {

struct JacobianOptions {
  int argument = 0;      // with respect to which to differentiate
  bool reverse = false;  // by rows, of cotangents; else by columns, of tangents
};
FunctionResult CallJacobian(const FunctionCall& call, const JacobianOptions& options,
                            const Jit& kept);

// A tree like `results` with a tree like `argument` in the place of each array. It walks types by
// itself: where a leaf becomes a tree the type of all around it changes, and a Visitor keeps types.
template <class A>
A PerArrayOf(const Array&, const A& argument) {
  return argument;
}
template <class R>
requires(!std::is_same_v<R, Array>) R PerArrayOf(const R& results, const Array&) { return results; }
template <class R, class A>
auto PerArrayOf(const std::vector<R>& results,
                const A& argument) requires(!std::is_same_v<A, Array>);
template <class R, size_t n, class A>
auto PerArrayOf(const std::array<R, n>& results,
                const A& argument) requires(!std::is_same_v<A, Array>);
template <class... R, class A>
auto PerArrayOf(const std::tuple<R...>& results,
                const A& argument) requires(!std::is_same_v<A, Array>) {
  return std::apply([&](const auto&... r) { return std::tuple(PerArrayOf(r, argument)...); },
                    results);
}
template <class R, class S, class A>
auto PerArrayOf(const std::pair<R, S>& results,
                const A& argument) requires(!std::is_same_v<A, Array>) {
  return std::pair(PerArrayOf(results.first, argument), PerArrayOf(results.second, argument));
}
template <class R, class A>
auto PerArrayOf(const std::vector<R>& results,
                const A& argument) requires(!std::is_same_v<A, Array>) {
  std::vector<decltype(PerArrayOf(std::declval<const R&>(), argument))> out;
  for (const R& r : results) out.push_back(PerArrayOf(r, argument));
  return out;
}
template <class R, size_t n, class A>
auto PerArrayOf(const std::array<R, n>& results,
                const A& argument) requires(!std::is_same_v<A, Array>) {
  return std::apply([&](const auto&... r) { return std::array{PerArrayOf(r, argument)...}; },
                    results);
}

template <class R, class A>
concept HasJacobian = requires(const R& results, const A& argument) {
  PerArrayOf(results, argument);
};

template <bool reverse, size_t n>
class Jacobian {
 public:
  explicit Jacobian(const void* shared) : jit_(reverse ? "jacrev" : "jacfwd", shared) {}
  const void* shared() const { return jit_.shared(); }

  template <class R, class Arguments>
  static auto Like(const R& result, const Arguments& arguments) {
    static_assert(n < std::tuple_size_v<Arguments>,
                  "jacfwd<n>(f) and jacrev<n>(f) name an argument that f does not have: the first "
                  "is 0");
    if constexpr (n < std::tuple_size_v<Arguments>) {
      using A = std::tuple_element_t<n, Arguments>;
      static_assert(HasJacobian<R, A>,
                    "the function must return an Array or a tuple, pair, vector or array of them, "
                    "unless the argument is a single Array");
      if constexpr (HasJacobian<R, A>) return PerArrayOf(result, std::get<n>(arguments));
    }
  }
  FunctionResult Call(const FunctionCall& call) const {
    return CallJacobian(call, {.argument = static_cast<int>(n), .reverse = reverse}, jit_);
  }

 private:
  Jit jit_;
};

}  // namespace detail

// Returns the function that computes the derivative of each element of what f returns in each
// element of argument `n`: for a result [r...] and an argument [a...] an array [r..., a...], for
// trees a tree like the result with trees like the argument in it. By tangents, one pass over f for
// all elements of an array of the argument: for many results of few arguments. The dims of the
// result keep their sharding. Throws DTypeError for what is not floating.
template <size_t n = 0, class F>
auto jacfwd(F f, Loc loc = Loc::Current()) {
  using Transform = detail::Jacobian<false, n>;
  Transform transform(detail::SharedAs<Transform>("", f));
  return detail::Wrap(std::move(f), std::move(transform), loc);
}
// The same by cotangents, one pass back for all elements of an array of the result: for few results
// of many arguments. The dims of the argument keep their sharding.
template <size_t n = 0, class F>
auto jacrev(F f, Loc loc = Loc::Current()) {
  using Transform = detail::Jacobian<true, n>;
  Transform transform(detail::SharedAs<Transform>("", f));
  return detail::Wrap(std::move(f), std::move(transform), loc);
}
// Returns the function that computes the second derivatives of f: jacfwd of jacrev.
template <size_t n = 0, class F>
auto hessian(F f, Loc loc = Loc::Current()) {
  return jacfwd<n>(jacrev<n>(std::move(f), loc), loc);
}

}  // namespace tessera
