// One product per group. Groups are cut into blocks of rows of few different sizes, because the
// libraries prepare products for one size.
#include "kernels/gemm/ragged_dot.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <type_traits>

#include "base/dtype.h"
#include "kernels/gemm/gemm_types.h"
#include "kernels/parts.h"

namespace tessera::kernels {
namespace {

constexpr int64_t kBlock = 4 * kGemmCut;

// The rows of a group, or of no group, that are held here.
struct RowRun {
  int64_t group = -1;  // of those held here; -1: none
  int64_t begin = 0, end = 0;
};

struct RaggedConfig {
  RaggedDotDesc desc;
  GemmType type = GemmType::kF32;
  bool packs_lhs = false, packs_rhs = false, converts_out = false;
  int64_t lhs_offset = 0, rhs_offset = 0, out_offset = 0;  // in scratch, in bytes
  std::unique_ptr<Gemm> block, unit;                       // of kBlock and of kGemmCut rows
};

// Returns a size as a number from 0 to `most`.
template <class Index>
int64_t Limited(Index size, int64_t most) {
  if (size <= 0) return 0;
  return static_cast<uint64_t>(size) < static_cast<uint64_t>(most) ? static_cast<int64_t>(size)
                                                                   : most;
}

int64_t SizeAt(const RaggedDotDesc& d, const std::byte* sizes, int64_t i) {
  int64_t size = 0;
  base::VisitDType(d.sizes_dtype, [&](auto zero) {
    using Index = decltype(zero);
    if constexpr (std::is_integral_v<Index> && !std::is_same_v<Index, bool>)
      size = Limited(reinterpret_cast<const Index*>(sizes)[i], d.all_rows);
  });
  return size;
}

int64_t BeginOn(const std::vector<int64_t>& begins, int32_t device) {
  return begins.empty() ? 0 : begins[static_cast<size_t>(device)];
}

// Returns the runs of rows held here, of one batch element. They cover all rows.
std::vector<RowRun> RunsOf(const RaggedDotDesc& d, const plan::KernelArgs& call, int64_t batch) {
  const int64_t first_row = BeginOn(d.row_begins, call.device);
  const int64_t first_group = BeginOn(d.group_begins, call.device);
  const int64_t first_size = batch * d.all_groups;
  std::vector<RowRun> runs;
  int64_t row = 0, done = 0;
  for (int64_t g = 0; g < d.all_groups; ++g) {
    const int64_t begin = std::clamp<int64_t>(row - first_row, 0, d.m);
    row = std::min(row + SizeAt(d, call.in[2], first_size + g), d.all_rows);
    const int64_t end = std::clamp<int64_t>(row - first_row, 0, d.m);
    const bool held = g >= first_group && g < first_group + d.groups;
    if (end > begin) runs.push_back({held ? g - first_group : -1, begin, end});
    done = std::max(done, end);
  }
  if (done < d.m) runs.push_back({-1, done, d.m});
  return runs;
}

// Calls f(begin, end) for blocks of the rows: of kBlock, then of kGemmCut, then the rest.
template <class F>
void ForEachBlock(const RowRun& run, F f) {
  for (int64_t row = run.begin; row < run.end;) {
    const int64_t left = run.end - row;
    const int64_t rows = left >= kBlock ? kBlock : std::min(left, kGemmCut);
    f(row, row + rows);
    row += rows;
  }
}

// Returns n elements in the type that the product reads.
const std::byte* Read(const RaggedConfig& c, DType dtype, bool packs, const std::byte* in,
                      int64_t n, std::byte* scratch) {
  if (!packs) return in;
  base::VisitElement(dtype, [&](auto from) {
    VisitRead(c.type, [&](auto to) {
      using From = decltype(from);
      using To = decltype(to);
      const From* v = reinterpret_cast<const From*>(in);
      To* w = reinterpret_cast<To*>(scratch);
      for (int64_t i = 0; i < n; ++i) {
        if constexpr (std::is_same_v<From, To>)
          w[i] = v[i];
        else if constexpr (kIsComplex<From> || kIsComplex<To>)
          w[i] = CastComplex<To>(Widen(v[i]));
        else
          w[i] = To(Cast<Compute<To>>(Widen(v[i])));
      }
    });
  });
  return scratch;
}

// ---- rows times the matrix of their group -------------------------------------------------------

// Multiplies rows [begin, end) of a batch element by the matrix of a group.
void MultiplyRows(const RaggedConfig& c, const plan::KernelArgs& call, int64_t batch, int64_t group,
                  Range rows) {
  const RaggedDotDesc& d = c.desc;
  const int64_t count = rows.end - rows.begin, matrix = d.k * d.n;
  std::byte* out = call.out[0] + (batch * d.m + rows.begin) * d.n * d.out_dtype.size();
  if (group < 0) {
    std::memset(out, 0, static_cast<size_t>(count * d.n * d.out_dtype.size()));
    return;
  }
  const std::byte* lhs = call.in[0] + (batch * d.m + rows.begin) * d.k * d.lhs_dtype.size();
  const int64_t at = batch * d.groups + group;
  const std::byte* rhs = call.in[1] + at * matrix * d.rhs_dtype.size();
  lhs = Read(c, d.lhs_dtype, c.packs_lhs, lhs, count * d.k, call.scratch + c.lhs_offset);
  rhs = Read(c, d.rhs_dtype, c.packs_rhs, rhs, matrix, call.scratch + c.rhs_offset);
  std::byte* product = c.converts_out ? call.scratch + c.out_offset : out;
  (count == kBlock ? c.block : c.unit)->Run(count, d.n, lhs, rhs, product);
  if (c.converts_out) ConvertProducts(c.type, d.out_dtype, product, out, count * d.n);
}

void RunRaggedDot(const plan::KernelArgs& call) {
  const auto& c = *static_cast<const RaggedConfig*>(call.config);
  struct Block {
    int64_t batch, group;
    Range rows;
  };
  std::vector<Block> blocks;
  for (int64_t b = 0; b < c.desc.batch; ++b)
    for (const RowRun& run : RunsOf(c.desc, call, b))
      ForEachBlock(run, [&](int64_t begin, int64_t end) {
        blocks.push_back({b, run.group, {begin, end}});
      });
  const Range mine = Share(static_cast<int64_t>(blocks.size()), 1, call.part, call.parts);
  for (int64_t i = mine.begin; i < mine.end; ++i) {
    const Block& block = blocks[static_cast<size_t>(i)];
    MultiplyRows(c, call, block.batch, block.group, block.rows);
  }
}

// ---- sums over the rows of each group -----------------------------------------------------------

template <class T>
void AddTo(T* sum, const T* terms, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    if constexpr (std::is_integral_v<T>)
      sum[i] = WrapAdd(sum[i], terms[i]);
    else
      sum[i] += terms[i];
  }
}
void AddProducts(GemmType type, std::byte* sum, const std::byte* terms, int64_t n) {
  VisitRead(ResultType(type), [&](auto t) {
    using T = decltype(t);
    if constexpr (!std::is_same_v<T, BFloat16>)
      AddTo(reinterpret_cast<T*>(sum), reinterpret_cast<const T*>(terms), n);
  });
}

// Returns rows of an operand, followed by zeros up to a multiple of kGemmCut.
const std::byte* ReadFilled(const RaggedConfig& c, DType dtype, bool packs, const std::byte* in,
                            int64_t width, Range rows, std::byte* scratch) {
  const int64_t count = rows.end - rows.begin, elements = count * width;
  const std::byte* read =
      Read(c, dtype, packs, in + rows.begin * width * dtype.size(), elements, scratch);
  if (count % kGemmCut == 0) return read;
  const int64_t size = ItemSize(c.type);
  if (read != scratch) std::memcpy(scratch, read, static_cast<size_t>(elements * size));
  std::memset(scratch + elements * size, 0, static_cast<size_t>((kGemmCut - count) * width * size));
  return scratch;
}

// Sums the products of one group, in the order of its blocks.
void SumGroup(const RaggedConfig& c, const plan::KernelArgs& call, int64_t batch,
              const RowRun& run) {
  const RaggedDotDesc& d = c.desc;
  const int64_t matrix = d.k * d.n;
  std::byte* out = call.out[0] + (batch * d.groups + run.group) * matrix * d.out_dtype.size();
  std::byte* terms = call.scratch + c.out_offset;
  std::byte* sum = c.converts_out ? terms + matrix * ResultSize(c.type) : out;
  const std::byte* lhs = call.in[0] + batch * d.m * d.k * d.lhs_dtype.size();
  const std::byte* rhs = call.in[1] + batch * d.m * d.n * d.rhs_dtype.size();
  bool first = true;
  ForEachBlock(run, [&](int64_t begin, int64_t end) {
    const Range rows{begin, end};
    const std::byte* a =
        ReadFilled(c, d.lhs_dtype, c.packs_lhs, lhs, d.k, rows, call.scratch + c.lhs_offset);
    const std::byte* b =
        ReadFilled(c, d.rhs_dtype, c.packs_rhs, rhs, d.n, rows, call.scratch + c.rhs_offset);
    (end - begin == kBlock ? c.block : c.unit)->Run(d.k, d.n, a, b, first ? sum : terms);
    if (!first) AddProducts(c.type, sum, terms, matrix);
    first = false;
  });
  if (c.converts_out) ConvertProducts(c.type, d.out_dtype, sum, out, matrix);
}

void RunRaggedOuterDot(const plan::KernelArgs& call) {
  const auto& c = *static_cast<const RaggedConfig*>(call.config);
  const RaggedDotDesc& d = c.desc;
  const int64_t bytes = d.k * d.n * d.out_dtype.size();
  const Range mine = Share(d.batch * d.groups, 1, call.part, call.parts);
  std::vector<RowRun> runs;
  for (int64_t i = mine.begin, of = -1; i < mine.end; ++i) {
    const int64_t batch = i / d.groups, group = i % d.groups;
    if (batch != of) runs = RunsOf(d, call, batch), of = batch;
    const auto run =
        std::find_if(runs.begin(), runs.end(), [&](const RowRun& r) { return r.group == group; });
    if (run == runs.end())
      std::memset(call.out[0] + i * bytes, 0, static_cast<size_t>(bytes));
    else
      SumGroup(c, call, batch, *run);
  }
}

// ---- factories ----------------------------------------------------------------------------------

std::shared_ptr<RaggedConfig> Prepared(const RaggedDotDesc& desc, GemmType type) {
  auto c = std::make_shared<RaggedConfig>();
  c->desc = desc;
  c->type = type;
  c->packs_lhs = !IsReadAs(desc.lhs_dtype, type);
  c->packs_rhs = !IsReadAs(desc.rhs_dtype, type);
  c->converts_out = !IsWrittenAs(desc.out_dtype, type);
  return c;
}

double Product(std::initializer_list<int64_t> sizes) {
  double product = 1;
  for (int64_t n : sizes) product *= static_cast<double>(n);
  return product;
}

int64_t Rounded(int64_t bytes) { return (bytes + 63) / 64 * 64; }

// Sets the costs, as if each row were in a group.
plan::Kernel WithCosts(std::shared_ptr<RaggedConfig> c, plan::KernelFn fn, int64_t units) {
  const RaggedDotDesc& d = c->desc;
  plan::Kernel kernel;
  kernel.fn = fn;
  kernel.flops = (d.out_dtype.is_complex() ? 8 : 2) * Product({d.batch, d.m, d.k, d.n});
  kernel.bytes = Product({d.batch, d.m, d.k}) * d.lhs_dtype.size() +
                 Product({d.batch, d.m, d.n}) * d.out_dtype.size() +
                 Product({d.batch, d.groups, d.k, d.n}) * d.rhs_dtype.size();
  constexpr double kPartFlops = 200e3;  // takes some microseconds
  const auto most = static_cast<double>(std::max<int64_t>(units, 1));
  kernel.max_parts = static_cast<int32_t>(std::clamp<double>(kernel.flops / kPartFlops, 1, most));
  kernel.config = std::move(c);
  return kernel;
}

}  // namespace

plan::Kernel RaggedDot(const RaggedDotDesc& d) {
  auto c = Prepared(d, GemmTypeOf(d.lhs_dtype, d.rhs_dtype, d.out_dtype));
  const auto gemm = [&](int64_t rows) {
    return std::make_unique<Gemm>(GemmDesc{c->type, rows, d.n, d.k, d.k, 1, d.n, 1, d.n});
  };
  c->block = gemm(kBlock), c->unit = gemm(kGemmCut);
  const int64_t size = ItemSize(c->type);
  c->rhs_offset = c->packs_lhs ? Rounded(kBlock * d.k * size) : 0;
  c->out_offset = c->rhs_offset + (c->packs_rhs ? Rounded(d.k * d.n * size) : 0);
  const int64_t scratch = c->out_offset + (c->converts_out ? Rounded(kBlock * d.n * size) : 0);
  plan::Kernel kernel =
      WithCosts(std::move(c), &RunRaggedDot, d.batch * (d.m / kGemmCut + d.groups));
  kernel.scratch_bytes = scratch;
  return kernel;
}

plan::Kernel RaggedOuterDot(const RaggedDotDesc& d) {
  GemmType type = GemmTypeOf(d.lhs_dtype, d.rhs_dtype, d.out_dtype);
  if (type == GemmType::kBF16) type = GemmType::kBF16ToF32;  // sums of blocks are not rounded
  auto c = Prepared(d, type);
  const auto gemm = [&](int64_t rows) {
    return std::make_unique<Gemm>(GemmDesc{c->type, d.k, d.n, rows, 1, d.k, d.n, 1, d.n});
  };
  c->block = gemm(kBlock), c->unit = gemm(kGemmCut);
  const int64_t size = ItemSize(c->type);
  c->rhs_offset = Rounded(kBlock * d.k * size);
  c->out_offset = c->rhs_offset + Rounded(kBlock * d.n * size);
  const int64_t scratch = c->out_offset + Rounded(2 * d.k * d.n * ResultSize(c->type));
  plan::Kernel kernel = WithCosts(std::move(c), &RunRaggedOuterDot, d.batch * d.groups);
  kernel.scratch_bytes = scratch;
  return kernel;
}

}  // namespace tessera::kernels
