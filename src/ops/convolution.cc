// Convolutions: sums of products of windows with a kernel. The transposes of a convolution are
// convolutions, with the dims in other roles.
#include "kernels/convolution/convolution.h"

#include <absl/algorithm/container.h>

#include "base/shape.h"
#include "ir/builder.h"
#include "ops/batching.h"
#include "ops/derivatives.h"
#include "ops/laid_out.h"
#include "ops/ops.h"
#include "ops/reference_accumulator.h"
#include "ops/reference_values.h"
#include "ops/rule_builder.h"
#include "ops/windows.h"

namespace tessera::ops {
namespace {

using reference::Coords;
using reference::HostTensor;

using sharding::DimMap;
using sharding::FactorKind;

const ConvolutionParams& ParamsOf(const ir::Params* params) {
  return ir::As<ConvolutionParams>(params);
}

// The two listed dims that are not spatial: batch and feature of lhs and result, output and input
// features of rhs. Sizes are per group.
struct TwoDims {
  int64_t first = 1, second = 1;
};
TwoDims PerGroup(const Shape& shape, const std::vector<int64_t>& dims, int64_t groups, int64_t at) {
  TwoDims sizes{shape[dims[0]], shape[dims[1]]};
  (at == 0 ? sizes.first : sizes.second) /= groups;
  return sizes;
}

DimWindow WindowAt(const ConvolutionParams& p, const Shape& rhs, size_t i) {
  return {.size = rhs[p.rhs[2 + i]],
          .stride = p.strides[i],
          .low = p.low[i],
          .high = p.high[i],
          .base_dilation = p.lhs_dilation[i],
          .window_dilation = p.rhs_dilation[i]};
}

// C17: the lists must name all dims and have one entry per spatial dim.
void CheckNumbers(const TypeCall& c, const ConvolutionParams& p) {
  const auto rank = c.operands[0]->rank();
  if (rank < 2 || c.operands[1]->rank() != rank)
    c.FailShape(17, fmt::format("lhs and rhs have ranks {} and {}: both need two dims and the "
                                "spatial dims",
                                rank, c.operands[1]->rank()));
  const auto all = static_cast<size_t>(rank);
  for (const std::vector<int64_t>* list : {static_cast<const std::vector<int64_t>*>(&p.lhs),
                                           static_cast<const std::vector<int64_t>*>(&p.rhs),
                                           static_cast<const std::vector<int64_t>*>(&p.out)}) {
    CheckDims(c, *list, rank);
    if (list->size() != all)
      c.FailShape(17, fmt::format("the dim numbers name {} dims, but the arrays have {}",
                                  list->size(), all));
  }
  for (const std::vector<int64_t>* list :
       {static_cast<const std::vector<int64_t>*>(&p.strides),
        static_cast<const std::vector<int64_t>*>(&p.low),
        static_cast<const std::vector<int64_t>*>(&p.high),
        static_cast<const std::vector<int64_t>*>(&p.lhs_dilation),
        static_cast<const std::vector<int64_t>*>(&p.rhs_dilation)})
    if (list->size() + 2 != all)
      c.FailShape(17, fmt::format("strides, paddings and dilations have {}, {}, {}, {} and {} "
                                  "entries, but there are {} spatial dims",
                                  p.strides.size(), p.low.size(), p.high.size(),
                                  p.lhs_dilation.size(), p.rhs_dilation.size(), all - 2));
}

// C21: groups must divide their dims. C22: both sides must have the same features.
void CheckGroups(const TypeCall& c, const ConvolutionParams& p) {
  const Shape &lhs = c.operands[0]->shape(), &rhs = c.operands[1]->shape();
  if (p.groups < 1 || std::min({p.lhs_groups, p.rhs_groups, p.out_groups}) < 0 ||
      std::max({p.lhs_groups, p.rhs_groups, p.out_groups}) > 1)
    c.FailShape(21, fmt::format("there are {} groups, but there must be at least 1", p.groups));
  const int64_t of_lhs = lhs[p.lhs[p.lhs_groups]], of_rhs = rhs[p.rhs[p.rhs_groups]];
  if (of_lhs % p.groups != 0)
    c.FailShape(21, fmt::format("{} {} of lhs do not divide into {} groups", of_lhs,
                                p.lhs_groups ? "features" : "batch elements", p.groups));
  if (of_rhs % p.groups != 0)
    c.FailShape(21, fmt::format("{} {} features of rhs do not divide into {} groups", of_rhs,
                                p.rhs_groups ? "input" : "output", p.groups));
  const int64_t in = PerGroup(lhs, p.lhs, p.groups, p.lhs_groups).second,
                wants = PerGroup(rhs, p.rhs, p.groups, p.rhs_groups).second;
  if (in != wants)
    c.FailShape(22, fmt::format("lhs has {} features{}, but rhs has {}", in,
                                p.groups > 1 ? " per group" : "", wants));
}

std::vector<ShapeAndDType> ConvolutionType(const TypeCall& c) {
  CheckCount(c, 2);
  // Dtypes may differ if the result's dtype is given.
  const bool is_given = c.wanted && !c.wanted->dtype.is_default();
  if (!is_given) CheckSameDType(c);
  const DType t = ProductOf(c.operands[0]->dtype(), c.operands[1]->dtype());
  if (c.operands[0]->dtype().is_bool() || c.operands[1]->dtype().is_bool())
    c.FailDType(14, "it multiplies numbers, not bool");
  if (t.is_complex()) c.FailDType(14, fmt::format("it multiplies real numbers, not {}", t.name()));
  const DType made = is_given ? c.wanted->dtype : t;
  if (made.is_bool() || (t.is_floating() && !made.is_floating()))
    c.FailDType(23, fmt::format("products of {} cannot be summed in {}", t.name(), made.name()));
  const ConvolutionParams& p = ParamsOf(c.params);
  CheckNumbers(c, p);
  CheckGroups(c, p);
  const Shape &lhs = c.operands[0]->shape(), &rhs = c.operands[1]->shape();
  Shape out(lhs.size());
  out[p.out[0]] = PerGroup(lhs, p.lhs, p.groups, p.lhs_groups).first;
  out[p.out[1]] = PerGroup(rhs, p.rhs, p.groups, p.rhs_groups).first;
  if (__builtin_mul_overflow(out[p.out[p.out_groups]], p.groups, &out[p.out[p.out_groups]]))
    c.FailShape(2, "the result would have more than 2^59 elements");
  for (size_t i = 0; i + 2 < lhs.size(); ++i)
    out[p.out[2 + i]] = CheckedWindows(c, i, lhs[p.lhs[2 + i]], WindowAt(p, rhs, i), 0);
  return {{out, made}};
}

// Numbers the factors as Shardy does.
DimMap ConvolutionDims(const ir::DimsCall& c) {
  const ConvolutionParams& p = ParamsOf(c.params);
  const Shape &lhs = *c.operands[0], &rhs = *c.operands[1], &out = *c.results[0];
  RuleBuilder rule({lhs, rhs, out}, 2);
  const auto at = [](int64_t d) { return static_cast<size_t>(d); };
  const auto add_groups = [&] {
    if (p.groups > 1)
      rule.Add({.size = p.groups}, {{0, at(p.lhs[p.lhs_groups])},
                                    {1, at(p.rhs[p.rhs_groups])},
                                    {2, at(p.out[p.out_groups])}});
  };
  // Groups are major in every dim.
  const bool groups_first = p.lhs_groups == 0 || p.out_groups == 0;
  if (groups_first) add_groups();
  rule.Add({.size = PerGroup(out, p.out, p.groups, p.out_groups).first},
           {{0, at(p.lhs[0])}, {2, at(p.out[0])}});
  std::vector<sharding::Access> accesses;
  int32_t next = p.groups > 1 && groups_first ? 2 : 1;
  for (size_t i = 0; i + 2 < lhs.size(); ++i) {
    const DimWindow w = WindowAt(p, rhs, i);
    const int64_t windows = out[p.out[2 + i]];
    // The larger factor comes first.
    const int32_t of_windows = next + (windows < w.size ? 1 : 0),
                  of_window = 2 * next + 1 - of_windows;
    next += 2;
    const auto add_windows = [&] {
      rule.Add({.size = windows, .kind = w.is_trivial() ? FactorKind::kPass : FactorKind::kPermute},
               {{0, at(p.lhs[2 + i])}, {2, at(p.out[2 + i])}});
    };
    if (of_windows < of_window) add_windows();
    rule.Add({.size = w.size, .kind = FactorKind::kReduce}, {{1, at(p.rhs[2 + i])}});
    if (of_windows > of_window) add_windows();
    if (w.size == 0) continue;
    accesses.push_back(w.access(0, of_windows));
    accesses.back().window_factor = of_window;
  }
  if (!groups_first) add_groups();
  const TwoDims features = PerGroup(rhs, p.rhs, p.groups, p.rhs_groups);
  rule.Add({.size = features.second, .kind = FactorKind::kReduce},
           {{0, at(p.lhs[1])}, {1, at(p.rhs[1])}});
  if (features.first > 1)
    rule.Add({.size = features.first}, {{1, at(p.rhs[0])}, {2, at(p.out[1])}});
  DimMap map = rule.Build();
  map.accesses = std::move(accesses);
  map.linear = {{.operands = {0}}, {.operands = {1}}};
  map.traits.product = true;
  return map;
}

ir::ParamsPtr OfViews(const ir::Params* params, const std::vector<bool>& viewed) {
  ConvolutionParams local = ParamsOf(params);
  for (size_t i = 0; i < local.strides.size(); ++i)
    if (viewed[local.out[2 + i]]) {
      local.low[i] = local.high[i] = 0;
      local.lhs_dilation[i] = 1;
    }
  return ir::MakeParams(std::move(local));
}
ir::ParamsPtr Zero(const ir::Params*, size_t, DType t) { return IdentityOf(Reduction::kSum, t); }

// Returns the number of groups on one device. Groups are major, so a shard has several whole ones,
// or a part of one.
int64_t LocalGroups(const ConvolutionParams& p, const ir::LocalTensor& out) {
  const int64_t dim = p.out[p.out_groups], per_group = out.global[dim] / p.groups;
  return per_group == 0 ? p.groups : std::max<int64_t>(out.shape[dim] / per_group, 1);
}

void MakeConvolution(const ir::LocalCall& c, plan::Kernel* result) {
  const ConvolutionParams& p = ParamsOf(c.params);
  const Shape &lhs = c.operands[0].shape, &rhs = c.operands[1].shape, &out = c.results[0].shape;
  const Shape l = base::DenseStrides(lhs), r = base::DenseStrides(rhs), o = base::DenseStrides(out);
  const int64_t groups = LocalGroups(p, c.results[0]);
  kernels::ConvolutionDesc desc;
  desc.lhs_dtype = c.operands[0].dtype;
  desc.rhs_dtype = c.operands[1].dtype;
  desc.out_dtype = c.results[0].dtype;
  const TwoDims of_lhs = PerGroup(lhs, p.lhs, groups, p.lhs_groups),
                of_rhs = PerGroup(rhs, p.rhs, groups, p.rhs_groups),
                of_out = PerGroup(out, p.out, groups, p.out_groups);
  desc.groups = groups;
  desc.batch = of_out.first;
  desc.in_features = of_rhs.second;
  desc.out_features = of_rhs.first;
  desc.lhs = {l[p.lhs[0]], 0, l[p.lhs[1]]};
  desc.lhs.group = p.lhs_groups == 0 ? l[p.lhs[0]] * of_lhs.first : l[p.lhs[1]] * of_lhs.second;
  desc.out = {o[p.out[0]], 0, o[p.out[1]]};
  desc.out.group = p.out_groups == 0 ? o[p.out[0]] * of_out.first : o[p.out[1]] * of_out.second;
  desc.rhs = {.group = 0, .in = r[p.rhs[1]], .out = r[p.rhs[0]]};
  desc.rhs.group = p.rhs_groups == 0 ? r[p.rhs[0]] * of_rhs.first : r[p.rhs[1]] * of_rhs.second;
  for (size_t i = 0; i + 2 < lhs.size(); ++i)
    desc.dims.push_back({.window = WindowAt(p, rhs, i).kernel(),
                         .lhs_size = lhs[p.lhs[2 + i]],
                         .out_size = out[p.out[2 + i]],
                         .lhs_stride = l[p.lhs[2 + i]],
                         .rhs_stride = r[p.rhs[2 + i]],
                         .out_stride = o[p.out[2 + i]]});
  *result = kernels::Convolution(desc);
}

// Returns the coordinates of a batch or output feature, a feature and a position, within a group.
Coords CoordsIn(const std::vector<int64_t>& dims, TwoDims at, const TwoDims& per_group,
                int64_t group, int64_t groups_at, const Coords& spatial) {
  (groups_at == 0 ? at.first : at.second) +=
      group * (groups_at == 0 ? per_group.first : per_group.second);
  Coords coords(dims.size());
  coords[dims[0]] = at.first;
  coords[dims[1]] = at.second;
  for (size_t i = 0; i < spatial.size(); ++i) coords[dims[2 + i]] = spatial[i];
  return coords;
}

// Sums over the features of a group and the positions of the window.
void ConvolutionReference(const ir::ReferenceCall& call) {
  const ConvolutionParams& p = ParamsOf(call.params);
  const HostTensor &x = *call.operands[0], &y = *call.operands[1];
  HostTensor& out = *call.results[0];
  const TwoDims of_x = PerGroup(x.shape, p.lhs, p.groups, p.lhs_groups),
                of_y = PerGroup(y.shape, p.rhs, p.groups, p.rhs_groups),
                of_out = PerGroup(out.shape, p.out, p.groups, p.out_groups);
  Coords window;
  for (size_t i = 0; i + 2 < x.shape.size(); ++i) window.push_back(y.shape[p.rhs[2 + i]]);
  for (int64_t j = 0; j < out.size(); ++j) {
    const Coords at = ir::CoordsOf(out.shape, j);
    const int64_t group = p.out_groups == 0 ? at[p.out[0]] / of_out.first
                                            : at[p.out[1]] / of_out.second,
                  batch = at[p.out[0]] % of_out.first, feature = at[p.out[1]] % of_out.second;
    reference::SumOfProducts sum(out.dtype);
    for (int64_t k = 0; k < base::Elements(window) * of_y.second; ++k) {
      const Coords inside = ir::CoordsOf(window, k / of_y.second);
      Coords read(inside.size());
      bool is_element = true;
      for (size_t i = 0; i < inside.size(); ++i) {
        const int64_t position =
            at[p.out[2 + i]] * p.strides[i] + inside[i] * p.rhs_dilation[i] - p.low[i];
        read[i] = position / p.lhs_dilation[i];
        is_element = is_element && position >= 0 && position % p.lhs_dilation[i] == 0 &&
                     read[i] < x.shape[p.lhs[2 + i]];
      }
      if (!is_element) continue;
      const int64_t in = k % of_y.second;
      const int64_t a =
          ir::FlatIndex(x.shape, CoordsIn(p.lhs, {batch, in}, of_x, group, p.lhs_groups, read));
      const int64_t b =
          ir::FlatIndex(y.shape, CoordsIn(p.rhs, {feature, in}, of_y, group, p.rhs_groups, inside));
      sum.Add(x, a, y, b);
    }
    sum.StoreTo(out, j);
  }
}

// ---- derivatives --------------------------------------------------------------------------------

// Returns the numbers with the first two dims exchanged.
template <class To, class From>
To Exchanged(const From& dims) {
  To to{std::vector<int64_t>(dims.begin(), dims.end())};
  std::swap(to[0], to[1]);
  return to;
}

// The result's cotangent is convolved with the reversed kernel, whose features exchange roles.
ConvolutionParams OfLhs(const ConvolutionParams& p, const Shape& lhs, const Shape& rhs,
                        const Shape& out) {
  ConvolutionParams back{.lhs = std::vector<int64_t>(p.out),
                         .rhs = Exchanged<OperandDims<1>>(p.rhs),
                         .out = std::vector<int64_t>(p.lhs),
                         .strides = p.lhs_dilation,
                         .low = {},
                         .high = {},
                         .lhs_dilation = p.strides,
                         .rhs_dilation = p.rhs_dilation,
                         .groups = p.groups,
                         .lhs_groups = p.out_groups,
                         .rhs_groups = 1 - p.rhs_groups,
                         .out_groups = p.lhs_groups};
  for (size_t i = 0; i < p.strides.size(); ++i) {
    const DimWindow w = WindowAt(p, rhs, i).back(lhs[p.lhs[2 + i]], out[p.out[2 + i]]);
    back.low.push_back(w.low);
    back.high.push_back(w.high);
  }
  return back;
}

// The array is convolved with the result's cotangent. The batch exchanges roles with features.
ConvolutionParams OfRhs(const ConvolutionParams& p, const Shape& lhs, const Shape& rhs,
                        const Shape& out) {
  ConvolutionParams back{.lhs = Exchanged<OperandDims<0>>(p.lhs),
                         .rhs = Exchanged<OperandDims<1>>(p.out),
                         .out = Exchanged<ResultDims>(p.rhs),
                         .strides = p.rhs_dilation,
                         .low = p.low,
                         .high = {},
                         .lhs_dilation = p.lhs_dilation,
                         .rhs_dilation = p.strides,
                         .groups = p.groups,
                         .lhs_groups = 1 - p.lhs_groups,
                         .rhs_groups = 1 - p.out_groups,
                         .out_groups = 1 - p.rhs_groups};
  for (size_t i = 0; i < p.strides.size(); ++i) {
    const DimWindow w = WindowAt(p, rhs, i);
    const int64_t results = out[p.out[2 + i]],
                  covered = results == 0 ? 0 : (results - 1) * w.stride + 1;
    back.high.push_back(covered - w.spread(lhs[p.lhs[2 + i]]) + w.reach() - w.low - 1);
  }
  return back;
}

ir::ValueId ConvolutionTranspose(const ir::DiffCall& c, ir::ValueId cotangent, size_t k) {
  const ConvolutionParams& p = ParamsOf(c.params.get());
  const Shape &lhs = c.operand_types[0]->shape(), &rhs = c.operand_types[1]->shape(),
              &out = c.result_types[0]->shape();
  const ir::Type* type = CotangentTypeOf(c, k)->WithDType(c.result_types[0]->dtype());
  if (k == 1)
    return EmitSums(c.builder, c.op, ir::MakeParams(OfRhs(p, lhs, rhs, out)),
                    {{c.operands[0], cotangent}}, type);
  DimsParams spatial;
  for (size_t i = 2; i < p.rhs.size(); ++i) spatial.dims.push_back(p.rhs[i]);
  absl::c_sort(spatial.dims);
  const ir::ValueId reversed =
      c.builder.Emit(kRev, ir::MakeParams(std::move(spatial)), {c.operands[1]});
  return EmitSums(c.builder, c.op, ir::MakeParams(OfLhs(p, lhs, rhs, out)), {{cotangent, reversed}},
                  type);
}

// ---- batching -----------------------------------------------------------------------------------

// Folds the batch dim of mapped arrays into one of their dims, after the first `above` parts of it.
class Folds {
 public:
  explicit Folds(const ir::BatchCall& c) : b_(c.builder), dim_(c.dim) {}

  // Returns v [batch, ...] without its first dim: dim `d` of the others holds it.
  ir::ValueId Into(ir::ValueId v, int64_t d, int64_t above) {
    if (above > 1) v = WithoutAxes(v, {0, d + 1});
    const ir::Type* type = b_.type(v);
    Shape split(type->shape().begin() + 1, type->shape().end());
    sharding::TensorSharding s = type->sharding();
    const sharding::DimAxes batch = s.dims[0];
    s.dims.erase(s.dims.begin());
    Shape folded = split;
    folded[d] *= dim_.size;
    sharding::TensorSharding layout = s;
    layout.dims[d].axes = batch.axes;
    for (sharding::AxisPart a : s.dims[d].axes) sharding::AppendMerged(layout.dims[d].axes, a);
    int64_t at = d;
    Shape parts = type->shape();
    sharding::TensorSharding of_parts = type->sharding();
    if (above > 1) {
      parts[d + 1] /= above;
      parts.insert(parts.begin() + d + 1, above);
      of_parts.dims.insert(of_parts.dims.begin() + d + 1, unsharded_);
      v = Reshaped(v, parts, of_parts);
      ++at;
    }
    return Reshaped(Moved(v, 0, at), std::move(folded), std::move(layout));
  }

  // The inverse of Into, for a result of the type, whose batch dim is added.
  ir::ValueId OutOf(ir::ValueId v, int64_t d, int64_t above, const ir::Type* type) {
    const ir::Type* to = WithDim(type->WithWeak(false), dim_);
    Shape parts = type->shape();
    sharding::TensorSharding layout = to->sharding();
    std::rotate(layout.dims.begin(), layout.dims.begin() + 1, layout.dims.begin() + d + 1);
    parts.insert(parts.begin() + d, dim_.size);
    int64_t at = d;
    if (above > 1) {
      layout.dims[d].axes.clear();
      layout.dims[d + 1].axes.clear();
      parts[d + 1] /= above;
      parts.insert(parts.begin() + d, above);
      layout.dims.insert(layout.dims.begin() + d, unsharded_);
      ++at;
    }
    v = Moved(Reshaped(v, std::move(parts), std::move(layout)), at, 0);
    if (above > 1) {
      sharding::TensorSharding s = b_.type(v)->sharding();
      s.dims.erase(s.dims.begin() + d + 1);
      v = Reshaped(v, to->shape(), std::move(s));
    }
    return Conform(b_, v, to);
  }

  // Returns the type of a result whose dim `d` holds the batch dim.
  const ir::Type* FoldedType(const ir::Type* type, int64_t d, int64_t above) const {
    const ir::Type* to = WithDim(type->WithWeak(false), dim_);
    Shape shape = type->shape();
    shape[d] *= dim_.size;
    sharding::TensorSharding s = to->sharding();
    sharding::AxisList axes = s.dims[0].axes;
    for (sharding::AxisPart a : s.dims[d + 1].axes) sharding::AppendMerged(axes, a);
    s.dims.erase(s.dims.begin());
    s.dims[d].axes = above > 1 ? sharding::AxisList{} : axes;
    return ir::Type::Get(std::move(shape), type->dtype(), std::move(s));
  }

 private:
  ir::ValueId WithoutAxes(ir::ValueId v, std::initializer_list<int64_t> dims) {
    sharding::TensorSharding s = b_.type(v)->sharding();
    for (int64_t d : dims) s.dims[d].axes.clear();
    return Conform(b_, v, b_.type(v)->WithSharding(std::move(s)));
  }
  ir::ValueId Reshaped(ir::ValueId v, Shape shape, sharding::TensorSharding s) {
    const ir::Type* type = ir::Type::Get(std::move(shape), b_.type(v)->dtype(), std::move(s));
    return b_.EmitTyped(kReshape, nullptr, {v}, {&type, 1})[0];
  }
  ir::ValueId Moved(ir::ValueId v, int64_t from, int64_t to) {
    if (from == to) return v;
    TransposeParams p;
    for (int64_t d = 0; d < b_.type(v)->rank(); ++d) p.perm.push_back(d);
    p.perm.erase(p.perm.begin() + from);
    p.perm.insert(p.perm.begin() + to, from);
    return b_.Emit(kTranspose, ir::MakeParams(std::move(p)), {v});
  }

  ir::Builder& b_;
  const ir::MappedDim& dim_;
  const sharding::DimAxes unsharded_ = {};
};

// A batch dim of both sides becomes the major part of the groups, one of lhs a part of the batch,
// one of rhs a part of the output features.
std::vector<ir::ValueId> ConvolutionBatch(const ir::BatchCall& c) {
  ConvolutionParams p = ParamsOf(c.params.get());
  Folds folds(c);
  ir::ValueId lhs = c.operands[0], rhs = c.operands[1];
  int64_t out_dim = 0, above = 1;
  if (c.mapped[0] && c.mapped[1]) {
    if (p.groups == 1) p.lhs_groups = p.rhs_groups = p.out_groups = 0;
    lhs = folds.Into(lhs, p.lhs[p.lhs_groups], 1);
    rhs = folds.Into(rhs, p.rhs[p.rhs_groups], 1);
    out_dim = p.out[p.out_groups];
    p.groups *= c.dim.size;
  } else {
    const bool of_lhs = c.mapped[0];
    const auto above_of = [&](int64_t holds_groups, int64_t dim) {
      return holds_groups == dim ? p.groups : 1;
    };
    if (of_lhs)
      lhs = folds.Into(lhs, p.lhs[0], above_of(p.lhs_groups, 0));
    else
      rhs = folds.Into(rhs, p.rhs[0], above_of(p.rhs_groups, 0));
    out_dim = p.out[of_lhs ? 0 : 1];
    above = above_of(p.out_groups, of_lhs ? 0 : 1);
  }
  const ir::Type* type = folds.FoldedType(c.result_types[0], out_dim, above);
  const ir::ValueId made =
      c.builder.EmitTyped(c.op, ir::MakeParams(std::move(p)), {lhs, rhs}, {&type, 1})[0];
  return {folds.OutOf(made, out_dim, above, c.result_types[0])};
}

}  // namespace

constexpr OpDef kConvGeneralDilated{
    .name = "conv_general_dilated",
    .doc = "Sums of products of windows with a kernel.",
    .type = ir::TypeFn{ConvolutionType},
    .dims = ir::DimMapFn{ConvolutionDims},
    .lowering =
        ir::AsKernel{.make = MakeConvolution, .views = {.params = OfViews, .outside = Zero}},
    .reference = ir::ReferenceFn{ConvolutionReference},
    .diff = ir::Derivative{.transpose = ConvolutionTranspose},
    .params = ir::KindOf<ConvolutionParams>(),
    .batch = ConvolutionBatch,
    .flops_per_point = 2,
    .out_sharding = true,
    .operand_names = {"lhs", "rhs", ""}};

Records ConvolutionOps() {
  static constexpr const OpDef* kOps[] = {&kConvGeneralDilated};
  return kOps;
}

}  // namespace tessera::ops
