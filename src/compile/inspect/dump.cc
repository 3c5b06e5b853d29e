// Numbers the compiled programs of this process and writes their stages where TESSERA_DUMP says.
#include "compile/inspect/dump.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "base/error.h"
#include "base/file.h"
#include "ir/infer.h"
#include "ir/program_text.h"
#include "plan/plan_text.h"
#include "runtime/memory_text.h"
#include "spmd/schedule/schedule_text.h"

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

// Adds `op: map` of each op whose map says what Shardy's text has no words for.
void AddMaps(const ir::Program& program, std::set<std::string>& maps) {
  const auto types = [&](const auto& values) {
    std::vector<const ir::Type*> of;
    for (ir::ValueId v : values) of.push_back(program.type(v));
    return of;
  };
  for (const ir::Instruction& i : program.instructions) {
    for (const ir::RegionPtr& r : i.regions) AddMaps(*r, maps);
    if (!std::holds_alternative<ir::DimMapFn>(*i.op->dims)) continue;
    const sharding::DimMap map =
        ir::DimMapOf(*i.op, i.params.get(), types(i.operands), types(i.results));
    std::string text = FullText(map);
    if (text != Text(map)) maps.insert(fmt::format("//   {}: {}\n", i.op->name, text));
  }
}

// Comments, so that what is written reads back as the program.
std::string MapsText(const ir::Program& program) {
  std::set<std::string> maps;
  AddMaps(program, maps);
  return maps.empty() ? "" : fmt::format("// maps with traits\n{}", fmt::join(maps, ""));
}

}  // namespace

int DumpStages(const Lowered::Impl& lowered) {
  static std::atomic<int> programs = 0;
  if (!Folder()) return 0;
  const int number = ++programs;
  Write(number, "1_traced", ir::Text(*lowered.program));
  Write(number, "2_propagated", ir::Text(*lowered.propagated) + MapsText(*lowered.propagated));
  Write(number, "3_device", ir::Text(lowered.device));
  Write(number, "4_schedule", spmd::Text(lowered.schedule, lowered.device));
  return number;
}

void DumpPlan(int number, const plan::Plan& plan, const std::string& nested) {
  if (number == 0 || !Folder()) return;
  Write(number, "5_plan", plan::Text(plan) + nested + "\nmemory\n" + runtime::MemoryText(plan));
}

std::string NestedText(const std::vector<plan::Plan>& plans) {
  std::string out =
      plans.size() == 1 ? "\nnested plan, of every device\n" : "\nnested plan of device 0\n";
  std::istringstream lines(plan::Text(plans[0]));
  for (std::string line; std::getline(lines, line);) out += "  " + line + "\n";
  return out;
}

}  // namespace tessera::compile
