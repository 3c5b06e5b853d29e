// Operators on arrays, which call the functions of the same meaning.
#include "api/core/edits.h"
#include "api/core/operands.h"

namespace tessera {

using namespace api;

namespace {
using BinaryFunction = Array (*)(Operand, Operand, OutOptions, Loc);

// Runs an operator, which takes no options. Errors offer the function with an out_sharding:
// add(a, b, {.out_sharding = ...}) for a + b.
Array Infix(BinaryFunction f, const Operand& a, const Operand& b, Loc loc) {
  const auto around = [](const ErrorDetail& refused) {
    std::string before = refused.op + "(";
    for (const ErrorOperand& x : refused.operands) before += x.name + ", ";
    return std::pair(before + "{", std::string("})"));
  };
  return WithoutOptions([&] { return f(a, b, {}, loc); }, around);
}
}  // namespace
}  // namespace tessera

// The friend declarations in Array do not export the operators from libtessera.so.
namespace TESSERA_PUBLIC tessera {

Array operator+(Operand a, Operand b) { return Infix(add, a, b, a.loc()); }
Array operator-(Operand a, Operand b) { return Infix(sub, a, b, a.loc()); }
Array operator*(Operand a, Operand b) { return Infix(mul, a, b, a.loc()); }
Array operator/(Operand a, Operand b) { return Infix(divide, a, b, a.loc()); }
Array operator%(Operand a, Operand b) { return Infix(remainder, a, b, a.loc()); }
Array operator&(Operand a, Operand b) { return Infix(bitwise_and, a, b, a.loc()); }
Array operator|(Operand a, Operand b) { return Infix(bitwise_or, a, b, a.loc()); }
Array operator^(Operand a, Operand b) { return Infix(bitwise_xor, a, b, a.loc()); }
Array operator<<(Operand a, Operand b) { return Infix(shift_left, a, b, a.loc()); }
Array operator==(Operand a, Operand b) { return Infix(eq, a, b, a.loc()); }
Array operator!=(Operand a, Operand b) { return Infix(ne, a, b, a.loc()); }
Array operator<(Operand a, Operand b) { return Infix(lt, a, b, a.loc()); }
Array operator<=(Operand a, Operand b) { return Infix(le, a, b, a.loc()); }
Array operator>(Operand a, Operand b) { return Infix(gt, a, b, a.loc()); }
Array operator>=(Operand a, Operand b) { return Infix(ge, a, b, a.loc()); }
Array operator>>(Operand a, Operand b) {
  DType t = PromotedDType({a, b}, {"shift_right_arithmetic", a.loc()});
  return Infix(t.is_unsigned() ? shift_right_logical : shift_right_arithmetic, a, b, a.loc());
}
Array operator-(Operand a) { return neg(a, a.loc()); }
Array operator+(Operand a) { return Same(ToArray(a, {"+", a.loc()})); }
Array operator~(Operand a) { return bitwise_not(a, a.loc()); }
Array& operator+=(Array& a, Operand b) { return a = Infix(add, Operand(a, b.loc()), b, b.loc()); }
Array& operator-=(Array& a, Operand b) { return a = Infix(sub, Operand(a, b.loc()), b, b.loc()); }
Array& operator*=(Array& a, Operand b) { return a = Infix(mul, Operand(a, b.loc()), b, b.loc()); }
Array& operator/=(Array& a, Operand b) {
  return a = Infix(divide, Operand(a, b.loc()), b, b.loc());
}

}  // namespace tessera
