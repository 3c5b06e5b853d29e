// Which batch elements (lanes) of the values of a mapped program count: a NaN in a branch that a
// lane does not take is not an error.
#pragma once
#include <vector>

#include "ir/program.h"

namespace tessera::compile {

// Bools over the leading dims, per lane or one for all. A lane counts if all are true.
using Predicates = std::vector<ir::ValueId>;

class CountedLanes {
 public:
  // `inputs`: the predicates of the program's inputs.
  CountedLanes(const ir::Program& program, const std::vector<Predicates>& inputs);
  const Predicates& Of(ir::ValueId v) const;
  // Returns the instruction with the predicates of its operands added to the operands of
  // its regions.
  ir::Instruction WithPredicates(const ir::Instruction& i) const;
  // Returns the predicates of the inputs of a region of the instruction, as values of the region.
  std::vector<Predicates> InputsOf(const ir::Instruction& i, const ir::Program& region) const;

 private:
  Predicates Made(const ir::Instruction& i, ir::ValueId result) const;
  Predicates Chosen(const ir::Instruction& i) const;
  bool Stays(const ir::Instruction& i, size_t operand, ir::ValueId result,
             ir::ValueId predicate) const;
  void AddParts(ir::ValueId predicate, Predicates& to) const;

  const ir::Program& program_;
  base::IdVector<ir::ValueId, const ir::Instruction*> maker_;
  base::IdVector<ir::ValueId, Predicates> of_;
};

// Whether a value of the type has the lanes of the predicate.
bool HasLanes(const ir::Type* type, const ir::Type* predicate);

}  // namespace tessera::compile
