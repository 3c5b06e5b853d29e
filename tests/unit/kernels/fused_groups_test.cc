// Fused groups give the same bits as their nodes run one by one: random groups and row programs.
#include <cmath>
#include <functional>
#include <set>

#include "fuzz.h"
#include "kernels/fused/fused.h"
#include "kernels/fused/kernel_table.h"
#include "kernels/reduce/reduce.h"
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
using test::kInf;
using test::kNan;
using test::Near;
using test::Numbers;
using test::Random;
using test::SameBits;
using test::Tolerance;

// Runs each node of a group as a group of its own. A fused group must give the same bits.
std::vector<Buffer> OpByOp(const plan::FusedDesc& desc, const std::vector<const Buffer*>& in) {
  const size_t rank = desc.dims.size();
  std::vector<Buffer> values;
  std::vector<std::vector<int64_t>> strides;
  for (const plan::FusedNode& node : desc.nodes) {
    plan::FusedDesc one;
    one.dims = desc.dims;
    one.iotas = desc.iotas;
    std::vector<const Buffer*> operands;
    std::vector<int64_t> dense = Group::Dense(desc.dims);
    if (node.kind == plan::FusedNode::kReduce) {
      std::vector<int64_t> dims;
      for (size_t d = rank - static_cast<size_t>(desc.reduced); d < rank; ++d)
        dims.push_back(static_cast<int64_t>(d));
      Shape kept(desc.dims.begin(), desc.dims.end() - desc.reduced);
      // A value per row is broadcast to the elements before it is reduced.
      Group spread(desc.dims);
      const auto arg = static_cast<size_t>(node.args[0]);
      spread.Output(spread.Input(desc.nodes[arg].dtype, strides[arg]));
      Buffer full(desc.nodes[arg].dtype, Count(desc.dims));
      Call(Fused(spread.desc), {&values[arg]}, {&full});
      Buffer sum(node.dtype, Count(kept));
      Call(Reduce(node.dtype, desc.dims, dims, node.reduction), {&full}, {&sum});
      values.push_back(sum);
      std::vector<int64_t> s = Group::Dense(kept);
      s.resize(rank, 0);
      strides.push_back(s);
      continue;
    }
    plan::FusedNode copy = node;
    if (node.kind == plan::FusedNode::kInput) {
      one.inputs = {desc.inputs[static_cast<size_t>(node.input)]};
      operands = {in[static_cast<size_t>(node.input)]};
      copy.input = 0;
    }
    for (int& arg : copy.args) {
      if (arg < 0) continue;
      plan::FusedNode input{};
      input.kind = plan::FusedNode::kInput;
      input.dtype = desc.nodes[static_cast<size_t>(arg)].dtype;
      input.input = static_cast<int32_t>(one.inputs.size());
      one.inputs.push_back({input.dtype, strides[static_cast<size_t>(arg)], -1});
      operands.push_back(&values[static_cast<size_t>(arg)]);
      arg = static_cast<int>(one.nodes.size());
      one.nodes.push_back(input);
    }
    one.nodes.push_back(copy);
    one.outputs = {{node.dtype, dense, static_cast<int32_t>(one.nodes.size()) - 1}};
    Buffer out(node.dtype, Count(desc.dims));
    Call(Fused(one), operands, {&out});
    values.push_back(out);
    strides.push_back(dense);
  }
  std::vector<Buffer> outputs;
  for (const auto& t : desc.outputs) {
    const auto node = static_cast<size_t>(t.node);
    if (desc.reduced > 0 && t.strides.back() == 0) {
      Shape kept(desc.dims.begin(), desc.dims.end() - desc.reduced);
      const int64_t rows = Count(kept);
      const int64_t step =
          strides[node].back() == 0 ? 1 : Count(desc.dims) / std::max<int64_t>(rows, 1);
      Buffer& first = outputs.emplace_back(t.dtype, rows);
      if (step == 0) continue;
      for (int64_t r = 0; r < rows; ++r) first.Set(r, values[node].At(r * step));
      continue;
    }
    if (strides[node] == Group::Dense(desc.dims)) {
      outputs.push_back(values[node]);
      continue;
    }
    Group spread(desc.dims);
    spread.Output(spread.Input(t.dtype, strides[node]));
    outputs.emplace_back(t.dtype, Count(desc.dims));
    Call(Fused(spread.desc), {&values[node]}, {&outputs.back()});
  }
  return outputs;
}

void ExpectOpByOp(const plan::FusedDesc& desc, const std::vector<const Buffer*>& in,
                  const std::string& what) {
  const plan::Kernel kernel = Fused(desc);
  const std::vector<Buffer> want = OpByOp(desc, in);
  for (int parts : {1, 3}) {
    std::vector<Buffer> got;
    for (const Buffer& b : want) got.emplace_back(b.dtype, b.n);
    std::vector<Buffer*> out;
    for (Buffer& b : got) out.push_back(&b);
    Call(kernel, in, out, parts);
    for (size_t k = 0; k < got.size(); ++k) {
      // Without elements, the mean of a row is not among the values of its elements.
      if (Count(desc.dims) == 0 && got[k].n != 0) continue;
      EXPECT_TRUE(SameBits(got[k], want[k])) << what << ", output " << k << ", parts " << parts;
    }
  }
}

// A random group over values of several dtypes with broadcast inputs.
TEST(Fused, RandomGroupsEqualTheirOpsOneByOne) {
  const Shape shapes[] = {{1},    {0},      {3},        {129},         {1000},
                          {5, 7}, {3, 200}, {4, 1, 33}, {2, 3, 5, 17}, {20000}};
  for (uint32_t seed = 0; seed < FuzzCount(150); ++seed) {
    std::mt19937 random(seed);
    const auto pick = [&](auto n) { return static_cast<int>(random() % static_cast<uint32_t>(n)); };
    Group g(shapes[pick(std::size(shapes))]);
    const auto rank = static_cast<int>(g.desc.dims.size());
    const DType main_dtypes[] = {f32, f32, f64, i32, f16, bf16, i8, u16, i64, u8};
    const DType dtype = main_dtypes[pick(std::size(main_dtypes))];
    std::vector<int> values;
    std::vector<int> masks;
    std::vector<Buffer> buffers;
    for (int k = 0; k < 3; ++k) {
      std::vector<int64_t> strides(static_cast<size_t>(rank));
      int64_t n = 1;
      for (int d = rank; d-- > 0;) {
        const auto i = static_cast<size_t>(d);
        const bool broadcast = k > 0 && pick(3) == 0;
        strides[i] = broadcast ? 0 : n;
        if (!broadcast) n *= g.desc.dims[i];
      }
      const DType in = k == 2 ? kAllDTypes[pick(13)] : dtype;
      buffers.push_back(Random(in, n, seed * 3 + static_cast<uint32_t>(k), true));
      const int node = g.Input(in, strides);
      values.push_back(in == dtype ? node : g.Op(kConvert, dtype, node));
    }
    values.push_back(g.Constant(dtype, 3));
    values.push_back(g.Op(kConvert, dtype, g.Iota(i32, pick(rank))));
    masks.push_back(g.Op(kLt, bool_, values[0], values[1]));
    for (int k = 0; k < 14; ++k) {
      const int a = values[static_cast<size_t>(pick(values.size()))];
      const int b = values[static_cast<size_t>(pick(values.size()))];
      const int p = masks[static_cast<size_t>(pick(masks.size()))];
      const ScalarOp two[] = {kAdd, kSub, kMul, kDiv, kMax, kMin};
      switch (pick(6)) {
        case 0:
          values.push_back(g.Op(kSelect, dtype, p, a, b));
          break;
        case 1:
          masks.push_back(g.Op(pick(2) ? kGe : kNe, bool_, a, b));
          break;
        case 2:
          values.push_back(g.Op(dtype.is_floating() ? kTanh : kSign, dtype, a));
          break;
        case 3:
          masks.push_back(g.Op(pick(2) ? kAnd : kXor, bool_, p, masks[0]));
          break;
        default:
          values.push_back(g.Op(two[pick(6)], dtype, a, b));
          break;
      }
    }
    g.Output(values.back());
    if (pick(2)) g.Output(masks.back());
    if (pick(2)) g.Output(values[values.size() / 2]);
    std::vector<const Buffer*> in;
    for (const Buffer& b : buffers) in.push_back(&b);
    ExpectOpByOp(g.desc, in, "seed " + std::to_string(seed) + " " + dtype.name());
  }
}

Group Softmax(DType dtype, Shape dims, int reduced) {
  Group g(std::move(dims), reduced);
  const int x = g.Input(dtype);
  const int e = g.Op(kExp, dtype, g.Op(kSub, dtype, x, g.Reduce(Reduction::kMax, dtype, x)));
  g.Output(g.Op(kDiv, dtype, e, g.Reduce(Reduction::kSum, dtype, e)));
  return g;
}

Group LayerNorm(DType dtype, int64_t rows, int64_t n) {
  Group g({rows, n}, 1);
  const int x = g.Input(dtype), scale = g.Input(dtype, {0, 1}), shift = g.Input(dtype, {0, 1});
  const int inverse = g.Constant(dtype, 1.0 / static_cast<double>(n));
  const int mean = g.Op(kMul, dtype, g.Reduce(Reduction::kSum, dtype, x), inverse);
  const int c = g.Op(kSub, dtype, x, mean);
  const int squares = g.Reduce(Reduction::kSum, dtype, g.Op(kMul, dtype, c, c));
  const int variance = g.Op(kMul, dtype, squares, inverse);
  const int r = g.Op(kRsqrt, dtype, g.Op(kAdd, dtype, variance, g.Constant(dtype, 1e-3)));
  g.Output(g.Op(kAdd, dtype, g.Op(kMul, dtype, g.Op(kMul, dtype, c, r), scale), shift));
  g.OutputPerRow(mean);
  return g;
}

TEST(Fused, RowProgramsEqualTheirOpsOneByOne) {
  for (DType dtype : {f32, f64, f16, bf16}) {
    for (int64_t n : {0, 1, 2, 15, 16, 17, 127, 128, 129, 1000, 4096, 5000, 9001}) {
      const std::string what = std::string(dtype.name()) + " n = " + std::to_string(n);
      const Buffer x = Random(dtype, 3 * n, 11), scale = Random(dtype, n, 12),
                   shift = Random(dtype, n, 13);
      ExpectOpByOp(Softmax(dtype, {3, n}, 1).desc, {&x}, "softmax " + what);
      ExpectOpByOp(LayerNorm(dtype, 3, n).desc, {&x, &scale, &shift}, "norm " + what);
    }
  }
}

// One kernel computes the product and the sum, and rounds after each.
TEST(Fused, SumsOfScaledValuesRoundTheirProducts) {
  for (DType dtype : {f32, f64, bf16, i32, i64})
    for (int64_t n : {1, 15, 128, 300})
      for (ScalarOp op : {kAdd, kSub})
        for (int way = 0; way < 8; ++way) {
          Group g({n});
          const int x = g.Input(dtype), y = g.Input(dtype), c = g.Constant(dtype, 3.1);
          const int scaled = way & 1 ? g.Op(kMul, dtype, c, y) : g.Op(kMul, dtype, y, c);
          const int other = way & 4 ? g.Op(kMul, dtype, x, g.Constant(dtype, 0.7)) : x;
          const int sum = way & 2 ? g.Op(op, dtype, scaled, other) : g.Op(op, dtype, other, scaled);
          g.Output(g.Op(kMul, dtype, g.Op(op, dtype, sum, g.Constant(dtype, 1.7)), c));
          if (way == 5) g.Output(scaled);
          const Buffer a = Random(dtype, n, 1), b = Random(dtype, n, 2);
          ExpectOpByOp(g.desc, {&a, &b}, dtype.name() + std::string(" way ") + std::to_string(way));
        }
}

// Pairs are found by the addresses of kernels, so these must be in the table.
TEST(Fused, PairsAreOfKernelsInTheTable) {
  const KernelTable& t = Kernels();
  std::set<const void*> known = {t.load.tile, t.store.tile};
  const auto f32_lane = static_cast<size_t>(Lane::kF32);
  for (const auto* kernels : {t.op, t.number, t.scaled})
    for (const KernelPair& kernel : kernels[f32_lane]) known.insert(kernel.tile);
  for (const KernelPair& kernel : t.accumulate[f32_lane]) known.insert(kernel.tile);
  EXPECT_FALSE(t.pairs.empty());
  for (const KernelsInOne& pair : t.pairs) {
    EXPECT_TRUE(known.contains(pair.first) && known.contains(pair.second));
    EXPECT_FALSE(known.contains(pair.both));
  }
}

// One kernel compares and selects, whichever value is computed last.
TEST(Fused, SelectsByComparisonsEqualTheirOpsOneByOne) {
  for (DType dtype : {f32, f64, f16, bf16, i32, u32, i64, u8})
    for (ScalarOp op : {kEq, kNe, kLt, kLe, kGt, kGe})
      for (int way = 0; way < 32; ++way) {
        Group g({150});
        const int x = g.Input(dtype), y = way & 1 ? g.Constant(dtype, 1) : g.Input(dtype);
        const int left = way & 2 ? g.Op(kAdd, dtype, x, g.Constant(dtype, 1)) : x;
        const int mask = way & 16 ? g.Op(op, bool_, y, left) : g.Op(op, bool_, left, y);
        const int yes = way & 4 ? g.Op(kMul, dtype, x, g.Constant(dtype, 3)) : x;
        const int no = way & 8 ? g.Op(kSub, dtype, x, g.Constant(dtype, 5)) : g.Constant(dtype, 2);
        const int one = g.Op(kSelect, dtype, mask, no, yes);
        g.Output(g.Op(kSelect, dtype, g.Op(op, bool_, one, left), one, yes));
        const Buffer a = Random(dtype, 150, 1, true), b = Random(dtype, 150, 2, true);
        std::vector<const Buffer*> in = {&a};
        if (!(way & 1)) in.push_back(&b);
        ExpectOpByOp(g.desc, in, dtype.name() + std::string(" way ") + std::to_string(way));
      }
}

// Steps that follow each other may share a kernel.
TEST(Fused, ThreeStepsRoundAsEachByItself) {
  constexpr int kWays = 7;
  const Buffer a = Random(f32, 300, 1), b = Random(f32, 300, 2);
  for (int ways = 0; ways < kWays * kWays * kWays; ++ways) {
    Group g({300}, ways % 2);
    int x = g.Input(f32);
    const int y = g.Input(f32), c = g.Constant(f32, 1.7);
    for (int rest = ways, step = 0; step < 3; ++step, rest /= kWays) {
      constexpr ScalarOp kOps[] = {kAdd, kSub, kMul};
      const int way = rest % kWays;
      x = way == 6 ? g.Op(kMul, f32, x, x) : g.Op(kOps[way % 3], f32, x, way < 3 ? y : c);
    }
    g.Output(x);
    if (ways % 2 == 1) g.OutputPerRow(g.Reduce(Reduction::kSum, f32, x));
    ExpectOpByOp(g.desc, {&a, &b}, "way " + std::to_string(ways));
  }
}

TEST(Fused, SoftmaxOverTwoDimsMatchesItsDefinition) {
  const Buffer x = Random(f32, 4 * 6 * 50, 5);
  Buffer y(f32, x.n);
  Call(Fused(Softmax(f32, {4, 6, 50}, 2).desc), {&x}, {&y});
  std::vector<double> want;
  for (int64_t r = 0; r < 4; ++r) {
    double sum = 0;
    for (int64_t i = 0; i < 300; ++i) sum += std::exp(x.At(r * 300 + i));
    for (int64_t i = 0; i < 300; ++i) want.push_back(std::exp(x.At(r * 300 + i)) / sum);
  }
  EXPECT_TRUE(Near(y, want, 1e-6));
}

TEST(Fused, SpecialValuesStayInTheirRow) {
  Buffer x = Random(f32, 4 * 37, 9);
  x.Set(37 + 5, kNan);
  x.Set(3 * 37, -kInf);
  Buffer y(f32, x.n);
  Call(Fused(Softmax(f32, {4, 37}, 1).desc), {&x}, {&y});
  for (int64_t i = 0; i < 37; ++i) {
    EXPECT_GT(y.At(i), 0) << i;
    EXPECT_TRUE(std::isnan(y.At(37 + i))) << i;
    EXPECT_GT(y.At(2 * 37 + i), 0) << i;
  }
  EXPECT_EQ(y.At(3 * 37), 0);
}

TEST(Fused, ReducesValuesOfMixedWidths) {
  for (int64_t n : {1, 63, 64, 65, 200, 5000}) {
    Group g({3, n}, 1);
    const int x = g.Input(f32), y = g.Input(f64);
    const int sum32 = g.Reduce(Reduction::kSum, f32, x);
    const int sum64 = g.Reduce(Reduction::kSum, f64, g.Op(kMul, f64, y, g.Op(kConvert, f64, x)));
    const int any = g.Reduce(Reduction::kOr, bool_, g.Op(kGt, bool_, x, g.Constant(f32, 1.5)));
    g.Output(g.Op(kSelect, f64, any, g.Op(kConvert, f64, sum32), g.Op(kSub, f64, sum64, y)));
    g.OutputPerRow(g.Reduce(Reduction::kMin, i8, g.Op(kConvert, i8, x)));
    const Buffer a = Random(f32, 3 * n, 1), b = Random(f64, 3 * n, 2);
    ExpectOpByOp(g.desc, {&a, &b}, "n = " + std::to_string(n));
  }
}

TEST(Fused, ReadsTransposedAndReversedInputs) {
  Group g({40, 50});
  const int a = g.Input(f32, {1, 40}), b = g.Input(bf16), c = g.Input(bool_, {1, 40});
  g.Output(g.Op(kSelect, f32, c, a, g.Op(kAdd, f32, a, g.Op(kConvert, f32, b))));
  const Buffer x = Random(f32, 2000, 1), y = Random(bf16, 2000, 2), p = Random(bool_, 2000, 3);
  Buffer z(f32, 2000);
  Call(Fused(g.desc), {&x, &y, &p}, {&z}, 3);
  std::vector<double> want;
  for (int64_t i = 0; i < 40; ++i)
    for (int64_t j = 0; j < 50; ++j)
      want.push_back(x.At(j * 40 + i) + (p.At(j * 40 + i) != 0 ? y.At(i * 50 + j) : 0));
  EXPECT_TRUE(Near(z, want, 1e-6));
}

TEST(Fused, WritesOverAnInputWhereItSaysSo) {
  for (int64_t n : {1, 7, 130, 3000}) {
    Group g({n});
    const int a = g.Input(f32), b = g.Input(f32);
    g.Output(g.Op(kMul, f32, g.Op(kAdd, f32, a, b), g.Op(kSub, f32, b, a)));
    const plan::Kernel kernel = Fused(g.desc);
    ASSERT_EQ(kernel.in_place, 3u);
    const Buffer x = Random(f32, n, 1), y = Random(f32, n, 2);
    Buffer want(f32, n), z = x;
    Call(kernel, {&x, &y}, {&want});
    Call(kernel, {&z, &y}, {&z});
    EXPECT_TRUE(SameBits(z, want));
  }
}

TEST(Fused, StreamsLargeOutputs) {
  constexpr int64_t kN = (33 << 20) / 4 + 5;
  Group g({kN});
  g.Output(g.Op(kMul, f32, g.Input(f32), g.Constant(f32, 2)));
  const Buffer x = Random(f32, kN, 4);
  Buffer got(f32, kN), want(f32, kN);
  for (int64_t i = 0; i < kN; ++i) want.as<float>()[i] = 2 * x.as<float>()[i];
  Call(Fused(g.desc), {&x}, {&got}, 3);
  EXPECT_TRUE(SameBits(got, want));
}

TEST(Fused, SplitsLargeWorkOnly) {
  Group small({100}), large({1 << 22});
  small.Output(small.Op(kNeg, f32, small.Input(f32)));
  large.Output(large.Op(kNeg, f32, large.Input(f32)));
  EXPECT_EQ(Fused(small.desc).max_parts, 1);
  EXPECT_GE(Fused(large.desc).max_parts, 64);
}

}  // namespace
// Rows with gaps in the output and in the operand, long and short, and single elements in any
// order. The gaps are left unchanged.
TEST(Fused, OutputsMayHaveStrides) {
  struct Case {
    Shape dims;
    std::vector<int64_t> in, out;
  };
  const Case cases[] = {{{7, 600}, {600, 1}, {640, 1}},
                        {{7, 600}, {700, 1}, {640, 1}},
                        {{7, 5}, {9, 1}, {6, 1}},
                        {{4, 3, 64}, {64, 256, 1}, {200, 66, 1}},
                        {{40, 1}, {3, 1}, {5, 1}},
                        {{5, 40}, {1, 5}, {50, 1}},
                        {{33}, {1}, {3}},
                        {{3, 40}, {40, 1}, {1, 3}},
                        {{0, 8}, {8, 1}, {16, 1}}};
  for (const Case& c : cases)
    for (const bool streams : {false, true})
      for (int parts : {1, 3}) {
        Group g(c.dims);
        const int x = g.Input(f32, c.in);
        g.Output(g.Op(kConvert, bf16, g.Op(kAdd, f32, x, x)));
        g.desc.outputs[0].strides = c.out;
        g.desc.streams = streams;
        const Buffer in = Random(f32, 6000, 1);
        Buffer got = Random(bf16, 6000, 2), want = got;
        for (int64_t i = 0; i < Count(c.dims); ++i) {
          int64_t from = 0, to = 0, rest = i;
          for (size_t d = c.dims.size(); d-- > 0; rest /= c.dims[d])
            from += rest % c.dims[d] * c.in[d], to += rest % c.dims[d] * c.out[d];
          want.Set(to, 2 * in.At(from));
        }
        Call(Fused(g.desc), {&in}, {&got}, parts);
        EXPECT_TRUE(SameBits(got, want)) << ::testing::PrintToString(c.dims) << " " << parts;
      }
}

}  // namespace tessera::kernels
