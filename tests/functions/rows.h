// The sample table of functions over ops. A row is one call. values.py evaluates its `jax` on its
// operands and writes values.jsonl, which has the operands, the results and the gradients.
#pragma once
#include <tessera/tessera.h>

#include <string_view>
#include <vector>

namespace tessera::functions {

using A = const std::vector<Array>&;
using R = std::vector<Array>;

struct Row {
  // The function, and after a dot the case.
  std::string_view name;
  // The same call in Python, of operands a, b, c, ... If JAX has no such function, a formula.
  std::string_view jax;
  // Types, separated by blanks: "f32[3,4] i32[2]:0:5". Data are random numbers of [-2, 2), or of
  // the range, or distinct ("f32[4]p"), of all exponents ("f32[64]~"), or given ("f32[2]=nan,1").
  std::string_view operands;
  R (*call)(A);
  double tolerance = 0;  // relative and absolute; default: the dtype's
};

// The parts of the table, each in the file of its name.
using Rows = std::vector<Row>;
const Rows& ArithmeticRows();
const Rows& DistributionRows();
const Rows& LaxNameRows();
const Rows& LinalgRows();
const Rows& MaskedRows();
const Rows& NnRows();
const Rows& NumpyNameRows();
const Rows& PieceRows();
const Rows& PolynomialRows();
const Rows& SetRows();
const Rows& SignalRows();
const Rows& SpecialRows();
const Rows& StatisticRows();
std::vector<const Row*> AllRows();  // functions_test.cc

}  // namespace tessera::functions
