// Every op has a public function of its name or a reason for having none, and every
// declared function is defined.
#include <gmock/gmock.h>

#include <map>
#include <regex>
#include <set>
#include <string>

#include "base/at.h"
#include "ops/ops.h"
#include "unit/base/sources.h"

namespace tessera::suite::public_functions_test {
namespace {

// Returns the names declared or called in the public headers as `name(`, except members.
const std::set<std::string>& PublicNames() {
  static const auto* names = [] {
    auto* found = new std::set<std::string>;
    static const std::regex name(R"((?:^|[\s>&*])(\w+)\()");
    for (const auto& header : Sources("include/tessera"))
      for (const std::string& line : Lines(header)) {
        const std::string code = line.substr(0, line.find("//"));
        for (std::sregex_iterator m(code.begin(), code.end(), name), end; m != end; ++m)
          found->insert((*m)[1]);
      }
    return found;
  }();
  return *names;
}

struct Unnamed {
  const char* why;
  std::set<std::string_view> ops;
};
const Unnamed kUnnamed[] = {
    {"a public function of another name makes it",
     {"round_away", "random_fold_in", "random_bits64", "random_bits32", "ordered_callback",
      "gather_shards", "exchange_shards", "sharding_constraint", "reduce_window_sum",
      "reduce_window_prod", "reduce_window_max", "reduce_window_min", "reduce_window_and",
      "reduce_window_or", "reduce_window_xor", "ragged_contract", "ragged_rows", "sharded_like"}},
    {"the border of shard_map", {"full_to_shard", "shard_to_full"}},
    {"only transforms create it",
     {"custom_linear", "slice_shard", "window_take_max", "window_take_min", "window_put_max",
      "window_put_min"}},
    {"only imported programs have it", {"packed_qr"}},
    {"the library moves by it what the user did not ask to move", {"implied_reshard"}},
    {"only device programs have it",
     {"pad_to_shards", "trim", "halo_exchange", "all_slice", "collective_permute", "all_reduce",
      "reduce_scatter", "replicated_to_unreduced", "sharded_to_unreduced", "seen_as",
      "copy_to_each", "mask_padding"}},
};

TEST(PublicFunctions, EveryOpHasOneOrSaysWhyNot) {
  ops::Install();
  for (const ir::OpDef* op : ir::AllOps()) {
    const char* why = nullptr;
    for (const Unnamed& row : kUnnamed)
      if (row.ops.contains(op->name)) why = row.why;
    const bool has = PublicNames().contains(std::string(op->name));
    EXPECT_TRUE(has || why) << op->name << " has no public function";
    EXPECT_FALSE(has && why) << op->name << " has a public function, but is listed as: " << why;
  }
}

// Returns the functions that a header declares without a body. Overloads occur several times.
std::vector<std::string> DeclaredBy(const std::vector<std::string>& lines) {
  static const std::regex declarator(R"(^[\w:<>*&\s]*?[\s&*>](\w+)\()");
  std::vector<std::string> names;
  for (size_t i = 0; i < lines.size(); ++i) {
    std::smatch match;
    if (lines[i].starts_with("inline ") || (i > 0 && lines[i - 1].starts_with("template")))
      continue;
    if (!std::regex_search(lines[i], match, declarator) || isspace(lines[i][0])) continue;
    // The parameters are followed by a body, or by the end of the declaration.
    int depth = 0;
    char after = 0;
    for (size_t j = i, at = base::Size(match.length()) - 1; j < lines.size() && !after; ++j, at = 0)
      for (; at < lines[j].size() && !after; ++at) {
        const char c = lines[j][at];
        depth += (c == '(') - (c == ')');
        if (depth == 0 && c != ')' && c != ' ') after = c;
      }
    if (after == ';') names.push_back(match[1]);
  }
  return names;
}

TEST(PublicFunctions, DeclaredOnesAreFound) {
  EXPECT_THAT(
      DeclaredBy({"Array one(Operand x, Options o = {}, Loc loc = Loc::Current());",
                  "std::vector<Array> two(Dims dims = {1},",
                  "                       Loc loc = Loc::Current());", "template <class T>",
                  "Array made(T x);", "inline Array own();",
                  "Array defined(Operand x) { return one(x); }", "// of f(x);",
                  "  Array member(Operand x);", "struct TopK {", "}  // namespace tessera"}),
      testing::ElementsAre("one", "two"));
}

TEST(PublicFunctions, EveryDeclaredOneHasABody) {
  std::map<std::string, int> missing;  // by name, with a count of overloads
  for (const std::string& name : DeclaredBy(Lines(kRoot / "include/tessera/ops.h")))
    ++missing[name];
  EXPECT_GT(missing.size(), 150u);
  for (const auto& source : Sources("src/api"))
    for (const std::string& name : FunctionsOf(Lines(source)))
      --missing[name.substr(name.rfind(':') + 1)];
  for (const auto& [name, bodies] : missing)
    EXPECT_LE(bodies, 0) << name << " is declared in include/tessera/ops.h, but no source of "
                         << "src/api defines it";
}

// Returns the names of the public headers that a text includes or lists, without "tessera/".
std::set<std::string> HeadersIn(const std::string& text, const std::regex& form) {
  std::set<std::string> names;
  for (std::sregex_iterator m(text.begin(), text.end(), form), end; m != end; ++m)
    names.insert((*m)[1]);
  return names;
}

TEST(PublicHeaders, TesseraIncludesOrListsAll) {
  static const std::regex include(R"x(#include "tessera/(\w+\.h)")x"), word(R"((\w+\.h))");
  const std::string text = Text(kRoot / "include/tessera/tessera.h");
  std::set<std::string> reached = HeadersIn(text, include);
  for (bool grows = true; grows;) {
    const size_t before = reached.size();
    for (const std::string& name : std::set(reached))
      reached.merge(HeadersIn(Text(kRoot / "include/tessera" / name), include));
    grows = reached.size() > before;
  }
  std::set<std::string> named;
  for (const std::string& line : Lines(kRoot / "include/tessera/tessera.h"))
    if (line.starts_with("//")) named.merge(HeadersIn(line, word));
  for (const auto& header : Sources("include/tessera")) {
    const std::string name = header.filename();
    if (name == "tessera.h") continue;
    EXPECT_NE(reached.contains(name), named.contains(name))
        << name << " is " << (reached.contains(name) ? "included and" : "neither included nor")
        << " listed by tessera.h";
  }
}

TEST(PublicHeaders, FmtFormatsAllThatPrints) {
  static const std::regex printed(R"(operator<<\(std::ostream& os, (?:const )?(\w+))");
  const std::string formatters = Text(kRoot / "include/tessera/fmt.h");
  size_t types = 0;
  for (const auto& header : Sources("include/tessera"))
    for (std::string type : HeadersIn(Text(header), printed)) {
      if (type == "Printed") type = "Array";  // an Array with its line
      EXPECT_TRUE(formatters.find("formatter<tessera::" + type + ">") != std::string::npos)
          << "fmt.h has no formatter of " << type;
      ++types;
    }
  EXPECT_GE(types, 12u);
}

TEST(PublicFunctions, OpsWithoutOneExist) {
  ops::Install();
  for (const Unnamed& row : kUnnamed)
    for (std::string_view op : row.ops) EXPECT_NE(ir::FindOp(op), nullptr) << op;
}

}  // namespace
}  // namespace tessera::suite::public_functions_test
