// Halo exchanges as instructions of a device program: the edges alone, or dim by dim.
#pragma once
#include "ir/move_params.h"
#include "spmd/lower/draft.h"

namespace tessera::spmd {

class HaloWriter {
 public:
  HaloWriter(Draft& draft, Loc loc) : draft_(draft), loc_(loc) {}

  // Exchanges the edges alone, and joins them with the device's own elements to `out`. Returns
  // false if the result must be exchanged whole.
  bool EmitEdges(const ir::HaloParams& halo, ir::CostPtr cost, absl::Span<const ir::ValueId> ins,
                 ir::ValueId out);
  // Exchanges along one sharded dim after the other, and slices or pads unsharded ones.
  void EmitStages(ir::HaloParams halo, absl::Span<const ir::ValueId> ins, ir::ValueId out);

 private:
  void EmitStage(const ir::HaloParams& halo, absl::Span<const ir::ValueId> ins, ir::ValueId out);
  void EmitLocal(const ir::HaloParams& halo, absl::Span<const ir::ValueId> ins, ir::ValueId out);
  // Slices the box [begin, begin + sizes) out of every device's shard of v.
  ir::ValueId LocalSlice(ir::ValueId v, const ir::Type* place, const base::Shape& begin,
                         const base::Shape& sizes);
  void Emit(const ir::OpDef& op, ir::ParamsPtr params, absl::Span<const ir::ValueId> ins,
            ir::ValueId out, ir::CostPtr cost);

  Draft& draft_;
  const Loc loc_;
};

}  // namespace tessera::spmd
