// TESSERA_DUMP=DIR: every stage of every program that is compiled, as numbered text files.
#pragma once
#include "compile/lowered.h"
#include "plan/plan.h"

namespace tessera::compile {

// Writes the stages of a lowered program: DIR/0001_1_traced.txt, 0001_2_propagated.txt,
// 0001_3_device.txt and 0001_4_schedule.txt. Returns the program's number, 0 without TESSERA_DUMP.
// Throws RuntimeError if a file cannot be written.
int DumpStages(const Lowered::Impl& lowered);

// Writes DIR/0001_5_plan.txt, for the number that DumpStages returned. `nested`: the texts of plans
// that run inside of it.
void DumpPlan(int number, const plan::Plan& plan, const std::string& nested);
// Returns the text, indented, of the plans that a loop or branch has which devices run by
// themselves: device 0's stands for all.
std::string NestedText(const std::vector<plan::Plan>& plans);

}  // namespace tessera::compile
