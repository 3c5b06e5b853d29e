// Inputs and a naive order for the tests of Sort and TopK.
#pragma once
#include <cmath>
#include <limits>

#include "base/dtype.h"
#include "unit/kernels/copy_test_util.h"

namespace tessera::kernels {

template <class T>
constexpr bool kIsFloating = dtype_of<T>().is_floating();

template <class T>
T FromBits(uint64_t bits) {
  T v{};
  std::memcpy(static_cast<void*>(&v), &bits, sizeof(T));
  return v;
}

template <class T>
double AsDouble(T v) {
  if constexpr (std::is_same_v<T, Float16> || std::is_same_v<T, BFloat16>)
    return static_cast<float>(v);
  else
    return static_cast<double>(v);
}

// Returns -1, 0 or 1. NaN is above all numbers and equals NaN; -0 equals +0.
template <class T>
int Compare(T a, T b) {
  if constexpr (kIsFloating<T>) {
    const double x = AsDouble(a), y = AsDouble(b);
    if (std::isnan(x) || std::isnan(y)) return static_cast<int>(std::isnan(x)) - std::isnan(y);
    return x < y ? -1 : x > y;
  } else {
    return a < b ? -1 : a > b;
  }
}

// Returns elements many of which are equal. Many floats are zeros, infinities, and NaNs with
// different bits.
template <class T>
Bytes SortInput(int64_t n, uint32_t seed, int64_t distinct) {
  std::mt19937_64 random(seed);
  std::vector<T> values;
  for (int64_t i = 0; i < n; ++i) {
    const uint64_t draw = random() % static_cast<uint64_t>(distinct);
    T v{};
    if constexpr (std::is_same_v<T, bool>) {
      v = draw % 2;
    } else if constexpr (!kIsFloating<T>) {
      v = static_cast<T>(draw * 0x9e3779b97f4a7c15u);
      if (draw == 0) v = std::numeric_limits<T>::max();
      if (draw == 1) v = std::numeric_limits<T>::min();
    } else {
      v = T(static_cast<float>(draw) - static_cast<float>(distinct / 2));
      const T special[] = {T(0.0f),       T(-0.0f),    T(std::nanf("")),
                           T(-INFINITY),  T(INFINITY), FromBits<T>(~uint64_t{0}),
                           FromBits<T>(1)};
      if (random() % 4 == 0) v = special[random() % std::size(special)];
    }
    values.push_back(v);
  }
  return ToBytes(values);
}

inline Bytes SortInput(DType dtype, int64_t n, uint32_t seed, int64_t distinct) {
  return base::VisitDType(dtype,
                          [&](auto zero) { return SortInput<decltype(zero)>(n, seed, distinct); });
}

template <class T>
T ElementAt(const Bytes& bytes, int64_t i) {
  T v{};
  std::memcpy(static_cast<void*>(&v), bytes.data() + i * sizeof(T), sizeof(T));
  return v;
}

inline int CompareAt(DType dtype, const Bytes& bytes, int64_t i, int64_t j) {
  return base::VisitDType(dtype, [&](auto zero) {
    using T = decltype(zero);
    return Compare(ElementAt<T>(bytes, i), ElementAt<T>(bytes, j));
  });
}

}  // namespace tessera::kernels
