// auto_axes and explicit_axes.
#include "tessera/modes.h"

#include "api/core/call_modes.h"

namespace tessera::detail {

FunctionResult AutoAxes::Call(const FunctionCall& function) const {
  return api::CallAutoAxes(function, options);
}

FunctionResult ExplicitAxes::Call(const FunctionCall& function) const {
  return api::CallExplicitAxes(function, options);
}

}  // namespace tessera::detail
