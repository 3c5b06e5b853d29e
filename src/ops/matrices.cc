// Checks, dimension maps and formulas of the records of linear algebra.
#include "ops/matrices.h"

#include <algorithm>

#include "base/dtype.h"
#include "ops/lookup.h"
#include "ops/ops.h"
#include "ops/pieces.h"
#include "ops/rule_builder.h"

namespace tessera::ops {

using ir::ValueId;
using sharding::DimMap;
using sharding::FactorKind;

void CheckMatrices(const TypeCall& c, size_t n, size_t vectors) {
  CheckCount(c, n);
  CheckSameDType(c);
  const DType t = c.operands[0]->dtype();
  if (base::PartOf(t) != f32 && base::PartOf(t) != f64)
    c.FailDType(14, fmt::format("it takes f32, f64, c64 and c128, not {}", t.name()));
  for (size_t i = 0; i < n; ++i) {
    const int64_t rank = i < vectors ? 2 : 1;
    if (c.operands[i]->rank() < rank)
      c.FailShape(17,
                  fmt::format("{} must have {} dims or more, not the shape {}",
                              ir::OperandName(c.op, i), rank, ShapeText(c.operands[i]->shape())));
  }
}

void CheckSquare(const TypeCall& c) {
  const Shape& shape = c.operands[0]->shape();
  if (shape[shape.size() - 2] != shape.back())
    c.FailShape(18, fmt::format("{} must be square, not {} x {}", ir::OperandName(c.op, 0),
                                shape[shape.size() - 2], shape.back()));
}

void CheckBatch(const TypeCall& c, absl::Span<const size_t> dims) {
  const auto batch = [&](size_t i) {
    const Shape& shape = c.operands[i]->shape();
    return Shape(shape.begin(), shape.end() - static_cast<long>(dims[i]));
  };
  for (size_t i = 1; i < dims.size(); ++i)
    if (batch(i) != batch(0))
      c.FailShape(19,
                  fmt::format("batch dims differ: {} has {}, {} has {}", ir::OperandName(c.op, 0),
                              ShapeText(batch(0)), ir::OperandName(c.op, i), ShapeText(batch(i))));
}

Shape WithMatrix(Shape batch, std::initializer_list<int64_t> dims) {
  batch.insert(batch.end(), dims);
  return batch;
}

Shape BatchOf(const Shape& matrices) { return Shape(matrices.begin(), matrices.end() - 2); }

MatrixSize SizeOfMatrix(const ir::DimsCall& c) {
  const Shape& a = *c.operands[0];
  return {static_cast<double>(a[a.size() - 2]), static_cast<double>(a.back())};
}

DimMap MatrixMap(const ir::DimsCall& c, std::vector<size_t> operands, std::vector<size_t> results,
                 double flops) {
  std::vector<Shape> shapes;
  for (const Shape* s : c.operands) shapes.push_back(*s);
  for (const Shape* s : c.results) shapes.push_back(*s);
  std::vector<size_t> own = std::move(operands);
  own.insert(own.end(), results.begin(), results.end());
  RuleBuilder rule(shapes, c.operands.size());
  const size_t batch = shapes[0].size() - own[0];
  for (size_t d = 0; d < batch; ++d) rule.Add({.size = shapes[0][d]}, rule.Of(d, 0, shapes.size()));
  for (size_t t = 0; t < shapes.size(); ++t)
    for (size_t d = batch; d < shapes[t].size(); ++d) {
      // Matrices share the factors of the first of their tensors that has a dim of this size here.
      const auto shares = [&](size_t other) {
        return own[other] == own[t] && shapes[other][d] == shapes[t][d];
      };
      size_t first = 0;
      while (!shares(first)) ++first;
      if (first != t) continue;
      RuleBuilder::TensorDims dims;
      for (size_t other = t; other < shapes.size(); ++other)
        if (shares(other)) dims.push_back({other, d});
      rule.Add({.size = shapes[t][d], .kind = FactorKind::kReplicate}, dims);
    }
  DimMap map = rule.Build();
  double matrices = 1;
  for (size_t d = 0; d < batch; ++d) matrices *= static_cast<double>(shapes[0][d]);
  sharding::SetPoints(map, matrices * flops);
  return map;
}

// ---- formulas -----------------------------------------------------------------------------------

namespace {

X Emit(const OpDef& op, ir::ParamsPtr params, std::initializer_list<X> operands,
       const ShapeAndDType* wanted = nullptr) {
  absl::InlinedVector<ValueId, 3> ids;
  for (const X& x : operands) ids.push_back(x.id());
  ir::Builder& b = operands.begin()->builder();
  return {b, b.Emit(op, std::move(params), ids, {.wanted = wanted})};
}

X Index(X x, int64_t dims_from_end) { return IndexAlong(x, x.type()->rank() - dims_from_end); }

enum class Side { kLower, kUpper };
X Triangle(X x, int64_t k, Side side) {
  const X row = Index(x, 2) + static_cast<double>(k), column = Index(x, 1);
  const X kept = Apply(side == Side::kLower ? ScalarOp::kGe : ScalarOp::kLe, {row, column});
  return Where(kept, x, x.Number(0));
}

X Joined(X a, X b, int64_t dims_from_end) {
  return Emit(kConcatenate, ir::MakeParams(DimParams{{a.type()->rank() - dims_from_end}}), {a, b});
}

X Reshaped(X x, Shape shape) {
  const ShapeAndDType wanted{std::move(shape), x.type()->dtype()};
  return Emit(kReshape, nullptr, {x}, &wanted);
}

}  // namespace

const ir::Type* TypeBeside(const ir::Type* like, size_t own, std::initializer_list<int64_t> dims) {
  sharding::TensorSharding layout = like->sharding();
  Shape shape = like->shape();
  shape.resize(shape.size() - own);
  shape.insert(shape.end(), dims);
  layout.dims.resize(shape.size() - dims.size());
  layout.dims.resize(shape.size());
  return ir::Type::Get(std::move(shape), like->dtype(), std::move(layout));
}

X WithoutReduced(ir::Builder& b, ValueId v) {
  sharding::TensorSharding layout = b.type(v)->sharding();
  layout.reduced.clear();
  return {b, Conform(b, v, b.type(v)->WithSharding(std::move(layout)))};
}

X MatMul(X a, X b) {
  const int64_t rank = a.type()->rank();
  DotParams params;
  for (int64_t d = 0; d + 2 < rank; ++d) {
    params.batch.lhs.push_back(d);
    params.batch.rhs.push_back(d);
  }
  params.contract = {{rank - 1}, {rank - 2}};
  return Emit(kDotGeneral, ir::MakeParams(std::move(params)), {a, b});
}

X Transposed(X x) {
  TransposeParams params;
  for (int64_t d = 0; d < x.type()->rank(); ++d) params.perm.push_back(d);
  std::swap(params.perm[params.perm.size() - 2], params.perm.back());
  return Emit(kTranspose, ir::MakeParams(std::move(params)), {x});
}

X Conjugated(X x) { return IsComplex(x) ? Conj(x) : x; }
X RealOf(X x) { return IsComplex(x) ? Real(x) : x; }
X InDTypeOf(X x, X like) {
  const ShapeAndDType wanted{x.type()->shape(), like.type()->dtype()};
  return x.type()->dtype() == wanted.dtype
             ? x
             : Emit(Elementwise(ScalarOp::kConvert), nullptr, {x}, &wanted);
}

X Lower(X x, int64_t k) { return Triangle(x, k, Side::kLower); }
X Upper(X x, int64_t k) { return Triangle(x, k, Side::kUpper); }

X IdentityFor(X x) {
  const X on_diagonal = Equal(Index(x, 2), Index(x, 1));
  return Where(on_diagonal, x.Number(1), x.Number(0));
}

X IdentityFrom(X x, int64_t k) {
  const X row = Index(x, 2);
  const X kept =
      And(Equal(row, Index(x, 1)), Apply(ScalarOp::kGe, {row, row.Number(static_cast<double>(k))}));
  return Where(kept, x.Number(1), x.Number(0));
}

X MirroredLower(X x) {
  const X below = Lower(x, -1), both = below + Adjoint(below);
  return both + Where(Equal(Index(x, 2), Index(x, 1)), InDTypeOf(RealOf(x), x), x.Number(0));
}

X DiagonalOf(X x) {
  const X only = Where(Equal(Index(x, 2), Index(x, 1)), x, x.Number(0));
  return Emit(kReduceSum, ir::MakeParams(DimsParams{{x.type()->rank() - 1}}), {only});
}

X ColumnSums(X x) {
  return Emit(kReduceSum, ir::MakeParams(DimsParams{{x.type()->rank() - 2}}), {x});
}

X AsRow(X v) {
  Shape shape = v.type()->shape();
  shape.insert(shape.end() - 1, 1);
  return Reshaped(v, std::move(shape));
}
X AsColumn(X v) {
  Shape shape = v.type()->shape();
  shape.push_back(1);
  return Reshaped(v, std::move(shape));
}

X SliceOf(X x, int64_t dims_from_end, int64_t begin, int64_t end) {
  const Shape& shape = x.type()->shape();
  const size_t d = shape.size() - static_cast<size_t>(dims_from_end);
  if (begin == 0 && end == shape[d]) return x;
  return Emit(kSlice, SliceAlong(shape, d, begin, end), {x});
}

X Below(X a, X b) { return Joined(a, b, 2); }
X Beside(X a, X b) { return Joined(a, b, 1); }

X SolveTriangular(X a, X b, TriangularSolveParams params) {
  return Emit(kTriangularSolve, ir::MakeParams(params), {a, b});
}

X PermutedRows(X x, X permutation) {
  ir::Builder& b = x.builder();
  Shape shape = x.type()->shape();
  const ShapeAndDType repeated{shape, i32};
  BroadcastParams dims;
  for (int64_t d = 0; d + 1 < x.type()->rank(); ++d) dims.dims.push_back(d);
  const ValueId index = b.Emit(kBroadcastInDim, ir::MakeParams(std::move(dims)), {permutation.id()},
                               {.wanted = &repeated});
  shape.push_back(1);
  const ShapeAndDType vectors{shape, i32};
  const ValueId indices = b.Emit(kReshape, nullptr, {index}, {.wanted = &vectors});
  const int64_t rank = x.type()->rank();
  const ir::Type* type = x.type()->WithWeak(false);
  return {b, b.EmitTyped(kGather, ir::MakeParams(AlongDim(rank, rank - 2, type->dtype())),
                         {x.id(), indices}, {&type, 1})[0]};
}

X SolveByLu(X a, X b) {
  const int64_t n = RowsOf(a);
  const ir::Type* type = a.type()->WithWeak(false);
  const ir::Type* pivots = TypeBeside(type, 2, {n})->WithDType(i32);
  const ir::Type* types[] = {type, pivots, pivots};
  const auto made = a.builder().EmitTyped(kLu, nullptr, {a.id()}, types);
  const X lu(a.builder(), made[0]), rows = PermutedRows(b, X(a.builder(), made[2]));
  const X forward =
      SolveTriangular(lu, rows, {.left_side = true, .lower = true, .unit_diagonal = true});
  return SolveTriangular(lu, forward, {.left_side = true});
}

}  // namespace tessera::ops
