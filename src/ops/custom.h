// Ops that users register.
#pragma once
#include <memory>
#include <string>

#include "ir/op.h"
#include "tessera/custom_op.h"

namespace tessera::ops {

// The record of a user's op; its functions find the definition through the record.
struct CustomDef : ir::OpDef {
  OpDefinition definition;
  std::string report;
};

// Returns the record, not yet checked. `definition.name` must be unknown to FindOp.
std::unique_ptr<CustomDef> MakeCustom(OpDefinition definition);

// Returns operands of the rule's sample shapes, of some numbers; what the kernel makes of operands.
std::vector<ir::HostTensor> SampleOperands(const OpDefinition& definition, DType dtype, Loc loc);
std::vector<ir::HostTensor> RunKernel(const OpDefinition& definition,
                                      const std::vector<ir::HostTensor>& operands);

// Returns how the sharded kernel differs from the whole one, empty if it does not; fills `report`.
std::string CheckRule(CustomDef& def, Loc loc);

}  // namespace tessera::ops
