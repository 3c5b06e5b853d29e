// Convolutions of any dtype and form: the elements of each window become the row of a matrix, which
// is multiplied by the matrix of rhs. Blocks of rows stay in the cache.
#include "kernels/convolution/convolution_columns.h"

#include <algorithm>

#include "base/at.h"
#include "base/divide.h"
#include "base/dtype.h"
#include "base/shape.h"
#include "kernels/elements/scalar_elements.h"
#include "kernels/gemm/gemm.h"
#include "kernels/parts.h"
#include "kernels/window/windowed_dims.h"

namespace tessera::kernels {
namespace {

constexpr int64_t kBlockElements = 1 << 16;  // of windows that are multiplied together

struct ColumnsOfWindows {
  ConvolutionDesc desc;
  GemmType type = GemmType::kF32;
  int64_t positions = 1;  // windows per batch index
  int64_t window = 1;     // elements of a window, without features
  int64_t columns = 0;    // elements of a window with features
  int64_t block = 1, blocks = 1;
  // Per spatial dim, window and element: its offset in lhs, or -1 if it is padding.
  std::vector<std::vector<int64_t>> offsets;
  std::vector<int64_t> rhs_offsets;  // of the elements of the window
  std::unique_ptr<Gemm> gemm;
  int64_t rhs = 0, out = 0;  // offsets in scratch, in bytes; windows are at 0
};

GemmType ProductType(const ConvolutionDesc& d) {
  const bool floats = d.lhs_dtype.is_floating() || d.rhs_dtype.is_floating();
  if (d.lhs_dtype == f64 || d.rhs_dtype == f64 || d.out_dtype == f64) return GemmType::kF64;
  if (floats || d.out_dtype.is_floating()) return GemmType::kF32;
  // Products wrap, so operands with more bits than the result may be cut to its size.
  return d.out_dtype.size() == 8 ? GemmType::kI64 : GemmType::kI32;
}

template <class F>
void VisitProduct(GemmType type, F f) {
  switch (type) {
    case GemmType::kF32:
      return f(float{});
    case GemmType::kF64:
      return f(double{});
    case GemmType::kI32:
      return f(int32_t{});
    default:
      return f(int64_t{});
  }
}

// Calls f(stored element, element of the product).
template <class F>
void VisitElements(DType dtype, GemmType type, F f) {
  base::VisitDType(
      dtype, [&](auto stored) { VisitProduct(type, [&](auto product) { f(stored, product); }); });
}

class ColumnsRun {
 public:
  ColumnsRun(const ColumnsOfWindows& c, const plan::KernelArgs& call)
      : c_(c), d_(c.desc), call_(call) {}

  void Run() {
    const Range units = Share(d_.groups * d_.batch * c_.blocks, 1, call_.part, call_.parts);
    int64_t packed = -1;
    for (int64_t u = units.begin; u < units.end; ++u) {
      const int64_t group = u / (d_.batch * c_.blocks), batch = u / c_.blocks % d_.batch;
      if (group != packed) PackRhs(group);
      packed = group;
      const int64_t first = u % c_.blocks * c_.block;
      Block(group, batch, first, std::min(first + c_.block, c_.positions));
    }
  }

 private:
  void Block(int64_t group, int64_t batch, int64_t first, int64_t last) {
    VisitElements(d_.lhs_dtype, c_.type, [&](auto stored, auto product) {
      using From = decltype(stored);
      using To = decltype(product);
      const From* in =
          reinterpret_cast<const From*>(call_.in[0]) + group * d_.lhs.group + batch * d_.lhs.batch;
      To* row = reinterpret_cast<To*>(call_.scratch);
      for (int64_t p = first; p < last; ++p, row += c_.columns) CopyWindow(p, in, row);
    });
    c_.gemm->Run(last - first, d_.out_features, call_.scratch, call_.scratch + c_.rhs,
                 call_.scratch + c_.out);
    VisitElements(d_.out_dtype, c_.type, [&](auto stored, auto product) {
      using To = decltype(stored);
      using From = decltype(product);
      To* out = reinterpret_cast<To*>(call_.out[0]) + group * d_.out.group + batch * d_.out.batch;
      const From* row = reinterpret_cast<const From*>(call_.scratch + c_.out);
      for (int64_t p = first; p < last; ++p, row += d_.out_features) {
        To* to = out + OutOffset(p);
        for (int64_t k = 0; k < d_.out_features; ++k)
          to[k * d_.out.feature] = To(Cast<Compute<To>>(row[k]));
      }
    });
  }

  int64_t OutOffset(int64_t position) const {
    int64_t offset = 0;
    for (size_t d = d_.dims.size(); d-- > 0; position /= d_.dims[d].out_size)
      offset += position % d_.dims[d].out_size * d_.dims[d].out_stride;
    return offset;
  }

  // Copies the elements of a window: [elements, features].
  template <class From, class To>
  void CopyWindow(int64_t position, const From* in, To* out) {
    FindElements(position);
    for (const int64_t offset : elements_) {
      if (offset < 0) {
        out = std::fill_n(out, d_.in_features, To{});
        continue;
      }
      const From* from = in + offset;
      for (int64_t c = 0; c < d_.in_features; ++c)
        *out++ = To(Cast<Compute<To>>(Widen(from[c * d_.lhs.feature])));
    }
  }

  // Sets elements_ to the offset in lhs of each element of the window, or -1.
  void FindElements(int64_t position) {
    elements_ = {0};
    int64_t rest = c_.positions;
    for (size_t d = 0; d < d_.dims.size(); ++d) {
      const int64_t size = d_.dims[d].window.size;
      rest /= d_.dims[d].out_size;
      const int64_t* offsets = c_.offsets[d].data() + position / rest * size;
      position %= rest;
      next_.clear();
      for (const int64_t outer : elements_)
        for (int64_t w = 0; w < size; ++w)
          next_.push_back(outer < 0 || offsets[w] < 0 ? -1 : outer + offsets[w]);
      std::swap(elements_, next_);
    }
  }

  // Copies rhs of a group: [elements, in features, out features].
  void PackRhs(int64_t group) {
    VisitElements(d_.rhs_dtype, c_.type, [&](auto stored, auto product) {
      using From = decltype(stored);
      using To = decltype(product);
      const From* in = reinterpret_cast<const From*>(call_.in[1]) + group * d_.rhs.group;
      To* out = reinterpret_cast<To*>(call_.scratch + c_.rhs);
      for (const int64_t offset : c_.rhs_offsets)
        for (int64_t c = 0; c < d_.in_features; ++c)
          for (int64_t k = 0; k < d_.out_features; ++k)
            *out++ = To(Cast<Compute<To>>(Widen(in[offset + c * d_.rhs.in + k * d_.rhs.out])));
    });
  }

  const ColumnsOfWindows& c_;
  const ConvolutionDesc& d_;
  const plan::KernelArgs& call_;
  std::vector<int64_t> elements_, next_;
};

void RunColumnsOfWindows(const plan::KernelArgs& call) {
  ColumnsRun(*static_cast<const ColumnsOfWindows*>(call.config), call).Run();
}

// Returns the offsets in lhs of each element of each window along a dim.
std::vector<int64_t> LhsOffsets(const ConvolutionDim& dim) {
  const WindowedDim windowed{dim.lhs_size, dim.out_size, dim.window};
  std::vector<int64_t> offsets;
  for (int64_t o = 0; o < dim.out_size; ++o) {
    for (int64_t w = 0; w < dim.window.size; ++w) {
      const int64_t i = windowed.Index(o, w);
      offsets.push_back(i < 0 ? -1 : i * dim.lhs_stride);
    }
  }
  return offsets;
}

std::vector<int64_t> RhsOffsets(const ConvolutionDesc& desc) {
  std::vector<int64_t> offsets = {0}, next;
  for (const ConvolutionDim& dim : desc.dims) {
    next.clear();
    for (const int64_t outer : offsets)
      for (int64_t w = 0; w < dim.window.size; ++w)
        next.push_back(outer + (dim.reverse ? dim.window.size - 1 - w : w) * dim.rhs_stride);
    std::swap(offsets, next);
  }
  return offsets;
}

}  // namespace

plan::Kernel ConvolutionByColumns(const ConvolutionDesc& desc) {
  auto c = std::make_shared<ColumnsOfWindows>();
  c->desc = desc;
  c->type = ProductType(desc);
  for (const ConvolutionDim& dim : desc.dims) {
    c->positions *= dim.out_size, c->window *= dim.window.size;
    c->offsets.push_back(LhsOffsets(dim));
  }
  c->rhs_offsets = RhsOffsets(desc);
  c->columns = c->window * desc.in_features;
  c->block = kBlockElements / std::max<int64_t>(c->columns, 1) / kGemmCut * kGemmCut;
  c->block = std::clamp(c->block, kGemmCut, std::max(c->positions, kGemmCut));
  c->blocks = base::CeilDiv(c->positions, c->block);
  const int64_t n = desc.out_features;
  c->gemm = std::make_unique<Gemm>(GemmDesc{.type = c->type,
                                            .m = std::min(c->block, c->positions),
                                            .n = n,
                                            .k = c->columns,
                                            .a_row = std::max<int64_t>(c->columns, 1),
                                            .b_row = std::max<int64_t>(n, 1),
                                            .c_row = n});
  int64_t size = 0;
  VisitProduct(c->type, [&](auto product) { size = sizeof product; });
  const auto lines = [&](int64_t elements) { return (elements * size + 63) / 64 * 64; };
  c->rhs = lines(c->block * c->columns);
  c->out = c->rhs + lines(c->columns * n);
  plan::Kernel kernel;
  kernel.fn = &RunColumnsOfWindows;
  kernel.scratch_bytes = c->out + lines(c->block * n);
  const int64_t units = desc.groups * desc.batch * c->blocks;
  kernel.max_parts = MaxParts(static_cast<double>(units) * static_cast<double>(c->block) *
                                  static_cast<double>(std::max(c->columns, n)) * 8,
                              units);
  kernel.config = std::move(c);
  return kernel;
}

}  // namespace tessera::kernels
