// The example of docs/precision.md is the program below. The page shows its output.
#include <gmock/gmock.h>
#include <tessera/tessera.h>

#include <sstream>

#include "document.h"

namespace tessera::precision_page_test {
namespace {

// clang-format off
void Example(std::ostream& out) {
// begin
const Array x = array({0.1, 0.2});                               // f32
const Array y = array(std::vector<double>{0.1, 0.2});            // f64
out << type_of(x) << " " << type_of(y) << " " << type_of(x * 0.3) << " " << type_of(x + y) << "\n";
{
  DefaultDtypes scope(i64, f64);
  out << type_of(array({0.1})) << " " << type_of(zeros({2})) << " " << type_of(arange(3)) << "\n";
}

// Sums: ten million times 0.1 in f32, in f64, and one after the other.
const Array tenths = full({10'000'000}, 0.1);
float naive = 0;
for (int i = 0; i < 10'000'000; ++i) naive += 0.1f;
out << to_text(sum(tenths), {.precision = 8}) << ", "
    << to_text(sum(tenths, All, {.dtype = f64}), {.precision = 12}) << ", loop " << naive << "\n";

// f16: squares overflow, and vanish; sums end at 65504; means do not.
const Array h = array({300.0, 1e-4}).astype(f16);
out << to_text(h * h) << "\n";
const Array many = full({100'000}, 1.0, f16);
out << to_text(sum(many)) << ", " << to_text(sum(many, All, {.dtype = f32})) << ", "
    << to_text(mean(many)) << "\n";
const Array rows = full({1, 4096}, 0.1, bf16), columns = full({4096, 1}, 1.0, bf16);
out << to_text(matmul(rows, columns)) << ", "
    << to_text(matmul(rows, columns, {.dtype = f32}), {.precision = 6}) << "\n";

// Logarithms of probabilities of almost 1: log(1 + e^-40) is 4.248e-18.
const Array logits = array({0.0, -40.0});
out << to_text(logaddexp(0.0, -40.0)) << ", " << to_text(log_sigmoid(40.0)) << ", "
    << to_text(softplus(-40.0)) << "\n" << to_text(cumlogsumexp(logits, 0)) << "\n"
    << to_text(logsumexp(logits)) << ", " << to_text(log_softmax(logits)) << "\n";
// end
}
// clang-format on

TEST(PrecisionPage, ShowsAProgramAndItsOutput) {
  std::ostringstream out;
  Example(out);
  testing_documents::ExpectShows("/docs/precision.md", "/tests/unit/api/precision_page_test.cc",
                                 out.str());
}

TEST(PrecisionPage, SumsInBlocksErrLessThanALoop) {
  const auto error = [](int64_t n) {
    return std::abs(sum(full({n}, 0.1)).item<double>() - 0.1 * static_cast<double>(n)) /
           (0.1 * static_cast<double>(n));
  };
  for (int64_t n : {1000, 100'000, 10'000'000}) EXPECT_LT(error(n), 1e-6) << n;
}

TEST(PrecisionPage, LimitsOfF16) {
  const auto squared = [](double v) { return square(array({v}).astype(f16)).item<double>(); };
  EXPECT_TRUE(std::isinf(squared(256)));
  EXPECT_FALSE(std::isinf(squared(255.75)));
  EXPECT_EQ(squared(1.5e-4), 0);
  EXPECT_GT(squared(2.5e-4), 0);
  EXPECT_EQ(full({1}, 65504.0, f16).item<double>(), 65504);
}

}  // namespace
}  // namespace tessera::precision_page_test
