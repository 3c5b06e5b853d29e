// The list of all ops: the arrays of records, joined.
#include "ops/ops.h"

#include "base/ids.h"

namespace tessera::ops {
namespace {

std::vector<const OpDef*> AllRecords() {
  std::vector<const OpDef*> all;
  for (absl::Span<const OpDef> records : {UnaryOps(), BinaryOps()})
    for (const OpDef& op : records) all.push_back(&op);
  for (Records records :
       {MakeOps(),       ShapeOps(),        PieceOps(),       DynamicOps(),   ReduceOps(),
        CumulativeOps(), WindowOps(),       ConvolutionOps(), DotOps(),       FactorisationOps(),
        OrthogonalOps(), SpectrumOps(),     SimilarityOps(),  FourierOps(),   GatherOps(),
        ScatterOps(),    SortOps(),         ControlOps(),     CallOps(),      LinearSolveOps(),
        HostCallOps(),   PureCallbackOps(), ManualOps(),      MoveOps(),      MaskOps(),
        HintOps(),       PrecisionOps(),    RaggedOps(),      RaggedRowsOps()})
    all.insert(all.end(), records.begin(), records.end());
  return all;
}

// No entry is null: the arrays are complete (ops/elementwise.h).
using ByScalarOp = base::IdVector<ScalarOp, const OpDef*>;

ByScalarOp ElementwiseOps() {
  ByScalarOp ops(plan::kScalarOps);
  for (absl::Span<const OpDef> records : {UnaryOps(), BinaryOps()})
    for (const OpDef& op : records) ops[std::get<ir::AsElementwise>(*op.lowering).op] = &op;
  return ops;
}

}  // namespace

const OpDef& Elementwise(ScalarOp op) {
  static const ByScalarOp ops = ElementwiseOps();
  return *ops[op];
}

void Install() {
  static const bool once = [] {
    static const auto* all = new std::vector(AllRecords());
    ir::InstallOps(*all);
    return true;
  }();
  (void)once;
}

}  // namespace tessera::ops
