// Moving between modes: functions that run with some mesh axes Auto, or Explicit.
#pragma once
#include <utility>

#include "tessera/specs.h"
#include "tessera/wrapped.h"

namespace TESSERA_PUBLIC tessera {

struct AutoAxesOptions {
  AxisNames axes = {};      // default: all of the current mesh
  Specs out_sharding = {};  // of the results; needed unless the axes are Auto already
};
struct ExplicitAxesOptions {
  AxisNames axes = {};     // default: all of the current mesh
  Specs in_sharding = {};  // of the arguments; needed
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

// Returns f run with `axes` Auto: its arguments' types lose those axes, with_sharding_constraint
// and propagation decide, and the results are laid out as `out_sharding` says, on the axes that are
// Explicit outside. Where the axes are Auto already, or without a mesh, f itself. At top level each
// op runs at once; under jit the whole program is propagated. Throws ShardingError for unknown
// axes and a missing out_sharding.
template <class F>
auto auto_axes(F f, AutoAxesOptions options, Loc loc = Loc::Current()) {
  return detail::Wrap(std::move(f), detail::AutoAxes(std::move(options)), loc);
}

// Returns f run with `axes` Explicit: its arguments are laid out as `in_sharding` says, types show
// and check those axes; the results' types lose those that are not Explicit outside, and stay where
// they are. Throws ShardingError without a mesh, for unknown axes and a missing in_sharding.
template <class F>
auto explicit_axes(F f, ExplicitAxesOptions options, Loc loc = Loc::Current()) {
  return detail::Wrap(std::move(f), detail::ExplicitAxes(std::move(options)), loc);
}

}  // namespace tessera
