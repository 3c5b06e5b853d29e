// The example of docs/same_bits.md is the program below. The page shows its output.
#include <gmock/gmock.h>

#include <sstream>

#include "document.h"
#include "tessera/tessera.h"

namespace tessera::same_bits_test {
namespace {

// clang-format off
void Example(std::ostream& out) {
// begin
SetDeviceCount(4);
const auto slope = jit(grad([](Array w, Array x) { return mean(tanh(matmul(x, w))); }));
const Array w = random::normal(random::key(0), {100, 10});
const Array x = random::normal(random::key(1), {64, 100});

const Deterministic scope;
const std::vector<float> alone = slope(w, x).to_vector<float>();

const MeshScope on(make_mesh({{"data", 4, Auto}}));
const Array sharded = with_sharding_constraint(x, P("data"));
out << "the same bits: " << (slope(w, sharded).to_vector<float>() == alone) << "\n";
const std::string text = slope.lower(w, sharded).text();
out << text.substr(text.find("sums in one order"));
// end
}
// clang-format on

TEST(SameBits, ShowsAProgramAndItsOutput) {
  std::ostringstream out;
  out << std::boolalpha;
  Example(out);
  testing_documents::ExpectShows("/docs/same_bits.md", "/tests/unit/api/same_bits_test.cc",
                                 out.str());
}

}  // namespace
}  // namespace tessera::same_bits_test
