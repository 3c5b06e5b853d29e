// Which operations of StableHLO are read and written.
//
// tests/coverage has a file per dialect, with a line per operation: the name, or the name, TAB `!`
// TAB why it is not read, or TAB `~` TAB a note, if it is no operation of a function. The
// reader's tables tell which are read, and the writer's sources have the names that are written.
#include "functions/coverage_stablehlo.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <sstream>
#include <vector>

#include "stablehlo/read/importer.h"

namespace tessera::functions {
namespace {

const std::filesystem::path kSources = TESSERA_SOURCE_DIR;

std::set<std::string> WrittenOperations() {
  static const std::regex name("\\b(?:stablehlo|chlo|sdy)\\.[a-z_0-9]+");
  std::set<std::string> found;
  for (const auto& source : std::filesystem::directory_iterator(kSources / "src/stablehlo/write")) {
    std::ifstream file(source.path());
    for (std::string line; std::getline(file, line);) {
      const std::string code = line.substr(0, line.find("//"));
      for (std::sregex_iterator at(code.begin(), code.end(), name), none; at != none; ++at)
        found.insert(at->str());
    }
  }
  return found;
}

struct Dialect {
  const char *file, *title;
  bool is_of_targets = false;
};
constexpr Dialect kDialects[] = {{"stablehlo", "StableHLO"},
                                 {"chlo", "chlo"},
                                 {"sdy", "sdy (Shardy)"},
                                 {"custom_call", "Custom calls of JAX", true}};

bool IsRead(const Dialect& dialect, const std::string& name) {
  return dialect.is_of_targets ? stablehlo::HasReader("stablehlo.custom_call", name)
                               : stablehlo::HasReader(name, "");
}

// The targets of the reader are all in the list, so that the page has them.
void ExpectTargets(const std::set<std::string>& names) {
  for (const auto& table : {stablehlo::CustomCallReaders(), stablehlo::OlderShardingReaders()})
    for (const stablehlo::OpReader& reader : table)
      EXPECT_TRUE(names.contains(reader.name)) << reader.name;
}

}  // namespace

OperationPages PagesOfOperations() {
  const std::set<std::string> written = WrittenOperations();
  OperationPages pages;
  for (const Dialect& dialect : kDialects) {
    std::set<std::string> names;
    size_t read = 0, out = 0;
    std::stringstream table;
    std::ifstream file(kSources / "tests/coverage" / (std::string(dialect.file) + ".txt"));
    for (std::string line; std::getline(file, line);) {
      const std::string name = line.substr(0, line.find('\t'));
      const std::string note = name == line ? "" : line.substr(name.size() + 3);
      const bool is_counted = name == line || line[name.size() + 1] == '!';
      EXPECT_TRUE(names.empty() || *names.rbegin() < name) << name;
      if (is_counted) {
        names.insert(name);
        EXPECT_EQ(IsRead(dialect, name), note.empty()) << name;
        read += note.empty();
        out += written.contains(name);
      }
      table << "| `" << name << "` | "
            << (!is_counted    ? note
                : note.empty() ? "yes"
                               : "no: " + note)
            << " |";
      if (!dialect.is_of_targets) table << (written.contains(name) ? " yes |" : " |");
      table << "\n";
    }
    if (dialect.is_of_targets) ExpectTargets(names);
    const std::string all = std::to_string(names.size());
    pages.summary += std::string("| ") + dialect.title + " | " + all + " | " +
                     std::to_string(read) + " | " +
                     (dialect.is_of_targets ? "" : std::to_string(out)) + " |\n";
    pages.tables += std::string("\n## ") + dialect.title + "\n\n" +
                    (dialect.is_of_targets ? "| target | read |\n|---|---|\n"
                                           : "| operation | read | written |\n|---|---|---|\n") +
                    table.str();
  }
  return pages;
}

}  // namespace tessera::functions
