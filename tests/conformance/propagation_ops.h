// The ops of the propagation tables: shapes of results, facts for propagation, and our dimension
// map.
#pragma once
#include <string>
#include <vector>

#include "case.h"
#include "ops/rule_builder.h"
#include "propagation/graph.h"
#include "tessera/dtype.h"

namespace tessera::conformance {

struct Tensor {
  base::Shape shape;
  DType dtype;
};
Tensor ParseTensor(const std::string& type);

struct OpFacts {
  std::vector<Tensor> results;
  sharding::DimMap map;  // without meaning for constants
  bool elementwise = false, foldable = false, constant = false, expands = false;
  propagation::Direction first = propagation::Direction::kNone;
  // Rank-0 operands that the table's rule has at the end and the instruction has not.
  size_t unnamed_operands = 0;
};

struct OpCall {
  const std::string& op;
  const Json& attrs;
  std::vector<Tensor> operands;

  std::vector<int64_t> List(const char* key) const {
    return attrs.at(key).get<std::vector<int64_t>>();
  }
  const base::Shape& shape(size_t i) const { return operands.at(i).shape; }
};

// Throws Unsupported for an op that is not known, and the errors of the op for its operands.
OpFacts FactsOf(const OpCall& call);

// The ops that Tessera has.
bool IsNative(const std::string& op);
OpFacts NativeFacts(const OpCall& call);
// The others.
OpFacts ForeignFacts(const OpCall& call);

}  // namespace tessera::conformance
