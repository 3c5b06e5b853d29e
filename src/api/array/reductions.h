// Reductions over dims, from which public functions are composed.
#pragma once
#include "api/core/operands.h"

namespace tessera::api {

struct Reduced {
  const ir::OpDef& op;
  std::vector<int64_t> dims;
  bool keepdims = false;
  std::optional<PartitionSpec> out_sharding = {};
};
Array Reduce(const Array& x, Reduced r, Call call);
// Returns the maximum along the dims, kept, as a constant for derivatives: as a shift of exponents,
// which cancels out.
Array MaxAsConstant(const Array& x, const std::vector<int64_t>& dims, Call call);
// Returns the identity of a reduction, by the reduction of nothing.
Array IdentityOf(const ir::OpDef& op, DType t, Call call);
// Returns x with the identity of a reduction where the mask does not hold, if a mask is given. The
// mask is bool and broadcasts to x.
Array Masked(const ir::OpDef& op, const Array& x, const Array& mask, Call call);
// Throws ShapeError if an option is given that the call does not have.
void CheckHasNo(const char* option, const Array& value, Call call);
// Returns the number of elements along the dims.
double Count(const Array& x, const std::vector<int64_t>& dims);
// Returns the number of those for which the mask holds. It broadcasts with the reduction of x.
struct Counted {
  std::vector<int64_t> dims;
  bool keepdims = false;
};
Array CountWhere(const Array& mask, const Array& x, const Counted& counted, Call call);

}  // namespace tessera::api
