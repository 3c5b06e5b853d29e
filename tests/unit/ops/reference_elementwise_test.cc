// Reference functions of elementwise ops against independent numbers.
#include "plan/scalar_op.h"
#include "unit/ops/reference_test_util.h"

namespace tessera::ops::reference {
namespace {

using plan::ScalarOp;

void ExpectScalarOp(ScalarOp op, const std::vector<HostTensor>& in, const HostTensor& want) {
  Expect(Elementwise(op), nullptr, in, want, in[0].dtype.name());
}

// ---- Elementwise: floats ------------------------------------------------------------------------

TEST(ReferenceElementwise, FloatFunctionsOfOneOperand) {
  using enum ScalarOp;
  struct {
    ScalarOp op;
    Doubles x, want;
  } const cases[] = {
      {kNeg, {0.0, -1.5, kInf}, {-0.0, 1.5, -kInf}},
      {kAbs, {-0.0, -1.5, -kInf}, {0, 1.5, kInf}},
      {kSign, {-0.0, 0.0, -2.5, kInf, kNaN}, {-0.0, 0.0, -1, 1, kNaN}},
      {kFloor, {-0.5, 1.5}, {-1, 1}},
      {kCeil, {-0.5, 1.5}, {-0.0, 2}},
      {kRoundEven, {0.5, 1.5, 2.5, -0.5, -2.5}, {0, 2, 2, -0.0, -2}},
      {kRoundAway, {0.5, 1.5, 2.5, -0.5, -2.5}, {1, 2, 3, -1, -3}},
      {kExp, {0, -kInf, kInf}, {1, 0, kInf}},
      {kExp2, {3, -1}, {8, 0.5}},
      {kExpm1, {-0.0, -kInf}, {-0.0, -1}},
      {kLog, {1, 0, -1}, {0, -kInf, kNaN}},
      {kLog1p, {-0.0, -1}, {-0.0, -kInf}},
      {kSqrt, {4, -0.0, -1}, {2, -0.0, kNaN}},
      {kRsqrt, {4, 0, -0.0, kInf}, {0.5, kInf, -kInf, 0}},
      {kCbrt, {-8, 1}, {-2, 1}},
      {kSin, {-0.0, kInf}, {-0.0, kNaN}},
      {kCos, {0, kInf}, {1, kNaN}},
      {kTan, {-0.0, kInf}, {-0.0, kNaN}},
      {kAsin, {-0.0, 2}, {-0.0, kNaN}},
      {kAcos, {1, -2}, {0, kNaN}},
      {kAtan, {-0.0}, {-0.0}},
      {kSinh, {-0.0, -kInf}, {-0.0, -kInf}},
      {kCosh, {0, -kInf}, {1, kInf}},
      {kTanh, {-0.0, kInf, -kInf}, {-0.0, 1, -1}},
      {kAsinh, {-0.0, -kInf}, {-0.0, -kInf}},
      {kAcosh, {1, 0.5}, {0, kNaN}},
      {kAtanh, {-0.0, 1, 2}, {-0.0, kInf, kNaN}},
      {kErf, {-0.0, kInf, -kInf}, {-0.0, 1, -1}},
      {kErfc, {0, kInf, -kInf}, {1, 0, 2}},
      {kErfInv, {-0.0, 1, -1, 2, kNaN}, {-0.0, kInf, -kInf, kNaN, kNaN}},
      {kLgamma, {1, 2, 0, -1, -kInf}, {0, 0, kInf, kInf, kInf}},
      {kDigamma, {0, -0.0, -1, kInf, -kInf}, {kNaN, kNaN, kNaN, kInf, kNaN}},
      {kLogistic, {0, kInf, -kInf}, {0.5, 1, 0}},
  };
  for (DType dtype : kFloats)
    for (const auto& c : cases) ExpectScalarOp(c.op, {Floats(dtype, c.x)}, Floats(dtype, c.want));
}

// Numbers from mpmath with 40 digits.
TEST(ReferenceElementwise, SpecialFunctionsAreGoodTo1e14) {
  using enum ScalarOp;
  struct {
    ScalarOp op;
    double x, want;
  } const cases[] = {
      {kErfInv, 0.1, 0.088855990494257691974},       {kErfInv, 0.5, 0.47693627620446987338},
      {kErfInv, -0.9, -1.1630871536766741628},       {kErfInv, 1e-300, 8.8622692545275803586e-301},
      {kErfInv, 1 - 0x1p-53, 5.8635847487551679272}, {kDigamma, 1, -0.57721566490153286061},
      {kDigamma, 0.5, -1.9635100260214234794},       {kDigamma, -0.5, 0.036489973978576520559},
      {kDigamma, 10, 2.2517525890667211076},         {kDigamma, 1e-10, -10000000000.5772153},
      {kDigamma, 1.4616, -3.1106251230341649658e-5}, {kDigamma, -7.25, 5.1899772149562878875},
      {kDigamma, 100, 4.6001618527380874002},        {kLgamma, 0.5, 0.57236494292470008707},
      {kLgamma, -0.5, 1.2655121234846453965},        {kExp, 1, 2.7182818284590452354},
      {kLogistic, -40, 4.2483542552915889953e-18},
  };
  for (const auto& c : cases) {
    const HostTensor x = Floats(f64, {}, {c.x});
    HostTensor got(f64, {});
    const OpDef& op = Elementwise(c.op);
    (*op.reference)({op, nullptr, {&x}, {&got}});
    EXPECT_NEAR(got.Float(0), c.want, 1e-14 * std::fabs(c.want)) << c.x;
  }
}

TEST(ReferenceElementwise, ZetaIsGoodTo1e14) {
  const struct {
    double s, q, want;
  } cases[] = {
      {2, 1, 1.64493406684822643647},          {2, -0.5, 8.93480220054467930942},
      {3, -0.5, 0.414398322117159997798},      {3, -10.25, -62.0082360107435524583},
      {2, -1000.5, 9.86860540017344142331},    {1 + 0x1p-40, 3, 1099511627775.07721566},
      {50, 9, 1.95041152243698562908e-48},     {4, 300000.5, 1.23456790122770919067e-17},
      {700, 0.75, 2.86494062520344494099e+87}, {1.25, 1e30, 1.26491106406735172651e-7},
  };
  for (const auto& c : cases) {
    const HostTensor s = Floats(f64, {}, {c.s}), q = Floats(f64, {}, {c.q});
    HostTensor got(f64, {});
    const OpDef& op = Elementwise(ScalarOp::kZeta);
    (*op.reference)({op, nullptr, {&s, &q}, {&got}});
    EXPECT_NEAR(got.Float(0), c.want, 1e-14 * std::fabs(c.want)) << c.s << ", " << c.q;
  }
}

TEST(ReferenceElementwise, FloatFunctionsOfTwoOperands) {
  using enum ScalarOp;
  struct {
    ScalarOp op;
    Doubles x, y, want;
  } const cases[] = {
      {kAdd, {1.5, -0.0}, {2, -0.0}, {3.5, -0.0}},
      {kSub, {1.5, kInf}, {2, kInf}, {-0.5, kNaN}},
      {kMul, {1.5, -0.0}, {-2, 3}, {-3, -0.0}},
      {kDiv, {1, -1, 0, 3}, {0, 0, 0, 2}, {kInf, -kInf, kNaN, 1.5}},
      {kRem, {5.5, -5.5, -4, 1, 1}, {2, 2, 2, 0, kInf}, {1.5, -1.5, -0.0, kNaN, 1}},
      {kPow, {2, -2, 0, -2, kNaN}, {3, 0.5, -1, 3, 0}, {8, kNaN, kInf, -8, 1}},
      {kMax, {-0.0, 0.0, kNaN, 1, 1}, {0.0, -0.0, 1, kNaN, 2}, {0.0, 0.0, kNaN, kNaN, 2}},
      {kMin, {-0.0, 0.0, kNaN, 1, 1}, {0.0, -0.0, 1, kNaN, 2}, {-0.0, -0.0, kNaN, kNaN, 1}},
      {kZeta,
       {1, 2, 2, 3, 0, 0.5, 2.5, 2, kInf, -1},
       {5, 0, -3, 0, -1, 1, -0.5, kInf, 1, 2},
       {kInf, kInf, kInf, kNaN, kInf, kNaN, kNaN, 0, 1, kNaN}},
      {kAtan2, {-0.0, 0.0, 0.0}, {1, 1, -0.0}, {-0.0, 0.0, std::atan2(0.0, -1.0)}},
  };
  for (DType dtype : kFloats)
    for (const auto& c : cases)
      ExpectScalarOp(c.op, {Floats(dtype, c.x), Floats(dtype, c.y)}, Floats(dtype, c.want));
}

TEST(ReferenceElementwise, NextafterStepsInItsDType) {
  struct {
    DType dtype;
    double epsilon, least;
  } const cases[] = {{f16, 0x1p-10, 0x1p-24},
                     {bf16, 0x1p-7, 0x1p-133},
                     {f32, 0x1p-23, 0x1p-149},
                     {f64, 0x1p-52, 0x1p-1074}};
  for (const auto& c : cases)
    ExpectScalarOp(ScalarOp::kNextafter,
                   {Floats(c.dtype, {1, 1, -1, 0, -0.0, 0, c.least, kInf, 1}),
                    Floats(c.dtype, {2, 0, -kInf, -1, 1, -0.0, 0, kInf, kNaN})},
                   Floats(c.dtype, {1 + c.epsilon, 1 - c.epsilon / 2, -1 - c.epsilon, -c.least,
                                    c.least, -0.0, 0, kInf, kNaN}));
}

TEST(ReferenceElementwise, ComparesClampsAndSelects) {
  using enum ScalarOp;
  struct {
    ScalarOp op;
    Integers want;  // of {1, 2, 2, -0.0, NaN} with {2, 2, 1, 0.0, NaN}
  } const cases[] = {{kEq, {0, 1, 0, 1, 0}}, {kNe, {1, 0, 1, 0, 1}}, {kLt, {1, 0, 0, 0, 0}},
                     {kLe, {1, 1, 0, 1, 0}}, {kGt, {0, 0, 1, 0, 0}}, {kGe, {0, 1, 1, 1, 0}}};
  for (DType dtype : kFloats) {
    const HostTensor x = Floats(dtype, {1, 2, 2, -0.0, kNaN});
    const HostTensor y = Floats(dtype, {2, 2, 1, 0.0, kNaN});
    for (const auto& c : cases) ExpectScalarOp(c.op, {x, y}, Ints(bool_, c.want));
    ExpectScalarOp(kIsFinite, {Floats(dtype, {1, kInf, kNaN})}, Ints(bool_, {1, 0, 0}));
    ExpectScalarOp(
        kClamp,
        {Floats(dtype, {}, {-1}), Floats(dtype, {-2, 0.5, 3, kNaN}), Floats(dtype, {}, {1})},
        Floats(dtype, {-1, 0.5, 1, kNaN}));
    ExpectScalarOp(kSelect, {Ints(bool_, {0, 1, 0, 1, 1}), x, y},
                   Floats(dtype, {1, 2, 2, 0.0, kNaN}));
  }
  ExpectScalarOp(kLt, {Ints(u64, {1, -1}), Ints(u64, {-1, 1})}, Ints(bool_, {1, 0}));
  ExpectScalarOp(kLt, {Ints(i64, {1, -1}), Ints(i64, {-1, 1})}, Ints(bool_, {0, 1}));
  ExpectScalarOp(kClamp, {Ints(u64, {1}), Ints(u64, {-1}), Ints(u64, {-2})}, Ints(u64, {-2}));
}

// Numbers just above a tie. Rounding to float first would make them a tie.
TEST(ReferenceElementwise, RoundsOnce) {
  using enum ScalarOp;
  const double above_tie = 1 + 0x1p-11 + 0x1p-40;
  ExpectScalarOp(kConvert, {Floats(f64, {above_tie, 1 + 0x1p-11, -above_tie})},
                 Floats(f16, {1 + 0x1p-10, 1, -1 - 0x1p-10}));
  ExpectScalarOp(kConvert, {Floats(f64, {1 + 0x1p-8 + 0x1p-40, 1 + 0x1p-8, 1e300})},
                 Floats(bf16, {1 + 0x1p-7, 1, kInf}));
  const int64_t above = (int64_t{1} << 60) + (int64_t{1} << 36) + 1;  // a tie of f32, and 1
  ExpectScalarOp(kConvert, {Ints(i64, {above, above - 1})}, Floats(f32, {0x1p60 + 0x1p37, 0x1p60}));
  ExpectScalarOp(kConvert, {Ints(u64, {-1})}, Floats(f64, {0x1p64}));
}

TEST(ReferenceElementwise, Broadcasts) {
  using enum ScalarOp;
  ExpectScalarOp(kAdd, {Floats(f32, {2, 1}, {10, 20}), Floats(f32, {1, 3}, {1, 2, 3})},
                 Floats(f32, {2, 3}, {11, 12, 13, 21, 22, 23}));
  ExpectScalarOp(kSub, {Ints(i32, {}, {1}), Ints(i32, {2, 2}, {1, 2, 3, 4})},
                 Ints(i32, {2, 2}, {0, -1, -2, -3}));
  ExpectScalarOp(kAdd, {Floats(f32, {0, 1}, {}), Floats(f32, {}, {1})}, Floats(f32, {0, 1}, {}));
}

// ---- Elementwise: integers ----------------------------------------------------------------------

TEST(ReferenceElementwise, SignedIntegersWrapAndDivideByZero) {
  using enum ScalarOp;
  for (DType t : kSigned) {
    const int64_t low = Low(t), high = High(t), width = t.size() * 8;
    struct {
      ScalarOp op;
      Integers x, y, want;
    } const cases[] = {
        {kAdd, {high, 1}, {1, -3}, {low, -2}},
        {kSub, {low, 1}, {1, 3}, {high, -2}},
        {kMul, {high, -3}, {2, 5}, {-2, -15}},
        {kDiv, {7, -7, 7, 0, low, low}, {2, 2, 0, 0, -1, 0}, {3, -3, -1, -1, low, -1}},
        {kRem, {7, -7, 7, 0, low, low}, {2, 2, 0, 0, -1, 0}, {1, -1, 7, 0, 0, low}},
        {kPow, {3, -2, 2, 0, 0, high}, {4, 3, width, 0, 5, 2}, {81, -8, 0, 1, 0, 1}},
        {kPow, {4, 1, -1, -1, 0, -1}, {-2, -5, -2, -3, -1, low}, {0, 1, 1, -1, 0, 1}},
        {kMax, {low, 3}, {high, -3}, {high, 3}},
        {kMin, {low, 3}, {high, -3}, {low, -3}},
        {kAnd, {-1, 6}, {5, 3}, {5, 2}},
        {kOr, {-1, 6}, {5, 3}, {-1, 7}},
        {kXor, {-1, 6}, {5, 3}, {-6, 5}},
        {kMulHigh,
         {low, low, high, 5, -3},
         {low, high, high, 7, 2},
         {high / 2 + 1, low / 2, high / 2, 0, -1}},
        {kShiftLeft, {1, 1, 1, 3}, {width - 1, width, -1, 2}, {low, 0, 0, 12}},
        {kShiftRightLogical, {-1, -1, -1, 6}, {1, width, -1, 1}, {high, 0, 0, 3}},
        {kShiftRightArithmetic, {-8, -8, -8, 8, 8}, {1, width, -1, 1, width}, {-4, -1, -1, 4, 0}},
    };
    for (const auto& c : cases) ExpectScalarOp(c.op, {Ints(t, c.x), Ints(t, c.y)}, Ints(t, c.want));
    ExpectScalarOp(kNeg, {Ints(t, {low, 5})}, Ints(t, {low, -5}));
    ExpectScalarOp(kAbs, {Ints(t, {low, -5, 5})}, Ints(t, {low, 5, 5}));
    ExpectScalarOp(kSign, {Ints(t, {low, 0, 5})}, Ints(t, {-1, 0, 1}));
    ExpectScalarOp(kNot, {Ints(t, {0, 5})}, Ints(t, {-1, -6}));
    ExpectScalarOp(kPopulationCount, {Ints(t, {-1, 0, 5})}, Ints(t, {width, 0, 2}));
    ExpectScalarOp(kClz, {Ints(t, {-1, 0, 5})}, Ints(t, {0, width, width - 3}));
  }
}

TEST(ReferenceElementwise, NegativePowersTakeTheExponentsLowBits) {
  ExpectScalarOp(ScalarOp::kPow, {Ints(i8, {7, 5, 3}), Ints(i8, {-2, -1, -128})},
                 Ints(i8, {-47, -51, 1}));
  ExpectScalarOp(ScalarOp::kPow, {Ints(i64, {3}), Ints(i64, {-1})},
                 Ints(i64, {-3237885987332494933}));
}

TEST(ReferenceElementwise, UnsignedIntegersWrapAndDivideByZero) {
  using enum ScalarOp;
  for (DType t : kUnsigned) {
    const int64_t high = High(t), width = t.size() * 8, top = int64_t{1} << (width - 1);
    const int64_t half_down = static_cast<int64_t>(static_cast<uint64_t>(high) / 2);
    struct {
      ScalarOp op;
      Integers x, y, want;
    } const cases[] = {
        {kAdd, {high}, {2}, {1}},
        {kSub, {1}, {2}, {high}},
        {kDiv, {high, 7, 0}, {2, 0, 0}, {half_down, high, high}},
        {kRem, {high, 7, 0}, {2, 0, 0}, {1, 7, 0}},
        {kPow, {3, high, 2}, {4, 3, width}, {81, high, 0}},
        {kMax, {high}, {1}, {high}},
        {kMin, {high}, {1}, {1}},
        {kShiftLeft, {3, 1}, {width - 1, width}, {top, 0}},
        {kShiftRightLogical, {high, high, high}, {1, width, high}, {half_down, 0, 0}},
        {kShiftRightArithmetic, {7, high, 7}, {1, width, width}, {3, high, 0}},
    };
    for (const auto& c : cases) ExpectScalarOp(c.op, {Ints(t, c.x), Ints(t, c.y)}, Ints(t, c.want));
    ExpectScalarOp(kNeg, {Ints(t, {1})}, Ints(t, {high}));
    ExpectScalarOp(kAbs, {Ints(t, {high})}, Ints(t, {high}));
    ExpectScalarOp(kSign, {Ints(t, {high, 0})}, Ints(t, {1, 0}));
    ExpectScalarOp(kPopulationCount, {Ints(t, {high})}, Ints(t, {width}));
    ExpectScalarOp(kClz, {Ints(t, {1})}, Ints(t, {width - 1}));
  }
}

TEST(ReferenceElementwise, BoolsAreLogical) {
  using enum ScalarOp;
  const HostTensor x = Ints(bool_, {0, 0, 1, 1}), y = Ints(bool_, {0, 1, 0, 1});
  ExpectScalarOp(kNot, {x}, Ints(bool_, {1, 1, 0, 0}));
  ExpectScalarOp(kAnd, {x, y}, Ints(bool_, {0, 0, 0, 1}));
  ExpectScalarOp(kOr, {x, y}, Ints(bool_, {0, 1, 1, 1}));
  ExpectScalarOp(kXor, {x, y}, Ints(bool_, {0, 1, 1, 0}));
  ExpectScalarOp(kMax, {x, y}, Ints(bool_, {0, 1, 1, 1}));
  ExpectScalarOp(kLt, {x, y}, Ints(bool_, {0, 1, 0, 0}));
}

// ---- Conversions --------------------------------------------------------------------------------

TEST(ReferenceConvert, FloatToIntSaturatesAndNaNIsZero) {
  for (DType from : {f32, f64}) {
    const HostTensor x = Floats(from, {1.9, -1.9, 1e30, -1e30, kInf, -kInf, kNaN, -0.5});
    for (DType t : kSigned)
      ExpectScalarOp(ScalarOp::kConvert, {x},
                     Ints(t, {1, -1, High(t), Low(t), High(t), Low(t), 0, 0}));
    for (DType t : kUnsigned)
      ExpectScalarOp(ScalarOp::kConvert, {x}, Ints(t, {1, 0, High(t), 0, High(t), 0, 0, 0}));
    ExpectScalarOp(ScalarOp::kConvert, {x}, Ints(bool_, {1, 1, 1, 1, 1, 1, 1, 1}));
  }
  const HostTensor ends = Floats(f64, {0x1p63, -0x1p63});
  ExpectScalarOp(ScalarOp::kConvert, {ends}, Ints(i64, {kHigh64, kLow64}));
  ExpectScalarOp(ScalarOp::kConvert, {Floats(f64, {0x1p63, 0x1p64})}, Ints(u64, {kLow64, -1}));
  ExpectScalarOp(ScalarOp::kConvert, {Floats(f16, {0.0, -0.0})}, Ints(bool_, {0, 0}));
}

TEST(ReferenceConvert, IntToIntWraps) {
  ExpectScalarOp(ScalarOp::kConvert, {Ints(i32, {300, -1, 128})}, Ints(i8, {44, -1, -128}));
  ExpectScalarOp(ScalarOp::kConvert, {Ints(i8, {-1, 5})}, Ints(u64, {-1, 5}));
  ExpectScalarOp(ScalarOp::kConvert, {Ints(i32, {256, 0})}, Ints(bool_, {1, 0}));
  ExpectScalarOp(ScalarOp::kConvert, {Ints(bool_, {1, 0})}, Floats(bf16, {1, 0}));
  ExpectScalarOp(ScalarOp::kConvert, {Floats(f32, {65520, -0.0})}, Floats(f16, {kInf, -0.0}));
}

TEST(ReferenceBitcast, KeepsTheBytes) {
  Expect(kBitcastConvertType, nullptr, {Floats(f32, {1, -0.0})}, Ints(i32, {0x3f800000, Low(i32)}));
  const HostTensor wide = Ints(u32, {2}, {0x04030201, 0x08070605});
  const HostTensor narrow = Ints(u8, {2, 4}, {1, 2, 3, 4, 5, 6, 7, 8});
  Expect(kBitcastConvertType, nullptr, {wide}, narrow);
  Expect(kBitcastConvertType, nullptr, {narrow}, wide);
}

}  // namespace
}  // namespace tessera::ops::reference
