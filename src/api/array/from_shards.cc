// Arrays made of the shards that this process has: from a callback, or from given shards.
#include "api/array/from_shards.h"

#include <absl/algorithm/container.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <set>

#include "api/core/reshard_to.h"
#include "base/at.h"
#include "base/error.h"
#include "compile/host/host_array.h"
#include "compile/host/processes.h"
#include "compile/host/replicas.h"
#include "compile/run/executor.h"
#include "sharding/local.h"
#include "tessera/array.h"
#include "trace/scopes.h"

namespace tessera {

using namespace api;
using compile::IndexText;

namespace {

// Returns the sharding of a spec on the current mesh, whose Auto axes it may name.
sharding::TensorSharding Resolved(const PartitionSpec& spec, int rank, Call call) {
  const sharding::MeshDef* mesh = trace::CurrentMesh();
  CheckHasMesh(spec, mesh, call);
  sharding::Resolved r = sharding::Resolve(spec, mesh, rank);
  const std::string shown = "spec: " + spec.text();
  if (r.problem) FailSharding(call, 1, r.problem->reason, {shown});
  if (mesh->has_mode(AxisMode::Manual))
    FailSharding(call, 2, "inside of shard_map each device has its own array",
                 {shown, "make the array outside, and pass it to the function"});
  if (!r.sharding.unreduced.empty() || !r.sharding.reduced.empty())
    FailSharding(call, 8, "an array made of shards cannot be unreduced or reduced",
                 {shown, "make it without these axes, then reshard it"});
  if (absl::c_any_of(r.sharding.dims, [](const sharding::DimAxes& d) { return d.open; }))
    FailSharding(call, 2, "an open dim leaves the choice to propagation", {shown});
  r.sharding.replicated.clear();
  return r.sharding;
}

// Returns the type that shows a sharding's Explicit axes. They must be the major axes of their dim.
const ir::Type* TypeOn(const ir::Type* whole, const sharding::TensorSharding& s,
                       const PartitionSpec& spec, Call call) {
  sharding::TensorSharding shown = s;
  const auto is_explicit = [&](const sharding::AxisPart& a) {
    return base::At(s.mesh->axes(), a.axis).mode == AxisMode::Explicit;
  };
  for (sharding::DimAxes& dim : shown.dims) {
    const auto other = absl::c_find_if_not(dim.axes, is_explicit);
    if (std::any_of(other, dim.axes.end(), is_explicit))
      FailSharding(call, 2, "in each dim, Explicit axes come before Auto axes",
                   {"spec: " + spec.text()});
    dim.axes.erase(other, dim.axes.end());
  }
  return whole->WithSharding(std::move(shown));
}

}  // namespace

TypeAndPlace api::TypeFor(const base::Shape& shape, DType dtype, const PartitionSpec& spec,
                          Call call) {
  CheckShape(shape, call);
  sharding::TensorSharding s = Resolved(spec, static_cast<int>(shape.size()), call);
  const ir::Type* whole = ir::Type::Get(shape, dtype, s.mesh);
  CheckDivides(whole, s, call);
  const ir::Type* type = TypeOn(whole, s, spec, call);
  if (s.mesh->all_mode(AxisMode::Explicit)) return {type, type};
  s.mesh = s.mesh->WithoutModes();
  return {type, whole->WithSharding(std::move(s))};
}

namespace {

bool IsSame(const std::vector<IndexRange>& a, const std::vector<IndexRange>& b) {
  return absl::c_equal(a, b, [](const IndexRange& x, const IndexRange& y) {
    return x.begin == y.begin && x.end == y.end;
  });
}

[[noreturn]] void FailShards(Call call, std::string reason, std::vector<std::string> notes = {}) {
  base::ThrowRuntime(base::Refusal(call.name, "shards", base::Where(call.loc), std::move(reason),
                                   std::move(notes)));
}

// The shards of an array by device, checked against each other and its type.
class GivenShards {
 public:
  GivenShards(const std::vector<Shard>& shards, Call call) : call_(call) {
    for (const Shard& shard : shards)
      if (!shard_of_.emplace(shard.device(), &shard).second)
        FailShards(call_, fmt::format("the shard of device {} is given twice", shard.device()));
  }

  // Returns the shape of the whole array.
  base::Shape ShapeFor(const PartitionSpec& spec, const FromShardsOptions& options) const {
    if (options.shape) return options.shape->dims();
    base::Shape shape = AnyShard().shape();
    const sharding::TensorSharding s = Resolved(spec, static_cast<int>(shape.size()), call_);
    for (size_t d = 0; d < shape.size(); ++d) shape[d] *= sharding::SizeOf(s.dims[d].axes);
    return shape;
  }
  DType DTypeFor(const FromShardsOptions& options) const {
    return options.dtype.is_default() ? AnyShard().dtype() : options.dtype;
  }

  // Throws if a device of this process has no shard, or a shard of other elements.
  void Check(const ir::Type& placed) const {
    const sharding::MeshDef& mesh = *placed.mesh();
    std::set<int64_t> here;
    for (int64_t p = 0; p < mesh.size(); ++p) {
      const int64_t device = mesh.Device(p);
      if (compile::ProcessOf(device) != compile::Process()) continue;
      here.insert(device);
      CheckShard(placed, device, compile::RangesOf(placed, p));
    }
    for (const auto& [device, shard] : shard_of_)
      if (!here.contains(device)) FailDevice(device, mesh);
    CheckReplicas(placed);
  }

  const Shard& Of(int64_t device) const { return *shard_of_.at(device); }

 private:
  const Shard& AnyShard() const {
    if (shard_of_.empty())
      FailShards(call_, "no shard is given",
                 {"a process without a device of the mesh gives .shape and .dtype"});
    return *shard_of_.begin()->second;
  }

  void CheckShard(const ir::Type& placed, int64_t device,
                  const std::vector<IndexRange>& index) const {
    const auto at = shard_of_.find(device);
    if (at == shard_of_.end())
      FailShards(call_, fmt::format("the shard of device {} is missing", device),
                 {fmt::format("it has the elements {}", IndexText(index))});
    const Shard& shard = *at->second;
    if (shard.dtype() != placed.dtype())
      FailDType(call_, 17,
                fmt::format("the shard of device {} has elements {}, not {}", device,
                            shard.dtype().name(), placed.dtype().name()));
    if (!IsSame(shard.index(), index))
      FailShape(call_, 18,
                fmt::format("the shard of device {} has the elements {}, not {}", device,
                            IndexText(shard.index()), IndexText(index)),
                {"the array is " + placed.text()});
  }

  // Throws if two devices of this process have other elements of one index range.
  void CheckReplicas(const ir::Type& placed) const {
    std::map<std::string, const Shard*> first_with;
    for (const auto& [device, shard] : shard_of_) {
      const auto [first, is_new] = first_with.emplace(IndexText(shard->index()), shard);
      if (!is_new && !absl::c_equal(first->second->bytes(), shard->bytes()))
        FailShards(call_,
                   fmt::format("the shards of devices {} and {} differ, but both have the "
                               "elements {}",
                               first->second->device(), device, first->first),
                   {"the array is " + placed.text()});
    }
  }

  [[noreturn]] void FailDevice(int64_t device, const sharding::MeshDef& mesh) const {
    for (int64_t p = 0; p < mesh.size(); ++p)
      if (mesh.Device(p) == device)
        FailShards(call_,
                   fmt::format("device {} is on process {}, not on process {}", device,
                               compile::ProcessOf(device), compile::Process()),
                   {"each process gives the shards of its own devices (local_devices)"});
    FailShards(call_, fmt::format("device {} is not in the mesh {}", device, mesh.text()));
  }

  const Call call_;
  std::map<int64_t, const Shard*> shard_of_;
};

}  // namespace

Array detail::ArrayFromCallback(DType dtype, const Shape& shape, const PartitionSpec& sharding,
                                const FillShard& fill, Loc loc) {
  const Call call{"array_from_callback", loc};
  compile::Install();
  const auto [type, placed] = TypeFor(shape.dims(), dtype, sharding, call);
  if (type->mesh()->is_abstract())
    return Array(std::make_shared<trace::ArrayImpl>(trace::ArrayImpl::kAbstract, type, loc));
  const int64_t elements = sharding::LocalElements(placed->shape(), placed->sharding()),
                bytes = elements * dtype.size();
  std::map<std::string, const std::byte*> made;  // by index ranges
  const auto make = [&, placed = placed](int64_t position, std::byte* out) {
    const std::vector<IndexRange> index = compile::RangesOf(*placed, position);
    const auto [first, is_new] = made.emplace(IndexText(index), out);
    if (!is_new) {
      std::memcpy(out, first->second, base::Size(bytes));
      return;
    }
    std::fill_n(out, bytes, std::byte{});
    const compile::OnOneProcess alone;
    base::CallUsers(call.name, "the callback", base::Where(loc),
                    [&] { fill(index, out, elements); });
  };
  return Array(compile::NewFilled(type, placed, loc, make));
}

Shard detail::MakeShard(int64_t device, std::vector<IndexRange> index, DType dtype,
                        const void* data, int64_t size, Loc loc) {
  const auto bytes = base::Size(size * dtype.size());
  std::shared_ptr<std::byte[]> copy(new std::byte[bytes]);
  if (bytes > 0) std::memcpy(copy.get(), data, bytes);
  Shard shard(device, std::move(index), dtype, {copy, copy.get()});
  if (shard.bytes().size() != bytes)
    FailShape({"make_shard", loc}, 18,
              fmt::format("{} elements do not fill {}", size, IndexText(shard.index())));
  return shard;
}

Array array_from_shards(const std::vector<Shard>& shards, PartitionSpec sharding,
                        FromShardsOptions options, Loc loc) {
  const Call call{"array_from_shards", loc};
  compile::Install();
  const GivenShards given(shards, call);
  const auto [type, placed] =
      TypeFor(given.ShapeFor(sharding, options), given.DTypeFor(options), sharding, call);
  if (type->mesh()->is_abstract())
    return Array(std::make_shared<trace::ArrayImpl>(trace::ArrayImpl::kAbstract, type, loc));
  given.Check(*placed);
  const auto copy = [&, mesh = type->mesh()](int64_t position, std::byte* out) {
    const std::span<const std::byte> bytes = given.Of(mesh->Device(position)).bytes();
    if (!bytes.empty()) std::memcpy(out, bytes.data(), bytes.size());
  };
  return Array(compile::NewFilled(type, placed, loc, copy));
}

}  // namespace tessera
