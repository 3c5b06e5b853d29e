// Makes the kernel of a fused group.
#include "kernels/fused/fused.h"

#include <algorithm>
#include <utility>

#include "base/at.h"
#include "kernels/fused/fused_across.h"
#include "kernels/fused/fused_assemble.h"
#include "kernels/fused/fused_config.h"
#include "kernels/fused/fused_layout.h"
#include "kernels/fused/fused_run.h"
#include "kernels/fused/kernel_table.h"

namespace tessera::kernels {
namespace {

// Outputs of more bytes per call than this bypass the caches. Measured with 2 MiB of L2 and a large
// L3: up to 16 MiB such stores gain nothing, and the reader would find the output in L3; at 64 MiB
// they are 1.1 to 1.3 times as fast.
constexpr int64_t kStreamedOutputBytes = 32 << 20;
// Elements that a part processes at a time; a multiple of kBlock.
constexpr int64_t kUnit = 4096;
// The least work, in simple operations, that is worth a part of its own.
constexpr double kPartCost = 16384;

bool HasRows(const plan::FusedDesc& desc) {
  for (const plan::FusedNode& node : desc.nodes)
    if (node.kind == plan::FusedNode::kReduce) return true;
  return desc.reduced > 0;
}

void MapScratch(FusedConfig& config) {
  const auto rounded = [](size_t n) { return static_cast<int64_t>((n + 63) / 64 * 64); };
  const size_t tensors = config.layout.tensors.size();
  const int64_t table = rounded((tensors + kFirstTensor) * sizeof(std::byte*));
  ScratchMap& map = config.map;
  map.end_base = table;
  map.index = 2 * table;
  map.active = map.index + rounded(config.layout.outer.size() * sizeof(int64_t));
  size_t parts = 0;
  for (const RowRead& read : config.layout.reads) parts += read.parts.size();
  map.fills = map.active + rounded(parts * sizeof(ActivePart));
  map.buffer = map.fills + static_cast<int64_t>(config.layout.reads.size() * kReadBytes);
  map.ends = map.buffer + static_cast<int64_t>(kSlotBytes);
  map.size = map.ends + static_cast<int64_t>(tensors) * kEndStride;
  config.scratch_bytes = map.size;
}

int64_t Bytes(const TensorView& view, const RowLayout& layout) {
  int64_t n = view.kind == TensorView::kScalar || view.per_row ? 1 : layout.n;
  for (size_t d = 0; d < layout.outer.size(); ++d)
    if (view.outer[d] != 0) n *= layout.outer[d];
  return n * view.itemsize;
}

bool CanStream(const FusedConfig& config, bool is_part) {
  int64_t bytes = 0;
  for (size_t k = config.inputs; k < config.inputs + config.outputs; ++k) {
    const TensorView& view = config.layout.tensors[k];
    if (!view.writes_whole) continue;
    for (int64_t stride : view.outer)
      if (stride % 64 != 0) return false;
    bytes += Bytes(view, config.layout);
  }
  return bytes > 0 && (is_part || bytes > kStreamedOutputBytes);
}

// Returns a bit for each operand that is read only at the position that is being written.
uint64_t InPlaceOperands(const plan::FusedDesc& desc, const FusedConfig& config) {
  if (!config.last_pass_stores_first || desc.outputs.size() != 1) return 0;
  const TensorView& out = config.layout.tensors[config.inputs];
  const auto bit = [](int32_t operand) { return operand < 64 ? uint64_t{1} << operand : 0; };
  uint64_t mask = 0, others = 0;
  for (size_t k = 0; k < config.inputs; ++k) {
    const TensorView& in = config.layout.tensors[k];
    const bool alike = desc.inputs[k].parts.empty() && desc.inputs[k].element < 0 &&
                       in.kind == TensorView::kStream && in.gather.dims.empty() &&
                       out.gather.dims.empty() && in.itemsize == out.itemsize &&
                       in.outer == out.outer;
    for (const auto& part : desc.inputs[k].parts) others |= bit(part.operand);
    (alike ? mask : others) |= desc.inputs[k].parts.empty() ? bit(config.operand_of[k]) : 0;
  }
  return mask & ~others;
}

void NumberOperands(const plan::FusedDesc& desc, FusedConfig& config) {
  const auto add = [&](int32_t operand) {
    config.operands = std::max(config.operands, base::Size(operand) + 1);
    return operand;
  };
  for (size_t k = 0; k < desc.inputs.size(); ++k) {
    const auto& input = desc.inputs[k];
    for (const auto& part : input.parts) add(part.operand);
    config.operand_of.push_back(
        input.parts.empty() ? add(input.operand < 0 ? static_cast<int32_t>(k) : input.operand)
                            : -1);
    config.offset_of.push_back(std::max<int64_t>(input.element, 0) * input.dtype.size());
  }
}

// Returns the bytes read of a tensor. An input that is assembled from parts may read little of
// its operands.
double BytesOf(const FusedConfig& config, size_t tensor) {
  for (const RowRead& read : config.layout.reads)
    if (read.tensor == tensor)
      return static_cast<double>(config.layout.rows * config.layout.n *
                                 config.layout.tensors[tensor].itemsize);
  return static_cast<double>(Bytes(config.layout.tensors[tensor], config.layout));
}

// Sets the smallest unit of work of a part; returns the number of units.
int64_t ChooseUnits(FusedConfig& config, bool has_rows) {
  const auto [n, rows] = std::pair(config.layout.n, config.layout.rows);
  config.unit = has_rows || n < 2 * kUnit ? std::max<int64_t>(n, 1) : kUnit;
  config.units_per_row = std::max<int64_t>((n + config.unit - 1) / config.unit, 1);
  const auto tile = static_cast<int64_t>(config.tile);
  return config.layout.across ? (rows + tile - 1) / tile : rows * config.units_per_row;
}

bool IsSmall(const FusedConfig& config) {
  return config.layout.rows == 1 && config.layout.reads.empty() && config.passes.size() == 1 &&
         config.passes[0].fold.empty() && !config.passes[0].vector.empty() &&
         base::Size(config.layout.n) < config.lanes && config.layout.n > 0;
}

}  // namespace

plan::Kernel Fused(const plan::FusedDesc& desc) {
  auto config = std::make_shared<FusedConfig>();
  config->table = &Kernels();
  config->inputs = desc.inputs.size();
  config->outputs = desc.outputs.size();
  NumberOperands(desc, *config);
  const bool has_rows = HasRows(desc);
  config->layout = MakeLayout(desc, has_rows);
  for (const auto& iota : desc.iotas) config->index_offsets.push_back(iota.offsets);
  LaneGraph graph = BuildLaneGraph(desc, config->layout, *config->table);
  config->lanes = config->table->vector_bytes / (graph.wide ? 8 : 4);
  config->tile = config->lanes * kVectors;
  MapScratch(*config);
  if (config->layout.across) AddBlocks(*config);
  Assemble(desc, graph, *config);
  config->can_stream = CanStream(*config, desc.streams);
  config->ahead = desc.ahead;
  const int64_t units = ChooseUnits(*config, has_rows);

  config->is_small = IsSmall(*config);

  plan::Kernel kernel;
  kernel.fn = config->is_small ? &RunFusedSmall : config->layout.across ? &RunAcross : &RunFused;
  const auto elements = static_cast<double>(config->layout.rows * config->layout.n);
  kernel.flops = config->cost * elements;
  for (size_t k = 0; k < config->inputs + config->outputs; ++k) kernel.bytes += BytesOf(*config, k);
  kernel.scratch_bytes = config->scratch_bytes;
  const auto worth = static_cast<int64_t>(elements * (config->cost + 1) / kPartCost);
  kernel.max_parts =
      static_cast<int32_t>(std::clamp<int64_t>(worth, 1, std::clamp<int64_t>(units, 1, 1 << 20)));
  kernel.in_place = InPlaceOperands(desc, *config);
  kernel.config = std::move(config);
  return kernel;
}

}  // namespace tessera::kernels
