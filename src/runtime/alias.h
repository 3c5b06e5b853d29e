// Exchanges that only rename buffers.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "plan/plan.h"

namespace tessera::runtime {

// How the result of an exchange can be had without moving a byte: its instances are ranges of the
// operand's storage, each byte at most once, or zero.
struct Alias {
  bool permutes = false;  // instances are handed over whole: works for any slots of the operand
  bool zeros = false;     // some are kZeroSlot: only if it permutes
  int64_t stride = 0;     // else: of the result, if the operand is one dense block
  std::shared_ptr<const std::vector<int32_t>> slots;  // null: the instance itself
};

// Returns the alias that `exchange` is, if it is one; `in` and `out` are its values.
std::optional<Alias> FindAlias(const plan::Exchange& exchange, const plan::PlanValue& in,
                               int32_t in_instances, const plan::PlanValue& out);

}  // namespace tessera::runtime
