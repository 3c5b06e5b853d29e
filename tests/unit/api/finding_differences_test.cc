// The example of docs/finding_differences.md is the program below. The page shows its output.
#include <gmock/gmock.h>

#include <sstream>

#include "document.h"
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

TEST(FindingDifferences, ShowsAProgramAndItsOutput) {
  std::ostringstream out;
  Example(out);
  testing_documents::ExpectShows("/docs/finding_differences.md",
                                 "/tests/unit/api/finding_differences_test.cc", out.str());
}

}  // namespace
}  // namespace tessera::finding_differences_test
