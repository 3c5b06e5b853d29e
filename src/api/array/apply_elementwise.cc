// Promotes operands and applies elementwise ops. A select also broadcasts its cases to one shape.
#include "api/array/apply_elementwise.h"

#include <fmt/format.h>

#include <algorithm>

namespace tessera::api {

using ops::ScalarOp;

Array Apply(ScalarOp op, const std::vector<Array>& operands, const OutOptions& options, Call call) {
  int rank = 0;
  for (const Array& a : operands) rank = std::max(rank, TypeOf(a)->rank());
  return Run(ops::Elementwise(op), nullptr, operands, call,
             {.out_sharding = options.out_sharding, .rank = rank});
}

Array Elementwise(ScalarOp op, const std::vector<Array>& xs, Call call) {
  return Apply(op, Promote(OperandsAt(xs, call.loc), call), {}, call);
}

Array ToBool(const Operand& x, Call call) {
  Array a = ToArray(x, call);
  if (TypeOf(a)->dtype().is_bool()) return a;
  return Apply(ScalarOp::kNe, Promote({a, Operand(0, call.loc)}, call), {}, call);
}

namespace {

// Broadcasts the arrays to one shape. Scalars stay scalars.
std::vector<Array> BroadcastAll(std::vector<Array> xs, Call call) {
  base::Shape shape;
  for (const Array& x : xs) {
    const base::Shape& own = TypeOf(x)->shape();
    if (own.size() > shape.size()) shape.insert(shape.begin(), own.size() - shape.size(), 1);
  }
  for (const Array& x : xs) {
    const base::Shape& own = TypeOf(x)->shape();
    if (!BroadcastWith(shape, own))
      FailShape(
          call, 16,
          fmt::format("shapes {} and {} do not match", ir::FieldText(shape), ir::FieldText(own)));
  }
  for (Array& x : xs)
    if (!TypeOf(x)->shape().empty()) x = WrittenAs(x, BroadcastTo(x, shape, call));
  return xs;
}

}  // namespace

Array Where(const Operand& c, const Operand& a, const Operand& b, Call call,
            const OutOptions& options) {
  std::vector<Array> cases = Promote({a, b}, call);
  std::vector<Array> xs = BroadcastAll({ToBool(c, call), cases[0], cases[1]}, call);
  // The strict op takes cases of one shape, so a scalar case is broadcast to the shape of the other
  // case, or of the selector if both are scalars.
  for (size_t i : {1, 2})
    if (TypeOf(xs[i])->shape().empty()) {
      const Array& like = TypeOf(xs[3 - i])->shape().empty() ? xs[0] : xs[3 - i];
      const ir::Type& type = *TypeOf(like);
      sharding::TensorSharding layout = type.sharding();
      layout.unreduced.clear();
      layout.reduced.clear();
      if (!type.shape().empty()) xs[i] = Filled(xs[i], type.shape(), layout, call);
      layout.reduced = type.sharding().reduced;
      if (!layout.reduced.empty()) xs[i] = Moved(xs[i], layout, call);
    }
  return Apply(ScalarOp::kSelect, {xs[0], xs[2], xs[1]}, options, call);
}

}  // namespace tessera::api
