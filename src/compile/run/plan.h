// From a lowered program to the plan that the runtime executes.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "compile/lowered.h"
#include "runtime/prepare.h"

namespace tessera::compile {

// Returns how many devices a process must have to run the program.
int32_t DevicesFor(const ir::Program& program);

// Runs the stage kPlan, with the kernels of this process. `donated`: per input and capture. Null if
// `stop_after` ends before.
std::shared_ptr<const runtime::Executable> MakeExecutable(Lowered::Impl& lowered,
                                                          std::vector<bool> donated);

// Whether the nodes exchange data with other processes.
bool HasMessages(const std::vector<plan::Node>& nodes);

// Returns the text of a program that was lowered up to the pass. Runs the stage kPlan if the pass
// is one of it.
std::string TextAfter(const spmd::LoweringPass& pass, Lowered::Impl& lowered);

}  // namespace tessera::compile
