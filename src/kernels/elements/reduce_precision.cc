// Rounds the bits of numbers: an overflow of the mantissa increases the exponent.
#include "kernels/elements/reduce_precision.h"

#include <memory>
#include <type_traits>

#include "kernels/parts.h"

namespace tessera::kernels {
namespace {

// The bits of a dtype.
struct FloatBits {
  int exponent = 0, mantissa = 0;
};

struct Config {
  int64_t n = 0;
  int drop = 0;                     // mantissa bits that are rounded away
  bool limits = false;              // whether exponents have limits
  uint64_t sign = 0, infinity = 0;  // bits of the sign, and of infinity
  // Exponents in place: those above `most` overflow, those up to `least` become 0.
  uint64_t most = 0, least = 0;
};

template <class T, bool rounds, bool limits>
void RunRange(const Config& c, const T* in, T* out, Range range) {
  const auto sign = static_cast<T>(c.sign), infinity = static_cast<T>(c.infinity);
  const auto most = static_cast<T>(c.most), least = static_cast<T>(c.least);
  const auto half = static_cast<T>(rounds ? (uint64_t{1} << c.drop >> 1) - 1 : 0);
  for (int64_t i = range.begin; i < range.end; ++i) {
    const T x = in[i];
    T v = x;
    if constexpr (rounds) {
      const T odd = (x >> c.drop) & 1;
      v = static_cast<T>(static_cast<T>(x + half + odd) >> c.drop << c.drop);
    }
    if constexpr (limits) {
      const T exponent = v & infinity, zero = v & sign;
      v = exponent > most ? zero | infinity : exponent <= least ? zero : v;
    }
    const bool is_nan = static_cast<T>(x & ~sign) > infinity;
    out[i] = is_nan ? x : v;
  }
}

template <class T>
void RunAs(const Config& c, const plan::KernelArgs& call) {
  const T* in = reinterpret_cast<const T*>(call.in[0]);
  T* out = reinterpret_cast<T*>(call.out[0]);
  const Range range = Share(c.n, 64, call.part, call.parts);
  if (c.drop > 0)
    c.limits ? RunRange<T, true, true>(c, in, out, range)
             : RunRange<T, true, false>(c, in, out, range);
  else
    c.limits ? RunRange<T, false, true>(c, in, out, range)
             : RunRange<T, false, false>(c, in, out, range);
}

template <class T>
void Run(const plan::KernelArgs& call) {
  RunAs<T>(*static_cast<const Config*>(call.config), call);
}

FloatBits FloatBitsOf(DType dtype) {
  if (dtype == f64) return {11, 52};
  if (dtype == f16) return {5, 10};
  return {8, dtype == bf16 ? 7 : 23};
}

}  // namespace

plan::Kernel ReducePrecision(DType dtype, int64_t n, int64_t exponent_bits, int64_t mantissa_bits) {
  const FloatBits own = FloatBitsOf(dtype);
  auto c = std::make_shared<Config>();
  c->n = n;
  c->drop = mantissa_bits < own.mantissa ? own.mantissa - static_cast<int>(mantissa_bits) : 0;
  c->limits = exponent_bits < own.exponent;
  c->sign = uint64_t{1} << (own.exponent + own.mantissa);
  c->infinity = ((uint64_t{1} << own.exponent) - 1) << own.mantissa;
  if (c->limits) {
    const uint64_t bias = (uint64_t{1} << (own.exponent - 1)) - 1;
    const uint64_t reduced = (uint64_t{1} << (exponent_bits - 1)) - 1;
    c->most = (bias + reduced) << own.mantissa;
    c->least = (bias - reduced) << own.mantissa;
  }
  plan::Kernel kernel;
  kernel.fn = dtype.size() == 8   ? &Run<uint64_t>
              : dtype.size() == 4 ? &Run<uint32_t>
                                  : &Run<uint16_t>;
  kernel.flops = 4 * static_cast<double>(n);
  kernel.bytes = 2 * static_cast<double>(n) * dtype.size();
  kernel.max_parts = MaxParts(kernel.bytes, n / 64);
  kernel.in_place = 1;
  kernel.config = std::move(c);
  return kernel;
}

}  // namespace tessera::kernels
