// The register-threaded program that the assembler of fused groups writes and the SIMD kernels run.
//
// A program processes one tile of elements: eight vectors of values (the accumulator), which every
// kernel receives in registers and passes to the next kernel by a tail call. Everything else is in
// memory: streams (tensors), slots (one value of one tile, kSlotBytes) and constants (filled
// slots). Each program exists in two widths with the same instructions: eight vectors, and one
// vector for the ends of rows and for values per row. One kernel may execute two instructions that
// often follow each other (simd_pairs.cc).
//
// A *narrow* program has only values in 32-bit lanes. A *wide* program has 64-bit lanes too; its
// tiles have half as many elements, and values in 32-bit lanes fill only half of the accumulator.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "plan/fused.h"
#include "tessera/dtype.h"

namespace tessera::kernels {

// How lanes hold a value. f16 and bf16 are held as f32; integers of 8 and 16 bits are extended to
// 32 bits by sign or zeros; bool is all ones or all zeros in lanes of the program's width.
enum class Lane : uint8_t { kF32, kI32, kU32, kF64, kI64, kU64 };
inline constexpr int kLanes = 6;
inline constexpr bool IsWide(Lane lane) { return lane >= Lane::kF64; }

inline constexpr size_t kVectors = 8;       // vectors of a tile
inline constexpr size_t kSlotBytes = 512;   // a tile of the widest vectors
inline constexpr size_t kPad = 64;          // bytes after a slot that a masked operation may touch
inline constexpr size_t kBlock = 4096;      // elements summed in f32 before the sum goes to f64
inline constexpr size_t kNarrowSums = 128;  // accumulators of a reduction in 32-bit lanes
inline constexpr size_t kWideSums = 64;     // accumulators of a reduction in 64-bit lanes
// Rows of at most this many elements are reduced in order. If there are many such rows, a tile is
// one column and each lane has a row of its own (fused_across.h).
inline constexpr int64_t kShortRow = 64;

// Instruction codes: the scalar ops, then codes that only the graph builder emits.
enum : uint8_t {
  kSquare = plan::kScalarOps,
  kRoundF16,  // f32 to the nearest f16, still held as f32
  kRoundBF16,
  kCodes
};
inline constexpr uint8_t CodeOf(plan::ScalarOp op) { return static_cast<uint8_t>(op); }

// The address base[base] + offset + index * step, in bytes.
struct Address {
  uint32_t base = 0;  // 0: none, `offset` is the address; 1: scratch; from 2: tensors
  uint32_t step = 0;
  int64_t offset = 0;
};
inline constexpr uint32_t kAbsolute = 0, kScratch = 1, kFirstTensor = 2;

struct Instr;
struct Context {
  std::byte* const* base = nullptr;
  std::byte* buffer = nullptr;  // memory for the accumulator while a block runs
  size_t lanes = 0;             // valid elements of a tile of one vector
  // Bytes by which tiles prefetch ahead of their reads; 0: they do not. For memory that is read
  // once: the hardware prefetchers lose a stream while a long program computes on a tile.
  size_t ahead = 0;
};

// A kernel that works on memory. It changes or stores the n elements of `acc`, a copy of the
// accumulator. It may compute on up to kSlotBytes of acc and of slots beyond element n.
using BlockFn = void (*)(const Instr&, const Context&, size_t i, size_t n, std::byte* acc);

struct Instr {
  const void* kernel = nullptr;
  Address a, b;
  Address c = {};  // kernels of selects by a comparison
  BlockFn block = nullptr;
  // For a block: a number or an address. For other kernels: 1 if reads at `a` are not prefetched.
  uint64_t info = 0;
  size_t tile = 0;  // for a block: elements of a tile of eight vectors
};

inline std::byte* EffectiveAddress(const Context& c, const Address& o, size_t i) {
  auto base = reinterpret_cast<uintptr_t>(c.base[o.base]);
  return reinterpret_cast<std::byte*>(base + static_cast<uintptr_t>(o.offset) + i * o.step);
}

// The same kernel for tiles of eight vectors and of one vector.
struct KernelPair {
  const void* tile = nullptr;
  const void* vector = nullptr;
};

// Runs a program on the tiles of `step` elements in [begin, end).
using EnterFn = void (*)(const Instr*, Context*, size_t begin, size_t end, size_t step);

}  // namespace tessera::kernels
