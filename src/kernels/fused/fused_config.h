// The configuration of a fused kernel: its programs, and the addresses of tensors in a row.
#pragma once
#include <deque>
#include <vector>

#include "kernels/fused/fused_graph.h"
#include "kernels/fused/kernel_table.h"

namespace tessera::kernels {

// A tensor as one row sees it. An index is a tensor too: its address is a number and its
// itemsize 1.
struct TensorView {
  enum Kind : uint8_t { kScalar, kStream, kGather };
  Kind kind = kStream;
  int itemsize = 4;
  std::vector<int64_t> outer = {};  // bytes per step of each outer dim
  StridedWalk gather = {};          // kGather: the walk along a row
  bool per_row = false;             // an output of one element per row
  bool reads_whole = false;  // read by whole vectors, which must not run past the end of a row
  bool writes_whole = false;
  // an input whose elements another input has just read, so they are in a cache
  bool follows = false;
};

// A part of an input that is assembled from several operands (FusedDesc::Part), in bytes.
struct RowPart {
  std::vector<int64_t> begin, end;  // for the outer dims, then along the row
  std::vector<int64_t> outer;       // bytes per step of each outer dim
  int64_t offset = 0;
  int32_t operand = 0;
  bool fills = false;
};
struct RowRead {
  size_t number = 0;  // position among the reads
  size_t tensor = 0;
  size_t first = 0;  // index of its first part among the parts of all reads
  std::vector<RowPart> parts;
};
// A part that the current row crosses: its range, and the address that element 0 of the row
// would have.
struct ActivePart {
  int64_t begin, end;
  uintptr_t at;
  bool fills;
};
// The bytes of the buffer from which constant parts are read, and of that buffer plus a tile of
// complex numbers.
inline constexpr size_t kFillBytes = 4096, kReadBytes = kFillBytes + 2 * kSlotBytes;

// The iteration space as rows: the outer dims, and the n elements of a row that programs run over.
struct RowLayout {
  std::vector<int64_t> outer;
  int64_t rows = 1, n = 1;
  bool across = false;              // tiles are one column of many rows (fused_across.h)
  std::vector<TensorView> tensors;  // inputs, then outputs, then indices
  std::vector<RowRead> reads;       // inputs that are assembled from parts
};

// A tensor's elements in a block of rows, copied to or from scratch. The programs find them there
// column by column.
struct RowBlock {
  int64_t at = 0;  // offset in scratch
  // offset of each column in its row, in the units of TensorView; one column if there is one value
  // per row
  std::vector<int64_t> columns;
  int64_t step = 0;       // from one row to the next along the innermost outer dim
  bool is_dense = false;  // columns are adjacent and rows are not
  bool is_fixed = false;  // the same for all rows
};

// Reductions divide the work on a row into passes. Before each pass the row program computes the
// values per row that the pass needs.
struct Pass {
  std::vector<Instr> row;  // for one vector; across rows for a tile
  // for elements; `tile_stream` uses non-temporal stores
  std::vector<Instr> tile, tile_stream, vector;
  std::vector<Instr> fold;     // runs after every kBlock elements
  std::vector<size_t> stored;  // tensors that the programs store by whole vectors
};

struct alignas(64) ConstantSlot {
  std::byte bytes[kSlotBytes];
};

inline constexpr int64_t kSlotStride = kSlotBytes + kPad;
// room for one tensor's elements at the end of a row
inline constexpr int64_t kEndStride = 2 * kPad;

// The layout of a worker's scratch, in bytes; slots and row buffers follow.
struct ScratchMap {
  int64_t base = 0, end_base = 0, index = 0, active = 0, fills = 0, buffer = 0, ends = 0, size = 0;
  // Across rows: the addresses of the tensors' next rows and their positions, to read and to write.
  int64_t from = 0, from_index = 0, to = 0, to_index = 0;
};

struct FusedConfig {
  const KernelTable* table = nullptr;
  RowLayout layout;
  size_t inputs = 0, outputs = 0;
  std::vector<int32_t> operand_of;  // per input
  std::vector<int64_t> offset_of;   // per input: bytes from the start of its operand
  size_t operands = 0;
  std::vector<std::vector<int64_t>> index_offsets;  // per index and device: the first number
  size_t tile = 0, lanes = 0;    // elements of a tile of eight vectors; elements of one vector
  std::vector<RowBlock> blocks;  // across rows: per tensor of the layout
  std::vector<Pass> passes;
  std::deque<ConstantSlot> constants;
  std::deque<StridedWalk> gathers;
  ScratchMap map;
  int64_t scratch_bytes = 0;
  bool can_stream = false;
  // bytes from the data that a call reads to the data of the next call; 0: unknown
  int64_t ahead = 0;
  int64_t unit = 0, units_per_row = 1;  // the smallest number of elements that one part processes
  double cost = 0;                      // simple operations per element
  bool is_small = false;                // there is one row, shorter than a vector
  bool last_pass_stores_first = false;  // out[0] is written at the very end of each tile
};

}  // namespace tessera::kernels
