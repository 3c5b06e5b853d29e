// Dumps of shardings: a line per value of a program, which PinShardings reads back.
#pragma once
#include <string>

#include "compile/auto/propagate.h"
#include "compile/auto/value_names.h"

namespace tessera::compile {

// Returns the final sharding of a value; of an argument, its sharding at the border.
sharding::TensorSharding PlaceOf(const Propagated& propagated, const ValueNames::Entry& value);

// Returns the lines `%3 dot_general f32[8,64] : <@mesh, [{"x"}, {}]>` of the program, propagated.
std::string Dump(const ir::Program& program);

}  // namespace tessera::compile
