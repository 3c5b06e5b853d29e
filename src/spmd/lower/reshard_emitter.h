// Reshards as instructions of a device program.
#pragma once
#include <absl/container/node_hash_map.h>

#include <utility>
#include <vector>

#include "sharding/reshard.h"
#include "spmd/lower/draft.h"

namespace tessera::spmd {

// Whether the user asked for a move.
enum class MoveCause : uint8_t { kAsked, kImplied };

class ReshardEmitter {
 public:
  explicit ReshardEmitter(Draft& draft) : draft_(draft) {}

  // Returns v laid out as `to`, by the collectives of sharding::PlanReshard.
  ir::ValueId Emit(ir::ValueId v, const ir::Type* to, MoveCause cause, Loc loc);
  // Emits one move.
  ir::ValueId EmitStep(const ir::OpDef& op, ir::ValueId v, const ir::Type* to, const ir::Cost& cost,
                       Loc loc);
  // Whether the reshard consists of slices, because every device already has its part of `to`.
  bool OnlySlices(const ir::Type* from, const ir::Type* to);

 private:
  const std::vector<sharding::ReshardStep>& StepsBetween(const ir::Type* from, const ir::Type* to);

  Draft& draft_;
  // Plans are remembered, because layers of a model move alike.
  absl::node_hash_map<std::pair<const ir::Type*, const ir::Type*>,
                      std::vector<sharding::ReshardStep>>
      steps_;
};

}  // namespace tessera::spmd
