// Products of groups of rows: the sizes of the groups are data. Operands and results have leading
// batch dims.
#include "base/shape.h"
#include "kernels/gemm/ragged_dot.h"
#include "ops/check.h"
#include "ops/derivatives.h"
#include "ops/local.h"
#include "ops/ops.h"
#include "ops/params.h"
#include "ops/reference_accumulator.h"
#include "ops/reference_values.h"

namespace tessera::ops {
namespace {

using ir::HostTensor;
using reference::Coords;
using sharding::DimMap;
using sharding::FactorKind;

// Returns the leading dims of a shape, all but the last n.
Shape Leading(const Shape& shape, size_t n) {
  return {shape.begin(), shape.end() - static_cast<long>(n)};
}
Shape WithDims(Shape leading, std::initializer_list<int64_t> last) {
  leading.insert(leading.end(), last);
  return leading;
}

// C13: dtypes may differ if the result's dtype is given. C15: sizes must be integers. C17: operands
// must have batch dims and these numbers of others, C18: of matching sizes. Returns the batch dims.
Shape CheckRagged(const TypeCall& c, size_t rhs_rank) {
  CheckCount(c, 3);
  const bool given = c.wanted && !c.wanted->dtype.is_default();
  if (!given && c.operands[0]->dtype() != c.operands[1]->dtype()) FailMixed(c, 0, 1);
  if (!c.operands[2]->dtype().is_integer())
    c.FailDType(15,
                fmt::format("group sizes must be integers, not {}", c.operands[2]->dtype().name()));
  const Shape &lhs = c.operands[0]->shape(), &rhs = c.operands[1]->shape(),
              &sizes = c.operands[2]->shape();
  const auto refuse = [&](int check, const char* why) {
    c.FailShape(check, fmt::format("{}: lhs has shape {}, rhs {} and group_sizes {}", why,
                                   ShapeText(lhs), ShapeText(rhs), ShapeText(sizes)));
  };
  if (lhs.size() < 2 || rhs.size() != lhs.size() - 2 + rhs_rank || sizes.size() + 1 != lhs.size())
    refuse(17, rhs_rank == 3 ? "the shapes must be [..., m, k], [..., g, k, n] and [..., g]"
                             : "the shapes must be [..., m, k], [..., m, n] and [..., g]");
  Shape batch = Leading(lhs, 2);
  if (Leading(rhs, rhs_rank) != batch || Leading(sizes, 1) != batch)
    refuse(18, "batch dims have different sizes");
  return batch;
}

std::vector<ShapeAndDType> RaggedDotType(const TypeCall& c) {
  Shape batch = CheckRagged(c, 3);
  const Shape &lhs = c.operands[0]->shape(), &rhs = c.operands[1]->shape();
  const size_t r = rhs.size();
  if (lhs.back() != rhs[r - 2])
    c.FailShape(18, fmt::format("lhs has {} columns, and the matrices of rhs have {} rows",
                                lhs.back(), rhs[r - 2]));
  if (rhs[r - 3] != c.operands[2]->shape().back())
    c.FailShape(18, fmt::format("there are {} matrices and {} group sizes", rhs[r - 3],
                                c.operands[2]->shape().back()));
  return {{WithDims(std::move(batch), {lhs[lhs.size() - 2], rhs.back()}), ProductDType(c)}};
}

std::vector<ShapeAndDType> RaggedContractType(const TypeCall& c) {
  Shape batch = CheckRagged(c, 2);
  const Shape &lhs = c.operands[0]->shape(), &rhs = c.operands[1]->shape();
  const size_t r = lhs.size();
  if (lhs[r - 2] != rhs[r - 2])
    c.FailShape(18, fmt::format("lhs has {} rows, and rhs has {}", lhs[r - 2], rhs[r - 2]));
  return {{WithDims(std::move(batch), {c.operands[2]->shape().back(), lhs.back(), rhs.back()}),
           ProductDType(c)}};
}

// The factors of both ops. Shards of rows know where they begin, and so do shards of groups, but
// rows have positions in the groups of all sizes, which must be whole. Each row meets the matrix of
// one group.
struct RaggedFactors {
  DimMap map;
  sharding::DimFactors batch;
  int32_t m = 0, k = 0, g = 0, n = 0;

  RaggedFactors(const ir::DimsCall& c, FactorKind of_m, FactorKind of_k, FactorKind of_g) {
    const Shape &lhs = *c.operands[0], &rhs = *c.operands[1], &sizes = *c.operands[2];
    const size_t r = lhs.size();
    for (size_t d = 0; d + 2 < r; ++d) batch.push_back({map.AddFactor({.size = lhs[d]})});
    m = map.AddFactor({.size = lhs[r - 2], .kind = of_m});
    n = map.AddFactor({.size = rhs.back()});
    k = map.AddFactor({.size = lhs.back(), .kind = of_k});
    g = map.AddFactor({.size = sizes.back(), .kind = of_g});
    const int32_t all = map.AddFactor({.size = sizes.back(), .kind = FactorKind::kReplicate});
    map.operands = {With({m, k}), {}, With({all})};
    map.linear = {{.operands = {0}}, {.operands = {1}}};
    map.traits = {.selectors = {2}, .product = true};
    const auto groups = static_cast<double>(sizes.back());
    if (groups > 0) map.density = 1 / (groups * groups);
  }
  sharding::DimFactors With(std::initializer_list<int32_t> last) const {
    sharding::DimFactors dims = batch;
    for (int32_t f : last) dims.push_back({f});
    return dims;
  }
};

DimMap RaggedDotDims(const ir::DimsCall& c) {
  RaggedFactors f(c, FactorKind::kPass, FactorKind::kReduce, FactorKind::kReduce);
  f.map.operands[1] = f.With({f.g, f.k, f.n});
  f.map.results = {f.With({f.m, f.n})};
  return f.map;
}
DimMap RaggedContractDims(const ir::DimsCall& c) {
  RaggedFactors f(c, FactorKind::kReduce, FactorKind::kPass, FactorKind::kPass);
  f.map.operands[1] = f.With({f.m, f.n});
  f.map.results = {f.With({f.g, f.k, f.n})};
  return f.map;
}

// `grouped`: the tensor with a dim of groups, after its batch dims.
kernels::RaggedDotDesc LocalRaggedDot(const ir::LocalCall& c, const ir::LocalTensor& grouped) {
  const ir::LocalTensor &lhs = c.operands[0], &sizes = c.operands[2];
  const size_t batch = lhs.shape.size() - 2;
  return {.lhs_dtype = lhs.dtype,
          .rhs_dtype = c.operands[1].dtype,
          .sizes_dtype = sizes.dtype,
          .out_dtype = c.results[0].dtype,
          .batch = base::Elements(Leading(lhs.shape, 2)),
          .m = lhs.shape[batch],
          .k = lhs.shape.back(),
          .n = c.operands[1].shape.back(),
          .groups = grouped.shape[batch],
          .all_rows = lhs.global[batch],
          .all_groups = sizes.shape.back(),
          .row_begins = ShardBegins(lhs, batch),
          .group_begins = ShardBegins(grouped, batch)};
}
void MakeRaggedDot(const ir::LocalCall& c, plan::Kernel* out) {
  *out = kernels::RaggedDot(LocalRaggedDot(c, c.operands[1]));
}
void MakeRaggedContract(const ir::LocalCall& c, plan::Kernel* out) {
  *out = kernels::RaggedOuterDot(LocalRaggedDot(c, c.results[0]));
}

// ---- references ---------------------------------------------------------------------------------

// Returns the group of each row of a batch element; -1: none.
std::vector<int64_t> GroupsOfRows(const HostTensor& sizes, int64_t batch, int64_t rows) {
  std::vector<int64_t> groups;
  const int64_t g = sizes.shape.back();
  for (int64_t i = 0; i < g; ++i)
    for (int64_t k = 0; k < sizes.Int(batch * g + i) && std::ssize(groups) < rows; ++k)
      groups.push_back(i);
  groups.resize(static_cast<size_t>(rows), -1);
  return groups;
}

// Calls f(batch, row, group) for each row in a group.
template <class F>
void ForEachRow(const ir::ReferenceCall& c, F f) {
  const Shape& lhs = c.operands[0]->shape;
  const int64_t rows = lhs[lhs.size() - 2];
  for (int64_t b = 0; b < base::Elements(Leading(lhs, 2)); ++b) {
    const std::vector<int64_t> groups = GroupsOfRows(*c.operands[2], b, rows);
    for (int64_t row = 0; row < rows; ++row)
      if (groups[static_cast<size_t>(row)] >= 0) f(b, row, groups[static_cast<size_t>(row)]);
  }
}

struct RaggedPlaces {
  int64_t rhs, result;  // numbers of elements
};
// Sums the products of element i of each row of lhs that is in a group, and elements of rhs. One of
// rhs and the result has rows [n], and the other the groups' matrices [k, n].
template <class PlacesOf>
void SumRagged(const ir::ReferenceCall& c, PlacesOf places_of) {
  const HostTensor &x = *c.operands[0], &y = *c.operands[1];
  const int64_t m = x.shape[x.shape.size() - 2], k = x.shape.back(), n = y.shape.back();
  const int64_t g = c.operands[2]->shape.back();
  HostTensor& out = *c.results[0];
  std::vector<reference::SumOfProducts> sums(static_cast<size_t>(out.size()),
                                             reference::SumOfProducts(out.dtype));
  ForEachRow(c, [&](int64_t b, int64_t row, int64_t group) {
    for (int64_t i = 0; i < k; ++i)
      for (int64_t j = 0; j < n; ++j) {
        const int64_t of_row = b * m + row, in_row = of_row * n + j,
                      in_matrix = ((b * g + group) * k + i) * n + j;
        const RaggedPlaces at = places_of(in_row, in_matrix);
        sums[static_cast<size_t>(at.result)].Add(x, of_row * k + i, y, at.rhs);
      }
  });
  for (size_t i = 0; i < sums.size(); ++i) sums[i].StoreTo(out, static_cast<int64_t>(i));
}
void RaggedDotReference(const ir::ReferenceCall& c) {
  SumRagged(c, [](int64_t in_row, int64_t in_matrix) { return RaggedPlaces{in_matrix, in_row}; });
}
void RaggedContractReference(const ir::ReferenceCall& c) {
  SumRagged(c, [](int64_t in_row, int64_t in_matrix) { return RaggedPlaces{in_row, in_matrix}; });
}

// ---- derivatives --------------------------------------------------------------------------------

// Returns an array with its last two dims exchanged.
ir::ValueId Exchanged(ir::Builder& b, ir::ValueId v) {
  TransposeParams order;
  for (int64_t d = 0; d < b.type(v)->rank(); ++d) order.perm.push_back(d);
  std::swap(order.perm[order.perm.size() - 1], order.perm[order.perm.size() - 2]);
  return b.Emit(kTranspose, ir::MakeParams(std::move(order)), {v});
}

ir::ValueId EmitRagged(const ir::DiffCall& c, size_t k, const OpDef& op, ir::ValueId lhs,
                       ir::ValueId rhs) {
  const ir::Type* type = CotangentTypeOf(c, k)->WithDType(c.result_types[0]->dtype());
  return EmitSums(c.builder, op, nullptr, std::array{lhs, rhs, c.operands[2]}, type);
}

ir::ValueId RaggedDotTranspose(const ir::DiffCall& c, ir::ValueId cotangent, size_t k) {
  if (k == 0) return EmitRagged(c, k, kRaggedDot, cotangent, Exchanged(c.builder, c.operands[1]));
  return EmitRagged(c, k, kRaggedContract, c.operands[0], cotangent);
}
// The cotangent has a matrix per group.
ir::ValueId RaggedContractTranspose(const ir::DiffCall& c, ir::ValueId cotangent, size_t k) {
  if (k == 0) return EmitRagged(c, k, kRaggedDot, c.operands[1], Exchanged(c.builder, cotangent));
  return EmitRagged(c, k, kRaggedDot, c.operands[0], cotangent);
}

struct RaggedFields {
  std::string_view name, doc;
  ir::TypeFn type;
  ir::DimMapFn dims;
  void (*make)(const ir::LocalCall&, plan::Kernel*);
  ir::ReferenceFn reference;
  ir::TransposeFn transpose;
};
constexpr OpDef RaggedOp(const RaggedFields& f) {
  return {.name = f.name,
          .doc = f.doc,
          .type = f.type,
          .dims = f.dims,
          .lowering = ir::AsKernel{f.make},
          .reference = f.reference,
          .diff = ir::Derivative{.transpose = f.transpose},
          .flops_per_point = 2,
          .out_sharding = true,
          .operand_names = {"lhs", "rhs", "group_sizes"}};
}

}  // namespace

constexpr OpDef kRaggedDot = RaggedOp({.name = "ragged_dot",
                                       .doc = "Each group of rows times the matrix of its group.",
                                       .type = RaggedDotType,
                                       .dims = RaggedDotDims,
                                       .make = MakeRaggedDot,
                                       .reference = RaggedDotReference,
                                       .transpose = RaggedDotTranspose});
constexpr OpDef kRaggedContract =
    RaggedOp({.name = "ragged_contract",
              .doc = "Products of columns of two arrays, summed over the rows of each group.",
              .type = RaggedContractType,
              .dims = RaggedContractDims,
              .make = MakeRaggedContract,
              .reference = RaggedContractReference,
              .transpose = RaggedContractTranspose});

Records RaggedOps() {
  static constexpr const OpDef* kOps[] = {&kRaggedDot, &kRaggedContract};
  return kOps;
}

}  // namespace tessera::ops
