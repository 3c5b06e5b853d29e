// The pass check_nans: checks for numbers that are not finite, after every op of a program.
#pragma once
#include <memory>

#include "ir/program.h"

namespace tessera::compile {

enum class NanChecks : uint8_t { kNone, kNans, kAll };
// The checks of programs that this thread compiles.
NanChecks CurrentNanChecks();
void SetNanChecks(NanChecks checks);

// Returns the program with a host call after every op that has floating-point results. It throws
// RuntimeError at the first op with a NaN, or an infinity, that its operands do not have. Without
// checks returns the program itself.
std::shared_ptr<const ir::Program> WithNanChecks(const std::shared_ptr<const ir::Program>& program);

}  // namespace tessera::compile
