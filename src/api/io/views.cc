// Arrays over the user's memory: shared if kernels can read it as it is, else packed once.
#include "tessera/views.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <utility>

#include "api/core/operands.h"
#include "api/core/reshard_to.h"
#include "api/io/dlpack_structs.h"
#include "base/error.h"
#include "base/shape.h"
#include "compile/host/concrete.h"
#include "compile/run/executor.h"
#include "ir/type.h"
#include "runtime/buffers.h"
#include "tessera/processes.h"
#include "trace/scopes.h"

namespace tessera {

using namespace api;

namespace {

// Memory of the host: elements of `size` bytes, and the bytes from one to the next along each dim.
struct Strided {
  const std::byte* data;
  base::Shape shape, steps;
  int64_t size;

  bool is_row_major() const {
    int64_t step = size;
    for (size_t d = shape.size(); d-- > 0; step *= shape[d])
      if (shape[d] != 1 && steps[d] != step) return false;
    return true;
  }
  // Whether each element is at a multiple of its size; of a complex one: of half its size.
  bool is_aligned(DType dtype) const {
    const int64_t unit = dtype.is_complex() ? size / 2 : size;
    return reinterpret_cast<uintptr_t>(data) % base::Size(unit) == 0;
  }
};

// Copies the elements from dim `d` on, in row-major order. Returns the end of the copy.
std::byte* Pack(const Strided& from, size_t d, const std::byte* at, std::byte* out) {
  if (d == from.shape.size()) {
    std::memcpy(out, at, base::Size(from.size));
    return out + from.size;
  }
  for (int64_t i = 0; i < from.shape[d]; ++i) out = Pack(from, d + 1, at + i * from.steps[d], out);
  return out;
}

Array Placed(Array x, const std::optional<PartitionSpec>& out_sharding, Call call) {
  return out_sharding ? ReshardTo(x, *out_sharding, call) : x;
}

[[noreturn]] void FailView(Call call, const char* check, std::string reason,
                           std::vector<std::string> notes = {}) {
  base::ThrowRuntime(
      base::Refusal(call.name, check, base::Where(call.loc), std::move(reason), std::move(notes)));
}

// Returns the distances between elements in bytes.
base::Shape ByteSteps(const detail::HostView& view, Call call) {
  const int64_t size = view.dtype.size();
  base::Shape steps(view.shape.size());
  if (!view.strides) {
    int64_t step = size;
    for (size_t d = steps.size(); d-- > 0; step *= view.shape[d]) steps[d] = step;
    return steps;
  }
  if (view.strides->size() != steps.size())
    FailShape(
        call, 18,
        fmt::format("the shape {} has {}, but there are {} strides", ir::FieldText(view.shape),
                    base::CountText(steps.size(), "dim"), view.strides->size()));
  for (size_t d = 0; d < steps.size(); ++d) {
    int64_t reach = 0;
    if (__builtin_mul_overflow((*view.strides)[d], size, &steps[d]) ||
        __builtin_mul_overflow(steps[d], view.shape[d], &reach))
      FailShape(call, 18,
                fmt::format("the stride {} of dim {} leads out of memory", (*view.strides)[d], d));
  }
  return steps;
}

Array MakeView(const detail::HostView& view, ViewOptions options, Call call) {
  if (view.dtype.is_default() || view.dtype.is_key())
    FailDType(call, 17,
              view.dtype.is_key() ? "random keys are not numbers" : "the dtype is not given");
  CheckShape(view.shape, call);
  const Strided from{static_cast<const std::byte*>(view.data), view.shape, ByteSteps(view, call),
                     view.dtype.size()};
  compile::Install();
  const sharding::MeshDef* mesh = trace::CurrentMesh();
  const ir::Type* type = ir::Type::Get(view.shape, view.dtype, mesh);
  if (mesh && mesh->is_abstract())
    return Placed(
        Array(std::make_shared<trace::ArrayImpl>(trace::ArrayImpl::kAbstract, type, call.loc)),
        options.out_sharding, call);
  if (type->elements() > 0 && !view.data)
    FailView(call, "null", fmt::format("the pointer to the elements of {} is null", type->text()));
  if (type->elements() > 0 && from.is_row_major() && from.is_aligned(view.dtype)) {
    const std::shared_ptr<const std::byte> data(options.owner, from.data);
    return Placed(Array(compile::NewShared(type, compile::WithoutModes(type), call.loc, data)),
                  options.out_sharding, call);
  }
  auto packed = compile::NewWhole(type, call.loc);
  if (type->elements() > 0) Pack(from, 0, from.data, packed->buffers.base);
  return Placed(Array(std::move(packed)), options.out_sharding, call);
}

}  // namespace

Array detail::ArrayView(const HostView& view, ViewOptions options, Loc loc) {
  return MakeView(view, std::move(options), {"array_view", loc});
}
Array array_view(const void* data, DType dtype, Shape shape, ViewOptions options, Loc loc) {
  const detail::HostView view{data, dtype, shape.dims(), options.strides};
  return MakeView(view, std::move(options), {"array_view", loc});
}

// ---- DLPack ----

namespace {

constexpr std::pair<uint8_t, DType> kFloats8[] = {
    {dlpack::kF8E3M4, f8_e3m4},
    {dlpack::kF8E4M3, f8_e4m3},
    {dlpack::kF8E4M3B11FNUZ, f8_e4m3b11fnuz},
    {dlpack::kF8E4M3FN, f8_e4m3fn},
    {dlpack::kF8E4M3FNUZ, f8_e4m3fnuz},
    {dlpack::kF8E5M2, f8_e5m2},
    {dlpack::kF8E5M2FNUZ, f8_e5m2fnuz},
};
constexpr DType kNumbers[] = {i2,  i4,  i8,  i16, i32,  i64, u2,  u4,  u8,
                              u16, u32, u64, f16, bf16, f32, f64, c64, c128};

// Returns how DLPack names a dtype. bits: those of an element.
dlpack::DataType NameOf(DType t) {
  for (const auto& [code, dtype] : kFloats8)
    if (dtype == t) return {code, 8, 1};
  const uint8_t code = t.is_bool()       ? dlpack::kBool
                       : t == bf16       ? dlpack::kBFloat
                       : t.is_complex()  ? dlpack::kComplex
                       : t.is_floating() ? dlpack::kFloat
                       : t.is_signed()   ? dlpack::kInt
                                         : dlpack::kUInt;
  const int bits = t == i2 || t == u2 ? 2 : t == i4 || t == u4 ? 4 : 8 * t.size();
  return {code, static_cast<uint8_t>(bits), 1};
}

DType DTypeNamed(dlpack::DataType name, Call call) {
  const auto is_named = [&](DType t) {
    const dlpack::DataType other = NameOf(t);
    return other.code == name.code && other.bits == name.bits;
  };
  if (name.code == dlpack::kBool && name.bits == 8) return bool_;
  for (DType t : kNumbers)
    if (is_named(t)) return t;
  for (const auto& [code, t] : kFloats8)
    if (is_named(t)) return t;
  FailDType(call, 17,
            fmt::format("no dtype has DLPack's code {} with {} bits", name.code, name.bits));
}

void CheckTensor(const dlpack::DlTensor& t, uint64_t flags, Call call) {
  if (t.device.type != dlpack::kCpu)
    FailView(call, "device",
             fmt::format("the tensor is on a device of DLPack's kind {}, not in the memory of the "
                         "host (kind 1)",
                         t.device.type),
             {"copy it to the host first"});
  if (t.dtype.lanes != 1)
    FailView(call, "lanes",
             fmt::format("an element has {} lanes, not 1", static_cast<int>(t.dtype.lanes)));
  if (t.ndim < 0 || (t.ndim > 0 && !t.shape))
    FailView(call, "shape", fmt::format("a tensor with {} dims has no shape", t.ndim));
  if (t.dtype.bits < 8 && !(flags & dlpack::kPadded))
    FailView(call, "packed",
             fmt::format("elements of {} bits share bytes", static_cast<int>(t.dtype.bits)),
             {"give each element a byte, and set DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED"});
}

// Takes the tensor, or throws and leaves it to the caller.
template <class Managed>
Array Taken(Managed* managed, const dlpack::DlTensor& t, uint64_t flags, OutOptions options,
            Call call) {
  CheckTensor(t, flags, call);
  detail::HostView view{.data = t.data, .dtype = DTypeNamed(t.dtype, call)};
  if (t.data) view.data = static_cast<const std::byte*>(t.data) + t.byte_offset;
  view.shape.assign(t.shape, t.shape + t.ndim);
  if (t.strides) view.strides.emplace(t.strides, t.strides + t.ndim);
  // Until the end the caller may still get the tensor back.
  auto is_taken = std::make_shared<bool>(false);
  const std::shared_ptr<const void> owner(managed, [is_taken](Managed* m) {
    if (*is_taken && m->deleter) m->deleter(m);
  });
  Array x = MakeView(view, {.owner = owner, .out_sharding = std::move(options.out_sharding)}, call);
  *is_taken = true;
  return x;
}

void CheckGiven(const void* tensor, Call call) {
  if (!tensor) FailView(call, "null", "the pointer to the tensor is null");
}

// A tensor that we give away, with all that it points to.
template <class Managed>
struct GivenView {
  Managed managed = {};
  Shard shard;
  std::vector<int64_t> shape, strides;
};

template <class Managed>
Managed* Give(const Array& x, Call call) {
  if (TypeOf(x)->dtype().is_key())
    FailDType(call, 17,
              fmt::format("{} holds random keys, which are not numbers", TypeOf(x)->text()));
  std::vector<Shard> shards = x.addressable_shards(call.loc);
  if (shards.empty() || shards.front().shape() != x.shape(call.loc))
    shards = gather_to_host(x, call.loc).addressable_shards(call.loc);
  auto given = std::make_unique<GivenView<Managed>>(GivenView<Managed>{
      .managed = {}, .shard = shards.front(), .shape = x.shape(), .strides = {}});
  given->strides.resize(given->shape.size(), 1);
  for (size_t d = given->shape.size(); d-- > 1;)
    given->strides[d - 1] = given->strides[d] * std::max<int64_t>(1, given->shape[d]);
  given->managed.dl_tensor = {.data = const_cast<std::byte*>(given->shard.bytes().data()),
                              .device = {dlpack::kCpu, 0},
                              .ndim = static_cast<int32_t>(given->shape.size()),
                              .dtype = NameOf(given->shard.dtype()),
                              .shape = given->shape.data(),
                              .strides = given->strides.data(),
                              .byte_offset = 0};
  given->managed.manager_ctx = given.get();
  given->managed.deleter = [](Managed* m) {
    delete static_cast<GivenView<Managed>*>(m->manager_ctx);
  };
  return &given.release()->managed;
}

const Array& Readable(const Array& x, Call call) {
  trace::Use(x, call.name, call.loc);
  return x;
}

}  // namespace

Array from_dlpack(DLManagedTensorVersioned* tensor, OutOptions options, Loc loc) {
  const Call call{"from_dlpack", loc};
  CheckGiven(tensor, call);
  if (tensor->version.major != dlpack::kMajor)
    FailView(call, "version",
             fmt::format("the tensor is of DLPack {}.{}; this library reads version 1",
                         tensor->version.major, tensor->version.minor));
  return Taken(tensor, tensor->dl_tensor, tensor->flags, std::move(options), call);
}
Array from_dlpack(DLManagedTensor* tensor, OutOptions options, Loc loc) {
  const Call call{"from_dlpack", loc};
  CheckGiven(tensor, call);
  return Taken(tensor, tensor->dl_tensor, 0, std::move(options), call);
}

DLManagedTensorVersioned* to_dlpack(const Array& x, Loc loc) {
  const Call call{"to_dlpack", loc};
  auto* given = Give<DLManagedTensorVersioned>(Readable(x, call), call);
  given->version = {dlpack::kMajor, dlpack::kMinor};
  given->flags = dlpack::kReadOnly | (given->dl_tensor.dtype.bits < 8 ? dlpack::kPadded : 0);
  return given;
}
DLManagedTensor* to_dlpack_unversioned(const Array& x, Loc loc) {
  const Call call{"to_dlpack_unversioned", loc};
  return Give<DLManagedTensor>(Readable(x, call), call);
}

}  // namespace tessera
