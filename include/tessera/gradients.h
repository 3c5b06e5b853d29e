// Derivatives of functions.
//
//   auto [value, g] = value_and_grad(loss)(params, x, y);   // g is a tree like params
//
// Functions take and return trees (tree.h). Leaves that are not floating have no derivative: a tree
// of gradients has zeros in their place. A gradient has its value's sharding with unreduced and
// reduced axes swapped.
//
// Outside of a trace, derivatives are compiled, as by jit. Unlike jit, they trace the function at
// each call, because its captures and the globals that it reads may have changed. The compiled
// program is reused as long as the traced program is the same.
#pragma once
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include "tessera/transforms.h"

namespace TESSERA_PUBLIC tessera {

struct DerivativeOptions {
  // The function is complex differentiable, from complex arguments to complex results.
  bool holomorphic = false;
};

namespace detail {

// A linear map of arrays: its program and its residuals.
struct LinearMap;
using LinearMapRef = std::shared_ptr<const LinearMap>;
// Returns the map's results, which are the arrays of the result tree.
std::vector<Array> Applied(const LinearMap& map, TreeRef argument, Loc loc);

struct GradOptions {
  std::vector<int> arguments;  // arguments to differentiate, by number
  bool value = false;          // also return the value
  bool holomorphic = false;
};
FunctionResult CallGrad(const FunctionCall& call, const GradOptions& options, const Jit& kept);

template <class T>
struct IsPair : std::false_type {};
template <class A, class B>
struct IsPair<std::pair<A, B>> : std::true_type {};
template <class A, class T>
struct IsPairOf : std::false_type {};
template <class A, class B>
struct IsPairOf<A, std::pair<A, B>> : std::true_type {};

// The transform of grad and value_and_grad.
template <bool with_value, int... n>
class Grad {
 public:
  template <class F>
  Grad(const F& f, const DerivativeOptions& options)
      : jit_("grad", SharedAs<Grad>(options.holomorphic ? "holomorphic" : "", f)),
        holomorphic_(options.holomorphic) {}
  const void* shared() const { return jit_.shared(); }

  template <class R, class Arguments>
  static auto Like(const R& result, const Arguments& arguments) {
    constexpr bool kIsValue = std::is_same_v<R, Array> || IsPairOf<Array, R>::value;
    constexpr bool kHas = ((static_cast<size_t>(n) < std::tuple_size_v<Arguments>)&&...);
    static_assert(kIsValue,
                  "grad takes a function that returns a scalar Array, or a pair of one and "
                  "another tree");
    static_assert(kHas, "grad<n>(f) names an argument that f does not have: the first is 0");
    if constexpr (!kIsValue || !kHas)
      return result;
    else if constexpr (with_value)
      return std::pair(result, Of(arguments));
    else if constexpr (IsPair<R>::value)
      return std::pair(Of(arguments), result.second);
    else
      return Of(arguments);
  }
  FunctionResult Call(const FunctionCall& call) const {
    return CallGrad(call, {.arguments = {n...}, .value = with_value, .holomorphic = holomorphic_},
                    jit_);
  }

 private:
  template <class Arguments>
  static auto Of(const Arguments& arguments) {
    if constexpr (sizeof...(n) == 1)
      return std::get<n...>(arguments);
    else
      return std::tuple(std::get<n>(arguments)...);
  }
  Jit jit_;
  bool holomorphic_;
};

// Arguments that were passed separately although they must form one tuple.
template <class... A>
concept Several = sizeof...(A) > 1 && (kTree<A> && ...);
template <class... A>
constexpr bool OneTuple() {
  static_assert(sizeof...(A) == 0,
                "pass several arguments as one tuple, as in vjp(f, std::tuple(x, y)), and so their "
                "tangents");
  return false;
}

// Returns the results, then their tangents. The arguments of the call are those of f, then
// their tangents.
FunctionResult CallJvp(const FunctionCall& call, const Jit& kept);
struct Linearization {
  FunctionResult result;
  LinearMapRef map;
};
// `argument` has the structure of the map's argument.
Linearization Linearize(const FunctionCall& call, TreeRef argument, const Jit& kept);
Linearization Vjp(const FunctionCall& call, const Jit& kept);
// The caches of jvp, linearize and vjp.
struct OfJvp : Jit {
  template <class F>
  explicit OfJvp(const F& f) : Jit("jvp", SharedAs<OfJvp>("", f)) {}
};
struct OfLinearize : Jit {
  template <class F>
  explicit OfLinearize(const F& f) : Jit("linearize", SharedAs<OfLinearize>("", f)) {}
};
struct OfVjp : Jit {
  template <class F>
  explicit OfVjp(const F& f) : Jit("vjp", SharedAs<OfVjp>("", f)) {}
};
LinearMapRef LinearTranspose(const FunctionCall& call);

}  // namespace detail

// Returns a function that computes the gradient of f in argument `n` (default: the first): a tree
// like that argument. f must return a scalar. grad<0, 2>(f) returns a tuple of gradients. If f
// returns a pair, the first part is differentiated and the second is returned unchanged: (gradient,
// second). Throws ShapeError and DTypeError if the value is not a floating scalar or an argument
// has no floating-point array, and TraceError for an op without a derivative.
//
// As in JAX, the gradient in a complex argument x + iy is df/dx - i df/dy: its conjugate points
// uphill. With .holomorphic arguments and value must be complex, and it is the complex derivative.
template <int... n, class F>
auto grad(F f, DerivativeOptions options, Loc loc = Loc::Current()) {
  using Transform =
      std::conditional_t<sizeof...(n) == 0, detail::Grad<false, 0>, detail::Grad<false, n...>>;
  Transform transform(f, options);
  return detail::Wrap(std::move(f), std::move(transform), loc);
}
template <int... n, class F>
auto grad(F f, Loc loc = Loc::Current()) {
  return grad<n...>(std::move(f), DerivativeOptions{}, loc);
}
// Same, but a call returns the pair (result of f, gradient).
template <int... n, class F>
auto value_and_grad(F f, DerivativeOptions options, Loc loc = Loc::Current()) {
  using Transform =
      std::conditional_t<sizeof...(n) == 0, detail::Grad<true, 0>, detail::Grad<true, n...>>;
  Transform transform(f, options);
  return detail::Wrap(std::move(f), std::move(transform), loc);
}
template <int... n, class F>
auto value_and_grad(F f, Loc loc = Loc::Current()) {
  return value_and_grad<n...>(std::move(f), DerivativeOptions{}, loc);
}

// Returns the pair of f(args) and its derivative in the direction of the tangents. args is one
// argument or a tuple of them; `tangents` is a tree like args whose leaves have the same types.
template <class F, class Args>
auto jvp(F f, Args args, Args tangents, Loc loc = Loc::Current()) {
  auto arguments = detail::AsArguments(std::move(args));
  auto directions = detail::AsArguments(std::move(tangents));
  using Of = detail::Of<F, decltype(arguments)>;
  if constexpr (Of::Check()) {
    using R = typename Of::template Return<>;
    std::pair both(arguments, directions);
    const detail::FunctionResult result =
        detail::CallJvp({both, detail::BodyOf<R>(f, arguments, loc), loc}, detail::OfJvp(f));
    const R& like = result.tree.As<R>();
    return detail::Rebuilt(std::pair(like, like), result.arrays);
  }
}

// A linear map between trees, returned by linearize, vjp and linear_transpose.
template <class In, class Out>
class LinearFunction {
 public:
  LinearFunction(detail::LinearMapRef map, Out like)
      : map_(std::move(map)), like_(std::move(like)) {}
  Out operator()(In argument, Loc loc = Loc::Current()) const {
    return detail::Rebuilt(like_, detail::Applied(*map_, argument, loc));
  }

 private:
  detail::LinearMapRef map_;
  Out like_;
};

namespace detail {
template <class Args, class Arguments>
Args Unpacked(const Arguments& arguments) {
  if constexpr (IsArguments<Args>::value)
    return Args(arguments);
  else
    return Args(std::get<0>(arguments));
}
}  // namespace detail

// Returns f(args), and the linear function from tangents of args to tangents of f(args). f
// runs once.
template <class F, class Args>
auto linearize(F f, Args args, Loc loc = Loc::Current()) {
  using In = detail::Traced<Args>;
  auto arguments = detail::AsArguments(std::move(args));
  using Of = detail::Of<F, decltype(arguments)>;
  if constexpr (Of::Check()) {
    using R = typename Of::template Return<>;
    In in = detail::Unpacked<In>(arguments);
    detail::Linearization l = detail::Linearize(
        {arguments, detail::BodyOf<R>(f, arguments, loc), loc}, in, detail::OfLinearize(f));
    R out = l.result.As<R>();
    LinearFunction<In, R> tangent(std::move(l.map), out);
    return std::pair(std::move(out), std::move(tangent));
  }
}

// Returns f(args), and the linear function from cotangents of f(args) to cotangents of args. If
// f(args) is a scalar, the cotangent 1 gives the gradient. f runs once.
template <class F, class Args>
auto vjp(F f, Args args, Loc loc = Loc::Current()) {
  using In = detail::Traced<Args>;
  auto arguments = detail::AsArguments(std::move(args));
  using Of = detail::Of<F, decltype(arguments)>;
  if constexpr (Of::Check()) {
    using R = typename Of::template Return<>;
    detail::Linearization l =
        detail::Vjp({arguments, detail::BodyOf<R>(f, arguments, loc), loc}, detail::OfVjp(f));
    R out = l.result.As<R>();
    LinearFunction<R, In> pullback(std::move(l.map), detail::Unpacked<In>(arguments));
    return std::pair(std::move(out), std::move(pullback));
  }
}

// Returns the transpose of f, which must be linear in the floating leaves of args: the function
// from cotangents of f(args) to cotangents of args. It reads only the types of args, and the values
// of leaves that are not floating. Throws TraceError if the derivative of f depends on args.
template <class F, class Args>
auto linear_transpose(F f, Args args, Loc loc = Loc::Current()) {
  using In = detail::Traced<Args>;
  auto arguments = detail::AsArguments(std::move(args));
  using Of = detail::Of<F, decltype(arguments)>;
  if constexpr (Of::Check()) {
    using R = typename Of::template Return<>;
    return LinearFunction<R, In>(
        detail::LinearTranspose({arguments, detail::BodyOf<R>(f, arguments, loc), loc}),
        detail::Unpacked<In>(arguments));
  }
}

// Overloads that give a readable compile error for arguments that are not in a tuple.
template <class F, class... A>
requires detail::Several<A...>
auto vjp(const F&, const A&...) { return std::bool_constant<detail::OneTuple<A...>()>(); }
template <class F, class... A>
requires detail::Several<A...>
auto linearize(const F&, const A&...) { return std::bool_constant<detail::OneTuple<A...>()>(); }
template <class F, class... A>
requires detail::Several<A...>
auto linear_transpose(const F&, const A&...) {
  return std::bool_constant<detail::OneTuple<A...>()>();
}
template <class F, class... A>
requires(detail::Several<A...> && sizeof...(A) > 2) auto jvp(const F&, const A&...) {
  return std::bool_constant<detail::OneTuple<A...>()>();
}

}  // namespace tessera
