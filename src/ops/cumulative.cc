// Running reductions along a dim.
#include "kernels/reduce/cumulative.h"

#include <algorithm>
#include <cmath>

#include "ir/builder.h"
#include "ops/check.h"
#include "ops/derivatives.h"
#include "ops/laid_out.h"
#include "ops/local.h"
#include "ops/ops.h"
#include "ops/params.h"
#include "ops/reference_accumulator.h"
#include "ops/reference_values.h"
#include "ops/scan.h"

namespace tessera::ops {
namespace {

using reference::Coords;
using reference::HostTensor;
using reference::kInf;
using reference::Lanes;
using reference::Larger;
using reference::Smaller;

using sharding::DimMap;
using sharding::FactorKind;

// C17: there must be one dim. C14: the elements must be numbers.
template <bool log_sum_exp>
std::vector<ShapeAndDType> CumulativeType(const TypeCall& c) {
  CheckCount(c, 1);
  const auto& dim = ir::As<CumulativeParams>(c.params).dim;
  if (dim.size() != 1) c.FailShape(17, "it runs along one dim");
  CheckDims(c, dim, c.operands[0]->rank());
  DType t = c.operands[0]->dtype();
  if (t.is_bool() || (log_sum_exp && !t.is_floating()))
    c.FailDType(14, fmt::format("it does not take {}", t.name()));
  return {{c.operands[0]->shape(), t}};
}

template <bool linear>
DimMap CumulativeDims(const ir::DimsCall& c) {
  DimMap map = sharding::Pointwise(c.operands, *c.results[0]);
  for (int64_t d : ir::As<CumulativeParams>(c.params).dim) map.factors[d].kind = FactorKind::kScan;
  if (linear) map.linear = {{.operands = {0}}};
  return map;
}

template <Reduction reduction, bool log_sum_exp>
void MakeCumulative(const ir::LocalCall& c, plan::Kernel* out) {
  const auto& p = ir::As<CumulativeParams>(c.params);
  const auto& x = c.operands[0];
  *out = log_sum_exp ? kernels::CumulativeLogSumExp(x.dtype, x.shape, p.dim[0], p.reverse)
                     : kernels::Cumulative(x.dtype, x.shape, p.dim[0], reduction, p.reverse);
}

template <ScalarOp op>
ir::ValueId Combined(ir::Builder& b, const ir::Type* type, ir::ValueId a, ir::ValueId other) {
  return b.EmitTyped(Elementwise(op), nullptr, {a, other}, {&type, 1})[0];
}
// Returns log(exp(a) + exp(other)).
ir::ValueId CombinedLogs(ir::Builder& b, const ir::Type* type, ir::ValueId a, ir::ValueId other) {
  const auto apply = [&](ScalarOp op, std::initializer_list<ir::ValueId> operands, DType t) {
    const ir::Type* made = type->WithDType(t);
    return b.EmitTyped(Elementwise(op), nullptr, operands, {&made, 1})[0];
  };
  const DType t = type->dtype();
  const ir::ValueId high = apply(ScalarOp::kMax, {a, other}, t);
  const ir::ValueId low = apply(ScalarOp::kMin, {a, other}, t);
  const ir::ValueId less = apply(ScalarOp::kExp, {apply(ScalarOp::kSub, {low, high}, t)}, t);
  const ir::ValueId sum = apply(ScalarOp::kAdd, {high, apply(ScalarOp::kLog1p, {less}, t)}, t);
  // The difference of infinities is NaN.
  return apply(ScalarOp::kSelect, {apply(ScalarOp::kIsFinite, {high}, bool_), high, sum}, t);
}

template <Reduction reduction, bool log_sum_exp>
std::vector<ir::ValueId> ExpandCumulative(ir::Builder& b, const ir::Params* params,
                                          absl::Span<const ir::ValueId> ins, const ir::Type*) {
  const DType t = b.type(ins[0])->dtype();
  const OpDef& op = log_sum_exp                     ? kCumlogsumexp
                    : reduction == Reduction::kSum  ? kCumsum
                    : reduction == Reduction::kProd ? kCumprod
                    : reduction == Reduction::kMax  ? kCummax
                                                    : kCummin;
  return {ScanOnShards(
      b, ins[0],
      {.op = op,
       .params = ir::As<CumulativeParams>(params),
       .identity = IdentityOf(log_sum_exp ? Reduction::kMax : reduction, t),
       .combine = log_sum_exp ? CombinedLogs : Combined<plan::ScalarOpOf(reduction)>})};
}

std::vector<Coords> CumulativeLanes(const ir::ReferenceCall& call) {
  const auto& params = ir::As<CumulativeParams>(call.params);
  std::vector<Coords> lanes = Lanes(call.operands[0]->shape, params.dim[0]);
  if (params.reverse)
    for (Coords& lane : lanes) std::ranges::reverse(lane);
  return lanes;
}

void Cumulate(const ir::ReferenceCall& call, Reduction reduction) {
  const HostTensor& x = *call.operands[0];
  for (const Coords& lane : CumulativeLanes(call)) {
    reference::ReferenceAccumulator accumulator(reduction, x.dtype);
    for (int64_t i : lane) {
      accumulator.Add(x, i);
      accumulator.StoreTo(*call.results[0], i);
    }
  }
}

void CumSumReference(const ir::ReferenceCall& call) { Cumulate(call, Reduction::kSum); }
void CumProdReference(const ir::ReferenceCall& call) { Cumulate(call, Reduction::kProd); }
void CumMaxReference(const ir::ReferenceCall& call) { Cumulate(call, Reduction::kMax); }
void CumMinReference(const ir::ReferenceCall& call) { Cumulate(call, Reduction::kMin); }

// Returns log(exp(a) + exp(b)).
double LogAddExp(double a, double b) {
  const double high = Larger(a, b), low = Smaller(a, b);
  if (std::isnan(high) || std::isinf(high)) return high;
  return high + std::log1p(std::exp(low - high));
}

void CumLogSumExpReference(const ir::ReferenceCall& call) {
  const HostTensor& x = *call.operands[0];
  for (const Coords& lane : CumulativeLanes(call)) {
    double sum = -kInf;
    for (int64_t i : lane) {
      sum = LogAddExp(sum, x.Float(i));
      call.results[0]->SetFloat(i, sum);
    }
  }
}

// `log_sum_exp` replaces the reduction.
template <Reduction reduction, bool log_sum_exp = false>
constexpr OpDef CumulativeOp(const FamilyFields& f) {
  return {.name = f.name,
          .doc = f.doc,
          .type = ir::TypeFn{CumulativeType<log_sum_exp>},
          .dims = ir::DimMapFn{CumulativeDims < reduction == Reduction::kSum && !log_sum_exp > },
          .lowering = ir::AsKernel{MakeCumulative<reduction, log_sum_exp>,
                                   ExpandCumulative<reduction, log_sum_exp>},
          .reference = *f.reference,
          .diff = *f.diff,
          .params = ir::KindOf<CumulativeParams>(),
          .flops_per_point = log_sum_exp ? 30.0 : 1.0,
          .out_sharding = true};
}

// ---- Derivatives --------------------------------------------------------------------------------

ir::ValueId CumsumTranspose(const ir::DiffCall& c, ir::ValueId cotangent, size_t) {
  CumulativeParams back = ir::As<CumulativeParams>(c.params.get());
  back.reverse = !back.reverse;
  return AsCotangent(c, 0, kCumsum, ir::MakeParams(std::move(back)), {cotangent});
}

// A running value with its tangent.
struct Dual {
  X value, tangent;
};
// Computes prefixes by doubling: after step k each element covers the 2^k up to it (Hillis and
// Steele, "Data parallel algorithms", 1986). Pair::Join(a, b) joins a prefix with the run after it.
template <class Pair>
ir::ValueId RunningTangent(const ir::DiffCall& c, ir::ValueId tangent) {
  const auto& p = ir::As<CumulativeParams>(c.params.get());
  const int64_t dim = p.dim[0], size = c.operand_types[0]->shape()[dim];
  Dual all{X(c.builder, c.operands[0]), X(c.builder, tangent)};
  for (int64_t step = 1; step < size; step *= 2) {
    const int64_t by = p.reverse ? -step : step;
    all = Pair::Join(
        {Shifted(all.value, dim, by, Pair::kIdentity), Shifted(all.tangent, dim, by, 0)}, all);
  }
  return all.tangent.id();
}

struct ProductPair {
  static constexpr double kIdentity = 1;
  static Dual Join(Dual a, Dual b) {
    return {a.value * b.value, a.tangent * b.value + a.value * b.tangent};
  }
};
template <ScalarOp op>
struct ExtremePair {
  static constexpr double kIdentity = op == ScalarOp::kMax ? -kInf : kInf;
  static Dual Join(Dual a, Dual b) {
    const X value = Apply(op, {a.value, b.value}), zero = value.Number(0);
    const X both = Where(Equal(a.value, b.value), value.Number(0.5), value.Number(1));
    const X of_a = Where(Equal(a.value, value), both, zero);
    const X of_b = Where(Equal(b.value, value), both, zero);
    return {value, a.tangent * of_a + b.tangent * of_b};
  }
};
struct LogSumExpPair {
  static constexpr double kIdentity = -kInf;
  static Dual Join(Dual a, Dual b) {
    const X high = Apply(ScalarOp::kMax, {a.value, b.value});
    // If the maximum is infinite, the differences are NaN.
    const X finite = Apply(ScalarOp::kIsFinite, {high}), zero = high.Number(0);
    const X shift = Where(finite, high, zero);
    const X ea = Exp(a.value - shift), eb = Exp(b.value - shift), sum = ea + eb;
    const X value = Where(finite, shift + Log(sum), high);
    const X safe = Where(Equal(sum, zero), high.Number(1), sum);
    return {value, a.tangent * (ea / safe) + b.tangent * (eb / safe)};
  }
};

}  // namespace

constexpr OpDef kCumsum =
    CumulativeOp<Reduction::kSum>({.name = "cumsum",
                                   .doc = "Running sum.",
                                   .reference = CumSumReference,
                                   .diff = ir::Derivative{.transpose = CumsumTranspose}});
constexpr OpDef kCumprod =
    CumulativeOp<Reduction::kProd>({.name = "cumprod",
                                    .doc = "Running product.",
                                    .reference = CumProdReference,
                                    .diff = ir::Derivative{.of = {RunningTangent<ProductPair>}}});
constexpr OpDef kCummax = CumulativeOp<Reduction::kMax>(
    {.name = "cummax",
     .doc = "Running maximum.",
     .reference = CumMaxReference,
     .diff = ir::Derivative{.of = {RunningTangent<ExtremePair<ScalarOp::kMax>>}}});
constexpr OpDef kCummin = CumulativeOp<Reduction::kMin>(
    {.name = "cummin",
     .doc = "Running minimum.",
     .reference = CumMinReference,
     .diff = ir::Derivative{.of = {RunningTangent<ExtremePair<ScalarOp::kMin>>}}});
constexpr OpDef kCumlogsumexp = CumulativeOp<Reduction::kSum, /*log_sum_exp=*/true>(
    {.name = "cumlogsumexp",
     .doc = "Running log of the sum of exponentials.",
     .reference = CumLogSumExpReference,
     .diff = ir::Derivative{.of = {RunningTangent<LogSumExpPair>}}});

Records CumulativeOps() {
  static constexpr const OpDef* kOps[] = {&kCumsum, &kCumprod, &kCummax, &kCummin, &kCumlogsumexp};
  return kOps;
}

}  // namespace tessera::ops
