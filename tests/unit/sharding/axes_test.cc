// Relations between parts of axes, and their laws on random cuts.
#include <fmt/format.h>

#include "fuzz.h"
#include "unit/sharding/testing.h"

namespace tessera::sharding {
namespace {

using testing::Dims;
using testing::MeshOf;

constexpr AxisPart Part(int64_t pre, int64_t size) { return {0, pre, size}; }

std::string PartText(std::optional<AxisPart> a) {
  return a ? fmt::format("({}){}", a->pre, a->size) : "none";
}

// Returns the common part of a and b, if they overlap and can coexist.
std::optional<AxisPart> Shared(AxisPart a, AxisPart b) {
  if (!Overlaps(a, b) || !CanCoexist(a, b)) return std::nullopt;
  const int64_t pre = std::max(a.pre, b.pre);
  return AxisPart{a.axis, pre, std::min(a.next(), b.next()) / pre};
}

TEST(Axes, RelationsOfParts) {
  struct {
    AxisPart a, b;
    bool contains, overlaps, coexist;
    const char *overlap, *prefix, *suffix;
  } const cases[] = {
      {Part(1, 8), Part(1, 8), true, true, true, "(1)8", "none", "none"},
      {Part(1, 8), Part(2, 2), true, true, true, "(2)2", "(1)2", "(4)2"},
      {Part(1, 4), Part(2, 4), false, true, true, "(2)2", "(1)2", "none"},
      {Part(2, 4), Part(1, 4), false, true, true, "(2)2", "none", "(4)2"},
      {Part(1, 2), Part(2, 4), false, false, true, "none", "(1)2", "(1)2"},
      {Part(1, 2), Part(1, 3), false, true, false, "none", "none", "none"},
      {Part(1, 4), Part(1, 2), true, true, true, "(1)2", "none", "(2)2"},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(PartText(c.a) + " and " + PartText(c.b));
    EXPECT_EQ(Contains(c.a, c.b), c.contains);
    EXPECT_EQ(Overlaps(c.a, c.b), c.overlaps);
    EXPECT_EQ(CanCoexist(c.a, c.b), c.coexist);
    EXPECT_EQ(PartText(Shared(c.a, c.b)), c.overlap);
    EXPECT_EQ(PartText(PrefixWithoutOverlap(c.a, c.b)), c.prefix);
    EXPECT_EQ(PartText(SuffixWithoutOverlap(c.a, c.b)), c.suffix);
  }
}

TEST(Axes, CollideWhereTheyOverlapOrFitNoGrid) {
  EXPECT_TRUE(Collide(Part(1, 4), Part(2, 4)));
  EXPECT_FALSE(Collide(Part(1, 2), Part(2, 4)));
  EXPECT_FALSE(Overlaps(Part(1, 2), Part(3, 2)));
  EXPECT_TRUE(Collide(Part(1, 2), Part(3, 2)));  // of 6: 2 x 3, or 3 x 2
  EXPECT_TRUE(CollidesWithAny({{1, 1, 2}, Part(1, 2)}, Part(3, 2)));
  EXPECT_FALSE(CollidesWithAny({{1, 1, 2}}, Part(3, 2)));
}

TEST(Axes, PrefixThatDividesIsTheLongest) {
  const MeshDef* mesh = MeshOf("x=8 y=6");
  const auto prefix = [&](const AxisList& axes, int64_t size) {
    return PlainAxesText(*mesh, PrefixThatDivides(axes, size));
  };
  const AxisPart x{0, 1, 8}, y{1, 1, 6};
  EXPECT_EQ(prefix({x}, 24), "x");
  EXPECT_EQ(prefix({x}, 12), "x:(1)4");
  EXPECT_EQ(prefix({{0, 2, 4}}, 6), "x:(2)2");
  EXPECT_EQ(prefix({x}, 7), "");
  EXPECT_EQ(prefix({x, y}, 24), "(x,y:(1)3)");
  EXPECT_EQ(prefix({y, x}, 9), "y:(1)3");  // the next axis may only follow the whole of y
  EXPECT_EQ(prefix({y, x}, 0), "(y,x)");
}

TEST(Axes, OfDifferentNamesAreUnrelated) {
  AxisPart x{0, 1, 4}, y{1, 1, 4};
  EXPECT_FALSE(Contains(x, y));
  EXPECT_FALSE(Overlaps(x, y));
  EXPECT_FALSE(CanMerge({0, 1, 2}, {1, 2, 2}));
  EXPECT_TRUE(MeshOrder(x, y));
}

// Law: the pieces of any cut, appended one by one, make the whole axis.
TEST(Axes, PiecesMergeIntoTheWhole) {
  testing::Random random(1);
  for (int64_t round = FuzzCount(300); round > 0; --round) {
    AxisList merged;
    int64_t pre = 1, n = 1;
    for (int64_t pieces = 1 + random.Below(4); pieces > 0; --pieces) {
      int64_t size = 2 + random.Below(3);
      AppendMerged(merged, {0, pre, size});
      pre *= size;
      n *= size;
    }
    ASSERT_EQ(merged.size(), 1u) << n;
    EXPECT_EQ(PartText(merged[0]), PartText(Part(1, n)));
  }
}

// Law: an axis consists of its overlap with another one and of the parts before and after that.
TEST(Axes, PrefixOverlapAndSuffixMakeTheWhole) {
  testing::Random random(2);
  for (int64_t round = FuzzCount(500); round > 0; --round) {
    auto part = [&] { return Part(int64_t{1} << random.Below(4), int64_t{2} << random.Below(3)); };
    AxisPart a = part(), b = part();
    if (!Overlaps(a, b)) continue;
    AxisList whole;
    for (std::optional<AxisPart> piece :
         {PrefixWithoutOverlap(a, b), Shared(a, b), SuffixWithoutOverlap(a, b)})
      if (piece) AppendMerged(whole, *piece);
    ASSERT_EQ(whole.size(), 1u);
    EXPECT_EQ(PartText(whole[0]), PartText(a)) << PartText(b);
  }
}

TEST(Axes, DifferenceCutsParts) {
  const MeshDef* mesh = MeshOf("x=8 y=2");
  AxisList x{WholeAxis(*mesh, 0), WholeAxis(*mesh, 1)};
  AxisList left = Difference(x, {{0, 2, 2}});
  ASSERT_EQ(left.size(), 3u);
  EXPECT_EQ(AxisText(*mesh, left[0]), "\"x\":(1)2");
  EXPECT_EQ(AxisText(*mesh, left[1]), "\"x\":(4)2");
  EXPECT_EQ(AxisText(*mesh, left[2]), "\"y\"");
}

TEST(Axes, APrefixMayEndInAPart) {
  const MeshDef* mesh = MeshOf("x=4 y=4");
  AxisList list = Dims(mesh, "{x, y}").dims[0].axes;
  EXPECT_TRUE(IsPrefix(Dims(mesh, "{x, y:(1)2}").dims[0].axes, list));
  EXPECT_TRUE(IsPrefix({}, list));
  EXPECT_FALSE(IsPrefix(Dims(mesh, "{x, y:(2)2}").dims[0].axes, list));
  EXPECT_FALSE(IsPrefix(Dims(mesh, "{y}").dims[0].axes, list));
}

}  // namespace
}  // namespace tessera::sharding
