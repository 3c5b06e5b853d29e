// Every name of a type has one meaning: no other header or source uses the name of a header's type
// for another type.
#include <gmock/gmock.h>

#include <map>
#include <optional>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "sources.h"

namespace tessera {
namespace {

// Returns the name of the type that a line of a namespace defines. Ignores declarations
// and using-declarations.
std::optional<std::string> TypeDefinedBy(const std::string& line) {
  static const std::regex definition(
      R"(^(?:struct|class|union|enum|enum class|concept|using) (?:ABSL_\w+ )?([A-Z]\w*)(?: final)?(?: : .*| *)[{=].*)");
  std::smatch match;
  if (!std::regex_match(line, match, definition)) return std::nullopt;
  return match[1];
}

// Returns the name of the type that a line inside a class defines. Ignores `using`, which names
// another type.
std::optional<std::string> NestedTypeDefinedBy(const std::string& line) {
  const size_t indent = line.find_first_not_of(' ');
  if (indent == 0 || indent == std::string::npos) return std::nullopt;
  const std::string definition = line.substr(indent);
  return definition.starts_with("using ") ? std::nullopt : TypeDefinedBy(definition);
}

using Definitions = std::map<std::string, std::set<std::string>>;  // name -> files

Definitions DefinitionsIn(const char* extension,
                          std::optional<std::string> (*defined_by)(const std::string&)) {
  Definitions found;
  for (const char* folder : {"include", "src"})
    for (const auto& file : Sources(folder))
      if (file.extension() == extension)
        for (const std::string& line : Lines(file))
          if (auto name = defined_by(line)) found[*name].insert(Inside(file));
  return found;
}

// Names of two types that a reader may treat as one.
const std::set<std::string> kOneMeaning = {
    "Program",  // the user's handle, and the program it points to
    "Shape",    // a shape as a user gives it, and as it is stored
    "ValueId",  // number of a value of a program or a graph; an enum in public headers
};

TEST(Names, TypesAreFound) {
  EXPECT_EQ(TypeDefinedBy("struct Box {"), "Box");
  EXPECT_EQ(TypeDefinedBy("class Check final : public ir::HostFunction {"), "Check");
  EXPECT_EQ(TypeDefinedBy("class ABSL_LOCKABLE Mutex : public std::mutex {"), "Mutex");
  EXPECT_EQ(TypeDefinedBy("enum class Lane : uint8_t { kF32 };"), "Lane");
  EXPECT_EQ(TypeDefinedBy("struct AsView {};  // the same buffer"), "AsView");
  EXPECT_EQ(TypeDefinedBy("using Shape = std::vector<int64_t>;"), "Shape");
  EXPECT_EQ(TypeDefinedBy("concept Known = true;"), "Known");
  EXPECT_EQ(TypeDefinedBy("using base::Shape;"), std::nullopt);
  EXPECT_EQ(TypeDefinedBy("struct Kernel;"), std::nullopt);
  EXPECT_EQ(TypeDefinedBy("enum class ScalarOp : uint8_t;"), std::nullopt);
  EXPECT_EQ(TypeDefinedBy("struct Graph::Impl {"), std::nullopt);
  EXPECT_EQ(TypeDefinedBy("  struct Piece {"), std::nullopt);
  EXPECT_EQ(NestedTypeDefinedBy("  struct Piece {"), "Piece");
  EXPECT_EQ(NestedTypeDefinedBy("  enum Code : uint8_t {"), "Code");
  EXPECT_EQ(NestedTypeDefinedBy("struct Box {"), std::nullopt);
  EXPECT_EQ(NestedTypeDefinedBy("  using Shape = std::vector<int64_t>;"), std::nullopt);
  EXPECT_GT(DefinitionsIn(".h", TypeDefinedBy).size(), 200u);
  EXPECT_GT(DefinitionsIn(".h", NestedTypeDefinedBy).size(), 20u);
}

TEST(Names, OfTypesInHeadersHaveOneMeaning) {
  const Definitions headers = DefinitionsIn(".h", TypeDefinedBy),
                    sources = DefinitionsIn(".cc", TypeDefinedBy);
  for (const auto& [name, files] : headers) {
    if (kOneMeaning.contains(name)) continue;
    std::set<std::string> all = files;
    if (auto local = sources.find(name); local != sources.end())
      all.insert(local->second.begin(), local->second.end());
    EXPECT_EQ(all.size(), 1u) << name << " is defined in " << testing::PrintToString(all);
  }
}

// Nested types may share a name, such as Kind, because the enclosing class tells them apart.
TEST(Names, OfNestedTypesAreNotThoseOfOtherHeaders) {
  const Definitions nested = DefinitionsIn(".h", NestedTypeDefinedBy),
                    headers = DefinitionsIn(".h", TypeDefinedBy);
  for (const auto& [name, files] : nested) {
    if (kOneMeaning.contains(name) || !headers.contains(name)) continue;
    for (const std::string& file : files)
      EXPECT_TRUE(headers.at(name).contains(file))
          << name << " in " << file << " is also defined in "
          << testing::PrintToString(headers.at(name));
  }
}

TEST(Names, WithOneMeaningAreStillDefinedTwice) {
  Definitions headers = DefinitionsIn(".h", TypeDefinedBy);
  for (const auto& [name, files] : DefinitionsIn(".h", NestedTypeDefinedBy))
    headers[name].insert(files.begin(), files.end());
  for (const std::string& name : kOneMeaning) EXPECT_GT(headers.at(name).size(), 1u) << name;
}

}  // namespace
}  // namespace tessera
