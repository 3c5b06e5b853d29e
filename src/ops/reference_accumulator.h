// Running values of reductions and of products, for reference functions.
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

// A running sum of products of elements, for a result of a dtype. Integers wrap.
class SumOfProducts {
 public:
  explicit SumOfProducts(DType result) : result_(result) {}
  void Add(const HostTensor& x, int64_t i, const HostTensor& y, int64_t j);
  void StoreTo(HostTensor& t, int64_t i) const;

 private:
  DType result_;
  double float_ = 0;
  uint64_t int_ = 0;
  LongComplex complex_ = 0;
};

}  // namespace tessera::ops::reference
