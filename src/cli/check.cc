// Prints errors as JSON and as SARIF.
#include "cli/check.h"

#include <tessera/version.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <vector>

namespace tessera::cli {
namespace {

using Json = nlohmann::ordered_json;

std::string TextOf(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string LastPart(const std::string& path) {
  return std::filesystem::path(path).filename().string();
}

// Returns the path as a reference of a URI.
std::string UriOf(const std::string& path) {
  std::string uri;
  for (const char c : path) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) || std::string_view("/._-~").find(c) != std::string_view::npos) {
      uri += c;
    } else {
      constexpr const char* kDigits = "0123456789ABCDEF";
      uri += {'%', kDigits[byte / 16], kDigits[byte % 16]};
    }
  }
  return uri;
}

class SarifResult {
 public:
  SarifResult(const Json& error, std::string file) : error_(error), file_(std::move(file)) {}

  Json Result() const {
    const Json& where = error_.contains("read_at") ? error_["read_at"] : error_["where"];
    Json result = {{"ruleId", error_["code"]},
                   {"ruleIndex", 0},
                   {"level", "error"},
                   {"message", {{"text", error_["text"]}}}};
    const Json place = where.is_null() ? Json({{"file", file_}}) : where;
    result["locations"] = Json::array({{{"physicalLocation", Physical(place)}}});
    Json related = Json::array();
    for (const Json& o : error_["operands"])
      if (!o["where"].is_null())
        related.push_back(
            {{"physicalLocation", Physical(o["where"])},
             {"message",
              {{"text", o["name"].get<std::string>() + ": " + o["type"].get<std::string>()}}}});
    if (!related.empty()) result["relatedLocations"] = related;
    if (const Json fixes = Fixes(place); !fixes.empty()) result["fixes"] = fixes;
    return result;
  }

 private:
  // Errors name a file by the last part of its path.
  std::string PathOf(const Json& place) const {
    const std::string name = place["file"];
    return LastPart(file_) == LastPart(name) ? file_ : name;
  }
  Json Artifact(const Json& place) const { return {{"uri", UriOf(PathOf(place))}}; }
  Json Physical(const Json& place) const {
    Json physical = {{"artifactLocation", Artifact(place)}};
    if (place.value("line", 0) < 1) return physical;
    physical["region"] = {{"startLine", place["line"]}};
    if (place.contains("column")) physical["region"]["startColumn"] = place["column"];
    return physical;
  }

  // Returns the fixes that replace a text which the file has at the place.
  Json Fixes(const Json& place) const {
    Json fixes = Json::array();
    const std::string line = LineAt(place);
    for (const Json& fix : error_["fixes"]) {
      const Json& edit = fix["edit"];
      if (edit["kind"] != "replace_text") continue;
      const std::string replaced = edit["replaced"];
      const size_t from = place.contains("column") ? place["column"].get<size_t>() - 1 : 0;
      const size_t at = line.find(replaced, from);
      if (at == line.npos) continue;
      const Json replacement = {{"deletedRegion",
                                 {{"startLine", place["line"]},
                                  {"startColumn", at + 1},
                                  {"endColumn", at + 1 + replaced.size()}}},
                                {"insertedContent", {{"text", edit["replacement"]}}}};
      fixes.push_back(
          {{"description", {{"text", fix["text"]}}},
           {"artifactChanges",
            {{{"artifactLocation", Artifact(place)}, {"replacements", {replacement}}}}}});
    }
    return fixes;
  }

  std::string LineAt(const Json& place) const {
    std::string line;
    if (!place.contains("line") || PathOf(place) != file_) return line;
    std::ifstream text(file_);
    for (int k = place["line"]; k > 0; --k)
      if (!std::getline(text, line)) return "";
    return line;
  }

  const Json& error_;
  const std::string file_;
};

}  // namespace

std::string DiagnosticsJson(const std::optional<Error>& refused) {
  Json errors = Json::array();
  if (refused) errors.push_back(Json::parse(refused->json()));
  return TextOf(errors);
}

std::string DiagnosticsSarif(const std::optional<Error>& refused, const std::string& file) {
  Json rules = Json::array(), results = Json::array();
  if (refused) {
    const Json error = Json::parse(refused->json());
    const std::string op = error["op"];
    rules.push_back(
        {{"id", error["code"]},
         {"name", error["class"]},
         {"shortDescription",
          {{"text", error["class"].get<std::string>() + (op.empty() ? "" : " in " + op)}}}});
    results.push_back(SarifResult(error, file).Result());
  }
  const Json driver = {{"name", "tessera"}, {"version", TESSERA_VERSION}, {"rules", rules}};
  return TextOf({{"$schema", "https://json.schemastore.org/sarif-2.1.0.json"},
                 {"version", "2.1.0"},
                 {"runs", {{{"tool", {{"driver", driver}}}, {"results", results}}}}});
}

}  // namespace tessera::cli
