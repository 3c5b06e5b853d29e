// Jacobians and Hessians: all derivatives of all results.
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
  int argument = 0;      // argument to differentiate, by number
  bool reverse = false;  // by rows, from cotangents; else by columns, from tangents
  bool holomorphic = false;
};
FunctionResult CallJacobian(const FunctionCall& call, const JacobianOptions& options,
                            const Jit& kept);

// Returns a tree like `results` with each array replaced by a tree like `argument`. It recurses
// over types because a leaf that becomes a tree changes the type of every tree around it; a Visitor
// keeps types.
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
  template <class F>
  Jacobian(const F& f, const DerivativeOptions& options)
      : jit_(reverse ? "jacrev" : "jacfwd",
             SharedAs<Jacobian>(options.holomorphic ? "holomorphic" : "", f)),
        holomorphic_(options.holomorphic) {}
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
    return CallJacobian(
        call, {.argument = static_cast<int>(n), .reverse = reverse, .holomorphic = holomorphic_},
        jit_);
  }

 private:
  Jit jit_;
  bool holomorphic_;
};

}  // namespace detail

// Returns a function that computes the derivatives of all elements of f's result with respect to
// all elements of argument `n`: for a result [r...] and an argument [a...], an array [r..., a...].
// For trees it returns a tree like the result whose leaves are trees like the argument. jacfwd
// pushes tangents forward, one pass over f per array of the argument, and suits functions with few
// inputs and many outputs. The dims of the result keep their sharding. Throws DTypeError for arrays
// that are not floating. With .holomorphic all arrays must be complex; without it jacfwd refuses
// complex arguments, and jacrev complex results.
template <size_t n = 0, class F>
auto jacfwd(F f, DerivativeOptions options, Loc loc = Loc::Current()) {
  detail::Jacobian<false, n> transform(f, options);
  return detail::Wrap(std::move(f), std::move(transform), loc);
}
template <size_t n = 0, class F>
auto jacfwd(F f, Loc loc = Loc::Current()) {
  return jacfwd<n>(std::move(f), DerivativeOptions{}, loc);
}
// Same, by cotangents: one backward pass per array of the result, for functions with many inputs
// and few outputs. The dims of the argument keep their sharding.
template <size_t n = 0, class F>
auto jacrev(F f, DerivativeOptions options, Loc loc = Loc::Current()) {
  detail::Jacobian<true, n> transform(f, options);
  return detail::Wrap(std::move(f), std::move(transform), loc);
}
template <size_t n = 0, class F>
auto jacrev(F f, Loc loc = Loc::Current()) {
  return jacrev<n>(std::move(f), DerivativeOptions{}, loc);
}
// Returns a function that computes the second derivatives of f: jacfwd of jacrev.
template <size_t n = 0, class F>
auto hessian(F f, DerivativeOptions options, Loc loc = Loc::Current()) {
  return jacfwd<n>(jacrev<n>(std::move(f), options, loc), options, loc);
}
template <size_t n = 0, class F>
auto hessian(F f, Loc loc = Loc::Current()) {
  return hessian<n>(std::move(f), DerivativeOptions{}, loc);
}

}  // namespace tessera
