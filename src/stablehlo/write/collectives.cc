// Collectives between the devices' own arrays, inside manual computations.
#include <absl/algorithm/container.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ops/manual.h"
#include "sharding/local.h"
#include "stablehlo/write/exporter.h"

namespace tessera::stablehlo {
namespace {

using sharding::AxisList;
using sharding::MeshDef;

// The axes of a collective, and its groups of devices: each in the order of the axes.
struct Team {
  Team(const MeshDef* mesh, const ops::NameList& names)
      : mesh(*mesh), axes(ops::AxesOf(mesh, names)), size(sharding::SizeOf(axes)) {
    for (int64_t p = 0; p < mesh->size(); ++p) {
      if (sharding::ShardIndex(*mesh, axes, p) != 0) continue;
      groups.emplace_back();
      for (int64_t k = 0; k < size; ++k) groups.back().push_back(Member(p, k));
    }
  }
  // Returns the device that has index k in the group of the device at position p.
  int64_t Member(int64_t p, int64_t k) const {
    return mesh.Device(sharding::WithShardIndex(mesh, axes, p, k));
  }
  std::string text() const {
    std::vector<std::string> rows;
    for (const auto& group : groups) rows.push_back(NumbersText(group));
    return fmt::format(
        "channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = "
        "dense<[{}]> : tensor<{}x{}xi64>, use_global_device_ids",
        fmt::join(rows, ", "), groups.size(), size);
  }

  const MeshDef& mesh;
  AxisList axes;
  int64_t size;
  std::vector<std::vector<int64_t>> groups;
};

Team TeamOf(const WriteCall& c) {
  return {c.type_out()->mesh(), c.params<ops::ManualParams>().axes};
}

// Returns the device's index along axes, as a scalar.
OutValue IndexAlong(TextWriter& w, const MeshDef& mesh, const AxisList& axes, DType dtype) {
  OutValue device = w.One("stablehlo.partition_id", {}, {{}, u32});
  std::vector<int32_t> indices(static_cast<size_t>(mesh.size()));
  for (int64_t p = 0; p < mesh.size(); ++p)
    indices[static_cast<size_t>(mesh.Device(p))] =
        static_cast<int32_t>(sharding::ShardIndex(mesh, axes, p));
  const OutType list{{mesh.size()}, i32};
  const OutValue all =
      w.One("stablehlo.constant", {}, list,
            "value = " + DenseText(list, {reinterpret_cast<const std::byte*>(indices.data()),
                                          4 * indices.size()}));
  const OutValue one =
      w.One("stablehlo.dynamic_slice", {all, device}, {{1}, i32}, "slice_sizes = array<i64: 1>");
  return w.Convert(w.Reshape(one, {}), dtype);
}

OutValues Stay(const WriteCall& c) { return {c.in[0]}; }

OutValue Summed(TextWriter& w, const OutValue& x, const Team& team, Reduction r) {
  if (team.size == 1) return x;
  return w.One("stablehlo.all_reduce", {x}, x.type, team.text(),
               {w.Combiner(ReductionOp(r), x.type.dtype)});
}

template <Reduction r>
OutValues AllReduce(const WriteCall& c) {
  return {Summed(c.w, c.in[0], TeamOf(c), r)};
}

OutValues ReduceScatter(const WriteCall& c) {
  const Team team = TeamOf(c);
  return {c.w.One("stablehlo.reduce_scatter", c.in, c.out(),
                  fmt::format("scatter_dimension = {} : i64, {}",
                              c.params<ops::ManualParams>().dims[0], team.text()),
                  {c.w.Combiner("stablehlo.add", c.out().dtype)})};
}

OutValues AllGather(const WriteCall& c) {
  return {c.w.One("stablehlo.all_gather", c.in, c.out(),
                  fmt::format("all_gather_dim = {} : i64, {}",
                              c.params<ops::ManualParams>().dims[0], TeamOf(c).text()))};
}

OutValues AllToAll(const WriteCall& c) {
  const auto& dims = c.params<ops::ManualParams>().dims;
  const Team team = TeamOf(c);
  std::string text = team.text();
  text.resize(text.rfind(", use_global"));  // it always has global ids
  return {c.w.One("stablehlo.all_to_all", c.in, c.out(),
                  fmt::format("split_dimension = {} : i64, concat_dimension = {} : i64, "
                              "split_count = {} : i64, {}",
                              dims[0], dims[1], team.size, text))};
}

// Each device takes its part of an array that all have.
OutValues SliceShard(const WriteCall& c) {
  TextWriter& w = c.w;
  const auto dim = static_cast<size_t>(c.params<ops::ManualParams>().dims[0]);
  const Team team = TeamOf(c);
  const OutValue index = IndexAlong(w, team.mesh, team.axes, i64);
  OutValues operands = {c.in[0]};
  for (size_t d = 0; d < c.out().shape.size(); ++d)
    operands.push_back(
        d == dim ? w.Binary("stablehlo.multiply", index, w.Whole(index.type, c.out().shape[d]))
                 : w.Whole(index.type, 0));
  return {w.One("stablehlo.dynamic_slice", operands, c.out(),
                "slice_sizes = " + IntegersText(c.out().shape))};
}

// A device sends to one other at a time, so arrays for several devices are sent in turns. A device
// that receives nothing has zeros.
OutValues Permute(const WriteCall& c) {
  const auto& p = c.params<ops::PermuteParams>();
  TextWriter& w = c.w;
  const Team team(c.type_out()->mesh(), p.axes);
  std::vector<std::vector<std::string>> turns;
  std::vector<size_t> sent(static_cast<size_t>(team.size), 0);
  for (const std::vector<int64_t>& pair : p.pairs) {
    const size_t turn = sent[static_cast<size_t>(pair[0])]++;
    if (turn == turns.size()) turns.emplace_back();
    for (const auto& group : team.groups)
      turns[turn].push_back(fmt::format("[{}, {}]", group[static_cast<size_t>(pair[0])],
                                        group[static_cast<size_t>(pair[1])]));
  }
  OutValue sum = w.Whole(c.out(), 0);
  for (const std::vector<std::string>& pairs : turns) {
    const OutValue received =
        w.One("stablehlo.collective_permute", c.in, c.out(),
              fmt::format("channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, "
                          "source_target_pairs = dense<[{}]> : tensor<{}x2xi64>",
                          fmt::join(pairs, ", "), pairs.size()));
    sum = &pairs == &turns[0] ? received : w.Binary("stablehlo.add", sum, received);
  }
  return {sum};
}

OutValues AxisIndex(const WriteCall& c) {
  const Team team = TeamOf(c);
  return {IndexAlong(c.w, team.mesh, team.axes, c.out().dtype)};
}

}  // namespace

OutValue SummedOver(TextWriter& w, const OutValue& x, const sharding::TensorSharding& s) {
  if (s.unreduced.empty()) return x;
  return Summed(w, x, {s.mesh, ops::NamesOf(s.mesh, s.unreduced)}, s.kind);
}

OutValue OnFirst(TextWriter& w, const OutValue& x, const sharding::TensorSharding& s) {
  if (s.unreduced.empty() || s.kind != Reduction::kSum) return x;
  const OutValue index = IndexAlong(w, *s.mesh, s.unreduced, i32);
  const OutValue is_first = w.Compare("EQ", index, w.Whole(index.type, 0));
  return w.Select(w.SpreadTo(is_first, x.type.shape), x, w.Whole(x.type, 0));
}

std::vector<OpWriter> CollectiveWriters() {
  using enum Reduction;
  return {
      {"assume_invariant", Stay},  {"axis_index", AxisIndex},       {"exchange_shards", AllToAll},
      {"full_to_shard", Stay},     {"gather_shards", AllGather},    {"pcast", Stay},
      {"pmax", AllReduce<kMax>},   {"pmin", AllReduce<kMin>},       {"ppermute", Permute},
      {"psum", AllReduce<kSum>},   {"psum_scatter", ReduceScatter}, {"shard_to_full", Stay},
      {"slice_shard", SliceShard},
  };
}

}  // namespace tessera::stablehlo
