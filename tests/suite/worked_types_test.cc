// The derivations worked out in docs/typing.md, as a user writes them.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <functional>

#include "tessera/tessera.h"

namespace tessera::suite::worked_types_test {
namespace {

// Returns an array of the type that the text names.
Array Of(const char* text) {
  ArrayType type = ArrayType::Parse(text);
  return zeros(Shape(type.shape()), {.dtype = type.dtype(), .out_sharding = type.spec()});
}

struct Derivation {
  const char* name;
  std::function<Array()> expression;
  const char* want;  // the type, or the label of the error
};

TEST(WorkedTypes, AreJaxs) {
  MeshScope scope(make_mesh({{"x", 2}, {"y", 2}}));
  const Derivation rows[] = {
      {"scalar factor", [] { return Of("f32[8@x,4@y]") * 2.0; }, "f32[8@x,4@y]"},
      {"both dims", [] { return Of("f32[8@x,4]") + Of("f32[8,4@y]"); }, "f32[8@x,4@y]"},
      {"a dim of size 1", [] { return Of("f32[8@x,4]") + Of("f32[1,4]"); }, "f32[8@x,4]"},
      {"x twice", [] { return Of("f32[8@x,4]") + Of("f32[4@x]"); }, "add.C3"},
      {"other axes", [] { return Of("f32[8@x,4]") + Of("f32[8@(x,y),4]"); }, "add.C4"},
      {"sum", [] { return sum(Of("f32[8@x,4@y]")); }, "f32[]"},
      {"sum of dim 0", [] { return sum(Of("f32[8@x,4@y]"), 0); }, "f32[4@y]"},
      {"sum of dim 1", [] { return sum(Of("f32[8@x,4@y]"), 1); }, "f32[8@x]"},
      {"unreduced sum",
       [] {
         return reduce_sum(Of("f32[8@x,4@y]"), {0, 1}, {.out_sharding = P().unreduced("x")});
       },
       "f32[]{U:x}"},
      {"matmul", [] { return matmul(Of("f32[8@x,4]"), Of("f32[4,6@y]")); }, "f32[8@x,6@y]"},
      {"contraction of one side", [] { return matmul(Of("f32[8@x,4@y]"), Of("f32[4,6]")); },
       "f32[8@x,6]"},
      {"contraction of both sides", [] { return matmul(Of("f32[8@x,4@y]"), Of("f32[4@y,6]")); },
       "dot_general.C5"},
      {"told what comes out",
       [] { return matmul(Of("f32[8@x,4@y]"), Of("f32[4@y,6]"), {.out_sharding = P("x", None)}); },
       "f32[8@x,6]"},
      {"told to leave it unreduced",
       [] {
         return matmul(Of("f32[8@x,4@y]"), Of("f32[4@y,6]"),
                       {.out_sharding = P("x", None).unreduced("y")});
       },
       "f32[8@x,6]{U:y}"},
      {"a reduced weight",
       [] { return matmul(Of("f32[8@x,4]"), reshard(Of("f32[4,6]"), P(None, None).reduced("x"))); },
       "f32[8@x,6]"},
      {"transpose", [] { return Of("f32[8@x,4]").T(); }, "f32[4,8@x]"},
      {"split, both axes major",
       [] {
         return Of("f32[8@(x,y)]").reshape({4, 2});
       },
       "f32[4@(x,y),2]"},
      {"split, an axis each",
       [] {
         return Of("f32[8@(x,y)]").reshape({2, 4});
       },
       "f32[2@x,4@y]"},
      {"merge behind a whole dim", [] { return Of("f32[4,8@x]").reshape(32); }, "reshape.C6"},
      {"a column",
       [] {
         return Of("f32[8@x,4]")[{All, 1}];
       },
       "f32[8@x]"},
      {"concatenate",
       [] {
         return concatenate({Of("f32[4@x]"), Of("f32[4]")}, 0);
       },
       "concatenate.C4"},
      {"roll by any shift", [] { return roll(Of("f32[8@x]"), 3, 0); }, "f32[8@x]"},
      {"pad by as much as it cuts",
       [] {
         return pad(Of("f32[8@x]"), {{1, -1}});
       },
       "f32[8@x]"},
      {"pad to a size that divides",
       [] {
         return pad(Of("f32[8@x]"), {{1, 1}});
       },
       "f32[10@x]"},
      {"pad to another",
       [] {
         return pad(Of("f32[8@x]"), {{1, 2}});
       },
       "pad.C7"},
      {"where", [] { return where(Of("bool[8@x]"), Of("f32[8@x]"), 0.0); }, "f32[8@x]"},
      {"reduced", [] { return reshard(Of("f32[8@x]"), P(None).reduced("x")); }, "f32[8]{R:x}"},
      {"unreduced times a number",
       [] { return reshard(Of("f32[8]"), P(None).unreduced("x")) * 2.0; },
       "f32[8]{U:x}"},  // JAX refuses: docs/differences.md, Products of unreduced values
      {"reduced times a number", [] { return reshard(Of("f32[8]"), P(None).reduced("x")) * 2.0; },
       "f32[8]{R:x}"},
      {"a reduced bias", [] { return Of("f32[8@x,4]") + reshard(Of("f32[4]"), P().reduced("x")); },
       "f32[8@x,4]"},  // JAX refuses these two: docs/differences.md, Reduced next to sharded
      {"a reduced position embedding",
       [] { return Of("f32[8@x,6,4]") + reshard(Of("f32[6,4]"), P().reduced("x")); },
       "f32[8@x,6,4]"},
      {"a reduced bound",
       [] { return maximum(Of("f32[8@x,4]"), reshard(Of("f32[4]"), P().reduced("x"))); },
       "maximum.C9"},
      {"zeros", [] { return zeros({8}); }, "f32[8]"},
      {"sharded zeros", [] { return zeros({8}, {.out_sharding = P("x")}); }, "f32[8@x]"},
  };
  for (const Derivation& row : rows) {
    std::string got;
    try {
      got = type_of(row.expression()).text();
    } catch (const Error& e) {
      got = e.label();
    }
    EXPECT_EQ(got, row.want) << row.name;
  }
}

}  // namespace
}  // namespace tessera::suite::worked_types_test
