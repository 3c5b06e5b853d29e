// The outcome of a case.
#pragma once
#include <string>

namespace tessera::conformance {

enum class Kind { kSame, kAcceptsMore, kRefuses, kDifferent, kWrongPlace, kUnsupported };

struct Outcome {
  Kind kind = Kind::kSame;
  bool passed = true;
  std::string expected = {}, came = {};  // empty for kSame
  std::string family = {};               // the reason for a kAcceptsMore: "gap", or a family's name
  bool loose = false;                    // numbers differ in a case where they may
  int resharded = 0;                     // instructions whose operands had to be replicated first
};

inline Outcome Failed(Kind kind, std::string expected, std::string came) {
  return {.kind = kind, .passed = false, .expected = std::move(expected), .came = std::move(came)};
}

inline Outcome Skipped(std::string why) {
  return {.kind = Kind::kUnsupported, .passed = false, .expected = "", .came = std::move(why)};
}

}  // namespace tessera::conformance
