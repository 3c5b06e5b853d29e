// TESSERA_DUMP=DIR: every program that is compiled, after each pass, as numbered text files.
#pragma once
#include <string>
#include <vector>

#include "spmd/pipeline.h"

namespace tessera::compile {

// Writes one program: DIR/0001_1_traced.txt, then after each stage 0001_2_propagated.txt,
// 0001_3_device.txt, 0001_4_schedule.txt and 0001_5_plan.txt, and before them a file for each pass
// that changed the program: 0001_3.02_partition.txt is by the second pass of stage 3.
// TESSERA_DUMP_ONLY=PASS writes the file of that pass alone, changed or not. Without TESSERA_DUMP
// nothing is written. Throws RuntimeError if a file cannot be written, or if no pass has that name.
class PassDump {
 public:
  // Gives the program the next number in this process.
  explicit PassDump(const ir::Program& traced);

  bool is_on() const { return number_ > 0; }
  // Writes the file of the pass.
  void AfterPass(const spmd::LoweringPass& pass, const spmd::PassState& state);
  // Writes the file of the stage.
  void AfterStage(spmd::PassStage stage, const spmd::PassState& state);
  // Keeps the text of plans that run inside of the program's plan, for its file. The plan of device
  // 0 stands for all.
  void AddNested(const std::vector<plan::Plan>& plans);

 private:
  int number_ = 0;
  const spmd::LoweringPass* only_ = nullptr;
  std::string last_;  // text after the pass before
  std::string nested_;
};

// Returns the text of a program after passes of the stage. The text of a plan ends with `nested`.
std::string TextAfter(spmd::PassStage stage, const spmd::PassState& state,
                      const std::string& nested);

// Returns the pass of that name. Throws RuntimeError, in the name of `op`, if there is none.
const spmd::LoweringPass* PassNamed(const std::string& name, const std::string& op);

}  // namespace tessera::compile
