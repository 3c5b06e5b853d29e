// The kernels of argmax and argmin along one dim.
#include "kernels/reduce/arg_reduce.h"

#include <algorithm>
#include <bit>

#include "base/dtype.h"
#include "base/shape.h"
#include "kernels/copy/copy_simd.h"
#include "kernels/elements/scalar_elements.h"
#include "kernels/parts.h"
#include "kernels/reduce/arg_scan.h"

namespace tessera::kernels {
namespace {

constexpr int64_t kArgPanel = 256;  // columns whose best elements are tracked at a time
constexpr int64_t kShortRowElements =
    128;  // most elements of a row that is searched together with others
constexpr int64_t kBlockBytes = 8 << 10;  // bytes of such rows, which are transposed to columns
// With fewer columns than this, a panel is not worth starting: adjacent rows are searched as one.
constexpr int64_t kLeastArgColumns = 32;

// A search over [outer, n, inner], divided into units: blocks of short rows, or panels of columns.
struct ArgConfig {
  DType dtype, index;
  int64_t outer = 1, n = 1, inner = 1;
  int64_t units = 1;  // panels per outer index, or blocks of `rows` short rows
  int64_t rows = 0;   // short rows of a block; 0: panels
  int64_t sides = 1;  // adjacent rows that are searched as one
  ArgScan search;
};

// Returns the bytes from one column of a block to the next, with an extra line against
// set conflicts.
int64_t Pitch(const ArgConfig& c, int64_t rows) { return rows * c.dtype.size() + 64; }

class ArgRunner {
 public:
  ArgRunner(const ArgConfig& c, const plan::KernelArgs& call)
      : c_(c), size_(c.dtype.size()), call_(call) {}

  void Run() {
    const bool across = c_.rows > 0;
    const Range units = Share(across ? c_.units : c_.outer * c_.units, 1, call_.part, call_.parts);
    for (int64_t u = units.begin; u < units.end; ++u)
      across ? Rows(u * c_.rows) : Columns(u / c_.units, u % c_.units * kArgPanel);
  }

 private:
  void Rows(int64_t first) {
    const int64_t rows = std::min(c_.rows, c_.outer - first);
    const auto turn = Simd().transpose[std::countr_zero(static_cast<uint64_t>(size_))];
    const int64_t pitch = Pitch(c_, rows);
    turn(call_.scratch, pitch, call_.in[0] + first * c_.n * size_, c_.n * size_, rows, c_.n);
    c_.search.scan(Of(call_.scratch, pitch / size_, rows), 0, c_.n);
    Store(first, rows);
  }
  void Columns(int64_t outer, int64_t first) {
    const int64_t columns = std::min(kArgPanel, c_.inner - first), whole = c_.n / c_.sides;
    const std::byte* in = call_.in[0] + (outer * c_.n * c_.inner + first) * size_;
    std::fill_n(at_, columns, 0);
    if (c_.n > 0) c_.search.scan(Of(in, c_.inner * c_.sides, columns * c_.sides), 0, whole);
    if (c_.sides > 1) {
      const ArgColumns c = Of(in, c_.inner, columns);
      c_.search.fold(c, c_.sides, c_.inner);
      c_.search.scan(c, whole * c_.sides, c_.n);
    }
    Store(outer * c_.inner + first, columns);
  }
  ArgColumns Of(const std::byte* in, int64_t stride, int64_t columns) {
    return {in, stride, columns, keys_, at_};
  }
  void Store(int64_t first, int64_t n) {
    base::VisitDType(c_.index, [&](auto t) {
      using I = decltype(t);
      I* out = reinterpret_cast<I*>(call_.out[0]) + first;
      for (int64_t j = 0; j < n; ++j) out[j] = Narrow<I>(static_cast<Compute<I>>(at_[j]));
    });
  }

  const ArgConfig& c_;
  const int64_t size_;
  const plan::KernelArgs& call_;
  alignas(64) std::byte keys_[kArgPanel * 8];
  int64_t at_[kArgPanel];
};

void RunArgReduce(const plan::KernelArgs& call) {
  ArgRunner(*static_cast<const ArgConfig*>(call.config), call).Run();
}

// Chooses how the work is divided; returns the number of units.
int64_t ChooseUnits(ArgConfig& c) {
  if (c.inner == 1 && c.n > 1 && c.n <= kShortRowElements && c.outer > 1) {
    c.rows = std::clamp<int64_t>(kBlockBytes / (c.n * c.dtype.size()), 1, kArgPanel);
    c.units = (c.outer + c.rows - 1) / c.rows;
    return c.units;
  }
  if (c.inner > 0 && c.inner < kLeastArgColumns)
    c.sides = std::clamp<int64_t>(c.n / 2, 1, 2 * kLeastArgColumns / c.inner);
  c.units = (c.inner + kArgPanel - 1) / kArgPanel;
  return c.outer * c.units;
}

}  // namespace

plan::Kernel ArgReduce(DType dtype, DType index, const Shape& shape, int64_t dim, bool largest) {
  auto c = std::make_shared<ArgConfig>();
  c->dtype = dtype;
  c->index = index;
  c->search = ArgScanOf(dtype, largest);
  const auto [outer, n, inner] = base::Around(shape, dim);
  c->outer = outer, c->n = n, c->inner = inner;
  plan::Kernel kernel;
  kernel.fn = &RunArgReduce;
  const int64_t results = outer * inner, elements = results * n, units = ChooseUnits(*c);
  kernel.flops = 4.0 * static_cast<double>(elements);
  kernel.bytes = static_cast<double>(elements * dtype.size() + results * index.size());
  if (c->rows > 0) kernel.scratch_bytes = Pitch(*c, c->rows) * n;
  kernel.max_parts = MaxParts(8.0 * static_cast<double>(elements), units);
  kernel.config = std::move(c);
  return kernel;
}

}  // namespace tessera::kernels
