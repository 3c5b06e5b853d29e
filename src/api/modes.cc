// auto_axes and explicit_axes.
#include "tessera/modes.h"

#include "frontend/modes.h"

namespace tessera::detail {

FunctionResult AutoAxes::Call(const FunctionCall& function) const {
  return frontend::CallAutoAxes(function, options);
}

FunctionResult ExplicitAxes::Call(const FunctionCall& function) const {
  return frontend::CallExplicitAxes(function, options);
}

}  // namespace tessera::detail
