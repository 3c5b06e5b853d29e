// Writes the output tile by tile. Every box writes its share of a tile while the tile is in the
// cache, so the output passes through memory once.
#include "kernels/copy/boxes.h"

#include <absl/algorithm/container.h>
#include <absl/container/inlined_vector.h>
#include <absl/types/span.h>

#include <algorithm>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/at.h"
#include "base/shape.h"
#include "kernels/copy/copy_bytes.h"
#include "kernels/copy/copy_simd.h"
#include "kernels/parts.h"

namespace tessera::kernels {
namespace {

using Part = plan::FusedDesc::Part;

// A loop inside a tile; `in` and `out` are strides in bytes.
struct TileLoop {
  int64_t n, in, out;
};
struct TileBox {
  size_t operand = 0;
  bool fill = false;
  std::vector<int64_t> begin = {}, end = {}, strides = {};  // of the outer dims
  int64_t in = 0, out = 0;           // offsets from the start of a tile, in bytes
  std::vector<TileLoop> loops = {};  // outermost first
  int64_t run = 0;                   // bytes that are contiguous in both
};
struct BoxesConfig {
  std::vector<TileBox> boxes;
  std::vector<int64_t> outer;  // sizes of the leading dims: their indices number the tiles
  int64_t tiles = 1, tile_bytes = 0, item = 1;
  bool streams = false;
};

void CopyRuns(const TileBox& box, size_t depth, const std::byte* in, std::byte* out, bool streams) {
  if (depth == box.loops.size()) {
    if (streams)
      Simd().stream_copy(out, in, box.run);
    else
      CopyBytes(out, in, box.run);
    return;
  }
  const TileLoop& loop = box.loops[depth];
  if (depth + 1 < box.loops.size() || streams) {
    for (int64_t i = 0; i < loop.n; ++i)
      CopyRuns(box, depth + 1, in + i * loop.in, out + i * loop.out, streams);
    return;
  }
  const auto copy = [&](auto run) {
    for (int64_t i = 0; i < loop.n; ++i) CopyBytes(out + i * loop.out, in + i * loop.in, run);
  };
  // With a known length a copy is a few instructions.
  switch (box.run) {
    case 16:
      return copy(std::integral_constant<int64_t, 16>());
    case 32:
      return copy(std::integral_constant<int64_t, 32>());
    case 64:
      return copy(std::integral_constant<int64_t, 64>());
    default:
      return copy(box.run);
  }
}
void FillRuns(const TileBox& box, size_t depth, const Pattern& pattern, std::byte* out,
              bool streams) {
  if (depth == box.loops.size()) return FillBytes(out, box.run, pattern, streams);
  const TileLoop& loop = box.loops[depth];
  for (int64_t i = 0; i < loop.n; ++i)
    FillRuns(box, depth + 1, pattern, out + i * loop.out, streams);
}

bool Contains(const TileBox& box, absl::Span<const int64_t> index) {
  for (size_t d = 0; d < index.size(); ++d)
    if (index[d] < box.begin[d] || index[d] >= box.end[d]) return false;
  return true;
}

void WriteTile(const BoxesConfig& config, const std::byte* const* in, int64_t tile,
               std::byte* out) {
  absl::InlinedVector<int64_t, 6> index(config.outer.size());
  for (size_t d = index.size(); d-- > 0; tile /= config.outer[d]) index[d] = tile % config.outer[d];
  for (const TileBox& box : config.boxes) {
    if (!Contains(box, index)) continue;
    const std::byte* from = in[box.operand] + box.in;
    if (box.fill) {
      FillRuns(box, 0, Pattern(from, config.item), out + box.out, config.streams);
      continue;
    }
    for (size_t d = 0; d < index.size(); ++d) from += index[d] * box.strides[d];
    CopyRuns(box, 0, from, out + box.out, config.streams);
  }
}

void RunBoxes(const plan::KernelArgs& call) {
  const auto& config = *static_cast<const BoxesConfig*>(call.config);
  const Range tiles = Share(config.tiles, 1, call.part, call.parts);
  for (int64_t tile = tiles.begin; tile < tiles.end; ++tile)
    WriteTile(config, call.in, tile, call.out[0] + tile * config.tile_bytes);
  if (config.streams) StreamFence();
}

struct OnTilesConfig {
  BoxesConfig boxes;
  plan::Kernel of_tile;
  int64_t result_bytes, sources, others;
  int64_t scratch;  // offset of the kernel's own scratch, in bytes
};

void RunOnTiles(const plan::KernelArgs& call) {
  const auto& config = *static_cast<const OnTilesConfig*>(call.config);
  std::vector<const std::byte*> in{call.scratch};
  in.insert(in.end(), call.in + config.sources, call.in + config.sources + config.others);
  std::byte* out = nullptr;
  const plan::KernelArgs of_tile{.config = config.of_tile.config.get(),
                                 .in = in.data(),
                                 .out = &out,
                                 .scratch = call.scratch + config.scratch,
                                 .device = call.device};
  const Range tiles = Share(config.boxes.tiles, 1, call.part, call.parts);
  for (int64_t tile = tiles.begin; tile < tiles.end; ++tile) {
    WriteTile(config.boxes, call.in, tile, call.scratch);
    out = call.out[0] + tile * config.result_bytes;
    config.of_tile.fn(of_tile);
  }
}

// Returns the box with a loop per dim from `outer` on. Dims that are contiguous in both arrays are
// merged.
TileBox MakeBox(const Part& part, const Shape& shape, size_t outer, int32_t itemsize) {
  const std::vector<int64_t> dense = base::DenseStrides(shape);
  TileBox box{.operand = base::Size(part.operand),
              .fill = absl::c_all_of(part.strides, [](int64_t s) { return s == 0; })};
  const auto at = [](size_t d) { return static_cast<std::ptrdiff_t>(d); };
  box.begin.assign(part.begin.begin(), part.begin.begin() + at(outer));
  box.end.assign(part.end.begin(), part.end.begin() + at(outer));
  for (size_t d = 0; d < outer; ++d) box.strides.push_back(part.strides[d] * itemsize);
  box.in = part.offset * itemsize;
  box.run = itemsize;
  for (size_t d = shape.size(); d-- > outer;) {
    const int64_t n = part.end[d] - part.begin[d], in = part.strides[d] * itemsize,
                  out = dense[d] * itemsize;
    box.in += part.begin[d] * in;
    box.out += part.begin[d] * out;
    if (n == 1) continue;
    TileLoop* last = box.loops.empty() ? nullptr : &box.loops.back();
    if (!last && out == box.run && (in == box.run || box.fill))
      box.run *= n;
    else if (last && out == last->out * last->n && in == last->in * last->n)
      last->n *= n;
    else
      box.loops.push_back({n, in, out});
  }
  std::reverse(box.loops.begin(), box.loops.end());
  return box;
}

// Returns the boxes in tiles: one for each index of the first `tile_dims` dims.
BoxesConfig InTiles(int32_t itemsize, const Shape& shape, const std::vector<Part>& boxes,
                    size_t tile_dims) {
  BoxesConfig config{
      .boxes = {}, .outer = {}, .tile_bytes = base::Elements(shape) * itemsize, .item = itemsize};
  for (size_t d = 0; d < tile_dims; ++d) {
    config.outer.push_back(shape[d]);
    config.tiles *= shape[d];
    config.tile_bytes /= std::max<int64_t>(shape[d], 1);
  }
  for (const Part& part : boxes) config.boxes.push_back(MakeBox(part, shape, tile_dims, itemsize));
  return config;
}

}  // namespace

plan::Kernel CopyBoxes(int32_t itemsize, const Shape& shape, const std::vector<Part>& boxes) {
  // Half of a first-level cache.
  constexpr int64_t kTileBytes = int64_t{16} << 10;
  const int64_t out_bytes = base::Elements(shape) * itemsize;
  size_t tile_dims = 0;
  for (int64_t tile = out_bytes; tile_dims + 1 < shape.size() && tile > kTileBytes;)
    tile /= shape[tile_dims++];
  BoxesConfig config = InTiles(itemsize, shape, boxes, tile_dims);
  // Streaming stores must write whole cache lines, or a line goes to memory twice.
  config.streams = out_bytes >= kStreamBytes;
  for (const TileBox& box : config.boxes) {
    const bool lines = box.run % 64 == 0 && box.out % 64 == 0 &&
                       absl::c_all_of(box.loops, [](const TileLoop& l) { return l.out % 64 == 0; });
    config.streams = config.streams && lines && config.tile_bytes % 64 == 0;
  }
  const double bytes = 2.0 * static_cast<double>(out_bytes);
  const int64_t tiles = config.tiles;
  return {.fn = RunBoxes,
          .config = std::make_shared<const BoxesConfig>(std::move(config)),
          .bytes = bytes,
          .max_parts = MaxParts(bytes, tiles)};
}

plan::Kernel OnTiles(const OnTilesDesc& desc) {
  BoxesConfig boxes =
      InTiles(desc.itemsize, desc.shape, desc.boxes, static_cast<size_t>(desc.tile_dims));
  const auto tiles = static_cast<double>(boxes.tiles);
  const int64_t scratch = (boxes.tile_bytes + 63) / 64 * 64;
  // The work of a tile takes longer than moving its bytes.
  const double flops = desc.of_tile.flops * tiles, bytes = desc.of_tile.bytes * tiles;
  const int32_t most = MaxParts(bytes + flops / 4, boxes.tiles);
  const int64_t scratch_bytes = scratch + desc.of_tile.scratch_bytes;
  return {
      .fn = RunOnTiles,
      .config = std::make_shared<const OnTilesConfig>(OnTilesConfig{
          std::move(boxes), desc.of_tile, desc.result_bytes, desc.sources, desc.others, scratch}),
      .flops = flops,
      .bytes = bytes,
      .scratch_bytes = scratch_bytes,
      .max_parts = most};
}

}  // namespace tessera::kernels
