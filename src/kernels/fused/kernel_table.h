// The kernels of register-threaded programs for this CPU.
#pragma once
#include <vector>

#include "base/reductions.h"
#include "kernels/fused/fused_program.h"

namespace tessera::kernels {

// Two tile kernels that often follow each other, and one kernel that does both steps.
struct KernelsInOne {
  const void *first, *second, *both;
};

// acc = acc if (a op b) holds (or fails), else the values at `c`. The `number` kernels read one
// number at b for all elements.
struct SelectsByComparison {
  KernelPair holds, holds_number, fails, fails_number;
};

// All kernels of one target.
struct KernelTable {
  size_t vector_bytes = 0;
  EnterFn enter_tile = nullptr, enter_vector = nullptr;
  // Moves of the accumulator without conversion. `half` is for 32-bit values of a wide program.
  // Broadcasts and fills store the first element for all elements of a tile, or of a slot.
  KernelPair load, load_half, store, store_half, stream, stop, block;
  KernelPair broadcast4, broadcast8, fill4, fill8;
  // The parts of complex numbers in lanes of 32 bits [0] and of 64 bits [1]: acc = the real [0] or
  // imaginary [1] parts at `a`; the numbers at `a` = acc as their real [0] or imaginary [1] parts
  // and the values at `b` as the others.
  KernelPair load_part[2][2], store_parts[2][2], stream_parts[2][2];
  // For narrow programs, by dtype: elements that are stored in fewer than 32 bits.
  KernelPair load_stored[DType::kF64 + 1], store_stored[DType::kF64 + 1];
  KernelPair op[kLanes][kCodes];        // acc = op(acc) or op(acc, a)
  KernelPair reversed[kLanes][kCodes];  // acc = op(a, acc)
  KernelPair number[kLanes][kCodes];    // acc = op(acc, n) with one number n at `a`
  // acc = op(acc, a * n) or op(a * n, acc) with one number n at `b`.
  KernelPair scaled[kLanes][kCodes], scaled_reversed[kLanes][kCodes];
  KernelPair select[3];  // acc is operand 0, 1 or 2 of the select; a and b are the others
  SelectsByComparison select_by[kLanes][kCodes];  // for Eq, Gt and Ge
  // Indexed by Reduction.
  KernelPair accumulate[kLanes][base::kReductions.size()];
  KernelPair accumulate_half[kLanes][base::kReductions.size()];
  // Combine the accumulators of a reduction. Sums of f32 have kernels of their own that go through
  // f64, with and without a carry at `b`.
  KernelPair finish[kLanes][base::kReductions.size()];
  KernelPair finish_f32, finish_f32_carried;
  KernelPair finish_in_order[kLanes][base::kReductions.size()];  // for short rows
  BlockFn fold_f32 = nullptr;
  BlockFn vector_math[kLanes][kCodes] = {};
  std::vector<KernelsInOne> pairs;
  // acc = the random bits of consecutive counters under the key at `b`. The counter of element i is
  // i + `a`, a number and not an address; `info` is 1 if i is not added. `random_bits_gathered`
  // takes its counters as GatherIotaBlock does.
  BlockFn random_bits = nullptr, random_bits_gathered = nullptr;
};

// Returns the kernels for this CPU.
const KernelTable& Kernels();

// Each fills its part of the table for this CPU.
void AddMoves(KernelTable& table);
void AddStored(KernelTable& table);
void AddParts(KernelTable& table);
void AddNarrowOps(KernelTable& table);
void AddWideOps(KernelTable& table);
void AddDivision(KernelTable& table);
void AddFloat32Math(KernelTable& table);
void AddFloat64Math(KernelTable& table);
void AddRandom(KernelTable& table);
void AddStepPairs(KernelTable& table);

}  // namespace tessera::kernels
