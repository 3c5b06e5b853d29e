// Reductions whose kept and reduced dims alternate more than twice.
#include "kernels/reduce/reduce_mixed.h"

#include "base/dtype.h"
#include "base/shape.h"
#include "kernels/parts.h"
#include "kernels/reduce/reduce_elements.h"
#include "kernels/strided_dims.h"

namespace tessera::kernels {
namespace {

struct MixedConfig {
  DType dtype;
  Reduction reduction;
  StridedDims kept, outer;      // outer: all reduced dims but the innermost
  int64_t inner = 1, step = 1;  // the innermost reduced dim
};

template <class T>
void RunOf(const MixedConfig& c, const plan::KernelArgs& call) {
  using A = Accumulator<T>;
  const T* in = reinterpret_cast<const T*>(call.in[0]);
  T* out = reinterpret_cast<T*>(call.out[0]);
  const Range kept = Share(c.kept.count, 1, call.part, call.parts);
  for (int64_t k = kept.begin; k < kept.end; ++k) {
    const T* origin = in + c.kept.Offset(k);
    A sum = ReductionIdentity<A>(c.reduction);
    for (int64_t r = 0; r < c.outer.count; ++r) {
      const T* run = origin + c.outer.Offset(r);
      for (int64_t i = 0; i < c.inner; ++i)
        sum = Combine<A>(c.reduction, sum, static_cast<A>(Widen(run[i * c.step])));
    }
    out[k] = Narrow<T>(static_cast<Compute<T>>(sum));
  }
}

void RunReduceMixed(const plan::KernelArgs& call) {
  const auto& c = *static_cast<const MixedConfig*>(call.config);
  base::VisitElement(c.dtype, [&](auto t) { RunOf<decltype(t)>(c, call); });
}

}  // namespace

plan::Kernel ReduceMixed(DType dtype, Reduction reduction, const ReduceShape& shape) {
  auto c = std::make_shared<MixedConfig>();
  c->dtype = dtype;
  c->reduction = reduction;
  const std::vector<int64_t> strides = base::DenseStrides(shape.sizes);
  size_t innermost = 0;
  for (size_t d = 0; d < shape.sizes.size(); ++d)
    if (shape.reduced[d]) innermost = d;
  for (size_t d = 0; d < shape.sizes.size(); ++d) {
    if (d == innermost)
      c->inner = shape.sizes[d], c->step = strides[d];
    else
      (shape.reduced[d] ? c->outer : c->kept).Add(shape.sizes[d], strides[d]);
  }
  const int64_t elements = base::Elements(shape.sizes);
  plan::Kernel kernel;
  kernel.fn = &RunReduceMixed;
  kernel.flops = 4.0 * static_cast<double>(elements);
  kernel.bytes = static_cast<double>((elements + c->kept.count) * dtype.size());
  kernel.max_parts = MaxParts(8.0 * static_cast<double>(elements), c->kept.count);
  kernel.config = std::move(c);
  return kernel;
}

}  // namespace tessera::kernels
