// Errors as JSON, for editors and scripts.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "sharding/edit_code.h"

namespace tessera {
namespace {

using Json = nlohmann::ordered_json;

// Takes a number after `mark` off the end of a text. Returns -1 if it does not end so.
int TakeNumber(std::string& text, std::string_view mark) {
  const size_t at = text.rfind(mark);
  if (at == text.npos || at + mark.size() == text.size()) return -1;
  const std::string digits = text.substr(at + mark.size());
  const auto is_digit = [](unsigned char c) { return std::isdigit(c) != 0; };
  if (digits.size() > 9 || !std::all_of(digits.begin(), digits.end(), is_digit)) return -1;
  text.resize(at);
  return std::stoi(digits);
}

// Splits "model.cc:44", "program.txt:3:48" and "sharding text, line 1, column 42".
Json PlaceOf(std::string where) {
  if (where.empty()) return nullptr;
  int column = TakeNumber(where, ", column ");
  int line = TakeNumber(where, column < 0 ? ":" : ", line ");
  if (column < 0 && line >= 0)
    if (const int before = TakeNumber(where, ":"); before >= 0)
      column = std::exchange(line, before);
  Json place = {{"file", where}};
  if (line >= 0) place["line"] = line;
  if (column >= 0) place["column"] = column;
  return place;
}

// The parts of a fix's text: "reshard(rhs, P(None))   sends 8 B per device: ...".
struct FixText {
  std::string code, cost;
};
FixText Split(const std::string& text) {
  const size_t gap = text.find("   ");
  if (gap == text.npos) return {text, ""};
  return {text.substr(0, gap), text.substr(gap + 3)};
}

// Returns how an editor makes the edit, or nullopt for a fix that is an advice.
Json EditOf(const ErrorDetail& d, const Fix& fix, const std::string& code) {
  if (!fix.replaced.empty())
    return {{"kind", "replace_text"}, {"replaced", fix.replaced}, {"replacement", code}};
  if (fix.auto_axes || (fix.operand < 0 && !sharding::IsOptionCode(code)))
    return {{"kind", "replace_call"}, {"replacement", code}};
  if (fix.operand < 0) return {{"kind", "insert_option"}, {"option", code}};
  const auto k = static_cast<size_t>(fix.operand);
  const std::string name = k < d.operands.size() ? d.operands[k].name : "";
  const size_t at = code.find("(" + name) + 1;
  if (name.empty() || at == 0) return {{"kind", "replace_call"}, {"replacement", code}};
  return {{"kind", "wrap_operand"},
          {"operand", name},
          {"before", code.substr(0, at)},
          {"after", code.substr(at + name.size())}};
}

Json FixJson(const ErrorDetail& d, const Fix& fix) {
  const FixText text = Split(fix.text);
  Json json = {{"text", text.code}};
  const bool in_text = !fix.replaced.empty();
  if (!in_text) {
    json["spec"] = fix.spec.text();
    json["bytes"] = fix.bytes;
    json["cost"] = text.cost;
  }
  if (fix.operand >= 0) json["operand"] = fix.operand;
  json["edit"] = EditOf(d, fix, in_text ? fix.replacement : text.code);
  return json;
}

}  // namespace

std::string Error::json() const {
  const ErrorDetail& d = *detail_;
  Json operands = Json::array(), fixes = Json::array();
  for (const ErrorOperand& o : d.operands)
    operands.push_back({{"name", o.name}, {"type", o.type}, {"where", PlaceOf(o.where)}});
  for (const Fix& fix : d.fixes) fixes.push_back(FixJson(d, fix));
  Json json = {{"class", d.kind},
               {"op", d.op},
               {"code", d.label},
               {"message", d.reason},
               {"where", PlaceOf(d.where)},
               {"operands", operands},
               {"notes", d.notes},
               {"fixes", fixes},
               {"text", what()}};
  // The reader of a text inside of another one says so.
  constexpr std::string_view kReadAt = "read at ";
  for (const std::string& note : d.notes)
    if (note.starts_with(kReadAt)) json["read_at"] = PlaceOf(note.substr(kReadAt.size()));
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace tessera
