// Fused groups that read parts of their operands give the same bits as groups that read the
// assembled input.
#include "base/shape.h"
#include "fused_testing.h"
#include "kernels/fused/fused.h"

namespace tessera::kernels {
namespace {

using plan::FusedDesc;
using plan::ScalarOp;
using test::Buffer;
using test::Call;
using test::Count;
using test::Group;
using test::Random;
using test::SameBits;

// Cuts a box at random into parts. Each part is a box of some operand, or one element repeated.
class Cutter {
 public:
  Cutter(uint32_t seed, DType dtype, Shape dims, size_t whole_from)
      : random_(seed), dims_(std::move(dims)), whole_from_(whole_from) {
    const Shape begin(dims_.size(), 0);
    for (int k = 0; k < 2; ++k) operands.push_back(Random(dtype, 3 * Count(dims_) + 7, seed + k));
    Cut(begin, dims_, 3);
  }

  std::vector<Buffer> operands;
  std::vector<FusedDesc::Part> parts;

  Buffer Whole() const {
    Buffer out(operands[0].dtype, Count(dims_));
    const int64_t item = out.dtype.size();
    for (const FusedDesc::Part& part : parts)
      for (int64_t i = 0; i < out.n; ++i) {
        int64_t rest = i, from = part.offset;
        bool inside = true;
        for (size_t d = dims_.size(); d-- > 0; rest /= dims_[d]) {
          const int64_t at = rest % dims_[d];
          inside = inside && part.begin[d] <= at && at < part.end[d];
          from += at * part.strides[d];
        }
        if (inside)
          std::memcpy(out.bytes.get() + i * item,
                      operands[static_cast<size_t>(part.operand)].bytes.get() + from * item,
                      static_cast<size_t>(item));
      }
    return out;
  }

 private:
  int64_t Below(int64_t n) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(n)); }

  void Cut(const Shape& begin, const Shape& end, int times) {
    const auto d = static_cast<size_t>(Below(static_cast<int64_t>(dims_.size())));
    const int64_t size = end[d] - begin[d];
    if (times == 0 || d >= whole_from_ || size < 2) return Add(begin, end);
    Shape middle_end = end, middle_begin = begin;
    middle_end[d] = middle_begin[d] = begin[d] + 1 + Below(size - 1);
    Cut(begin, middle_end, times - 1);
    Cut(middle_begin, end, times - 1);
  }

  // Adds a box of an array of the space's shape, which may be reversed along some dim, or one
  // element of it.
  void Add(const Shape& begin, const Shape& end) {
    FusedDesc::Part part{begin, end, Group::Dense(dims_)};
    part.operand = static_cast<int32_t>(Below(2));
    part.offset = Below(Count(dims_));
    const size_t rank = dims_.size();
    if (whole_from_ == rank && Below(4) == 0) {
      part.strides.assign(rank, 0);
    } else if (rank > 1 && whole_from_ > 0 && Below(3) == 0) {
      part.offset += part.strides[0] * (dims_[0] - 1);
      part.strides[0] = -part.strides[0];
    }
    OneFill(part);
    parts.push_back(std::move(part));
  }
  // Keeps at most one constant element per group.
  void OneFill(FusedDesc::Part& part) {
    if (part.strides[0] != 0) return;
    for (const FusedDesc::Part& other : parts)
      if (other.strides[0] == 0) part.operand = other.operand, part.offset = other.offset;
  }

  std::mt19937 random_;
  Shape dims_;
  size_t whole_from_;
};

FusedDesc Reading(FusedDesc desc, const Cutter& cutter) {
  desc.inputs[0].parts = cutter.parts;
  desc.inputs[1].operand = 2;
  return desc;
}

void ExpectSame(const FusedDesc& desc, const Cutter& cutter, const std::string& what) {
  const Buffer whole = cutter.Whole(), other = Random(desc.inputs[1].dtype, Count(desc.dims), 9);
  for (int parts : {1, 3}) {
    std::vector<Buffer> want, got;
    for (const auto& out : desc.outputs) {
      Shape dims = desc.dims;
      if (out.strides.back() == 0 && desc.reduced > 0)
        dims.resize(dims.size() - static_cast<size_t>(desc.reduced));
      want.emplace_back(out.dtype, Count(dims));
      got.emplace_back(out.dtype, Count(dims));
    }
    std::vector<Buffer*> wants, gots;
    for (size_t k = 0; k < want.size(); ++k) wants.push_back(&want[k]), gots.push_back(&got[k]);
    Call(Fused(desc), {&whole, &other}, wants, parts);
    const plan::Kernel kernel = Fused(Reading(desc, cutter));
    EXPECT_EQ(kernel.in_place & 3, 0u) << what;
    Call(kernel, {&cutter.operands[0], &cutter.operands[1], &other}, gots, parts);
    for (size_t k = 0; k < want.size(); ++k) EXPECT_TRUE(SameBits(got[k], want[k])) << what;
  }
}

TEST(FusedParts, EqualTheirWhole) {
  const Shape shapes[] = {{5000},     {70},       {3, 200},      {40, 130},  {17, 1, 90},
                          {1, 1, 66}, {5, 6, 65}, {2, 3, 4, 80}, {9, 70, 1}, {3, 9000}};
  const DType dtypes[] = {f32, f64, bf16, i8, u32, f16, i64};
  uint32_t seed = 0;
  for (const Shape& dims : shapes)
    for (DType dtype : dtypes)
      for (int k = 0; k < 3; ++k) {
        Group g(dims);
        const int x = g.Input(dtype), y = g.Input(dtype);
        g.Output(g.Op(ScalarOp::kAdd, dtype, g.Op(ScalarOp::kMul, dtype, x, y), x));
        const Cutter cutter(++seed, dtype, dims, dims.size());
        ExpectSame(g.desc, cutter, "seed " + std::to_string(seed));
      }
}

TEST(FusedParts, OfRowsThatAreReduced) {
  const Shape shapes[] = {{30, 100}, {4, 5, 70}, {3, 8, 16}};
  uint32_t seed = 100;
  for (const Shape& dims : shapes)
    for (int reduced : {1, static_cast<int>(dims.size()) - 1}) {
      Group g(dims, reduced);
      const int x = g.Input(f32), y = g.Input(f32);
      const int sum = g.Reduce(Reduction::kSum, f32, g.Op(ScalarOp::kMul, f32, x, y));
      g.Output(g.Op(ScalarOp::kSub, f32, x, sum));
      g.OutputPerRow(sum);
      const Cutter cutter(++seed, f32, dims, dims.size() - static_cast<size_t>(reduced));
      ExpectSame(g.desc, cutter, "seed " + std::to_string(seed));
    }
}

// Non-temporal stores need aligned addresses, which a cut at an arbitrary element does not give.
TEST(FusedParts, OfLargeOutputs) {
  const Shape dims = {1100, 8192};
  Group g(dims);
  const int x = g.Input(f32), y = g.Input(f32);
  g.Output(g.Op(ScalarOp::kAdd, f32, x, y));
  Cutter cutter(7, f32, dims, 2);
  ExpectSame(g.desc, cutter, "large");
}

// An operand that is also read at other positions than the one being written must not
// be overwritten.
TEST(FusedParts, AreNotWrittenOver) {
  Group g({64});
  const int x = g.Input(f32), y = g.Input(f32);
  g.Output(g.Op(ScalarOp::kAdd, f32, x, y));
  g.desc.inputs[0].operand = 0;
  g.desc.inputs[1].parts = {
      {.begin = {0}, .end = {1}, .strides = {1}, .offset = 63, .operand = 0},
      {.begin = {1}, .end = {64}, .strides = {1}, .offset = -1, .operand = 1}};
  EXPECT_EQ(Fused(g.desc).in_place, 0u);
  g.desc.inputs[1].parts[0].operand = 1;
  EXPECT_EQ(Fused(g.desc).in_place, 1u);
}

// An input that is a single element of a larger operand gives the same bits as that number alone.
TEST(FusedParts, OneElementOfAnOperand) {
  uint32_t seed = 0;
  for (const Shape& dims : {Shape{}, Shape{1}, Shape{3}, Shape{2, 5}, Shape{100}, Shape{7, 40}})
    for (DType dtype : {f32, f64, bf16, i8, u32, i64, bool_}) {
      const ScalarOp op = dtype == bool_ ? ScalarOp::kAnd : ScalarOp::kAdd;
      Group g(dims);
      const int x = g.Input(dtype), y = g.Input(dtype);
      g.Output(g.Op(op, dtype, x, y));
      g.desc.inputs[1].strides.assign(dims.size(), 0);
      const Buffer other = Random(dtype, Count(dims), ++seed), many = Random(dtype, 6, ++seed);
      Buffer number(dtype, 1), want(dtype, Count(dims)), got(dtype, Count(dims));
      std::memcpy(number.bytes.get(), many.bytes.get() + 5 * dtype.size(), number.size());
      Call(Fused(g.desc), {&other, &number}, {&want}, 1);
      g.desc.inputs[1].element = 5;
      const plan::Kernel kernel = Fused(g.desc);
      EXPECT_EQ(kernel.in_place & 2, 0u);
      Call(kernel, {&other, &many}, {&got}, 1);
      EXPECT_TRUE(SameBits(got, want)) << dtype.name() << " " << dims.size();
    }
}

}  // namespace
}  // namespace tessera::kernels
