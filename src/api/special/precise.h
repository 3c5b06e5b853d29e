// Numbers of twice the digits of f64 (Dekker, "A floating-point technique for extending the
// available precision", 1971): for results to which f64 leaves few digits.
#pragma once
#include "api/core/located.h"

namespace tessera::api {

// A sum of two f64, whose `low` is at most half a unit of `high`. Neither may be infinite, or
// larger than 2^990.
struct Precise {
  Located high, low;
};

// Returns a + b exactly.
inline Precise ExactSum(const Located& a, const Located& b) {
  const Located sum = a + b, of_b = sum - a;
  return {sum, (a - (sum - of_b)) + (b - of_b)};
}
// As ExactSum, where a is the larger.
inline Precise Carried(const Located& a, const Located& b) {
  const Located sum = a + b;
  return {sum, b - (sum - a)};
}

// Returns the upper half of the bits of x.
inline Located UpperHalf(const Located& x) {
  const Located spread = x * 134217729.0;  // 2^27 + 1
  return spread - (spread - x);
}

// Returns a * b exactly.
inline Precise ExactProduct(const Located& a, const Located& b) {
  const Located product = a * b, a_upper = UpperHalf(a), b_upper = UpperHalf(b);
  const Located a_lower = a - a_upper, b_lower = b - b_upper;
  const Located rest = (a_upper * b_upper - product) + a_upper * b_lower + a_lower * b_upper;
  return {product, rest + a_lower * b_lower};
}

inline Precise operator-(const Precise& x) { return {-x.high, -x.low}; }
inline Precise operator+(const Precise& a, const Precise& b) {
  const Precise sum = ExactSum(a.high, b.high);
  return Carried(sum.high, sum.low + (a.low + b.low));
}
inline Precise operator-(const Precise& a, const Precise& b) { return a + -b; }
inline Precise operator+(const Precise& a, const Located& b) {
  const Precise sum = ExactSum(a.high, b);
  return Carried(sum.high, sum.low + a.low);
}
inline Precise operator*(const Precise& a, const Precise& b) {
  const Precise product = ExactProduct(a.high, b.high);
  return Carried(product.high, product.low + (a.high * b.low + a.low * b.high));
}
inline Precise operator*(const Precise& a, const Located& b) {
  const Precise product = ExactProduct(a.high, b);
  return Carried(product.high, product.low + a.low * b);
}
inline Precise operator/(const Precise& a, const Precise& b) {
  const Located first = a.high / b.high;
  return Carried(first, (a - b * first).high / b.high);
}
inline Precise operator/(const Precise& a, const Located& b) {
  const Located first = a.high / b;
  return Carried(first, (a - ExactProduct(first, b)).high / b);
}

inline Precise If(const Located& c, const Precise& a, const Precise& b) {
  return {If(c, a.high, b.high), If(c, a.low, b.low)};
}
inline Precise Sqrt(const Precise& x) {
  const Located root = Sqrt(x.high), rest = (x - ExactProduct(root, root)).high;
  return {root, If(root == 0, 0.0, rest / (2.0 * root))};
}

// Returns a / b, as a T, for formulas over Located or Precise.
template <class T>
T Quotient(const Located& a, const Located& b);
template <>
inline Located Quotient(const Located& a, const Located& b) {
  return a / b;
}
template <>
inline Precise Quotient(const Located& a, const Located& b) {
  const Located first = a / b;
  const Precise product = ExactProduct(first, b);
  return {first, ((a - product.high) - product.low) / b};
}

}  // namespace tessera::api
