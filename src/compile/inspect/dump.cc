// Writes programs between passes to the folder that TESSERA_DUMP names.
#include "compile/inspect/dump.h"

#include <absl/algorithm/container.h>
#include <absl/strings/str_split.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "compile/host/processes.h"
#include "ir/infer.h"
#include "ir/program_text.h"
#include "plan/plan_text.h"
#include "runtime/memory_text.h"
#include "spmd/schedule/schedule_text.h"

namespace tessera::compile {
namespace {

// Returns the folder, null without TESSERA_DUMP.
const char* Folder() {
  const char* folder = std::getenv("TESSERA_DUMP");
  return folder && *folder ? folder : nullptr;
}

void Write(int number, const std::string& name, const std::string& text) {
  std::filesystem::path folder = Folder();
  if (Processes() > 1) folder /= fmt::format("process_{}", Process());
  std::error_code ignored;  // writing fails then
  std::filesystem::create_directories(folder, ignored);
  const std::string path = folder / fmt::format("{:04}_{}.txt", number, name);
  errno = 0;
  std::ofstream out(path);
  out << text;
  if (!out.flush())
    base::ThrowRuntime(base::Refusal("TESSERA_DUMP", 1, "",
                                     fmt::format("cannot write {}: {}", path, base::ErrnoText())));
}

// Adds `op: map` for each op whose map has traits that Shardy's text cannot express.
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

// Returns comments, so that the file can be parsed.
std::string MapsText(const ir::Program& program) {
  std::set<std::string> maps;
  AddMaps(program, maps);
  return maps.empty() ? "" : fmt::format("// maps with traits\n{}", fmt::join(maps, ""));
}

std::string NestedText(const std::vector<plan::Plan>& plans) {
  std::string out =
      plans.size() == 1 ? "\nnested plan, of every device\n" : "\nnested plan of device 0\n";
  std::vector<std::string> lines = absl::StrSplit(plan::Text(plans[0]), '\n');
  lines.pop_back();  // after the last line break
  for (const std::string& line : lines) out += "  " + line + "\n";
  return out;
}

// The stages are files 2 to 5; 1 is the traced program.
constexpr const char* kFiles[] = {"2_propagated", "3_device", "4_schedule", "5_plan"};
const char* FileOf(spmd::PassStage stage) { return kFiles[static_cast<size_t>(stage)]; }

// Returns "3.02_partition" for the second pass of its stage.
std::string FileOf(const spmd::LoweringPass& pass) {
  const auto passes = spmd::LoweringPasses();
  const auto of_stage = [&](const auto& p) { return p.stage == pass.stage; };
  const auto first = absl::c_find_if(passes, of_stage);
  return fmt::format("{}.{:02}_{}", FileOf(pass.stage)[0], &pass - &*first + 1, pass.name);
}

}  // namespace

const spmd::LoweringPass* PassNamed(const std::string& name, const std::string& op) {
  const spmd::LoweringPass* pass = spmd::FindPass(name);
  if (!pass)
    base::ThrowRuntime(
        base::Refusal(op, 1, "", fmt::format("there is no pass \"{}\"", name), spmd::PassNames()));
  return pass;
}

std::string TextAfter(spmd::PassStage stage, const spmd::PassState& state,
                      const std::string& nested) {
  switch (stage) {
    case spmd::PassStage::kPropagated:
      return ir::Text(*state.program);
    case spmd::PassStage::kDevice:
      // choose_places runs before there is a device program.
      return ir::Text(state.device.values.empty() ? *state.program : state.device);
    case spmd::PassStage::kSchedule:
      return spmd::Text(state.schedule, state.device);
    case spmd::PassStage::kPlan:
      break;
  }
  return fmt::format("{}{}\nmemory\n{}", plan::Text(state.plan), nested,
                     runtime::MemoryText(state.plan));
}

PassDump::PassDump(const ir::Program& traced) {
  static std::atomic<int> programs = 0;
  if (!Folder()) return;
  number_ = ++programs;
  if (const char* only = std::getenv("TESSERA_DUMP_ONLY"); only && *only)
    only_ = PassNamed(only, "TESSERA_DUMP_ONLY");
  last_ = ir::Text(traced);
  if (!only_) Write(number_, "1_traced", last_);
}

void PassDump::AfterPass(const spmd::LoweringPass& pass, const spmd::PassState& state) {
  if (!is_on()) return;
  // The last pass, prepare, passes the plan to the runtime.
  std::string text =
      &pass == &spmd::LoweringPasses().back() ? last_ : TextAfter(pass.stage, state, nested_);
  const bool wanted = only_ ? &pass == only_ : text != last_;
  last_ = std::move(text);
  if (wanted) Write(number_, FileOf(pass), last_);
}

void PassDump::AfterStage(spmd::PassStage stage, const spmd::PassState& state) {
  if (!is_on() || only_) return;
  const bool propagated = stage == spmd::PassStage::kPropagated;
  Write(number_, FileOf(stage), last_ + (propagated ? MapsText(*state.program) : ""));
}

void PassDump::AddNested(const std::vector<plan::Plan>& plans) {
  if (is_on()) nested_ += NestedText(plans);
}

}  // namespace tessera::compile
