// Draws of random numbers as programs that are kept, and the keys that they use up.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "api/core/operands.h"

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

}  // namespace tessera::api
