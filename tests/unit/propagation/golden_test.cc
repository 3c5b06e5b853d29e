// Facts about Shardy's strategies, one program each, in tests/propagation. Shardy's own tests
// expect them; numbers are lines of its test files. tests/unit/sharding/shardy_*.txt has reshards.
#include "unit/propagation/golden.h"

#include <gmock/gmock.h>

#include "propagation/propagate.h"

namespace tessera::propagation::engine {
namespace {

using testing::GoldenCase;
using testing::ShardingText;

struct File {
  const char* name;
  Stage stage;
};

void PrintTo(const File& file, std::ostream* os) { *os << file.name; }

class Golden : public ::testing::TestWithParam<File> {};

TEST_P(Golden, EveryValueEndsAsExpected) {
  std::vector<GoldenCase> cases = testing::ReadCases(
      std::string(TESSERA_SOURCE_DIR) + "/tests/propagation/" + GetParam().name + ".txt");
  EXPECT_FALSE(cases.empty());
  for (GoldenCase& c : cases) {
    SCOPED_TRACE(c.name);
    EngineOptions options;
    options.stop_after = GetParam().stage;
    options.import = c.import;
    EngineResult result = Propagate(c.graph, options);
    auto expected = [&](const std::string& name) {
      auto text = c.expected.find(name);
      return text == c.expected.end() ? "open" : text->second;
    };
    for (const auto& [name, v] : c.values)
      EXPECT_EQ(ShardingText(result.sharding(v)), expected(name)) << name;
    for (size_t i = 0; i < result.returns.size(); ++i) {
      const auto& came = result.returns[i];
      std::string name = "return " + std::to_string(i);
      EXPECT_EQ(ShardingText(came ? &*came : nullptr), expected(name)) << name;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Strategies, Golden,
                         ::testing::Values(File{"basic", Stage::kBasic},
                                           File{"aggressive", Stage::kAggressive},
                                           File{"op_priority", Stage::kOpPriority},
                                           File{"user_priority", Stage::kUserPriority}),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace tessera::propagation::engine
