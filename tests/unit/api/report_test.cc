// Facts about a program before it runs: reports, memory and policies.
#include <gmock/gmock.h>
#include <tessera/tessera.h>

#include <chrono>
#include <fstream>
#include <regex>

namespace tessera::report_test {
namespace {

auto Layer() {
  return jit(
      [](Array x, Array w) { return relu(matmul(x, w, {.out_sharding = P("data", None)})); });
}

// A loop over the events of a report that nobody keeps.
static_assert(!std::is_reference_v<decltype(std::declval<CommReport>().events())>);

TEST(Report, OfFourThousandDevices) {
  MeshScope scope(abstract_mesh({{"data", 64}, {"model", 64}}));
  Array x = abstract_array("f32[65536@data,8192@model]"),
        w = abstract_array("f32[8192@model,8192]");
  Lowered lowered = Layer().lower(x, w);
  CommReport comm = lowered.comm();
  ASSERT_EQ(comm.events().size(), 1u);
  EXPECT_EQ(comm.count(CommKind::kAllReduce, "model"), 1);
  // Twice 63/64 of the local result, [1024, 8192] floats.
  EXPECT_EQ(comm.bytes(), 2 * (int64_t{1024} * 8192 * 4 / 64 * 63));
  EXPECT_TRUE(comm.events()[0].implied);
  EXPECT_THAT(comm.events()[0].where, testing::StartsWith("report_test.cc:"));
  EXPECT_EQ(lowered.flops(), int64_t{2} * 1024 * 8192 * 128 + 1024 * 8192);
  // x, w, the product, its reduction.
  EXPECT_GE(lowered.peak_bytes(), (int64_t{1024} * 128 + 128 * 8192 + 2 * 1024 * 8192) * 4);
  EXPECT_THAT(lowered.device_program().text(), testing::HasSubstr("all_reduce"));
}

TEST(Report, ReshardsAreAskedFor) {
  MeshScope scope(abstract_mesh({{"x", 2}}));
  auto f = jit([](Array a) { return reshard(a, P(None, "x")); });
  CommReport comm = f.lower(abstract_array("f32[8@x,4]")).comm();
  ASSERT_EQ(comm.events().size(), 1u);
  EXPECT_EQ(comm.events()[0].kind, CommKind::kAllToAll);
  EXPECT_FALSE(comm.events()[0].implied);
  EXPECT_EQ(comm.events()[0].bytes, 32);
}

// Layers that a C++ loop unrolls send alike, from one line: a report, and an error, show that once.
TEST(Report, ShowsEqualLinesOnce) {
  MeshScope scope(abstract_mesh({{"x", 2}}));
  const auto f = jit([](Array a, Array w) {
    for (int layer = 0; layer < 6; ++layer) a = tanh(matmul(a, w, {.out_sharding = P(None, "x")}));
    return a;
  });
  const auto lower = [&] {
    return f.lower(abstract_array("f32[8,4@x]"), abstract_array("f32[4@x,4]")).comm();
  };
  const CommReport comm = lower();
  EXPECT_EQ(comm.events().size(), 6u);
  ASSERT_EQ(comm.lines().size(), 1u) << comm;
  EXPECT_EQ(comm.lines()[0].times, 6);
  EXPECT_EQ(comm.count(CommKind::kReduceScatter), 6);
  EXPECT_EQ(comm.bytes(), 6 * 64);
  EXPECT_THAT(comm.text(), testing::StartsWith(comm_name(CommKind::kReduceScatter)));
  EXPECT_THAT(comm.text(), testing::ContainsRegex("over x +64 B x6 .*\n384 B"));
  CommPolicy policy({.rule = CommRule::kForbid});
  try {
    lower();
    FAIL();
  } catch (const ShardingError& e) {
    EXPECT_THAT(e.what(), testing::HasSubstr("64 B per device x6"));
  }
}

// ---- who asked ----

// Over the Auto axis "data" of size 2, which seven rows do not divide by.
Array Doubled(Array x) { return with_sharding_constraint(x * 2, P("data")); }
constexpr const char* kSevenRows = "f32[7,2]";

TEST(Implied, WhatTheBorderOfAProgramMoves) {
  MeshScope scope(abstract_mesh({{"data", 2, Auto}}));
  auto f = jit([](Array x) { return exp(Doubled(x)); });
  Lowered lowered = f.lower(abstract_array(kSevenRows));
  ASSERT_EQ(lowered.comm().events().size(), 1u) << lowered.comm();
  EXPECT_TRUE(lowered.comm().events()[0].implied);
  CommPolicy policy({.rule = CommRule::kForbidImplied});
  EXPECT_THROW(f.lower(abstract_array(kSevenRows)), ShardingError);
}

TEST(Implied, IsPartOfTheTextOfAProgram) {
  MeshScope scope(abstract_mesh({{"data", 2, Auto}}));
  auto f = jit([](Array x) { return reshard(exp(Doubled(x)), P()); });
  Program propagated = f.lower(abstract_array(kSevenRows)).propagated();
  Program parsed = Program::Parse(propagated.text());
  for (const Program& program : {propagated, parsed})
    EXPECT_THAT(program.text(), testing::AllOf(testing::HasSubstr("= implied_reshard %"),
                                               testing::HasSubstr("= reshard %")));
  CommReport comm = lower(parsed).comm();
  ASSERT_EQ(comm.events().size(), 1u) << comm;
  EXPECT_TRUE(comm.events()[0].implied);
}

TEST(Implied, WhatTheBorderOfALoopMoves) {
  MeshScope scope(abstract_mesh({{"x", 2, Auto}}));
  auto body = [](Array, Array v) { return tanh(with_sharding_constraint(v, P(None, "x"))); };
  auto f = jit([&](Array a) { return fori_loop(0, 3, body, with_sharding_constraint(a, P("x"))); });
  CommReport comm = f.lower(abstract_array("f32[8,4]")).comm();
  ASSERT_EQ(comm.events().size(), 1u) << comm;
  EXPECT_TRUE(comm.events()[0].implied) << comm;
}

// Explicit axes become Auto, and propagation adds reshards that the user did not ask for.
TEST(Implied, WhatTheBorderOfAModeMoves) {
  MeshScope scope(abstract_mesh({{"x", 2}}));
  auto f = jit(auto_axes([](Array a, Array b) { return a + b; }, {.out_sharding = P("x")}));
  CommReport comm = f.lower(abstract_array("f32[8@x,4]"), abstract_array("f32[8,4@x]")).comm();
  ASSERT_FALSE(comm.empty());
  for (const CommEvent& e : comm.events()) EXPECT_TRUE(e.implied) << comm;
}

TEST(Implied, WhatAnOpGathersOfItsOperands) {
  MeshScope scope(abstract_mesh({{"x", 2}}));
  auto f = jit([](Array a, Array b) {
    return einsum("ii,ij,j->i", {a, b, b[0]}, {.out_sharding = P()});
  });
  CommReport comm = f.lower(abstract_array("f32[8@x,8]"), abstract_array("f32[8,8]")).comm();
  ASSERT_FALSE(comm.empty());
  for (const CommEvent& e : comm.events()) EXPECT_TRUE(e.implied) << comm;
}

TEST(AskedFor, WhatOptionsOfTheUserMove) {
  MeshScope scope(abstract_mesh({{"x", 2, Auto}, {"y", 2}}));
  CommPolicy policy({.rule = CommRule::kForbidImplied});
  Array whole = abstract_array("f32[8,4]"), rows = abstract_array("f32[8@y,4]");
  auto constrained = [](Array a) { return with_sharding_constraint(a, P("x")); };
  auto moves = [](CommReport comm) {
    EXPECT_FALSE(comm.empty());
    for (const CommEvent& e : comm.events()) EXPECT_FALSE(e.implied) << comm;
  };
  moves(jit(constrained, {.out_shardings = P(None, "x")}).lower(whole).comm());
  moves(jit(constrained, {.in_shardings = P(None, "x")}).lower(whole).comm());
  auto same = [](Array a) { return a; };
  moves(jit(same, {.out_shardings = P(None, "y")}).lower(rows).comm());
  moves(jit(auto_axes(same, {.axes = "y", .out_sharding = P(None, "y")})).lower(rows).comm());
  moves(jit(explicit_axes(same, {.axes = "y", .in_sharding = P(None, "y")})).lower(rows).comm());
}

// The argument enters where the constraint wants it.
TEST(AskedFor, WhatAConstraintOnAnArgumentOfAnotherModeMoves) {
  MeshScope scope(abstract_mesh({{"x", 2}}));
  auto columns = [](Array a) { return with_sharding_constraint(a, P(None, "x")) * 2; };
  auto f = jit(auto_axes(columns, {.out_sharding = P(None, "x")}));
  CommReport comm = f.lower(abstract_array("f32[8@x,4]")).comm();
  ASSERT_EQ(comm.events().size(), 1u) << comm;
  EXPECT_FALSE(comm.events()[0].implied) << comm;
}

// A gather that an op needs and one that the user writes are done once, as asked for.
TEST(AskedFor, WhatAnImpliedMoveDoesAlready) {
  MeshScope scope(abstract_mesh({{"x", 2, Auto}}));
  auto f = jit([](Array a) {
    Array rows = with_sharding_constraint(a, P("x"));
    return std::pair(sort(with_sharding_constraint(rows, P(None)), 0), sort(rows, 0));
  });
  CommReport comm = f.lower(abstract_array("f32[8]")).comm();
  ASSERT_EQ(comm.events().size(), 1u) << comm;
  EXPECT_FALSE(comm.events()[0].implied);
}

TEST(Report, PermutationsNameTheirAxes) {
  MeshScope scope(abstract_mesh({{"x", 2}, {"y", 4}}));
  auto f = jit([](Array a) { return reshard(a, P("y", "x")); });
  CommReport comm = f.lower(abstract_array("f32[16@x,64@y]")).comm();
  ASSERT_FALSE(comm.empty());
  for (const CommEvent& e : comm.events()) EXPECT_FALSE(e.axes.empty()) << comm;
}

TEST(Report, NamesPartsOfAxes) {
  MeshScope scope(abstract_mesh({{"x", 8}, {"y", 2}}));
  const auto sent = [](const char* type) {
    return jit([](Array a) { return reshard(a, P()); }).lower(abstract_array(type)).comm();
  };
  const CommReport rows = sent("f32[16@x:(1)4,16]");
  EXPECT_EQ(rows.count(CommKind::kAllGather, "x:(1)4"), 1) << rows;
  EXPECT_THAT(rows.text(), testing::HasSubstr("all_gather         over x:(1)4 "));
  EXPECT_EQ(sent("f32[16@x,16]").count(CommKind::kAllGather, "x"), 1);
  EXPECT_EQ(sent("f32[16@(y,x:(4)2),16]").count(CommKind::kAllGather, {"y", "x:(4)2"}), 1);
  // A policy of an axis is one of its parts.
  CommPolicy policy({.rule = CommRule::kForbid, .axes = "x"});
  EXPECT_THROW(sent("f32[16@x:(1)4,16]"), ShardingError);
}

// A program that was printed and read again reports the lines it was traced from; text that names
// none, its own.
TEST(Report, OfTextNamesLines) {
  MeshScope scope(abstract_mesh({{"x", 2}}));
  auto f = jit([](Array a) { return reshard(named(exp(a), "hidden"), P(None, "x")); });
  Program traced = f.trace(abstract_array("f32[8@x,4]"));
  std::string text = traced.text();
  Program read = Program::Parse(text);
  EXPECT_EQ(read.text(), text);
  EXPECT_EQ(lower(read).comm().events().at(0).where, lower(traced).comm().events().at(0).where);
  EXPECT_EQ(lower(read).comm().text(), lower(traced).comm().text());

  std::string path = testing::TempDir() + "program.txt";
  std::string bare = std::regex_replace(text, std::regex(" *//.*"), "");
  std::ofstream(path) << bare;
  EXPECT_EQ(lower(Program::Load(path)).comm().events().at(0).where, "program.txt:4");
  EXPECT_THAT(lower(Program::Parse(bare)).comm().events().at(0).where,
              testing::StartsWith("report_test.cc:"));
  std::ofstream(path) << text;
  EXPECT_EQ(Program::Load(path).text(), text);
}

// The text of a propagated program, too.
TEST(Report, OfPropagatedTextIsTheSame) {
  MeshScope scope(abstract_mesh({{"x", 2}}, {.mode = Auto}));
  auto f = jit([](Array a) { return sum(with_sharding_constraint(a * 2, P(None, "x")), 0); });
  Program propagated = f.lower(abstract_array("f32[8,4]")).propagated();
  EXPECT_THAT(propagated.text(), testing::HasSubstr("-> f32[4] <@mesh, ["));
  Program read = Program::Parse(propagated.text());
  EXPECT_EQ(read.text(), propagated.text());
  EXPECT_EQ(lower(read).comm().text(), lower(propagated).comm().text());
}

TEST(Policy, NamesEveryViolationAtOnce) {
  MeshScope scope(abstract_mesh({{"data", 2}, {"model", 4}}));
  Array x = abstract_array("f32[8@data,16@model]"), w = abstract_array("f32[16@model,8]");
  auto f = jit([](Array x, Array w) {
    Array y = matmul(x, w, {.out_sharding = P("data", None)});
    return reshard(y, P(None, "data")) + sum(x);
  });
  f.lower(x, w);
  CommPolicy none({.rule = CommRule::kForbid});
  try {
    f.lower(x, w);
    FAIL() << "accepted";
  } catch (const ShardingError& e) {
    EXPECT_EQ(e.label(), "CommPolicy.C1");
    EXPECT_THAT(e.what(), testing::AllOf(testing::HasSubstr("all_reduce over model"),
                                         testing::HasSubstr("all_to_all over data"),
                                         testing::HasSubstr("3 violations")));
  }
}

TEST(Policy, AllowsWhatTheUserAskedFor) {
  MeshScope scope(abstract_mesh({{"x", 2}}));
  CommPolicy policy({.rule = CommRule::kForbidImplied});
  EXPECT_NO_THROW(jit([](Array a) { return reshard(a, P()); }).lower(abstract_array("f32[8@x]")));
  EXPECT_THROW(jit([](Array a) { return sum(a); }).lower(abstract_array("f32[8@x]")),
               ShardingError);
}

TEST(Policy, BudgetsCountOnlyTheirKindsAndAxes) {
  MeshScope scope(abstract_mesh({{"x", 2}, {"y", 2}}));
  auto f = jit([](Array a) { return reshard(a, P()); });
  Array a = abstract_array("f32[1024@x]");
  {
    CommPolicy policy({.kinds = {CommKind::kAllReduce}, .bytes = 0});
    EXPECT_NO_THROW(f.lower(a));
  }
  {
    CommPolicy policy({.axes = "y", .bytes = 0});
    EXPECT_NO_THROW(f.lower(a));
  }
  CommPolicy policy({.axes = "x", .bytes = 2047});
  EXPECT_THROW(f.lower(a), ShardingError);
}

TEST(Policy, HoldsForEagerCalls) {
  SetDeviceCount(2);
  {
    MeshScope scope(make_mesh({{"x", 2}}));
    Array a = ones({8}, {.out_sharding = P("x")});
    EXPECT_EQ(sum(a).item<float>(), 8);
    CommPolicy policy({.rule = CommRule::kForbid});
    EXPECT_THROW(sum(a), ShardingError);
  }
  SetDeviceCount(1);
}

}  // namespace
}  // namespace tessera::report_test
