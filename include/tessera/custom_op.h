// Ops of one's own: typed, propagated, partitioned and run like the library's.
#pragma once
#include <functional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "tessera/array.h"
#include "tessera/ops.h"

namespace TESSERA_PUBLIC tessera {

// One array as a kernel sees it: the shard of one device, dense and row-major.
class KernelTensor {
 public:
  KernelTensor(DType dtype, std::vector<int64_t> shape, void* bytes)
      : dtype_(dtype), shape_(std::move(shape)), bytes_(bytes) {}
  DType dtype() const { return dtype_; }
  const std::vector<int64_t>& shape() const { return shape_; }
  int64_t size() const;
  // Returns the elements; operands' are not to be written. Throws DTypeError for another dtype.
  template <class E>
  std::span<E> data(Loc loc = Loc::Current()) const {
    Check(dtype_of<std::remove_const_t<E>>(), loc);
    return {static_cast<E*>(bytes_), static_cast<size_t>(size())};
  }

 private:
  void Check(DType dtype, Loc loc) const;
  DType dtype_;
  std::vector<int64_t> shape_;
  void* bytes_;
};

struct KernelCall {
  std::vector<KernelTensor> in, out;
};

// Shape and dtype of an operand or a result.
struct ShapedType {
  std::vector<int64_t> shape;
  DType dtype;
};

struct OpDefinition {
  std::string name = {};  // a new word: letters, digits, '_'
  // The dimension structure: `b h, h k -> b k`. Names are factors; those of operands alone are
  // summed over. What else holds for a factor follows: `reduction=max{h}` (min, prod, and, or),
  // `need_replication={h}`, `permutation={h}`, `blocked_propagation={h}`. Arrays that begin with
  // `...` (`... h, h k -> ... k`) have any number of dims in front, the same for all of them: the
  // kernel computes all at once. Without it the op cannot be mapped by vmap.
  std::string rule = {};
  // Computes one shard of the results from those of the operands; called from several threads, on
  // spans that end with the call. May use arrays and jit: on its thread alone, under no mesh.
  std::function<void(const KernelCall&)> kernel = {};
  // What the results are; default: shapes by the rule, dtype of the first operand.
  std::function<std::vector<ShapedType>(const std::vector<ShapedType>&)> type = {};
  std::vector<DType> samples = {f32};  // operand dtypes with which the rule is checked
  double flops_per_point = 0;          // per point of the iteration space
  // Its derivative in reverse: from the operands, followed by the cotangents of the floating
  // results, to cotangents of all operands, of which those of operands that are not floating are
  // ignored. Traced, and checked at registration.
  std::function<std::vector<Array>(const std::vector<Array>&)> vjp = {};
  std::string not_differentiable = {};  // why there is none; what grad says
};

namespace ops {
struct CustomDef;
}

class CustomOp {
 public:
  explicit CustomOp(const ops::CustomDef* def) : def_(def) {}
  // Returns the only result, or all of them. Types and errors as for any op.
  Array operator()(std::vector<Array> operands, OutOptions options = {},
                   Loc loc = Loc::Current()) const;
  std::vector<Array> results(std::vector<Array> operands, Loc loc = Loc::Current()) const;
  // Returns what was checked at registration, a line each.
  std::string report() const;

 private:
  const ops::CustomDef* def_;
};

// Returns the op, from now on known by its name in program text too. Runs the kernel on small
// arrays, whole and in shards of every factor that the rule lets be sharded, and throws
// ShardingError with a counter-example if the results differ; RuntimeError for rule text that is
// wrong, with the column, and for a vjp that differences of the kernel's results contradict;
// TraceError inside of a trace.
CustomOp register_op(OpDefinition definition, Loc loc = Loc::Current());

}  // namespace tessera
