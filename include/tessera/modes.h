// auto_axes and explicit_axes: run a function with some mesh axes Auto, or Explicit.
#pragma once
#include <utility>

#include "tessera/specs.h"
#include "tessera/wrapped.h"

namespace TESSERA_PUBLIC tessera {

struct AutoAxesOptions {
  AxisNames axes = {};      // default: all of the current mesh
  Specs out_sharding = {};  // of the results; required unless the axes are Auto already
};
struct ExplicitAxesOptions {
  AxisNames axes = {};     // default: all of the current mesh
  Specs in_sharding = {};  // of the arguments; required
};

namespace detail {

struct AutoAxes : SameTree {
  AutoAxesOptions options;
  explicit AutoAxes(AutoAxesOptions o) : options(std::move(o)) {}
  FunctionResult Call(const FunctionCall& call) const;
};
struct ExplicitAxes : SameTree {
  ExplicitAxesOptions options;
  explicit ExplicitAxes(ExplicitAxesOptions o) : options(std::move(o)) {}
  FunctionResult Call(const FunctionCall& call) const;
};

}  // namespace detail

// Returns f, run with `axes` Auto: the types of its arguments lose those axes, and propagation
// chooses the shardings, starting from with_sharding_constraint. The results are laid out by
// `out_sharding`, over the axes that are Explicit outside. If the axes are Auto already, or without
// a mesh, this is f itself. At top level each op runs at once; under jit the whole program is
// propagated. f may capture arrays from outside in any sharding: they are used as arguments are.
// Throws ShardingError for unknown axes or a missing out_sharding.
template <class F>
auto auto_axes(F f, AutoAxesOptions options, Loc loc = Loc::Current()) {
  return detail::Wrap(std::move(f), detail::AutoAxes(std::move(options)), loc);
}

// Returns f, run with `axes` Explicit: its arguments are laid out by `in_sharding`, and types show
// and check those axes inside. The types of the results lose the axes that are not Explicit
// outside; their data does not move. Throws ShardingError without a mesh, for unknown axes, or for
// a missing in_sharding.
template <class F>
auto explicit_axes(F f, ExplicitAxesOptions options, Loc loc = Loc::Current()) {
  return detail::Wrap(std::move(f), detail::ExplicitAxes(std::move(options)), loc);
}

}  // namespace tessera
