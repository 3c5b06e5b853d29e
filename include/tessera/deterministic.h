// Results with the same bits on every mesh, on any number of devices and processes, in any batch.
#pragma once
#include "tessera/visibility.h"

namespace TESSERA_PUBLIC tessera {

// Scope: in programs that this thread compiles, the order in which floats are added and multiplied
// up depends on the length of the sum alone. The bits of a result then depend neither on the mesh
// and the layouts, nor on the numbers of devices and processes, nor on the size of the batch, also
// between eager and jitted functions:
//   {
//     const Deterministic scope;
//     step(params, batch);  // on 1 or 8 devices, in any layout
//   }
// Sums that a function writes itself, over the devices of a shard_map (psum) and of unreduced
// values, have the order of their devices: one for a mesh, on any number of processes.
//
// The cost: a device that computes a sum, or a running one, gathers all of its terms, where partial
// sums are exchanged otherwise. Products of matrices and convolutions use plain kernels instead of
// oneDNN and OpenBLAS, and long attention is not computed in blocks. text() of a program lowered in
// the scope ends with the bytes and FLOPs of a device, with and without it.
class [[nodiscard]] Deterministic {
 public:
  [[nodiscard]] Deterministic();
  ~Deterministic();
  Deterministic(const Deterministic&) = delete;
  Deterministic& operator=(const Deterministic&) = delete;

 private:
  const bool outer_;
};

}  // namespace tessera
