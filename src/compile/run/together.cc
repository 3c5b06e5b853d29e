// Compares the programs of all processes before they are compiled.
#include "compile/run/together.h"

#include <absl/algorithm/container.h>
#include <absl/container/flat_hash_map.h>
#include <fmt/format.h>

#include <map>

#include "compile/host/processes.h"
#include "ir/host_call.h"
#include "ir/params.h"
#include "ir/program_text.h"
#include "runtime/meeting.h"
#include "sharding/mesh.h"
#include "trace/scopes.h"

namespace tessera::compile {
namespace {

Loc last_run = Loc::Unknown();

std::string FlagsText(const std::vector<bool>& flags) {
  std::string text;
  for (bool flag : flags) text += flag ? '1' : '0';
  return text;
}

// Host functions by their number in a process, which counts those of all its programs, also of
// programs that it does not run together with others.
using HostNumbers = std::map<std::string, size_t>;

// Numbers the host functions of a text from 0, in their order.
std::string WithOwnNumbers(const std::string& text, HostNumbers& numbers) {
  constexpr std::string_view kField = "function=";
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

// Hashes programs as all processes do: by names and texts, not by pointers.
class Hasher {
 public:
  uint64_t Of(const ir::Program& p) {
    uint64_t h = OfMesh(p.mesh);
    for (const ir::Value& v : p.values) h = Mix(Mix(h, OfType(v.type)), OfType(v.place));
    for (ir::ValueId v : p.inputs) h = Mix(h, base::Number(v));
    for (const ir::Capture& c : p.captures) h = Mix(h, base::Number(c.value));
    for (ir::ValueId v : p.outputs) h = Mix(h, base::Number(v));
    for (const ir::Instruction& i : p.instructions) h = Mix(h, OfInstruction(i));
    return h;
  }

 private:
  template <class T>
  static uint64_t Mix(uint64_t h, T more) {
    return runtime::MixShared(h, static_cast<uint64_t>(more));
  }

  uint64_t OfInstruction(const ir::Instruction& i) {
    uint64_t h = runtime::SharedHash(i.op->name);
    for (ir::ValueId v : i.operands) h = Mix(h, base::Number(v));
    for (ir::ValueId v : i.results) h = Mix(h, base::Number(v));
    if (i.params) h = Mix(h, OfParams(*i.params));
    for (const ir::RegionPtr& region : i.regions) h = Mix(h, Of(*region));
    return h;
  }
  uint64_t OfParams(const ir::Params& params) {
    const std::string text = params.text();
    return runtime::SharedHash(ir::HasHostFunction(&params) ? WithOwnNumbers(text, numbers_)
                                                            : text);
  }
  // Types and meshes live for ever.
  uint64_t OfType(const ir::Type* type) {
    if (!type) return 0;
    const auto [at, is_new] = types_.try_emplace(type);
    if (is_new) at->second = Mix(runtime::SharedHash(type->text()), OfMesh(type->mesh()));
    return at->second;
  }
  static uint64_t OfMesh(const sharding::MeshDef* mesh) {
    if (!mesh) return 0;
    uint64_t h = runtime::SharedHash(mesh->text());
    for (const MeshAxis& axis : mesh->axes()) h = Mix(h, axis.mode);
    return h;
  }

  absl::flat_hash_map<const ir::Type*, uint64_t> types_;
  HostNumbers numbers_;
};

std::string InputsText(const ir::Program& program) {
  constexpr size_t kMost = 120;
  std::string text;
  for (ir::ValueId input : program.inputs) {
    if (text.size() > kMost) return "(" + text + ", ...)";
    text += (text.empty() ? "" : ", ") + program.type(input)->text();
  }
  return "(" + text + ")";
}

}  // namespace

Loc FirstLine(const ir::Program& program) {
  const auto first = absl::c_find_if(
      program.instructions, [](const ir::Instruction& i) { return !base::Where(i.loc).empty(); });
  return first == program.instructions.end() ? Loc::Unknown() : first->loc;
}

bool RunsTogether(const ir::Program& program) { return Processes() > 1 && IsOnMesh(program); }

SharedProgram ComparePrograms(const ir::Program& program, const CompileChoices& choices) {
  const std::string devices = fmt::format("{} devices\n", trace::Devices());
  const std::string choices_text =
      fmt::format("donated inputs: {}\ninputs that share replicas: {}\n{}",
                  FlagsText(choices.donated), FlagsText(choices.shares), choices.options);
  const auto text = [&] {
    HostNumbers numbers;
    std::string program_text = WithOwnNumbers(ir::Text(program), numbers);
    if (!program_text.ends_with('\n')) program_text += '\n';
    return devices + program_text + choices_text;
  };
  const uint64_t hash =
      runtime::MixShared(Hasher().Of(program), runtime::SharedHash(devices + choices_text));
  runtime::Meet({"compiling a program", base::Where(FirstLine(program)), hash, text,
                 "all processes must run the same programs: what differs between them must be "
                 "elements of an array"});
  return {hash, InputsText(program)};
}

Loc LastRunTogether() { return last_run; }
void SetLastRunTogether(Loc loc) { last_run = loc; }

}  // namespace tessera::compile
