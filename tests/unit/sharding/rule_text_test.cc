// Text of rules: accepted forms, and refusals with their place.
#include "sharding/rule_text.h"

#include <filesystem>
#include <fstream>

#include "sharding/einsum_rule.h"
#include "tessera/error.h"
#include "unit/sharding/testing.h"

namespace tessera::sharding {
namespace {

template <class F>
std::string MessageOf(F f) {
  try {
    f();
  } catch (const RuntimeError& e) {
    return e.where() + ": " + e.reason();
  }
  return "nothing was refused";
}

// Every rule in the tables of measured propagation.
std::vector<std::string> RecordedRules() {
  std::vector<std::string> rules;
  for (const auto& file : std::filesystem::directory_iterator(std::string(TESSERA_SOURCE_DIR) +
                                                              "/tests/conformance/propagation")) {
    std::ifstream in(file.path());
    std::string text(std::istreambuf_iterator<char>(in), {});
    for (size_t at = 0; (at = text.find("\"([", at)) != std::string::npos;) {
      size_t end = text.find('"', at + 1);
      rules.push_back(text.substr(at + 1, end - at - 1));
      at = end;
    }
  }
  return rules;
}

TEST(RuleText, EveryRecordedRuleIsWrittenAsItIsRead) {
  std::vector<std::string> rules = RecordedRules();
  EXPECT_GT(rules.size(), 1000u);
  for (const std::string& rule : rules) EXPECT_EQ(Text(ParseRule(rule, Loc::Unknown())), rule);
}

TEST(RuleText, OtherSpellings) {
  struct {
    const char *text, *canonical;
  } const cases[] = {
      {"#sdy.op_sharding_rule<([i])->([i]) {i=2}, custom>", "([i])->([i]) {i=2}, custom"},
      {"([i,1]) -> ([i])\n{i=2}", "([i, 1])->([i]) {i=2}"},
      {"([ij])->([i, j]) {i=2,j=0} blocked_propagation = {i,j}",
       "([ij])->([i, j]) {i=2, j=0} blocked_propagation={i, j}"},
      {"([])->([])", "([])->([])"},
      {"([])->([]) {}", "([])->([])"},
  };
  for (const auto& c : cases)
    EXPECT_EQ(Text(ParseRule(c.text, Loc::Unknown())), c.canonical) << c.text;
}

TEST(RuleText, ManyFactorsHaveNumbers) {
  std::string dims, sizes;
  for (int32_t f = 0; f < 40; ++f) {
    dims += (f ? ", " : "") + FactorSymbol(f);
    sizes += (f ? ", " : "") + FactorSymbol(f) + "=2";
  }
  std::string rule = "([" + dims + "])->([" + FactorSymbol(3) + FactorSymbol(18) +
                     FactorSymbol(30) + "]) {" + sizes + "} reduction={i, z_2}";
  DimMap map = ParseRule(rule, Loc::Unknown());
  EXPECT_EQ(Text(map), rule);
  EXPECT_EQ(map.results[0][0], (FactorList{3, 18, 30}));
}

TEST(RuleText, WhatIsRefused) {
  struct {
    const char* text;
    int column;
    const char* reason;
  } const cases[] = {
      {"([a])->([i]) {i=2}", 3, "expected a symbol from 'i' to 'z' but found 'a'"},
      {"([z_])->([i]) {i=2}", 3, "expected an integer after 'z_'"},
      {"([z_-1])->([i]) {i=2}", 3, "expected an integer after 'z_'"},
      {"([z_01])->([i]) {i=2}", 3, "without leading zeros but found '01'"},
      {"([z_99999999999999])->([i]) {i=2}", 3, "expected a symbol index of at most "},
      {"([i])->([i]) {j=2}", 15, "expected the factors in their order"},
      {"([i])->([i]) {ij=2}", 15, "expected a single factor symbol but found 'ij'"},
      {"([i])->([i]) {i=-2}", 18, "expected a size of 0 or more"},
      {"([i, ])->([i]) {i=2}", 6, "dim mapping must have at least one factor"},
      {"()->([i]) {i=2}", 3, "at least one operand"},
      {"([i])->() {i=2}", 15, "at least one operand and one result"},
      {"([i])->([j]) {i=2}", 12, "expected a factor index below 1 but found 1"},
      {"([i, i])->([i]) {i=2}", 8, "cannot reuse factors"},
      {"([ij])->([i]) {i=2, j=1}", 6, "can't have a factor of size 1"},
      {"([i])->([i]) {i=2, j=3}", 23, "factor j=3 that isn't used"},
      {"([i])->([]) {i=2} reduction={j}", 29, "index must be less than 1, got: 1"},
      {"([i, j])->([]) {i=2, j=2} reduction={j, i}", 40, "must be sorted"},
      {"([i])->([]) {i=2} reduction={i, i}", 32, "must be unique"},
      {"([i])->([]) {i=2} reduction={i} permutation={i}", 46, "can only be in one of"},
      {"([i])->([i]) {i=2} reduction={i}", 31, "cannot be in result mappings"},
      {"([i])->([i]) {i=2}, mine", 20, "expected 'custom'"},
      {"([i])->([i]) {i=2} mine", 19, "unexpected 'm'"},
      {"([i]->([i]) {i=2}", 4, "expected ')'"},
      {"#sdy.op_sharding_rule<([i])->([i]) {i=2}", 40, "expected '>'"},
  };
  for (const auto& c : cases) {
    std::string message = MessageOf([&] { ParseRule(c.text, Loc::Unknown()); });
    EXPECT_THAT(message, ::testing::HasSubstr(c.reason)) << c.text;
    // The place is at the token, or just before it if blanks come first.
    std::string at = message.substr(0, message.find(':'));
    int column = std::stoi(at.substr(at.rfind(' ') + 1));
    EXPECT_LE(std::abs(column - c.column), 1) << c.text << "\n" << message;
  }
}

TEST(RuleText, RulesFitShapes) {
  struct {
    const char* rule;
    Shape operand, result;
    const char* problem;  // empty: the rule fits
  } const cases[] = {
      {"([ij])->([i, j]) {i=2, j=4}", {8}, {2, 4}, ""},
      {"([ij])->([i, j]) {i=2, j=4}", {8}, {2}, "mapping rank must match: 1 != 2"},
      {"([ij])->([i, j]) {i=2, j=4}", {6}, {2, 4}, "dim 0 of size 6 multiply to 8"},
      {"([i], [i])->([i]) {i=2}", {2}, {2}, "number of operands and mappings must match: 1 != 2"},
      // One factor stands for both sizes.
      {"([i])->([i]) {i=8} permutation={i}", {8}, {5}, ""},
      {"([i])->([i]) {i=8} need_replication={i}", {8}, {5}, ""},
      // A window and its positions.
      {"([ij])->([i]) {i=4, j=2} reduction={j} permutation={i}", {9}, {4}, ""},
      {"([i, 1])->([i]) {i=2}", {2, 1}, {2}, ""},
      {"([i, j])->([i]) {i=4, j=2} reduction={j}", {4, 3}, {4}, ""},
      {"([i, j])->([i]) {i=4, j=4} reduction={j}", {4, 3}, {4}, "dim 1 of size 3 multiply to 4"},
      // A factor that no other dim has, and one that two dims have.
      {"([i, j])->([i]) {i=2, j=1}", {2, 5}, {2}, ""},
      {"([i])->([i]) {i=1}", {1}, {5}, "dim 0 of size 5 multiply to 1"},
  };
  for (const auto& c : cases) {
    auto problem = VerifyRule(ParseRule(c.rule, Loc::Unknown()), {&c.operand}, {&c.result});
    EXPECT_THAT(problem ? problem->reason : "", ::testing::HasSubstr(c.problem)) << c.rule;
    EXPECT_EQ(problem.has_value(), *c.problem != 0) << c.rule;
  }
}

std::string Einsum(const char* text, const std::vector<Shape>& operands,
                   const std::vector<Shape>& results) {
  Shapes in, out;
  for (const Shape& shape : operands) in.push_back(&shape);
  for (const Shape& shape : results) out.push_back(&shape);
  return Text(ParseEinsumRule(text, in, out, Loc::Unknown()));
}

TEST(EinsumRule, Reads) {
  struct {
    const char* text;
    std::vector<Shape> operands, results;
    const char* rule;
  } const cases[] = {
      {"b h, h k -> b k",
       {{2, 3}, {3, 4}},
       {{2, 4}},
       "([i, j], [j, k])->([i, k]) {i=2, j=3, k=4} reduction={j}, custom"},
      {"(a b) c -> a b c", {{6, 4}}, {{2, 3, 4}}, "([ij, k])->([i, j, k]) {i=2, j=3, k=4}, custom"},
      // b is known after a, from the result.
      {"(a b) -> a", {{6}}, {{2}}, "([ij])->([i]) {i=2, j=3} reduction={j}, custom"},
      {"(a b), b -> a", {{6}, {3}}, {{2}}, "([ij], [j])->([i]) {i=2, j=3} reduction={j}, custom"},
      {"b _ 1 -> b", {{2, 1, 1}}, {{2}}, "([i, 1, 1])->([i]) {i=2}, custom"},
      {"batch seq -> seq batch, seq",
       {{2, 3}},
       {{3, 2}, {3}},
       "([i, j])->([j, i], [j]) {i=2, j=3}, custom"},
      {"a, -> a", {{2}, {}}, {{2}}, "([i], [])->([i]) {i=2}, custom"},
      {"-> a", {}, {{2}}, "()->([i]) {i=2}, custom"},
      // Dims of several factors leave out factors of size 1.
      {"(a b) -> b a", {{3}}, {{3, 1}}, "([i])->([i, j]) {i=3, j=1}, custom"},
  };
  for (const auto& c : cases) EXPECT_EQ(Einsum(c.text, c.operands, c.results), c.rule) << c.text;
}

TEST(EinsumRule, WhatIsRefused) {
  struct {
    const char* text;
    std::vector<Shape> operands, results;
    const char* reason;
  } const cases[] = {
      {"a -> a", {{2}, {2}}, {{2}}, "the rule has 1 operands, but the op has 2"},
      {"a b -> a", {{2}}, {{2}}, "operand 0 has 1 dims, but the rule has 2"},
      {"a -> a", {{2}}, {{3}}, "dim 0 has size 3, but its factors are a=2"},
      {"(a b) -> a", {{6}}, {{4}}, "do not determine the size of factor b"},
      {"(a b) -> c", {{6}}, {{4}}, "do not determine the size of factor a"},
      {"a a -> a", {{2, 2}}, {{2}}, "factor a appears twice"},
      {"_ -> a", {{2}}, {{2}}, "a dim without factors has size 1"},
      {"a 2 -> a", {{2, 2}}, {{2}}, "expected a factor's name"},
      {"a - a", {{2}}, {{2}}, "expected a word"},
      {"a", {{2}}, {{2}}, "expected '->'"},
      {"(a -> a", {{2}}, {{2}}, "expected a word"},
  };
  for (const auto& c : cases)
    EXPECT_THAT(MessageOf([&] { Einsum(c.text, c.operands, c.results); }),
                ::testing::HasSubstr(c.reason))
        << c.text;
}

}  // namespace
}  // namespace tessera::sharding
