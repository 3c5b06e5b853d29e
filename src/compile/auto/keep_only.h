// The pass keep_only: a program with only some values sharded, to bisect a program that is wrong
// on devices.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "ir/program.h"

namespace tessera::compile {

// Returns the program with all values replicated except those that are named by their numbers in
// program text ("%7") or by the user's names. Arguments, results, and values over Manual axes keep
// their places. So do values that must have the place of a kept value, because a loop carries them,
// or because they enter or leave its regions. Throws RuntimeError if the program has no value of
// that name.
std::shared_ptr<const ir::Program> KeepOnly(const ir::Program& program,
                                            const std::vector<std::string>& names);

}  // namespace tessera::compile
