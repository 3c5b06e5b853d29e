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

// The file of a command line, and places of errors in it.
class CheckedFile {
 public:
  explicit CheckedFile(std::string path) : path_(std::move(path)) {}

  const std::string& path() const { return path_; }
  // Errors name a file by the last part of its path.
  std::string PathOf(const Json& place) const {
    const std::string name = place["file"];
    return LastPart(path_) == LastPart(name) ? path_ : name;
  }
  // Returns the columns, counted from 1, of the text that an edit replaces: its first, and the one
  // after its last. None if the edit replaces no text, or the line does not have it.
  std::optional<std::pair<size_t, size_t>> Replaced(const Json& place, const Json& edit) const {
    if (edit["kind"] != "replace_text") return {};
    const std::string line = LineAt(place), replaced = edit["replaced"];
    const size_t from = place.contains("column") ? place["column"].get<size_t>() - 1 : 0;
    const size_t at = line.find(replaced, from);
    if (at == line.npos) return {};
    return std::pair(at + 1, at + 1 + replaced.size());
  }

 private:
  std::string LineAt(const Json& place) const {
    std::string line;
    if (!place.contains("line") || PathOf(place) != path_) return line;
    std::ifstream text(path_);
    for (int k = place["line"]; k > 0; --k)
      if (!std::getline(text, line)) return "";
    return line;
  }

  const std::string path_;
};

// Returns the place of an error: in a text that the file holds, if there is one.
const Json& PlaceOf(const Json& error) {
  return error.contains("read_at") ? error["read_at"] : error["where"];
}

class SarifResult {
 public:
  SarifResult(const Json& error, const std::string& file) : error_(error), file_(file) {}

  Json Result() const {
    const Json& where = PlaceOf(error_);
    Json result = {{"ruleId", error_["code"]},
                   {"ruleIndex", 0},
                   {"level", "error"},
                   {"message", {{"text", error_["text"]}}}};
    const Json place = where.is_null() ? Json({{"file", file_.path()}}) : where;
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
  Json Artifact(const Json& place) const { return {{"uri", UriOf(file_.PathOf(place))}}; }
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
    for (const Json& fix : error_["fixes"]) {
      const Json& edit = fix["edit"];
      const auto columns = file_.Replaced(place, edit);
      if (!columns) continue;
      const Json replacement = {{"deletedRegion",
                                 {{"startLine", place["line"]},
                                  {"startColumn", columns->first},
                                  {"endColumn", columns->second}}},
                                {"insertedContent", {{"text", edit["replacement"]}}}};
      fixes.push_back(
          {{"description", {{"text", fix["text"]}}},
           {"artifactChanges",
            {{{"artifactLocation", Artifact(place)}, {"replacements", {replacement}}}}}});
    }
    return fixes;
  }

  const Json& error_;
  const CheckedFile file_;
};

}  // namespace

std::string DiagnosticsJson(const std::optional<Error>& refused, const std::string& path) {
  Json errors = Json::array();
  if (refused) {
    Json error = Json::parse(refused->json());
    const CheckedFile file(path);
    for (Json& fix : error["fixes"])
      if (const auto columns = file.Replaced(PlaceOf(error), fix["edit"]))
        fix["edit"]["range"] = {{"file", file.PathOf(PlaceOf(error))},
                                {"line", PlaceOf(error)["line"]},
                                {"begin", columns->first},
                                {"end", columns->second}};
    errors.push_back(std::move(error));
  }
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
