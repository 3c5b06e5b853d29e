// Expectations about programs for GoogleTest: their communication, their memory, and equal values
// in all layouts. A failure shows the report. Include it in tests only: it includes
// <gtest/gtest.h>.
//
//   const Lowered lowered = jit(step).lower(params, batch);
//   EXPECT_SENDS(lowered, "all_reduce over model", 12);
//   EXPECT_SENDS(lowered, "reduce_scatter over data", 1, 4 << 20);
//   EXPECT_SENDS_NOTHING(jit(update).lower(params));
//   EXPECT_PEAK_AT_MOST(lowered, 1 << 30);
//   EXPECT_SAME_ON_MESHES(step, std::tuple(params, batch),
//                         {{alone}, {mesh, {P(), P("data")}}, {mesh, {P("model"), P("data")}}});
//   EXPECT_GRADIENTS(loss, params);
//
// Each has an ASSERT_ form, which ends the test.
#pragma once
#include <gtest/gtest.h>

#include <exception>
#include <string>
#include <tuple>
#include <vector>

#include "tessera/check_grads.h"
#include "tessera/expectations.h"

namespace TESSERA_PUBLIC tessera {

namespace expectations {

inline CommReport ReportOf(const Lowered& lowered) { return lowered.comm(); }
inline CommReport ReportOf(CommReport report) { return report; }

inline ::testing::AssertionResult Holds(const std::string& problem) {
  return problem.empty() ? ::testing::AssertionSuccess() : ::testing::AssertionFailure() << problem;
}

template <class F, Tree... Args>
::testing::AssertionResult SameOnMeshes(const F& f, const std::tuple<Args...>& arguments,
                                        const std::vector<RunPlace>& places,
                                        DifferenceOptions options = {}) {
  for (size_t k = 1; k < places.size(); ++k) {
    const FirstDifference d = first_difference(f, arguments, places[0], places[k], options);
    if (std::string problem = IsSame(d, k); !problem.empty()) return Holds(problem);
  }
  return ::testing::AssertionSuccess();
}

template <class F, class... Args>
::testing::AssertionResult HasGradients(const F& f, const Args&... arguments) {
  try {
    check_grads(f, std::tuple(arguments...));
  } catch (const std::exception& e) {
    return ::testing::AssertionFailure() << e.what();
  }
  return ::testing::AssertionSuccess();
}

}  // namespace expectations

// The program or report sends a collective so many times (see expectations::Sends).
#define EXPECT_SENDS(program, ...)            \
  EXPECT_TRUE(::tessera::expectations::Holds( \
      ::tessera::expectations::Sends(::tessera::expectations::ReportOf(program), __VA_ARGS__)))
#define ASSERT_SENDS(program, ...)            \
  ASSERT_TRUE(::tessera::expectations::Holds( \
      ::tessera::expectations::Sends(::tessera::expectations::ReportOf(program), __VA_ARGS__)))
#define EXPECT_SENDS_NOTHING(program)         \
  EXPECT_TRUE(::tessera::expectations::Holds( \
      ::tessera::expectations::SendsNothing(::tessera::expectations::ReportOf(program))))
#define ASSERT_SENDS_NOTHING(program)         \
  ASSERT_TRUE(::tessera::expectations::Holds( \
      ::tessera::expectations::SendsNothing(::tessera::expectations::ReportOf(program))))
// A device needs at most so many bytes for arguments, results and temporaries.
#define EXPECT_PEAK_AT_MOST(lowered, bytes) \
  EXPECT_TRUE(::tessera::expectations::Holds(::tessera::expectations::PeakIsAtMost(lowered, bytes)))
#define ASSERT_PEAK_AT_MOST(lowered, bytes) \
  ASSERT_TRUE(::tessera::expectations::Holds(::tessera::expectations::PeakIsAtMost(lowered, bytes)))
// The function makes the same values at every place: (f, tuple of arguments, {place, place, ...}).
#define EXPECT_SAME_ON_MESHES(f, arguments, ...)                  \
  EXPECT_TRUE(::tessera::expectations::SameOnMeshes(f, arguments, \
                                                    std::vector<::tessera::RunPlace> __VA_ARGS__))
#define ASSERT_SAME_ON_MESHES(f, arguments, ...)                  \
  ASSERT_TRUE(::tessera::expectations::SameOnMeshes(f, arguments, \
                                                    std::vector<::tessera::RunPlace> __VA_ARGS__))
// Derivatives agree with numerical ones (check_grads.h).
#define EXPECT_GRADIENTS(...) EXPECT_TRUE(::tessera::expectations::HasGradients(__VA_ARGS__))
#define ASSERT_GRADIENTS(...) ASSERT_TRUE(::tessera::expectations::HasGradients(__VA_ARGS__))

}  // namespace tessera
