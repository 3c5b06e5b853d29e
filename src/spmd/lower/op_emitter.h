// Ops as instructions of a device program: partitioned, their operands and results resharded. A
// value without data of its own is not resharded but rematerialised: its op is emitted again for
// the part that is needed.
#pragma once
#include <absl/container/flat_hash_map.h>

#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "spmd/lower/op_partition.h"
#include "spmd/lower/reshard_emitter.h"
#include "spmd/lower/value_places.h"

namespace tessera::spmd {

// How the result of a halo exchange is made.
enum class HaloForm : uint8_t {
  kWhole,   // by one exchange
  kEdges,   // edges are exchanged, and put together with the elements that the device has
  kStages,  // by one exchange per dim
};

// An op on values of the device program.
struct OpCall {
  const ir::Instruction& instruction;  // its op and params
  std::vector<ir::ValueId> operands;
  std::vector<const ir::Type*> results;  // the places in which they are wanted
  // The lines of moves that the user asked for; null: all are implied.
  const AskedMoves::mapped_type* asked = nullptr;
  HaloForm halo = HaloForm::kWhole;
};

class OpEmitter {
 public:
  // Lowers a program over values of the device program, at a line. Returns its results.
  using InnerLowering = std::function<std::vector<ir::ValueId>(
      const ir::Program& inner, const std::vector<ir::ValueId>& operands, Loc loc)>;

  // `mesh`: of the whole program, without modes.
  OpEmitter(Draft& draft, const sharding::MeshDef* mesh, InnerLowering lower_inner)
      : draft_(draft), reshards_(draft), mesh_(mesh), lower_inner_(std::move(lower_inner)) {}

  // Emits the op. Returns its results in the places that the call asks for.
  std::vector<ir::ValueId> Emit(const OpCall& call, Loc loc);
  // Emits the ops that an op expands to.
  std::vector<ir::ValueId> Expand(ir::ExpandFn expand, const ir::Params* params,
                                  const std::vector<ir::ValueId>& operands, const ir::Type* result,
                                  Loc loc);
  // Returns v laid out as `to`, rematerialised if it can be.
  ir::ValueId Reshard(ir::ValueId v, const ir::Type* to, MoveCause cause, Loc loc);

  ReshardEmitter& reshards() { return reshards_; }

 private:
  // Why an op is emitted: the program has it, or a part of its result is rematerialised.
  enum class Purpose : uint8_t { kProgram, kPart };
  std::vector<ir::ValueId> Emit(const OpCall& call, Purpose purpose, Loc loc);
  std::vector<ir::ValueId> EmitSharded(const OpCall& call, const Decision& decision, Loc loc);
  std::vector<ir::ValueId> EmitKernel(const OpCall& call, const Decision& decision, Loc loc);
  ir::ValueId EmitView(const Decision::OperandView& view, ir::ValueId v, Loc loc);
  bool EmitHalo(const OpCall& call, const Decision& decision, absl::Span<const ir::ValueId> ins,
                ir::ValueId out, Loc loc);
  bool EmitReduction(const OpCall& call, const Decision& decision,
                     absl::Span<const ir::ValueId> ins, ir::ValueId out, Loc loc);
  ir::ValueId ReshardAsAsked(ir::ValueId v, const ir::Type* to, const OpCall& call, size_t k,
                             Loc loc);
  void TakeScalars(std::vector<ir::ValueId>& operands) const;
  void EmitOp(const ir::OpDef& op, ir::ParamsPtr params, absl::Span<const ir::ValueId> ins,
              absl::Span<const ir::ValueId> outs, ir::CostPtr cost, Loc loc);

  std::optional<ir::ValueId> Rematerialised(ir::ValueId v, const ir::Type* to);
  ir::ValueId EmitPart(const ir::Instruction& maker, const ir::Type* to);

  // Parts are computed from parts. A value at a greater depth than this is resharded.
  static constexpr int kDeepest = 200;

  Draft& draft_;
  ReshardEmitter reshards_;
  const sharding::MeshDef* const mesh_;
  const InnerLowering lower_inner_;
  int depth_ = 0;
  // Parts that were rematerialised.
  absl::flat_hash_map<std::pair<ir::ValueId, const ir::Type*>, ir::ValueId> parts_;
};

}  // namespace tessera::spmd
