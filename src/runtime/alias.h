// Exchanges that only rename buffers.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "plan/plan.h"

namespace tessera::runtime {

// How to provide the result of an exchange without moving a byte: each instance is a range of the
// operand's storage or all zeros, and no two ranges overlap.
struct Alias {
  // instances are whole instances of the operand: works for any slots of the operand
  bool permutes = false;
  bool zeros = false;  // some instances are kZeroSlot: only if `permutes`
  int64_t stride = 0;  // otherwise: stride of the result if the operand is one dense block
  // slot of each instance; null: slot i for instance i
  std::shared_ptr<const std::vector<int32_t>> slots;
};

// Returns how `exchange` aliases its operand, if it does; `in` and `out` are its values.
std::optional<Alias> FindAlias(const plan::Exchange& exchange, const plan::PlanValue& in,
                               int32_t in_instances, const plan::PlanValue& out);

}  // namespace tessera::runtime
