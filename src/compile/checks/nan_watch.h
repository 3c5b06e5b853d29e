// Checks for numbers that are not finite, behind every op of a program.
#pragma once
#include <memory>

#include "ir/program.h"

namespace tessera::compile {

enum class NanChecks : uint8_t { kNone, kNans, kAll };
// Of this thread: what programs that are compiled are checked for.
NanChecks CurrentNanChecks();
void SetNanChecks(NanChecks checks);

// Returns the program with a call of the host behind every op that has floating results, which
// throws RuntimeError for the first that makes a NaN, or an infinity, that its operands have not.
// The program itself if nothing is asked for.
std::shared_ptr<const ir::Program> WithNanChecks(const std::shared_ptr<const ir::Program>& program);

}  // namespace tessera::compile
