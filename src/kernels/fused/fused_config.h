// What a fused kernel is configured with: programs, and where the tensors of a row are.
#pragma once
#include <deque>
#include <vector>

#include "kernels/fused/fused_graph.h"
#include "kernels/fused/kernel_table.h"

namespace tessera::kernels {

// A tensor (or an index: its address is a number, its itemsize 1) seen from one row.
struct TensorView {
  enum Kind : uint8_t { kScalar, kStream, kGather };
  Kind kind = kStream;
  int itemsize = 4;
  std::vector<int64_t> outer = {};  // bytes per step of each outer dim
  StridedWalk gather = {};          // kGather: of the row
  bool per_row = false;             // an output of one element per row
  bool reads_whole = false;         // by vectors, which the end of a row must not
  bool writes_whole = false;
  bool follows = false;  // an input whose elements another one has read before: they are near
};

// A part of an input that is read from several places (FusedDesc::Part), in bytes.
struct RowPart {
  std::vector<int64_t> begin, end;  // of outer dims, then along the row
  std::vector<int64_t> outer;       // per step of each outer dim
  int64_t offset = 0;
  int32_t operand = 0;
  bool fills = false;
};
struct RowRead {
  size_t number = 0;  // among the reads
  size_t tensor = 0;
  size_t first = 0;  // of its parts among all
  std::vector<RowPart> parts;
};
// A part of the row that is running: where it begins and ends, and the address of element 0.
struct ActivePart {
  int64_t begin, end;
  uintptr_t at;
  bool fills;
};
// Rows are filled from a buffer of that many bytes; behind it is room for a tile.
inline constexpr size_t kFillBytes = 4096, kReadBytes = kFillBytes + kSlotBytes;

// The iteration space as rows: outer dims, and n elements that the programs run over.
struct RowLayout {
  std::vector<int64_t> outer;
  int64_t rows = 1, n = 1;
  bool across = false;              // tiles are of one column of many rows (fused_across.h)
  std::vector<TensorView> tensors;  // inputs, outputs, indices
  std::vector<RowRead> reads;       // of inputs whose address changes within a row or between rows
};

// A tensor's elements of a block of rows, as many as a tile has elements: copied to or from scratch
// for the programs, which find them there column by column.
struct RowBlock {
  int64_t at = 0;                // in scratch
  std::vector<int64_t> columns;  // where in its row each is, as a view counts; one: of a row
  int64_t step = 0;              // from a row to the next one along the innermost outer dim
  bool is_dense = false;         // columns are neighbours, and rows are not
  bool is_fixed = false;         // the same for all rows
};

// Reductions cut a row into passes: before each one the values per row that it needs are made.
struct Pass {
  std::vector<Instr> row;                        // of one vector; across rows of a tile
  std::vector<Instr> tile, tile_stream, vector;  // elements; by stores or non-temporal stores
  std::vector<Instr> fold;                       // after every kBlock elements
  std::vector<size_t> stored;                    // tensors that the programs store by whole vectors
};

struct alignas(64) ConstantSlot {
  std::byte bytes[kSlotBytes];
};

inline constexpr int64_t kSlotStride = kSlotBytes + kPad;
inline constexpr int64_t kEndStride = 2 * kPad;  // a tensor's elements of the end of a row

// Where things are in the scratch of a worker, in bytes; slots and row buffers follow.
struct ScratchMap {
  int64_t base = 0, end_base = 0, index = 0, active = 0, fills = 0, buffer = 0, ends = 0, size = 0;
  // Across rows: where the tensors' next rows are, and their positions, to read and to write.
  int64_t from = 0, from_index = 0, to = 0, to_index = 0;
};

struct FusedConfig {
  const KernelTable* table = nullptr;
  RowLayout layout;
  size_t inputs = 0, outputs = 0;
  std::vector<int32_t> operand_of;  // per input
  std::vector<int64_t> offset_of;   // per input: bytes from where its operand begins
  size_t operands = 0;
  std::vector<std::vector<int64_t>> index_offsets;  // per index and device: what it counts from
  size_t tile = 0, lanes = 0;    // elements of a tile of eight vectors, and of one
  std::vector<RowBlock> blocks;  // across rows: per tensor of the layout
  std::vector<Pass> passes;
  std::deque<ConstantSlot> constants;
  std::deque<StridedWalk> gathers;
  ScratchMap map;
  int64_t scratch_bytes = 0;
  bool can_stream = false;
  int64_t ahead = 0;  // bytes from what a call reads to what the next one will; 0: unknown
  int64_t unit = 0, units_per_row = 1;  // elements that one part does, at the least
  double cost = 0;                      // simple operations per element
  bool is_small = false;                // one row, shorter than a vector
  bool last_pass_stores_first = false;  // out[0] is written at the very end of each tile
};

}  // namespace tessera::kernels
