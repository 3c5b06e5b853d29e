// Computes random bits from a key and an index, and floats from the bits.
#include "api/random/distributions.h"

#include <cmath>
#include <numbers>

#include "api/array/apply_elementwise.h"
#include "base/dtype.h"
#include "base/float8.h"
#include "ops/params.h"

namespace tessera::api {

using ops::ScalarOp;

// ---- keys ---------------------------------------------------------------------------------------

namespace {

// Returns the row-major index of each element in the whole array.
Array FlatIndex(const base::Shape& shape, const std::optional<PartitionSpec>& out, Call call) {
  const ShapeAndDType wanted{shape, u64};
  ops::IotaParams all;
  for (size_t d = 0; d < shape.size(); ++d) all.dim.push_back(static_cast<int64_t>(d));
  return Run(ops::kIota, ir::MakeParams(std::move(all)), {}, call,
             {.wanted = &wanted, .out_sharding = out, .rank = static_cast<int>(shape.size())});
}

// Applies an op to a key and a counter without promotion, because keys promote with nothing.
Array Random(ScalarOp op, const Array& key, const Array& counter, Call call) {
  return Run(ops::Elementwise(op), nullptr, {key, counter}, call);
}

}  // namespace

Array FoldIn(const Array& key, const Array& numbers, Call call) {
  return Random(ScalarOp::kRandomFoldIn, key, numbers, call);
}

Array SplitKey(const Array& key, const DrawnAs& as, Call call) {
  return FoldIn(key, FlatIndex(as.shape, as.out_sharding, call), call);
}

std::vector<Array> SplitApart(const Array& key, int64_t n, Call call) {
  std::vector<Array> keys;
  for (int64_t i = 0; i < n; ++i)
    keys.push_back(FoldIn(key, StrongScalar(static_cast<uint64_t>(i), u64, call), call));
  return keys;
}

// ---- bits ---------------------------------------------------------------------------------------

Array RandomBits(const Array& key, const DrawnAs& as, int width, Call call) {
  const Array index = FlatIndex(as.shape, as.out_sharding, call);
  if (width == 64) return Random(ScalarOp::kRandomBits64, key, index, call);
  const Array word = Random(ScalarOp::kRandomBits32, key, index, call);
  if (width == 32) return word;
  const uint64_t mask = (1u << width) - 1;
  return Elementwise(ScalarOp::kAnd, {word, StrongScalar(mask, u32, call)}, call);
}

// ---- floats -------------------------------------------------------------------------------------

namespace {

// Ops and numbers of one dtype for the formulas of a sample.
class Formula {
 public:
  Formula(DType t, Call call) : t_(t), call_(call) {}
  Array Number(double v) const { return StrongScalar(v, t_, call_); }
  Array Neg(const Array& x) const { return Apply(ScalarOp::kNeg, {x}); }
  Array Log(const Array& x) const { return Apply(ScalarOp::kLog, {x}); }
  Array Log1p(const Array& x) const { return Apply(ScalarOp::kLog1p, {x}); }
  Array Add(const Array& x, const Array& y) const { return Apply(ScalarOp::kAdd, {x, y}); }
  Array Sub(const Array& x, const Array& y) const { return Apply(ScalarOp::kSub, {x, y}); }
  Array Mul(const Array& x, const Array& y) const { return Apply(ScalarOp::kMul, {x, y}); }
  Array Maximum(const Array& x, const Array& y) const { return Apply(ScalarOp::kMax, {x, y}); }
  Array Apply(ScalarOp op, const std::vector<Array>& xs) const {
    return Elementwise(op, xs, call_);
  }

 private:
  DType t_;
  Call call_;
};

// Returns the number of stored mantissa bits of a floating dtype.
int MantissaBits(DType t) {
  if (t.is_float8()) return base::Float8Format::Of(t.code()).mantissa;
  return t == f64 ? 52 : t == f32 ? 23 : t == f16 ? 10 : 7;
}

// Returns v rounded to a dtype.
double Rounded(long double v, DType t) {
  ir::HostTensor element(t, {1});
  element.SetFloat(0, v);
  return element.Float(0);
}

// Returns the next float after -1 towards 0.
double AboveMinusOne(DType t) { return -1 + std::ldexp(1.0, -MantissaBits(t) - 1); }
double Least(DType t) {  // the smallest normal one
  if (t.is_float8()) return std::ldexp(1.0, 1 - base::Float8Format::Of(t.code()).bias);
  return std::ldexp(1.0, t == f64 ? -1022 : t == f16 ? -14 : -126);
}

// Samples floats in [0, 1): the highest random bits become the fraction, which is exact.
Array UnitUniform(const Array& key, const DrawnAs& as, Call call) {
  const DType t = as.dtype;
  const Formula of(t, call);
  const int m = MantissaBits(t), width = t == bf16 ? 8 : t.size() * 8;
  const Array shift = StrongScalar(static_cast<uint64_t>(width - m), width == 64 ? u64 : u32, call);
  const Array digits =
      of.Apply(ScalarOp::kShiftRightLogical, {RandomBits(key, as, width, call), shift});
  return of.Mul(Convert(digits, t, call), of.Number(std::ldexp(1.0, -m)));
}

}  // namespace

Array Uniform(const Array& key, const DrawnAs& as, double lo, double hi, Call call) {
  const Array u = UnitUniform(key, as, call);
  lo = Rounded(lo, as.dtype), hi = Rounded(hi, as.dtype);
  if (lo == 0 && hi == 1) return u;
  const Formula of(as.dtype, call);
  const double span = Rounded(static_cast<long double>(hi) - lo, as.dtype);
  const Array low = of.Number(lo);
  return of.Maximum(low, of.Add(of.Mul(u, of.Number(span)), low));
}

Array Uniform(const Array& key, const DrawnAs& as, const Array& lo, const Array& hi, Call call) {
  const Formula of(as.dtype, call);
  const Array u = UnitUniform(key, as, call);
  return of.Maximum(lo, of.Add(of.Mul(u, of.Sub(hi, lo)), lo));
}

Array Normal(const Array& key, const DrawnAs& as, Call call) {
  if (as.dtype.is_complex()) {  // both parts have variance 1/2
    DrawnAs parts = as;
    parts.dtype = base::PartOf(as.dtype);
    const std::vector<Array> keys = SplitApart(key, 2, call);
    const Formula of(parts.dtype, call);
    const auto part = [&](const Array& k) {
      return of.Apply(ScalarOp::kDiv, {Normal(k, parts, call), of.Number(std::numbers::sqrt2)});
    };
    return of.Apply(ScalarOp::kComplex, {part(keys[0]), part(keys[1])});
  }
  const Formula of(as.dtype, call);
  const Array u = Uniform(key, as, AboveMinusOne(as.dtype), 1, call);
  return of.Mul(of.Number(std::numbers::sqrt2), of.Apply(ScalarOp::kErfInv, {u}));
}

Array Gumbel(const Array& key, const DrawnAs& as, Call call) {
  const Formula of(as.dtype, call);
  return of.Neg(of.Log(of.Neg(of.Log(Uniform(key, as, Least(as.dtype), 1, call)))));
}

Array Exponential(const Array& key, const DrawnAs& as, Call call) {
  const Formula of(as.dtype, call);
  return of.Neg(of.Log1p(of.Neg(Uniform(key, as, 0, 1, call))));
}

Array Laplace(const Array& key, const DrawnAs& as, Call call) {
  const Formula of(as.dtype, call);
  const Array u = Uniform(key, as, AboveMinusOne(as.dtype), 1, call);
  const Array size = of.Log1p(of.Neg(of.Apply(ScalarOp::kAbs, {u})));
  return of.Mul(of.Apply(ScalarOp::kSign, {u}), size);
}

Array Logistic(const Array& key, const DrawnAs& as, Call call) {
  const Formula of(as.dtype, call);
  const Array u = Uniform(key, as, Least(as.dtype), 1, call);
  return of.Sub(of.Log(u), of.Log1p(of.Neg(u)));
}

Array Cauchy(const Array& key, const DrawnAs& as, Call call) {
  const Formula of(as.dtype, call);
  const Array u = Uniform(key, as, std::ldexp(1.0, -MantissaBits(as.dtype)), 1, call);
  const Array turn = of.Sub(u, of.Number(0.5));
  return of.Apply(ScalarOp::kTan, {of.Mul(of.Number(std::numbers::pi), turn)});
}

}  // namespace tessera::api
