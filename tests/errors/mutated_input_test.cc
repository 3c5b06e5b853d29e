// Text and files with random edits: a value or an Error of the caller's, nothing else.
#include <gmock/gmock.h>
#include <tessera/data.h>
#include <tessera/propagation.h>
#include <tessera/tessera.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>

#include "base/checksum.h"
#include "fuzz.h"
#include "mutate.h"

namespace tessera::mutated_input_test {
namespace {

constexpr int64_t kEach = 500;  // of every kind of input

// Reads `FuzzCount(kEach)` mutations of the texts. A text that is read prints and reads as
// the same.
void Try(std::vector<std::string> texts, const std::vector<const char*>& tokens,
         const std::function<void(const std::string&)>& read) {
  std::mt19937 engine(5);
  for (int64_t round = FuzzCount(kEach); round > 0 && !testing::Test::HasFailure(); --round) {
    const std::string text = Mutated(texts[engine() % texts.size()], tokens, engine);
    SCOPED_TRACE(text);
    try {
      read(text);
    } catch (const InternalError& e) {
      ADD_FAILURE() << e.what();
    } catch (const Error&) {
    } catch (const std::exception& e) {
      ADD_FAILURE() << e.what();
    }
  }
}

const std::vector<const char*> kShardingTokens = {"{\"x\"}",    "?",
                                                  "p1",         "\"y\":(2)2",
                                                  "[",          "]",
                                                  "{",          "}",
                                                  ",",          "-1",
                                                  "replicated", "unreduced={",
                                                  "<@mesh, ",   "9223372036854775807",
                                                  "\"z\"",      ":(",
                                                  ")2",         "0",
                                                  "(1)4",       "replicated={\"y\"}"};

TEST(Mutated, ShardingText) {
  const Mesh mesh = abstract_mesh({{"x", 2}, {"y", 4}, {"z", 6}});
  Try({R"(<@mesh, [{"x"}, {"z", ?}p1], replicated={"y"}>)",
       R"(<@mesh, [{"y":(1)2}, {"y":(2)2, ?}], unreduced={"z"}>)", R"(<@mesh, []>)"},
      kShardingTokens, [&](const std::string& text) {
        const Sharding sharding = Sharding::Parse(text, mesh);
        EXPECT_EQ(Sharding::Parse(sharding.text(), mesh), sharding);
      });
}

TEST(Mutated, TypeText) {
  MeshScope scope(abstract_mesh({{"x", 2}, {"y", 4}}));
  Try({"f32[8@x,4]", "bf16[128@(x,y),64]", "f32[8@x,2]{U:y}", "i32[]", "f64[16@y,0]{V:x}"},
      {"@x", "@(", ")", "{U:", "}", "9223372036854775807", "-1", ",", "[", "]", "i4", "f16", "y",
       "{R:y}", "?"},
      [](const std::string& text) {
        const ArrayType type = ArrayType::Parse(text);
        EXPECT_EQ(ArrayType::Parse(type.text()), type);
      });
}

TEST(Mutated, RuleText) {
  using namespace propagation;
  Try({"([i, j], [j, k])->([i, k]) {i=8, j=16, k=32} reduction={j}", "b h, h k -> b k",
       "([i, j, k])->([ij, k]) {i=2, j=4, k=32}"},
      {"->", "(", ")", "[", "]", "{", "}", "i=", "reduction={", "need_replication={k}",
       "permutation={i}", "9223372036854775807", ",", " ", "blocked_propagation={i}", "ij", "0"},
      [](const std::string& text) {
        Graph graph(abstract_mesh({{"x", 2}, {"y", 4}}));
        const ValueId a = graph.value({.shape = {8, 16}, .sharding = R"(<@mesh, [{"x"}, {?}]>)"});
        const ValueId b = graph.value({.shape = {16, 32}}), c = graph.value({.shape = {8, 32}});
        graph.op({.rule = text, .operands = {a, b}, .results = {c}});
        EXPECT_FALSE(propagate(graph).sharding(c).empty());
      });
}

std::vector<std::string> Programs() {
  std::vector<std::string> texts;
  for (const auto& entry : std::filesystem::directory_iterator(PROGRAM_DIR)) {
    std::ostringstream text;
    text << std::ifstream(entry.path()).rdbuf();
    texts.push_back(text.str());
  }
  std::sort(texts.begin(), texts.end());  // a folder has no order
  return texts;
}

TEST(Mutated, ProgramTextThatIsLowered) {
  Try(Programs(),
      {"%0",   "-1",         "[",    "]",       "{",        "}",        "f32[8,16]", ",",
       "9",    "dims=[0]",   "mesh", "->",      "return",   "\"data\"", "sort",      "99",
       "iota", "{dim=[0]}",  "add",  "reshape", "auto={",   "(1)2",     "bool",      "i8[0]",
       "scan", "while_loop", "cond", "reshard", "explicit", "region(",  "length=3",  "@data"},
      [](const std::string& text) {
        // On one line of this file, as places are printed.
        const auto reread = [](const std::string& t) { return Program::Parse(t).text(); };
        const std::string printed = reread(text);
        EXPECT_EQ(reread(printed), printed);
        EXPECT_GE(lower(Program::Parse(text)).comm().bytes(), 0);
      });
}

TEST(Mutated, NpyFile) {
  const std::string path = testing::TempDir() + "/mutated.npy";
  std::vector<std::string> files;
  for (DType dtype : {f32, i8, bool_, bf16}) {
    save_npy(path, ones({3, 4}, dtype));
    std::ostringstream bytes;
    bytes << std::ifstream(path, std::ios::binary).rdbuf();
    files.push_back(bytes.str());
  }
  Try(files,
      {"'descr'", "<f4", "'<f8'", "True", "(", ")", ",", "9223372036854775807", "-1", "'shape': (",
       "{", "}", "\n", "|V2", ">i4", "0"},
      [&](const std::string& bytes) {
        std::ofstream(path, std::ios::binary) << bytes;
        const Array x = load_npy(path);
        EXPECT_GE(x.to_vector<double>().size(), 0u);
      });
}

TEST(Mutated, SafetensorsFile) {
  const std::string path = testing::TempDir() + "/mutated.safetensors";
  const auto written = [&](const auto& tree) {
    save_safetensors(path, tree, {.metadata = {{"a", "b"}}});
    std::ostringstream bytes;
    bytes << std::ifstream(path, std::ios::binary).rdbuf();
    return bytes.str();
  };
  const std::vector<std::string> files = {
      written(std::map<std::string, Array>{{"x", ones({3, 4})}, {"y", ones({5}, bf16)}}),
      written(std::vector{ones({}, bool_), zeros({0, 2}, f64), ones({2, 2}, u8)})};
  Try(files,
      {"{",
       "}",
       "[",
       "]",
       ",",
       ":",
       "\"x\"",
       "\"dtype\":\"F16\"",
       "\"shape\":[",
       "-1",
       "0",
       "48",
       "\"data_offsets\":[0,",
       "18446744073709551615",
       "9223372036854775807",
       "1e999",
       "null",
       "\\u0000",
       "\xff",
       "\"__metadata__\":{",
       "\"C64\"",
       "\"BOOL\"",
       "    ",
       "[[[[",
       "1.5"},
      [&](const std::string& bytes) {
        std::filesystem::remove(path);  // some file systems flush truncated files
        std::ofstream(path, std::ios::binary) << bytes;
        load_safetensors_metadata(path);
        for (const auto& [name, x] : load_safetensors(path))
          EXPECT_EQ(static_cast<int64_t>(x.to_vector<double>().size()), x.size()) << name;
      });
}

// Half of the mutations are of the header alone, and have its new size and checksum.
TEST(Mutated, ProgramFile) {
  constexpr size_t kStart = 32;  // bytes before the header; the size and checksum are the last
  const std::string path = testing::TempDir() + "/mutated.program";
  std::vector<std::string> files;
  const Array table = arange(6.0), flags = array({true, false});
  const auto add = [&](const auto& f) {
    jit(f).trace(ones({6})).save(path);
    std::ostringstream bytes;
    bytes << std::ifstream(path, std::ios::binary).rdbuf();
    files.push_back(bytes.str());
  };
  add([&](Array x) { return x * table; });
  add([&](Array x) {
    return std::pair(flags,
                     scan([](Array c, Array y) { return std::pair(c + y, c); }, table, x).first);
  });
  bool repairs = false;
  Try(files,
      {"\"text\"",
       "\"constants\":",
       "[[0,24,",
       "[",
       "]",
       "{",
       "}",
       "\"donated\":[0]",
       ",",
       "-1",
       "0",
       "18446744073709551615",
       "9223372036854775807",
       "f32[6]",
       "bool[2]",
       "captures(",
       "%0",
       "\\n",
       "\\u0000",
       "\xff",
       "\"inputs\":[]",
       "null",
       "region(",
       "mul",
       "i64[3]"},
      [&](std::string bytes) {
        if (repairs = !repairs; repairs && bytes.size() > kStart) {
          const size_t end = bytes.rfind(']') == bytes.npos ? bytes.size() : bytes.rfind(']') + 1;
          const uint64_t numbers[] = {
              std::max(end, kStart) - kStart,
              base::Checksum(bytes.data() + kStart, std::max(end, kStart) - kStart)};
          std::memcpy(bytes.data() + kStart - sizeof numbers, numbers, sizeof numbers);
        }
        std::filesystem::remove(path);
        std::ofstream(path, std::ios::binary) << bytes;
        const Program program = Program::Load(path);
        for (const Array& x : program.run({ones({6})})) EXPECT_GE(x.size(), 0);
      });
}

TEST(Mutated, IdxFile) {
  const std::string path = testing::TempDir() + "/mutated.idx";
  Try({std::string("\0\0\x08\2\0\0\0\2\0\0\0\3abcdef", 18),
       std::string("\0\0\x0d\1\0\0\0\1abcd", 12)},
      {"\x08", "\x0b", "\x0e", "\1", "\2", "\xff\xff\xff\xff", "\x7f", "abcd"},
      [&](const std::string& bytes) {
        std::filesystem::remove(path);
        std::ofstream(path, std::ios::binary) << bytes;
        const data::DataSource source = data::idx(path);
        for (int64_t k = 0; k < std::min<int64_t>(source.size(), 9); ++k)
          EXPECT_EQ(source.read(k).size(), 1u);
      });
}

}  // namespace
}  // namespace tessera::mutated_input_test
