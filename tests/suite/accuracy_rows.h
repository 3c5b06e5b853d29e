// Every elementwise function of floats in the accuracy table: how to call it, and its value in
// real numbers.
#pragma once
#include <tessera/tessera.h>

#include <functional>
#include <string>
#include <vector>

#include "accuracy.h"

namespace tessera::suite {

struct AccuracyRow {
  std::string name;
  std::function<Array(Array)> unary;  // or
  std::function<Array(Array, Array)> binary;
  std::function<Real(Real, Real, const Format&)> want;
  double units = 4;     // largest error for f32 and f64
  Real least = 0;       // see Units
  double narrow = 0.5;  // largest error for f16 and bf16
};

// Ops, then functions composed of several ops.
const std::vector<AccuracyRow>& OpRows();
const std::vector<AccuracyRow>& CompositeRows();

}  // namespace tessera::suite
