// Reads programs, and keeps those that are loaded.
#include "c/loaded.h"

#include <algorithm>
#include <sstream>
#include <utility>

namespace tessera::c {
ImportOptions OptionsOf(const OptionTexts& texts) {
  ImportTexts read{.mesh = OrEmpty(texts.mesh), .settings = {}, .modes = OrEmpty(texts.modes)};
  std::istringstream lines(OrEmpty(texts.settings));
  for (std::string line; std::getline(lines, line);)
    if (!line.empty()) read.settings.push_back(line);
  return read_import_options(read, kHere);
}

Program TextOrPath::Read() const {
  // Places in a text that has no locations are its lines: "text:12".
  return is_file ? load_stablehlo(std::string(text), options, kHere)
                 : import_stablehlo(text, options, Loc::Current("text", 0));
}

Loaded::Loaded(const TextOrPath& source) : program_(source.Read()) {
  if (!mesh().is_abstract()) return;
  text_ = source.text;
  source_ = {source.is_file, text_, source.options};
}

std::vector<ArrayType> Loaded::types(tessera_side side) const {
  if (side == TESSERA_INPUTS) return program_.inputs();
  if (side == TESSERA_OUTPUTS) return program_.outputs();
  throw ArgumentError("side is " + std::to_string(side) +
                      ", neither TESSERA_INPUTS nor TESSERA_OUTPUTS");
}

const Lowered& Loaded::lowered() {
  const std::lock_guard lock(mutex_);
  if (!lowered_) lowered_ = lower(program_, kHere);
  return *lowered_;
}

Mesh Loaded::mesh() const {
  for (const std::vector<ArrayType>& side : {program_.inputs(), program_.outputs()})
    for (const ArrayType& type : side)
      if (!type.mesh().empty()) return type.mesh();
  return {};
}

int64_t Loaded::devices() const {
  int64_t most = 0;
  if (!mesh().empty())
    for (int64_t id : mesh().device_ids()) most = std::max(most, id);
  return most + 1;
}

const Loaded::Function& Loaded::function() {
  const std::lock_guard lock(mutex_);
  if (function_) return function_;
  Program program = program_;
  if (const Mesh on = mesh(); on.is_abstract()) {
    source_.options.mesh = make_mesh(on.axes(), {.device_ids = on.device_ids()}, kHere);
    program = source_.Read();
    text_ = {};
  }
  function_ = to_function(program, kHere);
  return function_;
}

HandleTable<Loaded>& Programs() {
  static auto* programs = new HandleTable<Loaded>("program");  // used until the process ends
  return *programs;
}

}  // namespace tessera::c
