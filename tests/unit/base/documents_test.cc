// The documents name files and folders that exist.
#include <gmock/gmock.h>

#include <filesystem>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "sources.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;

// Returns the paths of a line: words between backticks with a slash, and the names of sources.
// Capitals stand for any name, as in `tests/unit/FOLDER/`.
std::vector<std::string> PathsOf(const std::string& line) {
  static const std::regex path(R"(`([\w.-]*/[\w./-]*|\w+\.(?:cc|h|md))`)");
  static const std::regex any_name(R"((^|/)[A-Z]+(\.\w+)?(/|$))");
  std::vector<std::string> paths;
  for (std::sregex_iterator m(line.begin(), line.end(), path), end; m != end; ++m)
    if (const std::string word = (*m)[1]; !std::regex_search(word, any_name)) paths.push_back(word);
  return paths;
}

TEST(Documents, PathsAreFound) {
  EXPECT_THAT(
      PathsOf("`src/ir/type.cc` has `x / y`, `gamma.cc` and `tests/unit/FOLDER/`; see `ir/`"),
      testing::ElementsAre("src/ir/type.cc", "gamma.cc", "ir/"));
  EXPECT_THAT(PathsOf("`X.cc`, `std::pair` and a/b.cc"), testing::IsEmpty());
}

const std::set<std::string>& NamesOfFiles() {
  static const std::set<std::string> names = [] {
    std::set<std::string> all;
    for (const char* folder : {"src", "include", "tests", "samples", "docs"})
      for (const auto& entry : fs::recursive_directory_iterator(kRoot / folder))
        all.insert(entry.path().filename().string());
    return all;
  }();
  return names;
}

// Whether a path exists from a folder where a document may begin it, or a name is of any file.
bool Exists(const std::string& path) {
  if (path.find('/') == std::string::npos)
    return NamesOfFiles().contains(path) || fs::exists(kRoot / path);
  for (const char* from : {"", "src", "include", "tests", "tests/unit", "samples"})
    if (fs::exists(kRoot / from / path)) return true;
  return false;
}

TEST(Documents, NameFilesThatExist) {
  static const std::set<std::string> of_libraries = {"fmt/core.h"};
  std::vector<fs::path> documents = {kRoot / "README.md", kRoot / "CONTRIBUTING.md"};
  for (const auto& entry : fs::directory_iterator(kRoot / "docs"))
    if (entry.path().extension() == ".md") documents.push_back(entry.path());
  for (const fs::path& document : documents) {
    int number = 0;
    for (const std::string& line : Lines(document)) {
      ++number;
      for (const std::string& path : PathsOf(line))
        EXPECT_TRUE(of_libraries.contains(path) || Exists(path))
            << Inside(document) << ":" << number << ": there is no " << path;
    }
  }
}

}  // namespace
}  // namespace tessera
