// Expectations about programs as texts, for any test framework. testing.h has them for GoogleTest.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "tessera/first_difference.h"
#include "tessera/program.h"

namespace TESSERA_PUBLIC tessera {
namespace expectations {

// Each returns "" if the expectation holds, and otherwise a text with the report.

// A collective has its name, and its axes or none: "all_gather over data,model", "all_gather". It
// must run `times` times. With `bytes`, these runs together must send that many bytes from a
// device. Throws RuntimeError if there is no such collective.
std::string Sends(const CommReport& report, std::string_view collective, int64_t times,
                  int64_t bytes = -1, Loc loc = Loc::Current());
std::string SendsNothing(const CommReport& report);
std::string PeakIsAtMost(const Lowered& lowered, int64_t bytes);
// For first_difference of the first place and each other.
std::string IsSame(const FirstDifference& difference, size_t place);

}  // namespace expectations
}  // namespace tessera
