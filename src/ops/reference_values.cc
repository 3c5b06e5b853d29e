// Elements of any dtype, read, compared and written, for the reference functions.
#include "ops/reference_values.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/shape.h"

namespace tessera::ops::reference {

base::ElementBits BitsAt(const HostTensor& t, int64_t i) {
  const size_t size = t.dtype.size();
  base::ElementBits bits;
  std::memcpy(bits.data(), t.data.data() + i * t.dtype.size(), size);
  return bits;
}

void SetBits(HostTensor& t, int64_t i, const base::ElementBits& bits) {
  const size_t size = t.dtype.size();
  std::memcpy(t.data.data() + i * t.dtype.size(), bits.data(), size);
}

// Written independently of the kernels, which are tested against these.
double Larger(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return a + b;
  if (a == b) return std::signbit(a) ? b : a;
  return a > b ? a : b;
}

double Smaller(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return a + b;
  if (a == b) return std::signbit(a) ? a : b;
  return a < b ? a : b;
}

namespace {
bool Less(const LongComplex& a, const LongComplex& b) {
  return a.real() == b.real() ? a.imag() < b.imag() : a.real() < b.real();
}
}  // namespace
LongComplex Larger(const LongComplex& a, const LongComplex& b) { return Less(b, a) ? a : b; }
LongComplex Smaller(const LongComplex& a, const LongComplex& b) { return Less(a, b) ? a : b; }

bool IntLess(DType dtype, int64_t a, int64_t b) {
  return dtype.is_signed() ? a < b : static_cast<uint64_t>(a) < static_cast<uint64_t>(b);
}

int64_t LowestInt(DType dtype) { return dtype.is_signed() ? ~HighestInt(dtype) : 0; }

int64_t HighestInt(DType dtype) {
  if (dtype.is_bool()) return 1;
  const int digits = dtype.bits() - int{dtype.is_signed()};
  return static_cast<int64_t>(~uint64_t{0} >> (64 - digits));
}

namespace {
int FloatOrder(double a, double b, ZeroOrder zeros) {
  if (std::isnan(a) || std::isnan(b)) return int{std::isnan(a)} - int{std::isnan(b)};
  if (a == b && zeros == ZeroOrder::kNegativeFirst)
    return int{std::signbit(b)} - int{std::signbit(a)};
  return a < b ? -1 : a > b ? 1 : 0;
}
}  // namespace

int Order(const HostTensor& t, int64_t i, int64_t j, ZeroOrder zeros) {
  if (t.dtype.is_complex()) {
    const std::complex<double> a = t.Complex(i), b = t.Complex(j);
    const int by_real = FloatOrder(a.real(), b.real(), zeros);
    return by_real != 0 ? by_real : FloatOrder(a.imag(), b.imag(), zeros);
  }
  if (!t.dtype.is_floating()) {
    const int64_t a = t.Int(i), b = t.Int(j);
    return IntLess(t.dtype, a, b) ? -1 : IntLess(t.dtype, b, a) ? 1 : 0;
  }
  return FloatOrder(t.Float(i), t.Float(j), zeros);
}

int64_t IndexAt(const HostTensor& t, int64_t i) {
  const int64_t index = t.Int(i);
  return index < 0 && t.dtype.is_unsigned() ? std::numeric_limits<int64_t>::max() : index;
}

std::vector<std::vector<int64_t>> Lanes(const std::vector<int64_t>& shape, int64_t dim) {
  std::vector<int64_t> starts = shape;
  starts[dim] = 1;
  std::vector<std::vector<int64_t>> lanes(base::Elements(starts));
  for (size_t k = 0; k < lanes.size(); ++k) {
    std::vector<int64_t> at = ir::CoordsOf(starts, static_cast<int64_t>(k));
    for (at[dim] = 0; at[dim] < shape[dim]; ++at[dim]) lanes[k].push_back(ir::FlatIndex(shape, at));
  }
  return lanes;
}

void CopyElements(const ir::ReferenceCall& call) {
  for (size_t k = 0; k < call.results.size(); ++k) call.results[k]->data = call.operands[k]->data;
}

Coords Pick(const Coords& from, const Coords& dims) {
  Coords picked;
  for (int64_t d : dims) picked.push_back(from[d]);
  return picked;
}

namespace {

// Returns the index in an operand of the element at `coords` of the result.
int64_t BroadcastIndex(const std::vector<int64_t>& shape, std::vector<int64_t> coords) {
  if (shape.empty()) return 0;
  for (size_t d = 0; d < shape.size(); ++d)
    if (shape[d] == 1) coords[d] = 0;
  return ir::FlatIndex(shape, coords);
}

}  // namespace

void ForEachElement(const ir::ReferenceCall& call, absl::FunctionRef<void(const ElementCall&)> f) {
  const HostTensor& out = *call.results[0];
  std::vector<int64_t> at(call.operands.size());
  for (int64_t k = 0; k < out.size(); ++k) {
    const Coords coords = ir::CoordsOf(out.shape, k);
    for (size_t n = 0; n < at.size(); ++n) at[n] = BroadcastIndex(call.operands[n]->shape, coords);
    f({call, k, at});
  }
}

}  // namespace tessera::ops::reference
