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

// The operand is [outer, rows, row]; the output [outer, indices, row].
struct TakeConfig {
  int64_t outer = 1, rows = 1, row_bytes = 0, indices = 1;
  int64_t size = 0;             // rows of the whole dim
  std::vector<int64_t> begins;  // the first row held, per device
  std::byte fill[8] = {};       // one element
  std::byte nothing[8] = {};    // one element that no sum notices: zero, of floats the negative one
  int64_t element = 1;          // bytes
};

// What an index outside of the dim gives.
template <class T>
T FillValue() {
  if constexpr (std::is_same_v<T, bool>)
    return true;
  else if constexpr (std::is_same_v<T, Float16> || std::is_same_v<T, BFloat16>)
    return T(std::numeric_limits<float>::quiet_NaN());
  else if constexpr (std::is_floating_point_v<T>)
    return std::numeric_limits<T>::quiet_NaN();
  else if constexpr (std::is_signed_v<T>)
    return std::numeric_limits<T>::lowest();
  else
    return std::numeric_limits<T>::max();
}

// kRow: bytes of a row, 0 if they are not known when compiled.
template <class Index, int kRow>
void RunTake(const plan::KernelCall& call) {
  const auto& config = *static_cast<const TakeConfig*>(call.config);
  if (config.row_bytes == 0) return;
  const auto* indices = reinterpret_cast<const Index*>(call.in[1]);
  const int64_t row = kRow ? kRow : config.row_bytes;
  const int64_t begin = config.begins.empty() ? 0 : config.begins[call.device];
  const Pattern nothing(config.nothing, config.element);
  const Pattern outside(begin == 0 ? config.fill : config.nothing, config.element);
  const Range range = Share(config.outer * config.indices, 1, call.part, call.parts);
  std::byte* out = call.out[0] + range.begin * row;
  int64_t o = config.indices ? range.begin / config.indices : 0;
  int64_t i = range.begin - o * config.indices;
  for (int64_t k = range.begin; k < range.end; ++k, ++i, out += row) {
    if (i == config.indices) i = 0, ++o;
    // Negative indices become large: outside.
    const auto index = static_cast<uint64_t>(static_cast<int64_t>(indices[i]));
    const uint64_t local = index - static_cast<uint64_t>(begin);
    const bool inside = index < static_cast<uint64_t>(config.size);
    if (inside && local < static_cast<uint64_t>(config.rows)) {
      const std::byte* from = call.in[0] + (o * config.rows + static_cast<int64_t>(local)) * row;
      if constexpr (kRow > 0)
        std::memcpy(out, from, kRow);
      else
        CopyBytes(out, from, row);
    } else if (inside) {
      FillBytes(out, row, nothing);
    } else {
      FillBytes(out, row, outside);
    }
  }
}

template <class Index>
plan::KernelFn TakeFunction(int64_t row_bytes) {
  switch (row_bytes) {
    case 1:
      return RunTake<Index, 1>;
    case 2:
      return RunTake<Index, 2>;
    case 4:
      return RunTake<Index, 4>;
    case 8:
      return RunTake<Index, 8>;
    default:
      return RunTake<Index, 0>;
  }
}

}  // namespace

plan::Kernel Take(const TakeDesc& desc) {
  TakeConfig config;
  config.element = desc.dtype.size();
  const auto [outer, n, inner] = base::Around(desc.operand, desc.dim);
  config.outer = outer;
  config.rows = n;
  config.row_bytes = inner * config.element;
  config.indices = base::Elements(desc.indices);
  config.size = desc.size;
  config.begins = desc.begins;
  base::VisitDType(desc.dtype, [&](auto zero) {
    const auto value = FillValue<decltype(zero)>();
    std::memcpy(config.fill, &value, sizeof(value));
  });
  if (desc.dtype.is_floating()) config.nothing[config.element - 1] = std::byte{0x80};  // -0
  const int64_t rows = config.outer * config.indices;
  const double bytes = 2.0 * static_cast<double>(rows * config.row_bytes) +
                       static_cast<double>(config.indices * desc.index.size());
  plan::Kernel kernel;
  kernel.bytes = bytes;
  kernel.max_parts = MaxParts(bytes, rows);
  base::VisitDType(desc.index, [&](auto zero) {
    using Index = decltype(zero);
    if constexpr (std::is_integral_v<Index>) kernel.fn = TakeFunction<Index>(config.row_bytes);
  });
  kernel.config = std::make_shared<const TakeConfig>(std::move(config));
  return kernel;
}

}  // namespace tessera::kernels
