// NumPy's spelling of functions that have another name here, at no cost: `negative(x)` is `neg(x)`.
// Errors show our names. tessera.h does not include this header.
#pragma once
#include <utility>

#include "tessera/arithmetic.h"
#include "tessera/lookup.h"
#include "tessera/ops.h"
#include "tessera/pieces.h"

namespace TESSERA_PUBLIC tessera {

#define TESSERA_UNARY_NAME(name, ours) \
  inline Array name(Operand x, Loc loc = Loc::Current()) { return ours(std::move(x), loc); }
TESSERA_UNARY_NAME(absolute, abs)
TESSERA_UNARY_NAME(negative, neg)
TESSERA_UNARY_NAME(conjugate, conj)
TESSERA_UNARY_NAME(arcsin, asin)
TESSERA_UNARY_NAME(arccos, acos)
TESSERA_UNARY_NAME(arctan, atan)
TESSERA_UNARY_NAME(arcsinh, asinh)
TESSERA_UNARY_NAME(arccosh, acosh)
TESSERA_UNARY_NAME(arctanh, atanh)
TESSERA_UNARY_NAME(invert, bitwise_not)
TESSERA_UNARY_NAME(bitwise_invert, bitwise_not)
TESSERA_UNARY_NAME(rad2deg, degrees)
TESSERA_UNARY_NAME(deg2rad, radians)
#undef TESSERA_UNARY_NAME

#define TESSERA_BINARY_NAME(name, ours)                                                        \
  inline Array name(Operand a, Operand b, OutOptions options = {}, Loc loc = Loc::Current()) { \
    return ours(std::move(a), std::move(b), std::move(options), loc);                          \
  }
TESSERA_BINARY_NAME(subtract, sub)
TESSERA_BINARY_NAME(multiply, mul)
TESSERA_BINARY_NAME(true_divide, divide)
TESSERA_BINARY_NAME(mod, remainder)
TESSERA_BINARY_NAME(fmod, rem)
TESSERA_BINARY_NAME(power, pow)
TESSERA_BINARY_NAME(arctan2, atan2)
TESSERA_BINARY_NAME(equal, eq)
TESSERA_BINARY_NAME(not_equal, ne)
TESSERA_BINARY_NAME(less, lt)
TESSERA_BINARY_NAME(less_equal, le)
TESSERA_BINARY_NAME(greater, gt)
TESSERA_BINARY_NAME(greater_equal, ge)
TESSERA_BINARY_NAME(left_shift, shift_left)
TESSERA_BINARY_NAME(bitwise_left_shift, shift_left)
TESSERA_BINARY_NAME(right_shift, shift_right_arithmetic)
TESSERA_BINARY_NAME(bitwise_right_shift, shift_right_arithmetic)
#undef TESSERA_BINARY_NAME

// The number of one bits of |x|, as u8.
inline Array bitwise_count(Operand x, Loc loc = Loc::Current()) {
  return astype(population_count(abs(std::move(x), loc), loc), u8, loc);
}
inline Array around(Operand x, int decimals = 0, Loc loc = Loc::Current()) {
  return round(std::move(x), {.decimals = decimals}, loc);
}
inline Array amax(Operand x, Dims dims = All, ReduceOptions options = {},
                  Loc loc = Loc::Current()) {
  return max(std::move(x), std::move(dims), std::move(options), loc);
}
inline Array amin(Operand x, Dims dims = All, ReduceOptions options = {},
                  Loc loc = Loc::Current()) {
  return min(std::move(x), std::move(dims), std::move(options), loc);
}
inline Array concat(std::vector<Array> xs, int dim = 0, Loc loc = Loc::Current()) {
  return concatenate(std::move(xs), dim, loc);
}
inline Array permute_dims(Operand x, Dims dims, Loc loc = Loc::Current()) {
  return transpose(std::move(x), std::move(dims), loc);
}
inline Array cumulative_sum(Operand x, int dim, CumOptions options = {}, Loc loc = Loc::Current()) {
  return cumsum(std::move(x), dim, std::move(options), loc);
}
inline Array cumulative_prod(Operand x, int dim, CumOptions options = {},
                             Loc loc = Loc::Current()) {
  return cumprod(std::move(x), dim, std::move(options), loc);
}
inline Array take_along_axis(Operand x, Operand indices, int dim, TakeAlongOptions options = {},
                             Loc loc = Loc::Current()) {
  return take_along_dim(std::move(x), std::move(indices), dim, std::move(options), loc);
}
inline Array put_along_axis(Operand x, Operand indices, Operand values, int dim,
                            Loc loc = Loc::Current()) {
  return put_along_dim(std::move(x), std::move(indices), std::move(values), dim, loc);
}
inline Array empty(Shape shape, CreateOptions options = {}, Loc loc = Loc::Current()) {
  return zeros(std::move(shape), std::move(options), loc);
}
inline Array empty_like(Operand x, CreateOptions options = {}, Loc loc = Loc::Current()) {
  return zeros_like(std::move(x), std::move(options), loc);
}
inline Array asarray(Operand x, Loc loc = Loc::Current()) {
  return broadcast_arrays({x.scalar() ? full({}, x, {}, loc) : x.array()}, loc)[0];
}
inline Array copy(Operand x, Loc loc = Loc::Current()) { return asarray(std::move(x), loc); }
template <class F>
Array apply_along_axis(F f, int dim, Operand x, Loc loc = Loc::Current()) {
  return apply_along_dim(std::move(f), dim, std::move(x), loc);
}
template <class F>
Array apply_over_axes(F f, Operand x, Dims dims, Loc loc = Loc::Current()) {
  return apply_over_dims(std::move(f), std::move(x), std::move(dims), loc);
}

}  // namespace tessera
