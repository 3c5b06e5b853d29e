// The example of docs/testing.md is the program below. The page shows its output.
#include <gmock/gmock.h>

#include <sstream>

#include "document.h"
#include "tessera/check.h"
#include "tessera/tessera.h"
#include "tessera/testing.h"

namespace tessera::testing_page_test {
namespace {

// clang-format off
void Example(std::ostream& out) {
// begin
SetDeviceCount(4);
MeshScope scope(make_mesh({{"model", 4}}));
const auto layer = [](Array x, Array w) {
  const Array h = matmul(x, w, {.out_sharding = P()});
  check(isfinite(h), "the layer is finite", h);
  return tanh(h);
};
const Lowered lowered =
    jit(layer).lower(abstract_array("f32[8,16@model]"), abstract_array("f32[16@model,4]"));
EXPECT_SENDS(lowered, "all_reduce over model", 1);
EXPECT_PEAK_AT_MOST(lowered, 1024);

// The messages of expectations that do not hold, and of a check.
out << expectations::Sends(lowered.comm(), "all_gather over model", 2) << "\n";
out << expectations::PeakIsAtMost(lowered, 256) << "\n";
const Array x = reshard(array({0.0, 1.0, 2.0, 3.0}), P("model")).astype(f32);
try {
  jit([](Array v) { return check(v < 2, "all are below 2", v), v * 2; })(x);
} catch (const RuntimeError& error) {
  out << error.json() << "\n";
}
// end
}
// clang-format on

TEST(TestingPage, ShowsAProgramAndItsOutput) {
  std::ostringstream out;
  Example(out);
  testing_documents::ExpectShows("/docs/testing.md", "/tests/unit/api/testing_page_test.cc",
                                 out.str());
}

}  // namespace
}  // namespace tessera::testing_page_test
