// Facts about a program that the search for blocks asks for.
#pragma once
#include "spmd/blocks/limits.h"
#include "spmd/definitions.h"

namespace tessera::spmd {

// Whether the instruction may be part of a loop over blocks.
bool MayRunInBlocks(const ir::Instruction& i);

// Whether the instruction is a literal or an iota, which is rematerialised where it is read.
bool IsLiteralOrIota(const ir::Instruction& i);

bool IsKernel(const ir::Instruction& i);

class ProductFacts {
 public:
  ProductFacts(const ir::Program& p, const BlockLimits& limits);

  const ir::Program& program() const { return program_; }
  const ir::Instruction& at(InstructionId i) const { return InstructionAt(program_, i); }
  ir::ValueId ResultOf(InstructionId i) const { return at(i).results[0]; }
  const ir::Type* type(ir::ValueId v) const { return program_.type(v); }

  InstructionId DefinitionOf(ir::ValueId v) const { return definitions_[v]; }
  const std::vector<InstructionId>& UsersOf(ir::ValueId v) const { return users_[v]; }
  bool IsReturned(ir::ValueId v) const { return returned_[v]; }
  // Whether v is a large product, or is computed from one.
  bool DependsOnProduct(ir::ValueId v) const { return depends_on_product_[v]; }

  // Whether the instruction computes a product that is many times as large as its operands
  // together: a sum of few terms that needs much memory. Smaller products would gain less from
  // blocks, which cost some percent of the time.
  bool IsLargeProduct(InstructionId i) const;

  // Returns the dimension map of an instruction, which is computed once.
  const sharding::DimMap& MapOf(InstructionId i);

 private:
  const ir::Program& program_;
  const BlockLimits limits_;
  const ValueDefinitions definitions_;
  const ValueUsers users_;
  base::IdVector<ir::ValueId, bool> returned_, depends_on_product_;
  base::IdVector<InstructionId, std::optional<sharding::DimMap>> maps_;
};

}  // namespace tessera::spmd
