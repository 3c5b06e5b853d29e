// Explicit tensors, and calls of a record's reference function.
#pragma once
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <string>

#include "ops/ops.h"
#include "ops/reference_values.h"

namespace tessera::ops::reference {

using base::Shape;
using Doubles = std::vector<double>;
using Integers = std::vector<int64_t>;

inline constexpr int64_t kLow64 = std::numeric_limits<int64_t>::min();
inline constexpr int64_t kHigh64 = std::numeric_limits<int64_t>::max();
inline constexpr DType kFloats[] = {f16, bf16, f32, f64};
inline constexpr DType kSigned[] = {i8, i16, i32, i64};
inline constexpr DType kUnsigned[] = {u8, u16, u32, u64};

inline int64_t Low(DType dtype) { return LowestInt(dtype); }
inline int64_t High(DType dtype) { return HighestInt(dtype); }

inline HostTensor Floats(DType dtype, Shape shape, const Doubles& values) {
  HostTensor t(dtype, std::move(shape));
  for (size_t i = 0; i < values.size(); ++i) t.SetFloat(static_cast<int64_t>(i), values[i]);
  return t;
}
inline HostTensor Floats(DType dtype, const Doubles& values) {
  return Floats(dtype, {static_cast<int64_t>(values.size())}, values);
}
inline HostTensor Ints(DType dtype, Shape shape, const Integers& values) {
  HostTensor t(dtype, std::move(shape));
  for (size_t i = 0; i < values.size(); ++i) t.SetInt(static_cast<int64_t>(i), values[i]);
  return t;
}
inline HostTensor Ints(DType dtype, const Integers& values) {
  return Ints(dtype, {static_cast<int64_t>(values.size())}, values);
}

// Returns a text that distinguishes -0 from 0, but not one NaN from another.
inline std::string Text(const HostTensor& t) {
  std::string text = fmt::format("{}[{}]", t.dtype.name(), fmt::join(t.shape, ","));
  for (int64_t i = 0; i < t.size(); ++i) {
    if (!t.dtype.is_floating())
      text += fmt::format(" {}", t.Int(i));
    else
      text += std::isnan(t.Float(i)) ? " nan" : fmt::format(" {}", t.Float(i));
  }
  return text;
}

// Calls the reference of an op. `want` also gives the dtypes and shapes of its results.
inline void ExpectAll(const OpDef& op, const ir::ParamsPtr& params,
                      const std::vector<HostTensor>& in, const std::vector<HostTensor>& want,
                      const std::string& what = "") {
  std::vector<HostTensor> got;
  for (const HostTensor& t : want) got.emplace_back(t.dtype, t.shape);
  ir::ReferenceCall call{op, params.get(), {}, {}};
  for (const HostTensor& t : in) call.operands.push_back(&t);
  for (HostTensor& t : got) call.results.push_back(&t);
  (*op.reference)(call);
  for (size_t k = 0; k < want.size(); ++k)
    EXPECT_EQ(Text(got[k]), Text(want[k])) << op.name << " " << what;
}

inline void Expect(const OpDef& op, const ir::ParamsPtr& params, const std::vector<HostTensor>& in,
                   const HostTensor& want, const std::string& what = "") {
  ExpectAll(op, params, in, {want}, what);
}

}  // namespace tessera::ops::reference
