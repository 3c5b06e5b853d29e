// A device program while it grows.
#pragma once
#include <absl/container/flat_hash_map.h>

#include <optional>
#include <utility>

#include "ir/program.h"

namespace tessera::spmd {

struct Draft {
  ir::Program program;
  // The instruction that makes a value; whether it is light: made of less data than it has, so that
  // a part of it is better made than cut out. Broadcasts are, elementwise ops of operands that are
  // all repeated, and what is made of light values and numbers alone by elementwise ops and by
  // moving elements.
  struct Origin {
    int32_t instruction = -1;
    bool light = false;
  };
  std::vector<Origin> origins;  // by value; inputs have none
  // Parts of light values that were made.
  absl::flat_hash_map<std::pair<ir::ValueId, const ir::Type*>, ir::ValueId> parts;

  const ir::Type* Place(ir::ValueId v) const { return program.place(v); }
  ir::ValueId AddValue(const ir::Type* place, Loc loc);
  ir::Instruction& Emit(ir::Instruction instruction);

  // Null for inputs.
  const Origin* OriginOf(ir::ValueId v) const;
  // Returns the number that v is everywhere, if it is a broadcast of one.
  std::optional<ir::ValueId> ScalarOf(ir::ValueId v) const;
  // Returns the value that v is views of.
  ir::ValueId RootOf(ir::ValueId v) const;

 private:
  bool IsLight(const ir::Instruction& instruction) const;
};

}  // namespace tessera::spmd
