// Builds the maps of gather, scatter, convolution and other StableHLO ops from their attributes.
#include "unit/ops/foreign_rules.h"

#include "ops/rule_builder.h"

namespace tessera::ops {
namespace {

using sharding::Factor;
using sharding::FactorKind;
using TensorDims = RuleBuilder::TensorDims;

Factor Pass(int64_t size) { return {.size = size}; }
Factor Replicate(int64_t size, bool blocked = false) {
  return {.size = size, .kind = FactorKind::kReplicate, .blocked = blocked};
}
Factor Permute(int64_t size) { return {.size = size, .kind = FactorKind::kPermute}; }
Factor ReduceSum(int64_t size) { return {.size = size, .kind = FactorKind::kReduce}; }

std::vector<Shape> Repeat(const Shape& shape, size_t times) {
  return std::vector<Shape>(times, shape);
}

// A builder that can name a dim of all tensors.
class ForeignRule : public RuleBuilder {
 public:
  ForeignRule(const std::vector<Shape>& shapes, size_t num_operands)
      : RuleBuilder(shapes, num_operands), tensors_(shapes.size()) {}
  TensorDims OfAll(size_t dim) const { return Of(dim, 0, tensors_); }

 private:
  size_t tensors_;
};

TensorDims Join(TensorDims a, const TensorDims& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

// Returns one `a`, then one `b`.
std::vector<Shape> Concat(std::vector<Shape> a, const std::vector<Shape>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

// Adds a spatial dim of a convolution, of two factors: the window's position, and the position in
// the window. The larger is major. Together they fill no more than the dim.
void AddSpatialDim(RuleBuilder& rule, size_t lhs, size_t rhs, size_t result) {
  struct {
    Factor factor;
    TensorDims places;
  } windows{Permute(rule.size(2, result)), {{0, lhs}, {2, result}}},
      window{ReduceSum(rule.size(1, rhs)), {{0, lhs}, {1, rhs}}};
  int64_t left = rule.size(0, lhs);
  auto add = [&](auto& part) {
    part.factor.size = std::min(part.factor.size, left);
    if (part.factor.size <= 1) return;
    rule.Add(part.factor, part.places);
    left /= part.factor.size;
  };
  bool windows_first = windows.factor.size >= window.factor.size;
  add(windows_first ? windows : window);
  add(windows_first ? window : windows);
}

}  // namespace

DimMap ConvolutionDims(const ConvolutionNumbers& n, const Shape& lhs, const Shape& rhs,
                       const Shape& result) {
  ForeignRule rule({lhs, rhs, result}, 2);
  auto at = [](int64_t dim) { return static_cast<size_t>(dim); };
  size_t lhs_batch = at(n.lhs.batch), lhs_feature = at(n.lhs.feature);
  size_t rhs_out = at(n.rhs.batch), rhs_in = at(n.rhs.feature);
  size_t out_batch = at(n.result.batch), out_feature = at(n.result.feature);
  if (n.batch_groups > 1)
    rule.Add(Pass(n.batch_groups), {{0, lhs_batch}, {1, rhs_out}, {2, out_feature}});
  rule.Add(Pass(result[out_batch]), {{0, lhs_batch}, {2, out_batch}});
  for (size_t i = 0; i < n.lhs.spatial.size(); ++i)
    AddSpatialDim(rule, at(n.lhs.spatial[i]), at(n.rhs.spatial[i]), at(n.result.spatial[i]));
  if (n.feature_groups > 1)
    rule.Add(Pass(n.feature_groups), {{0, lhs_feature}, {1, rhs_out}, {2, out_feature}});
  rule.Add(ReduceSum(rhs[rhs_in]), {{0, lhs_feature}, {1, rhs_in}});
  int64_t features = result[out_feature] / (n.batch_groups * n.feature_groups);
  if (features > 1) rule.Add(Pass(features), {{1, rhs_out}, {2, out_feature}});
  return rule.Build();
}

DimMap ReduceWindowDims(const std::vector<Window>& windows, const Shape& operand,
                        const Shape& result, size_t num_inputs) {
  std::vector<Shape> shapes = Concat(Repeat(operand, num_inputs), Repeat({}, num_inputs));
  ForeignRule rule(Concat(shapes, Repeat(result, num_inputs)), 2 * num_inputs);
  for (size_t d = 0; d < windows.size(); ++d)
    rule.Add(windows[d].trivial() ? Pass(result[d]) : Permute(result[d]), rule.OfAll(d));
  return rule.Build();
}

DimMap SelectAndScatterDims(const std::vector<Window>& windows, const Shape& operand,
                            const Shape& source) {
  ForeignRule rule({operand, source, {}, operand}, 3);
  for (size_t d = 0; d < windows.size(); ++d) {
    if (windows[d].trivial()) {
      rule.Add(Pass(operand[d]), rule.OfAll(d));
      continue;
    }
    rule.Add(Replicate(source[d]), {{1, d}});
    rule.Add(Permute(operand[d]), {{0, d}, {3, d}});
  }
  return rule.Build();
}

DimMap FftDims(size_t num_dims, const Shape& operand, const Shape& result) {
  ForeignRule rule({operand, result}, 1);
  for (size_t d = 0; d < operand.size(); ++d) {
    // Half a spectrum is no slice of the dim: sizes differ.
    bool blocked = d + 1 == operand.size() && operand[d] != result[d];
    bool transformed = d + num_dims >= operand.size();
    rule.Add(transformed ? Replicate(operand[d], blocked) : Pass(operand[d]), rule.OfAll(d));
  }
  return rule.Build();
}

DimMap CholeskyDims(const Shape& operand) {
  ForeignRule rule({operand, operand}, 1);
  for (size_t d = 0; d < operand.size(); ++d)
    rule.Add(d + 2 < operand.size() ? Pass(operand[d]) : Replicate(operand[d]), rule.OfAll(d));
  return rule.Build();
}

DimMap TriangularSolveDims(bool left_side, bool transpose_a, const Shape& a, const Shape& b) {
  ForeignRule rule({a, b, b}, 2);
  size_t row = b.size() - 2, column = b.size() - 1;
  for (size_t d = 0; d < row; ++d) rule.Add(Pass(b[d]), rule.OfAll(d));
  // The dim of `a` that is contracted with b's, and the one that replaces it in the solution.
  size_t met = left_side != transpose_a ? row : column;
  size_t solved = row + column - met;
  size_t side = left_side ? row : column;  // the dim of b along which the system is solved
  for (size_t d : {row, column})
    rule.Add(Replicate(b[d]),
             d == side ? TensorDims{{0, met}, {1, d}} : TensorDims{{1, d}, {2, d}});
  rule.Add(Replicate(a[solved]), {{0, solved}, {2, side}});
  return rule.Build();
}

DimMap EighDims(const Shape& matrix) {
  Shape values(matrix.begin(), matrix.end() - 2);
  values.push_back(matrix.back());
  ForeignRule rule({matrix, matrix, values}, 1);
  size_t row = matrix.size() - 2;
  for (size_t d = 0; d < row; ++d) rule.Add(Pass(matrix[d]), rule.OfAll(d));
  rule.Add(Pass(matrix[row]), {{0, row}, {1, row}});
  rule.Add(Pass(matrix[row + 1]), {{0, row + 1}, {1, row + 1}, {2, row}});
  return rule.Build();
}

namespace {

// The map of a matrix in packed form and the scalars of its reflectors. Tensors 0 and `packed` are
// matrices; `scalars` has one dim less.
DimMap ReflectorDims(ForeignRule rule, size_t packed, size_t scalars) {
  size_t row = rule.rank(0) - 2;
  for (size_t d = 0; d < row; ++d) rule.Add(Pass(rule.size(0, d)), rule.OfAll(d));
  for (size_t d : {row, row + 1}) rule.Add(Replicate(rule.size(0, d)), {{0, d}, {packed, d}});
  rule.Add(Replicate(rule.size(scalars, row)), {{scalars, row}});
  return rule.Build();
}

}  // namespace

DimMap QrDims(const Shape& matrix, const Shape& taus) {
  return ReflectorDims({{matrix, matrix, taus}, 1}, 1, 2);
}

DimMap HouseholderProductDims(const Shape& matrix, const Shape& taus) {
  return ReflectorDims({{matrix, taus, matrix}, 2}, 2, 1);
}

DimMap BatchNormInferenceDims(const Shape& operand, size_t feature_dim) {
  Shape vector = {operand[feature_dim]};
  ForeignRule rule({operand, vector, vector, vector, vector, operand}, 5);
  for (size_t d = 0; d < operand.size(); ++d) {
    TensorDims places = {{0, d}, {5, d}};
    if (d == feature_dim) places = Join(places, rule.Of(0, 1, 5));
    rule.Add(Pass(operand[d]), places);
  }
  return rule.Build();
}

DimMap RngBitGeneratorDims(const Shape& state, const Shape& output) {
  ForeignRule rule({state, state, output}, 1);
  for (size_t d = 0; d < state.size(); ++d) rule.Add(Replicate(state[d], true), rule.Of(d, 0, 2));
  for (size_t d = 0; d < output.size(); ++d) rule.Add(Pass(output[d]), {{2, d}});
  return rule.Build();
}

DimMap BitcastConvertDims(const Shape& operand, const Shape& result) {
  ForeignRule rule({operand, result}, 1);
  size_t common = std::min(operand.size(), result.size());
  for (size_t d = 0; d < common; ++d) rule.Add(Pass(operand[d]), rule.OfAll(d));
  if (operand.size() > common) rule.Add(Replicate(operand[common]), {{0, common}});
  if (result.size() > common) rule.Add(Replicate(result[common]), {{1, common}});
  return rule.Build();
}

DimMap TopKDims(const Shape& operand, const Shape& result) {
  ForeignRule rule({operand, result, result}, 1);
  for (size_t d = 0; d < operand.size(); ++d)
    rule.Add(operand[d] == result[d] ? Pass(operand[d]) : Replicate(operand[d], true),
             rule.OfAll(d));
  return rule.Build();
}

DimMap ApproxTopKDims(size_t dim, const Shape& operand, const Shape& result) {
  ForeignRule rule({operand, operand, {}, {}, result, result}, 4);
  for (size_t d = 0; d < operand.size(); ++d) {
    if (d != dim) {
      rule.Add(Pass(operand[d]), rule.OfAll(d));
      continue;
    }
    rule.Add(Pass(operand[d]), rule.Of(d, 0, 2));
    rule.Add(Replicate(result[d], true), rule.Of(d, 4, 6));
  }
  return rule.Build();
}

namespace {

// The map of operands of one shape and results of another. All dims pass except `moved`, which
// must be whole on both sides.
DimMap MovedDims(const std::vector<size_t>& moved, const Shape& operand, const Shape& result,
                 size_t n) {
  ForeignRule rule(Concat(Repeat(operand, n), Repeat(result, n)), n);
  for (size_t d = 0; d < operand.size(); ++d)
    if (std::find(moved.begin(), moved.end(), d) == moved.end())
      rule.Add(Pass(operand[d]), rule.OfAll(d));
  for (size_t d : moved) {
    rule.Add(Replicate(operand[d]), rule.Of(d, 0, n));
    rule.Add(Replicate(result[d]), rule.Of(d, n, 2 * n));
  }
  return rule.Build();
}

}  // namespace

DimMap AllGatherDims(size_t dim, const Shape& operand, const Shape& result, size_t num_operands) {
  return MovedDims({dim}, operand, result, num_operands);
}

DimMap AllToAllDims(size_t split_dim, size_t concat_dim, const Shape& operand, const Shape& result,
                    size_t num_operands) {
  std::vector<size_t> moved = {split_dim};
  if (concat_dim != split_dim) moved.push_back(concat_dim);
  return MovedDims(moved, operand, result, num_operands);
}

DimMap ReduceScatterDims(size_t dim, const Shape& operand, const Shape& result) {
  return MovedDims({dim}, operand, result, 1);
}

}  // namespace tessera::ops
