// A program of which only some values are sharded: bisects a program that is wrong on devices.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "ir/program.h"

namespace tessera::compile {

// Returns the program with all values replicated but those that are named, as its text numbers them
// ("%7") or as the user did. Arguments, results, and values over Manual axes keep their places. So
// do values that must have the place of one that is kept: what a loop carries, and what enters and
// leaves it. Throws RuntimeError if the program has no value of that name.
std::shared_ptr<const ir::Program> KeepOnly(const ir::Program& program,
                                            const std::vector<std::string>& names);

}  // namespace tessera::compile
