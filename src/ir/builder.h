// Appends instructions to a program, inferring their types.
#pragma once
#include "ir/infer.h"

namespace tessera::ir {

struct EmitOptions {
  const ShapeAndDType* wanted = nullptr;
  const sharding::TensorSharding* out_sharding = nullptr;
};

class Builder {
 public:
  // Instructions get the location `loc` until set_loc.
  Builder(Program& program, Loc loc) : program_(program), loc_(loc) {}
  void set_loc(Loc loc) { loc_ = loc; }
  Loc loc() const { return loc_; }
  Program& program() { return program_; }
  const Type* type(ValueId v) const { return program_.type(v); }

  // Appends an instruction, infers its type and returns its only result.
  ValueId Emit(const OpDef& op, ParamsPtr params, absl::Span<const ValueId> operands,
               EmitOptions options = {});
  // Appends an instruction whose result types are known.
  absl::InlinedVector<ValueId, 1> EmitTyped(const OpDef& op, ParamsPtr params,
                                            absl::Span<const ValueId> operands, Types types,
                                            std::vector<RegionPtr> regions = {});

 private:
  Program& program_;
  Loc loc_;
};

}  // namespace tessera::ir
