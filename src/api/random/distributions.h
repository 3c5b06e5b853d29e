// Random bits and floats inside a sampling function. `key` is a single key.
#pragma once
#include <vector>

#include "api/random/draws.h"

namespace tessera::api {

// Returns one key per number, with that number folded into `key`.
Array FoldIn(const Array& key, const Array& numbers, Call call);
// Returns a new key for each element of the shape.
Array SplitKey(const Array& key, const DrawnAs& as, Call call);
std::vector<Array> SplitApart(const Array& key, int64_t n, Call call);

// Returns unsigned integers with `width` random low bits and 0 above. The dtype is u64 for 64 bits,
// else u32.
Array RandomBits(const Array& key, const DrawnAs& as, int width, Call call);
// Return floats in [lo, hi), or lo if hi is not larger.
Array Uniform(const Array& key, const DrawnAs& as, double lo, double hi, Call call);
Array Uniform(const Array& key, const DrawnAs& as, const Array& lo, const Array& hi, Call call);
Array Normal(const Array& key, const DrawnAs& as, Call call);
Array Gumbel(const Array& key, const DrawnAs& as, Call call);
Array Exponential(const Array& key, const DrawnAs& as, Call call);
Array Laplace(const Array& key, const DrawnAs& as, Call call);
Array Logistic(const Array& key, const DrawnAs& as, Call call);
Array Cauchy(const Array& key, const DrawnAs& as, Call call);

}  // namespace tessera::api
