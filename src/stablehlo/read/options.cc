// Import options as texts.
#include <fmt/format.h>

#include <charconv>

#include "base/error.h"
#include "tessera/stablehlo.h"

namespace tessera {
namespace {

constexpr const char* kName = "read_import_options";

[[noreturn]] void Refuse(Loc loc, const char* check, std::string reason,
                         std::vector<std::string> notes = {}) {
  base::ThrowRuntime(
      base::Refusal(kName, check, base::Where(loc), std::move(reason), std::move(notes)));
}

std::string_view Trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t\n"), end = text.find_last_not_of(" \t\n");
  return begin == text.npos ? std::string_view() : text.substr(begin, end - begin + 1);
}

// Reads "x=4".
MeshAxis AxisOf(std::string_view item, std::string_view whole, Loc loc) {
  const size_t equal = item.find('=');
  const std::string_view name = Trimmed(item.substr(0, equal));
  const std::string_view size = equal == item.npos ? "" : Trimmed(item.substr(equal + 1));
  MeshAxis axis{std::string(name), 0, AxisMode::Auto};
  const auto [last, error] = std::from_chars(size.data(), size.data() + size.size(), axis.size);
  if (name.empty() || error != std::errc() || last != size.data() + size.size() || axis.size < 1)
    Refuse(loc, "mesh", fmt::format("a mesh is names and sizes, such as x=4,y=2, not '{}'", whole));
  return axis;
}

Mesh MeshOf(std::string_view text, Loc loc) {
  std::vector<MeshAxis> axes;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    axes.push_back(AxisOf(text.substr(begin, end - begin), text, loc));
    begin = end + 1;
  }
  return abstract_mesh(std::move(axes), {}, loc);
}

// Names may have equal signs, but none is followed by the beginning of a sharding.
ArgumentSharding SettingOf(std::string_view text, Loc loc) {
  size_t equal = text.find('=');
  while (equal != text.npos) {
    const std::string_view sharding = Trimmed(text.substr(equal + 1));
    if (sharding.starts_with('[') || sharding.starts_with('<') || sharding.starts_with("P(")) {
      const std::string_view argument = Trimmed(text.substr(0, equal));
      if (argument.empty()) break;
      return {std::string(argument), std::string(sharding)};
    }
    equal = text.find('=', equal + 1);
  }
  Refuse(loc, "setting",
         fmt::format("a setting is ARGUMENT=SHARDING, such as arg0=P(\"x\", None), not '{}'", text),
         {"P is as in JAX; in Shardy's syntax it is arg0=[{\"x\"}, {}], where {?} leaves a dim to "
          "propagation"});
}

AxisModes ModesOf(std::string_view text, Loc loc) {
  if (text.empty()) return AxisModes::kAsWritten;
  if (text == "auto") return AxisModes::kAuto;
  if (text == "explicit") return AxisModes::kExplicit;
  Refuse(loc, "modes", fmt::format("modes are auto or explicit, not '{}'", text));
}

}  // namespace

ImportOptions read_import_options(const ImportTexts& texts, Loc loc) {
  ImportOptions options;
  if (!texts.mesh.empty()) options.mesh = MeshOf(texts.mesh, loc);
  for (const std::string& setting : texts.settings)
    options.shardings.push_back(SettingOf(setting, loc));
  options.modes = ModesOf(texts.modes, loc);
  return options;
}

}  // namespace tessera
