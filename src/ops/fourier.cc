// Discrete Fourier transforms along one dim.
#include "kernels/fourier/fourier.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/dtype.h"
#include "ops/check.h"
#include "ops/derivatives.h"
#include "ops/ops.h"
#include "ops/params.h"
#include "ops/pieces.h"
#include "ops/reference_values.h"

namespace tessera::ops {
namespace {

using ir::ValueId;
using kernels::FourierKind;
using reference::LongComplex;
using sharding::DimMap;

// C14: the elements must be complex, or real for rfft. C17: there must be one dim. C18: its size
// must suit a transform of n elements, and n must be positive.
template <FourierKind kind>
std::vector<ShapeAndDType> FourierType(const TypeCall& c) {
  constexpr bool kIsFromReal = kind == FourierKind::kFromReal;
  CheckCount(c, 1);
  const auto& p = ir::As<FourierParams>(c.params);
  if (p.dim.size() != 1) c.FailShape(17, "it runs along one dim");
  CheckDims(c, p.dim, c.operands[0]->rank());
  const DType t = c.operands[0]->dtype();
  if (kIsFromReal ? t != f32 && t != f64 : !t.is_complex())
    c.FailDType(14, fmt::format("it takes {}, not {}", kIsFromReal ? "f32 and f64" : "c64 and c128",
                                t.name()));
  Shape shape = c.operands[0]->shape();
  int64_t& size = shape[static_cast<size_t>(p.dim[0])];
  if (p.n < 1) c.FailShape(18, fmt::format("a transform needs at least one element, not {}", p.n));
  if (size != kernels::FourierInSize(kind, p.n))
    c.FailShape(18, fmt::format("a transform of {} elements has {} of them in dim {}, not {}", p.n,
                                kernels::FourierInSize(kind, p.n), p.dim[0], size));
  size = kernels::FourierOutSize(kind, p.n);
  const DType made = kIsFromReal                    ? base::ComplexOf(t)
                     : kind == FourierKind::kToReal ? base::PartOf(t)
                                                    : t;
  return {{std::move(shape), made}};
}

template <FourierKind kind>
DimMap FourierDims(const ir::DimsCall& c) {
  DimMap map = sharding::Pointwise(c.operands, *c.operands[0]);
  const auto dim = static_cast<size_t>(ir::As<FourierParams>(c.params).dim[0]);
  sharding::Factor& factor = map.factors[dim];
  factor.kind = sharding::FactorKind::kReplicate;
  factor.blocked = (*c.results[0])[dim] != factor.size;
  map.linear = {{.operands = {0}}};
  // n log2(n) steps on a complex line, half as many on a real one (fftw.org/speed/method.html).
  constexpr bool kIsReal = kind == FourierKind::kFromReal || kind == FourierKind::kToReal;
  const auto n = static_cast<double>(ir::As<FourierParams>(c.params).n);
  map.density =
      (kIsReal ? 0.5 : 1) * n * std::log2(std::max(n, 2.0)) / static_cast<double>(factor.size);
  return map;
}

template <FourierKind kind>
constexpr bool kIsInverse = kind == FourierKind::kInverse || kind == FourierKind::kToReal;

template <FourierKind kind>
void MakeFourier(const ir::LocalCall& c, plan::Kernel* out) {
  const auto& p = ir::As<FourierParams>(c.params);
  const auto [outer, n, inner] = base::Around(c.operands[0].shape, p.dim[0]);
  *out = kernels::Fourier({.kind = kind,
                           .is_wide = base::PartOf(c.operands[0].dtype) == f64,
                           .outer = outer,
                           .n = p.n,
                           .inner = inner,
                           .scale = kIsInverse<kind> ? 1 / static_cast<double>(p.n) : 1});
}

// Returns element k of the n elements for which a lane stands.
template <FourierKind kind>
LongComplex NumberAt(const ir::HostTensor& x, const reference::Coords& lane, int64_t n, int64_t k) {
  const auto at = [&](int64_t i) { return LongComplex(x.Complex(lane[static_cast<size_t>(i)])); };
  if (kind != FourierKind::kToReal) return at(k);
  if (k == 0 || 2 * k == n) return at(k).real();
  return 2 * k < n ? at(k) : std::conj(at(n - k));
}

template <FourierKind kind>
void FourierReference(const ir::ReferenceCall& call) {
  const auto& p = ir::As<FourierParams>(call.params);
  const ir::HostTensor& x = *call.operands[0];
  ir::HostTensor& y = *call.results[0];
  const auto from = reference::Lanes(x.shape, p.dim[0]), to = reference::Lanes(y.shape, p.dim[0]);
  const auto wide_n = static_cast<long double>(p.n);
  for (size_t l = 0; l < from.size(); ++l)
    for (size_t j = 0; j < to[l].size(); ++j) {
      LongComplex sum = 0;
      for (int64_t k = 0; k < p.n; ++k) {
        const auto turns = static_cast<long double>(static_cast<int64_t>(j) * k % p.n) / wide_n;
        const long double angle = 2 * std::numbers::pi_v<long double> * turns;
        sum += NumberAt<kind>(x, from[l], p.n, k) *
               std::polar(1.0L, kIsInverse<kind> ? angle : -angle);
      }
      if (kIsInverse<kind>) sum /= wide_n;
      if (y.dtype.is_complex())
        y.SetComplex(to[l][j], sum);
      else
        y.SetFloat(to[l][j], sum.real());
    }
}

// The matrix of the transform is symmetric.
ValueId SymmetricTranspose(const ir::DiffCall& c, ValueId cotangent, size_t) {
  return AsCotangent(c, 0, c.op, c.params, {cotangent});
}

// The results are the first ones of fft.
ValueId RfftTranspose(const ir::DiffCall& c, ValueId cotangent, size_t) {
  const auto& p = ir::As<FourierParams>(c.params.get());
  const auto dim = static_cast<size_t>(p.dim[0]);
  const Shape& shape = c.result_types[0]->shape();
  const X zero = X(c.builder, cotangent).Number(0);
  const ValueId padded = OfOtherSize(c, 0, kPad, PadAlong(shape.size(), dim, 0, p.n - shape[dim]),
                                     {cotangent, zero.id()});
  return Real(X(c.builder, c.builder.Emit(kFft, c.params, {padded}))).id();
}

// Every element but the first one, and the last one of an even n, stands for two.
ValueId IrfftTranspose(const ir::DiffCall& c, ValueId cotangent, size_t) {
  const auto& p = ir::As<FourierParams>(c.params.get());
  const int64_t dim = p.dim[0], size = c.operand_types[0]->shape()[static_cast<size_t>(dim)];
  const X y(c.builder, c.builder.Emit(kRfft, c.params, {cotangent}));
  const X k = IndexAlong(y, dim);
  X is_single = Equal(k, k.Number(0));
  if (p.n % 2 == 0)
    is_single =
        Apply(ScalarOp::kOr, {is_single, Equal(k, k.Number(static_cast<double>(size - 1)))});
  const auto weighted = [&](X part, double scale) {
    scale /= static_cast<double>(p.n);
    return Where(is_single, part * scale, part * (2 * scale));
  };
  return ComplexOf(weighted(Real(y), 1), weighted(Imag(y), -1)).id();
}

template <FourierKind kind>
constexpr OpDef FourierOp(std::string_view name, std::string_view doc, ir::TransposeFn transpose) {
  return {.name = name,
          .doc = doc,
          .type = ir::TypeFn{FourierType<kind>},
          .dims = ir::DimMapFn{FourierDims<kind>},
          .lowering = ir::AsKernel{MakeFourier<kind>},
          .reference = ir::ReferenceFn{FourierReference<kind>},
          .diff = ir::Derivative{.transpose = transpose},
          .params = ir::KindOf<FourierParams>(),
          .flops_per_point = 5};
}

}  // namespace

constexpr OpDef kFft = FourierOp<FourierKind::kForward>(
    "fft", "Discrete Fourier transform along a dim: sums of x[j] exp(-2 pi i j k / n).",
    SymmetricTranspose);
constexpr OpDef kIfft =
    FourierOp<FourierKind::kInverse>("ifft", "Inverse of fft, divided by n.", SymmetricTranspose);
constexpr OpDef kRfft = FourierOp<FourierKind::kFromReal>(
    "rfft", "The first n / 2 + 1 results of fft for real numbers.", RfftTranspose);
constexpr OpDef kIrfft =
    FourierOp<FourierKind::kToReal>("irfft", "Inverse of rfft, with n results.", IrfftTranspose);

Records FourierOps() {
  static constexpr const OpDef* kOps[] = {&kFft, &kIfft, &kRfft, &kIrfft};
  return kOps;
}

}  // namespace tessera::ops
