// The kernels of argmax and argmin along one dim.
#include "kernels/reduce/arg_reduce.h"

#include <algorithm>

#include "base/dtype.h"
#include "base/shape.h"
#include "kernels/elements/scalar_elements.h"
#include "kernels/parts.h"

namespace tessera::kernels {
namespace {

constexpr int64_t kPanel = 256;  // columns whose best elements are kept at a time

struct ArgConfig {
  DType dtype, index;
  int64_t outer = 1, n = 1, inner = 1;
  int64_t panels = 1;
  bool largest = true;
};

// Whether v comes before the best so far, which was earlier: a NaN beats numbers.
template <bool kLargest, class T>
bool Beats(T v, T best) {
  if constexpr (std::is_floating_point_v<T>) {
    if (v != v) return best == best;
  }
  return kLargest ? v > best : v < best;  // false if the best is NaN
}

template <class T, bool kLargest>
void Scan(const ArgConfig& c, const T* in, int64_t columns, int64_t* at) {
  using V = Compute<T>;
  V best[kPanel];
  for (int64_t j = 0; j < columns; ++j) {
    best[j] = Widen(in[j]);
    at[j] = 0;
  }
  for (int64_t i = 1; i < c.n; ++i) {
    const T* row = in + i * c.inner;
    for (int64_t j = 0; j < columns; ++j) {
      const V v = Widen(row[j]);
      if (!Beats<kLargest>(v, best[j])) continue;
      best[j] = v;
      at[j] = i;
    }
  }
}

template <class T>
void RunOf(const ArgConfig& c, const plan::KernelArgs& call) {
  const T* in = reinterpret_cast<const T*>(call.in[0]);
  int64_t at[kPanel];
  const Range units = Share(c.outer * c.panels, 1, call.part, call.parts);
  for (int64_t u = units.begin; u < units.end; ++u) {
    const int64_t outer = u / c.panels, first = u % c.panels * kPanel;
    const int64_t columns = std::min(kPanel, c.inner - first);
    const T* origin = in + outer * c.n * c.inner + first;
    std::fill(at, at + columns, 0);
    if (c.n > 0) {
      if (c.largest)
        Scan<T, true>(c, origin, columns, at);
      else
        Scan<T, false>(c, origin, columns, at);
    }
    base::VisitDType(c.index, [&](auto t) {
      using I = decltype(t);
      I* out = reinterpret_cast<I*>(call.out[0]) + outer * c.inner + first;
      for (int64_t j = 0; j < columns; ++j) out[j] = Narrow<I>(static_cast<Compute<I>>(at[j]));
    });
  }
}

void Run(const plan::KernelArgs& call) {
  const auto& c = *static_cast<const ArgConfig*>(call.config);
  base::VisitDType(c.dtype, [&](auto t) { RunOf<decltype(t)>(c, call); });
}

}  // namespace

plan::Kernel ArgReduce(DType dtype, DType index, const Shape& shape, int64_t dim, bool largest) {
  auto c = std::make_shared<ArgConfig>();
  c->dtype = dtype;
  c->index = index;
  c->largest = largest;
  const auto [outer, n, inner] = base::Around(shape, dim);
  c->outer = outer, c->n = n, c->inner = inner;
  c->panels = (c->inner + kPanel - 1) / kPanel;
  plan::Kernel kernel;
  kernel.fn = &Run;
  const int64_t results = c->outer * c->inner, elements = results * c->n;
  kernel.flops = 4.0 * static_cast<double>(elements);
  kernel.bytes = static_cast<double>(elements * dtype.size() + results * index.size());
  kernel.max_parts = MaxParts(8.0 * static_cast<double>(elements), c->outer * c->panels);
  kernel.config = std::move(c);
  return kernel;
}

}  // namespace tessera::kernels
