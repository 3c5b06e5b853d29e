// Copies the shards of a value into an array, and finds the distinct ones.
#include "compile/host/host_array.h"

#include <fmt/format.h>

#include <algorithm>
#include <complex>
#include <cstring>
#include <map>

#include "base/at.h"
#include "base/box_runs.h"
#include "compile/host/processes.h"
#include "runtime/buffers.h"
#include "sharding/local.h"
#include "spmd/local_type.h"

namespace tessera::compile {
namespace {

// Copies the shard of `to` on the device at mesh position `device` out of the shards of `from`,
// which has more sharded dims.
void Assemble(const ir::HostArgument& from, const ir::Type& to, int64_t device, std::byte* out) {
  const sharding::TensorSharding& s = from.place->sharding();
  const auto itemsize = base::Size(to.dtype().size());
  const base::Shape local = sharding::LocalShape(to.shape(), to.sharding()),
                    shard = sharding::LocalShape(to.shape(), s);
  const int64_t elements = sharding::LocalElements(to.shape(), to.sharding());
  for (int64_t i = 0; i < elements; ++i) {
    std::vector<int64_t> at = ir::CoordsOf(local, i);
    int64_t source = device;
    for (size_t d = 0; d < at.size(); ++d) {
      if (s.dims[d].axes == to.sharding().dims[d].axes) continue;
      source = sharding::WithShardIndex(*s.mesh, s.dims[d].axes, source, at[d] / shard[d]);
      at[d] %= shard[d];
    }
    std::memcpy(out + base::Size(i) * itemsize,
                base::At(from.shards, source) + base::Size(ir::FlatIndex(shard, at)) * itemsize,
                itemsize);
  }
}

}  // namespace

trace::ArrayRef ArrayOf(const ir::HostArgument& value, Loc loc) {
  const ir::Type* type = spmd::Even(value.place);
  const int64_t bytes =
      sharding::LocalElements(type->shape(), type->sharding()) * type->dtype().size();
  auto array = std::make_shared<Concrete>(
      type, type, loc, runtime::Allocate(bytes, InstancesHere(*type, SharesReplicas())),
      SharesReplicas());
  const std::vector<int32_t> instances = InstancesByPosition(*array);
  for (size_t p = 0; p < value.shards.size() && bytes > 0; ++p) {
    if (instances[p] == kElsewhere || !value.shards[p]) continue;
    const auto device = static_cast<int64_t>(p);
    std::byte* out = array->buffers.at(instances[p]);
    if (type == value.place)
      std::memcpy(out, value.shards[p], base::Size(bytes));
    else
      Assemble(value, *type, device, out);
  }
  return array;
}

ir::HostArgument ArgumentOf(const trace::ConcreteArray& array) {
  const auto& concrete = static_cast<const Concrete&>(array);
  ir::HostArgument value{array.placed(), {}};
  for (int32_t instance : InstancesByPosition(concrete))
    value.shards.push_back(instance == kElsewhere ? nullptr : concrete.buffers.at(instance));
  return value;
}

std::vector<IndexRange> RangesOf(const ir::Type& placed, int64_t position) {
  const sharding::MeshDef* mesh = placed.mesh();
  const base::Shape local = sharding::LocalShape(placed.shape(), placed.sharding());
  std::vector<IndexRange> ranges;
  for (size_t d = 0; d < local.size(); ++d) {
    const int64_t shard =
        mesh ? sharding::ShardIndex(*mesh, placed.sharding().dims[d].axes, position) : 0;
    const int64_t at = shard * local[d], size = placed.shape()[d];
    ranges.push_back({std::min(at, size), std::min(at + local[d], size)});
  }
  return ranges;
}

void ForEachPiece(const ir::Type& placed, int64_t position,
                  absl::FunctionRef<void(int64_t in_whole, int64_t in_shard, int64_t bytes)> f) {
  base::Shape first, box;
  for (const IndexRange& r : RangesOf(placed, position)) {
    first.push_back(r.begin);
    box.push_back(r.end - r.begin);
  }
  if (base::Elements(box) == 0) return;
  const int64_t item = placed.dtype().size();
  base::BoxRuns whole(placed.shape(), item, first, box);
  base::BoxRuns shard(sharding::LocalShape(placed.shape(), placed.sharding()), item,
                      base::Shape(box.size(), 0), box);
  // A piece ends where a run of the whole array or of the shard ends.
  for (int64_t in_whole = 0, in_shard = 0;;) {
    const int64_t bytes = std::min(whole.bytes() - in_whole, shard.bytes() - in_shard);
    f(whole.begin() + in_whole, shard.begin() + in_shard, bytes);
    in_whole += bytes;
    in_shard += bytes;
    if (in_shard == shard.bytes()) in_shard = 0, shard.Next();
    if (in_whole < whole.bytes()) continue;
    in_whole = 0;
    if (!whole.Next()) return;
  }
}

std::string TextAt(const ir::HostTensor& x, int64_t element) {
  if (x.dtype.is_complex()) {
    const std::complex<double> z = x.Complex(element);
    return fmt::format("{:.9g}{:+.9g}i", z.real(), z.imag());
  }
  return x.dtype.is_inexact() ? fmt::format("{:.9g}", x.Float(element))
                              : fmt::format("{}", x.Int(element));
}

std::string IndexText(const std::vector<IndexRange>& index) {
  std::string text;
  for (const IndexRange& r : index)
    text += fmt::format("{}{}:{}", text.empty() ? "" : ", ", r.begin, r.end);
  return '[' + text + ']';
}

namespace {

// Returns the axes that shard dims, in their order.
sharding::AxisList AxesOfDims(const sharding::TensorSharding& s) {
  sharding::AxisList axes;
  for (const sharding::DimAxes& dim : s.dims)
    axes.insert(axes.end(), dim.axes.begin(), dim.axes.end());
  return axes;
}

bool IsPositionOn(int32_t process, const sharding::MeshDef& mesh, int64_t position) {
  return ProcessOf(mesh.Device(position)) == process;
}

}  // namespace

int64_t ShardAt(const ir::Type& placed, int64_t position) {
  if (!placed.mesh()) return 0;
  return sharding::ShardIndex(*placed.mesh(), AxesOfDims(placed.sharding()), position);
}

int64_t ArrayAt(const ir::Type& placed, int64_t position) {
  if (!placed.mesh()) return 0;
  sharding::AxisList axes = placed.sharding().varying;
  sharding::AddTo(axes, placed.sharding().unreduced);
  return sharding::ShardIndex(*placed.mesh(), axes, position);
}

std::vector<int64_t> DistinctPositions(const ir::Type& placed,
                                       absl::FunctionRef<bool(int64_t position)> counts) {
  const sharding::MeshDef* mesh = placed.mesh();
  if (!mesh) return {0};
  std::map<int64_t, int64_t> position_of;  // by shard
  for (int64_t p = 0; p < mesh->size(); ++p)
    if (counts(p)) position_of.emplace(ShardAt(placed, p), p);
  std::vector<int64_t> positions;
  for (const auto& [shard, position] : position_of) positions.push_back(position);
  return positions;
}

std::vector<int64_t> PositionsOn(int32_t process, const ir::Type& placed) {
  return DistinctPositions(placed,
                           [&](int64_t p) { return IsPositionOn(process, *placed.mesh(), p); });
}

std::vector<int64_t> PositionsFirstHere(const ir::Type& placed) {
  if (!placed.mesh() && Process() != 0) return {};
  std::vector<int64_t> positions;
  for (int64_t p : DistinctPositions(placed, [](int64_t) { return true; }))
    if (!placed.mesh() || IsPositionOn(Process(), *placed.mesh(), p)) positions.push_back(p);
  return positions;
}

bool IsWholeOn(int32_t process, const ir::Type& placed) {
  const auto shards = static_cast<int64_t>(PositionsOn(process, placed).size());
  return placed.sharding().unreduced.empty() &&
         shards == sharding::SizeOf(AxesOfDims(placed.sharding()));
}

bool IsSharedByProcesses(const ir::Type& placed) {
  if (Processes() == 1) return false;
  const sharding::MeshDef* mesh = placed.mesh();
  if (!mesh) return true;
  if (!placed.sharding().unreduced.empty()) return false;
  std::map<int64_t, int32_t> process_of;  // by shard
  for (int64_t p = 0; p < mesh->size(); ++p) {
    const int32_t process = ProcessOf(mesh->Device(p));
    if (process_of.emplace(ShardAt(placed, p), process).first->second != process) return true;
  }
  return false;
}

std::shared_ptr<Concrete> NewFilled(
    const ir::Type* type, const ir::Type* placed, Loc loc,
    absl::FunctionRef<void(int64_t position, std::byte* out)> fill) {
  const sharding::TensorSharding& s = placed->sharding();
  const bool shares = !s.mesh || SharesReplicas();
  const int64_t bytes = sharding::LocalElements(type->shape(), s) * type->dtype().size();
  const int32_t count = InstancesHere(*placed, shares);
  auto array = std::make_shared<Concrete>(
      type, placed, loc, CallAtLine(loc, [&] { return runtime::Allocate(bytes, count); }), shares);
  std::vector<bool> is_filled(base::Size(count));
  const std::vector<int32_t> instances = InstancesByPosition(*array);
  for (size_t p = 0; p < instances.size(); ++p) {
    if (instances[p] == kElsewhere || is_filled[base::Size(instances[p])]) continue;
    is_filled[base::Size(instances[p])] = true;
    fill(static_cast<int64_t>(p), array->buffers.at(instances[p]));
  }
  if (IsSharedByProcesses(*placed)) array->SetMayDiffer();
  return array;
}

}  // namespace tessera::compile
