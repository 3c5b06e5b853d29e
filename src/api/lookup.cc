// Gather, scatter, and the lookups of NumPy that are made of them.
#include "api/lookup.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/at.h"
#include "base/error.h"
#include "ops/reference_values.h"
#include "tessera/lookup.h"

namespace tessera {
namespace api {

namespace {

// What an out_sharding says nothing of is summed first, and is reduced no more.
bool SumsFirst(const std::optional<PartitionSpec>& out) {
  return out && out->unreduced_axes().empty() && out->reduced_axes().empty();
}

// But over an axis along which the slices are to lie, each device looks up its own in what is
// reduced.
Array SummedTable(const Array& x, const PartitionSpec& out, Call call) {
  const sharding::Resolved wanted = sharding::Resolve(out, MeshInScope({x}), out.rank());
  sharding::TensorSharding s = TypeOf(x)->sharding();
  if (!s.unreduced.empty() || wanted.problem) return Plain(x, call);
  sharding::AxisList kept;
  for (sharding::AxisPart a : s.reduced)
    for (const sharding::DimAxes& d : wanted.sharding.dims)
      if (sharding::OverlapsAny(d.axes, a)) kept.push_back(a);
  if (kept == s.reduced) return x;
  s.reduced = kept;
  return Moved(x, std::move(s), call);
}

}  // namespace

Array FromEnd(const Array& indices, int64_t size, Call call) {
  DType t = TypeOf(indices)->dtype();
  if (!t.is_integer())
    FailDType(call, 15, fmt::format("indices must be integers, not {}", t.name()));
  if (!t.is_signed()) return indices;
  DType wide = t.size() < 4 ? i32 : t;  // the size must fit
  Array i = Convert(indices, wide, call);
  Array zero = ScalarOf(0, wide, false, call);
  return where(lt(i, zero, {}, call.loc), add(i, ScalarOf(size, wide, false, call), {}, call.loc),
               i, {}, call.loc);
}

Array AsVectors(const Array& indices, Call call) {
  base::Shape shape = TypeOf(indices)->shape();
  shape.push_back(1);
  return Reshape(indices, shape, call);
}

uint64_t FillBits(const std::optional<Scalar>& value, DType dtype, Call call) {
  if (value) return ScalarBits(*value, dtype, call);
  ir::HostTensor element(dtype, {1});
  if (dtype.is_floating())
    element.SetFloat(0, std::numeric_limits<double>::quiet_NaN());
  else
    element.SetInt(0, dtype.is_signed() ? ops::reference::LowestInt(dtype)
                                        : ops::reference::HighestInt(dtype));
  return ops::reference::BitsAt(element, 0);
}

Array Gather(const Array& x, const Array& indices, ops::GatherParams params,
             const base::Shape& result, const std::optional<PartitionSpec>& out, Call call) {
  DType dtype = TypeOf(x)->dtype();
  params.fill.dtype = dtype;
  if (params.mode != LookupMode::kFill) params.fill.bits = 0;  // one program, one text
  ShapeAndDType wanted{result, dtype};
  std::vector<Array> operands = {x, indices};
  if (SumsFirst(out)) operands = {SummedTable(x, *out, call), Plain(indices, call)};
  return Run(ops::kGather, ir::MakeParams(std::move(params)), operands, call,
             {.wanted = &wanted, .out_sharding = out, .rank = static_cast<int>(result.size())});
}

Array Scatter(const ir::OpDef& op, const Array& x, const Array& indices, const Array& updates,
              ops::ScatterParams params, const std::optional<PartitionSpec>& out, Call call) {
  std::vector<Array> operands = {x, indices, updates};
  if (SumsFirst(out))
    for (Array& a : operands) a = Plain(a, call);
  return Run(op, ir::MakeParams(std::move(params)), operands, call,
             {.out_sharding = out, .rank = static_cast<int>(TypeOf(x)->rank())});
}

}  // namespace api

using frontend::Call;

namespace {

const base::Shape& ShapeOf(const Array& x) { return frontend::TypeOf(x)->shape(); }

// The shape of a gather's result. C17, C18: there is a slice size per dim; those left out are 1.
base::Shape ResultShape(const GatherDims& dims, const base::Shape& x, const base::Shape& indices,
                        const base::Shape& sizes, Call call) {
  if (sizes.size() != x.size())
    frontend::FailShape(call, 17,
                        fmt::format("slice_sizes has {} entr{}, but the array has rank {}",
                                    sizes.size(), sizes.size() == 1 ? "y" : "ies", x.size()));
  auto has = [](const std::vector<int64_t>& list, size_t d) {
    return std::find(list.begin(), list.end(), static_cast<int64_t>(d)) != list.end();
  };
  base::Shape windows, result;
  for (size_t d = 0; d < x.size(); ++d) {
    bool left_out = has(dims.collapsed, d) || has(dims.operand_batch, d);
    if (!left_out) windows.push_back(sizes[d]);
    if (left_out && sizes[d] != 1)
      frontend::FailShape(
          call, 18,
          fmt::format("dim {} is collapsed or a batch dim, so its slice size must be 1, not {}", d,
                      sizes[d]));
  }
  size_t window = 0, query = 0;
  while (window < windows.size() || query + 1 < indices.size()) {
    bool along = has(dims.offset, result.size());
    if (along ? window == windows.size() : query + 1 >= indices.size())
      frontend::FailShape(
          call, 17,
          fmt::format(".offset {} does not fit slices of {}", ir::FieldText(dims.offset),
                      base::CountText(windows.size(), "dim")));
    result.push_back(along ? windows[window++] : indices[query++]);
  }
  return result;
}

Array RunScatter(const ir::OpDef& op, const char* name, const Operand& x, const Operand& indices,
                 const Operand& updates, ScatterDims& dims, ScatterOptions& options, Loc loc) {
  Call call{name, loc};
  Array a = frontend::ToArray(x, call), i = frontend::ToArray(indices, call);
  Array u = updates.scalar()
                ? frontend::ScalarOf(*updates.scalar(), frontend::TypeOf(a)->dtype(), false, call)
                : frontend::ToArray(updates, call);
  ops::ScatterParams p;
  p.windows = std::move(dims.window);
  p.dropped = std::move(dims.inserted);
  p.starts = std::move(dims.start);
  p.batch = {std::move(dims.operand_batch), std::move(dims.indices_batch)};
  p.mode = options.mode;
  p.sorted = options.indices_are_sorted;
  p.unique = options.unique_indices;
  return api::Scatter(op, a, i, u, std::move(p), options.out_sharding, call);
}

}  // namespace

Array gather(Operand x, Operand indices, GatherDims dims, Shape slice_sizes, GatherOptions options,
             Loc loc) {
  Call call{"gather", loc};
  Array a = frontend::ToArray(x, call), i = frontend::ToArray(indices, call);
  base::Shape result = ResultShape(dims, ShapeOf(a), ShapeOf(i), slice_sizes.dims(), call);
  ops::GatherParams p;
  p.windows = std::move(dims.offset);
  p.dropped = std::move(dims.collapsed);
  p.starts = std::move(dims.start);
  p.batch = {std::move(dims.operand_batch), std::move(dims.indices_batch)};
  p.mode = options.mode;
  p.sorted = options.indices_are_sorted;
  p.unique = options.unique_indices;
  p.fill.bits = api::FillBits(options.fill_value, frontend::TypeOf(a)->dtype(), call);
  return api::Gather(a, i, std::move(p), result, options.out_sharding, call);
}

Array scatter(Operand x, Operand indices, Operand updates, ScatterDims dims, ScatterOptions options,
              Loc loc) {
  return RunScatter(ops::kScatter, "scatter", x, indices, updates, dims, options, loc);
}
Array scatter_add(Operand x, Operand indices, Operand updates, ScatterDims dims,
                  ScatterOptions options, Loc loc) {
  return RunScatter(ops::kScatterAdd, "scatter_add", x, indices, updates, dims, options, loc);
}
Array scatter_mul(Operand x, Operand indices, Operand updates, ScatterDims dims,
                  ScatterOptions options, Loc loc) {
  return RunScatter(ops::kScatterMul, "scatter_mul", x, indices, updates, dims, options, loc);
}
Array scatter_min(Operand x, Operand indices, Operand updates, ScatterDims dims,
                  ScatterOptions options, Loc loc) {
  return RunScatter(ops::kScatterMin, "scatter_min", x, indices, updates, dims, options, loc);
}
Array scatter_max(Operand x, Operand indices, Operand updates, ScatterDims dims,
                  ScatterOptions options, Loc loc) {
  return RunScatter(ops::kScatterMax, "scatter_max", x, indices, updates, dims, options, loc);
}

Array take(Operand x, Operand indices, int dim, OutOptions options, Loc loc) {
  Call call{"take", loc};
  Array a = frontend::ToArray(x, call), i = frontend::ToArray(indices, call);
  const base::Shape& shape = ShapeOf(a);
  const int64_t d = frontend::NormalDim(dim, static_cast<int64_t>(shape.size()), call);
  i = api::FromEnd(i, base::At(shape, d), call);
  const int64_t queries = frontend::TypeOf(i)->rank();
  base::Shape result = shape;
  result.erase(result.begin() + d);
  result.insert(result.begin() + d, ShapeOf(i).begin(), ShapeOf(i).end());
  ops::GatherParams p;
  for (int64_t r = 0; r < static_cast<int64_t>(result.size()); ++r)
    if (r < d || r >= d + queries) p.windows.push_back(r);
  p.dropped = p.starts = {d};
  p.fill.bits = api::FillBits(std::nullopt, frontend::TypeOf(a)->dtype(), call);
  return api::Gather(a, api::AsVectors(i, call), std::move(p), result, options.out_sharding, call);
}

// A dim where both have one size is a batch dim, one where the indices have size 1 lies along
// slices, and one where x has size 1 is dropped.
Array take_along_dim(Operand x, Operand indices, int dim, TakeAlongOptions options, Loc loc) {
  Call call{"take_along_dim", loc};
  Array a = frontend::ToArray(x, call), i = frontend::ToArray(indices, call);
  const base::Shape shape = ShapeOf(a), at = ShapeOf(i);
  if (shape.size() != at.size())
    frontend::FailShape(
        call, 16, fmt::format("x has rank {} and the indices rank {}", shape.size(), at.size()));
  const auto along =
      static_cast<size_t>(frontend::NormalDim(dim, static_cast<int64_t>(shape.size()), call));
  ops::GatherParams p;
  base::Shape result = at, queries;
  for (size_t k = 0; k < shape.size(); ++k) {
    const auto d = static_cast<int64_t>(k);
    if (k == along) {
      p.dropped.push_back(d);
      p.starts.push_back(d);
    } else if (shape[k] == at[k]) {
      p.batch.lhs.push_back(d);
      p.batch.rhs.push_back(static_cast<int64_t>(queries.size()));
    } else if (at[k] == 1) {
      p.windows.push_back(d);
      result[k] = shape[k];
      continue;
    } else if (shape[k] == 1) {
      p.dropped.push_back(d);
    } else {
      frontend::FailShape(
          call, 18,
          fmt::format("dim {} has size {} in x and {} in the indices", k, shape[k], at[k]));
    }
    queries.push_back(at[k]);
  }
  i = frontend::Reshape(api::FromEnd(i, shape[along], call), queries, call);
  p.mode = options.mode;
  p.fill.bits = api::FillBits(options.fill_value, frontend::TypeOf(a)->dtype(), call);
  return api::Gather(a, api::AsVectors(i, call), std::move(p), result, options.out_sharding, call);
}

}  // namespace tessera
