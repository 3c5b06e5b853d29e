// One meaning per name: what a header calls a type, no other header or source calls another one.
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

// Returns the name of the type that a line of a namespace defines; a type inside of another one,
// and a name that is only brought in or declared, are not its business.
std::optional<std::string> TypeDefinedBy(const std::string& line) {
  static const std::regex definition(
      R"(^(?:struct|class|union|enum|enum class|concept|using) ([A-Z]\w*)(?: final)?(?: : .*| *)[{=].*)");
  std::smatch match;
  if (!std::regex_match(line, match, definition)) return std::nullopt;
  return match[1];
}

using Definitions = std::map<std::string, std::set<std::string>>;  // files by name

Definitions DefinitionsIn(const char* extension) {
  Definitions found;
  for (const char* folder : {"include", "src"})
    for (const auto& file : Sources(folder))
      if (file.extension() == extension)
        for (const std::string& line : Lines(file))
          if (auto name = TypeDefinedBy(line)) found[*name].insert(Inside(file));
  return found;
}

// Names of two types that are one to who reads them.
const std::set<std::string> kOneMeaning = {
    "Program",  // what a user holds, and what it points to
    "Shape",    // how a user gives one, and what is kept of it
    "ValueId",  // a number of a value of a program or a graph; an enum where users see it
    "OpId",     // the same of an op
};

TEST(Names, TypesAreFound) {
  EXPECT_EQ(TypeDefinedBy("struct Box {"), "Box");
  EXPECT_EQ(TypeDefinedBy("class Check final : public ir::HostFunction {"), "Check");
  EXPECT_EQ(TypeDefinedBy("enum class Lane : uint8_t { kF32 };"), "Lane");
  EXPECT_EQ(TypeDefinedBy("struct AsView {};  // the same buffer"), "AsView");
  EXPECT_EQ(TypeDefinedBy("using Shape = std::vector<int64_t>;"), "Shape");
  EXPECT_EQ(TypeDefinedBy("concept Known = true;"), "Known");
  EXPECT_EQ(TypeDefinedBy("using base::Shape;"), std::nullopt);
  EXPECT_EQ(TypeDefinedBy("struct Kernel;"), std::nullopt);
  EXPECT_EQ(TypeDefinedBy("enum class ScalarOp : uint8_t;"), std::nullopt);
  EXPECT_EQ(TypeDefinedBy("struct Graph::Impl {"), std::nullopt);
  EXPECT_EQ(TypeDefinedBy("  struct Piece {"), std::nullopt);
  EXPECT_GT(DefinitionsIn(".h").size(), 200u);
}

TEST(Names, OfTypesInHeadersHaveOneMeaning) {
  const Definitions headers = DefinitionsIn(".h"), sources = DefinitionsIn(".cc");
  for (const auto& [name, files] : headers) {
    if (kOneMeaning.contains(name)) continue;
    std::set<std::string> all = files;
    if (auto local = sources.find(name); local != sources.end())
      all.insert(local->second.begin(), local->second.end());
    EXPECT_EQ(all.size(), 1u) << name << " is defined in " << testing::PrintToString(all);
  }
}

TEST(Names, WithOneMeaningAreStillDefinedTwice) {
  const Definitions headers = DefinitionsIn(".h");
  for (const std::string& name : kOneMeaning) EXPECT_GT(headers.at(name).size(), 1u) << name;
}

}  // namespace
}  // namespace tessera
