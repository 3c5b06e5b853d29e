// Discrete Fourier transforms along one dim.
#pragma once
#include <cstdint>

#include "kernels/kernel.h"

namespace tessera::kernels {

enum class FourierKind : uint8_t {
  kForward,   // complex to complex: y[k] = sum of x[j] exp(-2 pi i j k / n)
  kInverse,   // the same with exp(+2 pi i j k / n), not divided by n
  kFromReal,  // the first n / 2 + 1 results of kForward for a real operand
  // kInverse of n / 2 + 1 numbers, which stand for n: element n - k is the conjugate of element k.
  // The result is real. The imaginary parts of element 0, and of n / 2 if n is even, are ignored.
  kToReal,
};

// Return the elements of a transform of n elements in the operand, and in the result.
constexpr int64_t FourierInSize(FourierKind kind, int64_t n) {
  return kind == FourierKind::kToReal ? n / 2 + 1 : n;
}
constexpr int64_t FourierOutSize(FourierKind kind, int64_t n) {
  return kind == FourierKind::kFromReal ? n / 2 + 1 : n;
}

struct FourierDesc {
  FourierKind kind = FourierKind::kForward;
  bool is_wide = false;  // f64 and c128, else f32 and c64
  // The array is [outer, n, inner], where the complex side of a real transform has n / 2 + 1
  // elements instead of n.
  int64_t outer = 1, n = 1, inner = 1;
  double scale = 1;  // of the results
};

// Transforms in[0] to out[0], by mixed-radix passes (Stockham's order), by Bluestein's chirps where
// n has large prime factors, and as two passes over a matrix where n is large or few numbers are
// transformed at once. See "Computational Frameworks for the Fast Fourier Transform" (Van Loan).
plan::Kernel Fourier(const FourierDesc& desc);

}  // namespace tessera::kernels
