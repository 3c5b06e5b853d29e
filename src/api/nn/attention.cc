// Attention of heads, and its masks.
#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <numeric>

#include "api/core/located.h"
#include "api/core/option_fields.h"
#include "api/core/positions.h"
#include "base/at.h"
#include "tessera/nn.h"

namespace tessera {

using namespace api;

static std::string Code(const AttentionOptions& v) {
  OptionFields fields;
  fields.AddNamed("bias", v.bias)
      .AddNamed("mask", v.mask)
      .Add("scale", v.scale)
      .Add("is_causal", v.is_causal, false)
      .AddNamed("query_lengths", v.query_lengths)
      .AddNamed("key_value_lengths", v.key_value_lengths);
  if (v.local_window)
    fields.Add("local_window",
               std::optional(std::vector<int64_t>{v.local_window->first, v.local_window->second}));
  return fields.code();
}

Array make_causal_mask(Operand x, Loc loc) {
  const Call call{"make_causal_mask", loc};
  return AsOne(call, {x}, [&](const Operand& operand) -> Array {
    const Array a = ToArray(operand, call);
    if (Rank(a) < 1) FailShape(call, 17, "a sequence has rank 1 or more, not 0");
    const int64_t n = ShapeOf(a).back();
    const Located row(Positions(n, 0, 2, i32, call), loc),
        column(Positions(n, 1, 2, i32, call), loc);
    base::Shape shape = ShapeOf(a);
    shape.back() = 1;
    shape.insert(shape.end(), {n, n});
    return BroadcastTo(row >= column, shape, call);
  });
}

namespace {

struct Heads {
  int64_t batch, queries, keys, heads, key_heads;
  int64_t group() const { return heads / key_heads; }
};

const sharding::AxisList& HeadAxes(const Array& x) { return TypeOf(x)->sharding().dims[2].axes; }

// The axes of heads, as those of [key heads, group].
struct SplitAxes {
  sharding::AxisList keys, group;
};
// Returns the axes of both dims if every device then has the heads that it had: the axes shard the
// key heads completely before they shard the groups, and an axis may be cut in two.
std::optional<SplitAxes> SplitHeads(const sharding::AxisList& axes, const Heads& h) {
  SplitAxes split;
  int64_t keys = h.key_heads, group = h.group();
  for (const sharding::AxisPart& part : axes) {
    const int64_t of_keys = std::gcd(part.size, keys), of_group = part.size / of_keys;
    keys /= of_keys;
    if (of_group > 1 && (keys > 1 || group % of_group != 0)) return std::nullopt;
    group /= of_group;
    if (of_keys > 1) split.keys.push_back({part.axis, part.pre, of_keys});
    if (of_group > 1) split.group.push_back({part.axis, part.pre * of_keys, of_group});
  }
  return split;
}

// One attention: its arrays with a batch, and the options.
class Attention {
 public:
  Attention(const Operands& xs, const AttentionOptions& options, Call call)
      : call_(call),
        loc_(call.loc),
        options_(options),
        q_(WithBatch(xs[0])),
        k_(WithBatch(xs[1])),
        v_(WithBatch(xs[2])),
        is_batched_(Rank(ToArray(xs[0], call)) == 4),
        h_(Check()) {
    if (!is_grouped() || HeadAxes(q_).empty()) return;
    split_ = SplitHeads(HeadAxes(q_), h_);
    if (split_) return;
    // Each device would need heads of several groups: it repeats the keys of its own heads instead.
    k_ = Repeated(k_);
    v_ = Repeated(v_);
    h_.key_heads = h_.heads;
  }

  Array Result() const {
    Located scores = Scores();
    if (options_.bias.is_given())
      scores = scores.With(Convert(scores + Grouped("bias", options_.bias), scores.dtype(), call_));
    std::optional<Located> seen = Seen();
    if (seen) {
      constexpr double kLow = -0.7 * std::numeric_limits<float>::max();
      scores = If(*seen, scores, kLow);
    }
    Array made = Mixed(Convert(softmax(scores, -1, loc_), TypeOf(k_)->dtype(), call_));
    if (options_.query_lengths.is_given()) {
      const Located position(Positions(h_.queries, 1, 4, i32, call_), loc_);
      made = If(position < Lengths("query_lengths", options_.query_lengths, 4), Located(made, loc_),
                0);
    }
    return is_batched_ ? made : squeeze(made, 0, loc_);
  }

 private:
  Array WithBatch(const Operand& x) const {
    const Array a = ToArray(x, call_);
    if (Rank(a) != 3 && Rank(a) != 4)
      FailShape(call_, 17,
                fmt::format("attention takes arrays [batch, n, heads, features], not of rank {}",
                            Rank(a)));
    return Rank(a) == 4 ? a : expand_dims(a, 0, loc_);
  }
  Heads Check() const {
    const base::Shape &q = ShapeOf(q_), &k = ShapeOf(k_), &v = ShapeOf(v_);
    const DType t = TypeOf(q_)->dtype();
    if (TypeOf(k_)->dtype() != t || TypeOf(v_)->dtype() != t || !t.is_floating())
      FailDType(call_, 14,
                fmt::format("query, key and value have one floating dtype, not {}, {} and {}",
                            t.name(), TypeOf(k_)->dtype().name(), TypeOf(v_)->dtype().name()));
    if (k != v || q[0] != k[0] || q[3] != k[3])
      FailShape(call_, 18,
                fmt::format("the query has shape {}, the key {} and the value {}", ir::FieldText(q),
                            ir::FieldText(k), ir::FieldText(v)));
    if (k[2] == 0 || q[2] % k[2] != 0)
      FailShape(call_, 19, fmt::format("{} key heads do not divide {} heads", k[2], q[2]));
    return {q[0], q[1], k[1], q[2], k[2]};
  }

  bool is_grouped() const { return h_.group() > 1; }
  // Returns x with its heads, dim `dim`, as [key heads, group].
  Array SplitAt(const Array& x, int64_t dim) const {
    base::Shape shape = ShapeOf(x);
    base::At(shape, dim) = h_.key_heads;
    shape.insert(shape.begin() + dim + 1, h_.group());
    sharding::TensorSharding s = TypeOf(x)->sharding();
    if (!split_ || base::At(s.dims, dim).axes != HeadAxes(q_)) return Reshape(x, shape, call_);
    base::At(s.dims, dim).axes = split_->keys;
    s.dims.insert(s.dims.begin() + dim + 1, {.axes = split_->group});
    return reshape(Operand(x, loc_), Shape(shape), {sharding::ToSpec(s)}, loc_);
  }
  // Returns keys or values with each head repeated for its group, sharded like the query's heads.
  Array Repeated(const Array& x) const {
    sharding::TensorSharding s = TypeOf(x)->sharding();
    if (!s.mesh) s = sharding::Replicated(TypeOf(q_)->mesh(), 4);
    s.dims[2].axes = HeadAxes(q_);
    return repeat(Operand(x, loc_), h_.group(), 2, {sharding::ToSpec(s)}, loc_);
  }
  // Returns the scores: [batch, heads, t, s], or [batch, key heads, group, t, s].
  Located Scores() const {
    const DType t = TypeOf(q_)->dtype();
    const DotOptions options{.dtype = WideDType(t)};
    const double scale =
        options_.scale.value_or(1 / std::sqrt(static_cast<double>(ShapeOf(q_)[3])));
    const Array products = is_grouped()
                               ? einsum("btkgh,bskh->bkgts", {SplitAt(q_, 2), k_}, options, loc_)
                               : einsum("btnh,bsnh->bnts", {q_, k_}, options, loc_);
    return Located(products, loc_) * scale;
  }
  // Returns the weighted values: [batch, t, heads, features].
  Array Mixed(const Array& weights) const {
    if (!is_grouped()) return einsum("bnts,bsnh->btnh", {weights, v_}, {}, loc_);
    return Reshape(einsum("bkgts,bskh->btkgh", {weights, v_}, {}, loc_), ShapeOf(q_), call_);
  }

  // Returns a bias or mask that broadcasts to [batch, heads, t, s], for the dims of the scores.
  Located Grouped(const char* name, const Array& x) const {
    base::Shape shape = ShapeOf(x);
    if (shape.size() < 4) shape.insert(shape.begin(), 4 - shape.size(), 1);
    const base::Shape whole = {h_.batch, h_.heads, h_.queries, h_.keys};
    if (shape.size() > 4 || !CanBroadcastTo(shape, whole))
      FailShape(call_, 16,
                fmt::format("the {} has shape {}, which does not broadcast to {}", name,
                            ir::FieldText(ShapeOf(x)), ir::FieldText(whole)));
    const Array wide = Reshape(x, shape, call_);
    if (!is_grouped()) return {wide, loc_};
    if (shape[1] != 1) return {SplitAt(wide, 1), loc_};
    shape.insert(shape.begin() + 2, 1);
    return {Reshape(wide, shape, call_), loc_};
  }
  // Returns lengths [batch] as [batch, 1, ...].
  Located Lengths(const char* name, const Array& x, int64_t rank) const {
    if (ShapeOf(x) != base::Shape{h_.batch} || TypeOf(x)->dtype().is_inexact())
      FailShape(call_, 18,
                fmt::format("the {} are {}, not one int for each of {} sequences", name,
                            TypeOf(x)->text(), h_.batch));
    base::Shape shape(base::Size(rank), 1);
    shape[0] = h_.batch;
    return {Reshape(x, shape, call_), loc_};
  }

  // Returns the mask of the scores, or nullopt if all are seen.
  std::optional<Located> Seen() const {
    std::optional<Located> seen;
    const auto add = [&](const Located& more) { seen = seen ? *seen & more : more; };
    const int64_t rank = is_grouped() ? 5 : 4;
    // Their mask is [t, s]: the pass skip_masked skips no blocks for a mask [1, 1, t, s].
    const Located row(Positions(h_.queries, 0, 2, i32, call_), loc_);
    const Located column(Positions(h_.keys, 0, 1, i32, call_), loc_);
    if (const Array& mask = options_.mask; mask.is_given()) {
      if (!TypeOf(mask)->dtype().is_bool())
        FailDType(call_, 14, fmt::format("a mask is bool, not {}", TypeOf(mask)->dtype().name()));
      add(Grouped("mask", mask));
    }
    if (options_.is_causal) add(row >= column);
    if (options_.local_window) {
      add(row <= column + options_.local_window->first);
      add(row >= column - options_.local_window->second);
    }
    if (options_.query_lengths.is_given())
      add(row < Lengths("query_lengths", options_.query_lengths, rank));
    if (options_.key_value_lengths.is_given())
      add(column < Lengths("key_value_lengths", options_.key_value_lengths, rank));
    return seen;
  }

  const Call call_;
  const Loc loc_;
  const AttentionOptions& options_;
  const Array q_;
  Array k_, v_;
  const bool is_batched_;
  Heads h_;
  std::optional<SplitAxes> split_;  // of the query's heads, if they are grouped and sharded
};

// Returns the spec of x with its heads over these axes.
PartitionSpec WithHeads(const Array& x, const sharding::AxisList& axes) {
  sharding::TensorSharding s = TypeOf(x)->sharding();
  base::At(s.dims, Rank(x) - 2).axes = axes;
  return sharding::ToSpec(s);
}

// Returns the calls that give the heads of one side the axes of the other side.
std::vector<OtherCall> WithHeadsAlike(const Operands& given, const AttentionOptions& options,
                                      Call call) {
  const Array q = ToArray(given[0], call), k = ToArray(given[1], call);
  if (Rank(q) < 3 || Rank(k) != Rank(q) || !TypeOf(q)->mesh()) return {};
  const auto axes_of = [](const Array& x) {
    return base::At(TypeOf(x)->sharding().dims, Rank(x) - 2).axes;
  };
  const std::string rest = Code(options), end = rest.empty() ? ")" : ", " + rest + ")";
  const PartitionSpec of_q = WithHeads(q, axes_of(k)), of_k = WithHeads(k, axes_of(q));
  const auto run = [&options, call](Operands xs, size_t first, size_t last,
                                    const PartitionSpec& spec) {
    for (size_t i = first; i < last; ++i) xs[i] = Operand(reshard(xs[i], spec, call.loc), call.loc);
    return std::vector<Array>{Attention(xs, options, call).Result()};
  };
  std::vector<OtherCall> calls = {
      {fmt::format("dot_product_attention(query, reshard(key, {0}), reshard(value, {0}){1}",
                   of_k.text(), end),
       [=](const Operands& xs) { return run(xs, 1, 3, of_k); }}};
  // Without groups the ops inside offer the reshard of the queries.
  if (base::At(ShapeOf(q), Rank(q) - 2) != base::At(ShapeOf(k), Rank(k) - 2))
    calls.push_back(
        {fmt::format("dot_product_attention(reshard(query, {}), key, value{}", of_q.text(), end),
         [=](const Operands& xs) { return run(xs, 0, 1, of_q); }});
  return calls;
}

}  // namespace

Array dot_product_attention(Operand query, Operand key, Operand value, AttentionOptions options,
                            Loc loc) {
  const Call call{"dot_product_attention", loc};
  return AsOneWith(call, {{"query", query}, {"key", key}, {"value", value}, options},
                   {{"bias", &options.bias},
                    {"mask", &options.mask},
                    {"query_lengths", &options.query_lengths},
                    {"key_value_lengths", &options.key_value_lengths}},
                   [&](const Operands& xs) { return Attention(xs, options, call).Result(); },
                   {.others = [&] {
                     return WithHeadsAlike({query, key, value}, options, call);
                   }});
}

}  // namespace tessera
