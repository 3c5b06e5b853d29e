// The Array handle: construction from host memory, types, shards, and copies of the elements.
#include "tessera/array.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <ostream>

#include "api/core/elements.h"
#include "api/core/numbers.h"
#include "api/core/operands.h"
#include "api/core/reshard_to.h"
#include "base/at.h"
#include "base/dtype.h"
#include "base/error.h"
#include "base/float8.h"
#include "base/shape.h"
#include "compile/host/concrete.h"
#include "compile/host/host_array.h"
#include "compile/run/executor.h"
#include "sharding/local.h"
#include "trace/scopes.h"

namespace tessera {

using namespace api;

namespace {

using compile::Concrete;

// Whether `to` can represent every value of `from`.
bool Widens(DType from, DType to) {
  if (from == to || from.is_bool()) return true;
  if (to.is_complex()) return Widens(base::PartOf(from), base::PartOf(to));
  if (from.is_complex()) return false;
  if (to.is_bool()) return false;
  if (to.is_floating()) {
    const int bits = to == f64        ? 53
                     : to == f32      ? 24
                     : to == f16      ? 11
                     : to.is_float8() ? base::Float8Format::Of(to.code()).mantissa + 1
                                      : 8;
    if (!from.is_floating()) return from.bits() <= bits;
    return to.size() > from.size();
  }
  if (from.is_floating()) return false;
  if (from.is_unsigned())
    return to.is_unsigned() ? to.bits() >= from.bits() : to.bits() > from.bits();
  return to.is_signed() && to.bits() >= from.bits();
}

}  // namespace

Array::Array(Scalar v, Loc loc) { *this = NumberArray(v, {"array", loc}); }

const std::vector<int64_t>& Array::shape(Loc loc) const {
  return trace::UseType(*this, "shape", loc)->shape();
}
int64_t Array::shape(int dim, Loc loc) const {
  const base::Shape& s = shape(loc);
  return base::At(s, NormalDim(dim, static_cast<int64_t>(s.size()), {"shape", loc}));
}
DType Array::dtype(Loc loc) const { return trace::UseType(*this, "dtype", loc)->dtype(); }
int Array::rank(Loc loc) const { return trace::UseType(*this, "rank", loc)->rank(); }
int64_t Array::size(Loc loc) const { return trace::UseType(*this, "size", loc)->elements(); }
bool Array::is_traced() const { return impl_ && impl_->kind() == trace::ArrayImpl::kTraced; }
bool Array::is_abstract() const { return impl_ && impl_->kind() == trace::ArrayImpl::kAbstract; }

Sharding Array::sharding(Loc loc) const {
  const Concrete& c = OnDevices(*this, {"sharding", loc});
  return Sharding(Mesh(c.type()->mesh()), sharding::ToSpec(c.placed()->sharding()), loc);
}

Array Array::reshape(Shape shape, OutOptions options, Loc loc) const {
  return tessera::reshape(Operand(*this, loc), std::move(shape), std::move(options), loc);
}
Array Array::astype(DType dtype, Loc loc) const {
  return tessera::astype(Operand(*this, loc), dtype, loc);
}
Array Array::T(Loc loc) const { return tessera::transpose(Operand(*this, loc), All, loc); }

int64_t Array::Readable(const char* op, Loc loc) const {
  return OnDevices(*this, {op, loc}).type()->elements();
}

void Array::Read(DType dtype, void* out, bool one, const char* op, Loc loc) const {
  const ir::Type* type = trace::Use(*this, op, loc)->type();
  if (one && type->elements() != 1)
    FailShape({op, loc}, 18,
              fmt::format("{} has {} elements, not one", type->text(), type->elements()));
  if (type->dtype().is_key())
    FailDType({op, loc}, 17,
              fmt::format("{} holds random keys, which are not numbers", type->text()),
              {"random::key_data(x) gives their words"});
  if (!Widens(type->dtype(), dtype))
    FailDType({op, loc}, 17,
              fmt::format("elements of {} do not all fit into {}", type->text(), dtype.name()),
              {fmt::format("convert first: x.astype({})", dtype.name())});
  auto whole = Whole(*this, {op, loc});
  auto n = base::Size(type->elements());
  if (dtype == type->dtype()) {
    if (n) std::memcpy(out, whole->buffers.base, n * base::Size(dtype.size()));
    return;
  }
  ir::HostTensor from(type->dtype(), {type->elements()}), to(dtype, {type->elements()});
  if (n) std::memcpy(from.data.data(), whole->buffers.base, from.data.size());
  for (size_t i = 0; i < n; ++i) {
    auto at = static_cast<int64_t>(i);
    if (dtype.is_complex())
      to.SetComplex(at, std::complex<long double>(from.Complex(at)));
    else if (dtype.is_floating())
      to.SetFloat(at, from.Float(at));
    else
      to.SetInt(at, from.Int(at));
  }
  if (n) std::memcpy(out, to.data.data(), to.data.size());
}

std::vector<Shard> Array::addressable_shards(Loc loc) const {
  const Concrete& c = OnDevices(*this, {"addressable_shards", loc});
  const ir::Type* type = c.placed();
  const sharding::MeshDef* mesh = type->mesh();
  std::vector<Shard> shards;
  const std::vector<int32_t> instances = compile::InstancesByPosition(c);
  for (int64_t i = 0; i < (mesh ? mesh->size() : 1); ++i) {
    const int32_t instance = base::At(instances, i);
    if (instance == compile::kElsewhere) continue;
    // Shares ownership of the storage. The array itself loses its data once it is donated.
    std::shared_ptr<const std::byte> data(c.buffers.storage, c.buffers.at(instance));
    shards.emplace_back(mesh ? mesh->Device(i) : 0, compile::RangesOf(*type, i), type->dtype(),
                        std::move(data));
  }
  return shards;
}

// ---- shards ----

Shard::Shard(int64_t device, std::vector<IndexRange> index, DType dtype,
             std::shared_ptr<const std::byte> data)
    : device_(device), index_(std::move(index)), dtype_(dtype), data_(std::move(data)) {}

std::vector<int64_t> Shard::shape() const {
  std::vector<int64_t> shape;
  for (const IndexRange& r : index_) shape.push_back(r.end - r.begin);
  return shape;
}
int64_t Shard::elements() const { return base::Elements(shape()); }
const void* Shard::Check(DType dtype, Loc loc) const {
  if (dtype != dtype_)
    FailDType({"data", loc}, 17,
              fmt::format("the shard's elements are {}, not {}", dtype_.name(), dtype.name()));
  return data_.get();
}

// ---- types ----

ArrayType type_of(const Array& array, Loc loc) {
  return ArrayType(trace::UseType(array, "type_of", loc)->WithWeak(false));
}

// ---- from host memory ----

Array detail::ArrayFromHost(HostData host, ArrayOptions options, Loc loc) {
  Call call{"array", loc};
  base::Shape shape = options.shape ? options.shape->dims() : base::Shape{host.size};
  int64_t elements = ir::CheckedElements(shape);
  if (elements != host.size)
    FailShape(call, 18,
              fmt::format("{} elements do not fill the shape {}", host.size, ir::FieldText(shape)));
  compile::Install();
  const sharding::MeshDef* mesh = trace::CurrentMesh();
  const ir::Type* type = ir::Type::Get(shape, host.dtype, mesh);
  Array x;
  if (mesh && mesh->is_abstract()) {
    x = Array(std::make_shared<trace::ArrayImpl>(trace::ArrayImpl::kAbstract, type, loc));
  } else {
    auto whole = compile::NewWhole(type, loc);
    if (elements)
      std::memcpy(whole->buffers.base, host.data, base::Size(elements * host.dtype.size()));
    x = Array(std::move(whole));
  }
  if (!options.dtype.is_default()) x = Convert(x, options.dtype, call);
  return options.out_sharding ? ReshardTo(x, *options.out_sharding, call) : x;
}

namespace {

// Collects the numbers and the shape of nested braces. All braces of one level must have
// one length.
void Flatten(const Nested& values, size_t depth, base::Shape& shape, std::vector<Scalar>& out,
             Call call) {
  if (values.scalar()) {
    if (depth != shape.size())
      FailShape(call, 17, "the braces are not nested to the same depth everywhere");
    out.push_back(*values.scalar());
    return;
  }
  auto n = static_cast<int64_t>(values.items().size());
  if (depth == shape.size()) {
    if (!out.empty()) FailShape(call, 17, "the braces are not nested to the same depth everywhere");
    shape.push_back(n);
  }
  if (shape[depth] != n)
    FailShape(call, 17, fmt::format("rows have different lengths, {} and {}", shape[depth], n));
  for (const Nested& item : values.items()) Flatten(item, depth + 1, shape, out, call);
}

}  // namespace

Array array(Nested values, ArrayOptions options, Loc loc) {
  Call call{"array", loc};
  base::Shape shape;
  std::vector<Scalar> scalars;
  Flatten(values, 0, shape, scalars, call);
  bool floats = scalars.empty(), bools = !scalars.empty(), complex = false;
  for (const Scalar& s : scalars) {
    complex = complex || s.kind() == Scalar::kComplex;
    floats = floats || s.kind() == Scalar::kFloat;
    bools = bools && s.kind() == Scalar::kBool;
  }
  DType t = !options.dtype.is_default() ? options.dtype
            : complex                   ? base::ComplexOf(base::DefaultFloat())
            : floats                    ? base::DefaultFloat()
            : bools                     ? bool_
                                        : base::DefaultInt();
  ir::HostTensor host(t, shape);
  auto n = base::Size(t.size());
  for (size_t i = 0; i < scalars.size(); ++i) {
    const base::ElementBits bits = ScalarBits(scalars[i], t, call);
    std::memcpy(host.data.data() + i * n, bits.data(), n);
  }
  return detail::ArrayFromHost(
      {host.data.data(), host.size(), t},
      {.shape = options.shape ? options.shape : std::optional<Shape>(Shape(shape)),
       .out_sharding = options.out_sharding},
      loc);
}

Array abstract_array(std::string_view type_text, Loc loc) {
  compile::Install();
  const ir::Type* type = ir::ParseType(type_text, trace::CurrentMesh(), loc);
  return Array(std::make_shared<trace::ArrayImpl>(trace::ArrayImpl::kAbstract, type, loc));
}

}  // namespace tessera
