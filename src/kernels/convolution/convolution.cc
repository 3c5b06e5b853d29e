// Chooses the form of a convolution.
#include "kernels/convolution/convolution.h"

#include "base/sum_order.h"
#include "kernels/convolution/convolution_columns.h"
#include "kernels/convolution/convolution_dnnl.h"
#include "kernels/convolution/convolution_pieces.h"
#include "kernels/convolution/convolution_widening.h"

namespace tessera::kernels {

namespace {

plan::Kernel KernelOf(const ConvolutionDesc& desc) {
  if (base::KeepsSumOrder()) return ConvolutionByColumns(desc);
  const auto by_dnnl = [](const ConvolutionDesc& piece) -> std::optional<plan::Kernel> {
    const auto dnnl = ConvolutionByDnnl(piece);
    return dnnl ? std::optional(dnnl->kernel) : std::nullopt;
  };
  if (const auto pieces = ConvolutionByPieces(desc, by_dnnl)) return *pieces;
  if (HasLargeTables(desc)) return ConvolutionByColumns(desc);
  if (const auto dnnl = ConvolutionByDnnl(desc)) return dnnl->kernel;
  if (const auto widening = ConvolutionByWidening(desc)) return *widening;
  return ConvolutionByColumns(desc);
}

}  // namespace

plan::Kernel Convolution(const ConvolutionDesc& desc) {
  plan::Kernel kernel = KernelOf(desc);
  double lhs = 1, window = 1, out = 1;
  for (const ConvolutionDim& dim : desc.dims) {
    lhs *= static_cast<double>(dim.lhs_size);
    window *= static_cast<double>(dim.window.size);
    out *= static_cast<double>(dim.out_size);
  }
  const auto groups = static_cast<double>(desc.groups), batch = static_cast<double>(desc.batch);
  const auto in_features = static_cast<double>(desc.in_features),
             out_features = static_cast<double>(desc.out_features);
  kernel.flops = 2 * groups * batch * in_features * out_features * out * window;
  kernel.bytes = groups * (batch * in_features * lhs * desc.lhs_dtype.size() +
                           in_features * out_features * window * desc.rhs_dtype.size() +
                           batch * out_features * out * desc.out_dtype.size());
  return kernel;
}

}  // namespace tessera::kernels
