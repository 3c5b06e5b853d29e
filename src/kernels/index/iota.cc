// The kernel of iota: runs of counted numbers, from an offset per device.
#include <limits>
#include <memory>
#include <utility>

#include "base/defaults.h"
#include "base/shape.h"
#include "kernels/copy/copy_bytes.h"
#include "kernels/kernels.h"
#include "kernels/parts.h"

namespace tessera::kernels {
namespace {

// The output is `outer` times the runs 0 .. n-1, each index `inner` times.
struct IotaConfig {
  int64_t outer = 1, n = 1, inner = 1;
  std::vector<int64_t> offsets;
};

template <class T, class Index>
T FromIndex(Index i) {
  if constexpr (std::is_same_v<T, Float16> || std::is_same_v<T, BFloat16>)
    return T(static_cast<float>(i));
  else
    return static_cast<T>(i);
}

// out[i] = first + i. Index is the type to count in; loops of constant length vectorise.
template <class T, class Index>
void Count(T* out, Index first, int64_t n) {
  constexpr int64_t kBlock = 16;
  int64_t i = 0;
  for (; i + kBlock <= n; i += kBlock, first += kBlock)
    for (Index k = 0; k < kBlock; ++k) out[i + k] = FromIndex<T>(first + k);
  for (; i < n; ++i, ++first) out[i] = FromIndex<T>(first);
}

template <class T>
void RunIota(const plan::KernelCall& call) {
  const auto& config = *static_cast<const IotaConfig*>(call.config);
  const int64_t offset = config.offsets.empty() ? 0 : config.offsets[call.device];
  const Range runs = Share(config.outer * config.n, 64, call.part, call.parts);
  T* out = reinterpret_cast<T*>(call.out[0]) + runs.begin * config.inner;
  for (int64_t k = runs.begin; k < runs.end;) {
    const int64_t begin = k % config.n, end = std::min(config.n, begin + runs.end - k);
    if (config.inner == 1) {
      const int64_t first = begin + offset, last = end + offset;
      constexpr int64_t kLimit = std::numeric_limits<int32_t>::max();
      if (-kLimit < first && last < kLimit)
        Count<T>(out, static_cast<int32_t>(first), end - begin);
      else
        Count<T>(out, first, end - begin);
      out += end - begin;
    } else {
      for (int64_t i = begin; i < end; ++i, out += config.inner) {
        const T value = FromIndex<T>(i + offset);
        FillBytes(reinterpret_cast<std::byte*>(out), config.inner * sizeof(T),
                  Pattern(reinterpret_cast<const std::byte*>(&value), sizeof(T)));
      }
    }
    k += end - begin;
  }
}

}  // namespace

plan::Kernel Iota(DType dtype, const Shape& shape, int64_t dim, std::vector<int64_t> offsets) {
  const auto [outer, n, inner] = base::Around(shape, dim);
  IotaConfig config{.outer = outer, .n = n, .inner = inner, .offsets = std::move(offsets)};
  const int64_t runs = outer * n;
  const double elements = static_cast<double>(runs * inner), bytes = elements * dtype.size();
  plan::Kernel kernel{.fn = nullptr,
                      .config = std::make_shared<const IotaConfig>(std::move(config)),
                      .flops = elements,
                      .bytes = bytes,
                      .max_parts = MaxParts(bytes, runs / 64)};
  base::VisitDType(dtype, [&](auto zero) { kernel.fn = RunIota<decltype(zero)>; });
  return kernel;
}

}  // namespace tessera::kernels
