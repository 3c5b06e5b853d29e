// Computes bounds of literals and iotas, and follows them through moves of elements and sums.
#include "spmd/blocks/index_bounds.h"

#include <absl/algorithm/container.h>

#include <algorithm>
#include <limits>

#include "ir/local_values.h"
#include "plan/scalar_op.h"
#include "spmd/blocks/factors.h"

namespace tessera::spmd {
namespace {

using ir::Instruction;
using ir::ValueId;

// Whether all elements within the bounds fit into 32 bits. Sums of two of them do not overflow.
bool AreSmall(const IndexBounds& bounds, const ir::Type& type) {
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  int64_t least = bounds.least, most = bounds.most;
  for (size_t d = 0; d < bounds.strides.size(); ++d) {
    const int64_t size = std::max<int64_t>(type.shape()[d], 1);
    if (std::abs(bounds.strides[d]) > kMost / size) return false;
    (bounds.strides[d] < 0 ? least : most) += bounds.strides[d] * (size - 1);
  }
  return least >= -kMost && most <= kMost;
}

bool IsInteger(const ir::Type& type) { return type.dtype() == i32 || type.dtype() == i64; }

// The first number may differ from device to device.
IndexBounds BoundsOfIota(const ir::Program& p, const Instruction& i, const ir::AsIota& iota) {
  ir::AffineIndex index = iota.index(i.params.get(), ir::LocalTensorOf(p, i.results[0]));
  IndexBounds bounds{.strides = std::move(index.strides)};
  if (!index.offsets.empty()) {
    const auto [least, most] = absl::c_minmax_element(index.offsets);
    bounds.least = *least, bounds.most = *most;
  }
  return bounds;
}

class BoundsVisitor {
 public:
  // `known`: bounds on the inputs and on iotas.
  BoundsVisitor(const ir::Program& p, ValueBounds known) : p_(p), known_(std::move(known)) {}

  ValueBounds Run() {
    for (const Instruction& i : p_.instructions) {
      if (i.results.size() != 1) continue;
      const ir::Type* type = p_.type(i.results[0]);
      if (!IsInteger(*type)) continue;
      MaybeBounds bounds = BoundsOfResult(i);
      for (size_t d = 0; bounds && d < bounds->strides.size(); ++d)
        if (type->shape()[d] == 1) bounds->strides[d] = 0;
      known_[i.results[0]] = bounds && AreSmall(*bounds, *type) ? std::move(bounds) : MaybeBounds();
    }
    return std::move(known_);
  }

 private:
  const IndexBounds& OfOperand(const Instruction& i, size_t k) const {
    return *known_[i.operands[k]];
  }
  const base::Shape& shape(ValueId v) const { return p_.type(v)->shape(); }

  MaybeBounds BoundsOfResult(const Instruction& i) const {
    const ir::Lowering& lowering = *i.op->lowering;
    if (std::holds_alternative<ir::AsConstant>(lowering)) return OfConstant(i);
    if (std::holds_alternative<ir::AsIota>(lowering)) return known_[i.results[0]];
    if (i.operands.empty() || absl::c_any_of(i.operands, [&](ValueId v) { return !known_[v]; }))
      return {};
    if (const auto* elementwise = std::get_if<ir::AsElementwise>(&lowering))
      return OfElementwise(i, elementwise->op);
    if (std::holds_alternative<ir::AsView>(lowering)) return OfView(i);
    return OfMovedElements(i);
  }

  MaybeBounds OfConstant(const Instruction& i) const {
    const uint64_t bits = ir::ConstantBits(i).low;
    const int64_t n = p_.type(i.results[0])->dtype() == i32
                          ? static_cast<int32_t>(static_cast<uint32_t>(bits))
                          : static_cast<int64_t>(bits);
    return IndexBounds{n, n, std::vector<int64_t>(shape(i.results[0]).size(), 0)};
  }

  // Dims of size 1 of the operands are broadcast.
  MaybeBounds OfElementwise(const Instruction& i, plan::ScalarOp op) const {
    if (op == plan::ScalarOp::kConvert) return OfOperand(i, 0);
    if (op != plan::ScalarOp::kAdd && op != plan::ScalarOp::kSub) return {};
    const IndexBounds &x = OfOperand(i, 0), &y = OfOperand(i, 1);
    const bool adds = op == plan::ScalarOp::kAdd;
    IndexBounds sum{.least = adds ? x.least + y.least : x.least - y.most,
                    .most = adds ? x.most + y.most : x.most - y.least,
                    .strides = std::vector<int64_t>(shape(i.results[0]).size(), 0)};
    for (size_t k = 0; k < 2; ++k)
      for (size_t d = 0; d < OfOperand(i, k).strides.size(); ++d)
        if (shape(i.operands[k])[d] != 1)
          sum.strides[d] += (k == 0 || adds ? 1 : -1) * OfOperand(i, k).strides[d];
    return sum;
  }

  // Follows a view that splits dims, or adds and drops dims of size 1.
  MaybeBounds OfView(const Instruction& i) const {
    if (p_.type(i.operands[0])->dtype() != p_.type(i.results[0])->dtype()) return {};
    const base::Shape &from = shape(i.operands[0]), &to = shape(i.results[0]);
    const IndexBounds& x = OfOperand(i, 0);
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

  // Follows ops that permute dims or repeat elements along new dims, by their factors.
  MaybeBounds OfMovedElements(const Instruction& i) const {
    if (i.operands.size() != 1 || !std::holds_alternative<ir::DimMapFn>(*i.op->dims)) return {};
    const sharding::DimMap map = DimMapOf(p_, i);
    if (!OnlyMovesElements(map) || !map.accesses.empty()) return {};
    const base::Shape &from = shape(i.operands[0]), &to = shape(i.results[0]);
    const IndexBounds& x = OfOperand(i, 0);
    IndexBounds bounds{x.least, x.most, std::vector<int64_t>(to.size(), 0)};
    for (size_t d = 0; d < from.size(); ++d) {
      if (from[d] == 1) continue;
      const int32_t factor = FactorOf(map.operands[0], static_cast<int>(d));
      const int at = factor < 0 ? kNoDim : DimOf(map.results[0], factor);
      if (at == kNoDim || base::At(map.factors, factor).kind != sharding::FactorKind::kPass ||
          base::At(to, at) != from[d])
        return {};
      base::At(bounds.strides, at) = x.strides[d];
    }
    return bounds;
  }

  const ir::Program& p_;
  ValueBounds known_;
};

}  // namespace

BoundsFinder::BoundsFinder(const ir::Program& device)
    : device_(device), iotas_(device.values.size()) {
  for (const Instruction& i : device.instructions)
    if (const auto* iota = std::get_if<ir::AsIota>(&*i.op->lowering);
        iota && IsInteger(*device.type(i.results[0])))
      iotas_[i.results[0]] = BoundsOfIota(device, i, *iota);
}

ValueBounds BoundsFinder::Find(const std::vector<MaybeBounds>& inputs) const {
  ValueBounds known = iotas_;
  for (size_t k = 0; k < inputs.size(); ++k) known[device_.inputs[k]] = inputs[k];
  return BoundsVisitor(device_, std::move(known)).Run();
}

MaybeBounds BoundsOfSlices(const MaybeBounds& whole, int64_t begin, int64_t end) {
  if (!whole) return {};
  const int64_t first = whole->strides[0] * begin, last = whole->strides[0] * (end - 1);
  return IndexBounds{whole->least + std::min(first, last), whole->most + std::max(first, last),
                     std::vector<int64_t>(whole->strides.begin() + 1, whole->strides.end())};
}

std::optional<bool> CompareBounds(plan::ScalarOp op, const IndexBounds& x, const IndexBounds& y,
                                  const base::Shape& shape, int dim, int64_t begin, int64_t end) {
  // Bounds on x - y.
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
