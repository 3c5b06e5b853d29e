// What the reference functions share: elements, their order, and lanes.
#pragma once
#include <cstdint>
#include <vector>

#include "ir/host_tensor.h"

namespace tessera::ops::reference {

using ir::HostTensor;

// The bits of an element of any dtype, in the low bits.
uint64_t BitsAt(const HostTensor& t, int64_t i);
void SetBits(HostTensor& t, int64_t i, uint64_t bits);

// NaN wins; -0 < +0.
double Larger(double a, double b);
double Smaller(double a, double b);

// Compares two integers or bools as HostTensor::Int gives them: those of u64 are two's complement.
bool IntLess(DType dtype, int64_t a, int64_t b);
int64_t LowestInt(DType dtype);
int64_t HighestInt(DType dtype);

// Returns -1, 0 or 1: how elements i and j of t are ordered. All NaNs are equal and above the rest.
enum class Zeros : uint8_t { kEqual, kNegativeFirst };
int Order(const HostTensor& t, int64_t i, int64_t j, Zeros zeros);

// Returns the integer at t[i] as an index, which may lie outside. Values of u64 above int64_t's
// highest become that.
int64_t IndexAt(const HostTensor& t, int64_t i);

// Returns every line of elements along `dim`, as flat indices, in the order of the other dims.
std::vector<std::vector<int64_t>> Lanes(const std::vector<int64_t>& shape, int64_t dim);

// In double, good to about 1e-15.
double ErfInv(double x);
double Digamma(double x);

}  // namespace tessera::ops::reference
