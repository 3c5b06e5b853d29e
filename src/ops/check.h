// Checks that type functions share. C1 to C10 are common to all ops (sharding/explicit_rule.h);
// an op's own begin at C11.
#pragma once
#include <absl/algorithm/container.h>
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "ir/infer.h"
#include "ir/op.h"
#include "ops/product_dtype.h"

namespace tessera::ops {

using base::Shape;
using ir::ShapeAndDType;
using ir::TypeCall;

inline std::string ShapeText(const Shape& shape) { return ir::FieldText(shape); }

// C11: the op must have n operands.
inline void CheckCount(const TypeCall& c, size_t n) {
  if (c.operands.size() != n)
    c.FailShape(11, fmt::format("it takes {} operands, not {}", n, c.operands.size()));
}

// Returns the type of an op of one operand whose result has the operand's shape and dtype.
inline std::vector<ShapeAndDType> TypeOfOperand(const TypeCall& c) {
  CheckCount(c, 1);
  return {{c.operands[0]->shape(), c.operands[0]->dtype()}};
}

// C12: refuses dims that are out of range or repeated.
inline void CheckDims(const TypeCall& c, const std::vector<int64_t>& dims, int64_t rank) {
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] < 0 || dims[i] >= rank)
      c.FailShape(12, fmt::format("there is no dim {} in an array of rank {}", dims[i], rank));
    if (std::count(dims.begin(), dims.begin() + static_cast<long>(i), dims[i]))
      c.FailShape(12, fmt::format("dim {} is named twice", dims[i]));
  }
}

// C13: refuses operands a and b, whose dtypes differ. The fix converts an int to the float dtype of
// the other one, and otherwise b.
[[noreturn]] inline void FailMixed(const TypeCall& c, size_t a, size_t b) {
  const DType first = c.operands[a]->dtype(), second = c.operands[b]->dtype();
  const bool to_second = !first.is_inexact() && second.is_inexact();
  const std::string name = ir::OperandName(c.op, a), other = ir::OperandName(c.op, b);
  c.FailDType(13, fmt::format("{} and {} have different dtypes, {} and {}: convert one of them, "
                              "e.g. {}.astype({})",
                              name, other, first.name(), second.name(), to_second ? name : other,
                              (to_second ? second : first).name()));
}

// C13: the operands from `first` on must have one dtype.
inline void CheckSameDType(const TypeCall& c, size_t first = 0) {
  for (size_t i = first + 1; i < c.operands.size(); ++i)
    if (c.operands[i]->dtype() != c.operands[first]->dtype()) FailMixed(c, first, i);
}

// C14: products must be of numbers. C19: returns the dtype of sums of products of operands 0 and 1,
// which must represent them.
inline DType ProductDType(const TypeCall& c) {
  const DType a = c.operands[0]->dtype(), b = c.operands[1]->dtype();
  const DType t = ProductOf(a, b);
  if (a.is_bool() || b.is_bool()) c.FailDType(14, "it multiplies numbers, not bool");
  const DType out = c.wanted && !c.wanted->dtype.is_default() ? c.wanted->dtype : t;
  if (out.is_bool() || (t.is_inexact() && !out.is_inexact()) ||
      (t.is_complex() && !out.is_complex()))
    c.FailDType(19, fmt::format("products of {} cannot be summed in {}", t.name(), out.name()));
  return out;
}

// C15: refuses an index operand that is not an integer.
inline void CheckInteger(const TypeCall& c, size_t i) {
  if (!c.operands[i]->dtype().is_integer())
    c.FailDType(15, fmt::format("indices must be integers, not {}", c.operands[i]->dtype().name()));
}

// C12: the op must have n regions.
inline void CheckRegionCount(const TypeCall& c, size_t n) {
  if (c.regions.size() != n)
    c.FailShape(12, fmt::format("it has {} regions, not {}", n, c.regions.size()));
}

// C15: an op with regions must not declare more leading operands of a kind than `most`. Returns n.
inline size_t CheckedCount(const TypeCall& c, int64_t n, size_t most, const char* what) {
  if (n < 0 || static_cast<size_t>(n) > most)
    c.FailShape(15, fmt::format("{} {} are declared, but there are {} operands", n, what,
                                c.operands.size()));
  return static_cast<size_t>(n);
}

template <class V>
bool Has(const V& v, int64_t x) {
  return absl::c_find(v, x) != v.end();
}

}  // namespace tessera::ops
