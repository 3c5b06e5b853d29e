// Program text parses back as printed, errors give the position, and no text can do worse
// than throw.
#include "ir/program_text.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <random>

#include "fuzz.h"
#include "ir/program.h"
#include "mutate.h"
#include "ops/ops.h"
#include "tessera/error.h"

namespace tessera::ir {
namespace {

constexpr const char* kMlp =
    R"(mesh @mesh = <["X"=2, "Y"=4], device_ids=[1, 0, 2, 3, 4, 5, 7, 6]> explicit={"X", "Y"}
func @main(%0: f32[8@X,16], %1: f32[16,32@Y]) captures(%2: f32[32@Y]) -> (f32[8@X,32@Y], f32[8@X]) {
  %3: f32[8@X,32@Y] = dot_general %0, %1 {contract=[1]x[0], batch=[]x[]}
  %4: f32[8@X,32@Y] = broadcast_in_dim %2 {dims=[1]}
  %5: f32[8@X,32@Y] = add %3, %4
  %6: f32[8@X,32@Y] = tanh %5
  %7: f32[8@X] = reduce_sum %6 {dims=[1]}
  return %6, %7
}
)";
constexpr const char* kMoves = R"(mesh @mesh = <["x"=4, "y"=2]> explicit={"x"} auto={"y"}
func @main(%0: i32[24@x,8], %1: i32[]) -> i32[6,4] {
  %2: i32[24,8] = reshard %0
  %3: i32[12,4] = slice %2 {starts=[0, 0], limits=[24, 8], strides=[2, 2]}
  %4: i32[6,4] = dynamic_slice %3, %1, %1
  %5: i32[] = constant {value=i32 7}
  %6: i32[8,4] = pad %4, %5 {low=[1, 0], high=[1, 0], interior=[0, 0]}
  %7: i32[6,4] = slice %6 {starts=[1, 0], limits=[7, 4], strides=[1, 1]}
  %8: i32[6,4], %9: i32[6,4] = sort %7, %4 {dim=[1], num_keys=1, descending=false}
  return %8
}
)";
constexpr const char* kDevice = R"(mesh @mesh = <["x"=2]> explicit={"x"}
device func @main(%0: f32[4,8]) -> f32[8,8] {
  %1: f32[8,8] = all_gather %0 {from=f32[8@x,8], to=f32[8,8]}
  %2: f32[8,8] = exp %1
  return %2
}
)";
// Moves between places: modes do not apply to them, and dims need not divide.
constexpr const char* kPlaces = R"(mesh @mesh = <["x"=2]> auto={"x"}
device func @main(%0: f32[3], %1: f32[]) -> (f32[5], f32[], f32[2]) {
  %2: f32[6] = all_gather %0 {from=f32[5@x], to=f32[6]}
  %3: f32[5] = trim %2 {from=f32[6], to=f32[5]}
  %4: f32[] = all_reduce %1 {from=f32[]{U_prod:x}, to=f32[]}
  %5: f32[2] = halo_exchange %0, %1 {from=[f32[5@x], f32[]], to=f32[3@x], reads=[[0, 0, 1, 2, 1]], fill=1, keep=[]}
  return %3, %4, %5
}
)";
constexpr const char* kControl = R"(mesh @mesh = <["x"=2]> explicit={"x"}
func @main(%0: f32[8@x], %1: f32[3,8@x], %2: i32[]) -> (f32[8@x], f32[3], f32[8@x]) {
  %3: f32[8@x], %4: f32[3] = scan %2, %0, %1 {constants=1, carries=1, length=3, reverse=true}
    region(%5: i32[], %6: f32[8@x], %7: f32[8@x]) -> (f32[8@x], f32[]) {
      %8: f32[8@x] = switch_case %5, %6, %7
        region(%9: f32[8@x], %10: f32[8@x]) -> f32[8@x] {
          return %10
        }
        region(%11: f32[8@x], %12: f32[8@x]) -> f32[8@x] {
          %13: f32[8@x] = add %11, %12
          return %13
        }
      %14: f32[] = reduce_sum %8 {dims=[0]}
      return %8, %14
    }
  %15: f32[8@x] = while_loop %3 {constants=0, counted=false}
    region(%16: f32[8@x]) -> bool[] {
      %17: f32[] = reduce_sum %16 {dims=[0]}
      %18: bool[] = lt %17, %17
      return %18
    }
    region(%19: f32[8@x]) -> f32[8@x] {
      %20: f32[8@x] = exp %19
      return %20
    }
  return %15, %4, %3
}
)";
constexpr const char* kPlaced =
    R"(mesh @mesh = <["x"=2]> auto={"x"}
func @main(%0: f32[8] <@mesh, [{"x"}]>, %1: i32[] <@mesh, []>) -> (f32[8] <@mesh, [{"x"}]>, f32[8] <@mesh, [{}]>, i32[] <@mesh, []>) {
  %2: f32[8] <@mesh, [{"x"}]> = exp %0                                 // model.cc:12 [jit(f)/exp] hidden "two words"
  %3: f32[8] <@mesh, [{"x"}]>, %4: f32[8] <@mesh, [{"x"}]> = sort %2, %2 {dim=[0], num_keys=1, descending=false} // model.cc:7
  %5: f32[8] <@mesh, [{}]> = while_loop %3 {constants=0, counted=false} // "my model.cc:13" "\"quo\"ted\""
    region(%6: f32[8] <@mesh, [{}]>) -> bool[] <@mesh, []> {
      %7: bool[] <@mesh, []> = constant {value=bool true}              // model.cc:14
      return %7
    }
    region(%8: f32[8] <@mesh, [{}]>) -> f32[8] <@mesh, [{}]> {
      %9: f32[8] <@mesh, [{}]> = exp %8                                // model.cc:15 inner
      return %9
    }
  return %3, %5, %1
}
)";
constexpr const char* kTexts[] = {kMlp, kMoves, kDevice, kPlaces, kControl, kPlaced};

Program Parse(std::string_view text) {
  ops::Install();
  return ParseProgram(text, Loc::Unknown());
}

// Removes comments and the blanks before them, which are not compared.
std::string WithoutComments(const std::string& text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    size_t end = text.find('\n', at);
    std::string line = text.substr(at, end - at);
    line = line.substr(0, line.find("//"));
    while (!line.empty() && line.back() == ' ') line.pop_back();
    out += line + "\n";
    at = end + 1;
  }
  return out;
}

TEST(ProgramText, PrintsWhatItRead) {
  Program mlp = Parse(kMlp);
  EXPECT_EQ(WithoutComments(Text(mlp)), kMlp);
  EXPECT_EQ(Text(Parse(Text(mlp))), Text(mlp));
  for (const char* text : kTexts) EXPECT_EQ(Text(Parse(Text(Parse(text)))), Text(Parse(text)));
  EXPECT_EQ(WithoutComments(Text(Parse(kControl))), kControl);
}

TEST(ProgramText, ProgramsWithoutAMeshOrResultsAreFine) {
  for (const char* text :
       {"func @main() -> () {\n  return\n}\n", "func @main(%0: f32[]) -> f32[] {\n  return %0\n}\n",
        "func @main(%0: f32[]) -> (f32[], f32[]) {\n  return %0, %0\n}\n"})
    EXPECT_EQ(WithoutComments(Text(Parse(text))), text);
}

std::string Edited(std::string text, std::string_view what, std::string_view with) {
  EXPECT_NE(text.find(what), std::string::npos) << what;
  return text.replace(text.find(what), what.size(), with);
}

TEST(ProgramText, TypesInParametersAreOnTheMesh) {
  Program program = Parse(kPlaces);
  EXPECT_EQ(WithoutComments(Text(program)), kPlaces);
  EXPECT_TRUE(program.instructions[3].params->Equals(*Parse(kPlaces).instructions[3].params));
  EXPECT_THROW(Parse(Edited(kPlaces, "to=f32[3@x]", "to=f32[3@y]")), RuntimeError);
}

TEST(ProgramText, ResultsHaveShardings) {
  const std::string text = kPlaced;
  Program program = Parse(text);
  EXPECT_EQ(WithoutComments(Text(program)), WithoutComments(text));
  // Old text has no places on results. If only a result has a place, its value gets it.
  const char* results = R"((f32[8] <@mesh, [{"x"}]>, f32[8] <@mesh, [{}]>, i32[] <@mesh, []>))";
  EXPECT_EQ(Text(Parse(Edited(text, results, "(f32[8], f32[8], i32[])"))), Text(program));
  EXPECT_EQ(Text(Parse(Edited(text, R"(%3: f32[8] <@mesh, [{"x"}]>)", "%3: f32[8]"))),
            Text(program));
  for (const char* other : {R"(-> (f32[8] <@mesh, [{}]>)", R"(-> (f32[8] <@mesh, [{"x"}, {}]>)",
                            R"(-> (f32[8] <@mesh, [{"y"}]>)"})
    EXPECT_THROW(Parse(Edited(text, R"(-> (f32[8] <@mesh, [{"x"}]>)", other)), RuntimeError)
        << other;
}

TEST(ProgramText, LinesAndNamesAreReadBack) {
  std::string text = Edited(kPlaced, "model.cc:7\n", "model.cc:7 %4=second %3=first\n");
  Program program = Parse(text);
  EXPECT_EQ(Text(program), text);
  EXPECT_STREQ(program.instructions[0].loc.file(), "model.cc");
  EXPECT_EQ(program.instructions[0].loc.line(), 12);
  EXPECT_EQ(program.values[ValueId{2}].loc.line(), 12);
  EXPECT_STREQ(program.instructions[0].loc.scope(), "jit(f)/exp");
  EXPECT_STREQ(program.instructions[1].loc.scope(), "");
  ASSERT_EQ(program.names.size(), 5u);
  EXPECT_EQ(program.names[1].first, "two words");
  EXPECT_EQ(program.names[4].first, "\"quo\"ted\"");
}

TEST(ProgramText, ScopesAreReadBack) {
  for (const char* scope : {"jit(f)/mlp/dot_general", "a \"b\" c", "[a]", "a b]", "]", "x/\\n"}) {
    Program program =
        Parse("func @main(%0: f32[4]) -> f32[4] {\n  %1: f32[4] = exp %0\n  return %1\n}");
    program.instructions[0].loc = Loc::Current("model.cc", 3).In(scope).Backward();
    program.names.emplace_back("[name]", ValueId{1});
    const Program again = Parse(Text(program));
    EXPECT_STREQ(again.instructions[0].loc.scope(), scope);
    EXPECT_TRUE(again.instructions[0].loc.is_backward());
    ASSERT_EQ(again.names.size(), 1u) << Text(program);
    EXPECT_EQ(again.names[0].first, "[name]");
    EXPECT_EQ(Text(again), Text(program));
  }
}

TEST(ProgramText, OtherCommentsSayNothing) {
  for (const char* comment : {"", "//", "// the bias", "// at 12:30", "//:12", "// a:0", "// a:1b",
                              "// a:99999999999", "\n  // model.cc:12\n"}) {
    std::string text = fmt::format(
        "func @main(%0: f32[4]) -> f32[4] {{\n  %1: f32[4] = exp %0 {}\n  return %1\n}}\n",
        comment);
    Program program = ParseProgram(text, Loc::Current("program.txt", 0));
    EXPECT_STREQ(program.instructions[0].loc.file(), "program.txt") << comment;
    EXPECT_EQ(program.instructions[0].loc.line(), 2) << comment;
    EXPECT_TRUE(program.names.empty()) << comment;
  }
}

// Errors in a text name its own lines, whatever lines its comments name.
TEST(ProgramText, ErrorsOfTheTextAreOfItsLines) {
  ops::Install();
  try {
    ParseProgram(
        "func @main(%0: f32[4]) -> f32[5] {\n  %1: f32[5] = exp %0 // a.cc:77\n  return %1\n}",
        Loc::Current("program.txt", 0));
    ADD_FAILURE() << "not refused";
  } catch (const Error& e) {
    EXPECT_THAT(e.what(), testing::HasSubstr("program.txt:2"));
    EXPECT_THAT(e.what(), testing::Not(testing::HasSubstr("a.cc")));
  }
}

TEST(ProgramText, ErrorsSayWhere) {
  struct {
    const char *line, *where, *reason;
  } const cases[] = {
      {"%1: f32[4] = expp %0", "line 2", "there is no op 'expp'"},
      {"%1: f32[4] = exp %7", "line 2", "%7 is not defined"},
      {"%0: f32[4] = exp %0", "line 2", "%0 is defined twice"},
      {"%1: f32[4] = exp %0 {dim=[0]}", "line 2", "has no parameters"},
      {"%1: f32[] = reduce_sum %0", "line 3", "needs its parameters"},
      {"%1: f32[] = reduce_sum %0 {dim=[0]}", "line 2", "no parameter 'dim'"},
      {"exp %0", "line 2", "expected an instruction or return"},
      {"%1: f33[4] = exp %0", "line 2", "no dtype"},
  };
  for (const auto& c : cases) {
    std::string text =
        fmt::format("func @main(%0: f32[4]) -> f32[4] {{\n  {}\n  return %0\n}}\n", c.line);
    try {
      Parse(text);
      ADD_FAILURE() << c.line << " was not refused";
    } catch (const RuntimeError& e) {
      EXPECT_THAT(e.where(), testing::HasSubstr(c.where)) << c.line;
      EXPECT_THAT(e.reason(), testing::HasSubstr(c.reason)) << c.line;
    }
  }
}

TEST(ProgramText, TypesThatTheOpsDoNotGiveAreRefused) {
  for (const char* line :
       {"%1: f32[5] = exp %0", "%1: f64[4] = exp %0", "%1: f32[4] = add %0",
        "%1: f32[4], %2: f32[4] = exp %0", "%1: f32[4] = transpose %0 {perm=[1]}",
        "%1: f32[4] = exp", "%1: i32[4] = bitwise_not %0"}) {
    std::string text =
        fmt::format("func @main(%0: f32[4]) -> f32[4] {{\n  {}\n  return %0\n}}\n", line);
    EXPECT_THROW(Parse(text), Error) << line;
  }
}

TEST(ProgramText, RegionsMustFitTheirInstruction) {
  struct {
    const char *what, *with;
  } const edits[] = {
      {"constants=1", "constants=2"},
      {"constants=1", "constants=-1"},
      {"carries=1", "carries=3"},
      {"length=3", "length=4"},
      {"length=3", "length=9223372036854775807"},
      {"constants=0", "constants=1"},
      {"%4: f32[3] = scan", "%4: f32[8@x] = scan"},
      {"%3: f32[8@x], %4: f32[3]", "%3: f32[8@x]"},
      {"%5: i32[]", "%5: u8[]"},
      {"%7: f32[8@x]) ->", "%7: f32[8]) ->"},
      {"f32[3,8@x]", "f32[8@x,3]"},
      {"f32[3,8@x]", "f32[3,8]"},
      {"return %10", "return %6"},
      {"return %10", "return"},
      {"= switch_case %5", "= switch_case %6"},
      {"= switch_case %5", "= cond %5"},
      {"= switch_case %5", "= exp %5"},
      {"return %18", "return %17"},
      {"-> bool[]", "-> f32[]"},
      {"= while_loop %3", "= while_loop %4"},
      {"= while_loop %3 {constants=0, counted=false}", "= exp %3"},
  };
  for (const auto& e : edits) {
    EXPECT_THROW(Parse(Edited(kControl, e.what, e.with)), Error) << e.what << " to " << e.with;
  }
}

TEST(ProgramText, RegionsNestToADepth) {
  std::string text = "func @main(%0: f32[]) -> f32[] {\n", end = "return %0 }";
  for (int depth = 0; depth < 100000; ++depth)
    text += "%1: f32[] = while_loop %0 {constants=0, counted=false} region(%0: f32[]) -> f32[] { ";
  try {
    Parse(text + end);
    ADD_FAILURE() << "not refused";
  } catch (const RuntimeError& e) {
    EXPECT_THAT(e.reason(), testing::HasSubstr("nested more than 64 levels deep"));
  }
}

// Expects that text which parses also prints and parses back.
void ExpectHarmless(const std::string& text) {
  try {
    std::string printed = Text(Parse(text));
    EXPECT_EQ(Text(Parse(printed)), printed);
  } catch (const InternalError& e) {
    ADD_FAILURE() << e.what() << "\nfrom\n" << text;
  } catch (const Error&) {
  } catch (const std::exception& e) {
    ADD_FAILURE() << e.what() << "\nfrom\n" << text;
  }
}

TEST(HostileText, TruncatedAtEveryByte) {
  for (std::string_view text : kTexts)
    for (size_t n = 0; n < text.size(); ++n) ExpectHarmless(std::string(text.substr(0, n)));
}

TEST(HostileText, MutatedAtRandom) {
  std::mt19937 engine(12);
  const char* const tokens[] = {
      "%0",          "-1",        "[",           "]",         "{",
      "}",           "@X",        "f32[8@X,16]", ",",         "9223372036854775807",
      "0",           "dims=",     "[0,0]",       "mesh",      "->",
      "return",      "\"X\"",     "sort",        "take",      "99",
      "iota",        "{dim=[0]}", "reshape",     "argmax",    "device",
      "concatenate", "(1)2",      "bool",        "i8[0]",     "region(",
      "constants=1", "scan",      "cond",        "while_loop"};
  std::uniform_int_distribution<size_t> which(0, std::size(kTexts) - 1);
  for (int64_t round = FuzzCount(6000); round > 0; --round)
    ExpectHarmless(Mutated(kTexts[which(engine)], tokens, engine));
}

// Every op with every small number of operands of odd types: checks come before maps.
TEST(HostileText, EveryOpWithOperandsItDoesNotExpect) {
  ops::Install();
  const char* const types[] = {"f32[]", "f32[4]", "i32[0,3]", "bool[4,4,4]", "u8[1,1]"};
  const char* const params[] = {
      "",
      " {dims=[0]}",
      " {dim=[0]}",
      " {dim=[]}",
      " {dim=[-1]}",
      " {dim=[9]}",
      " {dim=[0], reverse=true}",
      " {perm=[0, 0]}",
      " {perm=[]}",
      " {k=-3}",
      " {k=9}",
      " {starts=[], limits=[], strides=[]}",
      " {starts=[0], limits=[9223372036854775807], strides=[0]}",
      " {low=[9223372036854775807], high=[9223372036854775807], interior=[9223372036854775807]}",
      " {low=[-9223372036854775807], high=[0], interior=[0]}",
      " {contract=[0]x[], batch=[]x[]}",
      " {contract=[0]x[0], batch=[0]x[0]}",
      " {contract=[7]x[7], batch=[]x[]}",
      " {dim=[0], num_keys=7, descending=true}",
      " {dim=[0], num_keys=-1, descending=true}",
      " {dims=[0, 0]}",
      " {dims=[-1]}",
      " {value=f32 1}"};
  for (const OpDef* op : AllOps())
    for (const char* param : params)
      for (const char* type : types)
        for (const char* operands : {"", " %0", " %0, %0", " %0, %0, %0, %0"})
          for (const char* results : {"%1: f32[4]", "%1: i32[0,3], %2: i32[]"})
            ExpectHarmless(fmt::format("func @main(%0: {}) -> () {{\n  {} = {}{}{}\n  return\n}}\n",
                                       type, results, op->name, operands, param));
}

}  // namespace
}  // namespace tessera::ir
