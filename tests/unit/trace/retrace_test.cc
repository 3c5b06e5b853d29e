// The changes between two calls that a note names.
#include "trace/retrace.h"

#include <gmock/gmock.h>
#include <tessera/tessera.h>

#include "trace/array.h"

namespace tessera::trace {
namespace {

struct Config {
  Array w;
  int heads;
};
TESSERA_FIELDS(Config, w, heads);

template <class... A>
Given GivenBy(A... arguments) {
  std::tuple<A...> tree(std::move(arguments)...);
  std::vector<const ir::Type*> types;
  for (const Array& x : detail::LeavesOf(tree)) types.push_back(x.impl()->type());
  return GivenOf(tree, types);
}

TEST(ChangeText, NamesArgumentsAndTheirParts) {
  const Array x = ones({2});
  EXPECT_EQ(ChangeText(GivenBy(x, 0.5), GivenBy(x, 0.25)), "argument 1 from 0.5 to 0.25");
  EXPECT_EQ(ChangeText(GivenBy(std::pair(1, std::vector{2, 3})),
                       GivenBy(std::pair(1, std::vector{2, 4}))),
            "argument 0[1][1] from 3 to 4");
  EXPECT_EQ(ChangeText(GivenBy(Config{x, 2}), GivenBy(Config{x, 3})),
            "argument 0.heads from 2 to 3");
  EXPECT_EQ(ChangeText(GivenBy(std::string("a"), true), GivenBy(std::string("b"), true)),
            "argument 0 from \"a\" to \"b\"");
  EXPECT_EQ(ChangeText(GivenBy(x), GivenBy(ones({3}))), "argument 0 from f32[2] to f32[3]");
}

TEST(ChangeText, StopsWhereTheTreesDiffer) {
  const Array x = ones({2});
  EXPECT_EQ(ChangeText(GivenBy(std::vector{x}), GivenBy(std::vector{x, x})),
            "argument 0 from 1 part to 2 parts");
  EXPECT_EQ(ChangeText(GivenBy(std::optional(x)), GivenBy(std::optional<Array>())),
            "argument 0 from a value to nothing");
  using ByName = std::map<std::string, Array>;
  EXPECT_EQ(ChangeText(GivenBy(ByName{{"a", x}}), GivenBy(ByName{{"b", x}})),
            "argument 0[\"a\"] became argument 0[\"b\"]");
}

TEST(ChangeText, ShowsThree) {
  EXPECT_EQ(ChangeText(GivenBy(1, 2, 3, 4, 5), GivenBy(2, 3, 4, 5, 6)),
            "argument 0 from 1 to 2, argument 1 from 2 to 3, argument 2 from 3 to 4, and 2 more");
  EXPECT_EQ(ChangeText(GivenBy(1), GivenBy(1)), "");
}

}  // namespace
}  // namespace tessera::trace
