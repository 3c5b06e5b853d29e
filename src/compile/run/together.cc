// Compares the programs of all processes before they are compiled.
#include "compile/run/together.h"

#include <absl/algorithm/container.h>
#include <fmt/format.h>

#include <map>

#include "compile/host/processes.h"
#include "ir/host_call.h"
#include "ir/program_text.h"
#include "runtime/meeting.h"
#include "trace/scopes.h"

namespace tessera::compile {
namespace {

Loc last_run = Loc::Unknown();

std::string FlagsText(const std::vector<bool>& flags) {
  std::string text;
  for (bool flag : flags) text += flag ? '1' : '0';
  return text;
}

// Numbers the host functions of a program text from 0. A process counts the host functions of all
// its programs, also of those that it does not run together with others.
std::string WithOwnNumbers(const std::string& text) {
  constexpr std::string_view kField = "function=";
  std::map<std::string, size_t> numbers;
  std::string out;
  size_t at = 0;
  for (size_t field; (field = text.find(kField, at)) != text.npos;) {
    const size_t begin = field + kField.size();
    const size_t end = std::min(text.find_first_not_of("0123456789", begin), text.size());
    const auto number = numbers.emplace(text.substr(begin, end - begin), numbers.size()).first;
    out += text.substr(at, begin - at) + std::to_string(number->second);
    at = end;
  }
  return out + text.substr(at);
}

// Whether the program, or a region in it, has a value on a mesh.
bool IsOnMesh(const ir::Program& program) {
  return absl::c_any_of(program.values, [](const ir::Value& v) { return v.type->mesh(); }) ||
         absl::c_any_of(program.instructions, [](const ir::Instruction& i) {
           return absl::c_any_of(i.regions, [](const auto& region) { return IsOnMesh(*region); });
         });
}

// Returns the line of the first instruction that has one.
std::string FirstLine(const ir::Program& program) {
  const auto first = absl::c_find_if(
      program.instructions, [](const ir::Instruction& i) { return !base::Where(i.loc).empty(); });
  return first == program.instructions.end() ? "" : base::Where(first->loc);
}

}  // namespace

bool RunsTogether(const ir::Program& program) { return Processes() > 1 && IsOnMesh(program); }

void ComparePrograms(const ir::Program& program, const CompileChoices& choices) {
  std::string text = ir::Text(program);
  if (ir::HasHostFunctions(program)) text = WithOwnNumbers(text);
  text = fmt::format("{} devices\ndonated inputs: {}\ninputs that share replicas: {}\n{}{}",
                     trace::Devices(), FlagsText(choices.donated), FlagsText(choices.shares),
                     choices.options, text);
  runtime::Meet({"compiling a program", FirstLine(program), std::move(text),
                 "all processes must run the same programs: what differs between them must be "
                 "elements of an array"});
}

Loc LastRunTogether() { return last_run; }
void SetLastRunTogether(Loc loc) { last_run = loc; }

}  // namespace tessera::compile
