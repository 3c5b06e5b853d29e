// Reference functions of ops that move, reduce, multiply or sort, on explicit tensors.
#include "plan/plan.h"
#include "unit/ops/reference_test_util.h"

namespace tessera::ops::reference {
namespace {

// ---- Moving elements ----------------------------------------------------------------------------

TEST(ReferenceMove, ConstantIotaIdentity) {
  Expect(kConstant, ir::MakeParams(ConstantParams{{f16, 0x3e00}}), {}, Floats(f16, {}, {1.5}));
  Expect(kConstant, ir::MakeParams(ConstantParams{{i64, ~uint64_t{0}}}), {}, Ints(i64, {}, {-1}));
  Expect(kIota, ir::MakeParams(IotaParams{{0}}), {}, Ints(i32, {2, 2}, {0, 0, 1, 1}));
  Expect(kIota, ir::MakeParams(IotaParams{{1}}), {}, Floats(bf16, {2, 2}, {0, 1, 0, 1}));
  Expect(kReshape, nullptr, {Ints(i32, {2, 3}, {1, 2, 3, 4, 5, 6})},
         Ints(i32, {3, 2}, {1, 2, 3, 4, 5, 6}));
}

TEST(ReferenceMove, RearrangesElements) {
  const HostTensor x = Ints(i32, {2, 3}, {1, 2, 3, 4, 5, 6});
  const HostTensor zero = Ints(i32, {}, {0});
  struct {
    const char* what;
    const OpDef* op;
    ir::ParamsPtr params;
    std::vector<HostTensor> in;
    HostTensor want;
  } const cases[] = {
      {"transpose",
       &kTranspose,
       ir::MakeParams(TransposeParams{{1, 0}}),
       {x},
       Ints(i32, {3, 2}, {1, 4, 2, 5, 3, 6})},
      {"transpose of rank 3",
       &kTranspose,
       ir::MakeParams(TransposeParams{{2, 0, 1}}),
       {Ints(i32, {2, 1, 3}, {1, 2, 3, 4, 5, 6})},
       Ints(i32, {3, 2, 1}, {1, 4, 2, 5, 3, 6})},
      {"broadcast along new dims",
       &kBroadcastInDim,
       ir::MakeParams(BroadcastParams{{1}}),
       {Ints(i32, {2}, {7, 8})},
       Ints(i32, {2, 2, 2}, {7, 7, 8, 8, 7, 7, 8, 8})},
      {"broadcast of a dim of 1",
       &kBroadcastInDim,
       ir::MakeParams(BroadcastParams{{0, 1}}),
       {Ints(i32, {2, 1}, {7, 8})},
       Ints(i32, {2, 2}, {7, 7, 8, 8})},
      {"slice",
       &kSlice,
       ir::MakeParams(SliceParams{{0, 0}, {2, 3}, {1, 2}}),
       {x},
       Ints(i32, {2, 2}, {1, 3, 4, 6})},
      {"slice from a start",
       &kSlice,
       ir::MakeParams(SliceParams{{1, 1}, {2, 3}, {1, 1}}),
       {x},
       Ints(i32, {1, 2}, {5, 6})},
      {"pad",
       &kPad,
       ir::MakeParams(PadParams{{0, 1}, {1, 0}, {0, 1}}),
       {x, zero},
       Ints(i32, {3, 6}, {0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0, 0, 0, 0, 0, 0})},
      {"negative pad",
       &kPad,
       ir::MakeParams(PadParams{{0, -1}, {0, 1}, {0, 0}}),
       {x, zero},
       Ints(i32, {2, 3}, {2, 3, 0, 5, 6, 0})},
      {"negative pad cuts the interior",
       &kPad,
       ir::MakeParams(PadParams{{-1}, {-1}, {1}}),
       {Ints(i32, {3}, {1, 2, 3}), zero},
       Ints(i32, {3}, {0, 2, 0})},
      {"rev", &kRev, ir::MakeParams(DimsParams{{1}}), {x}, Ints(i32, {2, 3}, {3, 2, 1, 6, 5, 4})},
      {"rev of both",
       &kRev,
       ir::MakeParams(DimsParams{{0, 1}}),
       {x},
       Ints(i32, {2, 3}, {6, 5, 4, 3, 2, 1})},
      {"roll",
       &kRoll,
       ir::MakeParams(RollParams{{1}, 2}),
       {x},
       Ints(i32, {2, 3}, {2, 3, 1, 5, 6, 4})},
      {"concatenate",
       &kConcatenate,
       ir::MakeParams(DimParams{{1}}),
       {x, Ints(i32, {2, 0}, {}), Ints(i32, {2, 1}, {8, 9})},
       Ints(i32, {2, 4}, {1, 2, 3, 8, 4, 5, 6, 9})},
  };
  for (const auto& c : cases) Expect(*c.op, c.params, c.in, c.want, c.what);
}

TEST(ReferenceMove, DynamicStartsAreClamped) {
  const HostTensor x = Ints(i32, {5}, {1, 2, 3, 4, 5}), update = Ints(i32, {2}, {8, 9});
  struct {
    DType dtype;
    int64_t start;
    Integers slice, updated;
  } const cases[] = {
      {i32, 1, {2, 3}, {1, 8, 9, 4, 5}},      {i32, 4, {4, 5}, {1, 2, 3, 8, 9}},
      {i32, -3, {1, 2}, {8, 9, 3, 4, 5}},     {i32, -1, {1, 2}, {8, 9, 3, 4, 5}},
      {i32, -9, {1, 2}, {8, 9, 3, 4, 5}},     {i64, kHigh64, {4, 5}, {1, 2, 3, 8, 9}},
      {i64, kLow64, {1, 2}, {8, 9, 3, 4, 5}}, {u64, -1, {4, 5}, {1, 2, 3, 8, 9}},
      {u8, 255, {4, 5}, {1, 2, 3, 8, 9}},
  };
  for (const auto& c : cases) {
    const HostTensor start = Ints(c.dtype, {}, {c.start});
    Expect(kDynamicSlice, nullptr, {x, start}, Ints(i32, c.slice));
    Expect(kDynamicUpdateSlice, nullptr, {x, update, start}, Ints(i32, c.updated));
  }
  const HostTensor y = Ints(i32, {2, 3}, {1, 2, 3, 4, 5, 6}), one = Ints(i32, {}, {1});
  Expect(kDynamicSlice, nullptr, {y, one, one}, Ints(i32, {1, 2}, {5, 6}));
}

// ---- Reductions ---------------------------------------------------------------------------------

const OpDef& ReduceOp(Reduction reduction) {
  for (const OpDef* op : ReduceOps())
    if (const auto* reduce = std::get_if<ir::AsReduction>(&*op->lowering))
      if (reduce->reduction == reduction) return *op;
  return kReduceSum;
}

void ExpectReduce(Reduction reduction, const std::vector<int64_t>& dims, const HostTensor& x,
                  const HostTensor& want) {
  Expect(ReduceOp(reduction), ir::MakeParams(DimsParams{dims}), {x}, want, x.dtype.name());
}

TEST(ReferenceReduce, OfNoElementsIsTheIdentity) {
  using enum Reduction;
  for (DType t : kFloats) {
    const HostTensor none(t, {2, 0});
    ExpectReduce(kSum, {1}, none, Floats(t, {0, 0}));
    ExpectReduce(kProd, {1}, none, Floats(t, {1, 1}));
    ExpectReduce(kMax, {1}, none, Floats(t, {-kInf, -kInf}));
    ExpectReduce(kMin, {1}, none, Floats(t, {kInf, kInf}));
  }
  for (DType t : {bool_, i8, i32, i64, u8, u32, u64}) {
    const HostTensor none(t, {0});
    ExpectReduce(kSum, {0}, none, Ints(t, {}, {0}));
    ExpectReduce(kProd, {0}, none, Ints(t, {}, {1}));
    ExpectReduce(kMax, {0}, none, Ints(t, {}, {Low(t)}));
    ExpectReduce(kMin, {0}, none, Ints(t, {}, {High(t)}));
    ExpectReduce(kAnd, {0}, none, Ints(t, {}, {-1}));
    ExpectReduce(kOr, {0}, none, Ints(t, {}, {0}));
    ExpectReduce(kXor, {0}, none, Ints(t, {}, {0}));
  }
}

TEST(ReferenceReduce, OverSomeDims) {
  using enum Reduction;
  const HostTensor x = Floats(f32, {2, 3}, {1, 2, 3, 4, 5, 6});
  ExpectReduce(kSum, {0}, x, Floats(f32, {3}, {5, 7, 9}));
  ExpectReduce(kSum, {0, 1}, x, Floats(f32, {}, {21}));
  ExpectReduce(kSum, {}, x, x);
  ExpectReduce(kProd, {1}, x, Floats(f32, {2}, {6, 120}));
  ExpectReduce(kMax, {1}, Floats(f32, {3, 2}, {1, kNaN, -0.0, 0.0, -3, -2}),
               Floats(f32, {kNaN, 0, -2}));
  ExpectReduce(kMin, {1}, Floats(f32, {3, 2}, {1, kNaN, 0.0, -0.0, -3, -2}),
               Floats(f32, {kNaN, -0.0, -3}));
  // 2^-9 is lost if bf16 sums are rounded on the way.
  ExpectReduce(kSum, {0}, Floats(bf16, {1, 0x1p-9, 0x1p-9, 0x1p-9, 0x1p-9}),
               Floats(bf16, {}, {1 + 0x1p-7}));
  ExpectReduce(kSum, {0}, Ints(i8, {100, 100}), Ints(i8, {}, {-56}));
  ExpectReduce(kProd, {0}, Ints(u8, {16, 17}), Ints(u8, {}, {16}));
  ExpectReduce(kMax, {0}, Ints(u64, {1, -1, 2}), Ints(u64, {}, {-1}));
  ExpectReduce(kMin, {0}, Ints(i64, {1, -1, 2}), Ints(i64, {}, {-1}));
  ExpectReduce(kAnd, {0}, Ints(bool_, {1, 0}), Ints(bool_, {}, {0}));
  ExpectReduce(kOr, {0}, Ints(u16, {5, 8}), Ints(u16, {}, {13}));
  ExpectReduce(kXor, {0}, Ints(bool_, {1, 1, 1}), Ints(bool_, {}, {1}));
  ExpectReduce(kXor, {0}, Ints(i16, {-5, 6}), Ints(i16, {}, {-3}));
}

TEST(ReferenceReduce, ArgMaxAndArgMinTakeTheFirst) {
  struct {
    Doubles x;
    int64_t largest, smallest;
  } const cases[] = {{{1, 3, 3, 1}, 1, 0},
                     {{1, kNaN, 5, kNaN}, 1, 1},
                     {{kNaN, -kInf, kInf}, 0, 0},
                     {{-0.0, 0.0}, 0, 0},
                     {{0.0, -0.0}, 0, 0}};
  const ir::ParamsPtr params = ir::MakeParams(DimParams{{0}});
  for (const auto& c : cases) {
    Expect(kArgmax, params, {Floats(f32, c.x)}, Ints(i32, {}, {c.largest}));
    Expect(kArgmin, params, {Floats(f32, c.x)}, Ints(i32, {}, {c.smallest}));
  }
  const HostTensor x = Ints(u64, {2, 2}, {1, -1, 7, 7});
  Expect(kArgmax, ir::MakeParams(DimParams{{1}}), {x}, Ints(i64, {2}, {1, 0}));
  Expect(kArgmin, ir::MakeParams(DimParams{{0}}), {x}, Ints(i64, {2}, {0, 1}));
}

TEST(ReferenceCumulative, RunsEitherWay) {
  const double log2 = std::log(2.0), log3 = std::log(3.0);
  struct {
    const OpDef* op;
    Doubles x, forward, backward;
  } const cases[] = {
      {&kCumsum, {1, 2, 3}, {1, 3, 6}, {6, 5, 3}},
      {&kCumprod, {2, 3, 4}, {2, 6, 24}, {24, 12, 4}},
      {&kCummax, {1, kNaN, 3}, {1, kNaN, kNaN}, {kNaN, kNaN, 3}},
      {&kCummin, {0.0, -0.0, 1}, {0.0, -0.0, -0.0}, {-0.0, -0.0, 1}},
      {&kCumlogsumexp, {0, 0, 0}, {0, log2, log3}, {log3, log2, 0}},
      {&kCumlogsumexp, {-kInf, 1000, kInf}, {-kInf, 1000, kInf}, {kInf, kInf, kInf}},
      {&kCumlogsumexp, {1, kNaN, 1}, {1, kNaN, kNaN}, {kNaN, kNaN, 1}},
  };
  for (const auto& c : cases) {
    Expect(*c.op, ir::MakeParams(CumulativeParams{{0}, false}), {Floats(f32, c.x)},
           Floats(f32, c.forward));
    Expect(*c.op, ir::MakeParams(CumulativeParams{{0}, true}), {Floats(f32, c.x)},
           Floats(f32, c.backward));
  }
  const ir::ParamsPtr down = ir::MakeParams(CumulativeParams{{0}, false});
  Expect(kCumsum, down, {Ints(i8, {2, 2}, {100, 1, 100, 2})}, Ints(i8, {2, 2}, {100, 1, -56, 3}));
  Expect(kCummax, down, {Ints(bool_, {0, 1, 0})}, Ints(bool_, {0, 1, 1}));
  Expect(kCumsum, down, {HostTensor(f32, {0, 2})}, HostTensor(f32, {0, 2}));
}

TEST(ReferenceDot, PutsBatchThenFreeDims) {
  const HostTensor a = Floats(f32, {2, 3}, {1, 2, 3, 4, 5, 6});
  const HostTensor b = Floats(f32, {3, 2}, {1, 2, 3, 4, 5, 6});
  struct {
    DotParams params;
    std::vector<HostTensor> in;
    HostTensor want;
  } const cases[] = {
      {{{{1}, {0}}, {}}, {a, b}, Floats(f32, {2, 2}, {22, 28, 49, 64})},
      {{{{0}, {1}}, {}}, {a, b}, Floats(f32, {3, 3}, {9, 19, 29, 12, 26, 40, 15, 33, 51})},
      {{{{1, 0}, {0, 1}}, {}}, {a, b}, Floats(f32, {}, {1 + 6 + 15 + 8 + 20 + 36})},
      {{{{}, {}}, {{1}, {0}}},
       {a, b},
       Floats(f32, {3, 2, 2}, {1, 2, 4, 8, 6, 8, 15, 20, 15, 18, 30, 36})},
      {{{{1}, {1}}, {{0}, {0}}}, {a, a}, Floats(f32, {2}, {14, 77})},
      {{{{1}, {0}}, {}},
       {HostTensor(f32, {1, 0}), HostTensor(f32, {0, 2})},
       Floats(f32, {1, 2}, {0, 0})},
      {{{{0}, {0}}, {}}, {Ints(i8, {100, 2}), Ints(i8, {2, 3})}, Ints(i8, {}, {-50})},
      {{{{0}, {0}}, {}}, {Ints(i8, {100, 2}), Ints(i8, {2, 3})}, Ints(i32, {}, {206})},
      {{{{0}, {0}}, {}},
       {Floats(bf16, {1, 0x1p-9, 0x1p-9}), Floats(bf16, {1, 2, 2})},
       Floats(f32, {}, {1 + 0x1p-7})},
  };
  for (const auto& c : cases) Expect(kDotGeneral, ir::MakeParams(c.params), c.in, c.want);
}

// ---- Sorting ------------------------------------------------------------------------------------

TEST(ReferenceSort, IsStableWithNaNLast) {
  const HostTensor keys = Floats(f32, {0.0, kNaN, -0.0, -kInf, 0.0, kNaN, 2});
  const HostTensor places = Ints(i32, {0, 1, 2, 3, 4, 5, 6});
  ExpectAll(
      kSort, ir::MakeParams(SortParams{{0}, 1, false}), {keys, places},
      {Floats(f32, {-kInf, 0.0, -0.0, 0.0, 2, kNaN, kNaN}), Ints(i32, {3, 0, 2, 4, 6, 1, 5})});
  ExpectAll(
      kSort, ir::MakeParams(SortParams{{0}, 1, true}), {keys, places},
      {Floats(f32, {kNaN, kNaN, 2, 0.0, -0.0, 0.0, -kInf}), Ints(i32, {1, 5, 6, 0, 2, 4, 3})});
}

TEST(ReferenceSort, ByTheFirstKeysAlongADim) {
  const HostTensor first = Ints(i32, {2, 1, 2, 1}), second = Ints(u64, {-1, 5, 3, 4});
  const HostTensor places = Ints(i8, {0, 1, 2, 3});
  ExpectAll(kSort, ir::MakeParams(SortParams{{0}, 2, false}), {first, second, places},
            {Ints(i32, {1, 1, 2, 2}), Ints(u64, {4, 5, 3, -1}), Ints(i8, {3, 1, 2, 0})});
  ExpectAll(kSort, ir::MakeParams(SortParams{{0}, 1, false}), {first, second, places},
            {Ints(i32, {1, 1, 2, 2}), Ints(u64, {5, 4, -1, 3}), Ints(i8, {1, 3, 0, 2})});
  Expect(kSort, ir::MakeParams(SortParams{{0}, 1, false}), {Ints(bool_, {2, 2}, {1, 0, 0, 1})},
         Ints(bool_, {2, 2}, {0, 0, 1, 1}));
}

TEST(ReferenceTopK, NaNFirstAndNegativeZeroBelow) {
  const HostTensor x = Floats(f32, {-0.0, kNaN, 0.0, 1, -0.0, kNaN, 1});
  ExpectAll(kTopK, ir::MakeParams(TopKParams{7}), {x},
            {Floats(f32, {kNaN, kNaN, 1, 1, 0.0, -0.0, -0.0}), Ints(i32, {1, 5, 3, 6, 2, 0, 4})});
  ExpectAll(kTopK, ir::MakeParams(TopKParams{2}), {Ints(u64, {2, 3}, {1, -1, 2, 4, 4, 4})},
            {Ints(u64, {2, 2}, {-1, 2, 4, 4}), Ints(i64, {2, 2}, {1, 2, 0, 1})});
  ExpectAll(kTopK, ir::MakeParams(TopKParams{0}), {x},
            {HostTensor(f32, {0}), HostTensor(i32, {0})});
}

}  // namespace
}  // namespace tessera::ops::reference
