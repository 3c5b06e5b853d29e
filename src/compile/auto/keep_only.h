// The pass keep_only: a program with only some values sharded, to bisect one that is wrong on
// devices.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "ir/program.h"

namespace tessera::compile {

// Returns the program with all values replicated but those that are named, as its text numbers them
// ("%7") or as the user did. Arguments, results, and values over Manual axes keep their places. So
// do values that must have the place of a kept one, because a loop carries them, or because they
// enter or leave its regions. Throws RuntimeError if the program has no value of that name.
std::shared_ptr<const ir::Program> KeepOnly(const ir::Program& program,
                                            const std::vector<std::string>& names);

}  // namespace tessera::compile
