// What the sources must keep to as a whole: the layers of src, and the length of files.
#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "sources.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;

using Layers = std::map<std::string, std::set<std::string>>;

// Returns what each layer of a CMake text may include besides "tessera/...": itself, and whatever
// its line `tessera_library(NAME DEPS ... LIBS ...)` reaches.
Layers LayersOf(const std::string& cmake) {
  static const std::regex line(
      R"(tessera_library\(\s*(\w+)(?:\s+DEPS\s+([^()]*?))?(?:\s+LIBS[^()]*)?\))");
  Layers layers;
  for (std::sregex_iterator m(cmake.begin(), cmake.end(), line), end; m != end; ++m) {
    std::set<std::string>& seen = layers[(*m)[1]];
    seen.insert((*m)[1]);
    std::istringstream names((*m)[2]);
    for (std::string dep; names >> dep;) {
      // CMake wants a library before those that link it, so what `dep` reaches is known.
      if (!layers.contains(dep)) throw std::runtime_error(dep + " is linked before it is declared");
      seen.insert(layers[dep].begin(), layers[dep].end());
    }
  }
  return layers;
}

// What each folder of src may include. The command has no library: it sees what users see.
const Layers& AllowedLayers() {
  static const Layers layers = [] {
    Layers read = LayersOf(Text(kRoot / "src/CMakeLists.txt"));
    read["cli"] = {"cli"};
    return read;
  }();
  return layers;
}

// Returns x of a line `#include "x"`, "" of any other line.
std::string QuotedInclude(const std::string& line) {
  constexpr std::string_view kStart = "#include \"";
  if (!line.starts_with(kStart)) return "";
  return line.substr(kStart.size(), line.find('"', kStart.size()) - kStart.size());
}

// Says what is wrong with a file of `layer` including `path`; "" if nothing is.
std::string IncludeFault(const std::string& layer, const std::string& path) {
  const std::string folder = path.substr(0, path.find('/'));
  if (folder == path) return "names no layer";
  if (!AllowedLayers().contains(folder) || AllowedLayers().at(layer).contains(folder)) return "";
  return layer + " may not see " + folder;
}

TEST(Layers, AreReadFromLinkLines) {
  EXPECT_EQ(LayersOf("set(x y)\ntessera_library(a LIBS fmt::fmt)\ntessera_library(b DEPS a)\n"
                     "tessera_library(c DEPS b\n  LIBS ${x})"),
            (Layers{{"a", {"a"}}, {"b", {"a", "b"}}, {"c", {"a", "b", "c"}}}));
  EXPECT_THROW(LayersOf("tessera_library(b DEPS a)"), std::runtime_error);
  EXPECT_GE(AllowedLayers().size(), 12u);
}

TEST(Layers, EveryFolderOfSourcesHasItsRule) {
  for (const auto& entry : fs::directory_iterator(kRoot / "src")) {
    if (!entry.is_directory()) continue;
    EXPECT_TRUE(AllowedLayers().contains(entry.path().filename())) << entry.path();
  }
}

TEST(Layers, FoldersIncludeOnlyWhatTheyMaySee) {
  for (const auto& [layer, allowed] : AllowedLayers())
    for (const fs::path& file : Sources(fs::path("src") / layer)) {
      int number = 0;
      for (const std::string& line : Lines(file)) {
        ++number;
        const std::string path = QuotedInclude(line);
        if (path.empty()) continue;
        EXPECT_EQ(IncludeFault(layer, path), "") << Inside(file) << ":" << number << ": " << line;
      }
    }
}

TEST(Layers, FaultsAreFound) {
  EXPECT_EQ(IncludeFault("kernels", "plan/plan.h"), "");
  EXPECT_EQ(IncludeFault("kernels", "tessera/dtype.h"), "");
  EXPECT_EQ(IncludeFault("kernels", "ir/op.h"), "kernels may not see ir");
  EXPECT_EQ(IncludeFault("base", "error.h"), "names no layer");
  EXPECT_EQ(QuotedInclude("#include \"plan/plan.h\"  // why"), "plan/plan.h");
  EXPECT_EQ(QuotedInclude("#include <vector>"), "");
}

// A file that is mostly a table says so, by that word, in its first lines.
bool IsTable(const std::vector<std::string>& lines) {
  static const std::regex word("\\btable\\b");
  for (size_t i = 0; i < std::min<size_t>(5, lines.size()); ++i)
    if (std::regex_search(lines[i], word)) return true;
  return false;
}

TEST(FileLength, OnlyTheWordTableExempts) {
  EXPECT_TRUE(IsTable({"// The table of ops."}));
  EXPECT_FALSE(IsTable({"// A stable sort."}));
  EXPECT_FALSE(IsTable({"", "", "", "", "", "// table"}));
}

TEST(FileLength, NoFileIsLongerThan600Lines) {
  for (const char* folder : {"src", "include", "tests", "samples", "benchmarks"})
    for (const fs::path& file : Sources(folder)) {
      const std::vector<std::string> lines = Lines(file);
      if (IsTable(lines)) continue;
      EXPECT_LE(lines.size(), 600u) << Inside(file);
    }
}

}  // namespace
}  // namespace tessera
