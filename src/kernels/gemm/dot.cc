// dot_general: operands become matrices, by strides where that is possible and else by packing.
#include "kernels/gemm/dot.h"

#include <absl/algorithm/container.h>

#include <algorithm>
#include <cstring>

#include "base/at.h"
#include "base/dtype.h"
#include "base/shape.h"
#include "kernels/elements/scalar_elements.h"
#include "kernels/gemm/gemm.h"
#include "kernels/gemm/gemm_types.h"
#include "kernels/parts.h"
#include "kernels/strided_dims.h"

namespace tessera::kernels {
namespace {

struct Matrix {
  DType dtype;
  StridedDims batch, rows, cols;  // dims of the operand
  bool packs = false;
  int64_t row = 0, col = 0;  // strides of the matrix that the product reads
};

enum class Cut : uint8_t { kRows, kCols };

struct DotConfig {
  Matrix a, b;
  DType out;
  int64_t m = 1, n = 1, k = 1, batch = 1;
  GemmType type = GemmType::kF32;
  bool converts_out = false;
  Cut cut = Cut::kRows;
  bool joins = true;  // neighbouring units of rows may form one product, with the same bits
  int64_t unit = kGemmCut, units = 1;                // rows or columns of a unit; units per product
  int64_t a_offset = 0, b_offset = 0, c_offset = 0;  // offsets in scratch, in bytes
  std::unique_ptr<Gemm> gemm;
};

// Decides how the product reads a matrix. The libraries need one of the strides to be 1.
void SetStrides(Matrix& m, GemmType type) {
  m.row = m.rows.count == 1 ? m.cols.count : m.rows.stride();
  m.col = m.cols.count == 1 ? 1 : m.cols.stride();
  if (m.rows.count == 1 && m.col != 1) m.row = 1;
  // A matrix that is one strided column is read as the first column of a matrix with longer rows.
  const bool unit = m.row == 1 || m.col == 1;
  const bool overlaps = (m.rows.count > 1 && m.row == 0) || (m.cols.count > 1 && m.col == 0);
  const bool wide_row = m.col != 1 || m.rows.count == 1 || m.row >= m.cols.count;
  const bool wide_col = m.col == 1 || m.cols.count == 1 || m.col >= m.rows.count;
  m.packs = !IsReadAs(m.dtype, type) || !m.rows.IsFlat() || !m.cols.IsFlat() || !unit || overlaps ||
            !wide_row || !wide_col;
  if (m.packs) m.row = std::max<int64_t>(m.cols.count, 1), m.col = 1;
}

bool Contains(const std::vector<int64_t>& v, int64_t x) { return absl::c_linear_search(v, x); }

StridedDims Select(const Shape& shape, const std::vector<int64_t>& dims) {
  const std::vector<int64_t> strides = base::DenseStrides(shape);
  StridedDims out;
  for (int64_t d : dims) out.Add(base::At(shape, d), base::At(strides, d));
  return out;
}

StridedDims Free(const Shape& shape, const std::vector<int64_t>& contract,
                 const std::vector<int64_t>& batch) {
  std::vector<int64_t> dims;
  for (int64_t d = 0; d < static_cast<int64_t>(shape.size()); ++d)
    if (!Contains(contract, d) && !Contains(batch, d)) dims.push_back(d);
  return Select(shape, dims);
}

// Sorts the contracting pairs by their order in lhs. The sum is over all of them, so the order
// is free.
void OrderContraction(DotDesc& desc) {
  std::vector<size_t> order(desc.lhs_contract.size());
  for (size_t k = 0; k < order.size(); ++k) order[k] = k;
  absl::c_sort(order,
               [&](size_t x, size_t y) { return desc.lhs_contract[x] < desc.lhs_contract[y]; });
  const auto permuted = [&](const std::vector<int64_t>& v) {
    std::vector<int64_t> out;
    for (size_t k : order) out.push_back(v[k]);
    return out;
  };
  desc.lhs_contract = permuted(desc.lhs_contract);
  desc.rhs_contract = permuted(desc.rhs_contract);
}

// Copies rows [begin, end) of one matrix of the batch to dense rows and converts them.
template <class From, class To>
void PackRows(const Matrix& m, const From* in, int64_t begin, int64_t end, To* out) {
  const int64_t inner = m.cols.sizes.empty() ? 1 : m.cols.sizes.back();
  const int64_t step = m.cols.strides.empty() ? 0 : m.cols.strides.back();
  for (int64_t r = begin; r < end; ++r) {
    const From* row = in + m.rows.Offset(r);
    for (int64_t c = 0; c < m.cols.count; c += inner) {
      const From* run = row + m.cols.Offset(c);
      for (int64_t k = 0; k < inner; ++k, ++out) {
        if constexpr (std::is_same_v<From, To>)
          *out = run[k * step];
        else if constexpr (kIsComplex<From> || kIsComplex<To>)
          *out = CastComplex<To>(Widen(run[k * step]));
        else
          *out = To(Cast<Compute<To>>(Widen(run[k * step])));
      }
    }
  }
}

// Returns where the product reads rows [begin, end) of the matrix.
const std::byte* ReadMatrix(const Matrix& m, GemmType type, const std::byte* in, int64_t batch,
                            int64_t begin, int64_t end, std::byte* scratch) {
  in += m.batch.Offset(batch) * m.dtype.size();
  if (!m.packs) return in + begin * m.row * m.dtype.size();
  base::VisitElement(m.dtype, [&](auto from) {
    VisitRead(type, [&](auto to) {
      using From = decltype(from);
      using To = decltype(to);
      PackRows<From, To>(m, reinterpret_cast<const From*>(in), begin, end,
                         reinterpret_cast<To*>(scratch));
    });
  });
  return scratch;
}

// Computes rows [begin, end) of the product at one batch index.
void RunRows(const DotConfig& c, const plan::KernelArgs& call, int64_t batch, int64_t begin,
             int64_t end, const std::byte* b) {
  const std::byte* a =
      ReadMatrix(c.a, c.type, call.in[0], batch, begin, end, call.scratch + c.a_offset);
  std::byte* out = call.out[0] + (batch * c.m + begin) * c.n * c.out.size();
  std::byte* result = c.converts_out ? call.scratch + c.c_offset : out;
  c.gemm->Run(end - begin, c.n, a, b, result);
  if (c.converts_out) ConvertProducts(c.type, c.out, result, out, (end - begin) * c.n);
}

int64_t UnitEnd(const DotConfig& c, int64_t unit) {
  const int64_t size = c.cut == Cut::kRows ? c.m : c.n;
  return unit == c.units ? size : unit * c.unit;
}

// Computes the columns of one unit. The bits of a unit do not depend on the worker that
// computes it.
void RunColumns(const DotConfig& c, const plan::KernelArgs& call, int64_t batch, int64_t unit,
                const std::byte* a, const std::byte* b) {
  const int64_t begin = unit * c.unit, end = UnitEnd(c, unit + 1);
  const int64_t size = ItemSize(c.type);
  const int64_t out_size = c.converts_out ? size : c.out.size();
  std::byte* out = call.out[0] + batch * c.m * c.n * c.out.size();
  std::byte* result = c.converts_out ? call.scratch + c.c_offset : out;
  c.gemm->Run(c.m, end - begin, a, b + begin * c.b.col * size, result + begin * out_size);
  if (!c.converts_out) return;
  for (int64_t r = 0; r < c.m; ++r) {
    const int64_t first = r * c.n + begin;
    ConvertProducts(c.type, c.out, result + first * size, out + first * c.out.size(), end - begin);
  }
}

void RunDot(const plan::KernelArgs& call) {
  const auto& c = *static_cast<const DotConfig*>(call.config);
  auto [done, last] = Share(c.batch * c.units, 1, call.part, call.parts);
  if (c.m == 0 || c.n == 0) return;
  while (done < last) {
    const int64_t batch = done / c.units, first = done % c.units;
    const int64_t count = std::min(c.units - first, last - done);
    const std::byte* b =
        ReadMatrix(c.b, c.type, call.in[1], batch, 0, c.k, call.scratch + c.b_offset);
    if (c.cut == Cut::kRows) {
      const int64_t step = c.joins ? count : 1;
      for (int64_t u = first; u < first + count; u += step)
        RunRows(c, call, batch, u * c.unit, UnitEnd(c, u + step), b);
    } else {
      const std::byte* a =
          ReadMatrix(c.a, c.type, call.in[0], batch, 0, c.m, call.scratch + c.a_offset);
      for (int64_t u = first; u < first + count; ++u) RunColumns(c, call, batch, u, a, b);
    }
    done += count;
  }
}

// Returns n rounded up to a multiple of kGemmCut.
int64_t RoundedUp(int64_t n) { return (n + kGemmCut - 1) / kGemmCut * kGemmCut; }

// Divides the product into units. Blocks of row units form one product if that does not change
// their bits. A product with few rows is cut along the columns, and each unit is always a product
// of its own, because oneDNN's bits depend on the number of columns.
void ChooseUnits(DotConfig& c) {
  c.joins = c.gemm->rows_compose();
  c.cut = c.m < 2 * kGemmCut && c.n >= 8 * kGemmCut && c.batch < 8 ? Cut::kCols : Cut::kRows;
  if (c.cut == Cut::kRows) {
    // OpenBLAS uses other kernels, with other bits, for products of less than 100^3, so no unit of
    // a larger product may be that small.
    constexpr int64_t kLeastWork = 1 << 20;
    const int64_t line = std::max<int64_t>(c.n * c.k, 1);
    const int64_t least = c.type == GemmType::kF64 && c.n > 1 ? kLeastWork / line + 1 : 1;
    c.unit = RoundedUp(c.joins ? least : std::max<int64_t>(c.m / 4, 1));
    // Few rows and columns with long sums: make two units, so that two threads have work.
    constexpr int64_t kLeastRows = 16;
    if (c.m < 2 * kGemmCut && c.m >= 2 * kLeastRows && c.batch < 8 && c.m * line >= kLeastWork) {
      c.joins = false;
      c.unit = (c.m / 2 + kLeastRows - 1) / kLeastRows * kLeastRows;
    }
    c.units = std::max<int64_t>(c.m / c.unit, 1);
    return;
  }
  c.unit = std::max<int64_t>(RoundedUp(c.n / 8), 4 * kGemmCut);
  c.units = std::max<int64_t>(c.n / c.unit, 1);
}

int64_t PlanScratch(DotConfig& c) {
  const auto rounded = [](int64_t bytes) { return (bytes + 63) / 64 * 64; };
  const int64_t size = ItemSize(c.type);
  c.b_offset = c.a.packs ? rounded(c.m * c.k * size) : 0;
  c.c_offset = c.b_offset + (c.b.packs ? rounded(c.k * c.n * size) : 0);
  return c.c_offset + (c.converts_out ? rounded(c.m * c.n * size) : 0);
}

}  // namespace

plan::Kernel DotGeneral(const DotDesc& given) {
  DotDesc desc = given;
  OrderContraction(desc);
  auto c = std::make_shared<DotConfig>();
  c->type = GemmTypeOf(desc.lhs_dtype, desc.rhs_dtype, desc.out_dtype);
  c->out = desc.out_dtype;
  c->converts_out = !IsWrittenAs(c->out, c->type);
  c->a = {desc.lhs_dtype, Select(desc.lhs, desc.lhs_batch),
          Free(desc.lhs, desc.lhs_contract, desc.lhs_batch), Select(desc.lhs, desc.lhs_contract)};
  c->b = {desc.rhs_dtype, Select(desc.rhs, desc.rhs_batch), Select(desc.rhs, desc.rhs_contract),
          Free(desc.rhs, desc.rhs_contract, desc.rhs_batch)};
  c->m = c->a.rows.count, c->n = c->b.cols.count, c->k = c->a.cols.count;
  c->batch = c->a.batch.count;
  SetStrides(c->a, c->type);
  SetStrides(c->b, c->type);
  c->gemm = std::make_unique<Gemm>(
      GemmDesc{c->type, c->m, c->n, c->k, c->a.row, c->a.col, c->b.row, c->b.col, c->n});
  ChooseUnits(*c);
  plan::Kernel kernel;
  kernel.fn = &RunDot;
  kernel.scratch_bytes = PlanScratch(*c);
  const auto count = [](int64_t x, int64_t y, int64_t z) {
    return static_cast<double>(x) * static_cast<double>(y) * static_cast<double>(z);
  };
  const double per_product = c->out.is_complex() ? 8 : 2;
  kernel.flops = per_product * count(c->m, c->n, c->k) * static_cast<double>(c->batch);
  kernel.bytes = count(c->batch, c->m, c->k) * c->a.dtype.size() +
                 count(c->batch, c->k, c->n) * c->b.dtype.size() +
                 count(c->batch, c->m, c->n) * c->out.size();
  constexpr double kPartFlops = 200e3;  // takes some microseconds
  kernel.max_parts = static_cast<int32_t>(
      std::clamp<double>(kernel.flops / kPartFlops, 1, static_cast<double>(c->batch * c->units)));
  kernel.config = std::move(c);
  return kernel;
}

}  // namespace tessera::kernels
