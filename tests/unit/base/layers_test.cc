// Rules that all sources keep: the layers of src, and the length of files.
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

// Returns which layers each layer of a CMake text may include besides "tessera/...": itself, and
// everything that its line `tessera_library(NAME DEPS ... LIBS ...)` reaches.
Layers LayersOf(const std::string& cmake) {
  static const std::regex line(
      R"(tessera_library\(\s*(\w+)(?:\s+DEPS\s+([^()]*?))?(?:\s+LIBS[^()]*)?\))");
  Layers layers;
  for (std::sregex_iterator m(cmake.begin(), cmake.end(), line), end; m != end; ++m) {
    std::set<std::string>& seen = layers[(*m)[1]];
    seen.insert((*m)[1]);
    std::istringstream names((*m)[2]);
    for (std::string dep; names >> dep;) {
      // CMake declares a library before those that link it, so the layers that `dep` reaches
      // are known.
      if (!layers.contains(dep)) throw std::runtime_error(dep + " is linked before it is declared");
      seen.insert(layers[dep].begin(), layers[dep].end());
    }
  }
  return layers;
}

// Returns the layers that each folder of src may include. The command is not a library: it includes
// public headers only. The transport over MPI is a library of its own.
const Layers& AllowedLayers() {
  static const Layers layers = [] {
    Layers read = LayersOf(Text(kRoot / "src/CMakeLists.txt"));
    read["c"] = {"c", "cli"};  // for the page
    read["cli"] = {"cli"};
    read["mpi"] = {"base", "mpi", "plan", "runtime"};
    return read;
  }();
  return layers;
}

// Returns x for a line `#include "x"`, and "" for any other line.
std::string QuotedInclude(const std::string& line) {
  constexpr std::string_view kStart = "#include \"";
  if (!line.starts_with(kStart)) return "";
  return line.substr(kStart.size(), line.find('"', kStart.size()) - kStart.size());
}

// Returns the error in a file of `layer` that includes `path`; "" if it is allowed.
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

// Returns b of a/b/c.h, "" of a/c.h.
std::string SubFolderOf(const std::string& path) {
  const size_t first = path.find('/'), last = path.rfind('/');
  return first == last ? "" : path.substr(first + 1, path.find('/', first + 1) - first - 1);
}

// Returns the sub-folders of a layer that the files of each sub-folder include.
Layers SubFolderIncludes(const std::string& layer) {
  Layers includes;
  for (const fs::path& file : Sources(fs::path("src") / layer)) {
    const std::string from = SubFolderOf(fs::relative(file, kRoot / "src").string());
    for (const std::string& line : Lines(file)) {
      const std::string path = QuotedInclude(line);
      const std::string to = path.starts_with(layer + "/") ? SubFolderOf(path) : "";
      if (!from.empty() && !to.empty() && to != from) includes[from].insert(to);
    }
  }
  return includes;
}

// Returns "a -> b -> a" if the folders that `from` reaches include one on the way; "" if none does.
std::string CycleFrom(const Layers& includes, const std::string& from, std::string way) {
  if (("-> " + way + " ->").find("-> " + from + " ->") != std::string::npos)
    return way + " -> " + from;
  way += (way.empty() ? "" : " -> ") + from;
  const auto it = includes.find(from);
  if (it == includes.end()) return "";
  for (const std::string& to : it->second)
    if (std::string cycle = CycleFrom(includes, to, way); !cycle.empty()) return cycle;
  return "";
}

// Files directly in the folder of a layer are above or below all sub-folders.
TEST(Layers, SubFoldersIncludeOneAnotherOneWay) {
  for (const auto& [layer, allowed] : AllowedLayers()) {
    const Layers includes = SubFolderIncludes(layer);
    for (const auto& [from, to] : includes)
      EXPECT_EQ(CycleFrom(includes, from, ""), "") << "in src/" << layer;
  }
}

TEST(Layers, CyclesAreFound) {
  EXPECT_EQ(CycleFrom({{"a", {"b"}}, {"b", {"c"}}}, "a", ""), "");
  EXPECT_EQ(CycleFrom({{"a", {"b"}}, {"b", {"a"}}}, "a", ""), "a -> b -> a");
  EXPECT_EQ(SubFolderOf("spmd/lower/draft.h"), "lower");
  EXPECT_EQ(SubFolderOf("spmd/pipeline.h"), "");
}

TEST(Layers, FaultsAreFound) {
  EXPECT_EQ(IncludeFault("kernels", "plan/plan.h"), "");
  EXPECT_EQ(IncludeFault("kernels", "tessera/dtype.h"), "");
  EXPECT_EQ(IncludeFault("kernels", "ir/op.h"), "kernels may not see ir");
  EXPECT_EQ(IncludeFault("base", "error.h"), "names no layer");
  EXPECT_EQ(QuotedInclude("#include \"plan/plan.h\"  // why"), "plan/plan.h");
  EXPECT_EQ(QuotedInclude("#include <vector>"), "");
}

// Whether the first lines of a file say that it is mostly a table.
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
