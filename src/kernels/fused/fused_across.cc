// Plans and fills the blocks of short rows, and runs the programs on them.
#include "kernels/fused/fused_across.h"

#include <absl/algorithm/container.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/at.h"
#include "base/element_bits.h"
#include "kernels/copy/copy_bytes.h"
#include "kernels/fused/row_cursor.h"
#include "kernels/parts.h"

namespace tessera::kernels {
namespace {

template <class T>
void CopyItems(std::byte* to, int64_t to_step, const std::byte* from, int64_t from_step,
               int64_t n) {
  for (int64_t k = 0; k < n; ++k) std::memcpy(to + k * to_step, from + k * from_step, sizeof(T));
}

// Copies n items with a stride on either side.
void CopyColumn(std::byte* to, int64_t to_step, const std::byte* from, int64_t from_step, int64_t n,
                int64_t item) {
  if (to_step == item && from_step == item) return CopyBytes(to, from, n * item);
  if (to_step == item && from_step == 0) return FillBytes(to, n * item, Pattern(from, item));
  switch (item) {
    case 1:
      return CopyItems<uint8_t>(to, to_step, from, from_step, n);
    case 2:
      return CopyItems<uint16_t>(to, to_step, from, from_step, n);
    case 4:
      return CopyItems<uint32_t>(to, to_step, from, from_step, n);
    case 8:
      return CopyItems<uint64_t>(to, to_step, from, from_step, n);
    default:
      return CopyItems<base::ElementBits>(to, to_step, from, from_step, n);
  }
}

class AcrossRunner {
 public:
  explicit AcrossRunner(const plan::KernelArgs& call)
      : f_(*static_cast<const FusedConfig*>(call.config)),
        scratch_(call.scratch),
        base_(AddressesAt(f_.map.base)),
        from_(AddressesAt(f_.map.from)),
        to_(AddressesAt(f_.map.to)),
        read_(f_, call, from_, PositionsAt(f_.map.from_index)),
        write_(f_, call, to_, PositionsAt(f_.map.to_index)) {
    base_[kAbsolute] = nullptr;
    base_[kScratch] = scratch_;
    for (size_t t = 0; t < f_.blocks.size(); ++t) base_[kFirstTensor + t] = BlockOf(t);
    context_.base = base_;
    context_.buffer = scratch_ + f_.map.buffer;
  }

  void Run(int32_t part, int32_t parts) {
    const Range rows = Share(f_.layout.rows, Tile(), part, parts);
    if (rows.begin >= rows.end) return;
    read_.Seek(rows.begin);
    write_.Seek(rows.begin);
    for (size_t t = 0; t < f_.blocks.size(); ++t)
      if (!IsOutput(t) && f_.blocks[t].is_fixed) FillFromRows(t, 0, Tile());
    for (int64_t row = rows.begin; row < rows.end; row += Tile()) {
      const int64_t count = std::min(Tile(), rows.end - row);
      ReadRows(count);
      RunPrograms();
      WriteRows(count);
    }
  }

 private:
  std::byte** AddressesAt(int64_t at) const { return reinterpret_cast<std::byte**>(scratch_ + at); }
  int64_t* PositionsAt(int64_t at) const { return reinterpret_cast<int64_t*>(scratch_ + at); }
  int64_t Tile() const { return static_cast<int64_t>(f_.tile); }
  bool IsOutput(size_t t) const { return t >= f_.inputs && t < f_.inputs + f_.outputs; }
  bool IsIndex(size_t t) const { return t >= f_.inputs + f_.outputs; }
  int64_t ItemOf(size_t t) const { return f_.layout.tensors[t].itemsize; }
  std::byte* BlockOf(size_t t) const { return scratch_ + f_.blocks[t].at; }

  void ReadRows(int64_t rows) {
    const auto each = [&](auto f) {
      for (size_t t = 0; t < f_.blocks.size(); ++t)
        if (!IsOutput(t) && !f_.blocks[t].is_fixed) f(t);
    };
    // The programs compute on all rows of a block, even if only some are used.
    if (rows < Tile()) each([&](size_t t) { std::memset(BlockOf(t), 0, BytesOf(t)); });
    for (int64_t r = 0, run; r < rows; r += run) {
      run = std::min(rows - r, read_.RowsInStride());
      each([&](size_t t) { FillFromRows(t, r, run); });
      read_.Advance(run);
    }
  }
  void WriteRows(int64_t rows) {
    for (int64_t r = 0, run; r < rows; r += run) {
      run = std::min(rows - r, write_.RowsInStride());
      for (size_t t = f_.inputs; t < f_.inputs + f_.outputs; ++t) StoreToRows(t, r, run);
      write_.Advance(run);
    }
  }
  size_t BytesOf(size_t t) const { return f_.blocks[t].columns.size() * f_.tile * ItemOf(t); }

  // Fills rows [r, r + n) of a block.
  void FillFromRows(size_t t, int64_t r, int64_t n) {
    const RowBlock& block = f_.blocks[t];
    const int64_t item = ItemOf(t), pitch = Tile() * item;
    std::byte* to = BlockOf(t) + r * item;
    if (block.is_dense) {
      TransposeFn(item)(to, pitch, from_[t], block.step, n, std::ssize(block.columns));
      return;
    }
    for (int64_t column : block.columns) {
      if (IsIndex(t))
        StoreIndices(to, reinterpret_cast<intptr_t>(from_[t]) + column, block.step, n);
      else
        CopyColumn(to, item, from_[t] + column, block.step, n, item);
      to += pitch;
    }
  }
  void StoreToRows(size_t t, int64_t r, int64_t n) {
    const RowBlock& block = f_.blocks[t];
    const int64_t item = ItemOf(t), pitch = Tile() * item;
    const std::byte* from = BlockOf(t) + r * item;
    if (block.is_dense) {
      TransposeFn(item)(to_[t], block.step, from, pitch, std::ssize(block.columns), n);
      return;
    }
    for (int64_t column : block.columns) {
      CopyColumn(to_[t] + column, block.step, from, item, n, item);
      from += pitch;
    }
  }
  static TransposeTileFn TransposeFn(int64_t item) {
    return Simd().transpose[std::countr_zero(static_cast<uint64_t>(item))];
  }
  static void StoreIndices(std::byte* to, int64_t first, int64_t step, int64_t n) {
    auto* index = reinterpret_cast<int64_t*>(to);
    for (int64_t k = 0; k < n; ++k) index[k] = first + k * step;
  }

  void RunPrograms() {
    for (const Pass& pass : f_.passes) {
      if (!pass.row.empty()) f_.table->enter_tile(pass.row.data(), &context_, 0, 1, 1);
      if (!pass.tile.empty())
        f_.table->enter_tile(pass.tile.data(), &context_, 0, base::Size(f_.layout.n) * f_.tile,
                             f_.tile);
    }
  }

  const FusedConfig& f_;
  std::byte* scratch_;
  std::byte** base_;
  std::byte **from_, **to_;  // per tensor: the next row to read; the next row to write
  RowCursor read_, write_;
  Context context_;
};

RowBlock MakeBlock(const TensorView& view, int64_t n) {
  RowBlock block;
  block.step = view.outer.empty() ? 0 : view.outer.back();
  block.is_fixed = absl::c_all_of(view.outer, [](auto s) { return s == 0; });
  if (view.kind == TensorView::kGather)
    Walk(view.gather, 0, base::Size(n),
         [&](size_t, int64_t at) { block.columns.push_back(at * view.itemsize); });
  else
    for (int64_t j = 0; j < (view.kind == TensorView::kScalar ? 1 : n); ++j)
      block.columns.push_back(j * view.itemsize);
  return block;
}

}  // namespace

void AddBlocks(FusedConfig& f) {
  const auto allocate = [&](size_t bytes) {
    const int64_t at = f.scratch_bytes;
    f.scratch_bytes += static_cast<int64_t>((bytes + kPad + 63) / 64 * 64);
    return at;
  };
  std::vector<TensorView>& tensors = f.layout.tensors;
  for (int64_t* table : {&f.map.from, &f.map.to}) *table = allocate(tensors.size() * 8);
  for (int64_t* index : {&f.map.from_index, &f.map.to_index})
    *index = allocate(f.layout.outer.size() * 8);
  for (size_t t = 0; t < tensors.size(); ++t) {
    TensorView& view = tensors[t];
    RowBlock block = MakeBlock(view, f.layout.n);
    const bool is_index = t >= f.inputs + f.outputs;
    block.is_dense = !is_index && view.kind == TensorView::kStream && f.layout.n > 1 &&
                     block.step != 0 && block.step != view.itemsize;
    // The block stores the elements of a gathered tensor in order, and an index as i64.
    if (view.kind == TensorView::kGather) view.kind = TensorView::kStream;
    if (is_index) view.itemsize = sizeof(int64_t);
    block.at = allocate(block.columns.size() * f.tile * base::Size(view.itemsize));
    f.blocks.push_back(std::move(block));
  }
}

void RunAcross(const plan::KernelArgs& call) { AcrossRunner(call).Run(call.part, call.parts); }

}  // namespace tessera::kernels
