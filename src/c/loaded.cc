// Reads programs, and keeps those that are loaded.
#include "c/loaded.h"

#include <algorithm>
#include <charconv>
#include <sstream>
#include <utility>

namespace tessera::c {
namespace {

// Returns the mesh "x=4,y=2", with Auto axes and without devices.
Mesh MeshOf(const std::string& text) {
  std::vector<MeshAxis> axes;
  std::istringstream list(text);
  for (std::string item; std::getline(list, item, ',');) {
    const size_t equal = item.find('=');
    int64_t size = 0;
    const char* const end = item.data() + item.size();
    const char* const begin = item.data() + std::min(equal + 1, item.size());
    const auto [last, error] = std::from_chars(begin, end, size);
    if (equal == std::string::npos || equal == 0 || error != std::errc() || last != end || size < 1)
      throw ArgumentError("mesh has names and sizes, such as x=4,y=2, not '" + text + "'");
    axes.push_back({item.substr(0, equal), size, AxisMode::Auto});
  }
  if (axes.empty()) throw ArgumentError("mesh has names and sizes, such as x=4,y=2, not ''");
  return abstract_mesh(std::move(axes), {}, kHere);
}

}  // namespace

ImportOptions OptionsOf(const OptionTexts& texts) {
  if (texts.settings) throw ArgumentError("settings is not null");
  if (texts.modes) throw ArgumentError("modes is not null");
  ImportOptions options;
  if (texts.mesh) options.mesh = MeshOf(texts.mesh);
  return options;
}

Program ProgramSource::Read() const {
  // Places in a text that has no locations are its lines: "text:12".
  return is_file ? load_stablehlo(text, options, kHere)
                 : import_stablehlo(text, options, Loc::Current("text", 0));
}

Loaded::Loaded(ProgramSource source) : source_(std::move(source)), program_(source_.Read()) {
  if (!mesh().is_abstract()) source_ = {};
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
    source_ = {};
  }
  function_ = to_function(program, kHere);
  return function_;
}

HandleTable<Loaded>& Programs() {
  static auto* programs = new HandleTable<Loaded>("program");  // used until the process ends
  return *programs;
}

}  // namespace tessera::c
