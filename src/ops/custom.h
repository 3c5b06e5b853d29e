// Ops that users register.
#pragma once
#include <memory>
#include <string>

#include "ir/op.h"
#include "tessera/custom_op.h"

namespace tessera::ops {

// The record of a user's op. The record's functions find the definition through it.
struct CustomDef : ir::OpDef {
  OpDefinition definition;
  std::string report;
};

// Returns the record, not yet checked. FindOp must not know `definition.name`.
std::unique_ptr<CustomDef> MakeCustom(OpDefinition definition);

// Returns fixed operands of the rule's sample shapes, and the kernel's results for operands.
std::vector<ir::HostTensor> SampleOperands(const OpDefinition& definition, DType dtype, Loc loc);
std::vector<ir::HostTensor> RunKernel(const OpDefinition& definition,
                                      const std::vector<ir::HostTensor>& operands);

// Returns how the sharded kernel differs from the whole one, or ""; fills `report`.
std::string CheckRule(CustomDef& def, Loc loc);

}  // namespace tessera::ops
