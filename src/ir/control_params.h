// Parameters of the ops with regions. The operands, and the inputs of every region, begin with the
// constants: outside values that a region uses.
#pragma once
#include "ir/params.h"

namespace tessera::ir {

// operands: constants, carry
// condition(constants, carry) -> bool[]
// body(constants, carry) -> carry
struct WhileParams {
  int64_t constants = 0;
  bool counted = false;  // the user wrote a fori_loop, and messages say so
  friend bool operator==(const WhileParams&, const WhileParams&) = default;
  template <class S, class F>
  static void Fields(S& s, F f) {
    f("constants", s.constants);
    f("counted", s.counted);
  }
};

// operands: constants, carry, xs
// body(constants, carry, one slice of each of xs) -> carry, one slice of each of ys
struct ScanParams {
  int64_t constants = 0, carries = 0, length = 0;
  bool reverse = false;  // starts with the last slice
  friend bool operator==(const ScanParams&, const ScanParams&) = default;
  template <class S, class F>
  static void Fields(S& s, F f) {
    f("constants", s.constants);
    f("carries", s.carries);
    f("length", s.length);
    f("reverse", s.reverse);
  }
};

}  // namespace tessera::ir
