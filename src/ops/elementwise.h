// The families of elementwise ops: type functions, dimension maps and records. Operands have one
// shape; scalars and dims of size 1 broadcast.
#pragma once
#include <algorithm>
#include <array>
#include <utility>

#include "base/dtype.h"
#include "ops/check.h"
#include "ops/ops.h"
#include "ops/reference_values.h"
#include "plan/scalar_op.h"
#include "sharding/dim_map.h"

namespace tessera::ops {

using plan::ScalarOp;
using sharding::DimMap;

// The dtypes that an op takes.
enum class Class : uint8_t {
  kFloat,
  kSteppedFloat,  // floats that have a kernel for their neighbours
  kInexact,       // floating and complex
  kPart,          // the parts of complex numbers
  kComplexNumber,
  kRealNumber,  // not complex
  kNumber,
  kInteger,
  kBits,
  kOrdered,  // all but complex dtypes
  kAny
};
inline constexpr size_t kClasses = static_cast<size_t>(Class::kAny) + 1;

constexpr bool Fits(Class c, DType t) {
  switch (c) {
    case Class::kFloat:
      return t.is_floating();
    case Class::kSteppedFloat:
      return t.is_floating() && !t.is_storage();
    case Class::kInexact:
      return t.is_inexact();
    case Class::kPart:
      return t == f32 || t == f64;
    case Class::kComplexNumber:
      return t.is_complex();
    case Class::kRealNumber:
      return !t.is_bool() && !t.is_complex();
    case Class::kNumber:
      return !t.is_bool();
    case Class::kInteger:
      return t.is_integer();
    case Class::kBits:
      return !t.is_inexact();
    case Class::kOrdered:
      return !t.is_complex();
    default:
      return true;
  }
}
constexpr const char* Wanted(Class c) {
  switch (c) {
    case Class::kFloat:
      return "floating dtypes";
    case Class::kSteppedFloat:
      return "floating dtypes of 16 bits or more";
    case Class::kInexact:
      return "floating and complex dtypes";
    case Class::kPart:
      return "f32 and f64";
    case Class::kComplexNumber:
      return "complex dtypes";
    case Class::kRealNumber:
      return "real numbers";
    case Class::kNumber:
      return "numbers";
    case Class::kInteger:
      return "integer dtypes";
    case Class::kOrdered:
      return "bool and real numbers";
    default:
      return "bool and integer dtypes";
  }
}

// The dtype of a result: of the operands, bool, of their parts, or of complex numbers of them.
enum class Makes : uint8_t { kSame, kBool, kPart, kComplex };
inline constexpr size_t kMakes = static_cast<size_t>(Makes::kComplex) + 1;

constexpr DType Made(Makes makes, DType t) {
  switch (makes) {
    case Makes::kBool:
      return bool_;
    case Makes::kPart:
      return base::PartOf(t);
    case Makes::kComplex:
      return base::ComplexOf(t);
    default:
      return t;
  }
}

// C14: refuses a dtype that the op does not take.
inline void CheckClass(const TypeCall& c, Class k, size_t operand = 0) {
  DType t = c.operands[operand]->dtype();
  if (!Fits(k, t)) c.FailDType(14, fmt::format("it takes {}, not {}", Wanted(k), t.name()));
}

// C16: refuses shapes that differ, except for scalars and dims of size 1.
inline Shape JoinedShape(const TypeCall& c) {
  Shape shape;
  for (const ir::Type* t : c.operands) {
    if (t->rank() == 0) continue;
    if (shape.empty()) {
      shape = t->shape();
      continue;
    }
    bool fits = shape.size() == t->shape().size();
    for (size_t d = 0; fits && d < shape.size(); ++d) {
      int64_t a = shape[d], b = t->shape()[d];
      fits = a == b || a == 1 || b == 1;
      if (a == 1) shape[d] = b;
    }
    if (!fits)
      c.FailShape(16, fmt::format("shapes {} and {} do not match", ShapeText(shape),
                                  ShapeText(t->shape())));
  }
  return shape;
}

template <size_t operands, Class takes, Makes makes>
std::vector<ShapeAndDType> ElementType(const TypeCall& c) {
  CheckCount(c, operands);
  CheckSameDType(c);
  CheckClass(c, takes);
  return {{JoinedShape(c), Made(makes, c.operands[0]->dtype())}};
}
template <size_t operands>
constexpr ir::TypeFn ElementTypeOf(Class takes, Makes makes) {
  constexpr auto kTable = []<size_t... k>(std::index_sequence<k...>) {
    return std::array<ir::TypeFn, kClasses * kMakes>{
        ElementType<operands, static_cast<Class>(k / kMakes), static_cast<Makes>(k % kMakes)>...};
  }
  (std::make_index_sequence<kClasses * kMakes>());
  return kTable[static_cast<size_t>(takes) * kMakes + static_cast<size_t>(makes)];
}

// The operands in which an op is linear: none, the first, both together, or each alone.
enum class Linear { kNone, kFirst, kBoth, kEach };

template <Linear linear>
DimMap Dims(const ir::DimsCall& c) {
  DimMap map = sharding::Pointwise(c.operands, *c.results[0]);
  if constexpr (linear == Linear::kFirst) map.linear = {{.operands = {0}}};
  if constexpr (linear == Linear::kBoth) map.linear = {{.operands = {0, 1}}};
  if constexpr (linear == Linear::kEach) map.linear = {{.operands = {0}}, {.operands = {1}}};
  return map;
}
constexpr ir::DimMapFn DimsOf(Linear linear) {
  using enum Linear;
  switch (linear) {
    case kNone:
      return Dims<kNone>;
    case kFirst:
      return Dims<kFirst>;
    case kBoth:
      return Dims<kBoth>;
    case kEach:
      return Dims<kEach>;
  }
  return nullptr;
}

// The fields of one op of a family. The family adds the rest of the record.
struct ElementFields {
  std::string_view name;
  std::string_view doc;
  ir::Required<ScalarOp> op;
  ir::Required<Class> takes;
  Makes makes = Makes::kSame;
  Linear linear = Linear::kNone;
  double flops = 1;  // per element
  bool keys = false;
  ir::Required<ir::ReferenceFn> reference;
  ir::Required<ir::Diff> diff;
};

template <size_t operands>
constexpr OpDef ElementOp(const ElementFields& f) {
  return {.name = f.name,
          .doc = f.doc,
          .type = ElementTypeOf<operands>(*f.takes, f.makes),
          .dims = DimsOf(f.linear),
          .lowering = ir::AsElementwise{*f.op},
          .reference = *f.reference,
          .diff = *f.diff,
          .flops_per_point = f.flops,
          .keys = f.keys};
}
constexpr OpDef Unary(const ElementFields& f) { return ElementOp<1>(f); }
constexpr OpDef Binary(const ElementFields& f) {
  OpDef op = ElementOp<2>(f);
  op.out_sharding = true;
  op.operand_names = {"lhs", "rhs", ""};
  return op;
}

constexpr OpDef Ternary(const ElementFields& f, std::array<std::string_view, 4> names) {
  OpDef op = ElementOp<3>(f);
  op.out_sharding = true;
  op.operand_names = names;
  return op;
}

// ---- Every scalar op has one record -------------------------------------------------------------

template <ScalarOp op, const auto& records>
consteval void CheckOneRecord() {
  constexpr auto kFound = std::ranges::count_if(records, [](const OpDef& record) {
    return std::get<ir::AsElementwise>(*record.lowering).op == op;
  });
  static_assert(kFound == 1, "this array has no record, or two, of this ScalarOp");
}
// Checks that every scalar op of `least` to `most` operands has one record in the array.
template <const auto& records, int least, int most>
consteval bool Complete() {
  [&]<int... i>(std::integer_sequence<int, i...>) {
    auto check = [&]<int n>() {
      constexpr auto op = static_cast<ScalarOp>(n);
      constexpr int operands = plan::FactsOf(op).operands;
      if constexpr (operands >= least && operands <= most) CheckOneRecord<op, records>();
    };
    (check.template operator()<i>(), ...);
  }
  (std::make_integer_sequence<int, plan::kScalarOps>());
  return true;
}

// ---- References: in double, in 64-bit integers, and in complex long double ----------------------

namespace reference {

template <double (*f)(double)>
void Floats(const ir::ReferenceCall& call) {
  ForEachElement(call, [&](const ElementCall& e) { e.SetFloat(f(e.Float(0))); });
}
template <double (*f)(double, double)>
void Floats(const ir::ReferenceCall& call) {
  ForEachElement(call, [&](const ElementCall& e) { e.SetFloat(f(e.Float(0), e.Float(1))); });
}
template <double (*f)(double, double, double)>
void Floats(const ir::ReferenceCall& call) {
  ForEachElement(call,
                 [&](const ElementCall& e) { e.SetFloat(f(e.Float(0), e.Float(1), e.Float(2))); });
}
template <int64_t (*f)(Int)>
void Ints(const ir::ReferenceCall& call) {
  ForEachElement(call, [&](const ElementCall& e) { e.SetInt(f(e.IntOf(0))); });
}
template <int64_t (*f)(Int, Int)>
void Ints(const ir::ReferenceCall& call) {
  ForEachElement(call, [&](const ElementCall& e) { e.SetInt(f(e.IntOf(0), e.IntOf(1))); });
}
template <LongComplex (*f)(const LongComplex&)>
void Complexes(const ir::ReferenceCall& call) {
  ForEachElement(call, [&](const ElementCall& e) { e.SetComplex(f(e.ComplexOf(0))); });
}
template <LongComplex (*f)(const LongComplex&, const LongComplex&)>
void Complexes(const ir::ReferenceCall& call) {
  ForEachElement(call,
                 [&](const ElementCall& e) { e.SetComplex(f(e.ComplexOf(0), e.ComplexOf(1))); });
}
template <double (*on_floats)(double), int64_t (*on_ints)(Int)>
void Numbers(const ir::ReferenceCall& call) {
  call.operands[0]->dtype.is_floating() ? Floats<on_floats>(call) : Ints<on_ints>(call);
}
template <double (*on_floats)(double, double), int64_t (*on_ints)(Int, Int)>
void Numbers(const ir::ReferenceCall& call) {
  call.operands[0]->dtype.is_floating() ? Floats<on_floats>(call) : Ints<on_ints>(call);
}
template <double (*on_floats)(double), LongComplex (*on_complex)(const LongComplex&)>
void Inexact(const ir::ReferenceCall& call) {
  call.operands[0]->dtype.is_complex() ? Complexes<on_complex>(call) : Floats<on_floats>(call);
}
// The reference of an op on complex numbers, and the one on other dtypes.
template <LongComplex (*on_complex)(const LongComplex&), ir::ReferenceFn otherwise>
void Either(const ir::ReferenceCall& call) {
  call.operands[0]->dtype.is_complex() ? Complexes<on_complex>(call) : otherwise(call);
}
template <LongComplex (*on_complex)(const LongComplex&, const LongComplex&),
          ir::ReferenceFn otherwise>
void Either(const ir::ReferenceCall& call) {
  call.operands[0]->dtype.is_complex() ? Complexes<on_complex>(call) : otherwise(call);
}
template <void (*f)(const ElementCall&)>
void Elements(const ir::ReferenceCall& call) {
  ForEachElement(call, f);
}

}  // namespace reference

}  // namespace tessera::ops
