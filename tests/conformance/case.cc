// Reads a file of cases, one JSON object per line.
#include "case.h"

#include <algorithm>
#include <fstream>
#include <stdexcept>

namespace tessera::conformance {
namespace {

AxisMode ParseMode(const std::string& text) {
  if (text == "explicit") return Explicit;
  if (text == "auto") return Auto;
  if (text == "manual") return Manual;
  throw std::runtime_error("unknown axis mode " + text);
}

std::vector<MeshAxis> ParseMesh(const Json& json) {
  std::vector<MeshAxis> axes;
  for (const Json& axis : json.at("axes")) {
    axes.push_back({axis.at(0).get<std::string>(), axis.at(1).get<int64_t>(), Explicit});
  }
  if (json.contains("modes")) {
    for (size_t i = 0; i < axes.size(); ++i) axes[i].mode = ParseMode(json["modes"].at(i));
  }
  return axes;
}

Instruction ParseInstruction(const Json& json);

Function ParseFunction(const Json& json) {
  Function f;
  f.args = json.at("args").get<std::vector<std::string>>();
  for (const Json& instruction : json.at("body")) f.body.push_back(ParseInstruction(instruction));
  f.returns = json.at("return");
  return f;
}

Instruction ParseInstruction(const Json& json) {
  Instruction instruction;
  instruction.out = json.at("out").get<std::vector<std::string>>();
  instruction.op = json.at("op").get<std::string>();
  instruction.in = json.value("in", Json::array());
  instruction.attrs = json.value("attrs", Json::object());
  if (json.contains("fn")) instruction.functions.push_back(ParseFunction(json["fn"]));
  for (const Json& fn : json.value("fns", Json::array()))
    instruction.functions.push_back(ParseFunction(fn));
  return instruction;
}

Case ParseCase(const Json& json) {
  Case c;
  c.id = json.at("id").get<std::string>();
  c.theme = json.value("theme", "");
  c.has_mesh = json.contains("mesh");
  if (c.has_mesh) c.mesh = ParseMesh(json["mesh"]);
  c.args = json.value("args", Json::object());
  for (const Json& instruction : json.at("body")) c.body.push_back(ParseInstruction(instruction));
  c.expect = json.at("expect");
  c.gap = json.value("gap", false);
  c.loose = json.value("loose", false);
  if (c.propagates()) c.json = json;
  return c;
}

}  // namespace

std::string Case::refused_at() const {
  return expect.contains("error") ? expect["error"].at("at").get<std::string>() : "";
}

std::string Case::refusal() const {
  return expect.contains("error") ? expect["error"].value("message", "") : "";
}

Table LoadTable(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error(path + ": cannot be read");
  Table table{path, path.find("explicit/") != std::string::npos, {}};
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    if (line.empty()) continue;
    try {
      table.cases.push_back(ParseCase(Json::parse(line)));
    } catch (const std::exception& e) {
      throw std::runtime_error(path + ":" + std::to_string(number) + ": " + e.what());
    }
  }
  table.typing = table.typing || std::any_of(table.cases.begin(), table.cases.end(),
                                             [](const Case& c) { return c.has_mesh; });
  return table;
}

}  // namespace tessera::conformance
