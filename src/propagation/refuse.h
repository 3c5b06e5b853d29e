// Throws ShardingError. Every check is labelled `propagate.C3`, whichever function was called.
#pragma once
#include <string>
#include <utility>

#include "base/error.h"

namespace tessera::propagation {

[[noreturn]] inline void Refuse(std::string op, int check, std::string where, std::string reason) {
  ErrorDetail detail = base::Refusal("propagate", check, std::move(where), std::move(reason));
  detail.op = std::move(op);
  base::ThrowSharding(std::move(detail));
}

}  // namespace tessera::propagation
