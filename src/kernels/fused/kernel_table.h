// The kernels of register-threaded programs for this CPU.
#pragma once
#include <vector>

#include "base/reductions.h"
#include "kernels/fused/fused_program.h"

namespace tessera::kernels {

// Kernels of tiles that follow each other, and one that does the steps of both.
struct KernelsInOne {
  const void *first, *second, *both;
};

// acc = acc if (a op b), else the values at `c`, and the other way round. Of b one number may be
// read for all elements.
struct SelectsByComparison {
  KernelPair holds, holds_number, fails, fails_number;
};

// All kernels of one target.
struct KernelTable {
  size_t vector_bytes = 0;
  EnterFn enter_tile = nullptr, enter_vector = nullptr;
  // Raw moves of the accumulator; `half`: of 32-bit values of a wide program. Broadcasts and fills
  // store the first element, as often as a tile and a slot have room for it.
  KernelPair load, load_half, store, store_half, stream, stop, block;
  KernelPair broadcast4, broadcast8, fill4, fill8;
  // Of narrow programs, by dtype: what is stored in less than 32 bits.
  KernelPair load_stored[DType::kF64 + 1], store_stored[DType::kF64 + 1];
  KernelPair op[kLanes][kCodes];        // acc = op(acc) or op(acc, a)
  KernelPair reversed[kLanes][kCodes];  // acc = op(a, acc)
  KernelPair number[kLanes][kCodes];    // acc = op(acc, n), the number at `a`
  // acc = op(acc, a * n) and op(a * n, acc), the number at `b`.
  KernelPair scaled[kLanes][kCodes], scaled_reversed[kLanes][kCodes];
  KernelPair select[3];  // acc is the select's operand 0, 1 or 2; a and b the others
  SelectsByComparison select_by[kLanes][kCodes];  // for Eq, Gt and Ge
  // By Reduction.
  KernelPair accumulate[kLanes][base::kReductions.size()];
  KernelPair accumulate_half[kLanes][base::kReductions.size()];
  // Of accumulators; sums of f32 have their own, which go to f64: with and without a carry at `b`.
  KernelPair finish[kLanes][base::kReductions.size()];
  KernelPair finish_f32, finish_f32_carried;
  KernelPair finish_in_order[kLanes][base::kReductions.size()];  // of short rows
  BlockFn fold_f32 = nullptr;
  BlockFn vector_math[kLanes][kCodes] = {};
  std::vector<KernelsInOne> pairs;
  // acc = the random bits of consecutive counters under the key at `b`: i + the address of `a`,
  // which is no address but a number; `info` is 1 if i is not added. Gathered: as GatherIotaBlock.
  BlockFn random_bits = nullptr, random_bits_gathered = nullptr;
};

// Returns the kernels for this CPU.
const KernelTable& Kernels();

// Each fills its part of the table for this CPU.
void AddMoves(KernelTable& table);
void AddStored(KernelTable& table);
void AddNarrowOps(KernelTable& table);
void AddWideOps(KernelTable& table);
void AddDivision(KernelTable& table);
void AddFloat32Math(KernelTable& table);
void AddFloat64Math(KernelTable& table);
void AddRandom(KernelTable& table);
void AddStepPairs(KernelTable& table);

}  // namespace tessera::kernels
