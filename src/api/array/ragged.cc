// Products of ragged groups of rows, composed of ops that take batch dims, rows and columns.
#include "tessera/ragged.h"

#include <absl/algorithm/container.h>
#include <fmt/format.h>

#include "api/array/products.h"
#include "api/core/edits.h"
#include "api/core/option_fields.h"
#include "api/core/reshard_to.h"
#include "base/at.h"
#include "base/shape.h"
#include "ops/params.h"

namespace tessera {

using namespace api;

namespace {

using DimList = std::vector<int64_t>;

// Applies an op of groups of rows. As in dot_general, dtypes may differ.
Array ApplyRagged(const ir::OpDef& op, const std::vector<Array>& xs, int rank,
                  const DotOptions& options, Call call) {
  const DType a = TypeOf(xs[0])->dtype(), b = TypeOf(xs[1])->dtype();
  const ir::ShapeAndDType wanted{
      {}, options.dtype.is_default() && a != b ? Promoted(a, b, call) : options.dtype};
  return Run(op, nullptr, xs, call,
             {.wanted = wanted.dtype.is_default() ? nullptr : &wanted,
              .out_sharding = options.out_sharding,
              .rank = rank});
}

DimList Without(int64_t rank, const DimList& a, const DimList& b) {
  DimList others;
  for (int64_t d = 0; d < rank; ++d)
    if (!absl::c_linear_search(a, d) && !absl::c_linear_search(b, d)) others.push_back(d);
  return others;
}
DimList Joined(std::initializer_list<DimList> lists) {
  DimList all;
  for (const DimList& list : lists) all.insert(all.end(), list.begin(), list.end());
  return all;
}
base::Shape SizesOf(const Array& x, const DimList& dims) {
  base::Shape sizes;
  for (int64_t d : dims) sizes.push_back(base::At(ShapeOf(x), d));
  return sizes;
}
int64_t ElementsIn(const Array& x, const DimList& dims) { return base::Elements(SizesOf(x, dims)); }

Array Ordered(const Array& x, const DimList& dims, Call call) {
  return IsIota(dims) ? x : transpose(x, dims, call.loc);
}

// A general ragged product: its dims by their roles, and its operands.
struct RaggedProduct {
  Call call;
  Array lhs, rhs, sizes;
  RaggedDotDims dims;
  DimList lhs_free = {}, rhs_free = {};
  // The dims of lhs of the ragged dim's kind, in order: before it, and after it.
  DimList before = {}, after = {};
  enum { kFree, kContracting, kBatch } kind = kFree;

  void Sort();
  void CheckSizes();
  Array Free(const DotOptions& options) const;
  Array Contracting(const DotOptions& options) const;
  // The sizes of each batch element, for rows that `after` divides: [batch..., before..., g].
  Array RowSizes() const;
};

// C12, C17: refuses dims that do not exist, or have not exactly one role.
void RaggedProduct::Sort() {
  DotDims& dot = dims.dot;
  for (auto [list, x] : {std::pair(&dot.lhs_contract, &lhs),
                         {&dot.lhs_batch, &lhs},
                         {&dot.rhs_contract, &rhs},
                         {&dot.rhs_batch, &rhs}})
    for (int64_t& d : *list) d = NormalDim(d, Rank(*x), call);
  const auto check_pairs = [&](const DimList& a, const DimList& b, const char* what) {
    if (a.size() != b.size() || SizesOf(lhs, a) != SizesOf(rhs, b))
      FailShape(call, 17,
                fmt::format("{} dims of lhs have sizes [{}], and those of rhs [{}]", what,
                            fmt::join(SizesOf(lhs, a), ","), fmt::join(SizesOf(rhs, b), ",")));
  };
  check_pairs(dot.lhs_contract, dot.rhs_contract, "contracting");
  check_pairs(dot.lhs_batch, dot.rhs_batch, "batch");
  const int64_t ragged = dims.lhs_ragged = NormalDim(dims.lhs_ragged, Rank(lhs), call);
  lhs_free = Without(Rank(lhs), dot.lhs_contract, dot.lhs_batch);
  rhs_free = Without(Rank(rhs), dot.rhs_contract, dot.rhs_batch);
  const bool contracts = absl::c_linear_search(dot.lhs_contract, ragged);
  kind = contracts ? kContracting : absl::c_linear_search(dot.lhs_batch, ragged) ? kBatch : kFree;
  const DimList& own = contracts ? dot.lhs_contract : kind == kBatch ? dot.lhs_batch : lhs_free;
  const auto at = absl::c_find(own, ragged);
  before.assign(own.begin(), at), after.assign(at + 1, own.end());
  if (dims.rhs_group.has_value() != (kind == kFree))
    FailShape(call, 17,
              kind == kFree ? "the ragged dim is a free dim of lhs, so rhs_group must name the dim "
                              "of the groups in rhs"
                            : "only a ragged dim that is a free dim of lhs has an rhs_group");
  if (kind != kFree) return;
  const int64_t group = *(dims.rhs_group = NormalDim(*dims.rhs_group, Rank(rhs), call));
  const auto in_free = absl::c_find(rhs_free, group);
  if (in_free == rhs_free.end())
    FailShape(call, 17,
              fmt::format("dim {} of rhs has another role: it cannot be rhs_group", group));
  rhs_free.erase(in_free);
}

// C15, C18: group sizes are ints [g], or one list for each index of the dims of lhs before.
void RaggedProduct::CheckSizes() {
  if (!TypeOf(sizes)->dtype().is_integer())
    FailDType(call, 15,
              fmt::format("group sizes must be integers, not {}", TypeOf(sizes)->dtype().name()));
  base::Shape shape = SizesOf(lhs, kind == kBatch ? before : Joined({dims.dot.lhs_batch, before}));
  if (Rank(sizes) == 0) FailShape(call, 18, "group_sizes must have a dim of groups");
  shape.push_back(ShapeOf(sizes).back());
  if (Rank(sizes) == 1) sizes = BroadcastTo(sizes, shape, call);
  if (ShapeOf(sizes) != shape)
    FailShape(call, 18,
              fmt::format("group_sizes have shape {}; they must have shape {} or [{}]",
                          ir::FieldText(ShapeOf(sizes)), ir::FieldText(shape), shape.back()));
}

Array RaggedProduct::RowSizes() const {
  const int64_t rows = ElementsIn(lhs, after);
  if (rows == 1) return sizes;
  return mul(Convert(sizes, i64, call), StrongScalar(rows, i64, call), {}, call.loc);
}

// [batch..., before..., ragged, after..., k] x [batch..., before..., g, k, n].
Array RaggedProduct::Free(const DotOptions& options) const {
  const DotDims& dot = dims.dot;
  const int64_t group = *dims.rhs_group, groups = base::At(ShapeOf(rhs), group);
  const int64_t k = ElementsIn(lhs, dot.lhs_contract), n = ElementsIn(rhs, rhs_free);
  const base::Shape batch = SizesOf(lhs, dot.lhs_batch);
  const base::Shape elements = SizesOf(lhs, Joined({dot.lhs_batch, before}));
  const int64_t rows = base::At(ShapeOf(lhs), dims.lhs_ragged) * ElementsIn(lhs, after);
  const auto with = [](base::Shape shape, std::initializer_list<int64_t> last) {
    shape.insert(shape.end(), last);
    return shape;
  };
  const Array x = Reshape(Ordered(lhs, Joined({dot.lhs_batch, lhs_free, dot.lhs_contract}), call),
                          with(elements, {rows, k}), call);
  Array y =
      Reshape(Ordered(rhs, Joined({dot.rhs_batch, {group}, dot.rhs_contract, rhs_free}), call),
              with(batch, {groups, k, n}), call);
  if (!before.empty()) {
    y = Reshape(y, with(with(batch, {}), {1, groups * k, n}), call);
    base::Shape repeated = with(batch, {ElementsIn(lhs, before), groups * k, n});
    y = Reshape(BroadcastTo(y, repeated, call), with(elements, {groups, k, n}), call);
  }
  const base::Shape result = Joined({batch, SizesOf(lhs, lhs_free), SizesOf(rhs, rhs_free)});
  const bool direct = result == with(elements, {rows, n});
  const Array z =
      ApplyRagged(ops::kRaggedDot, {x, y, RowSizes()}, static_cast<int>(elements.size()) + 2,
                  direct ? options : DotOptions{.dtype = options.dtype}, call);
  if (direct) return z;
  const Array whole = Reshape(z, result, call);
  return options.out_sharding ? ReshardTo(whole, *options.out_sharding, call) : whole;
}

// [batch..., before..., ragged, after..., m], [batch..., before..., ragged, after..., n].
Array RaggedProduct::Contracting(const DotOptions& options) const {
  const DotDims& dot = dims.dot;
  const base::Shape batch = SizesOf(lhs, dot.lhs_batch);
  const int64_t m = ElementsIn(lhs, lhs_free), n = ElementsIn(rhs, rhs_free);
  const int64_t rows = base::At(ShapeOf(lhs), dims.lhs_ragged) * ElementsIn(lhs, after);
  base::Shape of_lhs = SizesOf(lhs, Joined({dot.lhs_batch, before})), of_rhs = of_lhs;
  of_lhs.insert(of_lhs.end(), {rows, m}), of_rhs.insert(of_rhs.end(), {rows, n});
  const Array x = Reshape(Ordered(lhs, Joined({dot.lhs_batch, dot.lhs_contract, lhs_free}), call),
                          of_lhs, call);
  const Array y = Reshape(Ordered(rhs, Joined({dot.rhs_batch, dot.rhs_contract, rhs_free}), call),
                          of_rhs, call);
  const base::Shape result =
      Joined({{ShapeOf(sizes).back()}, batch, SizesOf(lhs, lhs_free), SizesOf(rhs, rhs_free)});
  const bool direct =
      batch.empty() && before.empty() && result == base::Shape{ShapeOf(sizes).back(), m, n};
  Array z =
      ApplyRagged(ops::kRaggedContract, {x, y, RowSizes()}, static_cast<int>(of_lhs.size()) + 1,
                  direct ? options : DotOptions{.dtype = options.dtype}, call);
  if (direct) return z;
  const auto b = static_cast<int64_t>(batch.size());
  DimList summed;
  for (size_t d = 0; d < before.size(); ++d) summed.push_back(b + static_cast<int64_t>(d));
  if (!summed.empty()) z = reduce_sum(z, Dims(summed), {}, call.loc);
  DimList front{b};
  for (int64_t d = 0; d < Rank(z); ++d)
    if (d != b) front.push_back(d);
  const Array whole = Reshape(Ordered(z, front, call), result, call);
  return options.out_sharding ? ReshardTo(whole, *options.out_sharding, call) : whole;
}

Array RaggedDotGeneral(const Operands& xs, const RaggedDotDims& dims, const DotOptions& options,
                       Call call) {
  RaggedProduct p{.call = call,
                  .lhs = ToArray(xs[0], call),
                  .rhs = ToArray(xs[1], call),
                  .sizes = ToArray(xs[2], call),
                  .dims = dims};
  p.Sort();
  p.CheckSizes();
  if (p.kind == RaggedProduct::kFree) return p.Free(options);
  if (p.kind == RaggedProduct::kContracting) return p.Contracting(options);
  return Dot(p.lhs, p.rhs, p.dims.dot, options, call);
}

}  // namespace

Array ragged_dot(Operand lhs, Operand rhs, Operand group_sizes, DotOptions options, Loc loc) {
  const Call call{"ragged_dot", loc};
  const Array x = ToArray(lhs, call), y = ToArray(rhs, call), sizes = ToArray(group_sizes, call);
  if (Rank(x) != 2 || Rank(y) != 3 || Rank(sizes) != 1)
    FailShape(
        call, 17,
        fmt::format("it takes lhs [m, k], rhs [g, k, n] and group_sizes [g], not {}, {} and {}",
                    TypeOf(x)->text(), TypeOf(y)->text(), TypeOf(sizes)->text()),
        {"vmap adds batch dims, and ragged_dot_general takes any dims"});
  return ApplyRagged(ops::kRaggedDot, {x, y, sizes}, 2, options, call);
}

static std::string Code(const RaggedDotDims& v) {
  return OptionFields()
      .Add("dot", std::optional(v.dot))
      .Add("lhs_ragged", v.lhs_ragged, int64_t{0})
      .Add("rhs_group", v.rhs_group)
      .code();
}

Array ragged_dot_general(Operand lhs, Operand rhs, Operand group_sizes, RaggedDotDims dims,
                         DotOptions options, Loc loc) {
  const Call call{"ragged_dot_general", loc};
  return AsOne(call, {{"lhs", lhs}, {"rhs", rhs}, {"group_sizes", group_sizes}, dims, options},
               [&](const Operands& xs) { return RaggedDotGeneral(xs, dims, options, call); });
}

}  // namespace tessera
