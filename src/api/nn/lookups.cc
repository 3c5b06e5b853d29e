// Dropout, embeddings and rotary position embeddings.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "api/core/located.h"
#include "api/core/option_fields.h"
#include "api/core/positions.h"
#include "base/at.h"
#include "sharding/tensor_sharding.h"
#include "tessera/nn.h"
#include "tessera/random.h"

namespace tessera {

using namespace api;

static std::string Code(const DropoutOptions& v) {
  return OptionFields().Add("broadcast_dims", v.broadcast_dims, std::vector<int64_t>{}).code();
}
static std::string Code(const RotaryOptions& v) {
  return OptionFields()
      .Add("base", v.base, RotaryOptions().base)
      .Add("interleaved", v.interleaved, false)
      .code();
}

Array dropout(Operand key, Operand x, double rate, DropoutOptions options, Loc loc) {
  const Call call{"dropout", loc};
  if (!(rate >= 0 && rate <= 1))
    FailShape(call, 17, fmt::format("the rate {} is not a probability", rate));
  return AsOne(call, {{"key", key}, {"operand", x}, rate, options},
               [&](const Operand& bits, const Operand& operand) -> Array {
                 const Array a = ToFloat(operand, call);
                 if (rate == 0) return Same(a);
                 base::Shape shape = ShapeOf(a);
                 sharding::TensorSharding layout = TypeOf(a)->sharding();
                 for (int64_t d : NormalDims(options.broadcast_dims, Rank(a), call)) {
                   base::At(shape, d) = 1;
                   if (layout.mesh) base::At(layout.dims, d).axes.clear();
                 }
                 layout.unreduced.clear();
                 layout.reduced.clear();
                 OutOptions out;
                 if (layout.mesh) out.out_sharding = sharding::ToSpec(layout);
                 const Array keep = random::bernoulli(bits, 1 - rate, shape, out, loc);
                 if (rate == 1) return zeros_like(a, {}, loc);
                 return If(Located(keep, loc), Located(a, loc) / (1 - rate), 0.0);
               });
}

Array embedding(Operand table, Operand ids, OutOptions options, Loc loc) {
  const Call call{"embedding", loc};
  return AsOne(call, {{"table", table}, {"ids", ids}, options},
               [&](const Operand& rows, const Operand& at) {
                 const Array a = ToArray(rows, call);
                 if (Rank(a) != 2)
                   FailShape(call, 17, fmt::format("a table has rank 2, not {}", Rank(a)));
                 return take(a, at, 0, {.out_sharding = options.out_sharding}, loc);
               });
}

namespace {

// Returns the cosines and sines of the angles of each position and pair: [..., n, 1, pairs].
std::pair<Located, Located> Angles(const Array& positions, int64_t pairs, double base, DType t,
                                   Call call) {
  const Loc loc = call.loc;
  base::Shape shape = ShapeOf(positions);
  shape.insert(shape.end(), {1, 1});
  const Located at(Reshape(Convert(positions, t, call), shape, call), loc);
  const Located pair(Positions(pairs, static_cast<int64_t>(shape.size()) - 1,
                               static_cast<int64_t>(shape.size()), t, call),
                     loc);
  const Located angle = at * Exp(pair * (-std::log(base) / static_cast<double>(pairs)));
  return {Cos(angle), Sin(angle)};
}

Array Rotated(const Array& x, const Array& positions, const RotaryOptions& options, Call call) {
  const Loc loc = call.loc;
  const DType t = TypeOf(x)->dtype();
  if (Rank(x) < 3 || Rank(positions) < 1 || Rank(positions) > Rank(x) - 2)
    FailShape(call, 17,
              fmt::format("x has dims [..., n, heads, features] and positions [..., n], not {} and "
                          "{}",
                          ir::FieldText(ShapeOf(x)), ir::FieldText(ShapeOf(positions))));
  const int64_t features = ShapeOf(x).back(), pairs = features / 2;
  if (features % 2 != 0) FailShape(call, 18, fmt::format("{} features are not pairs", features));
  const Located wide(ToWide(x, call), loc);
  const auto [cosine, sine] = Angles(positions, pairs, options.base, wide.dtype(), call);
  if (!options.interleaved) {
    const std::vector<Array> halves = split(wide, 2, -1, loc);
    const Located a(halves[0], loc), b(halves[1], loc);
    return Convert(concatenate({a * cosine - b * sine, b * cosine + a * sine}, -1, loc), t, call);
  }
  base::Shape paired = ShapeOf(x);
  paired.back() = pairs;
  paired.push_back(2);
  const std::vector<Array> parts = unstack(Reshape(wide, paired, call), -1, loc);
  const Located a(parts[0], loc), b(parts[1], loc);
  const Array turned = stack({a * cosine - b * sine, b * cosine + a * sine}, -1, loc);
  return Convert(Reshape(turned, ShapeOf(x), call), t, call);
}

}  // namespace

Array rotary_embedding(Operand x, Operand positions, RotaryOptions options, Loc loc) {
  const Call call{"rotary_embedding", loc};
  return AsOne(call, {{"operand", x}, {"positions", positions}, options},
               [&](const Operand& operand, const Operand& at) {
                 return Rotated(ToFloat(operand, call), ToArray(at, call), options, call);
               });
}

}  // namespace tessera
