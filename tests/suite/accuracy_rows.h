// Every elementwise function of floats as the accuracy table has it: how it is called, and what it
// is in real numbers.
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
  double units = 4;     // at most, of f32 and f64
  Real least = 0;       // see Units
  double narrow = 0.5;  // at most, of f16 and bf16
};

// Ops, then functions that are made of several.
const std::vector<AccuracyRow>& OpRows();
const std::vector<AccuracyRow>& CompositeRows();

}  // namespace tessera::suite
