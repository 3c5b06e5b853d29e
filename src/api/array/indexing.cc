// x[{...}] and x.at({...}): basic indexing by slices, and lookups by index arrays.
#include <absl/algorithm/container.h>
#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "api/array/index_entries.h"
#include "api/array/index_lookups.h"
#include "api/core/call_modes.h"
#include "api/core/edits.h"
#include "base/at.h"
#include "base/dtype.h"
#include "base/error.h"
#include "tessera/lookup.h"
#include "trace/scopes.h"

namespace tessera {

using namespace api;

namespace {

// ---- slices ----

// Slices one piece out of each dim of x, and reshapes the slice to `result`.
Array Cut(const Array& x, const std::vector<IndexPiece>& pieces, const base::Shape& result,
          Call call) {
  const base::Shape shape = ShapeOf(x);
  ops::SliceParams p;
  std::vector<int64_t> reversed;
  bool whole = true;
  for (size_t d = 0; d < pieces.size(); ++d) {
    p.starts.push_back(pieces[d].start);
    p.limits.push_back(pieces[d].limit);
    p.strides.push_back(pieces[d].stride);
    whole = whole && pieces[d].start == 0 && pieces[d].limit == shape[d] && pieces[d].stride == 1;
    if (pieces[d].reversed) reversed.push_back(static_cast<int64_t>(d));
  }
  ir::ParamsPtr cut = whole ? nullptr : ir::MakeParams(std::move(p));
  Array y = whole ? x : Run(ops::kSlice, cut, {x}, call);
  if (!reversed.empty()) y = Run(ops::kRev, ir::MakeParams(ops::DimsParams{reversed}), {y}, call);
  return Reshape(y, result, call);
}

// ---- the dims of x[index] ----

struct ResultDim {
  enum Kind : uint8_t {
    kNew,
    kPicked,   // a dim of the shape that the index arrays broadcast to
    kAlong,    // a contiguous slice of a dim of the operand
    kStrided,  // another slice of a dim of the operand
  } kind;
  int64_t size;
  size_t entry = 0;  // its entry in the index
};

// Returns the shape that the index arrays broadcast to.
base::Shape PickedShape(const ParsedIndex& index, Call call) {
  base::Shape picked;
  for (const IndexEntry& e : index.entries) {
    if (e.kind != IndexEntry::kArray) continue;
    const base::Shape& shape = ShapeOf(e.array);
    if (!BroadcastWith(picked, shape))
      FailShape(call, 18,
                fmt::format("index arrays of shapes {} and {} do not broadcast",
                            ir::FieldText(picked), ir::FieldText(shape)));
  }
  return picked;
}

// Returns the dims of x[index] in order. The picked dims are at the place of the first index array,
// or in front if the index arrays are not next to each other.
std::vector<ResultDim> ResultDimsOf(const ParsedIndex& index, const base::Shape& picked) {
  std::vector<ResultDim> dims;
  size_t first = index.entries.size(), last = 0, picks = 0;
  for (size_t k = 0; k < index.entries.size(); ++k) {
    if (!index.picks(index.entries[k])) continue;
    first = std::min(first, k);
    last = k;
    ++picks;
  }
  const size_t where = picks == 0 ? index.entries.size() : last - first + 1 == picks ? first : 0;
  for (size_t k = 0; k < index.entries.size(); ++k) {
    const IndexEntry& e = index.entries[k];
    if (k == where)
      for (int64_t size : picked) dims.push_back({ResultDim::kPicked, size});
    if (e.kind == IndexEntry::kNew) dims.push_back({ResultDim::kNew, 1, k});
    if (e.kind == IndexEntry::kSlice)
      dims.push_back({e.neighbours() ? ResultDim::kAlong : ResultDim::kStrided, e.piece.size(), k});
  }
  return dims;
}

base::Shape SizesOf(const std::vector<ResultDim>& dims) {
  base::Shape sizes;
  for (const ResultDim& dim : dims) sizes.push_back(dim.size);
  return sizes;
}

std::vector<ResultDim> WithoutNew(std::vector<ResultDim> dims) {
  std::erase_if(dims, [](const ResultDim& dim) { return dim.kind == ResultDim::kNew; });
  return dims;
}

// ---- index vectors ----

// A component of the index vectors: an array whose dims are the query dims [first, end).
struct Component {
  Array array;
  size_t first = 0;
  size_t end = 0;
};

// Returns a dtype that can represent every component.
DType IndexDType(const std::vector<Component>& components) {
  DType index = i32;
  for (const Component& c : components) {
    DType t = TypeOf(c.array)->dtype();
    if (components.size() == 1) return t;
    if (t.size() == 8 || t == u32) index = i64;
  }
  return index;
}

// Returns the index vectors [queries..., components]. With `anyhow`, components that are sharded
// differently are replicated first; an out_sharding then decides the sharding of the result.
Array Vectors(const std::vector<Component>& components, const base::Shape& queries, bool anyhow,
              Call call) {
  base::Shape shape = queries;
  shape.push_back(1);
  if (components.empty()) {
    shape.back() = 0;
    return Filled(StrongScalar(0, i32, call), shape, {}, call);
  }
  DType dtype = IndexDType(components);
  std::vector<Array> columns;
  for (const Component& c : components) {
    Array a = c.array;
    if (TypeOf(a)->dtype() == u64 && dtype != u64)  // the largest i64 is out of bounds, too
      a = minimum(a, StrongScalar(std::numeric_limits<int64_t>::max(), u64, call), {}, call.loc);
    a = Convert(a, dtype, call);
    base::Shape own(queries.size(), 1);
    std::copy_backward(ShapeOf(a).begin(), ShapeOf(a).end(),
                       own.begin() + static_cast<long>(c.end));
    a = BroadcastTo(Reshape(a, own, call), queries, call);
    columns.push_back(Reshape(a, shape, call));
  }
  if (columns.size() == 1) return columns[0];
  const sharding::TensorSharding first = TypeOf(columns[0])->sharding();
  const bool differ = absl::c_any_of(
      columns, [&](const Array& c) { return TypeOf(c)->sharding().dims != first.dims; });
  for (Array& c : columns)
    if (anyhow && differ && !TypeOf(c)->sharding().dims_empty())
      c = Moved(c, sharding::Replicated(first.mesh, static_cast<int>(shape.size())), call);
  return Run(ops::kConcatenate,
             ir::MakeParams(ops::DimParams{{static_cast<int64_t>(queries.size())}}), columns, call);
}

// Returns the dtype of constant positions along a dim of this size.
DType PlaceType(int64_t size) { return size <= std::numeric_limits<int32_t>::max() ? i32 : i64; }
Array Place(int64_t at, int64_t size, Call call) { return StrongScalar(at, PlaceType(size), call); }

// ---- get ----

// Returns the spec without the entries of new dims.
std::optional<PartitionSpec> SpecWithoutNew(const std::optional<PartitionSpec>& spec,
                                            const std::vector<ResultDim>& dims) {
  if (!spec) return spec;
  std::vector<DimSharding> kept;
  for (size_t d = 0; d < spec->dims().size(); ++d)
    if (d >= dims.size() || dims[d].kind != ResultDim::kNew) kept.push_back(spec->dims()[d]);
  return PartitionSpec(kept).unreduced(spec->unreduced_axes()).reduced(spec->reduced_axes());
}

bool IsEmpty(const std::vector<ResultDim>& dims) {
  return absl::c_any_of(dims, [](const ResultDim& d) { return d.size == 0; });
}

// Prepares x for slices in an index with arrays. A dim that is sharded and sliced needs an
// out_sharding (`anyhow`). It is gathered if its axes do not divide the size of the slice.
Array ReadyToCut(const Array& x, const std::vector<IndexPiece>& pieces, bool anyhow, Call call) {
  sharding::TensorSharding s = TypeOf(x)->sharding();
  for (size_t d = 0; d < pieces.size(); ++d) {
    const bool whole = pieces[d].size() == ShapeOf(x)[d] && !pieces[d].reversed;
    if (whole || s.dims[d].axes.empty()) continue;
    if (!anyhow)
      FailSharding(
          call, 5,
          fmt::format("dim {} is sharded, and cannot be sliced in an index with arrays: {}", d,
                      TypeOf(x)->text()));
    if (pieces[d].size() % sharding::SizeOf(s.dims[d].axes) != 0) s.dims[d].axes.clear();
  }
  return s == TypeOf(x)->sharding() ? x : Moved(x, std::move(s), call);
}

bool IsSharded(const Array& x) {
  const auto& dims = TypeOf(x)->sharding().dims;
  return absl::c_any_of(dims, [](const auto& d) { return !d.axes.empty(); });
}

// Returns the axes over which the slice is laid out by propagation: those that shard x or the
// result, without those over which x is unreduced or reduced.
std::vector<std::string> AxesOfCut(const sharding::TensorSharding& x,
                                   const sharding::TensorSharding& result) {
  sharding::AxisList axes, sets = x.unreduced;
  sharding::AddTo(sets, x.reduced);
  for (const sharding::TensorSharding* s : {&x, &result})
    for (const sharding::DimAxes& d : s->dims) sharding::AddTo(axes, d.axes);
  std::vector<std::string> names;
  for (const sharding::AxisPart& a : axes) {
    const std::string& name = base::At(x.mesh->axes(), a.axis).name;
    if (!absl::c_linear_search(names, name) && !sharding::ContainsAxis(sets, a))
      names.push_back(name);
  }
  return names;
}

// Returns a slice of any size of a sharded array, laid out by `spec`. Propagation lets the devices
// that have its elements send them to those that need them.
Array CutTo(const Array& x, const std::vector<IndexPiece>& pieces, const base::Shape& result,
            const PartitionSpec& spec, Call call) {
  const trace::MeshDefScope mesh(MeshInScope({x}));
  const sharding::TensorSharding out =
      *ResolveSpec(spec, static_cast<int>(result.size()), MeshOf({x}), call);
  const detail::Body cut = [&](const std::vector<Array>& xs) {
    const Array y = Cut(xs[0], pieces, result, call);
    return detail::FunctionResult{{y}, detail::AnyTree::Of(y)};
  };
  auto arguments = std::tuple(x);
  return CallAutoAxes({arguments, cut, call.loc},
                      {.axes = AxesOfCut(TypeOf(x)->sharding(), out), .out_sharding = spec})
      .arrays[0];
}

// Returns one element of a sharded array.
Array OneElement(const Array& x, const std::vector<IndexPiece>& pieces, Call call) {
  const PartitionSpec own = sharding::ToSpec(TypeOf(x)->sharding());
  const PartitionSpec spec =
      PartitionSpec().unreduced(own.unreduced_axes(), own.reduction()).reduced(own.reduced_axes());
  return CutTo(x, pieces, {}, spec, call);
}

// Returns the first dim of x whose axes do not divide its piece; -1 if there is none.
int FirstUnevenPiece(const Array& x, const std::vector<IndexPiece>& pieces) {
  const sharding::TensorSharding& s = TypeOf(x)->sharding();
  for (size_t d = 0; d < pieces.size(); ++d)
    if (pieces[d].size() % sharding::SizeOf(s.dims[d].axes) != 0) return static_cast<int>(d);
  return -1;
}

// Whether an integer of the index picks one element of a sharded dim.
bool PicksOfShards(const Array& x, const std::vector<IndexPiece>& pieces) {
  const sharding::TensorSharding& s = TypeOf(x)->sharding();
  for (size_t d = 0; d < pieces.size(); ++d)
    if (pieces[d].dropped && sharding::SizeOf(s.dims[d].axes) > 1) return true;
  return false;
}

// C7: the result of an index without an out_sharding is sharded like x, which must divide it.
[[noreturn]] void FailUnevenPiece(const Array& x, const IndexPiece& piece, int dim, Call call) {
  const sharding::AxisList& axes = base::At(TypeOf(x)->sharding().dims, dim).axes;
  const std::string shards = fmt::format("{} shards over {}", sharding::SizeOf(axes),
                                         sharding::AxesCode(TypeOf(x)->mesh(), axes));
  FailSharding(call, 7,
               (piece.dropped ? fmt::format("index {} picks one element of dim {}, which has {}",
                                            piece.start, dim, shards)
                              : fmt::format("the index keeps {} elements of dim {}, which its {} "
                                            "do not divide",
                                            piece.size(), dim, shards)) +
                   ": say how the result is sharded");
}

// Slices x, then gathers from the slice by the index arrays.
Array GetByArrays(Array x, const ParsedIndex& index, const AtOptions& options, Call call) {
  const base::Shape picked = PickedShape(index, call);
  const std::vector<ResultDim> dims = ResultDimsOf(index, picked), kept = WithoutNew(dims);
  if (IsEmpty(dims))
    return zeros(SizesOf(dims), {.dtype = TypeOf(x)->dtype(), .out_sharding = options.out_sharding},
                 call.loc);
  const base::Shape shape = ShapeOf(x);
  base::Shape left;
  std::vector<IndexPiece> pieces;
  std::vector<Component> components;
  ops::GatherParams p;
  for (const IndexEntry& e : index.entries) {
    if (!e.has_dim()) continue;
    const int64_t size = shape[left.size()], d = static_cast<int64_t>(left.size());
    if (e.kind == IndexEntry::kArray) components.push_back({e.array, 0, picked.size()});
    if (e.kind == IndexEntry::kInteger) components.push_back({Place(e.piece.start, size, call)});
    if (e.kind != IndexEntry::kSlice) {
      p.dropped.push_back(d);
      p.starts.push_back(d);
    }
    pieces.push_back(e.kind == IndexEntry::kSlice ? e.piece : IndexPiece{0, size, 1});
    left.push_back(pieces.back().size());
  }
  for (size_t d = 0; d < kept.size(); ++d)
    if (kept[d].kind != ResultDim::kPicked) p.windows.push_back(static_cast<int64_t>(d));
  p.mode = options.mode.value_or(LookupMode::kClip);
  p.sorted = options.indices_are_sorted;
  p.unique = options.unique_indices;
  p.fill.bits = FillBits(options.fill_value, TypeOf(x)->dtype(), call);
  // A scalar index array needs no out_sharding, as in JAX, where it is a dynamic_slice.
  x = ReadyToCut(x, pieces, options.out_sharding || picked.empty(), call);
  Array y = Gather(Cut(x, pieces, left, call),
                   Vectors(components, picked, options.out_sharding.has_value(), call),
                   std::move(p), SizesOf(kept), SpecWithoutNew(options.out_sharding, dims), call);
  if (dims.size() == kept.size()) return y;
  return reshape(y, SizesOf(dims), {options.out_sharding}, call.loc);
}

// Whether the options leave the treatment of an index out of bounds open.
bool LeavesBoundsOpen(const AtOptions& options) {
  return options.mode.value_or(LookupMode::kPromise) == LookupMode::kPromise && !options.fill_value;
}

Array Get(const Array& x, const std::vector<Index>& index, const AtOptions& options, Call call) {
  trace::Use(x, call.name, call.loc);
  ParsedIndex parsed = ParseIndex(index, ShapeOf(x), LeavesBoundsOpen(options), call);
  if (parsed.arrays) return GetByArrays(x, parsed, options, call);
  std::vector<IndexPiece> pieces;
  base::Shape result;
  for (const IndexEntry& e : parsed.entries) {
    if (e.has_dim()) pieces.push_back(e.piece);
    if (e.kind == IndexEntry::kNew) result.push_back(1);
    if (e.kind == IndexEntry::kSlice) result.push_back(e.piece.size());
  }
  const int uneven = result.empty() ? -1 : FirstUnevenPiece(x, pieces);
  if (uneven >= 0 && options.out_sharding) {
    // An integer is looked up, and devices add their terms. A slice would be sent to its first
    // shard, and from there to the other devices, one by one.
    parsed.arrays = PicksOfShards(x, pieces);
    return parsed.arrays ? GetByArrays(x, parsed, options, call)
                         : CutTo(x, pieces, result, *options.out_sharding, call);
  }
  if (uneven >= 0) FailUnevenPiece(x, base::At(pieces, uneven), uneven, call);
  Array y =
      result.empty() && IsSharded(x) ? OneElement(x, pieces, call) : Cut(x, pieces, result, call);
  return options.out_sharding ? reshard(y, *options.out_sharding, call.loc) : y;
}

// ---- update ----

// The elements at an index in the terms of a scatter.
struct ScatterTarget {
  ops::ScatterParams params;
  std::vector<Component> components;
  base::Shape queries;
};

// The dims of x[index] that are queries. Those of index arrays are [picked, picked_end).
struct QueryDims {
  base::Shape sizes;
  size_t picked = 0, picked_end = 0;
  std::vector<size_t> of_entry;  // the query dim of each entry that is a strided slice
};

QueryDims QueryDimsOf(const std::vector<ResultDim>& dims, size_t entries) {
  QueryDims q;
  q.of_entry.assign(entries, 0);
  for (const ResultDim& dim : dims) {
    if (dim.kind == ResultDim::kAlong) continue;
    if (dim.kind == ResultDim::kStrided) q.of_entry[dim.entry] = q.sizes.size();
    if (dim.kind == ResultDim::kPicked && q.picked_end == 0) q.picked = q.sizes.size();
    q.sizes.push_back(dim.size);
    if (dim.kind == ResultDim::kPicked) q.picked_end = q.sizes.size();
  }
  return q;
}

// Returns the positions of the elements of a strided slice, in order.
Array StridedPlaces(const IndexPiece& piece, int64_t size, Call call) {
  Array at = iota({piece.size()}, 0, {.dtype = PlaceType(size)}, call.loc);
  int64_t step = piece.reversed ? -piece.stride : piece.stride;
  int64_t first = piece.reversed ? piece.limit - 1 : piece.start;
  at = mul(at, Place(step, size, call), {}, call.loc);
  return add(at, Place(first, size, call), {}, call.loc);
}

ScatterTarget ScatterTargetOf(const ParsedIndex& index, const base::Shape& shape,
                              const std::vector<ResultDim>& dims, Call call) {
  const QueryDims queries = QueryDimsOf(dims, index.entries.size());
  ScatterTarget target{.params = {}, .components = {}, .queries = queries.sizes};
  ops::ScatterParams& p = target.params;
  for (size_t d = 0; d < dims.size(); ++d)
    if (dims[d].kind == ResultDim::kAlong) p.windows.push_back(static_cast<int64_t>(d));
  int64_t d = -1;
  for (size_t k = 0; k < index.entries.size(); ++k) {
    const IndexEntry& e = index.entries[k];
    if (!e.has_dim()) continue;
    const int64_t size = base::At(shape, ++d);
    const bool along = e.kind == IndexEntry::kSlice && e.neighbours();
    if (along && e.piece.size() == size) continue;
    if (!along) p.dropped.push_back(d);
    p.starts.push_back(d);
    if (e.kind == IndexEntry::kArray)
      target.components.push_back({e.array, queries.picked, queries.picked_end});
    else if (along || e.kind == IndexEntry::kInteger)
      target.components.push_back({Place(e.piece.start, size, call)});
    else
      target.components.push_back(
          {StridedPlaces(e.piece, size, call), queries.of_entry[k], queries.of_entry[k] + 1});
  }
  return target;
}

// Returns the values in x's dtype, broadcast to the shape of x[index].
Array ValuesOf(const Operand& values, DType dtype, const base::Shape& shape, Call call) {
  if (base::StrictTypesActive() && !values.scalar())
    if (DType t = trace::Use(values.array(), call.name, call.loc)->type()->dtype(); t != dtype)
      FailDType(
          call, 13,
          fmt::format("x and the values have different dtypes, {} and {}", dtype.name(), t.name()),
          {fmt::format("StrictTypes is in scope: convert one of them, e.g. values.astype({})",
                       dtype.name())});
  if (!values.scalar() && !dtype.is_complex() && !dtype.is_bool())
    if (DType t = trace::Use(values.array(), call.name, call.loc)->type()->dtype(); t.is_complex())
      FailDType(call, 16,
                fmt::format("the values are complex ({}), but x is {}", t.name(), dtype.name()),
                {"real(values) takes their real parts"});
  Array v = values.scalar() ? StrongScalar(*values.scalar(), dtype, call)
                            : Convert(ToArray(values, call), dtype, call);
  const base::Shape& own = ShapeOf(v);
  if (!CanBroadcastTo(own, shape))
    FailShape(call, 18,
              fmt::format("values of shape {} do not broadcast to the shape {} of x[index]",
                          ir::FieldText(own), ir::FieldText(shape)));
  return BroadcastTo(v, shape, call);
}

Array Update(const ir::OpDef& op, const Array& x, const std::vector<Index>& index,
             const Operand& values, const AtOptions& options, Call call) {
  trace::Use(x, call.name, call.loc);
  const ParsedIndex parsed = ParseIndex(index, ShapeOf(x), LeavesBoundsOpen(options), call);
  const std::vector<ResultDim> dims = ResultDimsOf(parsed, PickedShape(parsed, call));
  const std::vector<ResultDim> kept = WithoutNew(dims);
  if (IsEmpty(dims))
    return options.out_sharding ? reshard(x, *options.out_sharding, call.loc) : Same(x);
  Array updates = ValuesOf(values, TypeOf(x)->dtype(), SizesOf(dims), call);
  updates = Reshape(updates, SizesOf(kept), call);
  ScatterTarget target = ScatterTargetOf(parsed, ShapeOf(x), kept, call);
  target.params.mode = options.mode.value_or(LookupMode::kDrop);
  target.params.sorted = options.indices_are_sorted;
  // An index without arrays names each element once, and so does a single query.
  const bool has_arrays = absl::c_any_of(
      parsed.entries, [](const IndexEntry& e) { return e.kind == IndexEntry::kArray; });
  target.params.unique =
      options.unique_indices || !has_arrays || ir::CheckedElements(target.queries) <= 1;
  return Scatter(op, x,
                 Vectors(target.components, target.queries, options.out_sharding.has_value(), call),
                 updates, std::move(target.params), options.out_sharding, call);
}

// ---- calls as a whole ----

// A call at an index whose operands are x, the index arrays, and its further arguments.
class CallAt {
 public:
  CallAt(const Array& x, const std::vector<Index>& index, Call call)
      : index_(index), x_(x, call.loc) {
    arguments.emplace_back("operand", x_);
    for (const Index& i : index)
      if (i.kind() == Index::kArray) arrays_.push_back(i.array());
    if (arrays_.size() == 1)
      arguments.emplace_back("indices", one_.emplace(arrays_[0], call.loc));
    else if (!arrays_.empty())
      arguments.emplace_back("indices", arrays_);
  }
  CallAt(const CallAt&) = delete;

  std::string code() const { return Code(index_, arrays_.size()); }
  // Returns the index with its arrays replaced by those of the operands, which follow x.
  const std::vector<Index>& At(const Operands& xs) {
    if (arrays_.empty()) return index_;
    with_arrays_ = index_;
    size_t k = 1;
    for (Index& i : with_arrays_)
      if (i.kind() == Index::kArray) i = Index(xs[k++].array(), i.loc());
    return with_arrays_;
  }
  Arguments arguments;

 private:
  const std::vector<Index>& index_;
  std::vector<Index> with_arrays_;
  const Operand x_;
  std::vector<Array> arrays_;
  std::optional<Operand> one_;
};

enum class GetForm { kAt, kSubscript };  // at(index).get(options), or x[index] without options

// Gets elements as one call of this form.
Array GetAsOne(const Array& x, const std::vector<Index>& index, AtOptions options, GetForm form,
               Call call) {
  CallAt at(x, index, call);
  at.arguments.emplace_back(options);
  const auto code = [&] {
    return form == GetForm::kSubscript
               ? fmt::format("operand[{}]", at.code())
               : fmt::format("operand.at({}).get({})", at.code(), Code(options));
  };
  const auto get = [&](const Operands& xs) { return Get(xs[0].array(), at.At(xs), options, call); };
  return AsOne(call, at.arguments, get, {.code = std::cref(code)});
}

// Returns x[index]. If an out_sharding would mend an error, it offers at(index).get() with one.
Array Subscript(const Array& x, const std::vector<Index>& index, Loc loc) {
  const Call call{"index", loc};
  const auto around = [&](const ErrorDetail&) {
    return std::pair("operand.at(" + CallAt(x, index, call).code() + ").get({", std::string("})"));
  };
  return WithoutOptions([&] { return GetAsOne(x, index, {}, GetForm::kSubscript, call); }, around);
}

Array UpdateAsOne(const ir::OpDef& op, const Array& x, const std::vector<Index>& index,
                  const Operand& values, AtOptions options, Call call) {
  CallAt at(x, index, call);
  at.arguments.emplace_back("values", values);
  at.arguments.emplace_back(options);
  const auto code = [&] {
    const std::string rest = Code(options);
    return fmt::format("operand.at({}).{}({}{})", at.code(), call.name + 3,
                       values.scalar() ? Code(*values.scalar()) : "values",
                       rest.empty() ? "" : ", " + rest);
  };
  const auto update = [&](const Operands& xs) {
    return Update(op, xs[0].array(), at.At(xs), xs.back(), options, call);
  };
  return AsOne(call, at.arguments, update, {.code = std::cref(code)});
}

Loc LocOf(std::initializer_list<Index> index) {
  return index.size() ? index.begin()->loc() : Loc::Unknown();
}

}  // namespace

Array Array::operator[](Index index) const {
  Loc loc = index.loc();
  return Subscript(*this, {std::move(index)}, loc);
}
Array Array::operator[](std::initializer_list<Index> index) const {
  return Subscript(*this, index, LocOf(index));
}
At Array::at(Index index) const { return At(*this, {std::move(index)}); }
At Array::at(std::initializer_list<Index> index) const { return At(*this, index); }

Array At::get(AtOptions options, Loc loc) const {
  return GetAsOne(x_, index_, options, GetForm::kAt, {"at.get", loc});
}
Array At::set(Operand values, AtOptions options, Loc loc) const {
  return UpdateAsOne(ops::kScatter, x_, index_, values, options, {"at.set", loc});
}
Array At::add(Operand values, AtOptions options, Loc loc) const {
  return UpdateAsOne(ops::kScatterAdd, x_, index_, values, options, {"at.add", loc});
}
Array At::multiply(Operand values, AtOptions options, Loc loc) const {
  return UpdateAsOne(ops::kScatterMul, x_, index_, values, options, {"at.multiply", loc});
}
Array At::min(Operand values, AtOptions options, Loc loc) const {
  return UpdateAsOne(ops::kScatterMin, x_, index_, values, options, {"at.min", loc});
}
Array At::max(Operand values, AtOptions options, Loc loc) const {
  return UpdateAsOne(ops::kScatterMax, x_, index_, values, options, {"at.max", loc});
}

}  // namespace tessera
