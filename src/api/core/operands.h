// What public functions do with their arguments before an op is applied: promotion of dtypes and
// ranks, specs looked up on the mesh, dim numbers made positive.
#pragma once
#include <optional>
#include <vector>

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

// Returns the same value as an array of its own, for a function that changes nothing: what is
// donated as one of the two leaves the other, and its data.
Array Same(const Array& x);
// Returns the operand as an array: a number becomes a weak scalar of its default dtype.
Array ToArray(const Operand& x, Call call);
// Return a scalar array of the number, with a strong or a weak type, or with the dtype and the
// weakness of `type`. Throw DTypeError if the number does not fit.
Array StrongScalar(const Scalar& value, DType dtype, Call call);
Array WeakScalar(const Scalar& value, DType dtype, Call call);
Array ScalarLike(const Scalar& value, const ir::Type* type, Call call);

// Returns the arrays as operands written on this line.
std::vector<Operand> OperandsAt(const std::vector<Array>& xs, Loc loc);

// Throws TraceError for arrays that cannot be used: donated, say, or of a trace that has ended.
std::vector<ArrayRef> RefsOf(const std::vector<Array>& arrays, Call call);
std::vector<ArrayRef> RefsOf(detail::TreeRef tree, Call call);

// Returns whether an integer dtype has the number, which is whole.
bool FitsInteger(double whole, DType dtype);

// Returns the number's bits as an element of `dtype`. Throws DTypeError if it does not fit.
uint64_t ScalarBits(const Scalar& value, DType dtype, Call call);

// Returns the dtype that all operands promote to.
DType PromotedDType(const std::vector<Operand>& xs, Call call);
// Returns the operands in their common dtype, and rank but for scalars; refuses in StrictTypes.
std::vector<Array> Promote(const std::vector<Operand>& xs, Call call);
// The same in a given dtype.
std::vector<Array> PromoteTo(DType dtype, const std::vector<Operand>& xs, Call call);
// Returns the floating dtype that NumPy's functions of floats compute an int dtype in.
DType FloatOf(DType t);
// Returns the operands in their common dtype, made floating.
std::vector<Array> PromoteFloat(const std::vector<Operand>& xs, Call call);
// Returns floats; weak stays weak.
Array ToFloat(const Operand& x, Call call);
// Returns the same value with a weak type.
Array Weak(const Array& x);

// Returns `made`, which messages show as the array that the user wrote: the library made it of that
// to fit its rank.
Array WrittenAs(const Array& written, Array made);

// C2: throws ShapeError for negative sizes and too many elements.
void CheckShape(const base::Shape& shape, Call call);
// Returns `dim` counted from the front; throws ShapeError.
int64_t NormalDim(int64_t dim, int64_t rank, Call call);
std::vector<int64_t> NormalDims(const Dims& dims, int64_t rank, Call call);

// The sharding that a spec names on the current mesh (or `mesh`, if there is none), checked.
std::optional<sharding::TensorSharding> ResolveSpec(const std::optional<PartitionSpec>& spec,
                                                    int rank, const sharding::MeshDef* mesh,
                                                    Call call);
const sharding::MeshDef* MeshOf(const std::vector<Array>& arrays);
// Returns the current mesh, or that of the arrays where there is none.
const sharding::MeshDef* MeshInScope(const std::vector<Array>& arrays);

// What is asked of the results of an op.
struct ResultOptions {
  const ShapeAndDType* wanted = nullptr;
  std::optional<PartitionSpec> out_sharding = {};
  int rank = -1;  // of the result, where out_sharding is given
};
// Applies an op with one result.
Array Run(const ir::OpDef& op, ir::ParamsPtr params, const std::vector<Array>& operands, Call call,
          ResultOptions how = {});
std::vector<Array> RunAll(const ir::OpDef& op, ir::ParamsPtr params,
                          const std::vector<Array>& operands, Call call, ResultOptions how = {});

Array Convert(const Array& x, DType dtype, Call call);
Array Reshape(const Array& x, const base::Shape& shape, Call call);
// Returns x repeated to `shape`, its dims last.
Array BroadcastTo(const Array& x, const base::Shape& shape, Call call,
                  std::optional<PartitionSpec> out_sharding = {});
// Returns a scalar repeated to `shape`, laid out so (as an out_sharding; no mesh: anyhow).
Array Filled(const Array& scalar, const base::Shape& shape, const sharding::TensorSharding& out,
             Call call);
// Returns an array of this type, with a number everywhere.
Array FilledWith(double value, const ir::Type* type, Call call);
// Returns x laid out so by a reshard of the library's, which the report shows as implied.
Array Moved(const Array& x, sharding::TensorSharding to, Call call);
// Returns x summed over what it is unreduced over, and reduced over nothing: as propagation sees
// it.
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
