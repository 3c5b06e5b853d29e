// Wrong input to first_difference, record_run, check and the expectations of tests.
#include <gmock/gmock.h>
#include <tessera/check.h>
#include <tessera/expectations.h>
#include <tessera/first_difference.h>
#include <tessera/tessera.h>

#include <filesystem>
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
  ExpectRefused("comparison_infinite_tolerance", [] {
    first_difference(kNothing, kNothing, {.tolerance = std::numeric_limits<double>::infinity()});
  });
}

TEST(ComparisonErrors, OfRecordings) {
  ExpectRefused("comparison_no_recording",
                [] { first_difference("/nonexistent/a.run", kNothing); });
  for (const auto& [name, text] :
       {std::pair("comparison_recording_is_text", "tessera recording 1\n"),
        std::pair("comparison_recording_is_cut", "tessera recording 2\n")}) {
    ExpectRefused(name, [text = text] {
      std::ofstream("not_a_recording.run") << text;
      first_difference("not_a_recording.run", kNothing);
    });
  }
  std::filesystem::remove("not_a_recording.run");
  ExpectRefused("comparison_no_folder", [] { record_run(kNothing, "/nonexistent/folder/a.run"); });
}

TEST(ComparisonErrors, OfChecks) {
  ExpectRefused("check_of_ints", [] { check(arange(3), "ints"); });
  ExpectRefused("check_of_other_shapes", [] { check(arange(3) < 5, "shapes", 1, arange(2)); });
  ExpectRefused("check_fails", [] {
    const Array x = arange(6).reshape({2, 3});
    check(x < 4, "x is too large", x, 2.5);
  });
  ExpectRefused("check_fails_in_a_loop", [] {
    jit([](Array x) {
      const auto body = [](Array i, Array v) {
        check(v < 20, "v grows too large", v, i);
        return v * 2;
      };
      return fori_loop(0, 5, body, x);
    })(Array(2));
  });
  ExpectUsable();
}

TEST(ComparisonErrors, OfExpectations) {
  ExpectRefused("expectation_of_no_collective",
                [] { expectations::Sends(CommReport(), "allreduce over x", 1); });
}

TEST(ComparisonErrors, OfTheRunItself) {
  ExpectRefused("comparison_of_a_wrong_program",
                [] { first_difference([] { ones({2}) + ones({3}); }, kNothing); });
  ExpectUsable();
}

}  // namespace
}  // namespace tessera::comparison_errors_test
