// A header has the name of the source that implements it and is in the same folder. Everything of
// X.cc that other files use is declared in X.h, or is a public function.
#include <gmock/gmock.h>

#include <cctype>
#include <filesystem>
#include <map>
#include <optional>
#include <regex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "sources.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;

// Headers whose functions are defined in several files.
const std::map<std::string, std::string> kParts = {
    {"src/ops/ops.h", "the array of records of each file"},
    {"src/kernels/fused/kernel_table.h", "the kernels of each file"},
    {"src/kernels/fused/fused_graph_builder.h", "the builder's nodes of complex numbers"},
    {"src/kernels/window/window.h", "the kernels of each file"},
    {"src/kernels/solve/matrices.h", "the factorisations of each file"},
    {"src/ops/params.h", "the texts of params, each in the file of its op"},
    {"src/sharding/partition_case.h", "the steps that choose a partition"},
    {"src/sharding/typing_case.h", "the steps of the typing rule"},
    {"src/stablehlo/read/read_call.h", "the table of each file"},
    {"src/stablehlo/write/exporter.h", "the table of each file, and the exporter's runs"},
    {"src/stablehlo/write/writer.h", "the texts of numbers"},
    {"src/transforms/split_parts.h", "the steps that split a program"},
};

bool IsWord(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

// Whether the header defines the class: "class Name final {", on one line or several.
bool DefinesClass(std::string_view header, std::string_view name) {
  static const std::regex kHead(R"(\s*(class|struct) (\[\[\w+\]\] |ABSL_\w+ )?)");
  for (size_t at = header.find(name); at != header.npos; at = header.find(name, at + 1)) {
    const size_t line = header.rfind('\n', at) + 1, end = at + name.size();
    if (IsWord(header[end]) || header.substr(end).starts_with("::")) continue;
    const size_t close = header.find_first_of(";{", end);
    if (close == header.npos || header[close] == ';') continue;
    if (std::regex_match(header.begin() + line, header.begin() + at, kHead)) return true;
  }
  return false;
}

// Whether a header declares the function, or defines its class.
bool Declares(std::string_view header, std::string_view name) {
  const size_t colons = name.find("::");
  if (colons != name.npos && std::isupper(static_cast<unsigned char>(name[0])))
    return DefinesClass(header, name.substr(0, colons));
  const std::string call = std::string(name.substr(name.rfind(':') + 1)) + "(";
  for (size_t at = header.find(call); at != header.npos; at = header.find(call, at + 1)) {
    const char before = at == 0 ? '\n' : header[at - 1];
    if (!IsWord(before) && before != ':' && before != '.' && before != '>') return true;
  }
  return false;
}

// Returns the text of all headers of a folder except one, without comments.
std::string HeadersIn(const fs::path& folder, const fs::path& without = {}) {
  std::string all;
  for (const fs::path& file : Sources(folder)) {
    if (file.extension() != ".h" || file == without) continue;
    for (const std::string& line : Lines(file)) all += line.substr(0, line.find("//")) + '\n';
  }
  return all;
}

// Returns src/ops for src/ops/dot.cc, and src/kernels for src/kernels/gemm/dot.cc.
fs::path LayerOf(const fs::path& source) {
  const std::string path = Inside(source);
  return path.substr(0, path.find('/', path.find('/') + 1));
}

TEST(Headers, FunctionsAreFound) {
  EXPECT_THAT(
      FunctionsOf({"namespace a {", "namespace {", "int Hidden() { return 1; }", "}  // namespace",
                   "const int& Seen(int x,", "                int y) {", "  return Called(x);", "}",
                   "int Declared();", "static int Own() {", "Class::Class() : x_(Zero()) {}",
                   "template <class T>", "T Made() {",
                   "std::ostream& operator<<(std::ostream& os, int x) { return os; }",
                   "constexpr int kTable[] = {Size(2)};", "TEST(A, B) {", "}  // namespace a"}),
      testing::ElementsAre("Seen", "Class::Class", "operator<<"));
}

TEST(Headers, DeclarationsAreFound) {
  EXPECT_TRUE(Declares("int Seen(int x);", "Seen"));
  EXPECT_TRUE(Declares("class Class final {\n", "Class::Run"));
  EXPECT_TRUE(Declares("class ABSL_LOCKABLE Class {\n", "Class::Run"));
  EXPECT_TRUE(Declares("std::ostream& operator<<(std::ostream&, int);", "operator<<"));
  EXPECT_FALSE(Declares("int UnSeen(int x);", "Seen"));
  EXPECT_FALSE(Declares("class Class;", "Class::Run"));
}

TEST(Headers, DeclareWhatTheSourceBesideThemDefines) {
  const std::string open = HeadersIn("include");
  std::map<std::string, std::string> parts;
  for (const auto& [header, why] : kParts)
    parts[fs::path(header).parent_path()] += Text(kRoot / header);
  for (const fs::path& source : Sources("src")) {
    if (source.extension() != ".cc") continue;
    const fs::path own = fs::path(source).replace_extension(".h");
    const std::string beside = Text(own) + parts[Inside(source.parent_path())];
    std::optional<std::string> others;
    for (const std::string& name : FunctionsOf(Lines(source))) {
      if (name == "main" || Declares(beside, name)) continue;
      if (!others) others = HeadersIn(LayerOf(source), own);
      // Headers have operators of several classes.
      const bool is_elsewhere = !name.starts_with("operator") && Declares(*others, name);
      EXPECT_TRUE(!is_elsewhere && Declares(open, name))
          << Inside(source) << " defines " << name << ", which " << Inside(own)
          << " does not declare";
    }
  }
}

TEST(Headers, SourcesOfTheApiHaveAHeaderOrPublicFunctions) {
  const std::string open = HeadersIn("include");
  for (const fs::path& source : Sources("src/api")) {
    if (source.extension() != ".cc" || fs::exists(fs::path(source).replace_extension(".h")))
      continue;
    bool found = false;
    for (const std::string& name : FunctionsOf(Lines(source))) found |= Declares(open, name);
    EXPECT_TRUE(found) << Inside(source);
  }
}

}  // namespace
}  // namespace tessera
