// The parameters of samples: their shape, dtype and sharding.
#pragma once
#include <absl/functional/function_ref.h>

#include <optional>
#include <string>
#include <vector>

#include "api/random/draws.h"

namespace tessera::api {

// Returns the key and the parameters as operands. Throws as KeyOf does.
std::vector<Operand> WithKey(const Operand& key, const std::vector<Operand>& parameters, Call call);
// Return the type of a sample of floats or of integers. Throw DTypeError for other dtypes.
DrawnAs FloatsOf(base::Shape shape, DType t, const std::optional<PartitionSpec>& out, Call call);
DrawnAs IntegersOf(base::Shape shape, DType t, const std::optional<PartitionSpec>& out, Call call);
// Returns the shape to which the parameters broadcast. C16: throws ShapeError if there is none. The
// checks throw if it does not broadcast to `shape`.
base::Shape BroadcastShape(const std::vector<Operand>& parameters, Call call);
void CheckBroadcasts(const std::vector<Operand>& parameters, const base::Shape& shape, Call call);
void CheckBroadcastsTo(const base::Shape& own, const base::Shape& shape, Call call);
// Returns the type of a sample whose last dims are those of x, and are sharded like them.
DrawnAs LaidLike(const Array& x, base::Shape shape, DType t);
// Whether `draw` computes the shards of an out_sharding from their indices, or the sample is moved.
enum class Shards { kByIndex, kMoved };
// As Drawn, for a sample with an out_sharding. Parameters that are sharded differently are moved.
// With `by_index` and only scalar parameters, `draw` itself computes each shard from its indices.
using DrawAs = absl::FunctionRef<Array(const std::vector<Operand>&, const DrawnAs&)>;
Array DrawnLaidOut(std::vector<Operand> operands, std::string statics, DrawnAs as, Call call,
                   DrawAs draw, Shards shards = Shards::kByIndex);
// Samples floats with the dtype and sharding of the options. `draw` gets the key, then the
// parameters, which broadcast to the shape. Throws as CheckBroadcasts does.
Array DrawnFloats(const Operand& key, const std::vector<Operand>& parameters,
                  const base::Shape& shape, const CreateOptions& options, Call call, DrawAs draw);
// Returns the parameter in dtype t.
Array Parameter(const Operand& x, DType t, Call call);
// Returns the parameter broadcast to the shape of the sample, with its dtype and sharding.
Array BroadcastParameter(const Operand& x, const DrawnAs& as, Call call);

// Makes numbers of one dtype for formulas, at the location of the call.
class NumbersOf {
 public:
  NumbersOf(DType t, Call call) : t_(t), call_(call) {}
  Array operator()(double v) const { return StrongScalar(v, t_, call_); }

 private:
  DType t_;
  Call call_;
};

}  // namespace tessera::api
