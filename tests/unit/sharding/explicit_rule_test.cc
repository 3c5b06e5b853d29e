// The typing rule: products and reshapes, as in docs/typing.md.
#include "sharding/explicit_rule.h"

#include <fmt/format.h>

#include "sharding/text.h"
#include "unit/sharding/testing.h"

namespace tessera::sharding {
namespace {

using testing::Dims;
using testing::MeshOf;

// lhs[m,k] @ rhs[k,n].
DimMap Matmul(int64_t m, int64_t k, int64_t n) {
  DimMap map;
  int32_t fm = map.AddFactor({.size = m}), fn = map.AddFactor({.size = n}),
          fk = map.AddFactor({.size = k, .kind = FactorKind::kReduce});
  map.operands = {{{fm}, {fk}}, {{fk}, {fn}}};
  map.results = {{{fm}, {fn}}};
  map.linear = {{.operands = {0}}, {.operands = {1}}};
  return map;
}

// Returns the result's dims and sets as text, or "C5".
std::string Apply(const DimMap& map, const std::vector<Shape>& shapes,
                  const std::vector<TensorSharding>& operands, const Shape& result,
                  const TensorSharding* out = nullptr) {
  std::vector<RuleOperand> rule_operands;
  for (size_t i = 0; i < operands.size(); ++i) rule_operands.push_back({&operands[i], &shapes[i]});
  RuleResult r = ExplicitRule(map, rule_operands, {&result}, out);
  if (r.conflict) return fmt::format("C{}", static_cast<int>(r.conflict->check));
  return TypeSuffix(result, r.results[0]);
}

TEST(ExplicitRule, Matmul) {
  const MeshDef* mesh = MeshOf("x=2 y=2");
  struct {
    const char *lhs, *rhs, *out, *want;
  } const cases[] = {
      {"{x}, {}", "{}, {y}", nullptr, "[8@x,8@y]"},
      {"{}, {x}", "{}, {y}", nullptr, "[8,8@y]"},
      {"{x}, {}", "{y}, {}", nullptr, "[8@x,8]"},
      {"{x}, {}", "{x}, {}", nullptr, "[8@x,8]"},
      {"{}, {y}", "{}, {y}", nullptr, "[8,8@y]"},
      {"{x}, {y}", "{y}, {}", nullptr, "C5"},
      {"{x}, {}", "{}, {x}", nullptr, "C3"},
      {"{}, {}", "{}, {}", nullptr, "[8,8]"},
      {"{x}, {y}", "{y}, {}", "{x}, {}", "[8@x,8]"},
      {"{x}, {y}", "{y}, {}", "{x}, {} | unreduced={y}", "[8@x,8]{U:y}"},
      {"{x}, {y}", "{}, {}", "{x}, {} | unreduced={y}", "C8"},
      {"{x}, {y}", "{y}, {}", "{}, {} | unreduced={x}", "C8"},
      {"{x}, {y}", "{y}, {}", "{x}, {} | unreduced=max{y}", "C8"},
      {"{x}, {}", "{}, {} | reduced={x}", nullptr, "[8@x,8]"},
      // A result that is unreduced as its operand is may say so.
      {"{}, {x} | unreduced={y}", "{}, {} | reduced={y}", nullptr, "[8,8]{U:y}"},
      {"{}, {x} | unreduced={y}", "{}, {} | reduced={y}", "{x}, {}", "[8@x,8]{U:y}"},
      {"{}, {x} | unreduced={y}", "{}, {} | reduced={y}", "{x}, {} | unreduced={y}",
       "[8@x,8]{U:y}"},
  };
  for (const auto& c : cases) {
    TensorSharding out = Dims(mesh, c.out ? c.out : "{}, {}");
    EXPECT_EQ(Apply(Matmul(8, 8, 8), {{8, 8}, {8, 8}}, {Dims(mesh, c.lhs), Dims(mesh, c.rhs)},
                    {8, 8}, c.out ? &out : nullptr),
              c.want)
        << c.lhs << " @ " << c.rhs;
  }
}

TEST(ExplicitRule, Reshape) {
  const MeshDef* mesh = MeshOf("x=2 y=2");
  struct {
    Shape from;
    const char* sharding;
    Shape to;
    const char* want;
  } const cases[] = {
      {{8, 4}, "{x}, {}", {2, 4, 4}, "[2@x,4,4]"},
      {{8}, "{x}", {4, 2}, "[4@x,2]"},
      {{8}, "{x, y}", {2, 4}, "[2@x,4@y]"},
      {{8}, "{x, y}", {4, 2}, "[4@(x,y),2]"},
      {{6, 4}, "{x}, {}", {3, 2, 4}, "C6"},
      {{4, 6, 8}, "{x}, {y}, {}", {4, 2, 3, 8}, "[4@x,2@y,3,8]"},
      {{4, 6, 8}, "{x}, {y}, {}", {4, 3, 2, 8}, "C6"},
      {{2, 4}, "{x}, {}", {8}, "[8@x]"},
      {{2, 4}, "{}, {x}", {8}, "C6"},
      {{2, 4}, "{x}, {y}", {8}, "[8@(x,y)]"},
      {{2, 2, 2}, "{x}, {}, {y}", {8}, "C6"},
      {{12}, "{x, y}", {3, 4}, "C6"},
      {{4, 8}, "{}, {x}", {32}, "C6"},
      {{4, 1, 8}, "{x}, {}, {y}", {4, 8}, "[4@x,8@y]"},
      {{4, 8}, "{}, {}", {32}, "[32]"},
  };
  for (const auto& c : cases)
    EXPECT_EQ(Apply(ReshapeMap(c.from, c.to), {c.from}, {Dims(mesh, c.sharding)}, c.to), c.want)
        << fmt::format("[{}] {} to [{}]", fmt::join(c.from, ","), c.sharding, fmt::join(c.to, ","));
}

TEST(ExplicitRule, PartsOfAxes) {
  const MeshDef* mesh = MeshOf("x=8");
  struct {
    Shape from;
    const char* sharding;
    Shape to;
    const char *out, *want;
  } const reshapes[] = {
      {{384}, "{x}", {12, 32}, nullptr, "C6"},
      {{384}, "{x}", {12, 32}, "{x:(1)4}, {}", "[12@x:(1)4,32]"},
      {{384}, "{x:(1)4}", {12, 32}, nullptr, "[12@x:(1)4,32]"},
      {{384}, "{x:(2)4}", {12, 32}, nullptr, "[12@x:(2)4,32]"},
      {{12, 32}, "{x:(1)4}, {}", {384}, nullptr, "[384@x:(1)4]"},
      {{4, 2}, "{x:(1)4}, {x:(4)2}", {8}, nullptr, "[8@x]"},
      {{4, 2}, "{}, {x:(4)2}", {8}, nullptr, "C6"},
  };
  for (const auto& c : reshapes) {
    TensorSharding out = Dims(mesh, c.out ? c.out : "{}");
    EXPECT_EQ(Apply(ReshapeMap(c.from, c.to), {c.from}, {Dims(mesh, c.sharding)}, c.to,
                    c.out ? &out : nullptr),
              c.want)
        << c.sharding;
  }
  struct {
    const char *lhs, *rhs, *out, *want;
  } const products[] = {
      {"{x:(1)2}, {}", "{}, {x:(2)4}", nullptr, "[8@x:(1)2,8@x:(2)4]"},
      {"{x:(1)2}, {}", "{}, {x}", nullptr, "C3"},
      {"{}, {x:(1)2}", "{x:(1)2}, {}", nullptr, "C5"},
      {"{}, {x:(1)2}", "{x:(1)2}, {}", "{}, {} | unreduced={x:(1)2}", "[8,8]{U:x:(1)2}"},
      {"{}, {x:(1)2}", "{x:(1)2}, {}", "{}, {} | unreduced={x}", "C8"},
      {"{}, {x}", "{x}, {}", "{}, {} | unreduced={x:(1)2}", "C8"},
      {"{x:(1)2}, {}", "{}, {} | reduced={x:(1)2}", nullptr, "[8@x:(1)2,8]"},
  };
  for (const auto& c : products) {
    TensorSharding out = Dims(mesh, c.out ? c.out : "{}, {}");
    EXPECT_EQ(Apply(Matmul(8, 8, 8), {{8, 8}, {8, 8}}, {Dims(mesh, c.lhs), Dims(mesh, c.rhs)},
                    {8, 8}, c.out ? &out : nullptr),
              c.want)
        << c.lhs << " with " << c.rhs;
  }
}

TEST(ExplicitRule, Pointwise) {
  const MeshDef* mesh = MeshOf("x=2 y=2");
  struct {
    Shape lhs;
    const char* lhs_sharding;
    Shape rhs;
    const char *rhs_sharding, *want;
  } const cases[] = {
      {{8, 4}, "{x}, {y}", {}, "", "[8@x,4@y]"},
      {{8, 4}, "{x}, {}", {8, 4}, "{}, {y}", "[8@x,4@y]"},
      {{8, 4}, "{x}, {}", {1, 4}, "{}, {}", "[8@x,4]"},
      {{8, 4}, "{x}, {}", {1, 4}, "{}, {x}", "C3"},
      {{8, 4}, "{x}, {}", {8, 4}, "{x, y}, {}", "C4"},
      {{8, 4}, "{x}, {}", {8, 4}, "{}, {x}", "C3"},
  };
  for (const auto& c : cases)
    EXPECT_EQ(Apply(Pointwise({&c.lhs, &c.rhs}, {8, 4}), {c.lhs, c.rhs},
                    {Dims(mesh, c.lhs_sharding), Dims(mesh, c.rhs_sharding)}, {8, 4}),
              c.want)
        << c.lhs_sharding << " with " << c.rhs_sharding;
}

// An operand that is reduced over an axis may meet an operand that is sharded over it, if the op is
// linear in the first.
TEST(ExplicitRule, ReducedMeetsSharded) {
  const MeshDef* mesh = MeshOf("x=2 y=2");
  const std::vector<LinearGroup> sum = {{.operands = {0, 1}}}, product = {{{0}}, {{1}}},
                                 quotient = {{{0}}},
                                 maximum = {{{0, 1}, {.sum = false, .max = true}}};
  struct {
    const std::vector<LinearGroup>& linear;
    const char* lhs;
    Shape rhs;
    const char *rhs_sharding, *want;
  } const cases[] = {
      {sum, "{x}, {}", {1, 4}, "{}, {} | reduced={x}", "[8@x,4]"},
      {sum, "{x}, {}", {8, 4}, "{}, {} | reduced={x}", "[8@x,4]"},
      {sum, "{x}, {}", {}, " | reduced={x}", "[8@x,4]"},
      {sum, "{x}, {}", {1, 4}, "{}, {y} | reduced={x}", "[8@x,4@y]"},
      {sum, "{x}, {y}", {1, 4}, "{}, {} | reduced={x, y}", "[8@x,4@y]"},
      {product, "{x}, {}", {1, 4}, "{}, {} | reduced={x}", "[8@x,4]"},
      {product, "{x}, {} | reduced={y}", {1, 4}, "{}, {} | reduced={x, y}", "[8@x,4]{R:y}"},
      {product, "{x}, {} | unreduced={y}", {1, 4}, "{}, {} | reduced={x, y}", "[8@x,4]{U:y}"},
      {quotient, "{}, {} | reduced={x}", {8, 4}, "{x}, {}", "[8@x,4]"},
      {quotient, "{x}, {}", {1, 4}, "{}, {} | reduced={x}", "C9"},
      {maximum, "{x}, {}", {1, 4}, "{}, {} | reduced={x}", "C9"},
      {sum, "{}, {}", {1, 4}, "{}, {} | reduced={x}", "C9"},
      {sum, "{x}, {}", {1, 4}, "{}, {} | reduced={x, y}", "C9"},
      {sum, "{x}, {}", {1, 4}, "{}, {} | reduced={y}", "C9"},
      {sum, "{x}, {} | unreduced={y}", {1, 4}, "{}, {} | reduced={x}", "C8"},
      {sum, "{x}, {}", {8, 4}, "{}, {} | unreduced={x}", "C8"},
  };
  const Shape lhs{8, 4};
  for (const auto& c : cases) {
    DimMap map = Pointwise({&lhs, &c.rhs}, lhs);
    map.linear = c.linear;
    EXPECT_EQ(Apply(map, {lhs, c.rhs}, {Dims(mesh, c.lhs), Dims(mesh, c.rhs_sharding)}, lhs),
              c.want)
        << c.lhs << " with " << c.rhs_sharding;
  }
}

TEST(ExplicitRule, OperandsOfDifferentMeshesAreRefused) {
  Shape shape{8};
  EXPECT_EQ(Apply(Pointwise({&shape, &shape}, shape), {shape, shape},
                  {Dims(MeshOf("x=2"), "{x}"), Dims(MeshOf("x=2 y=2"), "{x}")}, shape),
            "C10");
}

TEST(ExplicitRule, UnreducedOfOneKindDoesNotBecomeAnother) {
  const MeshDef* mesh = MeshOf("x=2");
  DimMap map;
  int32_t f = map.AddFactor({.size = 4, .kind = FactorKind::kReduce});
  map.operands = {{{f}}};
  map.results = {{}};
  map.linear = {{.operands = {0}}};
  TensorSharding out = Dims(mesh, " | unreduced=max{x}");
  EXPECT_EQ(Apply(map, {{4}}, {Dims(mesh, "{} | unreduced={x}")}, {}, &out), "C8");
}

}  // namespace
}  // namespace tessera::sharding
