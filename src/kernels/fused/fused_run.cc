// Runs the programs of a fused group. A call allocates nothing and analyses nothing.
#include <algorithm>
#include <cstring>

#include "base/at.h"
#include "kernels/fused/fused_config.h"

namespace tessera::kernels {
namespace {

// Copies up to 64 bytes. Overlapping words instead of a call of memcpy, which takes longer.
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

// Of 1 to 4 KiB the best on the machines at hand.
constexpr size_t kFetchAhead = 2048;
constexpr size_t kMostRowBytes = 16384;

class Runner {
 public:
  explicit Runner(const plan::KernelCall& call)
      : f_(*static_cast<const FusedConfig*>(call.config)),
        scratch_(call.scratch),
        base_(reinterpret_cast<std::byte**>(scratch_ + f_.map.base)),
        index_(reinterpret_cast<int64_t*>(scratch_ + f_.map.index)) {
    base_[kAbsolute] = nullptr;
    base_[kScratch] = scratch_;
    for (size_t k = 0; k < f_.inputs; ++k)
      base_[kFirstTensor + k] = const_cast<std::byte*>(call.in[k]);
    for (size_t k = 0; k < f_.outputs; ++k) base_[kFirstTensor + f_.inputs + k] = call.out[k];
    for (size_t k = 0; k < f_.index_offsets.size(); ++k) {
      const std::vector<int64_t>& offsets = f_.index_offsets[k];
      const int64_t first = offsets.empty() ? 0 : base::At(offsets, call.device);
      base_[kFirstTensor + f_.inputs + f_.outputs + k] = reinterpret_cast<std::byte*>(first);
    }
    context_.base = base_;
    context_.buffer = scratch_ + f_.map.buffer;
    stream_ = f_.can_stream && MayStream(call);
    if (stream_ && f_.passes.size() == 1) context_.ahead = kFetchAhead;
    // The first pass over a row fetches the next one; the others find the row in the cache.
    const size_t row = f_.layout.n * sizeof(float);
    if (f_.passes.size() > 1 && f_.layout.rows > 1 && row <= kMostRowBytes) row_ahead_ = row;
  }

  void Run(int64_t part, int64_t parts) {
    const int64_t units = f_.layout.rows * f_.units_per_row;
    const int64_t first = units * part / parts, last = units * (part + 1) / parts;
    if (first >= last) return;
    int64_t row = first / f_.units_per_row, unit = first % f_.units_per_row;
    Seek(row);
    for (int64_t done = first; done < last;) {
      const int64_t count = std::min(f_.units_per_row - unit, last - done);
      Row(static_cast<size_t>(unit * f_.unit),
          static_cast<size_t>(std::min((unit + count) * f_.unit, f_.layout.n)));
      done += count;
      unit = 0;
      if (done < last) NextRow();
    }
  }

 private:
  // Non-temporal stores need aligned addresses, and over an input they would be slower.
  bool MayStream(const plan::KernelCall& call) const {
    for (size_t k = 0; k < f_.outputs; ++k) {
      if (reinterpret_cast<uintptr_t>(call.out[k]) % 64 != 0) return false;
      for (size_t i = 0; i < f_.inputs; ++i)
        if (call.in[i] == call.out[k]) return false;
    }
    return true;
  }

  void Move(size_t dim, int64_t steps) {
    for (size_t t = 0; t < f_.layout.tensors.size(); ++t)
      base_[kFirstTensor + t] =
          reinterpret_cast<std::byte*>(reinterpret_cast<intptr_t>(base_[kFirstTensor + t]) +
                                       steps * f_.layout.tensors[t].outer[dim]);
  }
  void Seek(int64_t row) {
    for (size_t d = f_.layout.outer.size(); d-- > 0;) {
      index_[d] = row % f_.layout.outer[d];
      row /= f_.layout.outer[d];
      if (index_[d] != 0) Move(d, index_[d]);
    }
  }
  void NextRow() {
    for (size_t d = f_.layout.outer.size(); d-- > 0;) {
      if (++index_[d] < f_.layout.outer[d]) return Move(d, 1);
      Move(d, 1 - f_.layout.outer[d]);
      index_[d] = 0;
    }
  }

  void Row(size_t begin, size_t end) {
    for (const Pass& pass : f_.passes) {
      if (row_ahead_ != 0) context_.ahead = &pass == &f_.passes[0] ? row_ahead_ : 0;
      Once(pass.row);
      if (pass.vector.empty()) continue;
      if (pass.fold.empty()) {
        Span(pass, begin, end);
        continue;
      }
      for (size_t i = begin; i < end; i += kBlock) {
        Span(pass, i, std::min(i + kBlock, end));
        Once(pass.fold);
      }
    }
  }
  void Once(const std::vector<Instr>& program) {
    if (program.empty()) return;
    context_.lanes = 1;
    f_.table->enter_vector(program.data(), &context_, 0, 1, 1);
  }
  void Span(const Pass& pass, size_t begin, size_t end) {
    const size_t tiles_end = begin + (end - begin) / f_.tile * f_.tile;
    const std::vector<Instr>& tile = stream_ ? pass.tile_stream : pass.tile;
    if (begin < tiles_end) f_.table->enter_tile(tile.data(), &context_, begin, tiles_end, f_.tile);
    const size_t vectors_end = tiles_end + (end - tiles_end) / f_.lanes * f_.lanes;
    context_.lanes = f_.lanes;
    if (tiles_end < vectors_end)
      f_.table->enter_vector(pass.vector.data(), &context_, tiles_end, vectors_end, f_.lanes);
    if (vectors_end < end) End(pass, vectors_end, end - vectors_end);
  }
  // The last elements of a row, fewer than a vector: tensors that are read or written by whole
  // vectors are replaced by copies with room behind.
  void End(const Pass& pass, size_t i, size_t n) {
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
      const size_t offset = i * static_cast<size_t>(view.itemsize);
      if (view.reads_whole) CopySmall(copy, base + offset, n * static_cast<size_t>(view.itemsize));
      end_base[kFirstTensor + t] =
          reinterpret_cast<std::byte*>(reinterpret_cast<uintptr_t>(copy) - offset);
    }
    context_.base = end_base;
    context_.lanes = n;
    f_.table->enter_vector(pass.vector.data(), &context_, i, i + 1, 1);
    context_.base = base_;
    for (size_t t : pass.stored) {
      const auto size = static_cast<size_t>(f_.layout.tensors[t].itemsize);
      CopySmall(base_[kFirstTensor + t] + i * size, end_base[kFirstTensor + t] + i * size,
                n * size);
    }
  }

  const FusedConfig& f_;
  std::byte* scratch_;
  std::byte** base_;
  int64_t* index_;
  Context context_;
  bool stream_ = false;
  size_t row_ahead_ = 0;  // bytes
};

}  // namespace

void RunFused(const plan::KernelCall& call) { Runner(call).Run(call.part, call.parts); }

}  // namespace tessera::kernels
