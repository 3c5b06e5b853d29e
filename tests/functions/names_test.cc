// An error of a call with sharded operands names a function that the user's line calls, not one
// that it is composed of.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "functions/calls/calls.h"
#include "functions/rows.h"
#include "fuzz.h"

namespace tessera::functions {
namespace {

const std::string kFolder = TESSERA_SOURCE_DIR "/tests/functions/";
const std::string kHeaders = TESSERA_SOURCE_DIR "/include/tessera/";

std::vector<std::string> LinesOf(const std::string& path) {
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

// Returns the words that are followed by a bracket.
std::vector<std::string> CallsIn(const std::string& line) {
  static const std::regex call(R"((\w+)\()");
  std::vector<std::string> calls;
  for (std::sregex_iterator m(line.begin(), line.end(), call), end; m != end; ++m)
    calls.push_back((*m)[1]);
  return calls;
}

// Returns the functions that each inline function of these headers calls: other names of ours, in
// whose errors our names are shown.
const std::map<std::string, std::set<std::string>>& OtherNames() {
  static const auto* names = [] {
    auto* found = new std::map<std::string, std::set<std::string>>;
    static const std::regex macro(R"(^TESSERA_\w+_NAME\((\w+), (\w+)\))");
    static const std::regex head(R"(^(?:inline )?Array (\w+)\(.*)");
    for (const char* header : {"numpy_names.h", "lax_names.h", "nn.h"}) {
      std::string name;
      for (const std::string& line : LinesOf(kHeaders + header)) {
        std::smatch m;
        if (std::regex_search(line, m, macro)) (*found)[m[1]] = {m[2]};
        if (std::regex_search(line, m, head)) name = m[1];
        const bool is_body = line.starts_with("  ") || line.find("{ return ") != line.npos;
        for (const std::string& call : CallsIn(line))
          if (is_body && call != name) (*found)[name].insert(call);
      }
    }
    return found;
  }();
  return *names;
}

// Adds a name, and the functions that it is another name of.
void AddName(const std::string& name, std::set<std::string>& names) {
  if (!names.insert(name).second) return;
  if (const auto ours = OtherNames().find(name); ours != OtherNames().end())
    for (const std::string& other : ours->second) AddName(other, names);
}

// Returns the names of the calls around a line of a file of this folder.
std::set<std::string> NamesAround(const std::string& file, size_t line) {
  static const std::regex word(R"(\w+)");  // not only calls: some are made by macros
  std::set<std::string> names;
  for (const std::string& folder : {kFolder, kFolder + "calls/"}) {
    const std::vector<std::string> lines = LinesOf(folder + file);
    for (size_t i = line > 3 ? line - 4 : 0; i < lines.size() && i < line + 3; ++i)
      for (std::sregex_iterator m(lines[i].begin(), lines[i].end(), word), end; m != end; ++m)
        AddName(m->str(), names);
  }
  return names;
}

// Whether the first line of a message, "rows_x.cc:9: ShardingError in f [g.C5]: ...", names a
// function of that line. Operators are named as functions: `a * b` is mul.
bool NamesItsLine(const std::string& message) {
  static const std::regex form(R"(^([\w.]+):(\d+): \w+ in (?:\w+::)*(\w+) \[)");
  static const std::set<std::string> operators = {
      "add", "sub", "mul", "divide", "div", "neg", "lt", "le", "gt", "ge", "eq", "ne", "index"};
  static std::map<std::string, std::set<std::string>> around;  // by file and line
  std::smatch m;
  if (!std::regex_search(message, m, form)) return false;
  std::set<std::string>& names = around[m.str(1) + m.str(2)];
  if (names.empty()) names = NamesAround(m[1], std::stoul(m[2]));
  return names.contains(m[3]) || operators.contains(m[3]);
}

using Function = std::function<R(A)>;

// Returns the first line of the call's error; "" if it is accepted, or no call of a table.
std::string ErrorOf(const Function& f, A operands) {
  try {
    f(operands);
  } catch (const Error& e) {
    const std::string text = e.what();
    return text.substr(0, text.find('\n'));
  } catch (const std::exception&) {
  }
  return "";
}

// Returns the types of an array with one dim sharded over x, with the last two over x and y, as a
// sum whose terms are on x, and whole, which is the last.
std::vector<std::string> TypesOf(const Array& array) {
  const int rank = array.rank();
  const auto type = [&](int x, int y) {
    std::string dims;
    for (int d = 0; d < rank; ++d)
      dims += fmt::format("{}{}{}", d ? "," : "", array.shape()[static_cast<size_t>(d)],
                          d == x   ? "@x"
                          : d == y ? "@y"
                                   : "");
    return fmt::format("{}[{}]", array.dtype().name(), dims);
  };
  std::vector<std::string> types;
  for (int x = 0; x < rank; ++x) types.push_back(type(x, rank));
  if (rank > 1) types.push_back(type(rank - 2, rank - 1));
  if (array.dtype().is_inexact()) types.push_back(type(rank, rank) + "{U:x}");
  types.push_back(type(rank, rank));
  return types;
}

// Calls f with each operand in all these layouts, and the others whole. Adds the errors that do not
// name their line.
void AddUnnamed(const Function& f, A operands, std::set<std::string>& unnamed) {
  if (!ErrorOf(f, operands).empty()) return;
  MeshScope scope(abstract_mesh({{"x", 2}, {"y", 2}}));
  for (size_t k = 0; k < operands.size(); ++k)
    for (const std::string& type : TypesOf(operands[k])) {
      std::vector<Array> placed;
      try {
        for (size_t i = 0; i < operands.size(); ++i)
          placed.push_back(abstract_array(i == k ? type : TypesOf(operands[i]).back()));
      } catch (const Error&) {
        continue;  // the dim does not divide
      }
      const std::string error = ErrorOf(f, placed);
      if (!error.empty() && !NamesItsLine(error)) unnamed.insert(error);
    }
}

std::string Joined(const std::set<std::string>& lines) {
  return fmt::format("{}", fmt::join(lines, "\n"));
}

TEST(FunctionNames, AreInErrorsOfTheTable) {
  std::set<std::string> unnamed;
  int64_t number = 0;
  for (const Row* row : AllRows()) {
    if (number++ % 4 >= FuzzCount(1)) continue;        // scripts/nightly fuzz takes all rows
    if (row->name.starts_with("vectorize")) continue;  // its result is called without a line
    std::vector<Array> operands;
    std::istringstream text{std::string(row->operands)};
    for (std::string word; text >> word;) {
      const ArrayType type = ArrayType::Parse(word.substr(0, word.find(']') + 1));
      operands.push_back(ones(Shape(type.shape()), {.dtype = type.dtype()}));
    }
    AddUnnamed(row->call, operands, unnamed);
  }
  EXPECT_EQ(Joined(unnamed), "");
}

TEST(FunctionNames, AreInErrorsOfOtherCalls) {
  const Array matrix = eye(8, {.dtype = f32}) * 2 + 1, vector = ones({8});
  const Json options = Json::object();
  std::set<std::string> unnamed;
  const std::vector<std::vector<Array>> all = {{matrix},         {vector},
                                               {matrix, matrix}, {vector, vector},
                                               {matrix, vector}, {stack({matrix, matrix})}};
  for (const CallTable* table : {&NumpyCalls(), &ElementCalls(), &MatrixCalls()})
    for (const auto& [name, call] : *table)
      for (const std::vector<Array>& operands : all)
        AddUnnamed([&, f = call](A xs) { return f(RandomCall(xs, options)); }, operands, unnamed);
  EXPECT_EQ(Joined(unnamed), "");
}

}  // namespace
}  // namespace tessera::functions
