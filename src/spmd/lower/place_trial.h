// The cost of trying other places for values of a program.
#pragma once
#include <absl/container/flat_hash_map.h>
#include <absl/container/flat_hash_set.h>
#include <absl/types/span.h>

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "ir/program.h"
#include "spmd/lower/op_partition.h"

namespace tessera::spmd {

bool IsReshard(const ir::Instruction& i);
bool IsElementwise(const ir::Instruction& i);
// Whether an instruction has a Decision: the places in which the op reads its operands and leaves
// its results.
bool IsPartitioned(const ir::Instruction& i);
// Whether a place has no partial sums and no Manual axes.
bool IsPlainSharding(const sharding::TensorSharding& s);

// Which instructions define and read the values of a program.
class ValueUses {
 public:
  // `steady`: see ChoosePlaces.
  ValueUses(const ir::Program& program, size_t steady);

  // Returns kNoInstruction for inputs and captures.
  ir::InstructionId maker(ir::ValueId v) const { return maker_[v]; }
  absl::Span<const ir::InstructionId> users(ir::ValueId v) const;
  // Whether v depends on the steady inputs alone: its moves are hoisted, and cost nothing.
  bool is_steady(ir::ValueId v) const { return steady_[v]; }
  bool HasSteadyOperands(const ir::Instruction& i) const;

 private:
  base::IdVector<ir::ValueId, ir::InstructionId> maker_;
  base::IdVector<ir::ValueId, bool> steady_;
  struct UserRange {
    size_t first = 0, count = 0;
  };
  // The users of all values, value by value, and the range of each value.
  std::vector<ir::InstructionId> users_;
  base::IdVector<ir::ValueId, UserRange> ranges_;
  const bool any_steady_;
};

// The costs of some instructions for one device.
struct PlaceCost {
  int64_t bytes = 0, collectives = 0;
  double work = 0;  // FLOPs, and elements written
  bool Beats(const PlaceCost& other) const {
    if (work > other.work || bytes > other.bytes) return false;
    return bytes < other.bytes || (collectives <= other.collectives && work < other.work);
  }
};

// A move at an instruction.
struct TriedMove {
  const ir::Type *from, *to;
  bool operator==(const TriedMove&) const = default;
};

// Decisions by first result.
using OpDecisions = absl::flat_hash_map<ir::ValueId, std::shared_ptr<const Decision>>;

// A place for every value, and the cost of the instructions around some of them.
class PlaceTrial {
 public:
  PlaceTrial(const ir::Program& program, const ValueUses& uses);

  const ir::Type* place(ir::ValueId v) const { return places_[v]; }
  const sharding::TensorSharding& sharding(ir::ValueId v) const { return places_[v]->sharding(); }
  void SetPlace(ir::ValueId v, const ir::Type* place) { places_[v] = place; }
  // Returns the place before the trial. A value without a mesh is replicated on the program's mesh.
  const ir::Type* TypedPlace(ir::ValueId v) const;

  // Fixes how these ops are split, whatever place their results move to.
  void KeepSplits(OpDecisions splits) { splits_ = std::move(splits); }

  std::shared_ptr<const Decision> DecisionOf(const ir::Instruction& i);
  // Whether lowering would split the op in another way, now that its results have other places.
  bool LosesSplit(const ir::Instruction& i);
  // Returns the instructions whose moves depend on the places of the values, and those that share
  // moves with them. Only some of them if there are more than kMostInstructions.
  static constexpr size_t kMostInstructions = 1000;
  std::vector<ir::InstructionId> Around(const std::vector<ir::ValueId>& values);
  // Returns nothing if the cost of some instruction is unknown.
  std::optional<PlaceCost> CostOf(const std::vector<ir::InstructionId>& instructions);
  // Returns the move of each operand, then of each result. Empty if the moves are not known.
  std::vector<TriedMove> MovesAt(const ir::Instruction& i);
  // Returns the moves in the places before the trial.
  std::vector<TriedMove> TypedMovesAt(const ir::Instruction& i);
  // Whether a move sends anything.
  bool Sends(const TriedMove& move) { return Between(move.from, move.to).bytes > 0; }

 private:
  struct Sent {
    int64_t bytes = 0, collectives = 0;
  };
  const ir::Type* PlaceForUser(const ir::Instruction& user, ir::ValueId v) const;
  std::shared_ptr<const Decision> CheapestDecisionOn(const ir::Instruction& i);
  bool AddCostOf(const ir::Instruction& i, PlaceCost& cost);
  void AddMove(ir::ValueId v, const ir::Type* from, const ir::Type* to, PlaceCost& cost);
  void AddSteps(const ir::Type* from, const ir::Type* to, PlaceCost& cost);
  Sent Between(const ir::Type* from, const ir::Type* to);

  const ir::Program& program_;
  const ValueUses& uses_;
  const sharding::MeshDef* mesh_ = nullptr;  // the program's
  base::IdVector<ir::ValueId, const ir::Type*> places_;
  OpDecisions splits_;
  absl::InlinedVector<const ir::Type*, 4> operands_, results_;  // of the last DecisionOf
  // Moves whose cost the current call of CostOf has already added.
  absl::flat_hash_set<std::pair<ir::ValueId, const ir::Type*>> moved_;
  absl::flat_hash_map<std::pair<const ir::Type*, const ir::Type*>, Sent> steps_;
  // The number of the last call of Around that visited an instruction or value.
  base::IdVector<ir::InstructionId, int32_t> visited_;
  base::IdVector<ir::ValueId, int32_t> visited_values_;
  int32_t visit_ = 0;
};

}  // namespace tessera::spmd
