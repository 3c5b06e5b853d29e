// Functions of functions.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "tessera/array.h"
#include "tessera/program.h"
#include "tessera/specs.h"
#include "tessera/tree.h"

namespace tessera {

struct JitOptions {
  // How arguments and results lie. Over Explicit axes an argument that lies otherwise is refused,
  // and a result is resharded; over Auto axes they are constraints.
  Specs in_shardings = {}, out_shardings = {};
  std::vector<int> donate = {};  // arguments whose buffers the call may reuse; gone afterwards
  std::string name = "main";     // of the program
};

namespace trace {

class JitCache;
// A call's arguments: the arrays, and the text of everything else that decides the trace.
struct FlatArguments {
  std::vector<Array> leaves;
  std::string statics;
  std::vector<bool> donated;  // per leaf
};
struct FlatResult {
  std::vector<Array> leaves;
  std::shared_ptr<const void> skeleton;  // a result tree with any arrays in it
};
// A function of a call's arrays, and what its arguments are besides: for notes.
struct TraceBody {
  std::function<FlatResult(const std::vector<Array>& leaves)> call;
  std::function<tree::Outline()> outline;
};

std::shared_ptr<JitCache> NewJitCache(std::string name);
// The cache shared by all functions that this key stands for.
std::shared_ptr<JitCache> SharedJitCache(const void* key, const std::string& name);
FlatResult CallJit(JitCache& cache, FlatArguments arguments, const TraceBody& body, Loc loc);
Program TraceJit(JitCache& cache, FlatArguments arguments, const TraceBody& body, Loc loc);
Lowered LowerJit(JitCache& cache, FlatArguments arguments, const TraceBody& body, Loc loc);
int64_t Retraces(const JitCache& cache);
// Throws ShapeError if jit's .donate names what is no argument, or one twice.
void CheckDonate(const std::vector<int>& donate, size_t arguments, Loc loc);

// Transformed functions take the caller's line last: it is no argument.
template <class... A>
struct WithoutLoc {
  using Type = std::tuple<A...>;
};
template <>
struct WithoutLoc<Loc> {
  using Type = std::tuple<>;
};
template <class First, class... Rest>
requires(sizeof...(Rest) > 0) struct WithoutLoc<First, Rest...> {
  using Type = decltype(std::tuple_cat(std::declval<std::tuple<First>>(),
                                       std::declval<typename WithoutLoc<Rest...>::Type>()));
};

template <class F>
struct Signature : Signature<decltype(&F::operator())> {};
template <class R, class... A>
struct Signature<R (*)(A...)> {
  using Result = R;
  using Arguments = typename WithoutLoc<std::decay_t<A>...>::Type;
};
template <class C, class R, class... A>
struct Signature<R (C::*)(A...) const> : Signature<R (*)(A...)> {};
template <class C, class R, class... A>
struct Signature<R (C::*)(A...)> : Signature<R (*)(A...)> {};
template <class C, class R, class... A>
struct Signature<R (C::*)(A...) const noexcept> : Signature<R (*)(A...)> {};
template <class R, class... A>
struct Signature<R (*)(A...) noexcept> : Signature<R (*)(A...)> {};

// Returns f of the arguments; a transformed function gets the line as its own.
template <class F, class... A>
auto Invoke(const F& f, std::tuple<A...> arguments, Loc loc) {
  if constexpr (std::is_invocable_v<const F&, A..., Loc>)
    return std::apply(f, std::tuple_cat(std::move(arguments), std::tuple<Loc>(loc)));
  else
    return std::apply(f, std::move(arguments));
}

template <class F>
concept Known = std::is_pointer_v<F> || requires {
  &F::operator();
};

// What an argument of a generic function becomes: numbers are traced, other trees keep their type.
template <class T>
using Traced = std::conditional_t<Number<std::decay_t<T>>, Array, std::decay_t<T>>;

// Whether a generic function can be called with these arguments: those that wrap it ask for it.
template <class F, class... T>
concept Takes = std::is_invocable_v<const F&, Traced<T>...>;

template <class T>
void LayOutTree(T& t, const Specs& specs, JitSide side, Loc loc) {
  if (!specs.given()) return;
  std::vector<Array> leaves = LayOut(specs, Placed(t), side, loc);
  tree::Replace replace{leaves};
  tree::Visit(t, replace);
}

template <class F>
class JitBase {
 public:
  JitBase(F f, JitOptions options) : f_(std::move(f)), options_(std::move(options)) {
    if (options_.in_shardings.given() || options_.out_shardings.given()) {
      cache_ = NewJitCache(options_.name);
    } else if constexpr (std::is_pointer_v<F>) {
      cache_ = SharedJitCache(reinterpret_cast<const void*>(f_), options_.name);
    } else if constexpr (std::is_empty_v<F>) {
      static const char key = 0;
      cache_ = SharedJitCache(&key, options_.name);
    } else {
      cache_ = NewJitCache(options_.name);
    }
  }

  // Returns how many programs were traced after the first: calls, .trace and .lower with types,
  // static values, a mesh or dtype scopes that were not there before. Counts for all jit objects
  // that share them: copies, and those of one function without captures and shardings.
  int64_t retraces() const { return Retraces(*cache_); }

 protected:
  template <class... A>
  FlatArguments Flatten(std::tuple<A...>& arguments, Loc loc) const {
    if (!options_.donate.empty()) CheckDonate(options_.donate, sizeof...(A), loc);
    FlatArguments flat;
    tree::Collect collect{flat.leaves, &flat.statics};
    int index = 0;
    auto one = [&](auto& argument) {
      tree::Visit(argument, collect);
      bool donated = false;
      for (int d : options_.donate) donated = donated || d == index;
      flat.donated.resize(flat.leaves.size(), donated);
      ++index;
    };
    std::apply([&](auto&... argument) { (one(argument), ...); }, arguments);
    return flat;
  }
  template <class R, class... A>
  TraceBody Body(const std::tuple<A...>& arguments, Loc loc) const {
    auto call = [this, &arguments, loc](const std::vector<Array>& leaves) -> FlatResult {
      std::tuple<A...> traced = arguments;
      tree::Replace replace{leaves};
      tree::Visit(traced, replace);
      if (options_.out_shardings.given()) CheckAxes(options_.out_shardings, loc);
      LayOutTree(traced, options_.in_shardings, JitSide::kIn, loc);
      auto result = std::make_shared<R>(Invoke(f_, std::move(traced), loc));
      LayOutTree(*result, options_.out_shardings, JitSide::kOut, loc);
      FlatResult flat;
      tree::Collect collect{flat.leaves, nullptr};
      tree::Visit(*result, collect);
      flat.skeleton = std::move(result);
      return flat;
    };
    auto outline = [&arguments] {
      std::tuple<A...> copy = arguments;
      return tree::OutlineOf(copy);
    };
    return {std::move(call), outline};
  }
  template <class R, class... A>
  R Call(std::tuple<A...> arguments, Loc loc) const {
    FlatResult flat = CallJit(*cache_, Flatten(arguments, loc), Body<R>(arguments, loc), loc);
    R result = *static_cast<const R*>(flat.skeleton.get());
    tree::Replace replace{flat.leaves};
    tree::Visit(result, replace);
    return result;
  }
  template <class R, class... A>
  Program Trace(std::tuple<A...> arguments, Loc loc) const {
    return TraceJit(*cache_, Flatten(arguments, loc), Body<R>(arguments, loc), loc);
  }
  template <class R, class... A>
  Lowered Lower(std::tuple<A...> arguments, Loc loc) const {
    return LowerJit(*cache_, Flatten(arguments, loc), Body<R>(arguments, loc), loc);
  }

  F f_;
  JitOptions options_;
  std::shared_ptr<JitCache> cache_;
};

template <class F, class R, class Arguments>
class JitFunction;
// Of a function whose signature is known: arguments convert as in a plain call.
template <class F, class R, class... A>
class JitFunction<F, R, std::tuple<A...>> : public JitBase<F> {
 public:
  using JitBase<F>::JitBase;
  R operator()(A... a, Loc loc = Loc::Current()) const {
    return this->template Call<R>(std::tuple<A...>(std::move(a)...), loc);
  }
  // Returns the program that a call with such arguments runs; they may be abstract.
  Program trace(A... a, Loc loc = Loc::Current()) const {
    return this->template Trace<R>(std::tuple<A...>(std::move(a)...), loc);
  }
  Lowered lower(A... a, Loc loc = Loc::Current()) const {
    return this->template Lower<R>(std::tuple<A...>(std::move(a)...), loc);
  }
};

// Of a function with `auto` parameters: numbers become arrays.
template <class F>
class GenericJitFunction : public JitBase<F> {
 public:
  using JitBase<F>::JitBase;
  template <class... T>
  auto operator()(T&&... a) const requires Takes<F, T...> {
    return this->template Call<Result<T...>>(Arguments<T...>(std::forward<T>(a)...),
                                             Loc::Current());
  }
  template <class... T>
  Program trace(T&&... a) const requires Takes<F, T...> {
    return this->template Trace<Result<T...>>(Arguments<T...>(std::forward<T>(a)...),
                                              Loc::Current());
  }
  template <class... T>
  Lowered lower(T&&... a) const requires Takes<F, T...> {
    return this->template Lower<Result<T...>>(Arguments<T...>(std::forward<T>(a)...),
                                              Loc::Current());
  }

 private:
  template <class... T>
  using Arguments = std::tuple<Traced<T>...>;
  template <class... T>
  using Result = std::decay_t<std::invoke_result_t<const F&, Traced<T>...>>;
};

}  // namespace trace

// Returns f compiled: a call with new types, static values, mesh or dtype scopes traces f once and
// lowers the program; later calls only run it. Also `.trace(args...)` and `.lower(args...)`, which
// take abstract arrays too. Inside another trace the call is traced into it.
template <class F>
auto jit(F f, JitOptions options = {}) {
  if constexpr (trace::Known<F>) {
    using S = trace::Signature<F>;
    return trace::JitFunction<F, std::decay_t<typename S::Result>, typename S::Arguments>(
        std::move(f), std::move(options));
  } else {
    return trace::GenericJitFunction<F>(std::move(f), std::move(options));
  }
}

}  // namespace tessera
