// Sample table: f8 and integers of 2 and 4 bits. Conversions between them and all others, and for
// one op of each way to compute or move, a sample of another dtype with the dtype replaced.
#include <absl/algorithm/container.h>

#include "base/dtype.h"
#include "suite/table.h"

namespace tessera::suite {
namespace {

using namespace ops;

constexpr DType kFloats8[] = {f8_e4m3fn,   f8_e5m2,     f8_e3m4,       f8_e4m3,
                              f8_e4m3fnuz, f8_e5m2fnuz, f8_e4m3b11fnuz};
constexpr DType kSmallIntegers[] = {i4, u4, i2, u2};

void AddStorageConversions(Table& table) {
  const auto add = [&](DType from, DType to) {
    const Fill fill = from.is_floating() && to.is_integer() ? Range(-20, 20) : kWild;
    Add(table, Elementwise(ScalarOp::kConvert), {}, {{{12, 5}, from, fill}}).wanted = {{12, 5}, to};
  };
  for (absl::Span<const DType> dtypes : {absl::MakeSpan(kFloats8), absl::MakeSpan(kSmallIntegers)})
    for (DType dtype : dtypes) {
      for (DType other : {f32, f64, f16, bf16, i32, i64, u8, bool_, c64}) {
        add(dtype, other);
        add(other, dtype);
      }
      for (DType other : {f8_e5m2, f8_e4m3b11fnuz, i4, u2}) add(dtype, other);
    }
}

// Adds a copy of a sample of the op with two dims, of `from`, in which the dtype is `to`.
void AddRetyped(Table& table, const OpDef& op, DType from, DType to) {
  const auto found = absl::c_find_if(table, [&](const Sample& s) {
    return s.op == &op && !s.truth && !s.operands.empty() && s.operands[0].dtype == from &&
           s.operands[0].shape.size() == 2 && base::Elements(s.operands[0].shape) > 0;
  });
  if (found == table.end()) return;
  Sample sample = *found;
  for (SampleOperand& operand : sample.operands)
    if (operand.dtype == from) operand.dtype = to;
  if (sample.wanted && sample.wanted->dtype == from) sample.wanted->dtype = to;
  // The reference rounds once, and the kernels round the f32 that they compute.
  if (to.is_floating()) {
    sample.forward.eps = std::max(sample.forward.eps, 1.0);
    sample.sharded.eps = std::max(sample.sharded.eps, 1.0);
  }
  table.push_back(std::move(sample));
}

}  // namespace

void AddStorage(Table& table) {
  AddStorageConversions(table);
  const OpDef* const kOps[] = {&Elementwise(ScalarOp::kAdd),
                               &Elementwise(ScalarOp::kMul),
                               &Elementwise(ScalarOp::kNeg),
                               &Elementwise(ScalarOp::kMax),
                               &Elementwise(ScalarOp::kLt),
                               &Elementwise(ScalarOp::kSelect),
                               &Elementwise(ScalarOp::kClamp),
                               &kTranspose,
                               &kBroadcastInDim,
                               &kConcatenate,
                               &kPad,
                               &kReduceSum,
                               &kReduceMax,
                               &kArgmax,
                               &kCumsum,
                               &kDotGeneral,
                               &kSort,
                               &kTopK,
                               &kScatterAdd,
                               &kReshard};
  size_t k = 0;
  for (const OpDef* op : kOps) {
    for (DType from : {f32, bf16}) {
      const size_t before = table.size();
      AddRetyped(table, *op, from, kFloats8[k % std::size(kFloats8)]);
      if (table.size() > before) break;
    }
    AddRetyped(table, *op, i32, kSmallIntegers[k % std::size(kSmallIntegers)]);
    ++k;
  }
  for (ScalarOp op :
       {ScalarOp::kAnd, ScalarOp::kNot, ScalarOp::kShiftLeft, ScalarOp::kShiftRightLogical,
        ScalarOp::kShiftRightArithmetic, ScalarOp::kPopulationCount, ScalarOp::kClz})
    for (DType dtype : kSmallIntegers) AddRetyped(table, Elementwise(op), i32, dtype);
}

}  // namespace tessera::suite
