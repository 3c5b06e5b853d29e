// Trees: their arrays by name, in order, and others in their place.
#include "trace/tree.h"

#include <gmock/gmock.h>
#include <tessera/tessera.h>

namespace tessera::trace {
namespace {

using testing::ElementsAre;

struct Layer {
  Array w;
  std::vector<Array> more;
  int size = 0;
};
TESSERA_FIELDS(Layer, w, more, size);

// A struct may contain itself.
struct Node {
  Array value;
  std::vector<Node> below;
};
TESSERA_FIELDS(Node, value, below);

static_assert(Tree<Layer> && Tree<Node> && Tree<NoneType>);
static_assert(Tree<std::map<std::string, std::optional<Layer>>>);
static_assert(!Tree<int*> && !Tree<char> && !Tree<std::vector<int*>> && !Tree<const char*>);
static_assert(!Tree<std::vector<bool>>);  // its elements are not bools

TEST(Tree, NamesItsArrays) {
  std::pair<Layer, std::map<std::string, Array>> tree{{1, {2, 3}, 4}, {{"a", 5}, {"b", 6}}};
  const Leaves leaves = TakeApart(tree, "t");
  EXPECT_THAT(leaves.names,
              ElementsAre("t[0][0]", "t[0][1][0]", "t[0][1][1]", "t[1][0]", "t[1][1]"));
  std::vector<int> values;
  for (const Array& x : leaves.arrays) values.push_back(x.item<int>());
  EXPECT_THAT(values, ElementsAre(1, 2, 3, 5, 6));
}

struct Named {
  std::map<std::pair<int, std::string>, Array> pairs;
  std::optional<Array> maybe, nothing;
  std::map<std::string, Node> nodes;
  std::map<int, std::array<Array, 2>> numbers;
};
// By hand.
inline auto tree_fields(Named& n) {
  return Fields("pairs", n.pairs, "maybe", n.maybe, "nothing", n.nothing, "nodes", n.nodes,
                "numbers", n.numbers);
}

struct Tied {
  Array a, b;
};
[[maybe_unused]] auto tree_fields(Tied& t) { return std::tie(t.a, t.b); }

TEST(Tree, NamesItsArraysByFieldsAndKeys) {
  Named tree{.pairs = {{{1, "a"}, 1}},
             .maybe = 2,
             .nothing = {},
             .nodes = {{"n", {3, {{4, {}}, {5, {}}}}}},
             .numbers = {{-7, {6, 7}}}};
  EXPECT_THAT(detail::NamesOf(tree),
              ElementsAre("pairs.1,a", "maybe", "nodes.n.value", "nodes.n.below.0.value",
                          "nodes.n.below.1.value", "numbers.-7.0", "numbers.-7.1"));
  std::tuple<Layer, Array> layers{{1, {2}, 3}, 4};
  EXPECT_THAT(detail::NamesOf(layers), ElementsAre("0.w", "0.more.0", "1"));
  Tied tied{1, 2};
  EXPECT_THAT(detail::NamesOf(tied), ElementsAre("0", "1"));
  Array alone = 1;
  EXPECT_THAT(detail::NamesOf(alone), ElementsAre(""));
}

TEST(Tree, NamesThoseOfAPart) {
  std::pair<Layer, Array> tree{{1, {2}, 4}, 5};
  EXPECT_THAT(TakePartApart(tree, 0, "c").names, ElementsAre("c[0]", "c[1][0]"));
  EXPECT_THAT(TakePartApart(tree, 1, "y").names, ElementsAre("y"));
  EXPECT_EQ(TakePartApart(tree, 0, "c").statics, TakeApart(tree.first, "c").statics);
}

TEST(Tree, TellsTreesApartByAllThatIsNoArray) {
  Layer a{1, {2}, 4}, b{1, {2, 3}, 4}, c{1, {2}, 5}, d{7, {8}, 4};
  auto statics = [](Layer& l) { return TakeApart(l, "").statics; };
  EXPECT_NE(statics(a), statics(b));
  EXPECT_NE(statics(a), statics(c));
  EXPECT_EQ(statics(a), statics(d));
}

TEST(Tree, IsRebuiltOfOtherArrays) {
  const Node tree{1, {{2, {}}, {3, {{4, {}}}}}};
  const Node twice = tree_map([](Array x) { return x * 2; }, tree);
  EXPECT_EQ(twice.below.at(1).below.at(0).value.item<int>(), 8);
  EXPECT_EQ(tree.below.at(1).below.at(0).value.item<int>(), 4);
}

}  // namespace
}  // namespace tessera::trace
