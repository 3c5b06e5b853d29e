// The families of elementwise ops: type functions, dimension maps and records. Operands have one
// shape; scalars and dims of size 1 broadcast.
#pragma once
#include <algorithm>
#include <utility>

#include "ops/check.h"
#include "ops/ops.h"
#include "ops/reference_values.h"
#include "plan/scalar_op.h"
#include "sharding/dim_map.h"

namespace tessera::ops {

using plan::ScalarOp;
using sharding::DimMap;

// The dtypes that an op takes.
enum class Class { kFloat, kNumber, kInteger, kBits, kAny };

constexpr bool Fits(Class c, DType t) {
  switch (c) {
    case Class::kFloat:
      return t.is_floating();
    case Class::kNumber:
      return !t.is_bool();
    case Class::kInteger:
      return t.is_integer();
    case Class::kBits:
      return !t.is_floating();
    default:
      return true;
  }
}
constexpr const char* Wanted(Class c) {
  switch (c) {
    case Class::kFloat:
      return "floating dtypes";
    case Class::kNumber:
      return "numbers";
    case Class::kInteger:
      return "integer dtypes";
    default:
      return "bool and integer dtypes";
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

template <size_t operands, Class takes, bool to_bool>
std::vector<ShapeAndDType> ElementType(const TypeCall& c) {
  CheckCount(c, operands);
  CheckSameDType(c);
  CheckClass(c, takes);
  return {{JoinedShape(c), to_bool ? bool_ : c.operands[0]->dtype()}};
}
template <size_t operands, bool to_bool>
constexpr ir::TypeFn ElementTypeOf(Class takes) {
  using enum Class;
  switch (takes) {
    case kFloat:
      return ElementType<operands, kFloat, to_bool>;
    case kNumber:
      return ElementType<operands, kNumber, to_bool>;
    case kInteger:
      return ElementType<operands, kInteger, to_bool>;
    case kBits:
      return ElementType<operands, kBits, to_bool>;
    case kAny:
      return ElementType<operands, kAny, to_bool>;
  }
  return nullptr;
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
  bool to_bool = false;
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
          .type = f.to_bool ? ElementTypeOf<operands, true>(*f.takes)
                            : ElementTypeOf<operands, false>(*f.takes),
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

// ---- References: in double and in 64-bit integers -----------------------------------------------

namespace reference {

template <double (*f)(double)>
void Floats(const ir::ReferenceCall& call) {
  ForEachElement(call, [&](const ElementCall& e) { e.SetFloat(f(e.Float(0))); });
}
template <double (*f)(double, double)>
void Floats(const ir::ReferenceCall& call) {
  ForEachElement(call, [&](const ElementCall& e) { e.SetFloat(f(e.Float(0), e.Float(1))); });
}
template <int64_t (*f)(Int)>
void Ints(const ir::ReferenceCall& call) {
  ForEachElement(call, [&](const ElementCall& e) { e.SetInt(f(e.IntOf(0))); });
}
template <int64_t (*f)(Int, Int)>
void Ints(const ir::ReferenceCall& call) {
  ForEachElement(call, [&](const ElementCall& e) { e.SetInt(f(e.IntOf(0), e.IntOf(1))); });
}
template <double (*on_floats)(double), int64_t (*on_ints)(Int)>
void Numbers(const ir::ReferenceCall& call) {
  call.operands[0]->dtype.is_floating() ? Floats<on_floats>(call) : Ints<on_ints>(call);
}
template <double (*on_floats)(double, double), int64_t (*on_ints)(Int, Int)>
void Numbers(const ir::ReferenceCall& call) {
  call.operands[0]->dtype.is_floating() ? Floats<on_floats>(call) : Ints<on_ints>(call);
}
template <void (*f)(const ElementCall&)>
void Elements(const ir::ReferenceCall& call) {
  ForEachElement(call, f);
}

}  // namespace reference

}  // namespace tessera::ops
