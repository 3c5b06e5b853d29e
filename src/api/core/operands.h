// Prepares the arguments of public functions for ops: promotes dtypes and ranks, resolves specs on
// the mesh, counts dims from the front. Then applies the ops.
#pragma once
#include <optional>
#include <vector>

#include "base/element_bits.h"
#include "ops/ops.h"
#include "tessera/ops.h"
#include "tessera/tree.h"
#include "trace/array.h"

namespace tessera::api {

using ir::ShapeAndDType;
using trace::ArrayRef;

// A public function's name and the caller's line, for messages.
struct Call {
  const char* name;
  Loc loc;
};

// Returns another array of the same value, for a function that changes nothing. If one of the two
// is donated, the other keeps its data.
Array Same(const Array& x);
// Returns the operand as an array: a number becomes a weak scalar of its default dtype.
Array ToArray(const Operand& x, Call call);
// Returns a scalar array of these bits: an op in a trace.
Array ScalarOf(const base::ElementBits& bits, const ir::Type* type, Call call);
// Return a scalar array of the number, with a strong or a weak type, or with the dtype and the
// weakness of `type`. Throw DTypeError if the number does not fit.
Array StrongScalar(const Scalar& value, DType dtype, Call call);
Array WeakScalar(const Scalar& value, DType dtype, Call call);
Array ScalarLike(const Scalar& value, const ir::Type* type, Call call);

// Returns the arrays as operands of a call on this line.
std::vector<Operand> OperandsAt(const std::vector<Array>& xs, Loc loc);

// Return the arrays' references. Throw TraceError for arrays that cannot be used, such as donated
// arrays or arrays of a trace that has ended.
std::vector<ArrayRef> RefsOf(const std::vector<Array>& arrays, Call call);
std::vector<ArrayRef> RefsOf(detail::TreeRef tree, Call call);

// Whether an integer dtype can represent a whole number.
bool FitsInteger(double whole, DType dtype);

// Returns the number's bits as an element of `dtype`. Throws DTypeError if it does not fit.
base::ElementBits ScalarBits(const Scalar& value, DType dtype, Call call);

// Returns promote_types(a, b). C13: throws DTypeError at the call if they do not promote.
DType Promoted(DType a, DType b, Call call);
// Returns the dtype that all operands promote to.
DType PromotedDType(const std::vector<Operand>& xs, Call call);
// Returns the operands in their common dtype and, except for scalars, with their common rank.
// Throws inside StrictTypes if the operands differ.
std::vector<Array> Promote(const std::vector<Operand>& xs, Call call);
// As Promote, to a given dtype.
std::vector<Array> PromoteTo(DType dtype, const std::vector<Operand>& xs, Call call);
// Returns the dtype of a plain number of this kind.
DType DefaultOf(Scalar::Kind kind);
// C14: throws DTypeError for a complex array.
void CheckReal(const Array& x, Call call);
// Returns the floating or complex dtype in which NumPy's floating-point functions compute on an int
// dtype.
DType FloatOf(DType t);
// Returns the dtype in which a function computes on floats: f32 for narrower ones, whose squares
// and sums overflow or become 0. Other dtypes stay.
DType WideDType(DType t);
// As Promote, to a floating or complex dtype: FloatOf the common one.
std::vector<Array> PromoteFloat(const std::vector<Operand>& xs, Call call);
// Returns the operand as floats or complex numbers. A weak type stays weak.
Array ToFloat(const Operand& x, Call call);
// Returns the same value with a weak type.
Array Weak(const Array& x);

// Returns `made`, which the library computed from `written` to fit its rank. Messages show it as
// `written`, the array of the user.
Array WrittenAs(const Array& written, Array made);

// C2: throws ShapeError for negative sizes and too many elements.
void CheckShape(const base::Shape& shape, Call call);
// Broadcasts `shape` with `own`, aligned at the right. Returns whether the sizes match.
bool BroadcastWith(base::Shape& shape, const base::Shape& own);
// Whether an array of shape `own` broadcasts to `shape`.
bool CanBroadcastTo(const base::Shape& own, const base::Shape& shape);
// Returns `dim` counted from the front; throws ShapeError.
int64_t NormalDim(int64_t dim, int64_t rank, Call call);
std::vector<int64_t> NormalDims(const Dims& dims, int64_t rank, Call call);

// Returns the sharding of a spec on the current mesh, or on `mesh` if there is no current one.
// Throws ShardingError for an invalid spec.
std::optional<sharding::TensorSharding> ResolveSpec(const std::optional<PartitionSpec>& spec,
                                                    int rank, const sharding::MeshDef* mesh,
                                                    Call call);
// C1: throws ShardingError for a spec without a mesh.
void CheckHasMesh(const PartitionSpec& spec, const sharding::MeshDef* mesh, Call call);
const sharding::MeshDef* MeshOf(const std::vector<Array>& arrays);
// Returns the current mesh, or the mesh of the arrays if there is no current one.
const sharding::MeshDef* MeshInScope(const std::vector<Array>& arrays);

// Requested types and shardings of the results of an op.
struct ResultOptions {
  const ShapeAndDType* wanted = nullptr;
  std::optional<PartitionSpec> out_sharding = {};
  int rank = -1;  // the result's rank, needed for out_sharding
};
// Apply an op; Run returns its only result.
Array Run(const ir::OpDef& op, ir::ParamsPtr params, const std::vector<Array>& operands, Call call,
          ResultOptions how = {});
std::vector<Array> RunAll(const ir::OpDef& op, ir::ParamsPtr params,
                          const std::vector<Array>& operands, Call call, ResultOptions how = {});

Array Convert(const Array& x, DType dtype, Call call);
// Returns the operand in this dtype, strong. A plain number keeps its digits.
Array StrongOf(const Operand& x, DType dtype, Call call);
// Returns x in its WideDType.
Array ToWide(const Array& x, Call call);
Array Reshape(const Array& x, const base::Shape& shape, Call call);
// Returns x broadcast to `shape`. The dims of x are the last ones.
Array BroadcastTo(const Array& x, const base::Shape& shape, Call call,
                  std::optional<PartitionSpec> out_sharding = {});
// Returns a scalar broadcast to `shape`. If `out` has a mesh, it is the out_sharding.
Array Filled(const Array& scalar, const base::Shape& shape, const sharding::TensorSharding& out,
             Call call);
// Returns an array of this type whose elements all equal `value`.
Array FilledWith(double value, const ir::Type* type, Call call);
// Returns x resharded by the library. Reports show such a reshard as implied.
Array Moved(const Array& x, sharding::TensorSharding to, Call call);
// Returns x without unreduced and reduced axes, as propagation sees it: x is summed over its
// unreduced axes.
Array Plain(const Array& x, Call call);

[[noreturn]] void FailShape(Call call, int check, std::string reason,
                            std::vector<std::string> notes = {});
[[noreturn]] void FailDType(Call call, int check, std::string reason,
                            std::vector<std::string> notes = {});
[[noreturn]] void FailSharding(Call call, int check, std::string reason,
                               std::vector<std::string> notes = {});

[[noreturn]] void FailTrace(Call call, int check, std::string reason,
                            std::vector<std::string> notes = {},
                            std::vector<ErrorOperand> operands = {});

inline const ir::Type* TypeOf(const Array& x) { return x.impl()->type(); }
inline const base::Shape& ShapeOf(const Array& x) { return TypeOf(x)->shape(); }
inline int64_t Rank(const Array& x) { return TypeOf(x)->rank(); }

}  // namespace tessera::api
