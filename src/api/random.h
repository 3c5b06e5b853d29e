// What draws of random numbers are made of.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "api/frontend.h"
#include "tessera/random.h"

namespace tessera::api {

// Where a draw goes: how it lies over Explicit axes, if not replicated.
struct DrawnAs {
  base::Shape shape;
  DType dtype;
  std::optional<PartitionSpec> out_sharding = {};
};

// Returns what is made of these operands: outside of traces by one compiled program, which is kept.
// What else decides it is in `statics`. Numbers stay numbers in `draw`.
using Draw = std::function<std::vector<Array>(const std::vector<Operand>&)>;
std::vector<Array> AllKept(std::vector<Operand> operands, std::string statics, Call call,
                           const Draw& draw);
// The same of a draw that uses the key up.
std::vector<Array> AllDrawn(std::vector<Operand> operands, std::string statics, Call call,
                            const Draw& draw);
template <class F>
Array Drawn(std::vector<Operand> operands, std::string statics, Call call, F draw) {
  return AllDrawn(
      std::move(operands), std::move(statics), call,
      [&](const std::vector<Operand>& all) { return std::vector<Array>{draw(all)}; })[0];
}
// A text of what is to be drawn.
std::string TextOf(const DrawnAs& as);

// C14: throws DTypeError unless it is one key, or `any` number of them.
Array KeyOf(const Operand& key, Call call, bool any = false);

// ---- inside of a draw: `key` is one key ----

// Returns unsigned integers whose lowest `width` bits are random, and the others 0: u64 for 64
// bits, else u32.
Array RandomBits(const Array& key, const DrawnAs& as, int width, Call call);
// Returns floats in [lo, hi), or lo where hi is not larger.
Array Uniform(const Array& key, const DrawnAs& as, double lo, double hi, Call call);
Array Uniform(const Array& key, const DrawnAs& as, const Array& lo, const Array& hi, Call call);
Array Normal(const Array& key, const DrawnAs& as, Call call);
Array Gumbel(const Array& key, const DrawnAs& as, Call call);
// Returns the new key of each index of the shape.
Array SplitKey(const Array& key, const DrawnAs& as, Call call);
std::vector<Array> SplitApart(const Array& key, int64_t n, Call call);

// The number of stored digits of a floating dtype behind the point.
int MantissaBits(DType t);

}  // namespace tessera::api
