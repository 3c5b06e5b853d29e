// Random programs as text: what is printed reads back as the same program, with its lines and
// names.
#include <gmock/gmock.h>
#include <tessera/tessera.h>

#include "suite/random_program.h"

namespace tessera::suite {
namespace {

// The lines of arguments are not in the text: what moves one at the border is at the reader's line.
void ExpectSameReport(const CommReport& read, const CommReport& lowered) {
  ASSERT_EQ(read.events().size(), lowered.events().size()) << read << lowered;
  EXPECT_EQ(read.flops(), lowered.flops());
  for (size_t i = 0; i < read.events().size(); ++i) {
    CommEvent a = read.events()[i], b = lowered.events()[i];
    if (a.where.starts_with("random_text_test.cc")) a.where = b.where;
    EXPECT_EQ(CommReport({a}).text(), CommReport({b}).text());
  }
}

void ExpectReadBack(const Mesh& mesh, int seed) {
  std::vector<Array> arguments = RandomArguments(seed);
  MeshScope scope(mesh);
  auto program = jit([&](std::vector<Array> in) { return RandomProgram(seed, seed, in); });
  Lowered lowered = program.lower(arguments);
  for (const Program& p : {lowered.program(), lowered.propagated(), lowered.device_program()}) {
    std::string text = p.text();
    EXPECT_EQ(Program::Parse(text).text(), text) << "seed " << seed;
  }
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  // Where arguments on no mesh lie is not in the text of a traced program.
  ExpectSameReport(lower(Program::Parse(lowered.propagated().text())).comm(), lowered.comm());
}

TEST(RandomText, ReadsBackAsPrinted) {
  for (int seed = 0; seed < 60; ++seed)
    for (AxisMode mode : {Auto, Explicit})
      ExpectReadBack(make_mesh({{"x", 2, mode}, {"y", 4, Auto}}), seed);
}

}  // namespace
}  // namespace tessera::suite
