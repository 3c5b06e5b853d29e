// Trees: their arrays by name and in order, and replacement of arrays.
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
              ElementsAre("t[0].w", "t[0].more[0]", "t[0].more[1]", "t[1][\"a\"]", "t[1][\"b\"]"));
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
// Written by hand.
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
  EXPECT_THAT(TakeApart(tree, "c", {0}).names, ElementsAre("c.w", "c.more[0]"));
  EXPECT_THAT(TakeApart(tree, "c", {0, 1}).names, ElementsAre("c[0]"));
  EXPECT_THAT(TakeApart(tree, "y", {1}).names, ElementsAre("y"));
  EXPECT_EQ(DifferenceOf(TakeApart(tree, "c", {0}), TakeApart(tree.first, "c")), "");
}

// Returns the difference between two trees.
template <class A, class B>
std::string Difference(A wanted, B came) {
  return DifferenceOf(TakeApart(wanted, "t"), TakeApart(came, "t"));
}

TEST(Tree, TellsTreesApartByAllThatIsNoArray) {
  const Layer a{1, {2}, 4};
  EXPECT_EQ(Difference(a, Layer{7, {8}, 4}), "");
  EXPECT_EQ(Difference(a, Layer{1, {2, 3}, 4}), "t.more has 2 parts instead of 1 part");
  EXPECT_EQ(Difference(a, Layer{1, {2}, 5}), "t.size is 5 instead of 4");
  EXPECT_EQ(Difference(a, std::tuple(Array(1), std::vector<Array>{2}, 4)),
            "there is t[0] instead of t.w");
  EXPECT_EQ(Difference(std::optional(a), std::optional<Layer>()),
            "t is nothing instead of a value");
  using Keys = std::map<int, Array>;
  EXPECT_EQ(Difference(Keys{{1, 1}, {2, 2}}, Keys{{1, 1}, {3, 2}}),
            "there is t[3] instead of t[2]");
  EXPECT_EQ(Difference(std::pair(Array(1), 2), std::pair(Array(1), Array(2))),
            "t[1] is an array instead of 2");
}

TEST(Tree, ComparesNamesOfArrays) {
  using Names = std::vector<std::string>;
  EXPECT_EQ(DifferenceOf(Names{"w", "b"}, Names{"w", "b"}), "");
  EXPECT_EQ(DifferenceOf(Names{"w", "b"}, Names{"u", "v"}), "there is u instead of w");
  EXPECT_EQ(DifferenceOf(Names{"0", "1"}, Names{"0"}), "1 is missing");
  EXPECT_EQ(DifferenceOf(Names{"a", "b", "c"}, Names{"b", "c"}), "a is missing");
  EXPECT_EQ(DifferenceOf(Names{"0"}, Names{"0", "1"}), "1 is one too many");
  EXPECT_EQ(DifferenceOf(Names{"w", "b"}, Names{"b", "w"}), "there is b instead of w");
  EXPECT_EQ(DifferenceOf(Names{}, Names{}), "");
}

TEST(Tree, IsRebuiltOfOtherArrays) {
  const Node tree{1, {{2, {}}, {3, {{4, {}}}}}};
  const Node twice = tree_map([](Array x) { return x * 2; }, tree);
  EXPECT_EQ(twice.below.at(1).below.at(0).value.item<int>(), 8);
  EXPECT_EQ(tree.below.at(1).below.at(0).value.item<int>(), 4);
}

}  // namespace
}  // namespace tessera::trace
