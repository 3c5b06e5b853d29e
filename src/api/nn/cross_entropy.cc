// Cross entropy. The classes may be sharded: a label is compared with each device's class numbers,
// so that no device needs the logits of others.
#include <fmt/format.h>

#include "api/array/reductions.h"
#include "api/core/located.h"
#include "api/core/option_fields.h"
#include "api/core/positions.h"
#include "base/at.h"
#include "tessera/nn.h"

namespace tessera {

using namespace api;

static std::string Code(const CrossEntropyOptions& v) {
  return OptionFields().Add("dim", v.dim, -1).Add("smoothing", v.smoothing, 0.0).code();
}

namespace {

Array SumOver(const Located& x, int64_t dim, Call call) {
  return Reduce(x, {ops::kReduceSum, {dim}}, call);
}

// C18: throws ShapeError unless the labels have this shape.
void CheckLabels(const Array& labels, const base::Shape& shape, Call call) {
  if (ShapeOf(labels) != shape)
    FailShape(call, 18,
              fmt::format("the labels have shape {}, not {}", ir::FieldText(ShapeOf(labels)),
                          ir::FieldText(shape)));
}

// Returns minus the logarithm of the probability of each label's class.
Located OfClasses(const Located& log_p, const Array& labels, int64_t dim, Call call) {
  base::Shape rows = log_p.shape();
  rows.erase(rows.begin() + dim);
  CheckLabels(labels, rows, call);
  base::Shape column = log_p.shape();
  base::At(column, dim) = 1;
  const DType index = TypeOf(labels)->dtype();
  const Located number(Positions(log_p, dim, index.size() < 4 ? i32 : index, call), call.loc);
  const Located label = number.With(Convert(Reshape(labels, column, call), number.dtype(), call));
  return -log_p.With(SumOver(If(number == label, log_p, 0.0), dim, call));
}

// A class of probability 0 adds nothing, even if its logit is -infinity.
Located OfProbabilities(const Located& log_p, const Array& p, int64_t dim, Call call) {
  CheckLabels(p, log_p.shape(), call);
  const Located weight(Convert(p, log_p.dtype(), call), call.loc);
  return -log_p.With(SumOver(If(weight == 0, 0.0, weight * log_p), dim, call));
}

Array CrossEntropy(const Array& logits, const Array& labels, const CrossEntropyOptions& options,
                   Call call) {
  const int64_t dim = NormalDim(options.dim, Rank(logits), call);
  const Array wide = TypeOf(logits)->dtype().size() < 4 ? Convert(logits, f32, call) : logits;
  const Located log_p(log_softmax(wide, static_cast<int>(dim), call.loc), call.loc);
  const DType t = TypeOf(labels)->dtype();
  if (t.is_bool() || t.is_complex())
    FailDType(call, 14, fmt::format("labels are ints or probabilities, not {}", t.name()));
  const Located own = t.is_inexact() ? OfProbabilities(log_p, labels, dim, call)
                                     : OfClasses(log_p, labels, dim, call);
  if (options.smoothing == 0) return own;
  const auto classes = static_cast<double>(base::At(ShapeOf(logits), dim));
  const Located spread = -log_p.With(SumOver(log_p, dim, call)) / classes;
  return own * (1 - options.smoothing) + spread * options.smoothing;
}

}  // namespace

Array cross_entropy(Operand logits, Operand labels, CrossEntropyOptions options, Loc loc) {
  const Call call{"cross_entropy", loc};
  if (!(options.smoothing >= 0 && options.smoothing <= 1))
    FailShape(call, 17, fmt::format("the smoothing {} is not a share", options.smoothing));
  return AsOne(call, {{"logits", logits}, {"labels", labels}, options},
               [&](const Operand& scores, const Operand& wanted) {
                 const Array a = ToFloat(scores, call);
                 CheckReal(a, call);
                 return CrossEntropy(a, ToArray(wanted, call), options, call);
               });
}

}  // namespace tessera
