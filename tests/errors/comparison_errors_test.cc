// Wrong input to first_difference and record_run.
#include <gmock/gmock.h>
#include <tessera/first_difference.h>
#include <tessera/tessera.h>

#include <fstream>
#include <limits>

#include "golden.h"

namespace tessera::comparison_errors_test {
namespace {

const auto kNothing = [] {};

TEST(ComparisonErrors, OfTolerances) {
  ExpectRefused("comparison_negative_tolerance",
                [] { first_difference(kNothing, kNothing, {.tolerance = -1}); });
  ExpectRefused("comparison_nan_tolerance", [] {
    first_difference(kNothing, kNothing, {.tolerance = std::numeric_limits<double>::quiet_NaN()});
  });
}

TEST(ComparisonErrors, OfRecordings) {
  ExpectRefused("comparison_no_recording",
                [] { first_difference("/nonexistent/a.run", kNothing); });
  ExpectRefused("comparison_recording_is_text", [] {
    std::ofstream("not_a_recording.run") << "tessera recording 2\n";
    first_difference("not_a_recording.run", kNothing);
  });
  ExpectRefused("comparison_no_folder", [] { record_run(kNothing, "/nonexistent/folder/a.run"); });
}

TEST(ComparisonErrors, OfTheRunItself) {
  ExpectRefused("comparison_of_a_wrong_program",
                [] { first_difference([] { ones({2}) + ones({3}); }, kNothing); });
  ExpectUsable();
}

}  // namespace
}  // namespace tessera::comparison_errors_test
