// Numbers the compiled programs of this process and writes their stages where TESSERA_DUMP says.
#include "compile/dump.h"

#include <fmt/format.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/error.h"
#include "base/file.h"
#include "plan/plan_text.h"
#include "runtime/memory_text.h"
#include "spmd/schedule_text.h"

namespace tessera::compile {
namespace {

// Null: no dumps are wanted.
const char* Folder() {
  const char* folder = std::getenv("TESSERA_DUMP");
  return folder && *folder ? folder : nullptr;
}

void Write(int number, const char* stage, const std::string& text) {
  const std::filesystem::path folder = Folder();
  std::error_code ignored;  // what cannot be made cannot be written to
  std::filesystem::create_directories(folder, ignored);
  const std::string path = folder / fmt::format("{:04}_{}.txt", number, stage);
  errno = 0;
  std::ofstream out(path);
  out << text;
  if (!out.flush())
    base::ThrowRuntime(base::Refusal("TESSERA_DUMP", 1, "",
                                     fmt::format("cannot write {}: {}", path, base::ErrnoText())));
}

}  // namespace

int DumpStages(const Lowered::Impl& lowered) {
  static std::atomic<int> programs = 0;
  if (!Folder()) return 0;
  const int number = ++programs;
  Write(number, "1_traced", ir::Text(*lowered.program));
  Write(number, "2_propagated", ir::Text(*lowered.propagated));
  Write(number, "3_device", ir::Text(lowered.device));
  Write(number, "4_schedule", spmd::Text(lowered.schedule, lowered.device));
  return number;
}

void DumpPlan(int number, const plan::Plan& plan) {
  if (number == 0 || !Folder()) return;
  Write(number, "5_plan", plan::Text(plan) + "\nmemory\n" + runtime::MemoryText(plan));
}

}  // namespace tessera::compile
