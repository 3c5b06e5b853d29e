// Types are interned, printed as in JAX, parsed, and refused with the reason.
#include "ir/type.h"

#include <gmock/gmock.h>

#include "tessera/error.h"

namespace tessera::ir {
namespace {

using sharding::MeshDef;

const MeshDef* Mesh() {
  return MeshDef::Intern({{"x", 2}, {"y", 4}, {"z", 1}}, {}, sharding::MeshKind::kConcrete);
}

const Type* ParsedType(std::string_view text) { return ParseType(text, Mesh(), Loc::Unknown()); }

TEST(Type, EqualTypesAreOnePointer) {
  EXPECT_EQ(Type::Get({8, 4}, f32, Mesh()), Type::Get({8, 4}, f32, Mesh()));
  EXPECT_NE(Type::Get({8, 4}, f32, Mesh()), Type::Get({8, 4}, f64, Mesh()));
  EXPECT_NE(Type::Get({8, 4}, f32, Mesh()), Type::Get({4, 8}, f32, Mesh()));
  EXPECT_NE(Type::Get({8, 4}, f32, Mesh()), Type::Get({8, 4}, f32, Mesh(), /*weak=*/true));
  EXPECT_NE(ParsedType("f32[8@x,4]"), ParsedType("f32[8@y,4]"));
  EXPECT_EQ(ParsedType("f32[8@x,4]"), ParsedType(" f32 [ 8@x , 4 ]"));
}

TEST(Type, TextIsJaxs) {
  for (const char* text :
       {"i32[]", "bool[0]", "f32[8@x,4]", "bf16[128@(x,y),64]", "f32[8@x,2]{U:y}",
        "f32[4]{U_max:x, R:y}", "f32[8@y:(1)2,4]", "u8[4]{R:(x,y)}", "f64[1152921504606846975,0]"})
    EXPECT_EQ(ParsedType(text)->text(), text);
}

TEST(Type, AxesOfSizeOneAreNotInIt) {
  EXPECT_EQ(ParsedType("f32[8@(z,x)]"), ParsedType("f32[8@x]"));
}

TEST(Type, DerivedTypesAreInternedToo) {
  const Type* t = ParsedType("f32[8@x,4]");
  EXPECT_EQ(t->WithDType(i8), ParsedType("i8[8@x,4]"));
  EXPECT_EQ(t->WithSharding(sharding::Replicated(Mesh(), 2)), ParsedType("f32[8,4]"));
  EXPECT_EQ(t->WithWeak(true)->WithWeak(false), t);
  EXPECT_TRUE(SameType(t, t->WithWeak(true)));
  EXPECT_FALSE(SameType(t, ParsedType("f32[8,4]")));
}

TEST(Type, ElementsAreCountedWithoutOverflow) {
  EXPECT_EQ(CheckedElements({3, 4}), 12);
  EXPECT_EQ(CheckedElements({}), 1);
  EXPECT_EQ(CheckedElements({int64_t{1} << 62, 0}), 0);
  EXPECT_EQ(CheckedElements({int64_t{1} << 40, int64_t{1} << 40}), -1);
  EXPECT_EQ(CheckedElements({-1}), -1);
}

TEST(Type, WhatIsNoTypeIsRefusedWithTheReason) {
  struct {
    const char *text, *reason;
  } const cases[] = {
      {"", "expected a word"},
      {"f33[4]", "no dtype 'f33'"},
      {"f32", "expected '['"},
      {"f32[4", "expected ']'"},
      {"f32[-1]", "negative"},
      {"f32[4@q]", "no axis \"q\""},
      {"f32[3@x]", "do not divide"},
      {"f32[4@x,4@x]", "appears twice"},
      {"f32[4@(x,x)]", "appears twice"},
      {"f32[4@x]{U:x}", "appears twice"},
      {"f32[4]{W:x}", "expected V, U, U_max, U_min or R"},
      {"f32[4]{V:x}", "varying axes must be Manual"},
      {"f32[4] f32", "unexpected"},
      {"f32[9999999999,9999999999]", "more than 2^59 elements"},
      {"f32[99999999999999999999]", ""},
      {"f32[8@y:(0)2]", ""},
      {"f32[8@y:(2)0]", ""},
      {"f32[8@y:(-2)2]", ""},
      {"f32[8@y:(3)2]", ""},
      {"f32[8@y:(4611686018427387904)4]", ""},
  };
  for (const auto& c : cases) {
    std::string reason = "nothing was refused";
    try {
      ParsedType(c.text);
    } catch (const Error& e) {
      reason = e.reason();
    }
    EXPECT_THAT(reason, testing::HasSubstr(c.reason)) << c.text;
    EXPECT_NE(reason, "nothing was refused") << c.text;
  }
}

}  // namespace
}  // namespace tessera::ir
