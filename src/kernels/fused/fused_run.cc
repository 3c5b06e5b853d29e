// Runs the programs of a fused group. A call allocates nothing and analyses nothing.
#include "kernels/fused/fused_run.h"

#include <algorithm>
#include <cstring>

#include "base/at.h"
#include "kernels/fused/fused_config.h"
#include "kernels/fused/row_cursor.h"

namespace tessera::kernels {
namespace {

// Copies up to 128 bytes in overlapping words, which is faster than calling memcpy.
inline void CopySmall(std::byte* to, const std::byte* from, size_t bytes) {
  const auto word = [&]<class W>(W, size_t at) {
    W w;
    std::memcpy(&w, from + at, sizeof(w));
    std::memcpy(to + at, &w, sizeof(w));
  };
  struct Word16 {
    uint64_t low, high;
  };
  const auto both = [&]<class W>(W w) {
    for (size_t k = 0; k + sizeof(w) < bytes; k += sizeof(w)) word(w, k);
    word(w, bytes - sizeof(w));
  };
  if (bytes >= 16) return both(Word16{});
  if (bytes >= 8) return both(uint64_t{});
  if (bytes >= 4) return both(uint32_t{});
  for (size_t k = 0; k < bytes; ++k) to[k] = from[k];
}

// The best of 1 to 4 KiB on the machines at hand.
constexpr size_t kFetchAhead = 2048;
// From this many elements on, tiles that read neighbours prefetch: their current rows are in L1,
// but the next row is no longer in L2. This saves a third of a stencil's time.
constexpr int64_t kLeastFetchingElements = 1 << 18;
constexpr size_t kMostRowBytes = 16384;

class Runner {
 public:
  explicit Runner(const plan::KernelArgs& call)
      : f_(*static_cast<const FusedConfig*>(call.config)),
        scratch_(call.scratch),
        base_(reinterpret_cast<std::byte**>(scratch_ + f_.map.base)),
        index_(reinterpret_cast<int64_t*>(scratch_ + f_.map.index)),
        cursor_(f_, call, base_ + kFirstTensor, index_) {
    base_[kAbsolute] = nullptr;
    base_[kScratch] = scratch_;
    context_.base = base_;
    context_.buffer = scratch_ + f_.map.buffer;
    stream_ = f_.can_stream && MayStream(call);
    const bool far = stream_ || (!f_.layout.reads.empty() &&
                                 f_.layout.rows * f_.layout.n > kLeastFetchingElements);
    if (far && f_.passes.size() == 1) context_.ahead = kFetchAhead;
    // The hardware prefetcher does not continue from one row to a distant next one.
    if (f_.passes.size() == 1 && f_.inputs == 1 && f_.layout.rows > 1) {
      const TensorView& in = f_.layout.tensors[0];
      if (in.outer.back() > f_.layout.n * in.itemsize) context_.ahead = base::Size(in.outer.back());
    }
    if (f_.ahead != 0) context_.ahead = base::Size(f_.ahead);
    // The first pass over a row prefetches the next row, or the rest of a long row. The other
    // passes find the row in the cache.
    const size_t row = f_.layout.n * sizeof(float);
    if (f_.passes.size() > 1 && row > kMostRowBytes)
      row_ahead_ = kFetchAhead;
    else if (f_.passes.size() > 1 && f_.layout.rows > 1)
      row_ahead_ = row;
    operands_ = call.in;
    for (const RowRead& read : f_.layout.reads) FillConstants(read);
  }

  void Run(int64_t part, int64_t parts) {
    const int64_t units = f_.layout.rows * f_.units_per_row;
    const int64_t first = units * part / parts, last = units * (part + 1) / parts;
    if (first >= last) return;
    int64_t row = first / f_.units_per_row, unit = first % f_.units_per_row;
    cursor_.Seek(row);
    for (int64_t done = first; done < last;) {
      const int64_t count = std::min(f_.units_per_row - unit, last - done);
      const auto begin = base::Size(unit * f_.unit),
                 end = base::Size(std::min((unit + count) * f_.unit, f_.layout.n));
      if (f_.layout.reads.empty())
        RunRow(begin, end);
      else
        RunRowOfParts(begin, end);
      done += count;
      unit = 0;
      if (done < last) cursor_.Advance(1);
    }
  }

 private:
  // Whether outputs may use non-temporal stores. These need aligned addresses, and are slower if
  // they overwrite an input.
  bool MayStream(const plan::KernelArgs& call) const {
    for (size_t k = 0; k < f_.outputs; ++k) {
      if (reinterpret_cast<uintptr_t>(call.out[k]) % 64 != 0) return false;
      for (size_t i = 0; i < f_.operands; ++i)
        if (call.in[i] == call.out[k]) return false;
    }
    return true;
  }

  // ---- inputs that are assembled from parts ----

  size_t ItemOf(const RowRead& read) const {
    return base::Size(f_.layout.tensors[read.tensor].itemsize);
  }
  std::byte* FillOf(const RowRead& read) {
    return scratch_ + f_.map.fills + read.number * kReadBytes;
  }
  void FillConstants(const RowRead& read) {
    for (const RowPart& part : read.parts)
      if (part.fills)
        for (size_t at = 0; at < kFillBytes; at += ItemOf(read))
          std::memcpy(FillOf(read) + at, operands_[part.operand] + part.offset, ItemOf(read));
  }

  // Finds the parts that the row at index_ crosses.
  void FindActiveParts() {
    auto* active = reinterpret_cast<ActivePart*>(scratch_ + f_.map.active);
    for (const RowRead& read : f_.layout.reads) {
      ActivePart* next = active;
      for (const RowPart& part : read.parts) {
        auto at = reinterpret_cast<uintptr_t>(operands_[part.operand]) +
                  static_cast<uintptr_t>(part.offset);
        bool inside = true;
        for (size_t d = 0; d < part.outer.size(); ++d) {
          inside = inside && part.begin[d] <= index_[d] && index_[d] < part.end[d];
          at += static_cast<uintptr_t>(index_[d] * part.outer[d]);
        }
        if (inside) *next++ = {part.begin.back(), part.end.back(), at, part.fills};
      }
      active += read.parts.size();
    }
  }

  // Runs stretches of whole tiles in which every input has one address. A tile in which parts meet
  // is assembled in scratch first. `begin` is a multiple of a tile.
  void RunRowOfParts(size_t begin, size_t end) {
    FindActiveParts();
    for (size_t i = begin; i < end;) {
      size_t next = end;
      for (const RowRead& read : f_.layout.reads) next = std::min(next, EndOfAddress(read, i));
      if (next < end) next = std::max(next & ~(f_.tile - 1), std::min(i + f_.tile, end));
      for (const RowRead& read : f_.layout.reads) PointInputAt(read, i, next);
      RunRow(i, next);
      i = next;
    }
  }

  const ActivePart& PartAt(const RowRead& read, size_t i) const {
    const auto* part = reinterpret_cast<const ActivePart*>(scratch_ + f_.map.active) + read.first;
    const auto at = static_cast<int64_t>(i);
    while (at < part->begin || at >= part->end) ++part;
    return *part;
  }

  // Returns the end of the elements from i on that can be read at one address.
  size_t EndOfAddress(const RowRead& read, size_t i) const {
    const ActivePart& part = PartAt(read, i);
    const auto end = base::Size(part.end);
    return part.fills ? std::min(end, i + kFillBytes / ItemOf(read)) : end;
  }

  // Points the tensor of `read` at an address for elements [i, end).
  void PointInputAt(const RowRead& read, size_t i, size_t end) {
    const ActivePart& part = PartAt(read, i);
    const size_t item = ItemOf(read);
    uintptr_t at = part.at;
    if (base::Size(part.end) < end)
      at = reinterpret_cast<uintptr_t>(Assemble(read, i, end)) - i * item;
    else if (part.fills)
      at = reinterpret_cast<uintptr_t>(FillOf(read)) - i * item;
    base_[kFirstTensor + read.tensor] = reinterpret_cast<std::byte*>(at);
  }

  // Copies elements [i, end), at most a tile, to scratch and returns their address.
  const std::byte* Assemble(const RowRead& read, size_t i, size_t end) {
    const size_t item = ItemOf(read);
    std::byte* tile = FillOf(read) + kFillBytes;
    for (size_t k = i; k < end;) {
      const ActivePart& part = PartAt(read, k);
      const size_t next = std::min(end, base::Size(part.end));
      const auto* from =
          part.fills ? FillOf(read) : reinterpret_cast<const std::byte*>(part.at + k * item);
      std::memcpy(tile + (k - i) * item, from, (next - k) * item);
      k = next;
    }
    return tile;
  }

  void RunRow(size_t begin, size_t end) {
    for (const Pass& pass : f_.passes) {
      if (row_ahead_ != 0) context_.ahead = &pass == &f_.passes[0] ? row_ahead_ : 0;
      RunPerRow(pass.row);
      if (pass.vector.empty()) continue;
      if (pass.fold.empty()) {
        RunElements(pass, begin, end);
        continue;
      }
      for (size_t i = begin; i < end; i += kBlock) {
        RunElements(pass, i, std::min(i + kBlock, end));
        RunPerRow(pass.fold);
      }
    }
  }
  void RunPerRow(const std::vector<Instr>& program) {
    if (program.empty()) return;
    context_.lanes = 1;
    f_.table->enter_vector(program.data(), &context_, 0, 1, 1);
  }
  void RunElements(const Pass& pass, size_t begin, size_t end) {
    // The sizes of tiles and vectors are powers of two.
    const size_t tiles_end = begin + ((end - begin) & ~(f_.tile - 1));
    const std::vector<Instr>& tile = stream_ ? pass.tile_stream : pass.tile;
    if (begin < tiles_end) f_.table->enter_tile(tile.data(), &context_, begin, tiles_end, f_.tile);
    const size_t vectors_end = tiles_end + ((end - tiles_end) & ~(f_.lanes - 1));
    context_.lanes = f_.lanes;
    if (tiles_end < vectors_end)
      f_.table->enter_vector(pass.vector.data(), &context_, tiles_end, vectors_end, f_.lanes);
    if (vectors_end < end) RunTail(pass, vectors_end, end - vectors_end);
  }
  // Runs the last elements of a row, fewer than a vector. Tensors that are read or written by whole
  // vectors are replaced by copies with room after them.
  void RunTail(const Pass& pass, size_t i, size_t n) {
    auto** end_base = reinterpret_cast<std::byte**>(scratch_ + f_.map.end_base);
    const size_t tensors = f_.layout.tensors.size();
    end_base[kAbsolute] = nullptr;
    end_base[kScratch] = scratch_;
    std::byte* copy = scratch_ + f_.map.ends;
    for (size_t t = 0; t < tensors; ++t, copy += kEndStride) {
      const TensorView& view = f_.layout.tensors[t];
      std::byte* base = base_[kFirstTensor + t];
      end_base[kFirstTensor + t] = base;
      if (!view.reads_whole && !view.writes_whole) continue;
      const size_t offset = i * base::Size(view.itemsize);
      if (view.reads_whole) CopySmall(copy, base + offset, n * base::Size(view.itemsize));
      end_base[kFirstTensor + t] =
          reinterpret_cast<std::byte*>(reinterpret_cast<uintptr_t>(copy) - offset);
    }
    context_.base = end_base;
    context_.lanes = n;
    f_.table->enter_vector(pass.vector.data(), &context_, i, i + 1, 1);
    context_.base = base_;
    for (size_t t : pass.stored) {
      const auto size = base::Size(f_.layout.tensors[t].itemsize);
      CopySmall(base_[kFirstTensor + t] + i * size, end_base[kFirstTensor + t] + i * size,
                n * size);
    }
  }

  const FusedConfig& f_;
  std::byte* scratch_;
  std::byte** base_;
  int64_t* index_;
  RowCursor cursor_;
  Context context_;
  const std::byte* const* operands_ = nullptr;
  bool stream_ = false;
  size_t row_ahead_ = 0;  // bytes
};

}  // namespace

void RunFused(const plan::KernelArgs& call) { Runner(call).Run(call.part, call.parts); }

// The overhead of a call is all that counts here, so this does no more than necessary. As in
// Runner::RunTail, tensors that are read or written by whole vectors are copies with room
// after them.
void RunFusedSmall(const plan::KernelArgs& call) {
  const auto& f = *static_cast<const FusedConfig*>(call.config);
  auto** base = reinterpret_cast<std::byte**>(call.scratch + f.map.base);
  base[kAbsolute] = nullptr;
  base[kScratch] = call.scratch;
  std::byte** to = base + kFirstTensor;
  std::byte* copy = call.scratch + f.map.ends;
  const TensorView* view = f.layout.tensors.data();
  const auto n = static_cast<size_t>(f.layout.n);
  for (size_t k = 0; k < f.inputs; ++k, ++view, ++to, copy += kEndStride) {
    *to = const_cast<std::byte*>(call.in[f.operand_of[k]]) + f.offset_of[k];
    if (!view->reads_whole) continue;
    CopySmall(copy, *to, n * static_cast<size_t>(view->itemsize));
    *to = copy;
  }
  std::byte* const copies = copy;
  for (size_t k = 0; k < f.outputs; ++k, ++view, ++to, copy += kEndStride)
    *to = view->writes_whole ? copy : call.out[k];
  for (const std::vector<int64_t>& offsets : f.index_offsets)
    *to++ = reinterpret_cast<std::byte*>(offsets.empty() ? 0 : base::At(offsets, call.device));
  Context context;
  context.base = base;
  context.buffer = call.scratch + f.map.buffer;
  const Pass& pass = f.passes[0];
  context.lanes = 1;
  if (!pass.row.empty()) f.table->enter_vector(pass.row.data(), &context, 0, 1, 1);
  context.lanes = n;
  f.table->enter_vector(pass.vector.data(), &context, 0, 1, 1);
  for (size_t t : pass.stored) {
    const size_t k = t - f.inputs;
    CopySmall(call.out[k], copies + k * kEndStride,
              n * static_cast<size_t>(f.layout.tensors[t].itemsize));
  }
}

}  // namespace tessera::kernels
