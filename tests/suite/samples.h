// The sample table: applications of every op, with data, for which every property is tested.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "elementwise_rows.h"
#include "ir/op.h"
#include "tessera/array.h"

namespace tessera::suite {

struct SampleOperand {
  base::Shape shape;
  DType dtype;
  Fill fill;
};

// |got - want| <= eps * (the dtype's epsilon) * max(|want|, magnitude). Only floats and complex
// numbers have one.
struct Tolerance {
  double eps = 0;
  double magnitude = 0;
};

// Brings results to the form that the reference chose among all correct ones, if they are correct.
using AlignFn = void (*)(const std::vector<ir::HostTensor>& operands,
                         const std::vector<ir::HostTensor>& want, std::vector<ir::HostTensor>& got);

// Returns functions of results that are unique where the results are not, to be differentiated.
using UniqueFn = std::vector<Array> (*)(const std::vector<Array>& made);

struct Sample {
  const ir::OpDef* op;
  ir::ParamsPtr params;
  std::vector<SampleOperand> operands;
  std::optional<ir::ShapeAndDType> wanted = {};
  Tolerance forward = {};     // compared with the reference
  Tolerance sharded = {};     // sharded compared with unsharded; exact unless the order
                              // of a sum may differ
  bool truth = false;         // small: every placement is tried (rule_truth_test)
  AlignFn align = nullptr;    // if the results are not unique
  UniqueFn unique = nullptr;  // if the choice among them does not have the derivative

  // "add(f32[8,12], f32[])"
  std::string name() const;
};

const std::vector<Sample>& Samples();
std::vector<const Sample*> SamplesOf(const ir::OpDef& op);

// Returns the data of operand i, the same in every call.
ir::HostTensor MakeData(const Sample& sample, size_t i);
std::vector<ir::HostTensor> MakeData(const Sample& sample);

}  // namespace tessera::suite
