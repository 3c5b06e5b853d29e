// Scatter: slices set or combined into an array, at places that indices name.
#include "kernels/kernels.h"
#include "ops/check.h"
#include "ops/lookup.h"
#include "ops/ops.h"
#include "ops/params.h"
#include "ops/reference_values.h"

namespace tessera::ops {
namespace {

using sharding::DimMap;
using sharding::FactorKind;

// How updates join what is there.
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

const ScatterParams& ParamsOf(const ir::Params* params) { return ir::As<ScatterParams>(params); }

// C13: operand and updates have one dtype.
std::vector<ShapeAndDType> ScatterType(const TypeCall& c) {
  CheckCount(c, 3);
  CheckInteger(c, 1);
  const ir::Type &operand = *c.operands[0], &updates = *c.operands[2];
  if (operand.dtype() != updates.dtype())
    c.FailDType(13, fmt::format("operand and updates have different dtypes, {} and {}",
                                operand.dtype().name(), updates.dtype().name()));
  CheckLookup(c, ParamsOf(c.params).numbers(),
              {operand.shape(), c.operands[1]->shape(), updates.shape()}, "updates");
  return {{operand.shape(), operand.dtype()}};
}

// Devices that hold some of the updates leave partial results, if those can be combined.
template <Update update>
DimMap ScatterDims(const ir::DimsCall& c) {
  constexpr std::optional<Reduction> kReduction = ReductionOf(update);
  const LookupShapes shapes{*c.operands[0], *c.operands[1], *c.operands[2]};
  sharding::Factor query{.kind = FactorKind::kReplicate};
  if (kReduction) query = {.kind = FactorKind::kReduce, .reduction = *kReduction};
  DimMap map = LookupDims(RolesOf(ParamsOf(c.params).numbers(), shapes), shapes,
                          /*scatters=*/true, query);
  if (update == Update::kSet) map.linear = {{.operands = {0, 2}, .kinds = sharding::kAnyKind}};
  if (update == Update::kAdd) map.linear = {{.operands = {0, 2}}};
  if (update == Update::kMul) map.linear = {{.operands = {0}}};
  return map;
}

// The operand is counted once: on one of the devices whose results are combined.
template <Update update>
void MakeScatter(const ir::LocalCall& c, plan::Kernel* out) {
  const ScatterParams& p = ParamsOf(c.params);
  const ir::LocalTensor &operand = c.operands[0], &indices = c.operands[1], &slices = c.operands[2];
  const LookupRoles roles = RolesOf(p.numbers(), {operand.global, indices.global, slices.global});
  sharding::AxisList partial;
  for (size_t s = 0; s < roles.query_of.size(); ++s) {
    const bool batch = Has(roles.batch_of, static_cast<int64_t>(s));
    const sharding::AxisList& axes = slices.sharding->dims[s].axes;
    if (roles.query_of[s] >= 0 && !batch) partial.insert(partial.end(), axes.begin(), axes.end());
  }
  *out = kernels::Scatter(LocalLookup(roles, operand, indices, slices, p.mode, partial),
                          ReductionOf(update));
}

using ir::HostTensor;

template <Update update>
void Join(HostTensor& out, int64_t at, const HostTensor& updates, int64_t i) {
  if (update == Update::kSet) return out.SetFrom(at, updates, i);
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
  const ScatterParams& p = ParamsOf(c.params);
  ForEachLookup(p.numbers(), {operand.shape, indices.shape, updates.shape}, indices, p.mode,
                [&](int64_t slice, int64_t to) {
                  if (to >= 0) Join<update>(out, to, updates, slice);
                });
}

template <Update update>
constexpr OpDef Scatter(std::string_view name, std::string_view doc) {
  return {.name = name,
          .doc = doc,
          .type = ir::TypeFn{ScatterType},
          .dims = ir::DimMapFn{ScatterDims<update>},
          .lowering = ir::Kernel{MakeScatter<update>},
          .reference = ir::ReferenceFn{ScatterReference<update>},
          .params = ir::KindOf<ScatterParams>(),
          .out_sharding = true,
          .operand_names = {"operand", "indices", "updates"}};
}

}  // namespace

constexpr OpDef kScatter =
    Scatter<Update::kSet>("scatter", "Slices set to updates, where index vectors say.");
constexpr OpDef kScatterAdd =
    Scatter<Update::kAdd>("scatter_add", "Updates added to slices, where index vectors say.");
constexpr OpDef kScatterMul =
    Scatter<Update::kMul>("scatter_mul", "Slices times updates, where index vectors say.");
constexpr OpDef kScatterMin =
    Scatter<Update::kMin>("scatter_min", "The lesser of slices and updates.");
constexpr OpDef kScatterMax =
    Scatter<Update::kMax>("scatter_max", "The greater of slices and updates.");

Records ScatterOps() {
  static constexpr const OpDef* kOps[] = {&kScatter, &kScatterAdd, &kScatterMul, &kScatterMin,
                                          &kScatterMax};
  return kOps;
}

}  // namespace tessera::ops
