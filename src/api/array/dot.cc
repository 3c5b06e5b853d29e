// NumPy's products, composed of dot_general.
#include <absl/algorithm/container.h>
#include <fmt/format.h>

#include <algorithm>

#include "api/array/products.h"
#include "api/core/edits.h"
#include "base/at.h"
#include "base/dtype.h"

namespace tessera {

using namespace api;

namespace {

// Returns the operands in one dtype. Arrays of storage dtypes that do not promote stay as they are:
// their products are computed in a wider dtype.
std::vector<Array> TwoOperands(const Operand& a, const Operand& b, Call call) {
  if (!a.scalar() && !b.scalar()) {
    const Array x = ToArray(a, call), y = ToArray(b, call);
    const DType s = TypeOf(x)->dtype(), t = TypeOf(y)->dtype();
    if (!base::Promotes(s, t) && (s.is_storage() || t.is_storage())) return {x, y};
  }
  DType t = PromotedDType({a, b}, call);
  auto convert = [&](const Operand& x) {
    return x.scalar() ? StrongScalar(*x.scalar(), t, call) : Convert(ToArray(x, call), t, call);
  };
  return {convert(a), convert(b)};
}

std::vector<int64_t> Inverse(const std::vector<int64_t>& perm) {
  std::vector<int64_t> inverse(perm.size());
  for (size_t d = 0; d < perm.size(); ++d) base::At(inverse, perm[d]) = static_cast<int64_t>(d);
  return inverse;
}

// The batch dims of a matmul, aligned at the right. A dim that has size 1 in only one operand is
// dropped from that operand.
struct MatmulDims {
  int64_t count = 0;
  std::vector<std::pair<int64_t, int64_t>> shared;  // dims of x and y
  std::vector<int64_t> from_both, from_x, from_y;   // dims of the result
  std::vector<int64_t> drop_x, drop_y;
};

MatmulDims AlignBatch(const Array& x, const Array& y, int64_t bx, int64_t by, Call call) {
  MatmulDims out;
  out.count = std::max(bx, by);
  for (int64_t d = 0; d < out.count; ++d) {
    int64_t dx = d - (out.count - bx), dy = d - (out.count - by);
    int64_t nx = dx >= 0 ? base::At(ShapeOf(x), dx) : 0,
            ny = dy >= 0 ? base::At(ShapeOf(y), dy) : 0;
    if (dx >= 0 && dy >= 0 && nx == ny) {
      out.shared.emplace_back(dx, dy);
      out.from_both.push_back(d);
    } else if (dx >= 0 && (dy < 0 || ny == 1)) {
      out.from_x.push_back(d);
      if (dy >= 0) out.drop_y.push_back(dy);
    } else if (dy >= 0 && (dx < 0 || nx == 1)) {
      out.from_y.push_back(d);
      if (dx >= 0) out.drop_x.push_back(dx);
    } else {
      FailShape(call, 16,
                fmt::format("batch dims of {} and {} do not match", TypeOf(x)->text(),
                            TypeOf(y)->text()));
    }
  }
  return out;
}

// Removes dims of size 1, and renumbers the dims in `contract` and `batch`.
void DropDims(Array& m, const std::vector<int64_t>& gone, std::vector<int64_t>& contract,
              std::vector<int64_t>& batch, Call call) {
  if (gone.empty()) return;
  base::Shape shape;
  for (int64_t d = 0; d < Rank(m); ++d)
    if (!absl::c_count(gone, d)) shape.push_back(base::At(ShapeOf(m), d));
  auto shift = [&](int64_t& d) { d -= absl::c_count_if(gone, [&](int64_t g) { return g < d; }); };
  for (int64_t& d : contract) shift(d);
  for (int64_t& d : batch) shift(d);
  m = Reshape(m, shape, call);
}

}  // namespace

Array dot_general(Operand a, Operand b, DotDims dims, DotOptions options, Loc loc) {
  Call call{"dot_general", loc};
  Array x = ToArray(a, call), y = ToArray(b, call);
  auto normal = [&](std::vector<int64_t>& list, const Array& of) {
    for (int64_t& d : list) d = NormalDim(d, Rank(of), call);
  };
  normal(dims.lhs_contract, x);
  normal(dims.lhs_batch, x);
  normal(dims.rhs_contract, y);
  normal(dims.rhs_batch, y);
  return Dot(x, y, dims, options, call);
}

namespace {

Array Matmul(std::vector<Array> xs, DotOptions options, Call call) {
  Array &x = xs[0], &y = xs[1];
  if (Rank(x) == 0 || Rank(y) == 0) FailShape(call, 17, "a scalar is not a matrix: write a * b");
  bool vector_x = Rank(x) == 1, vector_y = Rank(y) == 1;
  int64_t kx = Rank(x) - 1, ky = vector_y ? 0 : Rank(y) - 2;
  if (base::At(ShapeOf(x), kx) != base::At(ShapeOf(y), ky))
    FailShape(call, 18,
              fmt::format("{} and {} cannot be multiplied: the inner sizes {} and {} differ",
                          TypeOf(x)->text(), TypeOf(y)->text(), base::At(ShapeOf(x), kx),
                          base::At(ShapeOf(y), ky)));
  DotDims dims{{kx}, {ky}, {}, {}};
  MatmulDims batch = AlignBatch(x, y, vector_x ? 0 : Rank(x) - 2, vector_y ? 0 : Rank(y) - 2, call);
  for (auto [dx, dy] : batch.shared) {
    dims.lhs_batch.push_back(dx);
    dims.rhs_batch.push_back(dy);
  }
  DropDims(x, batch.drop_x, dims.lhs_contract, dims.lhs_batch, call);
  DropDims(y, batch.drop_y, dims.rhs_contract, dims.rhs_batch, call);
  // dot_general gives [both..., x only..., m, y only..., n]; matmul wants [batch..., m, n].
  std::vector<int64_t> order = batch.from_both;
  order.insert(order.end(), batch.from_x.begin(), batch.from_x.end());
  if (!vector_x) order.push_back(batch.count);
  order.insert(order.end(), batch.from_y.begin(), batch.from_y.end());
  if (!vector_y) order.push_back(batch.count + (vector_x ? 0 : 1));
  options.out_sharding = Permuted(options.out_sharding, order);
  Array z = Dot(x, y, dims, options, call);
  return IsIota(order) ? z : transpose(z, Inverse(order), call.loc);
}

}  // namespace

Array matmul(Operand a, Operand b, DotOptions options, Loc loc) {
  const Call call{"matmul", loc};
  return AsOne(call, {a, b, options}, [&](const Operand& lhs, const Operand& rhs) {
    return Matmul(TwoOperands(lhs, rhs, call), options, call);
  });
}

Array dot(Operand a, Operand b, DotOptions options, Loc loc) {
  Call call{"dot", loc};
  std::vector<Array> xs = TwoOperands(a, b, call);
  if (Rank(xs[0]) == 0 || Rank(xs[1]) == 0) return Dot(xs[0], xs[1], {}, options, call);
  int64_t ky = std::max<int64_t>(Rank(xs[1]) - 2, 0);
  return Dot(xs[0], xs[1], {.lhs_contract = {Rank(xs[0]) - 1}, .rhs_contract = {ky}}, options,
             call);
}

Array tensordot(Operand a, Operand b, DotDims dims, DotOptions options, Loc loc) {
  Call call{"tensordot", loc};
  return AsOne(call, {a, b, dims, options}, [&](const Operand& lhs, const Operand& rhs) {
    std::vector<Array> xs = TwoOperands(lhs, rhs, call);
    return dot_general(xs[0], xs[1], dims, options, loc);
  });
}

Array tensordot(Operand a, Operand b, int dims, DotOptions options, Loc loc) {
  Call call{"tensordot", loc};
  return AsOne(call, {a, b, dims, options}, [&](const Operand& lhs, const Operand& rhs) {
    std::vector<Array> xs = TwoOperands(lhs, rhs, call);
    if (dims < 0 || dims > Rank(xs[0]) || dims > Rank(xs[1]))
      FailShape(call, 12, fmt::format("{} dims cannot be contracted", dims));
    DotDims d;
    for (int64_t k = 0; k < dims; ++k) {
      d.lhs_contract.push_back(Rank(xs[0]) - dims + k);
      d.rhs_contract.push_back(k);
    }
    return Dot(xs[0], xs[1], d, options, call);
  });
}

}  // namespace tessera
