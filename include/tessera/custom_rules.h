// User-defined derivatives of functions.
//
//   auto safe_sqrt = custom_jvp([](Array x) { return sqrt(x); }, [](auto primals, auto tangents) {
//     auto [x] = primals;
//     auto [dx] = tangents;
//     Array y = sqrt(x);
//     return std::pair(y, dx / (2 * y + 1e-6f));
//   });
//
// A call in a trace traces both the function and its rule. The rule should therefore call the plain
// function, not the one that carries the rule. grad of grad differentiates the rule. Arrays that
// the function or its rule captures are constants, and a derivative with respect to them is
// refused: pass such arrays as arguments.
#pragma once
#include <tuple>
#include <type_traits>
#include <utility>

#include "tessera/gradients.h"

namespace TESSERA_PUBLIC tessera {

namespace detail {

FunctionResult CallCustomJvp(const FunctionCall& call, const Body& rule);

template <class Rule>
class CustomJvp : public SameTree {
 public:
  template <class F>
  CustomJvp(const F& f, Rule rule, Loc loc)
      : rule_(std::move(rule)), shared_(SharedAs<CustomJvp>("", f, rule_)), loc_(loc) {}
  const void* shared() const { return shared_; }

  template <class R, class... A>
  FunctionResult CallAs(const FunctionCall& call, const std::tuple<A...>& arguments) const {
    using Arguments = std::tuple<A...>;
    static_assert(std::is_invocable_v<const Rule&, Arguments, Arguments>,
                  "the rule takes two tuples of the function's arguments: values and tangents");
    if constexpr (std::is_invocable_v<const Rule&, Arguments, Arguments>) {
      using Made = std::invoke_result_t<const Rule&, Arguments, Arguments>;
      static_assert(
          std::is_constructible_v<std::pair<R, R>, Made>,
          "the rule returns a pair of the function's result and its tangent, a tree of the "
          "same type");
      const std::tuple<Arguments, Arguments> both(arguments, arguments);
      if constexpr (std::is_constructible_v<std::pair<R, R>, Made>)
        return CallCustomJvp(call, BodyOf<std::pair<R, R>>(rule_, both, loc_));
    }
  }

 private:
  Rule rule_;
  const void* shared_;
  Loc loc_;
};

// Backward function of a custom_vjp, of the residuals and the cotangents. `forward` is the tree
// that the forward function returned; it gives the structure of the residuals.
using BackwardBody =
    std::function<FunctionResult(const AnyTree& forward, const std::vector<Array>&)>;
FunctionResult CallCustomVjp(const FunctionCall& call, const Body& forward,
                             const BackwardBody& backward);

template <class T>
auto AsTuple(T tree) {
  if constexpr (IsArguments<T>::value)
    return tree;
  else
    return std::tuple<T>(std::move(tree));
}

template <class Forward, class Backward>
class CustomVjp : public SameTree {
 public:
  template <class F>
  CustomVjp(const F& f, Forward forward, Backward backward, Loc loc)
      : forward_(std::move(forward)),
        backward_(std::move(backward)),
        shared_(SharedAs<CustomVjp>("", f, forward_, backward_)),
        loc_(loc) {}
  const void* shared() const { return shared_; }

  template <class R, class... A>
  FunctionResult CallAs(const FunctionCall& call, const std::tuple<A...>& arguments) const {
    static_assert(std::is_invocable_v<const Forward&, A...>,
                  "the forward function must take the arguments of the function");
    using Made = std::decay_t<std::invoke_result_t<const Forward&, A...>>;
    static_assert(IsPair<Made>::value,
                  "the forward function returns a pair of the function's result and residuals");
    using Residuals = std::decay_t<typename Made::second_type>;
    static_assert(std::is_invocable_v<const Backward&, Residuals, R>,
                  "the backward function takes the residuals, the second part of the forward "
                  "function's pair, and a cotangent like the function's result");
    const auto backward = [this](const AnyTree& forward, const std::vector<Array>& leaves) {
      const auto& like = forward.template As<std::pair<R, Residuals>>();
      const std::tuple<Residuals, R> inputs(like.second, like.first);
      const auto as_tuple = [this](Residuals residuals, R cotangent) {
        return AsTuple(backward_(std::move(residuals), std::move(cotangent)));
      };
      using Cotangents = std::invoke_result_t<decltype(as_tuple), Residuals, R>;
      return BodyOf<Cotangents>(as_tuple, inputs, loc_)(leaves);
    };
    return CallCustomVjp(call, BodyOf<std::pair<R, Residuals>>(forward_, arguments, loc_),
                         backward);
  }

 private:
  Forward forward_;
  Backward backward_;
  const void* shared_;
  Loc loc_;
};

}  // namespace detail

// Returns f with a derivative given by a rule. jvp(primals, tangents) takes two tuples of f's
// arguments and returns the pair of f's result and its tangent. Zeros stand for tangents that
// depend on no differentiated input. The tangent of a leaf that is not floating is zero, in the
// leaf's own dtype; such leaves of the result's tangent are ignored. A call throws TraceError if
// the rule returns other types.
template <class F, class J>
auto custom_jvp(F f, J jvp, Loc loc = Loc::Current()) {
  detail::CustomJvp<J> transform(f, std::move(jvp), loc);
  return detail::Wrap(std::move(f), std::move(transform), loc);
}

// Returns f with a reverse-mode derivative given by two functions. forward(arguments...) returns
// the pair of f's result and its residuals, any tree. backward(residuals, cotangent) returns a
// tuple of cotangents, one per argument, or the cotangent of the only argument. A cotangent has the
// type of its value with unreduced and reduced axes swapped; leaves that are not floating are
// treated as in custom_jvp. A call throws TraceError if a function returns other types, or if jvp
// or linearize would need a forward-mode derivative.
template <class F, class Forward, class Backward>
auto custom_vjp(F f, Forward forward, Backward backward, Loc loc = Loc::Current()) {
  detail::CustomVjp<Forward, Backward> transform(f, std::move(forward), std::move(backward), loc);
  return detail::Wrap(std::move(f), std::move(transform), loc);
}

}  // namespace tessera
