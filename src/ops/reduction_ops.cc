// The table of the ops of each reduction.
#include "ops/reduction_ops.h"

namespace tessera::ops {

const ReductionOps& OpsOf(Reduction reduction) {
  static constexpr ReductionOps kSum{&kReduceSum, &kReduceWindowSum};
  static constexpr ReductionOps kProd{&kReduceProd, &kReduceWindowProd};
  static constexpr ReductionOps kMax{&kReduceMax, &kReduceWindowMax};
  static constexpr ReductionOps kMin{&kReduceMin, &kReduceWindowMin};
  static constexpr ReductionOps kAnd{&kReduceAnd, &kReduceWindowAnd};
  static constexpr ReductionOps kOr{&kReduceOr, &kReduceWindowOr};
  static constexpr ReductionOps kXor{&kReduceXor, &kReduceWindowXor};
  switch (reduction) {
    case Reduction::kProd:
      return kProd;
    case Reduction::kMax:
      return kMax;
    case Reduction::kMin:
      return kMin;
    case Reduction::kAnd:
      return kAnd;
    case Reduction::kOr:
      return kOr;
    case Reduction::kXor:
      return kXor;
    case Reduction::kSum:
      break;
  }
  return kSum;
}

}  // namespace tessera::ops
