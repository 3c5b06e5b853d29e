// Scatter: slices of an array set or updated, at positions that indices give.
#include "kernels/index/scatter.h"

#include "base/error.h"
#include "ops/check.h"
#include "ops/derivatives.h"
#include "ops/lookup.h"
#include "ops/ops.h"
#include "ops/params.h"
#include "ops/reference_values.h"

namespace tessera::ops {
namespace {

using sharding::DimMap;
using sharding::FactorKind;

// How an update changes an element.
enum class Update : uint8_t { kSet, kAdd, kMul, kMin, kMax };

constexpr std::optional<Reduction> ReductionOf(Update update) {
  switch (update) {
    case Update::kSet:
      break;
    case Update::kAdd:
      return Reduction::kSum;
    case Update::kMul:
      return Reduction::kProd;
    case Update::kMin:
      return Reduction::kMin;
    case Update::kMax:
      return Reduction::kMax;
  }
  return std::nullopt;
}

const ScatterParams& ScatterParamsOf(const ir::Params* params) {
  return ir::As<ScatterParams>(params);
}

// C13: operand and updates must have one dtype.
std::vector<ShapeAndDType> ScatterType(const TypeCall& c) {
  CheckCount(c, 3);
  CheckInteger(c, 1);
  const ir::Type &operand = *c.operands[0], &updates = *c.operands[2];
  if (operand.dtype() != updates.dtype()) FailMixed(c, 0, 2);
  CheckLookup(c, ScatterParamsOf(c.params).numbers(),
              {operand.shape(), c.operands[1]->shape(), updates.shape()}, "updates");
  return {{operand.shape(), operand.dtype()}};
}

// Devices that hold some of the updates leave partial results, if those combine.
template <Update update>
DimMap ScatterDims(const ir::DimsCall& c) {
  constexpr std::optional<Reduction> kReduction = ReductionOf(update);
  const LookupShapes shapes{*c.operands[0], *c.operands[1], *c.operands[2]};
  sharding::Factor query{.kind = FactorKind::kReplicate};
  if (kReduction) query = {.kind = FactorKind::kReduce, .reduction = *kReduction};
  DimMap map = LookupDims(RolesOf(ScatterParamsOf(c.params).numbers(), shapes), shapes,
                          /*scatters=*/true, query);
  if (update == Update::kSet) map.linear = {{.operands = {0, 2}, .kinds = sharding::kAnyKind}};
  if (update == Update::kAdd) map.linear = {{.operands = {0, 2}}};
  if (update == Update::kMul) map.linear = {{.operands = {0}}};
  return map;
}

// The operand counts once: on one of the devices whose results are combined.
template <Update update>
void MakeScatter(const ir::LocalCall& c, plan::Kernel* out) {
  const ScatterParams& p = ScatterParamsOf(c.params);
  const ir::LocalTensor &operand = c.operands[0], &indices = c.operands[1], &slices = c.operands[2];
  const LookupRoles roles = RolesOf(p.numbers(), {operand.global, indices.global, slices.global});
  sharding::AxisList partial;
  for (size_t s = 0; s < roles.slices.size(); ++s) {
    const sharding::AxisList& axes = slices.sharding->dims[s].axes;
    const bool is_update = roles.slices[s].query && !roles.slices[s].operand;
    if (is_update) partial.insert(partial.end(), axes.begin(), axes.end());
  }
  // A partial operand counts on every device.
  partial = sharding::Difference(partial, operand.sharding->unreduced);
  *out = kernels::Scatter(LocalLookup(roles, operand, indices, slices, p.mode, c.mesh, partial),
                          ReductionOf(update));
}

using ir::HostTensor;

template <Update update>
void ApplyUpdate(HostTensor& out, int64_t at, const HostTensor& updates, int64_t i) {
  if (update == Update::kSet) return out.SetFrom(at, updates, i);
  if (out.dtype.is_complex()) {
    const reference::LongComplex a = out.Complex(at), b = updates.Complex(i);
    return out.SetComplex(at, update == Update::kAdd   ? a + b
                              : update == Update::kMul ? a * b
                              : update == Update::kMin ? reference::Smaller(a, b)
                                                       : reference::Larger(a, b));
  }
  if (out.dtype.is_floating()) {
    const double a = out.Float(at), b = updates.Float(i);
    if (update == Update::kAdd) out.SetFloat(at, a + b);
    if (update == Update::kMul) out.SetFloat(at, a * b);
    if (update == Update::kMin) out.SetFloat(at, reference::Smaller(a, b));
    if (update == Update::kMax) out.SetFloat(at, reference::Larger(a, b));
    return;
  }
  const int64_t a = out.Int(at), b = updates.Int(i);
  const bool less = reference::IntLess(out.dtype, a, b);
  if (out.dtype.is_bool()) {
    const bool both = update == Update::kMul || update == Update::kMin;
    return out.SetInt(at, both ? a & b : a | b);
  }
  const auto x = static_cast<uint64_t>(a), y = static_cast<uint64_t>(b);
  if (update == Update::kAdd) out.SetInt(at, static_cast<int64_t>(x + y));
  if (update == Update::kMul) out.SetInt(at, static_cast<int64_t>(x * y));
  if (update == Update::kMin) out.SetInt(at, less ? a : b);
  if (update == Update::kMax) out.SetInt(at, less ? b : a);
}

template <Update update>
void ScatterReference(const ir::ReferenceCall& c) {
  const HostTensor &operand = *c.operands[0], &indices = *c.operands[1], &updates = *c.operands[2];
  HostTensor& out = *c.results[0];
  out.data = operand.data;
  const ScatterParams& p = ScatterParamsOf(c.params);
  ForEachLookup(p.numbers(), {operand.shape, indices.shape, updates.shape}, indices, p.mode,
                [&](int64_t slice, int64_t to) {
                  if (to >= 0) ApplyUpdate<update>(out, to, updates, slice);
                });
}

// ---- Derivatives --------------------------------------------------------------------------------

// Returns the type, varying also over the axes over which these values vary.
const ir::Type* VaryingAs(const ir::DiffCall& c, const ir::Type* type,
                          std::initializer_list<ir::ValueId> values) {
  sharding::TensorSharding s = type->sharding();
  for (ir::ValueId v : values) {
    const sharding::TensorSharding& own = c.builder.type(v)->sharding();
    if (own.varying.empty()) continue;
    s.mesh = own.mesh;
    sharding::AddTo(s.varying, own.varying);
  }
  s.unreduced = sharding::Difference(s.unreduced, s.varying);
  s.reduced = sharding::Difference(s.reduced, s.varying);
  return type->WithSharding(std::move(s));
}

// Returns the slices of `x` that the scatter writes, as a value like `type`. Each device reads its
// own; sums over devices come after this.
X Slices(const ir::DiffCall& c, X x, const ir::Type* type) {
  type = VaryingAs(c, type, {x.id(), c.operands[1]});
  type = type->WithDType(x.type()->dtype())->WithWeak(false);
  auto params = ir::MakeParams(AsGather(ScatterParamsOf(c.params.get()), x.type()->dtype()));
  return {c.builder,
          EmitSums(c.builder, kGather, std::move(params), {x.id(), c.operands[1]}, type)};
}
// Returns x with updates scattered into it by `op`.
X Scattered(const ir::DiffCall& c, const OpDef& op, X x, X updates) {
  const ir::Type* type = VaryingAs(c, x.type(), {c.operands[1], updates.id()});
  return {c.builder,
          c.builder.EmitTyped(op, c.params, {x.id(), c.operands[1], updates.id()}, {&type, 1})[0]};
}
const ir::Type* UnmixedType(const ir::Type* type, DType dtype) {
  sharding::TensorSharding s = type->sharding();
  s.unreduced.clear();
  s.reduced.clear();
  return type->WithSharding(std::move(s))->WithDType(dtype)->WithWeak(false);
}

// Returns the type with dims of size 1, which are whole.
const ir::Type* WithOnes(const ir::Type* type, const std::vector<size_t>& dims) {
  base::Shape shape = type->shape();
  sharding::TensorSharding s = type->sharding();
  for (size_t d : dims) {
    shape[d] = 1;
    if (s.mesh) s.dims[d].axes.clear();
  }
  return ir::Type::Get(std::move(shape), type->dtype(), std::move(s));
}

// Returns whether each update is the last one of its element, and so stays. Updates that fill whole
// dims of the operand are numbered once along these: the numbers of rows are as many as the rows.
X IsLast(const ir::DiffCall& c) {
  const ir::Type *updates = UnmixedType(c.operand_types[2], i64),
                 *whole = UnmixedType(c.operand_types[0], i64);
  const LookupRoles roles =
      RolesOf(ScatterParamsOf(c.params.get()).numbers(),
              {whole->shape(), c.operand_types[1]->shape(), updates->shape()});
  std::vector<size_t> own, of_whole;
  for (size_t d = 0; d < roles.operand.size(); ++d) {
    const std::optional<size_t> window = roles.operand[d].window;
    if (!window || updates->shape()[*window] != whole->shape()[d]) continue;
    own.push_back(*window);
    of_whole.push_back(d);
  }
  const DType t = WithOnes(updates, own)->elements() < INT32_MAX ? i32 : i64;
  const ir::Type* rows = WithOnes(updates, own)->WithDType(t);
  const ir::Type* flat = ir::Type::Get({rows->elements()}, t, rows->mesh());
  ir::ValueId number =
      c.builder.EmitTyped(kIota, ir::MakeParams(IotaParams{{0}}), {}, {&flat, 1})[0];
  const X numbers(c.builder, c.builder.EmitTyped(kReshape, nullptr, {number}, {&rows, 1})[0]);
  const X none(c.builder, Filled(c.builder, -1, WithOnes(whole, of_whole)->WithDType(t)));
  const X is_last = Equal(Slices(c, Scattered(c, kScatter, none, numbers), rows), numbers);
  if (own.empty()) return is_last;
  const ir::Type* spread = VaryingAs(c, UnmixedType(c.operand_types[2], bool_), {is_last.id()});
  BroadcastParams along;
  for (size_t d = 0; d < spread->shape().size(); ++d) along.dims.push_back(static_cast<int64_t>(d));
  return {c.builder, c.builder.EmitTyped(kBroadcastInDim, ir::MakeParams(std::move(along)),
                                         {is_last.id()}, {&spread, 1})[0]};
}

ir::ValueId ScatterTranspose(const ir::DiffCall& c, ir::ValueId cotangent, size_t k) {
  const X ct(c.builder, cotangent);
  if (k == 0) {
    const X zeros(c.builder, ZerosBeside(c.builder, cotangent, CotangentTypeOf(c, 2)));
    return Scattered(c, kScatter, ct, zeros).id();
  }
  const X slices = Slices(c, ct, CotangentTypeOf(c, 2));
  if (ScatterParamsOf(c.params.get()).unique) return slices.id();
  return Where(IsLast(c), slices, slices.Number(0)).id();
}
ir::ValueId ScatterAddTranspose(const ir::DiffCall& c, ir::ValueId cotangent, size_t k) {
  if (k == 0) return cotangent;
  return Slices(c, X(c.builder, cotangent), CotangentTypeOf(c, 2)).id();
}
ir::ValueId ScatterMulTranspose(const ir::DiffCall& c, ir::ValueId cotangent, size_t) {
  return Scattered(c, kScatterMul, X(c.builder, cotangent), X(c.builder, c.operands[2])).id();
}
X Nothing(const ir::DiffCall& c) {
  return {c.builder, Zeros(c.builder, UnmixedType(c.result_types[0], c.result_types[0]->dtype()))};
}
// C20: refuses updates that may name an element twice, because no derivative exists for them.
ir::ValueId ScatterMulTangent(const ir::DiffCall& c, ir::ValueId tangent) {
  if (!ScatterParamsOf(c.params.get()).unique)
    base::ThrowTrace(base::Refusal(
        "scatter_mul", 20, base::Where(c.builder.loc()),
        "its derivative with respect to the updates exists only if no element is updated twice",
        {"if that holds, set .unique_indices = true"}));
  const X before = Slices(c, X(c.builder, c.operands[0]), c.operand_types[2]);
  return Scattered(c, kScatterAdd, Nothing(c), before * X(c.builder, tangent)).id();
}

// For the lesser and the greater: equal shares for all operands and updates that are the result.
struct Shares {
  X operand, updates, count;
};
Shares SharesOf(const ir::DiffCall& c) {
  const X x(c.builder, c.operands[0]), u(c.builder, c.operands[2]), y(c.builder, c.results[0]);
  const X operand = Where(Equal(x, y), y.Number(1), y.Number(0));
  const X updates = Where(Equal(u, Slices(c, y, c.operand_types[2])), u.Number(1), u.Number(0));
  return {operand, updates, Scattered(c, kScatterAdd, operand, updates)};
}
ir::ValueId ExtremeOfOperand(const ir::DiffCall& c, ir::ValueId tangent) {
  const Shares s = SharesOf(c);
  const X divisor = Apply(plan::ScalarOp::kMax, {s.count, s.count.Number(1)});
  return (X(c.builder, tangent) * s.operand / divisor).id();
}
ir::ValueId ExtremeOfUpdates(const ir::DiffCall& c, ir::ValueId tangent) {
  const Shares s = SharesOf(c);
  const X divisor = Apply(plan::ScalarOp::kMax, {s.count, s.count.Number(1)});
  return (Scattered(c, kScatterAdd, Nothing(c), X(c.builder, tangent) * s.updates) / divisor).id();
}
constexpr ir::Derivative kExtreme{.of = {ExtremeOfOperand, nullptr, ExtremeOfUpdates}};

template <Update update>
constexpr OpDef Scatter(std::string_view name, std::string_view doc, ir::Diff diff) {
  return {.name = name,
          .doc = doc,
          .type = ir::TypeFn{ScatterType},
          .dims = ir::DimMapFn{ScatterDims<update>},
          .lowering = ir::AsKernel{MakeScatter<update>},
          .reference = ir::ReferenceFn{ScatterReference<update>},
          .diff = diff,
          .params = ir::KindOf<ScatterParams>(),
          .out_sharding = true,
          .keys = update == Update::kSet,
          .operand_names = {"operand", "indices", "updates"}};
}

}  // namespace

constexpr OpDef kScatter =
    Scatter<Update::kSet>("scatter", "Slices at index vectors set to updates.",
                          ir::Derivative{.transpose = ScatterTranspose});
constexpr OpDef kScatterAdd =
    Scatter<Update::kAdd>("scatter_add", "Slices at index vectors plus updates.",
                          ir::Derivative{.transpose = ScatterAddTranspose});
constexpr OpDef kScatterMul = Scatter<Update::kMul>(
    "scatter_mul", "Slices at index vectors times updates.",
    ir::Derivative{.of = {nullptr, nullptr, ScatterMulTangent}, .transpose = ScatterMulTranspose});
constexpr OpDef kScatterMin = Scatter<Update::kMin>(
    "scatter_min", "The lesser of slices at index vectors and updates.", kExtreme);
constexpr OpDef kScatterMax = Scatter<Update::kMax>(
    "scatter_max", "The greater of slices at index vectors and updates.", kExtreme);

Records ScatterOps() {
  static constexpr const OpDef* kOps[] = {&kScatter, &kScatterAdd, &kScatterMul, &kScatterMin,
                                          &kScatterMax};
  return kOps;
}

}  // namespace tessera::ops
