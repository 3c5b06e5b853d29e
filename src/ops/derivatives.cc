// Shared parts of the transposes of ops that cut and pad.
#include "ops/derivatives.h"

namespace tessera::ops {

ir::ValueId OfOtherSize(const ir::DiffCall& c, size_t k, const OpDef& op, ir::ParamsPtr params,
                        std::vector<ir::ValueId> operands) {
  const ir::Type *from = c.builder.type(operands[0]), *to = CotangentTypeOf(c, k);
  sharding::TensorSharding layout = from->sharding();
  for (size_t d = 0; d < layout.dims.size(); ++d) {
    const sharding::AxisList& axes = to->sharding().dims[d].axes;
    const sharding::AxisList& own = from->sharding().dims[d].axes;
    const bool are_terms =
        !own.empty() && sharding::Difference(own, to->sharding().unreduced).empty();
    if (are_terms && from->shape()[d] == to->shape()[d]) continue;
    const bool divides = from->shape()[d] % sharding::SizeOf(axes) == 0;
    layout.dims[d].axes = divides ? axes : sharding::AxisList{};
  }
  operands[0] = Conform(c.builder, operands[0], from->WithSharding(std::move(layout)));
  const ir::ShapeAndDType wanted{to->shape(), from->dtype()};
  return c.builder.Emit(op, std::move(params), operands, {.wanted = &wanted});
}

}  // namespace tessera::ops
