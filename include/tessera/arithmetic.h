// NumPy's elementwise functions that are not ops: [...] -> [...]. Operands promote and broadcast.
#pragma once
#include "tessera/ops.h"

namespace TESSERA_PUBLIC tessera {

// Returns |a| with the sign of b, also of -0; floating.
Array copysign(Operand a, Operand b, Loc loc = Loc::Current());
// Returns whether the sign is minus, also of -0 and of NaN: bool.
Array signbit(Operand x, Loc loc = Loc::Current());
// Returns 0 for x < 0, 1 for x > 0, and h at 0; floating.
Array heaviside(Operand x, Operand h, Loc loc = Loc::Current());
// Return the larger and the smaller; a number wins over NaN.
Array fmax(Operand a, Operand b, Loc loc = Loc::Current());
Array fmin(Operand a, Operand b, Loc loc = Loc::Current());
// Returns a^b in the default float, f64 or complex numbers.
Array float_power(Operand a, Operand b, Loc loc = Loc::Current());
// Return the greatest common divisor and the least common multiple of ints.
Array gcd(Operand a, Operand b, Loc loc = Loc::Current());
Array lcm(Operand a, Operand b, Loc loc = Loc::Current());
// Returns x * 2^n for ints n; floating.
Array ldexp(Operand x, Operand n, Loc loc = Loc::Current());
// Returns m and n, ints, with x = m * 2^n and |m| in [0.5, 1), or 0; floating.
std::pair<Array, Array> frexp(Operand x, Loc loc = Loc::Current());
// Returns the fraction and the whole part, both with the sign of x; floating.
std::pair<Array, Array> modf(Operand x, Loc loc = Loc::Current());
// Returns floor_divide and remainder.
std::pair<Array, Array> divmod(Operand a, Operand b, Loc loc = Loc::Current());
// Returns x rounded towards 0. Ints and bools are unchanged.
Array trunc(Operand x, Loc loc = Loc::Current());
// Returns |x|; floating.
Array fabs(Operand x, Loc loc = Loc::Current());
// Returns sin(pi x) / (pi x), 1 at 0; floating.
Array sinc(Operand x, Loc loc = Loc::Current());
// Returns log2(2^a + 2^b) without overflow; floating.
Array logaddexp2(Operand a, Operand b, Loc loc = Loc::Current());
// Return the angle in degrees and in radians; floating.
Array degrees(Operand x, Loc loc = Loc::Current());
Array radians(Operand x, Loc loc = Loc::Current());
// Returns x; refuses bools.
Array positive(Operand x, Loc loc = Loc::Current());
// Returns the distance to the next number away from 0, with the sign of x; floating.
Array spacing(Operand x, Loc loc = Loc::Current());
// Return whether x is inf, is -inf, and has an imaginary part other than 0: bool.
Array isposinf(Operand x, Loc loc = Loc::Current());
Array isneginf(Operand x, Loc loc = Loc::Current());
Array iscomplex(Operand x, Loc loc = Loc::Current());
// Returns whether a and b broadcast to one shape and have equal elements there: bool [].
Array array_equiv(Operand a, Operand b, Loc loc = Loc::Current());

}  // namespace tessera
