// Columnsort: the shards are the columns of a matrix (Leighton, "Tight bounds on the complexity of
// parallel sorting", 1985).
#include "ops/column_sort.h"

#include <array>
#include <limits>
#include <utility>

#include "base/at.h"
#include "base/dtype.h"
#include "ops/laid_out.h"
#include "ops/pieces.h"
#include "ops/tangents.h"
#include "sharding/partition.h"

namespace tessera::ops {
namespace {

using Values = std::vector<ir::ValueId>;
using ir::ValueId;

// Returns an element that comes before, or after, all others.
ir::ParamsPtr EndOfOrder(DType t, bool is_last, bool descending) {
  const bool is_largest = is_last != descending;
  if (!t.is_inexact()) return IdentityOf(is_largest ? Reduction::kMin : Reduction::kMax, t);
  // NaN comes after all numbers.
  using Limits = std::numeric_limits<double>;
  const double end = is_largest ? Limits::quiet_NaN() : -Limits::infinity();
  ir::HostTensor one(t, {1});
  if (t.is_complex())
    one.SetComplex(0, {end, end});
  else
    one.SetFloat(0, end);
  return LiteralOf(one);
}

class ColumnSort {
 public:
  ColumnSort(ir::Builder& b, const SortParams& params, const ir::Type* from)
      : b_(b),
        params_(params),
        from_(from),
        dim_(base::Size(params.dim[0])),
        size_(from->shape()[dim_]),
        axes_(from->sharding().dims[dim_].axes),
        shards_(sharding::SizeOf(axes_)),
        block_(sharding::SortedBlock(size_, shards_)) {}

  Values Of(Values xs) {
    for (ValueId& x : xs) x = InColumns(x);
    const bool is_stable = NeedsPositions(xs.size(), from_->dtype().is_inexact());
    if (is_stable) xs.insert(xs.begin() + params_.num_keys, Positions());
    keys_ = params_.num_keys + (is_stable ? 1 : 0);
    xs = Spread(Sorted(std::move(xs)));
    xs = Gathered(Sorted(std::move(xs)));
    xs = WithNeighbours(Sorted(std::move(xs)));
    if (is_stable) xs.erase(xs.begin() + params_.num_keys);
    for (ValueId& x : xs) x = Whole(x);
    return xs;
  }

 private:
  // Returns the type of x with these sizes in place of the dim, the first or second one sharded.
  const ir::Type* TypeOf(std::initializer_list<int64_t> sizes, int sharded, DType dtype) const {
    base::Shape shape = from_->shape();
    sharding::TensorSharding sharding = from_->sharding();
    const auto at = [&](auto& list) { return list.begin() + static_cast<std::ptrdiff_t>(dim_); };
    shape.erase(at(shape)), sharding.dims.erase(at(sharding.dims));
    shape.insert(at(shape), sizes);
    std::vector<sharding::DimAxes> dims(sizes.size());
    dims[base::Size(sharded)].axes = axes_;
    sharding.dims.insert(at(sharding.dims), dims.begin(), dims.end());
    return ir::Type::Get(std::move(shape), dtype, std::move(sharding));
  }
  const ir::Type* ColumnsOf(DType dtype, int64_t rows) const {
    return TypeOf({shards_, rows}, 0, dtype);
  }
  ValueId Make(const OpDef& op, ir::ParamsPtr params, std::initializer_list<ValueId> operands,
               const ir::Type* type) {
    return b_.EmitTyped(op, std::move(params), operands, {&type, 1})[0];
  }
  ValueId Number(ir::ParamsPtr literal, DType dtype) {
    return Make(kConstant, std::move(literal), {}, ir::Type::Get({}, dtype));
  }
  ValueId Reshaped(ValueId x, const ir::Type* type) { return Make(kReshape, nullptr, {x}, type); }

  // [..., n, ...] -> [..., shards, block, ...], padded with elements that come last.
  ValueId InColumns(ValueId x) {
    const DType t = b_.type(x)->dtype();
    const ir::Type* padded = TypeOf({shards_ * block_}, 0, t);
    if (padded->shape() != from_->shape())
      x = Make(kPad, PadAlong(padded->shape().size(), dim_, 0, shards_ * block_ - size_),
               {x, Number(EndOfOrder(t, true, params_.descending), t)}, padded);
    return Reshaped(x, ColumnsOf(t, block_));
  }
  ValueId Whole(ValueId x) {
    const DType t = b_.type(x)->dtype();
    const ir::Type* padded = TypeOf({shards_ * block_}, 0, t);
    x = Reshaped(x, padded);
    if (padded->shape() == from_->shape()) return x;
    return Make(kSlice, SliceAlong(padded->shape(), dim_, 0, size_), {x},
                from_->WithDType(t)->WithWeak(false));
  }
  // The position along the dim. It grows in the order that the sort makes.
  ValueId Positions() {
    const DType t = sharding::PositionBytes(size_, shards_) == 8 ? i64 : i32;
    const ValueId position = Make(kIota, ir::MakeParams(IotaParams{{params_.dim[0]}}), {},
                                  TypeOf({shards_ * block_}, 0, t));
    const ValueId in_columns = Reshaped(position, ColumnsOf(t, block_));
    if (!params_.descending) return in_columns;
    return Make(Elementwise(ScalarOp::kNeg), nullptr, {in_columns}, b_.type(in_columns));
  }

  Values Sorted(Values xs) {
    std::vector<const ir::Type*> types;
    for (ValueId x : xs) types.push_back(b_.type(x));
    SortParams params = params_;
    params.dim = {static_cast<int64_t>(dim_) + 1};
    params.num_keys = keys_;
    const auto sorted = b_.EmitTyped(kSort, ir::MakeParams(std::move(params)), xs, types);
    return {sorted.begin(), sorted.end()};
  }

  // Orders the three dims that stand for the sorted one.
  ValueId Permuted(ValueId x, std::array<int64_t, 3> order, const ir::Type* type) {
    TransposeParams params;
    for (int64_t d = 0; d < type->rank(); ++d) params.perm.push_back(d);
    for (size_t k = 0; k < order.size(); ++k)
      params.perm[dim_ + k] = static_cast<int64_t>(dim_) + order[k];
    return Make(kTranspose, ir::MakeParams(std::move(params)), {x}, type);
  }
  // Gives every device each shards_-th element of every column.
  Values Spread(Values xs) {
    const int64_t s = shards_, q = block_ / shards_;
    for (ValueId& x : xs) {
      const DType t = b_.type(x)->dtype();
      x = Reshaped(x, TypeOf({s, q, s}, 0, t));
      x = Permuted(x, {2, 0, 1}, TypeOf({s, s, q}, 1, t));
      x = Conform(b_, x, TypeOf({s, s, q}, 0, t));
      x = Reshaped(x, ColumnsOf(t, block_));
    }
    return xs;
  }
  // The inverse.
  Values Gathered(Values xs) {
    const int64_t s = shards_, q = block_ / shards_;
    for (ValueId& x : xs) {
      const DType t = b_.type(x)->dtype();
      x = Reshaped(x, TypeOf({s, s, q}, 0, t));
      x = Conform(b_, x, TypeOf({s, s, q}, 1, t));
      x = Permuted(x, {1, 2, 0}, TypeOf({s, q, s}, 0, t));
      x = Reshaped(x, ColumnsOf(t, block_));
    }
    return xs;
  }

  // Each element is now less than half a column away from its place: sorts the ends of
  // neighbouring columns together.
  Values WithNeighbours(const Values& xs) {
    const int64_t half = block_ / 2;
    Values above, below;  // the last half of the column before, with the first half; and so on
    for (size_t i = 0; i < xs.size(); ++i) {
      const DType t = b_.type(xs[i])->dtype();
      const ValueId first = Half(xs[i], 0), last = Half(xs[i], half);
      above.push_back(Joined(Shifted(last, 1, EndOfOrder(t, false, params_.descending)), first));
      below.push_back(Joined(last, Shifted(first, -1, EndOfOrder(t, true, params_.descending))));
    }
    above = Sorted(std::move(above));
    below = Sorted(std::move(below));
    Values all;
    for (size_t i = 0; i < xs.size(); ++i)
      all.push_back(Joined(Half(above[i], half), Half(below[i], 0)));
    return all;
  }
  ValueId Half(ValueId x, int64_t begin) {
    return Make(kSlice, SliceAlong(b_.type(x)->shape(), dim_ + 1, begin, begin + block_ / 2), {x},
                ColumnsOf(b_.type(x)->dtype(), block_ / 2));
  }
  ValueId Joined(ValueId a, ValueId b) {
    return Make(kConcatenate, ir::MakeParams(DimParams{{static_cast<int64_t>(dim_) + 1}}), {a, b},
                ColumnsOf(b_.type(a)->dtype(), block_));
  }
  // Moves columns to the next device, or back.
  ValueId Shifted(ValueId x, int64_t by, ir::ParamsPtr fill) {
    const ir::Type* type = b_.type(x);
    return Make(kPad, PadAlong(type->shape().size(), dim_, by, -by),
                {x, Number(std::move(fill), type->dtype())}, type);
  }

  ir::Builder& b_;
  const SortParams& params_;
  const ir::Type* const from_;
  const size_t dim_;
  const int64_t size_;
  const sharding::AxisList axes_;
  const int64_t shards_, block_;
  int64_t keys_ = 1;
};

}  // namespace

std::vector<ValueId> SortOnShards(ir::Builder& b, const SortParams& params,
                                  absl::Span<const ValueId> operands) {
  return ColumnSort(b, params, b.type(operands[0])).Of({operands.begin(), operands.end()});
}

}  // namespace tessera::ops
