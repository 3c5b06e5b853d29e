// Ops on values that share one layout, for expansions. Types are given, not inferred: the typing
// rule refuses sizes that do not divide.
#pragma once
#include <utility>

#include "ir/builder.h"
#include "ops/ops.h"
#include "ops/params.h"

namespace tessera::ops {

ir::ParamsPtr LiteralOf(const ir::HostTensor& one);
ir::ParamsPtr LiteralOf(int64_t n);
// Returns the identity of a reduction, as a literal.
ir::ParamsPtr IdentityOf(Reduction r, DType t);

class LaidOut {
 public:
  LaidOut(ir::Builder& b, const ir::Type* like) : b_(b), shape_(like->shape()) {
    layout_ = like->sharding();
    layout_.unreduced.clear();
    layout_.reduced.clear();
  }
  ir::ValueId Apply(const OpDef& op, absl::Span<const ir::ValueId> operands, DType dtype,
                    ir::ParamsPtr params = nullptr) {
    const ir::Type* type = ir::Type::Get(shape_, dtype, layout_);
    return b_.EmitTyped(op, std::move(params), operands, {&type, 1})[0];
  }
  // Returns a scalar, which elementwise ops broadcast.
  ir::ValueId Number(ir::ParamsPtr literal, DType dtype) {
    const ir::Type* type = ir::Type::Get({}, dtype);
    return b_.EmitTyped(kConstant, std::move(literal), {}, {&type, 1})[0];
  }
  ir::ValueId Integer(int64_t n) { return Number(LiteralOf(n), i64); }
  // Returns the index along a dim.
  ir::ValueId Index(int64_t dim) {
    return Apply(kIota, {}, i64, ir::MakeParams(IotaParams{{dim}}));
  }

 private:
  ir::Builder& b_;
  const base::Shape& shape_;
  sharding::TensorSharding layout_;
};

}  // namespace tessera::ops
