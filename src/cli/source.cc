// Reads files of both forms.
#include "cli/source.h"

#include <algorithm>
#include <fstream>
#include <iostream>
#include <iterator>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

namespace tessera::cli {
namespace {

// Whether a text is a module of MLIR: it begins with one, or with an alias.
bool IsModule(std::string_view text) {
  while (true) {
    const size_t begin = text.find_first_not_of(" \t\r\n");
    text.remove_prefix(std::min(begin, text.size()));
    if (!text.starts_with("//")) break;
    text.remove_prefix(std::min(text.find('\n'), text.size()));
  }
  return text.starts_with('#') || text.starts_with("module") || text.starts_with("builtin.") ||
         text.starts_with("\"builtin.") || text.starts_with("func.func") ||
         text.starts_with("sdy.mesh");
}

// Whether a file holds StableHLO text, by its beginning.
bool IsModuleFile(const std::string& path) {
  std::string begin(4096, ' ');
  std::ifstream file(path);
  file.read(begin.data(), static_cast<std::streamsize>(begin.size()));
  begin.resize(static_cast<size_t>(file.gcount()));
  return IsModule(begin);
}

}  // namespace

// Lines that are blank or begin with `#` are no settings.
void ProgramSource::ReadSettingsFiles() {
  std::vector<std::string> settings;
  for (const std::string& setting : changes.settings) {
    if (!setting.starts_with('@')) {
      settings.push_back(setting);
      continue;
    }
    std::ifstream file(setting.substr(1));
    size_t lines = 0;
    for (std::string line; std::getline(file, line); ++lines)
      if (const size_t begin = line.find_first_not_of(" \t\r");
          begin != line.npos && line[begin] != '#')
        settings.push_back(line);
    if (lines == 0)
      throw std::runtime_error("tessera: cannot read the settings " + setting.substr(1));
  }
  changes.settings = std::move(settings);
}

Program ProgramSource::Load() const { return LoadWith(read_import_options(changes, kHere)); }

Program ProgramSource::LoadToRun(int least_devices) const {
  ImportOptions options = read_import_options(changes, kHere);
  if (options.mesh) {
    SetDeviceCount(std::max(least_devices, static_cast<int>(options.mesh->size())), kHere);
    options.mesh = make_mesh(options.mesh->axes(), {}, kHere);
  }
  const Program program = LoadWith(options);
  for (const auto& types : {program.inputs(), program.outputs()})
    for (const ArrayType& type : types)
      if (type.mesh().size() > DeviceCount())
        SetDeviceCount(static_cast<int>(type.mesh().size()), kHere);
  return program;
}

Program ProgramSource::LoadWith(const ImportOptions& options) const {
  if (file != "-" && (file.ends_with(".mlir") || IsModuleFile(file)))
    return load_stablehlo(file, options, kHere);
  if (file != "-") {
    const Program program = Program::Load(file, kHere);
    return changes_any() ? reimport(program, options, kHere) : program;
  }
  const std::string text{std::istreambuf_iterator<char>(std::cin), {}};
  const Loc input = Loc::Current("/dev/stdin", 0);
  if (IsModule(text)) return import_stablehlo(text, options, input);
  const Program program = Program::Parse(text, input);
  return changes_any() ? reimport(program, options, kHere) : program;
}

}  // namespace tessera::cli
