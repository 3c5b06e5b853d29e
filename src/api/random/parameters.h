// The parameters of draws: their shape, their dtype and how they lie.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "api/random/draws.h"

namespace tessera::api {

// Returns the key and the parameters. Throws as KeyOf.
std::vector<Operand> WithKey(const Operand& key, const std::vector<Operand>& parameters, Call call);
// What is to be drawn, of floats or of integers. Throws DTypeError for other dtypes.
DrawnAs FloatsOf(base::Shape shape, DType t, const std::optional<PartitionSpec>& out, Call call);
DrawnAs IntegersOf(base::Shape shape, DType t, const std::optional<PartitionSpec>& out, Call call);
// Returns the shape that parameters broadcast to. C16: throws ShapeError if there is none, or if it
// does not broadcast to `shape`.
base::Shape BroadcastShape(const std::vector<Operand>& parameters, Call call);
void CheckBroadcasts(const std::vector<Operand>& parameters, const base::Shape& shape, Call call);
void CheckBroadcastsTo(const base::Shape& own, const base::Shape& shape, Call call);
// Returns what is to be drawn beside x, to whose last dims it goes: it lies as they do.
DrawnAs LaidLike(const Array& x, base::Shape shape, DType t);
// As Drawn. `by_index`: of parameters that are numbers the draw is laid out as its index. With an
// out_sharding, parameters that are arrays may lie otherwise: they are moved.
using DrawAs = std::function<Array(const std::vector<Operand>&, const DrawnAs&)>;
Array DrawnLaidOut(std::vector<Operand> operands, std::string statics, DrawnAs as, Call call,
                   const DrawAs& draw, bool by_index = true);
// Draws floats of the options' dtype and layout. `draw` gets the key, then the parameters, which
// broadcast to the shape. Throws as CheckBroadcasts.
Array DrawnFloats(const Operand& key, const std::vector<Operand>& parameters,
                  const base::Shape& shape, const CreateOptions& options, Call call,
                  const DrawAs& draw);
// Returns a parameter in a dtype.
Array Parameter(const Operand& x, DType t, Call call);
// Returns a parameter for each element, laid out as what is drawn.
Array Spread(const Operand& x, const DrawnAs& as, Call call);

// Numbers of one dtype in formulas: operators of arrays keep the line of the call.
class NumbersOf {
 public:
  NumbersOf(DType t, Call call) : t_(t), call_(call) {}
  Array operator()(double v) const { return StrongScalar(v, t_, call_); }

 private:
  DType t_;
  Call call_;
};

}  // namespace tessera::api
