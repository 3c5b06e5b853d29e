// Running values of reductions, for reference functions.
#pragma once
#include "ops/reference_values.h"
#include "tessera/reduction.h"

namespace tessera::ops::reference {

// The running value of one reduction, as a float, an integer or a complex number.
class ReferenceAccumulator {
 public:
  ReferenceAccumulator(Reduction reduction, DType dtype);
  void Add(const HostTensor& x, int64_t i);
  void StoreTo(HostTensor& t, int64_t i) const;

 private:
  Reduction reduction_;
  DType dtype_;
  double float_;
  int64_t int_;
  LongComplex complex_;
};

}  // namespace tessera::ops::reference
