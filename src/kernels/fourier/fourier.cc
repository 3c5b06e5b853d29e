// Chooses how a Fourier kernel computes, and makes it.
#include "kernels/fourier/fourier.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/sum_order.h"
#include "kernels/fourier/fourier_config.h"
#include "kernels/parts.h"

namespace tessera::kernels {
namespace {

// Shorter transforms fill few lanes if a row is seen as a matrix.
constexpr int64_t kShortRow = 64;
// The buffers of longer transforms are in the last cache, or in none. Columns are transformed in
// lanes up to the second length, since reading one column alone reads a cache line per element.
constexpr int64_t kLongestLanes = int64_t{1} << 12, kLongestColumns = int64_t{1} << 16;

bool UsesLanes(const FourierDesc& desc, int64_t length, int64_t lanes) {
  if (length < kShortRow) return true;
  if (base::KeepsSumOrder()) return length <= kLongestLanes;  // whatever the number of rows
  const int64_t at_once = desc.outer * desc.inner;
  return 2 * at_once >= lanes && length <= (desc.inner > 1 ? kLongestColumns : kLongestLanes);
}

template <class T>
plan::Kernel Make(const FourierDesc& desc) {
  const FourierCode<T> code = FourierCodeOf<T>();
  auto c = std::make_shared<FourierConfig<T>>();
  c->desc = desc;
  c->length = c->is_paired() ? desc.n / 2 : desc.n;
  plan::Kernel kernel;
  kernel.fn = code.run;
  const int64_t transforms = desc.outer * desc.inner;
  if (transforms == 0 || desc.n == 0) {
    kernel.fn = [](const plan::KernelArgs&) {};
    return kernel;
  }
  if (c->is_paired())
    for (int64_t k = 0; k <= c->length; ++k) c->roots.push_back(RootOfUnity<T>(k, desc.n));
  if (UsesLanes(desc, c->length, code.lanes))
    c->lanes = std::make_unique<const LaneTransform<T>>(c->length);
  else
    c->row = std::make_unique<const RowTransform<T>>(c->length, code.lanes);
  const auto count = static_cast<double>(transforms), n = static_cast<double>(c->length);
  kernel.flops = 5 * count * n * std::log2(std::max(n, 2.0));
  kernel.bytes = count * static_cast<double>(2 * sizeof(T) * (c->is_real() ? desc.n : 2 * desc.n));
  kernel.scratch_bytes = code.scratch_bytes(*c);
  const int64_t units = c->lanes ? (transforms + code.lanes - 1) / code.lanes : transforms;
  kernel.max_parts = MaxParts(2 * kernel.bytes, units);
  // All elements of a transform are read before the first is written.
  kernel.in_place = c->is_real() ? 0 : 1;
  kernel.config = std::move(c);
  return kernel;
}

}  // namespace

plan::Kernel Fourier(const FourierDesc& desc) {
  return desc.is_wide ? Make<double>(desc) : Make<float>(desc);
}

}  // namespace tessera::kernels
