// Derivatives of one's own.
//
//   auto safe_sqrt = custom_jvp([](Array x) { return sqrt(x); }, [](auto primals, auto tangents) {
//     auto [x] = primals;
//     auto [dx] = tangents;
//     Array y = sqrt(x);
//     return std::pair(y, dx / (2 * y + 1e-6f));
//   });
//
// A rule is traced with the function, where that is called in a trace; so it calls the function as
// it is, not the one that has the rule. grad of grad differentiates the rule. What the function and
// its rule capture counts as constant: a derivative with respect to that is refused, so make such a
// value an argument.
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

// The backward function of a custom_vjp, of the residuals and cotangents: the tree that the forward
// function returned says what the residuals are.
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
                  "the forward function takes what the function takes");
    using Made = std::decay_t<std::invoke_result_t<const Forward&, A...>>;
    static_assert(IsPair<Made>::value,
                  "the forward function returns a pair of the function's result and residuals");
    using Residuals = std::decay_t<typename Made::second_type>;
    static_assert(std::is_invocable_v<const Backward&, Residuals, R>,
                  "the backward function takes the residuals, the second part of what the forward "
                  "function returns, and a cotangent like the function's result");
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

// Returns f, whose derivatives follow from its rule: jvp(primals, tangents), of two tuples of f's
// arguments, returns the pair of f's result and its tangent. Tangents that depend on nothing come
// as zeros; those of leaves that are not floating are zeros of the leaf's own type, and such leaves
// of the result's tangent are ignored. Calls throw TraceError for a rule that returns other types.
template <class F, class J>
auto custom_jvp(F f, J jvp, Loc loc = Loc::Current()) {
  detail::CustomJvp<J> transform(f, std::move(jvp), loc);
  return detail::Wrap(std::move(f), std::move(transform), loc);
}

// Returns f, whose derivatives in reverse follow from two functions: forward(arguments...) returns
// the pair of f's result and residuals, any tree; backward(residuals, cotangent) returns a tuple of
// the arguments' cotangents, or that of the only one. A cotangent has the type of its value, but is
// unreduced over what that is reduced over; leaves that are not floating are as for custom_jvp.
// Calls throw TraceError for rules that return other types; so do jvp and linear maps that would
// have to run forward.
template <class F, class Forward, class Backward>
auto custom_vjp(F f, Forward forward, Backward backward, Loc loc = Loc::Current()) {
  detail::CustomVjp<Forward, Backward> transform(f, std::move(forward), std::move(backward), loc);
  return detail::Wrap(std::move(f), std::move(transform), loc);
}

}  // namespace tessera
