// The types of an instruction's operands and results, and the id that stands for no value.
#pragma once
#include "ir/program.h"

namespace tessera::transforms {

// No value: of a tangent or a cotangent, a zero that no instruction computes.
using ir::kNoValue;

struct TypesOf {
  TypesOf(const ir::Program& program, const ir::Instruction& i) {
    for (ir::ValueId v : i.operands) operands.push_back(program.type(v));
    for (ir::ValueId v : i.results) results.push_back(program.type(v));
  }
  absl::InlinedVector<const ir::Type*, 3> operands;
  absl::InlinedVector<const ir::Type*, 1> results;
};

}  // namespace tessera::transforms
