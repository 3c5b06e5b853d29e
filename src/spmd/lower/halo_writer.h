// Halo exchanges as instructions of a device program: the edges alone, or dim by dim.
#pragma once
#include "ir/move_params.h"
#include "spmd/lower/draft.h"

namespace tessera::spmd {

class HaloWriter {
 public:
  HaloWriter(Draft& draft, Loc loc) : draft_(draft), loc_(loc) {}

  // Exchanges the edges only; `out` is put together of them and of what the device has. False: it
  // must be exchanged whole.
  bool EmitEdges(const ir::HaloParams& halo, ir::CostPtr cost, absl::Span<const ir::ValueId> ins,
                 ir::ValueId out);
  // Exchanges along one dim after the other, and slices or pads the others.
  void EmitStages(ir::HaloParams halo, absl::Span<const ir::ValueId> ins, ir::ValueId out);

 private:
  void EmitStage(const ir::HaloParams& halo, absl::Span<const ir::ValueId> ins, ir::ValueId out);
  void EmitLocal(const ir::HaloParams& halo, absl::Span<const ir::ValueId> ins, ir::ValueId out);
  // Of each device's part of v the box of those sizes.
  ir::ValueId LocalSlice(ir::ValueId v, const ir::Type* place, const base::Shape& begin,
                         const base::Shape& sizes);
  void Emit(const ir::OpDef& op, ir::ParamsPtr params, absl::Span<const ir::ValueId> ins,
            ir::ValueId out, ir::CostPtr cost);

  Draft& draft_;
  const Loc loc_;
};

}  // namespace tessera::spmd
