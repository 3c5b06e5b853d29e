// States convolutions in the terms of oneDNN.
#include "kernels/convolution/dnnl_problem.h"

#include <absl/algorithm/container.h>

#include <algorithm>

namespace tessera::kernels {
namespace {

using Sizes = dnnl::memory::dims;

std::optional<dnnl::memory::data_type> DnnlType(DType dtype) {
  if (dtype == f32) return dnnl::memory::data_type::f32;
  if (dtype == bf16) return dnnl::memory::data_type::bf16;
  return std::nullopt;
}

// The spatial dims of a buffer.
struct SpatialPart {
  Sizes sizes, strides;
};

// Describes [outer, groups * features, spatial...], or nothing if groups and features are not
// one dim.
std::optional<dnnl::memory::desc> ImagesOf(DType dtype, int64_t outer, int64_t outer_stride,
                                           int64_t groups, int64_t group_stride, int64_t features,
                                           int64_t feature_stride, const SpatialPart& spatial) {
  if (groups > 1 && features > 1 && group_stride != features * feature_stride) return std::nullopt;
  Sizes sizes = {outer, groups * features};
  Sizes strides = {outer_stride, features > 1 || groups == 1 ? feature_stride : group_stride};
  sizes.insert(sizes.end(), spatial.sizes.begin(), spatial.sizes.end());
  strides.insert(strides.end(), spatial.strides.begin(), spatial.strides.end());
  return dnnl::memory::desc(sizes, *DnnlType(dtype), strides);
}

// Describes [groups, out, in, spatial...], without groups if there is one.
dnnl::memory::desc FiltersOf(DType dtype, int64_t groups, int64_t group_stride, int64_t out,
                             int64_t out_stride, int64_t in, int64_t in_stride,
                             const SpatialPart& spatial) {
  Sizes sizes = {out, in}, strides = {out_stride, in_stride};
  sizes.insert(sizes.end(), spatial.sizes.begin(), spatial.sizes.end());
  strides.insert(strides.end(), spatial.strides.begin(), spatial.strides.end());
  if (groups > 1)
    sizes.insert(sizes.begin(), groups), strides.insert(strides.begin(), group_stride);
  return {sizes, *DnnlType(dtype), strides};
}

// One spatial dim of lhs, of oneDNN's kernel and of the third array, with its padding.
struct DnnlDim {
  int64_t lhs = 1, skipped = 0, stride = 1, dilation = 1, left = 0, right = 0;
};

std::optional<DnnlDim> PaddedDim(const ConvolutionDim& dim, DnnlForm form) {
  const WindowDim& w = dim.window;
  const int64_t reach = (w.size - 1) * w.window_dilation;
  if (form == DnnlForm::kData) {
    DnnlDim d{.lhs = dim.lhs_size, .stride = w.base_dilation, .dilation = w.window_dilation};
    d.left = reach - w.low;
    d.right = (dim.lhs_size - 1) * d.stride + reach + 1 - dim.out_size - d.left;
    if (d.left < 0 || d.right + d.stride < 0) return std::nullopt;
    return d;
  }
  DnnlDim d{.stride = w.stride, .dilation = w.window_dilation};
  if (form == DnnlForm::kWeights) std::swap(d.stride, d.dilation);
  d.skipped = std::max<int64_t>(-w.low, 0), d.left = std::max<int64_t>(w.low, 0);
  d.lhs = dim.lhs_size - d.skipped;
  d.right = (dim.out_size - 1) * w.stride + reach + 1 - d.left - d.lhs;
  if (d.right < 0) d.lhs += d.right, d.right = 0;
  if (d.lhs <= 0) return std::nullopt;
  return d;
}

int64_t Product(const ConvolutionDesc& desc, int64_t (*size)(const ConvolutionDim&)) {
  int64_t n = 1;
  for (const ConvolutionDim& dim : desc.dims) n *= size(dim);
  return n;
}

}  // namespace

DnnlForm DnnlFormOf(const ConvolutionDesc& desc) {
  if (absl::c_any_of(desc.dims, [](const auto& d) { return d.window.base_dilation > 1; }))
    return DnnlForm::kData;
  const int64_t window = Product(desc, [](const ConvolutionDim& d) { return d.window.size; });
  const int64_t out = Product(desc, [](const ConvolutionDim& d) { return d.out_size; });
  constexpr int64_t kLargeWindow = 16;
  const bool reverses = absl::c_any_of(desc.dims, [](const auto& d) { return d.reverse; });
  return window > out && window >= kLargeWindow && !reverses ? DnnlForm::kWeights
                                                             : DnnlForm::kForward;
}

std::optional<DnnlProblem> StateForDnnl(const ConvolutionDesc& desc, DnnlForm form) {
  if (desc.lhs_dtype != desc.rhs_dtype || !DnnlType(desc.lhs_dtype) || !DnnlType(desc.out_dtype) ||
      (desc.lhs_dtype == f32 && desc.out_dtype != f32))
    return std::nullopt;
  DnnlProblem p;
  p.form = form;
  SpatialPart lhs, rhs, out;
  std::optional<bool> flips;
  for (const ConvolutionDim& dim : desc.dims) {
    const auto d = PaddedDim(dim, form);
    if (!d) return std::nullopt;
    if (form == DnnlForm::kData ? dim.window.stride > 1 : dim.window.base_dilation > 1)
      return std::nullopt;
    p.strides.push_back(d->stride), p.dilations.push_back(d->dilation - 1);
    p.left.push_back(d->left), p.right.push_back(d->right);
    p.lhs_offset += d->skipped * dim.lhs_stride;
    lhs.sizes.push_back(d->lhs), lhs.strides.push_back(dim.lhs_stride);
    rhs.sizes.push_back(dim.window.size), rhs.strides.push_back(dim.rhs_stride);
    out.sizes.push_back(dim.out_size), out.strides.push_back(dim.out_stride);
    if (dim.window.size == 1) continue;
    const bool is_reversed = dim.reverse != (form == DnnlForm::kData);
    if (flips && *flips != is_reversed) return std::nullopt;
    flips = is_reversed;
  }
  p.flips = flips.value_or(false);
  if (lhs.sizes.empty())
    for (SpatialPart* part : {&lhs, &rhs, &out}) part->sizes = part->strides = {1};
  if (desc.dims.empty()) p.strides = {1}, p.dilations = p.left = p.right = {0};
  const int64_t g = desc.groups, n = desc.batch, c = desc.in_features, k = desc.out_features;
  const DType in = desc.lhs_dtype;
  std::optional<dnnl::memory::desc> left, right, result;
  if (form == DnnlForm::kWeights) {
    left = ImagesOf(in, c, desc.lhs.feature, g, desc.lhs.group, n, desc.lhs.batch, lhs);
    right = ImagesOf(in, c, desc.rhs.in, g, desc.rhs.group, k, desc.rhs.out, rhs);
    result =
        FiltersOf(desc.out_dtype, g, desc.out.group, k, desc.out.feature, n, desc.out.batch, out);
  } else {
    const bool data = form == DnnlForm::kData;
    left = ImagesOf(in, n, desc.lhs.batch, g, desc.lhs.group, c, desc.lhs.feature, lhs);
    right = data ? FiltersOf(in, g, desc.rhs.group, c, desc.rhs.in, k, desc.rhs.out, rhs)
                 : FiltersOf(in, g, desc.rhs.group, k, desc.rhs.out, c, desc.rhs.in, rhs);
    result =
        ImagesOf(desc.out_dtype, n, desc.out.batch, g, desc.out.group, k, desc.out.feature, out);
  }
  if (!left || !right || !result) return std::nullopt;
  p.lhs = *left, p.rhs = *right, p.out = *result;
  return p;
}

}  // namespace tessera::kernels
