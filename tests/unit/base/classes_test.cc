// The size of classes: one that needs more lines or more state is several.
#include <gmock/gmock.h>

#include <map>
#include <regex>
#include <string>
#include <vector>

#include "sources.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;

struct ClassSize {
  std::string name;
  int lines = 0;
  int mutable_members = 0;
};

// Returns the line without strings, characters and comments, whose braces do not count.
std::string CodeOf(const std::string& line) {
  static const std::regex noise(R"rx("(\\.|[^"\\])*"|'(\\.|[^'\\])'|//.*)rx");
  return std::regex_replace(line, noise, "");
}

// Returns how many members a line of a class body declares that can change: `int a_, b_ = 0;` has
// two, `const Program& from_;` none.
int MutableMembersIn(const std::string& code) {
  static const std::regex declaration(
      R"(^\s+(?!const\b|static\b|using\b|friend\b|return\b|typedef\b)(mutable )?[\w:][^()]*?[\s&*>](\w+_)\b(?!\().*)");
  static const std::regex member(R"((?:[\s&*>]|^)(\w+_)\b(?=\s*(?:[,;={]|$)))");
  if (!std::regex_match(code, declaration)) return 0;
  int count = 0;
  for (std::sregex_iterator m(code.begin(), code.end(), member), end; m != end; ++m) ++count;
  return count;
}

// Returns the classes of a source, nested ones apart from those around them.
std::vector<ClassSize> ClassesOf(const std::vector<std::string>& lines) {
  static const std::regex head(
      R"(^\s*(?:template <.*> ?)?class (?:\[\[\w+\]\] |TESSERA_PUBLIC )?(\w+)[^;]*$)");
  struct Open {
    ClassSize size;
    int depth;  // of the braces around the body
  };
  std::vector<ClassSize> classes;
  std::vector<Open> open;
  int depth = 0;
  bool begins = false;
  for (const std::string& line : lines) {
    const std::string code = CodeOf(line);
    std::smatch m;
    if (!begins && std::regex_match(code, m, head)) {
      open.push_back({{m[1], 0, 0}, depth});
      begins = true;
    }
    if (!open.empty() && !begins && depth == open.back().depth + 1)
      open.back().size.mutable_members += MutableMembersIn(code);
    for (char c : code) {
      if (c == '{') ++depth, begins = false;
      if (c == '}') --depth;
    }
    if (begins && code.find(';') != std::string::npos) open.pop_back(), begins = false;
    for (Open& o : open) ++o.size.lines;
    if (!open.empty() && !begins && depth == open.back().depth) {
      classes.push_back(open.back().size);
      open.pop_back();
    }
  }
  return classes;
}

TEST(Classes, AreMeasured) {
  const std::vector<ClassSize> classes = ClassesOf({
      "class Forward;",
      "class A : public B {",
      " public:",
      "  int Ask() const { return a_ + b_; }",
      " private:",
      "  class Inner {",
      "    int inside_ = 0;",
      "  };",
      "  const int& fixed_;",
      "  int a_, b_ = 0;",
      "  std::map<int, std::vector<bool>> c_;",
      "  mutable std::mutex d_;",
      "};",
  });
  ASSERT_EQ(classes.size(), 2u);
  EXPECT_EQ(classes[0].name, "Inner");
  EXPECT_EQ(classes[0].mutable_members, 1);
  EXPECT_EQ(classes[1].name, "A");
  EXPECT_EQ(classes[1].mutable_members, 4);
  EXPECT_EQ(classes[1].lines, 12);
}

// At most five, each with the reason.
const std::map<std::string, std::string>& Exceptions() {
  static const std::map<std::string, std::string> reasons = {
      {"ReadyExchange", "the fields of one exchange, which workers read without a further step"},
  };
  return reasons;
}

TEST(Classes, HaveAtMost300LinesAnd12MembersThatChange) {
  EXPECT_LE(Exceptions().size(), 5u);
  for (const char* folder : {"src", "include"})
    for (const fs::path& file : Sources(folder))
      for (const ClassSize& c : ClassesOf(Lines(file))) {
        if (Exceptions().contains(c.name)) continue;
        EXPECT_LE(c.lines, 300) << Inside(file) << ": " << c.name;
        EXPECT_LE(c.mutable_members, 12) << Inside(file) << ": " << c.name;
      }
}

}  // namespace
}  // namespace tessera
