// Ops that combine elements: reductions, running reductions and dot_general.
#include <algorithm>
#include <cmath>
#include <limits>

#include "base/shape.h"
#include "ops/params.h"
#include "ops/reference.h"
#include "ops/reference_values.h"
#include "plan/plan.h"

namespace tessera::ops::reference {
namespace {

using Coords = std::vector<int64_t>;

constexpr double kInf = std::numeric_limits<double>::infinity();

// ---- A reduction's identity and step, of floats and of integers and bools -----------------------

double FloatIdentity(Reduction reduction) {
  switch (reduction) {
    case Reduction::kProd:
      return 1;
    case Reduction::kMax:
      return -kInf;
    case Reduction::kMin:
      return kInf;
    default:
      return 0;
  }
}

double FloatStep(Reduction reduction, double a, double b) {
  switch (reduction) {
    case Reduction::kProd:
      return a * b;
    case Reduction::kMax:
      return Larger(a, b);
    case Reduction::kMin:
      return Smaller(a, b);
    default:
      return a + b;
  }
}

int64_t IntIdentity(Reduction reduction, DType dtype) {
  switch (reduction) {
    case Reduction::kProd:
      return 1;
    case Reduction::kMax:
      return LowestInt(dtype);
    case Reduction::kMin:
      return HighestInt(dtype);
    case Reduction::kAnd:
      return -1;
    default:
      return 0;
  }
}

int64_t IntStep(Reduction reduction, DType dtype, int64_t a, int64_t b) {
  const auto wide_a = static_cast<uint64_t>(a), wide_b = static_cast<uint64_t>(b);
  switch (reduction) {
    case Reduction::kProd:
      return static_cast<int64_t>(wide_a * wide_b);
    case Reduction::kMax:
      return IntLess(dtype, a, b) ? b : a;
    case Reduction::kMin:
      return IntLess(dtype, b, a) ? b : a;
    case Reduction::kAnd:
      return a & b;
    case Reduction::kOr:
      return a | b;
    default:
      return static_cast<int64_t>(wide_a + wide_b);
  }
}

// The value so far of one reduction, of whichever kind the dtype has.
class Accumulator {
 public:
  Accumulator(Reduction reduction, DType dtype)
      : reduction_(reduction),
        dtype_(dtype),
        float_(FloatIdentity(reduction)),
        int_(IntIdentity(reduction, dtype)) {}
  void Add(const HostTensor& x, int64_t i) {
    if (dtype_.is_floating())
      float_ = FloatStep(reduction_, float_, x.Float(i));
    else
      int_ = IntStep(reduction_, dtype_, int_, x.Int(i));
  }
  void StoreTo(HostTensor& t, int64_t i) const {
    if (dtype_.is_floating())
      t.SetFloat(i, float_);
    else
      t.SetInt(i, int_);
  }

 private:
  Reduction reduction_;
  DType dtype_;
  double float_;
  int64_t int_;
};

// Returns the dims of a tensor of this rank that are in none of the lists, ascending.
Coords OtherDims(size_t rank, const Coords& a, const Coords& b = {}) {
  Coords others;
  for (int64_t d = 0; d < static_cast<int64_t>(rank); ++d)
    if (std::ranges::count(a, d) == 0 && std::ranges::count(b, d) == 0) others.push_back(d);
  return others;
}

Coords Pick(const Coords& from, const Coords& dims) {
  Coords picked;
  for (int64_t d : dims) picked.push_back(from[d]);
  return picked;
}

// ---- Along one dim ------------------------------------------------------------------------------

// Result i is the position in lane i of the element that `beats` every other; the first of ties.
template <class F>
void ArgReduce(const ReferenceCall& call, F beats) {
  const HostTensor& x = *call.operands[0];
  const auto lanes = Lanes(x.shape, ir::As<DimParams>(call.params).dim[0]);
  for (size_t i = 0; i < lanes.size(); ++i) {
    size_t best = 0;
    for (size_t j = 1; j < lanes[i].size(); ++j)
      if (beats(x, lanes[i][j], lanes[i][best])) best = j;
    call.results[0]->SetInt(i, best);
  }
}

std::vector<Coords> CumulativeLanes(const ReferenceCall& call) {
  const auto& params = ir::As<CumulativeParams>(call.params);
  std::vector<Coords> lanes = Lanes(call.operands[0]->shape, params.dim[0]);
  if (params.reverse)
    for (Coords& lane : lanes) std::ranges::reverse(lane);
  return lanes;
}

void Cumulate(const ReferenceCall& call, Reduction reduction) {
  const HostTensor& x = *call.operands[0];
  for (const Coords& lane : CumulativeLanes(call)) {
    Accumulator accumulator(reduction, x.dtype);
    for (int64_t i : lane) {
      accumulator.Add(x, i);
      accumulator.StoreTo(*call.results[0], i);
    }
  }
}

// log(exp(a) + exp(b)).
double LogAddExp(double a, double b) {
  const double high = Larger(a, b), low = Smaller(a, b);
  if (std::isnan(high) || std::isinf(high)) return high;
  return high + std::log1p(std::exp(low - high));
}

// ---- dot_general --------------------------------------------------------------------------------

// Which dims of an operand are batch, contracting and free ones.
struct DotSide {
  Coords batch, contract, free;
  // Returns the index of the element at these coordinates of the three.
  int64_t Index(const ir::Shape& shape, const Coords& b, const Coords& c, const Coords& f) const {
    Coords at(shape.size());
    for (size_t k = 0; k < b.size(); ++k) at[batch[k]] = b[k];
    for (size_t k = 0; k < c.size(); ++k) at[contract[k]] = c[k];
    for (size_t k = 0; k < f.size(); ++k) at[free[k]] = f[k];
    return ir::FlatIndex(shape, at);
  }
};

DotSide SideOf(const HostTensor& x, const Coords& batch, const Coords& contract) {
  return {batch, contract, OtherDims(x.shape.size(), batch, contract)};
}

// Element j of the product, at coordinates [batch..., lhs free..., rhs free...].
void DotElement(const HostTensor& x, const HostTensor& y, const DotSide& lhs, const DotSide& rhs,
                HostTensor& out, int64_t j) {
  const Coords at = ir::CoordsOf(out.shape, j);
  const auto lhs_begin = at.begin() + static_cast<int64_t>(lhs.batch.size());
  const auto rhs_begin = lhs_begin + static_cast<int64_t>(lhs.free.size());
  const Coords batch(at.begin(), lhs_begin);
  const Coords x_free(lhs_begin, rhs_begin), y_free(rhs_begin, at.end());
  const Coords contracted = Pick(x.shape, lhs.contract);
  double float_sum = 0;
  uint64_t int_sum = 0;
  for (int64_t k = 0; k < base::Elements(contracted); ++k) {
    const Coords c = ir::CoordsOf(contracted, k);
    const int64_t a = lhs.Index(x.shape, batch, c, x_free);
    const int64_t b = rhs.Index(y.shape, batch, c, y_free);
    if (out.dtype.is_floating())
      float_sum += x.Float(a) * y.Float(b);
    else
      int_sum += static_cast<uint64_t>(x.Int(a)) * static_cast<uint64_t>(y.Int(b));
  }
  if (out.dtype.is_floating())
    out.SetFloat(j, float_sum);
  else
    out.SetInt(j, static_cast<int64_t>(int_sum));
}

}  // namespace

void Reduce(const ReferenceCall& call) {
  const Reduction reduction = std::get<ir::Reduce>(*call.op.lowering).reduction;
  const HostTensor& x = *call.operands[0];
  HostTensor& out = *call.results[0];
  const Coords kept = OtherDims(x.shape.size(), ir::As<DimsParams>(call.params).dims);
  std::vector<Accumulator> accumulators(out.size(), {reduction, x.dtype});
  for (int64_t i = 0; i < x.size(); ++i) {
    const int64_t to = ir::FlatIndex(out.shape, Pick(ir::CoordsOf(x.shape, i), kept));
    accumulators[to].Add(x, i);
  }
  for (int64_t i = 0; i < out.size(); ++i) accumulators[i].StoreTo(out, i);
}

// NaN is above all numbers in Order: it wins of itself.
void ArgMax(const ReferenceCall& call) {
  ArgReduce(call, [](const HostTensor& x, int64_t i, int64_t best) {
    return Order(x, i, best, Zeros::kEqual) > 0;
  });
}

void ArgMin(const ReferenceCall& call) {
  ArgReduce(call, [](const HostTensor& x, int64_t i, int64_t best) {
    if (x.dtype.is_floating() && std::isnan(x.Float(best))) return false;
    if (x.dtype.is_floating() && std::isnan(x.Float(i))) return true;
    return Order(x, i, best, Zeros::kEqual) < 0;
  });
}

void CumSum(const ReferenceCall& call) { Cumulate(call, Reduction::kSum); }
void CumProd(const ReferenceCall& call) { Cumulate(call, Reduction::kProd); }
void CumMax(const ReferenceCall& call) { Cumulate(call, Reduction::kMax); }
void CumMin(const ReferenceCall& call) { Cumulate(call, Reduction::kMin); }

void CumLogSumExp(const ReferenceCall& call) {
  const HostTensor& x = *call.operands[0];
  for (const Coords& lane : CumulativeLanes(call)) {
    double sum = -kInf;
    for (int64_t i : lane) {
      sum = LogAddExp(sum, x.Float(i));
      call.results[0]->SetFloat(i, sum);
    }
  }
}

void DotGeneral(const ReferenceCall& call) {
  const auto& params = ir::As<DotParams>(call.params);
  const HostTensor &x = *call.operands[0], &y = *call.operands[1];
  const DotSide lhs = SideOf(x, params.batch.lhs, params.contract.lhs);
  const DotSide rhs = SideOf(y, params.batch.rhs, params.contract.rhs);
  HostTensor& out = *call.results[0];
  for (int64_t j = 0; j < out.size(); ++j) DotElement(x, y, lhs, rhs, out, j);
}

}  // namespace tessera::ops::reference
