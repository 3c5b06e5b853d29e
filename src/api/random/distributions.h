// Random numbers inside of a draw, where `key` is one key: bits and floats.
#pragma once
#include <vector>

#include "api/random/draws.h"

namespace tessera::api {

// Returns the keys, each with its number folded in.
Array FoldIn(const Array& key, const Array& numbers, Call call);
// Returns the new key of each index of the shape.
Array SplitKey(const Array& key, const DrawnAs& as, Call call);
std::vector<Array> SplitApart(const Array& key, int64_t n, Call call);

// Returns unsigned integers whose lowest `width` bits are random, and the others 0: u64 for 64
// bits, else u32.
Array RandomBits(const Array& key, const DrawnAs& as, int width, Call call);
// Returns floats in [lo, hi), or lo where hi is not larger.
Array Uniform(const Array& key, const DrawnAs& as, double lo, double hi, Call call);
Array Uniform(const Array& key, const DrawnAs& as, const Array& lo, const Array& hi, Call call);
Array Normal(const Array& key, const DrawnAs& as, Call call);
Array Gumbel(const Array& key, const DrawnAs& as, Call call);
Array Exponential(const Array& key, const DrawnAs& as, Call call);
Array Laplace(const Array& key, const DrawnAs& as, Call call);
Array Logistic(const Array& key, const DrawnAs& as, Call call);
Array Cauchy(const Array& key, const DrawnAs& as, Call call);

}  // namespace tessera::api
