// Functions of the user on scalars, applied to each element of arrays.
#pragma once
#include <optional>

#include "api/core/operands.h"
#include "api/core/regions.h"
#include "base/reductions.h"
#include "tessera/combiners.h"
#include "trace/function.h"

namespace tessera::api {

// A function of two trees of scalars, traced once.
class ElementFunction {
 public:
  enum Returns { kLikeOperands, kOneBool };
  // Traces f for scalars with the dtypes of `like`, which are named `names`. C18: throws TraceError
  // for other results.
  ElementFunction(Call call, const Arrays& like, const std::vector<std::string>& names,
                  const detail::OnTwoTrees& f, Returns returns);
  // Returns the results of f for each element of a and b. All arrays have one shape and sharding.
  Arrays operator()(const Arrays& a, const Arrays& b) const;

  // If f is this op on operand k of both sides, in this order, returns k. If `either`, the sides
  // may be exchanged.
  std::optional<size_t> OperandOf(const ir::OpDef& op, bool either) const;
  // Returns the reduction that f computes on its only operand.
  std::optional<Reduction> KnownReduction() const;
  // Whether f returns its second operand.
  bool IsSecond() const;

 private:
  void CheckResults(const Arrays& like, const std::vector<std::string>& names,
                    Returns returns) const;

  const Call call_;
  trace::TracedFunction traced_;
};

// Runs f on the arrays as one program: outside of a trace it is compiled as a whole.
Arrays RunAsProgram(Call call, const Arrays& xs, const std::function<Arrays(const Arrays&)>& f);

// The operands of a call with a combiner.
struct CombinerOperands {
  Arrays xs, inits;
  std::vector<std::string> names;  // of xs
};
// Returns the arrays of the trees, in strong dtypes, and without unreduced axes. C11, C12, C13:
// throws ShapeError for arrays of several shapes and for inits that are not scalars, DTypeError for
// other dtypes, and ShardingError for arrays that are sharded differently.
CombinerOperands OperandsOf(detail::TreeRef xs, detail::TreeRef inits, Call call);
// Returns the arrays of one tree, as OperandsOf does.
CombinerOperands OperandsOf(detail::TreeRef xs, Call call);

// Calls f(xs, inits) as RunAsProgram does, with the arrays of the operands.
Arrays RunWithInits(Call call, const CombinerOperands& operands,
                    const std::function<Arrays(const Arrays& xs, const Arrays& inits)>& f);

// Returns combine(a, b) for the elements where `both` is true. Other elements are unspecified, and
// have no derivatives through `combine`, which may be infinite or NaN there.
Arrays CombinedWhere(const Array& both, const ElementFunction& combine, const Arrays& a,
                     const Arrays& b, Call call);

// Returns the inits, broadcast like xs.
Arrays InitsLike(const Arrays& inits, const Arrays& xs, Call call);

// Returns the part of each array along a dim.
Arrays Pieces(const Arrays& xs, size_t dim, int64_t begin, int64_t end, int64_t step, Call call);

}  // namespace tessera::api
