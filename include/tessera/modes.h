// Moving between modes: functions that run with some mesh axes Auto, or Explicit.
#pragma once
#include <tuple>
#include <utility>
#include <vector>

#include "tessera/array.h"
#include "tessera/specs.h"
#include "tessera/transforms.h"
#include "tessera/tree.h"

namespace tessera {

struct AutoAxesOptions {
  AxisNames axes = {};      // default: all of the current mesh
  Specs out_sharding = {};  // of the results; needed unless the axes are Auto already
};
struct ExplicitAxesOptions {
  AxisNames axes = {};     // default: all of the current mesh
  Specs in_sharding = {};  // of the arguments; needed
};

namespace trace {

using LeafBody = std::function<PlacedLeaves(const std::vector<Array>&)>;

// Return the results' arrays of `body`, run under the mesh with the axes' new mode.
std::vector<Array> CallAutoAxes(const AutoAxesOptions& options, const PlacedLeaves& arguments,
                                const LeafBody& body, Loc loc);
std::vector<Array> CallExplicitAxes(const ExplicitAxesOptions& options,
                                    const PlacedLeaves& arguments, const LeafBody& body, Loc loc);
inline std::vector<Array> CallInMode(const AutoAxesOptions& o, const PlacedLeaves& arguments,
                                     const LeafBody& body, Loc loc) {
  return CallAutoAxes(o, arguments, body, loc);
}
inline std::vector<Array> CallInMode(const ExplicitAxesOptions& o, const PlacedLeaves& arguments,
                                     const LeafBody& body, Loc loc) {
  return CallExplicitAxes(o, arguments, body, loc);
}

template <class F, class Options>
class ModeBase {
 public:
  ModeBase(F f, Options options) : f_(std::move(f)), options_(std::move(options)) {}

 protected:
  template <class R, class... A>
  R Call(std::tuple<A...> arguments, Loc loc) const {
    std::optional<R> result;
    LeafBody body = [&](const std::vector<Array>& leaves) {
      std::tuple<A...> inner = arguments;
      tree::Replace replace{leaves};
      tree::Visit(inner, replace);
      result.emplace(Invoke(f_, std::move(inner), loc));
      return Placed(*result);
    };
    std::vector<Array> leaves = CallInMode(options_, Placed(arguments), body, loc);
    tree::Replace replace{leaves};
    tree::Visit(*result, replace);
    return *std::move(result);
  }
  F f_;
  Options options_;
};

template <class F, class Options, class R, class Arguments>
class ModeFunction;
// Of a function whose signature is known: arguments convert as in a plain call.
template <class F, class Options, class R, class... A>
class ModeFunction<F, Options, R, std::tuple<A...>> : public ModeBase<F, Options> {
 public:
  using ModeBase<F, Options>::ModeBase;
  R operator()(A... a, Loc loc = Loc::Current()) const {
    return this->template Call<R>(std::tuple<A...>(std::move(a)...), loc);
  }
  Program trace(A... a, Loc loc = Loc::Current()) const { return Jitted().trace(a..., loc); }
  Lowered lower(A... a, Loc loc = Loc::Current()) const { return Jitted().lower(a..., loc); }

 private:
  auto Jitted() const {
    return jit([self = *this](A... a, Loc loc) { return self(a..., loc); });
  }
};

// Of a function with `auto` parameters: numbers become arrays.
template <class F, class Options>
class GenericModeFunction : public ModeBase<F, Options> {
 public:
  using ModeBase<F, Options>::ModeBase;
  template <class... T>
  auto operator()(T&&... a) const requires Takes<F, T...> {
    using R = std::decay_t<std::invoke_result_t<const F&, Traced<T>...>>;
    return this->template Call<R>(std::tuple<Traced<T>...>(std::forward<T>(a)...), Loc::Current());
  }
  template <class... T>
  Program trace(T&&... a) const requires Takes<F, T...> {
    return jit(*this).trace(std::forward<T>(a)...);
  }
  template <class... T>
  Lowered lower(T&&... a) const requires Takes<F, T...> {
    return jit(*this).lower(std::forward<T>(a)...);
  }
};

template <class F, class Options>
auto InMode(F f, Options options) {
  if constexpr (Known<F>) {
    using S = Signature<F>;
    return ModeFunction<F, Options, std::decay_t<typename S::Result>, typename S::Arguments>(
        std::move(f), std::move(options));
  } else {
    return GenericModeFunction<F, Options>(std::move(f), std::move(options));
  }
}

}  // namespace trace

// Returns f run with `axes` Auto: its arguments' types lose those axes, with_sharding_constraint
// and propagation decide, and the results are laid out as `out_sharding` says, on the axes that are
// Explicit outside. Where the axes are Auto already, or without a mesh, f itself. At top level each
// op runs at once; under jit the whole program is propagated. Throws ShardingError for unknown
// axes and a missing out_sharding.
template <class F>
auto auto_axes(F f, AutoAxesOptions options) {
  return trace::InMode(std::move(f), std::move(options));
}

// Returns f run with `axes` Explicit: its arguments are laid out as `in_sharding` says, types show
// and check those axes; the results' types lose those that are not Explicit outside, and stay where
// they are. Throws ShardingError without a mesh, for unknown axes and a missing in_sharding.
template <class F>
auto explicit_axes(F f, ExplicitAxesOptions options) {
  return trace::InMode(std::move(f), std::move(options));
}

}  // namespace tessera
