// Ranges through what repeats, moves and adds.
#include "spmd/blocks/index_bounds.h"

#include <algorithm>
#include <limits>

#include "base/at.h"
#include "ir/local_values.h"
#include "ops/ops.h"
#include "ops/params.h"

namespace tessera::spmd {
namespace {

using ir::Instruction;
using ir::ValueId;
using MaybeBounds = std::optional<IndexBounds>;

// Numbers that neither wrap around in a dtype nor in sums of two.
bool Fits(const IndexBounds& r, const ir::Type& type) {
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  int64_t least = r.least, most = r.most;
  for (size_t d = 0; d < r.strides.size(); ++d) {
    const int64_t size = std::max<int64_t>(type.shape()[d], 1);
    if (std::abs(r.strides[d]) > kMost / size) return false;
    (r.strides[d] < 0 ? least : most) += r.strides[d] * (size - 1);
  }
  return least >= -kMost && most <= kMost;
}

class Finder {
 public:
  Finder(const ir::Program& p, const ValueBounds& inputs) : p_(p), known_(p.values.size()) {
    for (size_t k = 0; k < inputs.size(); ++k) base::At(known_, p.inputs[k]) = inputs[k];
  }

  ValueBounds Run() {
    for (const Instruction& i : p_.instructions) {
      if (i.results.size() != 1) continue;
      const ir::Type* type = p_.type(i.results[0]);
      if (type->dtype() != i32 && type->dtype() != i64) continue;
      MaybeBounds bounds = BoundsOfResult(i);
      for (size_t d = 0; bounds && d < bounds->strides.size(); ++d)
        if (type->shape()[d] == 1) bounds->strides[d] = 0;
      if (bounds && Fits(*bounds, *type)) base::At(known_, i.results[0]) = std::move(bounds);
    }
    return std::move(known_);
  }

 private:
  const MaybeBounds& Operand(const Instruction& i, size_t k) const {
    return base::At(known_, i.operands[k]);
  }
  const base::Shape& shape(ValueId v) const { return p_.type(v)->shape(); }

  MaybeBounds BoundsOfResult(const Instruction& i) const {
    const ir::Lowering& lowering = *i.op->lowering;
    if (std::holds_alternative<ir::AsConstant>(lowering)) return Constant(i);
    if (const auto* iota = std::get_if<ir::AsIota>(&lowering)) return Iota(i, *iota);
    if (std::any_of(i.operands.begin(), i.operands.end(),
                    [&](ValueId v) { return !base::At(known_, v); }))
      return {};
    if (const auto* by_element = std::get_if<ir::AsElementwise>(&lowering))
      return ByElement(i, by_element->op);
    if (i.op == &ops::kReshape) return Reshaped(i);
    if (i.op == &ops::kBroadcastInDim) return Broadcast(i);
    if (i.op == &ops::kTranspose) return Transposed(i);
    return {};
  }

  MaybeBounds Constant(const Instruction& i) const {
    const uint64_t bits = ir::ConstantBits(i);
    const int64_t n = p_.type(i.results[0])->dtype() == i32
                          ? static_cast<int32_t>(static_cast<uint32_t>(bits))
                          : static_cast<int64_t>(bits);
    return IndexBounds{n, n, std::vector<int64_t>(shape(i.results[0]).size(), 0)};
  }

  // It may begin elsewhere on each device.
  MaybeBounds Iota(const Instruction& i, const ir::AsIota& iota) const {
    ir::AffineIndex index = iota.index(i.params.get(), ir::LocalTensorOf(p_, i.results[0]));
    IndexBounds bounds{.strides = std::move(index.strides)};
    if (!index.offsets.empty()) {
      const auto [least, most] = std::minmax_element(index.offsets.begin(), index.offsets.end());
      bounds.least = *least, bounds.most = *most;
    }
    return bounds;
  }

  // Operands' dims of size 1 are repeated.
  MaybeBounds ByElement(const Instruction& i, plan::ScalarOp op) const {
    if (op == plan::ScalarOp::kConvert) return Operand(i, 0);
    if (op != plan::ScalarOp::kAdd && op != plan::ScalarOp::kSub) return {};
    const IndexBounds &x = *Operand(i, 0), &y = *Operand(i, 1);
    const bool adds = op == plan::ScalarOp::kAdd;
    IndexBounds sum{.least = adds ? x.least + y.least : x.least - y.most,
                    .most = adds ? x.most + y.most : x.most - y.least,
                    .strides = std::vector<int64_t>(shape(i.results[0]).size(), 0)};
    for (size_t k = 0; k < 2; ++k)
      for (size_t d = 0; d < Operand(i, k)->strides.size(); ++d)
        if (shape(i.operands[k])[d] != 1)
          sum.strides[d] += (k == 0 || adds ? 1 : -1) * Operand(i, k)->strides[d];
    return sum;
  }

  // Dims may be cut into several, and those of size 1 come and go.
  MaybeBounds Reshaped(const Instruction& i) const {
    const base::Shape &from = shape(i.operands[0]), &to = shape(i.results[0]);
    const IndexBounds& x = *Operand(i, 0);
    IndexBounds bounds{x.least, x.most, std::vector<int64_t>(to.size(), 0)};
    size_t d = to.size();
    for (size_t e = from.size(); e-- > 0;) {
      if (from[e] == 1) continue;
      int64_t left = from[e], stride = x.strides[e];
      while (left > 1) {
        if (d == 0) return {};
        --d;
        if (to[d] == 0 || left % to[d] != 0) return {};
        bounds.strides[d] = stride;
        stride *= to[d];
        left /= to[d];
      }
    }
    return bounds;
  }

  MaybeBounds Broadcast(const Instruction& i) const {
    const IndexBounds& x = *Operand(i, 0);
    const auto& dims = ir::As<ops::BroadcastParams>(i.params.get()).dims;
    IndexBounds bounds{x.least, x.most, std::vector<int64_t>(shape(i.results[0]).size(), 0)};
    for (size_t d = 0; d < dims.size(); ++d)
      if (shape(i.operands[0])[d] != 1) base::At(bounds.strides, dims[d]) = x.strides[d];
    return bounds;
  }

  MaybeBounds Transposed(const Instruction& i) const {
    const IndexBounds& x = *Operand(i, 0);
    const auto& perm = ir::As<ops::TransposeParams>(i.params.get()).perm;
    IndexBounds bounds{x.least, x.most, {}};
    for (int64_t d : perm) bounds.strides.push_back(base::At(x.strides, d));
    return bounds;
  }

  const ir::Program& p_;
  ValueBounds known_;
};

}  // namespace

ValueBounds BoundsOf(const ir::Program& device, const ValueBounds& inputs) {
  return Finder(device, inputs).Run();
}

std::optional<IndexBounds> BoundsOfSlices(const std::optional<IndexBounds>& whole, int64_t begin,
                                          int64_t end) {
  if (!whole) return {};
  const int64_t first = whole->strides[0] * begin, last = whole->strides[0] * (end - 1);
  return IndexBounds{whole->least + std::min(first, last), whole->most + std::max(first, last),
                     std::vector<int64_t>(whole->strides.begin() + 1, whole->strides.end())};
}

std::optional<bool> Compared(plan::ScalarOp op, const IndexBounds& x, const IndexBounds& y,
                             const base::Shape& shape, int dim, int64_t begin, int64_t end) {
  // The bounds of x - y.
  int64_t least = x.least - y.most, most = x.most - y.least;
  for (size_t d = 0; d < shape.size(); ++d) {
    const int64_t stride =
        (d < x.strides.size() ? x.strides[d] : 0) - (d < y.strides.size() ? y.strides[d] : 0);
    const bool is_cut = static_cast<int>(d) == dim;
    const int64_t first = stride * (is_cut ? begin : 0),
                  last = stride * ((is_cut ? end : shape[d]) - 1);
    least += std::min(first, last), most += std::max(first, last);
  }
  const auto known = [](bool holds, bool fails) {
    return holds ? std::optional(true) : fails ? std::optional(false) : std::nullopt;
  };
  switch (op) {
    case plan::ScalarOp::kLt:
      return known(most < 0, least >= 0);
    case plan::ScalarOp::kLe:
      return known(most <= 0, least > 0);
    case plan::ScalarOp::kGt:
      return known(least > 0, most <= 0);
    case plan::ScalarOp::kGe:
      return known(least >= 0, most < 0);
    case plan::ScalarOp::kEq:
      return known(least == 0 && most == 0, least > 0 || most < 0);
    case plan::ScalarOp::kNe:
      return known(least > 0 || most < 0, least == 0 && most == 0);
    default:
      return {};
  }
}

}  // namespace tessera::spmd
