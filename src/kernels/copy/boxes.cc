// Writes the output tile by tile. Every box writes its share of a tile while the tile is in the
// cache, so the output passes through memory once.
#include "kernels/copy/boxes.h"

#include <absl/algorithm/container.h>

#include <algorithm>
#include <memory>
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
  for (int64_t i = 0; i < loop.n; ++i) CopyBytes(out + i * loop.out, in + i * loop.in, box.run);
}
void FillRuns(const TileBox& box, size_t depth, const Pattern& pattern, std::byte* out,
              bool streams) {
  if (depth == box.loops.size()) return FillBytes(out, box.run, pattern, streams);
  const TileLoop& loop = box.loops[depth];
  for (int64_t i = 0; i < loop.n; ++i)
    FillRuns(box, depth + 1, pattern, out + i * loop.out, streams);
}

bool Contains(const TileBox& box, const std::vector<int64_t>& index) {
  for (size_t d = 0; d < index.size(); ++d)
    if (index[d] < box.begin[d] || index[d] >= box.end[d]) return false;
  return true;
}

void RunBoxes(const plan::KernelArgs& call) {
  const auto& config = *static_cast<const BoxesConfig*>(call.config);
  const Range tiles = Share(config.tiles, 1, call.part, call.parts);
  std::vector<int64_t> index(config.outer.size());
  int64_t left = tiles.begin;
  for (size_t d = index.size(); d-- > 0; left /= config.outer[d]) index[d] = left % config.outer[d];
  for (int64_t tile = tiles.begin; tile < tiles.end; ++tile) {
    std::byte* out = call.out[0] + tile * config.tile_bytes;
    for (const TileBox& box : config.boxes) {
      if (!Contains(box, index)) continue;
      const std::byte* in = call.in[box.operand] + box.in;
      if (box.fill) {
        FillRuns(box, 0, Pattern(in, config.item), out + box.out, config.streams);
        continue;
      }
      for (size_t d = 0; d < index.size(); ++d) in += index[d] * box.strides[d];
      CopyRuns(box, 0, in, out + box.out, config.streams);
    }
    for (size_t d = index.size(); d-- > 0;) {
      if (++index[d] < config.outer[d]) break;
      index[d] = 0;
    }
  }
  if (config.streams) StreamFence();
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

}  // namespace

plan::Kernel CopyBoxes(int32_t itemsize, const Shape& shape, const std::vector<Part>& boxes) {
  // Half of a first-level cache.
  constexpr int64_t kTileBytes = int64_t{16} << 10;
  BoxesConfig config{
      .boxes = {}, .outer = {}, .tile_bytes = base::Elements(shape) * itemsize, .item = itemsize};
  const double bytes = 2.0 * static_cast<double>(config.tile_bytes);
  config.streams = config.tile_bytes >= kStreamBytes;
  while (config.outer.size() + 1 < shape.size() && config.tile_bytes > kTileBytes) {
    const int64_t n = shape[config.outer.size()];
    config.outer.push_back(n);
    config.tiles *= n;
    config.tile_bytes /= n;
  }
  for (const Part& part : boxes)
    config.boxes.push_back(MakeBox(part, shape, config.outer.size(), itemsize));
  // Streaming stores must write whole cache lines, or a line goes to memory twice.
  for (const TileBox& box : config.boxes) {
    const bool lines = box.run % 64 == 0 && box.out % 64 == 0 &&
                       absl::c_all_of(box.loops, [](const TileLoop& l) { return l.out % 64 == 0; });
    config.streams = config.streams && lines && config.tile_bytes % 64 == 0;
  }
  const int64_t tiles = config.tiles;
  return {.fn = RunBoxes,
          .config = std::make_shared<const BoxesConfig>(std::move(config)),
          .bytes = bytes,
          .max_parts = MaxParts(bytes, tiles)};
}

}  // namespace tessera::kernels
