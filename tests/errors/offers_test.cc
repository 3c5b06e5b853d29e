// Edits that errors offer as code: the code compiles as it is written, and works.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <tessera/tessera.h>

#include <algorithm>

namespace tessera::offers_test {
namespace {

// Expects that `call` is refused and offers the code of the other argument. That code compiles
// here, and sends the bytes that the offer states.
#define EXPECT_OFFERED(call, ...)                                                            \
  ExpectOffered([&](auto) { return Array(call); }, [&](auto) { return Array(__VA_ARGS__); }, \
                #__VA_ARGS__)

template <class F, class G>
void ExpectOffered(F refused, G offered, const std::string& code) {
  SCOPED_TRACE(code);
  std::vector<Fix> fixes;
  try {
    refused(0);
    FAIL() << "it was accepted";
  } catch (const ShardingError& e) {
    fixes = e.fixes();
  }
  const auto fix = std::find_if(fixes.begin(), fixes.end(), [&](const Fix& f) {
    return f.text.starts_with(code + "   sends ");
  });
  std::string all;
  for (const Fix& f : fixes) all += "\n" + f.text;
  ASSERT_TRUE(fix != fixes.end()) << all;
  EXPECT_TRUE(offered(0).is_given());
}

TEST(Offers, CompileAsTheyAreWritten) {
  MeshScope scope(abstract_mesh({{"X", 2}, {"Y", 4}}));
  const Array lhs = abstract_array("f32[4@X,4]"), rhs = abstract_array("f32[4,4@X]");
  const Array operand = abstract_array("f32[8@X,4@Y]"), indices = abstract_array("i32[6]");
  const Array update = abstract_array("f32[4,4@Y]");
  const std::vector<Array> starts{0, 0}, operands{operand, update};
  EXPECT_OFFERED((lhs + rhs), add(lhs, rhs, {.out_sharding = P("X", None)}));
  EXPECT_OFFERED((sort(operand, 1)), reshard(operand, P("X", None)));
  EXPECT_OFFERED((cumsum(operand, 0)), reshard(operand, P(None, "Y")));
  EXPECT_OFFERED((pad(operand, {{1, 0}, {0, 0, 1}}, 2)), pad(operand, {{1, 1}, {0, 1, 1}}, 2));
  EXPECT_OFFERED((pad(operand, {{-1, 0}, {0, 0}})), pad(operand, {{-1, 1}, {0, 0}}));
  EXPECT_OFFERED((operand[{indices, All}]),
                 operand.at({indices, All}).get({.out_sharding = P(None, "Y")}));
  EXPECT_OFFERED(
      (dynamic_update_slice(operand, update, starts)),
      auto_axes([](auto operand, auto update,
                   auto starts) { return dynamic_update_slice(operand, update, starts); },
                {.out_sharding = P("X", "Y")})(operand, update, starts));
  EXPECT_OFFERED((concatenate(operands)), reshard(operands[0], P(None, "Y")));
}

}  // namespace
}  // namespace tessera::offers_test
