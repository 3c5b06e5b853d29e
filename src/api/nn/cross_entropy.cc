// Cross entropy. The classes may be sharded: a label is compared with each device's class numbers,
// so that no device needs the logits of others.
#include <fmt/format.h>

#include "api/array/reductions.h"
#include "api/core/located.h"
#include "api/core/option_fields.h"
#include "api/core/positions.h"
#include "base/at.h"
#include "tessera/checkpoint.h"
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

// The loss is a sum of numbers per row, each one pass over the logits:
//   sum(p * (max - x)) + sum(p) * log(sum(exp(x - max)))
// Neither term is negative, so they do not cancel.
struct Scores {
  Located x, top;  // the logits, and their maxima with dim 1, which are constants for derivatives
  int64_t dim;
  Call call;

  // Returns the sum over the classes of f(x, b) [...]. The derivative computes f again: its values
  // have the size of the logits, and would otherwise be kept.
  template <class F>
  Located SumOf(const F& f, const Array& b) const {
    const auto sum = [=, dim = dim, call = call](Array logits, Array other) {
      return SumOver(f(Located(logits, call.loc), Located(other, call.loc)), dim, call);
    };
    return x.With(checkpoint(sum)(x.plain(), b, call.loc));
  }
};

Scores ScoresOf(const Array& logits, int64_t dim, Call call) {
  const Array top = Reduce(logits, {ops::kReduceMax, {dim}, true}, call);
  return {{logits, call.loc}, Constant({top, call.loc}), dim, call};
}

// Minus the logarithm of the probability of each row's label, and whether the row counts.
struct RowLosses {
  Located losses;
  std::optional<Located> counts = {};  // default: every row does
};

RowLosses OfClasses(const Scores& s, const Located& log_total, const Array& labels) {
  base::Shape rows = s.x.shape();
  rows.erase(rows.begin() + s.dim);
  CheckLabels(labels, rows, s.call);
  base::Shape column = s.x.shape();
  base::At(column, s.dim) = 1;
  const DType index = TypeOf(labels)->dtype();
  const Located label = s.x.With(Convert(labels, index.size() < 4 ? i32 : index, s.call));
  const auto own = [&](const Located& x, const Located& wanted) {
    const Located number = x.With(Positions(x, s.dim, wanted.dtype(), s.call));
    return If(number == wanted, x, 0.0);
  };
  const Located score = s.SumOf(own, Reshape(label, column, s.call));
  const Located loss = s.x.With(Reshape(s.top, rows, s.call)) - score + log_total;
  return {loss, (label >= 0) & (label < base::At(s.x.shape(), s.dim))};
}

// A class of probability 0 adds nothing, even if its logit is -infinity.
RowLosses OfProbabilities(const Scores& s, const Located& log_total, const Array& p) {
  CheckLabels(p, s.x.shape(), s.call);
  const Located weight = s.x.With(Convert(p, s.x.dtype(), s.call));
  const auto below = [&](const Located& x, const Located& w) {
    return If(w == 0, 0.0, w * (s.top - x));
  };
  return {s.SumOf(below, weight) + s.x.With(SumOver(weight, s.dim, s.call)) * log_total};
}

Array CrossEntropy(const Array& logits, const Array& labels, const CrossEntropyOptions& options,
                   Call call) {
  const int64_t dim = NormalDim(options.dim, Rank(logits), call);
  const DType t = TypeOf(labels)->dtype();
  if (t.is_bool() || t.is_complex())
    FailDType(call, 14, fmt::format("labels are ints or probabilities, not {}", t.name()));
  const Scores s = ScoresOf(ToWide(logits, call), dim, call);
  const auto share = [](const Located& x, const Located& top) { return Exp(x - top); };
  const Located log_total = Log(s.SumOf(share, s.top));
  const RowLosses own =
      t.is_inexact() ? OfProbabilities(s, log_total, labels) : OfClasses(s, log_total, labels);
  Located losses = own.losses;
  if (options.smoothing != 0) {
    const auto classes = static_cast<double>(base::At(ShapeOf(logits), dim));
    const Located spread = s.x.With(SumOver(s.top - s.x, dim, call)) / classes + log_total;
    losses = losses * (1 - options.smoothing) + spread * options.smoothing;
  }
  return own.counts ? If(*own.counts, losses, 0.0) : losses;
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
