// Elements of host tensors of any dtype, as integers or doubles.
#include "ir/host_tensor.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/dtype.h"
#include "base/float8.h"
#include "base/shape.h"

namespace tessera::ir {

HostTensor::HostTensor(DType d, std::vector<int64_t> s) : dtype(d), shape(std::move(s)) {
  data.resize(static_cast<size_t>(size() * dtype.size()));
}

int64_t HostTensor::size() const { return base::Elements(shape); }

namespace {
template <class T>
T Load(const HostTensor& t, int64_t i) {
  T v;
  std::memcpy(&v, t.data.data() + i * static_cast<int64_t>(sizeof(T)), sizeof(T));
  return v;
}
template <class T>
void Store(HostTensor& t, int64_t i, T v) {
  std::memcpy(t.data.data() + i * static_cast<int64_t>(sizeof(T)), &v, sizeof(T));
}
template <class T>
constexpr bool kSmallFloat = std::is_same_v<T, Float16> || std::is_same_v<T, BFloat16>;

// Rounds v to a float. If v is inexact, takes the neighbour whose last bit is set: rounding that to
// fewer bits equals rounding v directly (Boldo and Melquiond, "Emulation of a FMA and correctly
// rounded sums: proved algorithms using rounding to odd", 2008).
float RoundToOdd(long double v) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  const float nearest = static_cast<float>(v);
  const bool odd = (std::bit_cast<uint32_t>(nearest) & 1) != 0;
  if (std::isnan(v) || nearest == v || odd) return nearest;
  return std::nextafter(nearest, v > nearest ? kInf : -kInf);
}

void SetFloat8(HostTensor& t, int64_t i, float v) {
  const auto bits = base::FloatToFloat8(base::Float8Format::Of(t.dtype.code()), v);
  Store(t, i, static_cast<uint8_t>(bits));
}

// Wraps an integer to the range of a dtype of fewer than 8 bits.
int64_t LowBits(DType dtype, int64_t v) {
  const int64_t count = int64_t{1} << dtype.bits(), low = v & (count - 1);
  return dtype.is_signed() && low >= count / 2 ? low - count : low;
}
}  // namespace

double HostTensor::Float(int64_t i) const {
  if (dtype.is_float8())
    return base::Float8ToFloat(base::Float8Format::Of(dtype.code()), Load<uint8_t>(*this, i));
  if (dtype.is_complex()) return Complex(i).real();
  return base::VisitDType(dtype, [&](auto tag) -> double {
    using T = decltype(tag);
    if constexpr (kSmallFloat<T>)
      return static_cast<float>(Load<T>(*this, i));
    else
      return static_cast<double>(Load<T>(*this, i));
  });
}

int64_t HostTensor::Int(int64_t i) const {
  if (dtype.is_float8()) return static_cast<int64_t>(Float(i));
  return base::VisitDType(dtype, [&](auto tag) -> int64_t {
    using T = decltype(tag);
    if constexpr (kSmallFloat<T>)
      return static_cast<int64_t>(static_cast<float>(Load<T>(*this, i)));
    else
      return static_cast<int64_t>(Load<T>(*this, i));
  });
}

void HostTensor::SetFloat(int64_t i, long double v) {
  if (dtype.is_complex()) return SetComplex(i, v);
  if (dtype.is_float8()) return SetFloat8(*this, i, RoundToOdd(v));
  base::VisitDType(dtype, [&](auto tag) {
    using T = decltype(tag);
    if constexpr (kSmallFloat<T>)
      Store(*this, i, T(RoundToOdd(v)));
    else
      Store(*this, i, static_cast<T>(v));
  });
}

void HostTensor::SetInt(int64_t i, int64_t v) {
  if (dtype.is_complex()) return SetComplex(i, static_cast<long double>(v));
  if (dtype.is_float8()) return SetFloat8(*this, i, RoundToOdd(v));
  if (dtype.is_storage()) return Store(*this, i, static_cast<int8_t>(LowBits(dtype, v)));
  base::VisitDType(dtype, [&](auto tag) {
    using T = decltype(tag);
    if constexpr (kSmallFloat<T>)
      Store(*this, i, T(RoundToOdd(v)));
    else if constexpr (std::is_same_v<T, bool>)
      Store(*this, i, v != 0);
    else
      Store(*this, i, static_cast<T>(v));
  });
}

std::complex<double> HostTensor::Complex(int64_t i) const {
  if (dtype == c64) return Load<std::complex<float>>(*this, i);
  return dtype == c128 ? Load<std::complex<double>>(*this, i) : Float(i);
}

void HostTensor::SetComplex(int64_t i, std::complex<long double> v) {
  if (dtype == c64)
    Store(*this, i, std::complex<float>(v));
  else
    Store(*this, i, std::complex<double>(v));
}

void HostTensor::SetFrom(int64_t i, const HostTensor& from, int64_t j) {
  const int64_t n = dtype.size();
  std::memcpy(data.data() + i * n, from.data.data() + j * n, static_cast<size_t>(n));
}

int64_t FlatIndex(const std::vector<int64_t>& shape, const std::vector<int64_t>& coords) {
  int64_t index = 0;
  for (size_t d = 0; d < shape.size(); ++d) index = index * shape[d] + coords[d];
  return index;
}

std::vector<int64_t> CoordsOf(const std::vector<int64_t>& shape, int64_t index) {
  std::vector<int64_t> coords(shape.size());
  for (size_t d = shape.size(); d-- > 0;) {
    coords[d] = index % shape[d];
    index /= shape[d];
  }
  return coords;
}

}  // namespace tessera::ir
