// User-defined ops: typed, propagated, partitioned and run like the library's own.
#pragma once
#include <functional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "tessera/array.h"
#include "tessera/ops.h"

namespace TESSERA_PUBLIC tessera {

// One array of a kernel call: the shard of one device, dense and row-major.
class KernelTensor {
 public:
  KernelTensor(DType dtype, std::vector<int64_t> shape, void* bytes)
      : dtype_(dtype), shape_(std::move(shape)), bytes_(bytes) {}
  DType dtype() const { return dtype_; }
  const std::vector<int64_t>& shape() const { return shape_; }
  int64_t size() const;
  // Returns the elements. A kernel must not write to its operands. Throws DTypeError for
  // another dtype.
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
  std::string name = {};  // new name: letters, digits, '_'
  // The dimension structure: `b h, h k -> b k`. Each name is a factor. Factors that only operands
  // have are summed over. Attributes follow: `reduction=max{h}` (or min, prod, and, or),
  // `need_replication={h}`, `permutation={h}`, `blocked_propagation={h}`.
  //
  // If every array begins with `...` (`... h, h k -> ... k`), the arrays may have any number of
  // leading dims, the same for all of them, and one kernel call computes them all. vmap needs
  // this form.
  std::string rule = {};
  // Computes one shard of the results from the shards of the operands. It is called from several
  // threads; the spans are valid until it returns. It may use arrays and jit, which then run on its
  // thread, under no mesh.
  std::function<void(const KernelCall&)> kernel = {};
  // Returns the result types. Default: the shapes of the rule, and the dtype of the first operand.
  std::function<std::vector<ShapedType>(const std::vector<ShapedType>&)> type = {};
  std::vector<DType> samples = {f32};  // operand dtypes used to check the rule
  double flops_per_point = 0;          // per point of the iteration space
  // Derivative in reverse mode. Takes the operands followed by the cotangents of the floating
  // results; returns cotangents for all operands (those of operands that are not floating are
  // ignored). It is traced, and checked when the op is registered.
  std::function<std::vector<Array>(const std::vector<Array>&)> vjp = {};
  std::string not_differentiable = {};  // reason for no derivative, as grad reports it
};

namespace ops {
struct CustomDef;
}

class CustomOp {
 public:
  explicit CustomOp(const ops::CustomDef* def) : def_(def) {}
  // operator() returns the only result; results() returns all of them. Types and errors are those
  // of any other op.
  Array operator()(std::vector<Array> operands, OutOptions options = {},
                   Loc loc = Loc::Current()) const;
  std::vector<Array> results(std::vector<Array> operands, Loc loc = Loc::Current()) const;
  // Returns the checks that registration made, one per line.
  std::string report() const;

 private:
  const ops::CustomDef* def_;
};

// Registers the op and returns it. From now on program text may use its name.
//
// Checks the rule: the kernel runs on small arrays, whole and in shards along every factor that the
// rule allows to be sharded. Throws ShardingError with a counter-example if the results differ;
// RuntimeError for rule text that is wrong (with the column) and for a vjp that disagrees with
// finite differences of the kernel; TraceError inside a trace.
CustomOp register_op(OpDefinition definition, Loc loc = Loc::Current());

}  // namespace tessera
