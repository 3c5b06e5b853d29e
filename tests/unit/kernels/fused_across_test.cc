// Groups of many short rows, which run across rows, give the same bits as the rows one by one.
#include <numeric>

#include "fuzz.h"
#include "kernels/fused/fused.h"
#include "unit/kernels/fused_testing.h"

namespace tessera::kernels {
namespace {

using enum plan::ScalarOp;
using plan::ScalarOp;
using test::Buffer;
using test::Call;
using test::Count;
using test::Group;
using test::kAllDTypes;
using test::Numbers;
using test::Random;
using test::SameBits;

using Strides = std::vector<int64_t>;

int64_t OffsetOf(int64_t row, const Shape& outer, const Strides& strides) {
  int64_t offset = 0;
  for (size_t d = outer.size(); d-- > 0; row /= outer[d]) offset += row % outer[d] * strides[d];
  return offset;
}

// Returns the elements from `from` on that the dims from `first` on reach.
Buffer Window(const Buffer& b, int64_t from, const Shape& dims, const Strides& strides,
              size_t first) {
  int64_t n = 1;
  for (size_t d = first; d < dims.size(); ++d) n += (dims[d] - 1) * strides[d];
  Buffer out(b.dtype, n);
  std::memcpy(out.bytes.get(), b.bytes.get() + from * b.dtype.size(), out.size());
  return out;
}

// Runs a group of one row for each row. The dims of a row start at `outer`.
std::vector<Buffer> RowByRow(const plan::FusedDesc& desc, const std::vector<Buffer>& in,
                             size_t outer) {
  const Shape dims(desc.dims.begin(), desc.dims.begin() + static_cast<int64_t>(outer));
  std::vector<Buffer> results;
  for (const auto& t : desc.outputs)
    results.emplace_back(t.dtype, t.strides.back() == 0 ? Count(dims) : Count(desc.dims));
  plan::FusedDesc one = desc;
  std::fill_n(one.dims.begin(), outer, 1);
  for (int64_t row = 0; row < Count(dims); ++row) {
    std::vector<Buffer> windows, rows;
    for (size_t k = 0; k < in.size(); ++k) {
      const Strides& strides = desc.inputs[k].strides;
      windows.push_back(Window(in[k], OffsetOf(row, dims, strides), desc.dims, strides, outer));
    }
    for (size_t k = 0; k < one.iotas.size(); ++k)
      one.iotas[k].offsets = {OffsetOf(row, dims, desc.iotas[k].strides)};
    for (const Buffer& result : results) rows.emplace_back(result.dtype, result.n / Count(dims));
    std::vector<const Buffer*> inputs;
    std::vector<Buffer*> outputs;
    for (const Buffer& b : windows) inputs.push_back(&b);
    for (Buffer& b : rows) outputs.push_back(&b);
    Call(Fused(one), inputs, outputs);
    for (size_t k = 0; k < rows.size(); ++k)
      std::memcpy(results[k].bytes.get() + static_cast<size_t>(row) * rows[k].size(),
                  rows[k].bytes.get(), rows[k].size());
  }
  return results;
}

void ExpectRowByRow(const plan::FusedDesc& desc, const std::vector<Buffer>& in, size_t outer,
                    const std::string& what) {
  const plan::Kernel kernel = Fused(desc);
  const std::vector<Buffer> want = RowByRow(desc, in, outer);
  for (int parts : {1, 3}) {
    std::vector<Buffer> got;
    for (const Buffer& b : want) got.emplace_back(b.dtype, b.n);
    std::vector<const Buffer*> inputs;
    std::vector<Buffer*> outputs;
    for (const Buffer& b : in) inputs.push_back(&b);
    for (Buffer& b : got) outputs.push_back(&b);
    Call(kernel, inputs, outputs, parts);
    for (size_t k = 0; k < got.size(); ++k)
      ASSERT_TRUE(SameBits(got[k], want[k])) << what << ", output " << k << ", parts " << parts;
  }
}

// A random group and its operands.
class RandomRows {
 public:
  explicit RandomRows(uint32_t seed) : random_(seed), group_({}) { Make(); }
  const plan::FusedDesc& desc() const { return group_.desc; }
  const std::vector<Buffer>& in() const { return in_; }
  size_t outer() const { return outer_; }

 private:
  int Pick(int64_t n) { return static_cast<int>(random_() % static_cast<uint32_t>(n)); }
  int Any(const std::vector<int>& of) { return of[static_cast<size_t>(Pick(std::ssize(of)))]; }

  void Make() {
    const Shape outers[] = {{32}, {70}, {129}, {300}, {1}, {9, 7}, {40, 3}, {2, 65}, {3, 5, 7}};
    Shape dims = outers[Pick(std::size(outers))];
    outer_ = dims.size();
    if (Pick(5) == 0) dims.push_back(1 + Pick(4));
    dims.push_back(1 + Pick(dims.size() > outer_ ? 17 : 65));
    const bool reduces = dims.size() > outer_ + 1 || Pick(4) != 0;
    group_ = Group(dims, reduces ? static_cast<int>(dims.size() - outer_) : 0);
    constexpr DType kMain[] = {f32, f32, f32, f64, i32, f16, bf16, i8, u16, i64, bool_};
    dtype_ = kMain[Pick(std::size(kMain))];
    for (int k = 0; k < 4; ++k) AddInput(k == 3 ? kAllDTypes[Pick(std::size(kAllDTypes))] : dtype_);
    values_.push_back(group_.Constant(dtype_, 3));
    values_.push_back(group_.Op(kConvert, dtype_, group_.Iota(i32, Pick(std::ssize(dims)))));
    masks_.push_back(group_.Op(kLt, bool_, values_[0], values_[1]));
    for (int k = 0; k < 12; ++k) AddOp(reduces);
    AddOutputs(reduces);
  }

  // Adds an input that is dense, broadcast along some dims, or has its dims in another order.
  void AddInput(DType dtype) {
    const Shape& dims = group_.desc.dims;
    std::vector<size_t> order(dims.size());
    std::iota(order.begin(), order.end(), size_t{0});
    if (Pick(5) == 0) std::shuffle(order.begin(), order.end(), random_);
    const int repeats = in_.empty() ? 0 : Pick(3);
    Strides strides(dims.size(), 0);
    int64_t n = 1;
    for (size_t k = order.size(); k-- > 0;) {
      const size_t d = order[k];
      const bool is_row = d >= outer_;
      if ((repeats == 1 && is_row) || (repeats == 2 && Pick(2) == 0)) continue;
      strides[d] = n;
      n *= dims[d];
    }
    in_.push_back(Random(dtype, n, random_(), true));
    const int node = group_.Input(dtype, strides);
    values_.push_back(dtype == dtype_ ? node : group_.Op(kConvert, dtype_, node));
  }

  void AddOp(bool reduces) {
    constexpr ScalarOp kTwo[] = {kAdd, kSub, kMul, kMax, kMin};
    const int a = Any(values_), b = Any(values_), p = Any(masks_);
    switch (Pick(8)) {
      case 0:
        values_.push_back(group_.Op(kSelect, dtype_, p, a, b));
        break;
      case 1:
        masks_.push_back(group_.Op(Pick(2) ? kGe : kNe, bool_, a, b));
        break;
      case 2:
        values_.push_back(group_.Op(dtype_.is_floating() ? kExp : kAbs, dtype_, a));
        break;
      case 3:
      case 4:
        if (reduces) AddReduction(a, p);
        break;
      default:
        values_.push_back(group_.Op(kTwo[Pick(5)], dtype_, a, b));
    }
  }
  void AddReduction(int a, int p) {
    constexpr Reduction kAny[] = {Reduction::kSum, Reduction::kSum, Reduction::kProd,
                                  Reduction::kMax, Reduction::kMin};
    if (Pick(6) == 0)
      masks_.push_back(group_.Reduce(Pick(2) ? Reduction::kOr : Reduction::kAnd, bool_, p));
    else
      values_.push_back(group_.Reduce(kAny[Pick(5)], dtype_, a));
  }
  void AddOutputs(bool reduces) {
    if (!reduces || Pick(2)) group_.Output(values_.back());
    if (!reduces || Pick(2)) group_.Output(Any(masks_));
    if (!reduces) return;
    group_.OutputPerRow(group_.Reduce(Reduction::kSum, dtype_, Any(values_)));
    if (Pick(2)) group_.OutputPerRow(group_.Reduce(Reduction::kAnd, bool_, masks_.back()));
  }

  std::mt19937 random_;
  Group group_;
  size_t outer_ = 0;
  DType dtype_ = f32;
  std::vector<Buffer> in_;
  std::vector<int> values_, masks_;
};

TEST(FusedAcross, RandomGroupsEqualTheirRowsOneByOne) {
  for (uint32_t seed = 0; seed < FuzzCount(200); ++seed) {
    const RandomRows rows(seed);
    ExpectRowByRow(
        rows.desc(), rows.in(), rows.outer(),
        "seed " + std::to_string(seed) + " " + ::testing::PrintToString(rows.desc().dims));
    if (HasFatalFailure()) return;
  }
}

// Blocks of every length and every number of columns.
TEST(FusedAcross, SoftmaxOfAnyShortRows) {
  for (DType dtype : {f32, f64, f16, bf16})
    for (int64_t n = 1; n <= 66; n += n < 41 ? 1 : 5)
      for (int64_t rows : {int64_t{32}, 64 + n, int64_t{257}}) {
        Group g({rows, n}, 1);
        const int x = g.Input(dtype);
        const int e = g.Op(kExp, dtype, g.Op(kSub, dtype, x, g.Reduce(Reduction::kMax, dtype, x)));
        g.Output(g.Op(kDiv, dtype, e, g.Reduce(Reduction::kSum, dtype, e)));
        std::vector<Buffer> in;
        in.push_back(Random(dtype, rows * n, 5, true));
        ExpectRowByRow(g.desc, in, 1, dtype.name() + std::string(" n = ") + std::to_string(n));
        if (HasFatalFailure()) return;
      }
}

TEST(FusedAcross, SumsInOrder) {
  // 2^24 + 1 rounds to 2^24, so the result shows the order of the sum.
  for (int64_t rows : {3, 100}) {
    Group g({rows, 4}, 1);
    g.OutputPerRow(g.Reduce(Reduction::kSum, f32, g.Input(f32)));
    Buffer x(f32, rows * 4), y(f32, rows);
    for (int64_t r = 0; r < rows; ++r) {
      x.Set(4 * r, r % 2 == 0 ? 0x1p24 : 1);
      x.Set(4 * r + 1, 1), x.Set(4 * r + 2, 1);
      x.Set(4 * r + 3, r % 2 == 0 ? 1 : 0x1p24);
    }
    Call(Fused(g.desc), {&x}, {&y});
    for (int64_t r = 0; r < rows; ++r) EXPECT_EQ(y.At(r), r % 2 == 0 ? 0x1p24 : 0x1p24 + 4) << r;
  }
}

TEST(FusedAcross, WritesOverAnInputWhereItSaysSo) {
  Group g({100, 5}, 1);
  const int x = g.Input(f32), scale = g.Input(f32, {0, 1});
  g.Output(g.Op(kMul, f32, g.Op(kSub, f32, x, g.Reduce(Reduction::kMax, f32, x)), scale));
  const plan::Kernel kernel = Fused(g.desc);
  ASSERT_EQ(kernel.in_place, 1u);
  const Buffer in = Random(f32, 500, 1), factors = Random(f32, 5, 2);
  Buffer want(f32, 500), over = in;
  Call(kernel, {&in, &factors}, {&want});
  Call(kernel, {&over, &factors}, {&over}, 2);
  EXPECT_TRUE(SameBits(over, want));
  // The input's rows are its columns, so a block would overwrite elements that are read later.
  Group turned({40, 40});
  turned.Output(turned.Op(kNeg, f32, turned.Input(f32, {1, 40})));
  EXPECT_EQ(Fused(turned.desc).in_place, 0u);
}

TEST(FusedAcross, MillionsOfRows) {
  for (int64_t n : {1, 3, 16}) {
    const int64_t rows = (n == 16 ? 1 << 18 : 1 << 20) + 77;
    Group g({rows, n}, 1);
    const int x = g.Input(f32);
    g.OutputPerRow(g.Reduce(Reduction::kSum, f32, g.Op(kMul, f32, x, x)));
    const Buffer in = Random(f32, rows * n, 3);
    Buffer got(f32, rows), want(f32, rows);
    for (int64_t r = 0; r < rows; ++r) {
      float sum = 0;
      for (int64_t j = 0; j < n; ++j) {
        // Rounds the square by itself.
        volatile float square = in.as<float>()[r * n + j] * in.as<float>()[r * n + j];
        sum += square;
      }
      want.as<float>()[r] = sum;
    }
    Call(Fused(g.desc), {&in}, {&got}, 7);
    EXPECT_TRUE(SameBits(got, want)) << n;
  }
}

// Subnormal numbers are not flushed to zero.
TEST(FusedAcross, KeepsSubnormalNumbers) {
  Group g({64, 3}, 1);
  const int x = g.Input(f32);
  g.Output(g.Op(kAdd, f32, x, g.Reduce(Reduction::kSum, f32, x)));
  Buffer in(f32, 192), out(f32, 192);
  for (int64_t i = 0; i < in.n; ++i) in.Set(i, static_cast<double>(i) * 0x1p-149);
  Call(Fused(g.desc), {&in}, {&out});
  for (int64_t i = 0; i < in.n; ++i)
    EXPECT_EQ(out.At(i), static_cast<double>(i + 9 * (i / 3) + 3) * 0x1p-149) << i;
}

}  // namespace
}  // namespace tessera::kernels
