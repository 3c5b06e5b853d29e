// What the parts of the sample table are written with.
#pragma once
#include <initializer_list>
#include <utility>

#include "ops/ops.h"
#include "ops/params.h"
#include "suite/samples.h"

namespace tessera::suite {

inline constexpr DType kFloats[] = {f32, f64, f16, bf16};
inline constexpr DType kIntegers[] = {i32, i8, i16, i64, u8, u16, u32, u64};
inline constexpr DType kNumbers[] = {f32, f64, f16, bf16, i32, i8, i16, i64, u8, u16, u32, u64};
inline constexpr DType kBits[] = {i32, bool_, i8, i16, i64, u8, u16, u32, u64};
inline constexpr DType kEvery[] = {f32, f64, f16, bf16, i32, bool_, i8,
                                   i16, i64, u8,  u16,  u32, u64};

inline constexpr Fill kWild{.lo = -100, .hi = 100, .wild = true};
constexpr Fill Range(double lo, double hi) { return {lo, hi}; }
constexpr Fill Whole(double lo, double hi) { return {lo, hi, true}; }

using Table = std::vector<Sample>;

inline Sample& Add(Table& table, const ir::OpDef& op, ir::ParamsPtr params,
                   std::vector<SampleOperand> operands) {
  table.push_back({&op, std::move(params), std::move(operands), {}, {}, {}, false});
  return table.back();
}

// Each adds the rows of its ops.
void AddElementwise(Table& table);   // table_elementwise.cc
void AddMovement(Table& table);      // table_movement.cc: no element is computed
void AddLookups(Table& table);       // table_lookups.cc: gather, scatter
void AddContractions(Table& table);  // table_contractions.cc: several elements make one

}  // namespace tessera::suite
