// The fields of a DimMap, and facts that are derived from them instead.
#include "sharding/dim_map.h"

#include <gmock/gmock.h>

namespace tessera::sharding {
namespace {

// A structured binding names every field, so that a new field fails to compile here: derive it from
// the algebra, or say in docs/design.md why that cannot be done.
TEST(DimMap, HasThreeTraitsAndNoOtherExceptions) {
  DimMap map;
  auto& [factors, operands, results, linear, accesses, traits, density] = map;
  auto& [selectors, product, custom] = traits;
  Factor factor;
  auto& [size, kind, reduction, blocked, sorts, by_position] = factor;
  LinearGroup group;
  auto& [members, kinds] = group;
  auto& [sum, max, min] = kinds;
  Access access;
  auto& [operand, along, offset, stride, dilation, at_run_time, window, window_dilation,
         window_factor, per_shard] = access;
  EXPECT_TRUE(factors.empty() && operands.empty() && results.empty() && linear.empty() &&
              accesses.empty() && selectors.empty() && density == 1 && !product && !custom &&
              members.empty());
  EXPECT_TRUE(size == 1 && kind == FactorKind::kPass && reduction == Reduction::kSum && !blocked &&
              !sorts && !by_position && sum && !max && !min);
  EXPECT_TRUE(operand == 0 && along == 0 && offset == 0 && stride == 1 && dilation == 1 &&
              !at_run_time && window == 0 && window_dilation == 1 && window_factor == -1 &&
              per_shard == 0);
}

// Returns the map of a dynamic_update_slice of [8, 4] by [2, 4].
DimMap Update() {
  DimMap map;
  map.AddFactor({.size = 8, .kind = FactorKind::kAcross});
  map.AddFactor({.size = 4});
  map.operands = {{{0}, {1}}, {{0}, {1}}, {}, {}};
  map.results = {{{0}, {1}}};
  map.linear = {{.operands = {0, 1}, .kinds = kAnyKind}};
  map.traits.selectors = {2, 3};
  return map;
}

TEST(DimMap, APieceOfADimHasAFactorOfItsOwn) {
  const Shape whole{8, 4}, piece{2, 4}, start;
  EXPECT_EQ(Text(WithPiecesApart(Update(), {&whole, &piece, &start, &start})),
            "([i, k], [j, k], [], [])->([i, k]) {i=8, j=2, k=4} need_replication={j}");
}

// Each device writes the elements that fall into its shard.
TEST(DimMap, WhatIsWrittenAtRunTimePasses) {
  const Shape whole{8, 4}, piece{2, 4}, start;
  DimMap map = Update();
  map.accesses = {{.operand = 1, .factor = 0, .at_run_time = true}};
  map = OnShards(map, {&whole, &piece, &start, &start}, {&whole});
  EXPECT_EQ(FullText(map),
            "([i, k], [j, k], [], [])->([i, k]) {i=8, j=2, k=4} need_replication={j} "
            "selectors={2, 3}");
  EXPECT_TRUE(map.accesses.empty());
}

// Each device gives the elements of the piece that it has.
TEST(DimMap, WhatIsReadAtRunTimeIsLookedUp) {
  const Shape whole{8, 4}, piece{2, 4}, start;
  DimMap map;
  map.AddFactor({.size = 8, .kind = FactorKind::kPermute, .blocked = true});
  map.AddFactor({.size = 4});
  map.operands = {{{0}, {1}}, {}, {}};
  map.results = {{{0}, {1}}};
  map.traits.selectors = {1, 2};
  map.accesses = {{.operand = 0, .factor = 0, .at_run_time = true}};
  map = OnShards(map, {&whole, &start, &start}, {&piece});
  EXPECT_EQ(Text(map),
            "([i, k], [], [])->([j, k]) {i=8, j=2, k=4} reduction={i} need_replication={j} "
            "blocked_propagation={i}");
  EXPECT_TRUE(LooksUp(map, 0));
}

TEST(DimMap, FullTextSaysWhatShardysTextHasNoWordsFor) {
  EXPECT_EQ(FullText(Update()),
            "([i, j], [i, j], [], [])->([i, j]) {i=8, j=4} across={i} selectors={2, 3}");
}

TEST(DimMap, AFillIsTheSelectorInWhichTheOpIsLinear) {
  DimMap map = Update();
  EXPECT_EQ(FillOf(map), -1);
  map.linear[0].operands = {0, 2};
  EXPECT_EQ(FillOf(map), 2);
}

TEST(DimMap, ALookedUpDimIsReducedByIndices) {
  DimMap map;
  map.AddFactor({.size = 8, .kind = FactorKind::kReduce});
  map.operands = {{{0}}, {}};
  EXPECT_FALSE(LooksUp(map, 0));
  map.traits.selectors = {1};
  EXPECT_TRUE(LooksUp(map, 0));
}

TEST(DimMap, RepeatsSaysWhetherElementsAreRepeated) {
  const Shape one{4}, more{4, 3}, unit{4, 1}, other{2, 2};
  DimMap repeat;
  repeat.AddFactor({.size = 4});
  repeat.AddFactor({.size = 3});
  repeat.operands = {{{0}}};
  repeat.results = {{{0}, {1}}};
  EXPECT_TRUE(Repeats(repeat));
  EXPECT_FALSE(Repeats(ReshapeMap(one, unit)));
  EXPECT_FALSE(Repeats(ReshapeMap(one, other)));
}

}  // namespace
}  // namespace tessera::sharding
