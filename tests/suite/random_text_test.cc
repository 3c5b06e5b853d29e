// Random programs as text: printed text parses back to the same program, with its lines and names.
#include <gmock/gmock.h>
#include <tessera/tessera.h>

#include "suite/random_program.h"

namespace tessera::suite::random_text_test {
namespace {

void ExpectReadBack(const Mesh& mesh, int seed) {
  std::vector<Array> arguments = RandomArguments(seed);
  MeshScope scope(mesh);
  // Text does not distinguish values without a mesh from those on the program's.
  for (Array& x : arguments) x = x + 0;
  auto program = jit([&](std::vector<Array> in) { return RandomProgram(seed, seed, in); });
  Lowered lowered = program.lower(arguments);
  for (const Program& p : {lowered.program(), lowered.propagated(), lowered.device_program()}) {
    std::string text = p.text();
    EXPECT_EQ(Program::Parse(text).text(), text) << "seed " << seed;
  }
  auto reported = [](const Program& p) { return lower(Program::Parse(p.text())).comm(); };
  EXPECT_EQ(reported(lowered.propagated()).text(), lowered.comm().text()) << "seed " << seed;
  // Arguments have no lines in text, so moves before an op are reported at lines of the text.
  EXPECT_EQ(reported(lowered.program()).bytes(), lowered.comm().bytes()) << "seed " << seed;
}

TEST(RandomText, ReadsBackAsPrinted) {
  for (int seed = 0; seed < 60; ++seed)
    for (AxisMode mode : {Auto, Explicit})
      ExpectReadBack(make_mesh({{"x", 2, mode}, {"y", 4, Auto}}), seed);
}

}  // namespace
}  // namespace tessera::suite::random_text_test
