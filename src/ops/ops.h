// The list of all ops. Everything semantic about an op is in its record, including its reference
// function. Each file of this folder exports one array of records, and ops.cc joins them.
#pragma once
#include "ops/params.h"
#include "plan/scalar_op.h"

namespace tessera::ops {

using plan::ScalarOp;

// The arrays of records.
absl::Span<const OpDef> UnaryOps();
absl::Span<const OpDef> BinaryOps();
using Records = absl::Span<const OpDef* const>;
Records MakeOps();
Records ShapeOps();
Records PieceOps();
Records DynamicOps();
Records ReduceOps();
Records CumulativeOps();
Records PrecisionOps();
Records RaggedOps();
Records RaggedRowsOps();
Records WindowOps();
Records ConvolutionOps();
Records DotOps();
Records FactorisationOps();
Records OrthogonalOps();
Records SpectrumOps();
Records SimilarityOps();
Records FourierOps();
Records GatherOps();
Records ScatterOps();
Records SortOps();
Records ControlOps();
Records CallOps();
Records LinearSolveOps();
Records HostCallOps();
Records PureCallbackOps();
Records ManualOps();
Records MoveOps();
Records MaskOps();
Records HintOps();

// The fields of one op of a family.
struct FamilyFields {
  std::string_view name;
  std::string_view doc;
  ir::Required<ir::ReferenceFn> reference;
  ir::Required<ir::Diff> diff;
};

// Returns the record of an elementwise op.
const OpDef& Elementwise(ScalarOp op);

// Installs the list. Every entry point of the library calls it.
void Install();

}  // namespace tessera::ops
