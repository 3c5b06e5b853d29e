// The kernels of running reductions along one dim, including logsumexp.
#include "kernels/reduce/cumulative.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <new>

#include "base/divide.h"
#include "base/dtype.h"
#include "base/shape.h"
#include "base/sum_order.h"
#include "kernels/parts.h"
#include "kernels/reduce/reduce_elements.h"
#include "kernels/reduce/running.h"

namespace tessera::kernels {
namespace {

constexpr int64_t kScanPanel = 1024;  // columns that are scanned at the same time, at most
constexpr int64_t kLeastPanel = 256;
constexpr int64_t kLeastUnits = 4;

struct ScanConfig {
  DType dtype;
  int64_t outer = 1, n = 1, inner = 1;
  int64_t panel = kScanPanel, panels = 1;
  Reduction reduction = Reduction::kSum;
  bool log_sum_exp = false;  // replaces the reduction
  bool reverse = false;
  RunningFn vectors = nullptr;  // of a panel, if there is one
  bool is_rows = false;         // `vectors` is of rows
};

// A running reduction of one column.
template <class T>
struct Simple {
  using A = Accumulator<T>;
  Reduction reduction;
  A value;

  explicit Simple(Reduction r) : reduction(r), value(ReductionIdentity<A>(r)) {}
  Compute<T> Next(Compute<T> v) {
    value = Combine<A>(reduction, value, static_cast<A>(v));
    return static_cast<Compute<T>>(value);
  }
};

// log(sum(exp(x))) as the largest x and the sum of exp(x - largest) over the others, which cannot
// overflow, and keeps its digits beside the 1 of the largest. The largest of complex numbers is the
// one with the largest real part.
template <class T>
struct LogSumExp {
  double largest = -std::numeric_limits<double>::infinity(), others = 0;

  explicit LogSumExp(Reduction) {}
  Compute<T> Next(Compute<T> v) {
    const auto x = static_cast<double>(v);
    if (x != x) largest = x;  // it stays: no comparison below is true for NaN
    if (x > largest) {
      others = (others + 1) * std::exp(largest - x);
      largest = x;
    } else if (x <= largest && !std::isinf(x)) {
      others += std::exp(x - largest);
    }
    return static_cast<Compute<T>>(std::isinf(largest) ? largest : largest + std::log1p(others));
  }
};

template <class T>
struct LogSumExp<std::complex<T>> {
  double largest = -std::numeric_limits<double>::infinity();
  Complex sum = 0;

  explicit LogSumExp(Reduction) {}
  std::complex<T> Next(std::complex<T> v) {
    const Complex x(v);
    if (x.real() > largest) {
      sum *= std::exp(largest - x.real());
      largest = x.real();
    }
    if (x.real() != -std::numeric_limits<double>::infinity()) sum += std::exp(x - largest);
    return static_cast<std::complex<T>>(largest + std::log(sum));
  }
};

template <class T, class State>
void ScanPanel(const ScanConfig& c, const T* in, T* out, int64_t columns) {
  alignas(State) std::byte memory[kScanPanel * sizeof(State)];
  State* states = reinterpret_cast<State*>(memory);
  for (int64_t j = 0; j < columns; ++j) new (states + j) State(c.reduction);
  for (int64_t i = 0; i < c.n; ++i) {
    const int64_t row = (c.reverse ? c.n - 1 - i : i) * c.inner;
    for (int64_t j = 0; j < columns; ++j)
      out[row + j] = Narrow<T>(states[j].Next(Widen(in[row + j])));
  }
}

template <class T>
void RunOf(const ScanConfig& c, const plan::KernelArgs& call) {
  const T* in = reinterpret_cast<const T*>(call.in[0]);
  T* out = reinterpret_cast<T*>(call.out[0]);
  const Range units = Share(c.outer * c.panels, 1, call.part, call.parts);
  const auto vectors = [&](int64_t offset, int64_t columns, int64_t batch) {
    c.vectors({.in = reinterpret_cast<const std::byte*>(in + offset),
               .out = reinterpret_cast<std::byte*>(out + offset),
               .n = c.n,
               .stride = c.inner,
               .columns = columns,
               .batch = batch,
               .reverse = c.reverse});
  };
  if (c.is_rows) return vectors(units.begin * c.n, 1, units.end - units.begin);
  for (int64_t u = units.begin; u < units.end; ++u) {
    const int64_t first = u % c.panels * c.panel, columns = std::min(c.panel, c.inner - first);
    const int64_t offset = u / c.panels * c.n * c.inner + first;
    if (c.vectors)
      vectors(offset, columns, 1);
    else if (c.log_sum_exp)
      ScanPanel<T, LogSumExp<T>>(c, in + offset, out + offset, columns);
    else
      ScanPanel<T, Simple<T>>(c, in + offset, out + offset, columns);
  }
}

void RunCumulative(const plan::KernelArgs& call) {
  const auto& c = *static_cast<const ScanConfig*>(call.config);
  base::VisitElement(c.dtype, [&](auto t) { RunOf<decltype(t)>(c, call); });
}

plan::Kernel Make(const Shape& shape, int64_t dim, ScanConfig config) {
  auto c = std::make_shared<ScanConfig>(config);
  const auto [outer, n, inner] = base::Around(shape, dim);
  c->outer = outer, c->n = n, c->inner = inner;
  const auto panels = [&] { return base::CeilDiv(c->inner, c->panel); };
  while (c->panel > kLeastPanel && c->outer * panels() < kLeastUnits) c->panel /= 2;
  c->panels = panels();
  // Where sums have one order, a single column is summed as several are.
  const bool rows =
      inner == 1 && (!base::KeepsSumOrder() || dim + 1 == static_cast<int64_t>(shape.size()));
  if (!c->log_sum_exp)
    c->vectors =
        rows ? RunningRowOf(c->dtype, c->reduction) : RunningColumnsOf(c->dtype, c->reduction);
  c->is_rows = rows && c->vectors;
  plan::Kernel kernel;
  kernel.fn = &RunCumulative;
  const int64_t elements = c->outer * c->n * c->inner;
  kernel.flops = (c->log_sum_exp ? 60.0 : c->vectors ? 1.0 : 4.0) * static_cast<double>(elements);
  kernel.bytes = 2.0 * static_cast<double>(elements * c->dtype.size());
  kernel.max_parts = MaxParts(8.0 * static_cast<double>(elements), c->outer * c->panels);
  kernel.in_place = 1;  // each element is read once, before it is overwritten
  kernel.config = std::move(c);
  return kernel;
}

}  // namespace

plan::Kernel Cumulative(DType dtype, const Shape& shape, int64_t dim, Reduction reduction,
                        bool reverse) {
  if (dtype.is_complex() && reduction == Reduction::kSum) {  // both parts have sums of their own
    Shape parts = shape;
    parts.push_back(2);
    return Cumulative(base::PartOf(dtype), parts, dim, reduction, reverse);
  }
  return Make(shape, dim, {.dtype = dtype, .reduction = reduction, .reverse = reverse});
}

plan::Kernel CumulativeLogSumExp(DType dtype, const Shape& shape, int64_t dim, bool reverse) {
  return Make(shape, dim, {.dtype = dtype, .log_sum_exp = true, .reverse = reverse});
}

}  // namespace tessera::kernels
