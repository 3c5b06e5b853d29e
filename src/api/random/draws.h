// Sampling functions as cached programs, and the keys that they use up.
#pragma once
#include <absl/functional/function_ref.h>

#include <string>
#include <vector>

#include "api/core/operands.h"

namespace tessera::api {

// The type of a sample. Over Explicit axes it is replicated unless there is an out_sharding.
struct DrawnAs {
  base::Shape shape;
  DType dtype;
  std::optional<PartitionSpec> out_sharding = {};
};

// Returns draw(operands). Outside traces it runs as a compiled program that is cached. `statics`
// names everything else that determines the program. Operands that are numbers are passed to `draw`
// as numbers.
using Draw = absl::FunctionRef<std::vector<Array>(const std::vector<Operand>&)>;
std::vector<Array> AllKept(std::vector<Operand> operands, std::string statics, Call call,
                           Draw draw);
// As AllKept, for a sample that uses up the key, the first operand.
std::vector<Array> AllDrawn(std::vector<Operand> operands, std::string statics, Call call,
                            Draw draw);
template <class F>
Array Drawn(std::vector<Operand> operands, std::string statics, Call call, F draw) {
  return AllDrawn(
      std::move(operands), std::move(statics), call,
      [&](const std::vector<Operand>& all) { return std::vector<Array>{draw(all)}; })[0];
}
// Returns a string that identifies the type of a sample.
std::string TextOf(const DrawnAs& as);

// Returns the operand, which must be one key, or an array of keys if `any` is true. C14, C15:
// throws DTypeError or ShapeError otherwise.
Array KeyOf(const Operand& key, Call call);
// C14: returns the operand, which must be a key or an array of keys. Throws DTypeError otherwise.
Array KeysOf(const Operand& keys, Call call);

// Returns the bits of x as another dtype; a wider or narrower one changes the last dim.
Array Bitcast(const Array& x, DType t, Call call);

}  // namespace tessera::api
