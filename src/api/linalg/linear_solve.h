// Linear equations whose solutions have implicit derivatives.
#pragma once
#include "api/core/regions.h"

namespace tessera::api {

// The equation matvec(x) = b, where x and b are arrays of the same types, and functions that solve
// it. `solve` may return other arrays after x.
struct LinearEquation {
  detail::Body matvec;
  detail::Body solve;
  // The transposes, as functions of cotangents; null: there is no derivative in reverse.
  detail::Body transpose_matvec = {}, transpose_solve = {};
};
// Returns the results of `solve`. In a trace it is an instruction, whose derivative solves the same
// equation for other right sides.
detail::FunctionResult SolveEquation(const LinearEquation& equation, const Arrays& b, Call call);

}  // namespace tessera::api
