// Convolutions of f16 and bf16 in f32. Copying takes little time beside the products.
#include "kernels/convolution/convolution_widening.h"

#include <algorithm>

#include "base/divide.h"
#include "kernels/convolution/convolution_dnnl.h"
#include "kernels/parts.h"
#include "kernels/window/window_simd.h"

namespace tessera::kernels {
namespace {

struct WideningConfig {
  DnnlConvolution wide;
  int64_t lhs = 0, rhs = 0, out = 0;  // elements of the buffers
  CombineRowsFn widen = nullptr;
  CombineRowsFn narrow = nullptr;  // null: the result is f32
  // offsets in scratch, in bytes; lhs is at 0
  int64_t rhs_offset = 0, out_offset = 0, wide_offset = 0;
};

// Rounds the part's share of the result.
void NarrowShare(const WideningConfig& c, const plan::KernelArgs& call, const std::byte* wide) {
  constexpr int64_t kWide = sizeof(float), kNarrow = 2;
  const ConvolutionCut& cut = c.wide.cut;
  const Range units = Share(cut.units, 1, call.part, call.parts);
  const int64_t first = units.begin * cut.unit, last = std::min(cut.size, units.end * cut.unit);
  if (first >= last) return;
  const int64_t run = (last - first) * cut.out_stride, step = cut.size * cut.out_stride;
  for (int64_t at = first * cut.out_stride; at < c.out; at += step) {
    const std::byte* row = wide + at * kWide;
    c.narrow(&row, 1, call.out[0] + at * kNarrow, run, 0);
  }
}

void RunWidening(const plan::KernelArgs& call) {
  const auto& c = *static_cast<const WideningConfig*>(call.config);
  std::byte *lhs = call.scratch, *rhs = call.scratch + c.rhs_offset;
  c.widen(&call.in[0], 1, lhs, c.lhs, 0);
  c.widen(&call.in[1], 1, rhs, c.rhs, 0);
  const std::byte* in[] = {lhs, rhs};
  std::byte* out = c.narrow == nullptr ? call.out[0] : call.scratch + c.out_offset;
  plan::KernelArgs wide = call;
  wide.config = c.wide.kernel.config.get();
  wide.in = in, wide.out = &out;
  wide.scratch = call.scratch + c.wide_offset;
  c.wide.kernel.fn(wide);
  if (c.narrow != nullptr) NarrowShare(c, call, out);
}

}  // namespace

std::optional<plan::Kernel> ConvolutionByWidening(const ConvolutionDesc& desc) {
  const DType narrow = desc.lhs_dtype;
  if ((narrow != f16 && narrow != bf16) || desc.rhs_dtype != narrow) return std::nullopt;
  if (desc.out_dtype != narrow && desc.out_dtype != f32) return std::nullopt;
  ConvolutionDesc wide = desc;
  wide.lhs_dtype = wide.rhs_dtype = wide.out_dtype = f32;
  const std::optional<DnnlConvolution> convolution = ConvolutionByDnnl(wide);
  if (!convolution) return std::nullopt;
  auto c = std::make_shared<WideningConfig>();
  c->wide = *convolution;
  c->lhs = c->out = desc.batch * desc.groups, c->rhs = desc.groups;
  c->lhs *= desc.in_features, c->rhs *= desc.in_features * desc.out_features;
  c->out *= desc.out_features;
  for (const ConvolutionDim& dim : desc.dims)
    c->lhs *= dim.lhs_size, c->rhs *= dim.window.size, c->out *= dim.out_size;
  const RowCombiner copies = RowCombinerOf(narrow, Reduction::kSum);
  c->widen = copies.widen;
  if (desc.out_dtype != f32) c->narrow = copies.narrow;
  const auto lines = [](int64_t elements) { return base::CeilDiv(elements * 4, 64) * 64; };
  c->rhs_offset = lines(c->lhs);
  c->out_offset = c->rhs_offset + lines(c->rhs);
  c->wide_offset = c->out_offset + (c->narrow == nullptr ? 0 : lines(c->out));
  plan::Kernel kernel = c->wide.kernel;
  kernel.fn = &RunWidening;
  kernel.scratch_bytes += c->wide_offset;
  kernel.config = std::move(c);
  return kernel;
}

}  // namespace tessera::kernels
