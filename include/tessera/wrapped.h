// The objects that jit(f), vmap(f), grad(f) and other transforms return. Users call nothing in this
// file by name.
//
// A *transform* is a class that carries out a call of f. It gets the arrays of the arguments, and f
// as a function of arrays, which it may run or trace any number of times.
//
//   struct Transform : detail::SameTree {
//     detail::FunctionResult Call(const detail::FunctionCall& call) const;
//     const void* shared() const;  // only if the result has a SharedKey where f has one
//   };
//   template <class F>
//   auto transformed(F f, Loc loc = Loc::Current()) {
//     return detail::Wrap(std::move(f), Transform{}, loc);
//   }
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "tessera/array.h"
#include "tessera/program.h"
#include "tessera/tree.h"

namespace TESSERA_PUBLIC tessera {

struct JitOptions;

namespace trace {
class JitCache;
}

namespace detail {

// ---- calls without types ------------------------------------------------------------------------

// A tree of any type, owned.
class AnyTree {
 public:
  AnyTree() = default;
  template <class T>
  static AnyTree Of(T tree) {
    return AnyTree(&kTreeType<T>, new T(std::move(tree)));
  }
  template <class T>
  const T& As() const {
    return *static_cast<const T*>(tree_.get());
  }
  bool given() const { return type_ != nullptr; }
  TreeRef ref() const { return {type_, tree_.get()}; }

 private:
  AnyTree(const TreeType* type, void* owned);
  const TreeType* type_ = nullptr;
  std::shared_ptr<void> tree_;
};

// The result of a function: its arrays, and the tree they belong to. The arrays in the tree itself
// are not used.
struct FunctionResult {
  std::vector<Array> arrays;
  AnyTree tree;
  // Other data that a transform computed from the function; it is kept with the program.
  std::shared_ptr<const void> made = {};
  template <class R>
  R As() const {
    return Rebuilt(tree.As<R>(), arrays);
  }
  // Returns the result that is all of the tree.
  static FunctionResult Of(AnyTree tree);
};
// A function of the arrays of its arguments.
using Body = std::function<FunctionResult(const std::vector<Array>&)>;

// A user's function bound to its arguments, without their types. All functions share this one type,
// so that programs with many of them compile quickly.
struct BoundFunction {
  const void* f;
  const void* arguments;  // a tuple
  Loc loc;
  AnyTree (*call)(const BoundFunction&, const std::vector<Array>& arrays);
};
// Returns the user's function as a function of arrays. The user's function and the arguments must
// outlive it.
Body MakeBody(const BoundFunction& bound);

// The bytes of a function object. They hold pointers to the variables it captures by reference.
struct FunctionBytes {
  const void* begin = nullptr;
  size_t size = 0;
};

// A call of a user's function, for a transform to carry out.
struct FunctionCall {
  TreeRef arguments;  // a tuple
  Body body;
  Loc loc;
  FunctionBytes function = {};
};

// ---- signatures ---------------------------------------------------------------------------------

// Transformed functions take the caller's line as their last parameter. It is not an argument.
template <class... A>
struct WithoutLoc {
  using Type = std::tuple<A...>;
  static constexpr bool kLoc = false;
};
template <>
struct WithoutLoc<Loc> {
  using Type = std::tuple<>;
  static constexpr bool kLoc = true;
};
template <class First, class... Rest>
requires(sizeof...(Rest) > 0) struct WithoutLoc<First, Rest...> {
  using Type = decltype(std::tuple_cat(std::declval<std::tuple<First>>(),
                                       std::declval<typename WithoutLoc<Rest...>::Type>()));
  static constexpr bool kLoc = WithoutLoc<Rest...>::kLoc;
};

template <class F>
struct Signature : Signature<decltype(&F::operator())> {};
template <class R, class... A>
struct Signature<R (*)(A...)> {
  using Result = std::decay_t<R>;
  using Arguments = typename WithoutLoc<std::decay_t<A>...>::Type;
  static constexpr bool kTakesLoc = WithoutLoc<std::decay_t<A>...>::kLoc;
};
template <class C, class R, class... A>
struct Signature<R (C::*)(A...) const> : Signature<R (*)(A...)> {};
template <class C, class R, class... A>
struct Signature<R (C::*)(A...)> : Signature<R (*)(A...)> {};
template <class C, class R, class... A>
struct Signature<R (C::*)(A...) const noexcept> : Signature<R (*)(A...)> {};
template <class C, class R, class... A>
struct Signature<R (C::*)(A...) noexcept> : Signature<R (*)(A...)> {};
template <class R, class... A>
struct Signature<R (*)(A...) noexcept> : Signature<R (*)(A...)> {};

// A function whose parameter types are known, unlike a generic function's.
template <class F>
concept Known = std::is_function_v<std::remove_pointer_t<F>> || requires {
  &F::operator();
};

// A user's function, for overloads that do not compile: any other overload is a better match.
struct UserFunction {
  template <class F>
  UserFunction(F&& f);
};

struct HasCall {
  void operator()();
};
template <class F>
struct CallTwice : F, HasCall {};
// Any function, generic or not. If both bases of a class have an operator(), the name is ambiguous,
// so CallTwice<F> is not Known exactly if F has an operator().
template <class F>
concept Function = Known<F> ||(std::is_class_v<F> && (std::is_final_v<F> || !Known<CallTwice<F>>));

// The type of a generic function's argument: numbers are traced as arrays, other trees keep
// their type.
template <class T>
using Traced = std::conditional_t<Number<std::decay_t<T>>, Array, std::decay_t<T>>;

// Whether a generic function can be called with these arguments. Functions that wrap it check this.
template <class F, class... T>
concept Takes = std::is_invocable_v<const F&, Traced<T>...>;

// Returns f(arguments...). A transformed function also gets the line.
template <class F, class... A>
decltype(auto) Invoke(F& f, std::tuple<A...>&& arguments, Loc loc) {
  return [&]<size_t... i>(std::index_sequence<i...>)->decltype(auto) {
    if constexpr (Known<std::remove_const_t<F>>) {
      if constexpr (Signature<std::remove_const_t<F>>::kTakesLoc)
        return f(std::get<i>(std::move(arguments))..., loc);
      else
        return f(std::get<i>(std::move(arguments))...);
    } else {
      return f(std::get<i>(std::move(arguments))...);
    }
  }
  (std::index_sequence_for<A...>());
}

template <class R, class F, class Arguments>
AnyTree CallBound(const BoundFunction& bound, const std::vector<Array>& arrays) {
  F& f = *static_cast<F*>(const_cast<void*>(bound.f));
  const auto& arguments = *static_cast<const Arguments*>(bound.arguments);
  return AnyTree::Of(R(Invoke(f, Rebuilt(arguments, arrays), bound.loc)));
}
// Returns f, whose result is an R, as a function of the arrays of `arguments`. Both must
// outlive it.
template <class R, class F, class... A>
Body BodyOf(F& f, const std::tuple<A...>& arguments, Loc loc) {
  return MakeBody({std::addressof(f), &arguments, loc, &CallBound<R, F, std::tuple<A...>>});
}

// ---- functions called with a value or a tuple ---------------------------------------------------

template <class T>
struct IsArguments : std::false_type {};
template <class... A>
struct IsArguments<std::tuple<A...>> : std::true_type {};
// Returns the arguments of f, given as one value or a tuple, as a tuple.
template <class T>
auto AsArguments(T arguments) {
  if constexpr (IsArguments<T>::value)
    return std::apply([](auto&&... a) { return std::tuple<Traced<decltype(a)>...>(a...); },
                      std::move(arguments));
  else
    return std::tuple<Traced<T>>(std::move(arguments));
}
// The result type of a function for a tuple of arguments.
template <class F, class Arguments>
struct Of;
template <class F, class... A>
struct Of<F, std::tuple<A...>> {
  static constexpr bool kTakes = std::is_invocable_v<const F&, A...>;
  static constexpr bool Check() {
    static_assert(kTakes,
                  "the function does not take these arguments: give one, or a tuple of all, as in "
                  "vjp(f, std::tuple(x, y)), and let it take values or const references");
    return kTakes;
  }
  template <class G = F>
  using Return = std::decay_t<std::invoke_result_t<const G&, A...>>;
};
// ---- functions without captures -----------------------------------------------------------------

// Returns the cache key for the combination of these parts and the text; null if a part is null.
const void* SharedKey(const std::vector<const void*>& parts, const std::string& text = {});

// A function that the library made from a user's function.
struct SharedFunction {
  const void* shared;  // cache key if it captures nothing, else null
};

// Returns the cache key of f if it captures nothing, else null.
template <class F>
const void* SharedBy(const F& f) {
  if constexpr (std::is_base_of_v<SharedFunction, F>) {
    return f.shared;
  } else if constexpr (std::is_pointer_v<F>) {
    return reinterpret_cast<const void*>(f);
  } else if constexpr (std::is_empty_v<F>) {
    static const char key = 0;
    return &key;
  } else {
    return nullptr;
  }
}

// Same, for the result of a transform with these options of the functions.
template <class Transform, class... F>
const void* SharedAs(const std::string& options, const F&... f) {
  static const char key = 0;
  return SharedKey({&key, SharedBy(f)...}, options);
}

// ---- transforms ---------------------------------------------------------------------------------

// Base of transforms whose functions return a tree like f's. Other transforms define a `Like` of
// f's result and the arguments: the tree for the arrays of their result.
struct SameTree {
  template <class R, class Arguments>
  static const R& Like(const R& result, const Arguments&) {
    return result;
  }
};

class Jit : public SameTree {
 public:
  Jit();
  // `shared` is the cache key of the function: all jits with the same key share programs. It is
  // null for a function with captures.
  Jit(JitOptions options, const void* shared);
  // For a transform that is called outside of a trace. The function is traced at every call,
  // because its captures and the globals that it reads may have changed; the compiled program is
  // reused as long as the traced program is the same.
  Jit(const char* name, const void* shared);

  FunctionResult Call(const FunctionCall& call) const;
  Program Trace(const FunctionCall& call) const;
  Lowered Lower(const FunctionCall& call) const;
  int64_t retraces() const;
  // Returns the cache key of the jitted function; null if it has captures.
  const void* shared() const { return shared_; }

 private:
  std::shared_ptr<const JitOptions> options_;
  const void* shared_;
  std::shared_ptr<trace::JitCache> cache_;
};

template <class R, class... A>
constexpr bool CheckTrees() {
  static_assert(!std::is_void_v<R>,
                "the function returns nothing: let it return an Array or another tree (tree.h)");
  static_assert(std::is_void_v<R> || kTree<R>,
                "the result of the function is not a tree: let it return an Array, a number, a "
                "tuple, a vector, or a struct with TESSERA_FIELDS (tree.h)");
  static_assert(
      (kTree<A> && ...),
      "an argument is not a tree: pass an Array, a number, a tuple, a vector, or a struct "
      "with TESSERA_FIELDS (tree.h)");
  return kTree<R> && (kTree<A> && ...);
}

// The function that a transform returns for f.
template <class F, class Transform>
class Wrapped : public SharedFunction {
 public:
  Wrapped(F f, Transform transform, Loc loc)
      : SharedFunction{SharedOf(transform)},
        f_(std::move(f)),
        transform_(std::move(transform)),
        loc_(loc) {}

  // Returns the number of programs traced after the first: by calls, .trace and .lower with new
  // types, static values, mesh or dtype scopes. All jit objects that share programs count together:
  // copies, and jits of one function without captures and without shardings.
  int64_t retraces() const requires std::is_same_v<Transform, Jit> { return transform_.retraces(); }

 protected:
  template <class R, class... A>
  using Out = std::decay_t<decltype(Transform::Like(std::declval<const R&>(),
                                                    std::declval<const std::tuple<A...>&>()))>;

  template <class R, class... A>
  Out<R, A...> Call(std::tuple<A...> arguments, Loc loc) const {
    const FunctionCall call{arguments, BodyOf<R>(f_, arguments, loc), loc, {&f_, sizeof(F)}};
    const FunctionResult result = [&] {
      // A transform with functions of its own needs the types of the arguments.
      if constexpr (requires { transform_.template CallAs<R>(call, arguments); })
        return transform_.template CallAs<R>(call, arguments);
      else
        return transform_.Call(call);
    }();
    return Rebuilt<Out<R, A...>>(Transform::Like(result.tree.As<R>(), arguments), result.arrays);
  }

  // Returns `get` of the program of a call: the program of jit itself, or of this function jitted.
  template <class R, class Of, class... A>
  Of ProgramOf(Of (Jit::*get)(const FunctionCall&) const, std::tuple<A...> arguments,
               Loc loc) const {
    if constexpr (std::is_same_v<Transform, Jit>) {
      return (transform_.*get)({arguments, BodyOf<R>(f_, arguments, loc), loc});
    } else {
      auto call = [&](A... a) { return Call<R>(std::tuple<A...>(std::move(a)...), loc); };
      return (Jit().*get)({arguments, BodyOf<Out<R, A...>>(call, arguments, loc), loc});
    }
  }

  static const void* SharedOf(const Transform& transform) {
    if constexpr (requires { transform.shared(); })
      return transform.shared();
    else
      return nullptr;
  }

  F f_;
  Transform transform_;
  Loc loc_;  // line of the transform
};

template <class F, class Transform, class R, class Arguments>
class KnownFunction;
// The result for a function with a known signature: arguments convert as in a plain call.
template <class F, class Transform, class R, class... A>
class KnownFunction<F, Transform, R, std::tuple<A...>> : public Wrapped<F, Transform> {
  using Base = Wrapped<F, Transform>;

 public:
  using Base::Base;
  typename Base::template Out<R, A...> operator()(A... a, Loc loc = Loc::Current()) const {
    return this->template Call<R>(std::tuple<A...>(std::move(a)...), loc);
  }
  // Return the program of a call with such arguments, which may be abstract, and its lowered form.
  Program trace(A... a, Loc loc = Loc::Current()) const {
    return this->template ProgramOf<R>(&Jit::Trace, std::tuple<A...>(std::move(a)...), loc);
  }
  Lowered lower(A... a, Loc loc = Loc::Current()) const {
    return this->template ProgramOf<R>(&Jit::Lower, std::tuple<A...>(std::move(a)...), loc);
  }
};

// The result for a function with `auto` parameters: numbers become arrays. Errors give the line of
// the transform, as no Loc parameter can follow a pack.
template <class F, class Transform>
class GenericFunction : public Wrapped<F, Transform> {
 public:
  using Wrapped<F, Transform>::Wrapped;
  template <class... T>
  auto operator()(T&&... a) const requires Takes<F, T...> {
    if constexpr (CheckTrees<Returned<T...>, Traced<T>...>())
      return this->template Call<Returned<T...>>(std::tuple<Traced<T>...>(std::forward<T>(a)...),
                                                 this->loc_);
  }
  template <class... T>
  Program trace(T&&... a) const requires Takes<F, T...> {
    return Of(&Jit::Trace, std::tuple<Traced<T>...>(std::forward<T>(a)...));
  }
  template <class... T>
  Lowered lower(T&&... a) const requires Takes<F, T...> {
    return Of(&Jit::Lower, std::tuple<Traced<T>...>(std::forward<T>(a)...));
  }

 private:
  template <class... T>
  using Returned = std::decay_t<std::invoke_result_t<const F&, Traced<T>...>>;
  template <class Program, class... A>
  Program Of(Program (Jit::*get)(const FunctionCall&) const, std::tuple<A...> arguments) const {
    if constexpr (CheckTrees<Returned<A...>, A...>())
      return this->template ProgramOf<Returned<A...>>(get, std::move(arguments), this->loc_);
  }
};

template <class F, class R, class... A>
constexpr bool CheckFunction(const std::tuple<A...>*) {
  static_assert(std::is_invocable_v<const F&, A...> || std::is_invocable_v<const F&, A..., Loc>,
                "the function is called with values, and as const: let it take its arguments by "
                "value or const reference, and leave out `mutable`");
  return CheckTrees<R, A...>();
}

// Returns the function that the transform makes from f.
template <class F, class Transform>
auto Wrap(F f, Transform transform, Loc loc) {
  static_assert(Function<F>,
                "expected a function: a lambda, a function pointer, or an object with operator()");
  if constexpr (Known<F>) {
    using S = Signature<F>;
    using Arguments = typename S::Arguments;
    if constexpr (CheckFunction<F, typename S::Result>(static_cast<Arguments*>(nullptr)))
      return KnownFunction<F, Transform, typename S::Result, Arguments>(std::move(f),
                                                                        std::move(transform), loc);
  } else if constexpr (Function<F>) {
    return GenericFunction<F, Transform>(std::move(f), std::move(transform), loc);
  }
}

}  // namespace detail
}  // namespace tessera
