// Functions that reshape, cut and join arrays.
#include "base/shape.h"

#include <absl/algorithm/container.h>
#include <fmt/format.h>

#include <algorithm>

#include "api/control/index_check.h"
#include "api/core/edits.h"
#include "api/core/operands.h"
#include "base/at.h"
#include "base/dtype.h"
#include "ops/params.h"

namespace tessera {

using namespace api;

namespace {}  // namespace

// ---- reshape and order ----

Array reshape(Operand x, Shape shape, OutOptions options, Loc loc) {
  Call call{"reshape", loc};
  Array a = ToArray(x, call);
  ir::ShapeAndDType wanted{shape.dims(), DType{}};
  int64_t known = 1, open = -1;
  for (size_t d = 0; d < wanted.shape.size(); ++d) {
    if (wanted.shape[d] != -1) {
      if (__builtin_mul_overflow(known, wanted.shape[d], &known)) known = -1;
    } else if (open >= 0) {
      FailShape(call, 18, "only one size may be -1");
    } else {
      open = static_cast<int64_t>(d);
    }
  }
  int64_t elements = TypeOf(a)->elements();
  if (open >= 0) {
    if (known <= 0 || elements % known != 0)
      FailShape(call, 18,
                fmt::format("{} elements of shape {} do not fill the shape {}", elements,
                            ir::FieldText(ShapeOf(a)), ir::FieldText(wanted.shape)));
    base::At(wanted.shape, open) = elements / known;
  }
  return Run(ops::kReshape, nullptr, {a}, call,
             {.wanted = &wanted,
              .out_sharding = options.out_sharding,
              .rank = static_cast<int>(wanted.shape.size())});
}

Array transpose(Operand x, Dims dims, Loc loc) {
  Call call{"transpose", loc};
  Array a = ToArray(x, call);
  int64_t rank = TypeOf(a)->rank();
  std::vector<int64_t> perm = NormalDims(dims, rank, call);
  if (dims.all()) absl::c_reverse(perm);
  return Run(ops::kTranspose, ir::MakeParams(ops::TransposeParams{perm}), {a}, call);
}

Array broadcast_in_dim(Operand x, Shape shape, Dims dims, OutOptions options, Loc loc) {
  Call call{"broadcast_in_dim", loc};
  Array a = ToArray(x, call);
  ir::ShapeAndDType wanted{shape.dims(), DType{}};
  auto rank = static_cast<int>(wanted.shape.size());
  auto out = ResolveSpec(options.out_sharding, rank, MeshOf({a}), call);
  const sharding::TensorSharding& own = TypeOf(a)->sharding();
  // If the op only adds dims of size 1, its result has the unreduced and reduced axes of x.
  if (out && (out->unreduced != own.unreduced || out->reduced != own.reduced) &&
      base::Elements(wanted.shape) == base::Elements(ShapeOf(a)))
    return reshard(broadcast_in_dim(a, shape, dims, {}, loc), *options.out_sharding, loc);
  return Run(ops::kBroadcastInDim,
             ir::MakeParams(ops::BroadcastParams{NormalDims(dims, rank, call)}), {a}, call,
             {.wanted = &wanted, .out_sharding = options.out_sharding, .rank = rank});
}

Array broadcast_to(Operand x, Shape shape, OutOptions options, Loc loc) {
  Call call{"broadcast_to", loc};
  Array a = ToArray(x, call);
  auto rank = static_cast<int64_t>(shape.dims().size());
  int64_t skip = rank - TypeOf(a)->rank();
  if (skip < 0)
    FailShape(call, 18,
              fmt::format("the shape {} has fewer dims than {}", ir::FieldText(shape.dims()),
                          TypeOf(a)->text()));
  std::vector<int64_t> dims(base::Size(TypeOf(a)->rank()));
  absl::c_iota(dims, skip);
  return AsOne(call, {x, shape, options}, [&](const Operand& operand) {
    const Array a = ToArray(operand, call);
    auto out = ResolveSpec(options.out_sharding, static_cast<int>(rank), MeshOf({a}), call);
    // A broadcast moves no data, so sharded dims and unreduced axes must stay as they are.
    const sharding::TensorSharding& own = TypeOf(a)->sharding();
    bool keeps = !out || own.trivial() || own.unreduced == out->unreduced;
    for (size_t d = 0; out && d < own.dims.size(); ++d)
      keeps = keeps && (own.dims[d].axes.empty() ||
                        own.dims[d].axes == out->dims[base::Size(skip) + d].axes);
    if (!keeps)
      FailSharding(call, 4,
                   fmt::format("{} cannot be broadcast with layout {}", TypeOf(a)->text(),
                               options.out_sharding->text()));
    return broadcast_in_dim(a, shape, dims, options, loc);
  });
}

Array expand_dims(Operand x, Dims dims, Loc loc) {
  Call call{"expand_dims", loc};
  Array a = ToArray(x, call);
  int64_t rank = TypeOf(a)->rank() + static_cast<int64_t>(dims.dims().size());
  std::vector<int64_t> at = NormalDims(dims, rank, call);
  base::Shape shape;
  size_t next = 0;
  for (int64_t d = 0; d < rank; ++d) shape.push_back(absl::c_count(at, d) ? 1 : ShapeOf(a)[next++]);
  return Reshape(a, shape, call);
}

Array squeeze(Operand x, Dims dims, Loc loc) {
  Call call{"squeeze", loc};
  Array a = ToArray(x, call);
  std::vector<int64_t> at = NormalDims(dims, TypeOf(a)->rank(), call);
  base::Shape shape;
  for (int64_t d = 0; d < TypeOf(a)->rank(); ++d) {
    int64_t size = base::At(ShapeOf(a), d);
    bool named = absl::c_count(at, d) > 0;
    if (named && size != 1 && !dims.all())
      FailShape(call, 18, fmt::format("dim {} has size {}, not 1", d, size));
    if (!named || size != 1) shape.push_back(size);
  }
  return Reshape(a, shape, call);
}

// ---- pieces ----

Array concatenate(std::vector<Array> xs, int dim, Loc loc) {
  Call call{"concatenate", loc};
  if (xs.empty()) FailShape(call, 17, "there is nothing to join");
  return AsOne(call, {xs, dim}, [&](std::vector<Array> parts) {
    DType t = PromotedDType(OperandsAt(parts, loc), call);
    for (Array& x : parts) x = Convert(x, t, call);
    int64_t at = NormalDim(dim, TypeOf(parts[0])->rank(), call);
    return Run(ops::kConcatenate, ir::MakeParams(ops::DimParams{{at}}), parts, call);
  });
}

Array stack(std::vector<Array> xs, int dim, Loc loc) {
  Call call{"stack", loc};
  if (xs.empty()) FailShape(call, 17, "there is nothing to join");
  for (Array& x : xs) {
    trace::Use(x, "stack", loc);
    if (ShapeOf(x) != ShapeOf(xs[0]))
      FailShape(call, 18,
                fmt::format("arrays of different shapes, {} and {}, cannot be stacked",
                            ir::FieldText(xs[0].shape()), ir::FieldText(x.shape())));
  }
  return AsOne(call, {xs, dim}, [&](std::vector<Array> parts) {
    int64_t at = NormalDim(dim, TypeOf(parts[0])->rank() + 1, call);
    for (Array& x : parts) x = expand_dims(x, static_cast<int>(at), loc);
    return concatenate(std::move(parts), static_cast<int>(at), loc);
  });
}

std::vector<Array> detail::SplitEvenly(const Operand& x, int64_t parts, int dim, Loc loc) {
  Call call{"split", loc};
  Array a = ToArray(x, call);
  int64_t size = base::At(ShapeOf(a), NormalDim(dim, TypeOf(a)->rank(), call));
  if (parts < 1 || size % parts != 0)
    FailShape(call, 18,
              fmt::format("dim {} of size {} cannot be cut into {} equal parts", dim, size, parts));
  return split(a, base::Shape(base::Size(parts), size / parts), dim, loc);
}

std::vector<Array> split(Operand x, Shape pieces, int dim, Loc loc) {
  Call call{"split", loc};
  const std::vector<int64_t>& sizes = pieces.dims();
  Array a = ToArray(x, call);
  auto d = base::Size(NormalDim(dim, TypeOf(a)->rank(), call));
  const base::Shape shape = ShapeOf(a);
  if (absl::c_accumulate(sizes, int64_t{0}) != shape[d] ||
      absl::c_any_of(sizes, [](int64_t s) { return s < 0; }))
    FailShape(call, 18,
              fmt::format("pieces of sizes {} do not make up dim {} of size {}",
                          ir::FieldText(sizes), d, shape[d]));
  return AsOne(call, {x, pieces, dim}, [&](const Operand& operand) {
    std::vector<Array> parts;
    int64_t begin = 0;
    for (int64_t size : sizes) {
      base::Shape starts(shape.size(), 0), limits = shape;
      starts[d] = begin;
      limits[d] = begin += size;
      parts.push_back(
          Run(ops::kSlice,
              ir::MakeParams(ops::SliceParams{starts, limits, base::Shape(shape.size(), 1)}),
              {ToArray(operand, call)}, call));
    }
    return parts;
  });
}

Array slice(Operand x, std::vector<int64_t> starts, std::vector<int64_t> limits,
            std::vector<int64_t> strides, Loc loc) {
  Call call{"slice", loc};
  const std::vector<int64_t> by =
      strides.empty() ? std::vector<int64_t>(starts.size(), 1) : strides;
  const ir::ParamsPtr params = ir::MakeParams(ops::SliceParams{starts, limits, by});
  // The code of the call omits strides that are all 1.
  if (by == std::vector<int64_t>(starts.size(), 1)) strides.clear();
  const auto cut = [&](const Operand& operand) {
    return Run(ops::kSlice, params, {ToArray(operand, call)}, call);
  };
  return strides.empty() ? AsOne(call, {x, starts, limits}, cut)
                         : AsOne(call, {x, starts, limits, strides}, cut);
}

namespace {

std::vector<Array> ArraysFrom(const Operands& xs, size_t first) {
  std::vector<Array> arrays;
  for (size_t k = first; k < xs.size(); ++k) arrays.push_back(xs[k].array());
  return arrays;
}

// Appends start indices in one integer dtype, with negative ones counted from the end. The slice
// has these sizes.
void AddStarts(std::vector<Array>& operands, const std::vector<Array>& starts,
               const base::Shape& sizes, Call call) {
  const base::Shape shape = ShapeOf(operands[0]);
  DType index;
  for (const Array& s : starts) {
    DType t = trace::Use(s, call.name, call.loc)->type()->dtype();
    if (!t.is_integer())
      FailDType(call, 15, fmt::format("indices must be integers, not {}", t.name()));
    t = base::ComputedIn(t);
    index = index.is_default() ? t : promote_types(index, t);
    if (!index.is_integer()) index = i64;
    if (index.size() < 4) index = i32;  // wide enough for a size
  }
  for (size_t i = 0; i < starts.size(); ++i) {
    Array s = Convert(starts[i], index, call);
    if (i < shape.size() && i < sizes.size())
      CheckIndices(s, {{shape[i], sizes[i]}}, Negative::kFromEnd, call);
    if (index.is_signed() && i < shape.size() && TypeOf(s)->rank() == 0) {
      Array size = StrongScalar(shape[i], index, call), zero = StrongScalar(0, index, call);
      s = Run(ops::Elementwise(ops::ScalarOp::kSelect), nullptr,
              {Run(ops::Elementwise(ops::ScalarOp::kLt), nullptr, {s, zero}, call), s,
               Run(ops::Elementwise(ops::ScalarOp::kAdd), nullptr, {s, size}, call)},
              call);
    }
    operands.push_back(s);
  }
}

}  // namespace

Array dynamic_slice(Operand x, std::vector<Array> starts, Shape sizes, Loc loc) {
  Call call{"dynamic_slice", loc};
  return AsOne(call, {{"operand", x}, {"starts", starts}, sizes}, [&](const Operands& xs) {
    std::vector<Array> operands{ToArray(xs[0], call)};
    AddStarts(operands, ArraysFrom(xs, 1), sizes.dims(), call);
    ir::ShapeAndDType wanted{sizes.dims(), DType{}};
    return Run(ops::kDynamicSlice, nullptr, operands, call, {.wanted = &wanted});
  });
}

Array dynamic_update_slice(Operand x, Operand update, std::vector<Array> starts, Loc loc) {
  Call call{"dynamic_update_slice", loc};
  return AsOne(call, {{"operand", x}, {"update", update}, {"starts", starts}},
               [&](const Operands& xs) {
                 Array a = ToArray(xs[0], call);
                 Array u = xs[1].scalar() ? StrongScalar(*xs[1].scalar(), TypeOf(a)->dtype(), call)
                                          : ToArray(xs[1], call);
                 std::vector<Array> operands{a, u};
                 AddStarts(operands, ArraysFrom(xs, 2), ShapeOf(u), call);
                 return Run(ops::kDynamicUpdateSlice, nullptr, operands, call);
               });
}

namespace {

Array Padded(const Operand& x, const std::vector<Padding>& padding, const Operand& value,
             Call call) {
  Array a = ToArray(x, call);
  DType t = TypeOf(a)->dtype();
  Array v = value.scalar() ? StrongScalar(*value.scalar(), t, call) : ToArray(value, call);
  ops::PadParams p;
  for (const Padding& d : padding) {
    p.low.push_back(d.low);
    p.high.push_back(d.high);
    p.interior.push_back(d.interior);
  }
  return Run(ops::kPad, ir::MakeParams(std::move(p)), {a, v}, call);
}

// Increases the high padding of each dim until the dim's axes divide its padded size.
std::vector<Padding> Evened(const Array& x, std::vector<Padding> padding) {
  const ir::Type& type = *TypeOf(x);
  for (size_t d = 0; d < padding.size(); ++d) {
    const int64_t size = type.shape()[d], shards = sharding::SizeOf(type.sharding().dims[d].axes);
    const int64_t made = size + padding[d].low + padding[d].high +
                         std::max<int64_t>(size - 1, 0) * padding[d].interior;
    padding[d].high += (shards - made % shards) % shards;
  }
  return padding;
}

}  // namespace

Array pad(Operand x, std::vector<Padding> padding, Operand value, Loc loc) {
  Call call{"pad", loc};
  std::vector<Padding> evened;
  const auto even = [&] {
    evened = Evened(ToArray(x, call), padding);
    std::string code = fmt::format("pad(operand, {}", Code(evened));
    if (!value.scalar())
      code += ", value";
    else if (value.scalar()->as_double() != 0)
      code += ", " + Code(*value.scalar());
    return std::vector<OtherCall>{{code + ")", [&](const Operands& xs) {
                                     return std::vector<Array>{Padded(xs[0], evened, xs[1], call)};
                                   }}};
  };
  return AsOne(call, {{"operand", x}, padding, {"value", value}},
               [&](const Operand& a, const Operand& v) { return Padded(a, padding, v, call); },
               {.others = even});
}

Array rev(Operand x, Dims dims, Loc loc) {
  Call call{"rev", loc};
  return AsOne(call, {x, dims}, [&](const Operand& operand) {
    Array a = ToArray(operand, call);
    std::vector<int64_t> d = NormalDims(dims, TypeOf(a)->rank(), call);
    absl::c_sort(d);
    return Run(ops::kRev, ir::MakeParams(ops::DimsParams{d}), {a}, call);
  });
}

namespace {
// Returns x with dim d cut to size 0. A slice keeps the sharding of the other dims; a reshape of an
// empty array could not tell them apart.
Array Emptied(const Array& x, size_t d, Call call) {
  base::Shape limits = ShapeOf(x);
  limits[d] = 0;
  return slice(x, std::vector<int64_t>(limits.size(), 0), limits, {}, call.loc);
}

// Repeats each dim n[d] times: broadcasts along a new dim before it, and joins the two.
Array Tiled(Array a, std::vector<int64_t> n, Call call) {
  base::Shape shape = ShapeOf(a);
  if (n.size() < shape.size()) n.insert(n.begin(), shape.size() - n.size(), 1);
  if (n.size() > shape.size()) shape.insert(shape.begin(), n.size() - shape.size(), 1);
  a = Reshape(a, shape, call);
  for (size_t d = 0; d < n.size(); ++d) {
    if (n[d] == 1) continue;
    const sharding::TensorSharding& s = TypeOf(a)->sharding();
    if (!s.dims[d].axes.empty())
      FailSharding(
          call, 6,
          fmt::format("dim {} is sharded and would be repeated: {}", d, TypeOf(a)->text()));
    if (n[d] == 0) {
      a = Emptied(a, d, call);
      continue;
    }
    base::Shape spread = ShapeOf(a), joined = spread;
    spread.insert(spread.begin() + static_cast<long>(d), n[d]);
    joined[d] *= n[d];
    std::vector<int64_t> dims;
    for (int64_t k = 0; k < static_cast<int64_t>(spread.size()); ++k)
      if (k != static_cast<int64_t>(d)) dims.push_back(k);
    a = Reshape(broadcast_in_dim(a, spread, dims, {}, call.loc), joined, call);
  }
  return a;
}

}  // namespace

Array tile(Operand x, Shape reps, Loc loc) {
  Call call{"tile", loc};
  for (int64_t r : reps.dims())
    if (r < 0) FailShape(call, 18, fmt::format("an array cannot be repeated {} times", r));
  return AsOne(call, {x, reps}, [&](const Operand& operand) {
    return Tiled(ToArray(operand, call), reps.dims(), call);
  });
}

namespace {

// Repeats each element n times along dim d: broadcasts along a new dim after it, and joins the two.
// An out_sharding also decides the unreduced and reduced axes.
Array Repeated(const Array& a, int64_t n, size_t d, const OutOptions& options, Call call) {
  const Loc loc = call.loc;
  bool sharded = !TypeOf(a)->sharding().dims[d].axes.empty();
  if (sharded && !options.out_sharding)
    FailSharding(call, 5,
                 fmt::format("dim {} is sharded and would be repeated: {}", d, TypeOf(a)->text()));
  if (n == 0) {
    Array none = Emptied(a, d, call);
    return options.out_sharding ? reshard(none, *options.out_sharding, loc) : none;
  }
  base::Shape spread = ShapeOf(a), joined = spread;
  spread.insert(spread.begin() + static_cast<long>(d) + 1, n);
  joined[d] *= n;
  std::vector<int64_t> dims;
  for (int64_t k = 0; k < static_cast<int64_t>(spread.size()); ++k)
    if (k != static_cast<int64_t>(d) + 1) dims.push_back(k);
  if (!options.out_sharding)
    return reshape(broadcast_in_dim(a, spread, dims, {}, loc), joined, {}, loc);
  Array rows = broadcast_in_dim(Plain(a, call), spread, dims, {}, loc);
  Array y = reshape(rows, joined, {PartitionSpec(options.out_sharding->dims())}, loc);
  return reshard(y, *options.out_sharding, loc);
}

}  // namespace

Array repeat(Operand x, int64_t n, int dim, OutOptions options, Loc loc) {
  Call call{"repeat", loc};
  if (n < 0) FailShape(call, 18, fmt::format("elements cannot be repeated {} times", n));
  return AsOne(call, {x, n, dim, options}, [&](const Operand& operand) {
    Array a = ToArray(operand, call);
    return Repeated(a, n, base::Size(NormalDim(dim, TypeOf(a)->rank(), call)), options, call);
  });
}

Array roll(Operand x, int64_t shift, int dim, Loc loc) {
  Call call{"roll", loc};
  return AsOne(call, {x, shift, dim}, [&](const Operand& operand) {
    Array a = ToArray(operand, call);
    const int64_t d = NormalDim(dim, TypeOf(a)->rank(), call), size = base::At(ShapeOf(a), d);
    if (size == 0 || shift % size == 0) return Same(a);
    return Run(ops::kRoll, ir::MakeParams(ops::RollParams{{d}, (shift % size + size) % size}), {a},
               call);
  });
}

}  // namespace tessera
