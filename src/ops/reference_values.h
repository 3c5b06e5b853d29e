// Helpers of the reference functions: elements, their order, and lines of elements. A reference
// function is the obvious computation of an op on whole tensors, with which tests compare. It is
// written next to the op's record. Floats are computed in double and rounded once, complex numbers
// in long double, integers in 64 bits and wrapped. Speed does not matter.
#pragma once
#include <absl/functional/function_ref.h>

#include <complex>
#include <cstdint>
#include <limits>
#include <vector>

#include "base/element_bits.h"
#include "ir/op.h"

namespace tessera::ops::reference {

using ir::HostTensor;
using LongComplex = std::complex<long double>;
using Coords = std::vector<int64_t>;

inline constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
inline constexpr double kInf = std::numeric_limits<double>::infinity();

// The reference of ops whose results have the bytes of their operands.
void CopyElements(const ir::ReferenceCall& call);

// Returns the entries of `from` at `dims`.
Coords Pick(const Coords& from, const Coords& dims);

// Reads and writes the bits of an element of any dtype.
base::ElementBits BitsAt(const HostTensor& t, int64_t i);
void SetBits(HostTensor& t, int64_t i, const base::ElementBits& bits);

// NaN wins; -0 < +0.
double Larger(double a, double b);
double Smaller(double a, double b);
// By the real parts, then by the imaginary parts. NaN is neither smaller nor larger.
LongComplex Larger(const LongComplex& a, const LongComplex& b);
LongComplex Smaller(const LongComplex& a, const LongComplex& b);

// Compares two integers or bools as HostTensor::Int gives them: a u64 is its two's complement.
bool IntLess(DType dtype, int64_t a, int64_t b);
int64_t LowestInt(DType dtype);
int64_t HighestInt(DType dtype);

// Returns -1, 0 or 1, the order of elements i and j of t. All NaNs are equal and above the rest.
// Complex numbers are ordered by their real parts, then by their imaginary parts.
enum class ZeroOrder : uint8_t { kEqual, kNegativeFirst };
int Order(const HostTensor& t, int64_t i, int64_t j, ZeroOrder zeros);

// Returns t[i] as an index, which may be out of range. A u64 above int64_t's highest becomes that.
int64_t IndexAt(const HostTensor& t, int64_t i);

// Returns every line of elements along `dim`, as flat indices, in the order of the other dims.
std::vector<std::vector<int64_t>> Lanes(const std::vector<int64_t>& shape, int64_t dim);

// An integer or bool as HostTensor::Int gives it, and its dtype. Results need not be
// wrapped: storing wraps them.
struct Int {
  DType dtype;
  int64_t value;
  int width() const { return dtype.bits(); }
  uint64_t wrapped() const { return static_cast<uint64_t>(value); }  // for sums that may overflow
  bool negative() const { return dtype.is_signed() && value < 0; }
  uint64_t bits() const { return wrapped() & (~uint64_t{0} >> (64 - width())); }
};

inline int64_t Wrap(uint64_t v) { return static_cast<int64_t>(v); }

inline int64_t Negated(Int x) { return Wrap(0 - x.wrapped()); }

// Element k of an elementwise op's result, and the elements from which it is computed.
class ElementCall {
 public:
  ElementCall(const ir::ReferenceCall& call, int64_t k, const std::vector<int64_t>& at)
      : call_(call), k_(k), at_(at) {}
  DType dtype() const { return call_.operands[0]->dtype; }
  DType result_dtype() const { return result().dtype; }
  double Float(size_t n) const { return call_.operands[n]->Float(at_[n]); }
  Int IntOf(size_t n) const { return {call_.operands[n]->dtype, call_.operands[n]->Int(at_[n])}; }
  // Of an element of up to 8 bytes.
  uint64_t Bits(size_t n) const { return BitsAt(*call_.operands[n], at_[n]).low; }
  LongComplex ComplexOf(size_t n) const { return LongComplex(call_.operands[n]->Complex(at_[n])); }
  void SetComplex(const LongComplex& v) const { result().SetComplex(k_, v); }
  void SetFloat(long double v) const { result().SetFloat(k_, v); }
  void SetInt(int64_t v) const { result().SetInt(k_, v); }
  void SetBits(const base::ElementBits& bits) const { reference::SetBits(result(), k_, bits); }
  // Copies the element of operand n.
  void SetFrom(size_t n) const { result().SetFrom(k_, *call_.operands[n], at_[n]); }

 private:
  HostTensor& result() const { return *call_.results[0]; }

  const ir::ReferenceCall& call_;
  int64_t k_;
  const std::vector<int64_t>& at_;  // index in each operand
};

// Calls f for every element of the result. Scalars and dims of size 1 broadcast.
void ForEachElement(const ir::ReferenceCall& call, absl::FunctionRef<void(const ElementCall&)> f);

}  // namespace tessera::ops::reference
