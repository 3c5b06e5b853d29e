// The example of docs/finding_differences.md is the program below. The page shows its output.
#include <gmock/gmock.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "tessera/first_difference.h"
#include "tessera/tessera.h"

namespace tessera::finding_differences_test {
namespace {

// clang-format off
void Example(std::ostream& out) {
// begin
SetDeviceCount(4);
const Array x = random::normal(random::key(0), {8, 16});
const Array w = random::normal(random::key(1), {16, 4});

const auto step = [](Array input, Array weights) {
  const bool is_sharded = !type_of(input).spec().dims().empty() &&
                          !type_of(input).spec().dims()[0].axes().empty();
  const auto halved = custom_vjp([](Array v) { return v / 2; },
                                 [](Array v) { return std::pair(v / 2, v); },
                                 [=](Array, Array g) { return is_sharded ? g : g / 2; });
  return jit(grad([=](Array own) { return sum(tanh(halved(matmul(input, own)))); }))(weights);
};

const Mesh mesh = make_mesh({{"data", 4}});
out << first_difference(step, std::tuple(x, w), {mesh}, {mesh, {P("data"), P()}});
// end
}
// clang-format on

std::string TextOf(const std::string& path) {
  std::ifstream file(TESSERA_SOURCE_DIR + path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string Between(const std::string& text, const std::string& begin, const std::string& end) {
  const size_t from = text.find(begin) + begin.size();
  return text.substr(from, text.find(end, from) - from);
}

TEST(FindingDifferences, ShowsAProgramAndItsOutput) {
  const std::string path = "/docs/finding_differences.md";
  std::string page = TextOf(path);
  const std::string test = TextOf("/tests/unit/api/finding_differences_test.cc");
  EXPECT_EQ(Between(page, "```cpp\n", "```"), Between(test, "// begin\n", "// end\n"));
  std::ostringstream out;
  Example(out);
  const std::string shown = Between(page, "```text\n", "```");
  if (std::getenv("UPDATE_GOLDEN") != nullptr) {
    page.replace(page.find("```text\n") + 8, shown.size(), out.str());
    std::ofstream(TESSERA_SOURCE_DIR + path) << page;
  } else {
    EXPECT_EQ(shown, out.str());
  }
}

}  // namespace
}  // namespace tessera::finding_differences_test
