// sort with a comparator: by a key, or by a network of comparisons.
#include <fmt/format.h>

#include "api/combiners/element_function.h"
#include "api/core/manual_axes.h"
#include "base/at.h"
#include "base/dtype.h"
#include "ops/params.h"
#include "sharding/edit_code.h"
#include "tessera/control.h"
#include "trace/apply.h"

namespace tessera {

using namespace api;

namespace {

// Sorts indices along dim 0 by comparisons. Each pass compares every element with one other.
// Source: Batcher, "Sorting networks and their applications", 1968 (bitonic sort).
class NetworkSorter {
 public:
  NetworkSorter(Call call, const ElementFunction& is_before) : call_(call), is_before_(is_before) {}

  // Returns the order of keys [n, ...]: i32 [n, ...]. The network sorts 2^k elements, and those
  // that are added come last.
  Array OrderOf(const Arrays& keys) const {
    const int64_t n = ShapeOf(keys[0])[0];
    int64_t padded = 1;
    while (padded < n) padded *= 2;
    Arrays elements;
    for (const Array& key : keys) elements.push_back(PaddedTo(padded, key));
    elements.push_back(IndexLike(elements[0]));
    const auto [spans, distances] = Passes(padded);
    const Array i = arange(padded, {.dtype = i32}, call_.loc);
    const Array sorted = fori_loop(
                             0, spans.shape(0),
                             [&](Array pass, Arrays own) {
                               return Compared(own, i, take(spans, pass, 0, {}, call_.loc),
                                               take(distances, pass, 0, {}, call_.loc), n);
                             },
                             elements, {}, call_.loc)
                             .back();
    return Pieces({sorted}, 0, 0, n, 1, call_)[0];
  }

 private:
  // Returns the pairs (span, distance): element i is compared with i ^ distance, and runs of `span`
  // elements become sorted, upwards if i & span is 0.
  std::pair<Array, Array> Passes(int64_t n) const {
    std::vector<int32_t> spans, distances;
    for (int64_t span = 2; span <= n; span *= 2)
      for (int64_t distance = span / 2; distance > 0; distance /= 2) {
        spans.push_back(static_cast<int32_t>(span));
        distances.push_back(static_cast<int32_t>(distance));
      }
    return {array(spans, {}, call_.loc), array(distances, {}, call_.loc)};
  }
  // Elements are keys, followed by indices.
  Arrays Compared(const Arrays& own, const Array& i, const Array& span, const Array& distance,
                  int64_t n) const {
    const Loc loc = call_.loc;
    Arrays other;
    const Array partner = bitwise_xor(i, distance, {}, loc);
    for (const Array& x : own) other.push_back(take(x, partner, 0, {}, loc));
    const auto unset = [&](const Array& bits) {
      return eq(bitwise_and(i, bits, {}, loc), 0, {}, loc);
    };
    base::Shape along(ShapeOf(own[0]).size(), 1);
    along[0] = ShapeOf(own[0])[0];
    const Array wants_first =
        reshape(eq(unset(span), unset(distance), {}, loc), Shape(along), {}, loc);
    const Array keeps = eq(ComesFirst(own, other, n), wants_first, {}, loc);
    Arrays next;
    for (size_t k = 0; k < own.size(); ++k) next.push_back(where(keeps, own[k], other[k], {}, loc));
    return next;
  }
  // Added elements come last, and of equal elements the one with the lower index comes first. Of
  // two elements exactly one comes first, whatever the comparator says: so none is lost.
  Array ComesFirst(const Arrays& a, const Arrays& b, int64_t n) const {
    const Loc loc = call_.loc;
    const Arrays a_keys(a.begin(), a.end() - 1), b_keys(b.begin(), b.end() - 1);
    const Array a_is_added = ge(a.back(), n, {}, loc), b_is_added = ge(b.back(), n, {}, loc);
    const Array before = is_before_(a_keys, b_keys)[0], after = is_before_(b_keys, a_keys)[0];
    const Array has_lower_index = lt(a.back(), b.back(), {}, loc);
    const Array first = where(eq(before, after, {}, loc), has_lower_index, before, {}, loc);
    return where(ne(a_is_added, b_is_added, {}, loc), b_is_added, first, {}, loc);
  }
  Array PaddedTo(int64_t n, const Array& x) const {
    std::vector<Padding> padding(ShapeOf(x).size());
    padding[0].high = n - ShapeOf(x)[0];
    return pad(x, padding, StrongScalar(0, TypeOf(x)->dtype(), call_), call_.loc);
  }
  Array IndexLike(const Array& x) const {
    const sharding::TensorSharding& s = TypeOf(x)->sharding();
    CreateOptions like{.dtype = i32};
    if (s.mesh) like.out_sharding = sharding::ToSpec(s);
    return AsVarying(iota(Shape(ShapeOf(x)), 0, like, call_.loc), s.varying, call_);
  }

  const Call call_;
  const ElementFunction& is_before_;
};

// Returns xs sorted by array `key`. Descending order is the ascending order of the reversed arrays,
// reversed: so equal elements keep their order.
Arrays SortedByKey(const Arrays& xs, size_t key, int dim, bool descending,
                   const OutOptions& options, Call call) {
  Arrays by_key{xs[key]};
  for (size_t k = 0; k < xs.size(); ++k)
    if (k != key) by_key.push_back(xs[k]);
  const auto reversed = [&](Arrays all) {
    for (Array& x : all) x = rev(x, dim, call.loc);
    return all;
  };
  if (descending) by_key = reversed(by_key);
  Arrays sorted =
      tessera::sort(by_key, dim, {.num_keys = 1, .out_sharding = options.out_sharding}, call.loc);
  if (descending) sorted = reversed(sorted);
  Arrays results(xs.size());
  results[key] = sorted[0];
  for (size_t k = 0, next = 1; k < xs.size(); ++k)
    if (k != key) results[k] = sorted[next++];
  return results;
}

// Returns xs with the dim whole. C19: throws ShardingError if it is sharded over Explicit axes and
// no out_sharding is given.
Arrays WholeAlong(const Arrays& xs, const std::string& name, int64_t dim, bool may_gather,
                  Call call) {
  Arrays whole;
  for (const Array& x : xs) {
    sharding::TensorSharding to = TypeOf(x)->sharding();
    if (to.dims.empty() || base::At(to.dims, dim).axes.empty()) {
      whole.push_back(x);
      continue;
    }
    if (!may_gather)
      FailSharding(call, 19,
                   fmt::format("dim {} of {}, {}, is sharded: say how the results are sharded", dim,
                               name, TypeOf(x)->text()),
                   {"write " + sharding::OutShardingCode(sharding::ToSpec(to))});
    base::At(to.dims, dim).axes.clear();
    whole.push_back(Moved(x, std::move(to), call));
  }
  return whole;
}

// C14, C15: a network sorts no random keys, and at most 2^30 elements, whose indices are i32.
void CheckSortable(const Arrays& xs, int64_t dim, Call call) {
  for (const Array& x : xs)
    if (TypeOf(x)->dtype().is_key())
      FailDType(call, 14, fmt::format("it does not take {}", TypeOf(x)->text()));
  constexpr int64_t kMost = int64_t{1} << 30;
  if (const int64_t n = base::At(ShapeOf(xs[0]), dim); n > kMost)
    FailShape(
        call, 15,
        fmt::format("a comparator sorts at most {} elements, but dim {} has {}", kMost, dim, n));
}

Arrays Sorted(const ElementFunction& is_before, const Arrays& xs, const std::string& name, int dim,
              const OutOptions& options, Call call) {
  const Loc loc = call.loc;
  using plan::ScalarOp;
  if (const std::optional<size_t> key = is_before.OperandOf(ops::Elementwise(ScalarOp::kLt), false))
    return SortedByKey(xs, *key, dim, false, options, call);
  if (const std::optional<size_t> key = is_before.OperandOf(ops::Elementwise(ScalarOp::kGt), false))
    return SortedByKey(xs, *key, dim, true, options, call);
  const int64_t d = NormalDim(dim, Rank(xs[0]), call);
  CheckSortable(xs, d, call);
  Arrays whole = WholeAlong(xs, name, d, options.out_sharding.has_value(), call);
  if (base::At(ShapeOf(xs[0]), d) > 1) {
    Arrays keys;
    for (const Array& x : whole) keys.push_back(moveaxis(stop_gradient(x, loc), d, 0, loc));
    const Array order = moveaxis(NetworkSorter(call, is_before).OrderOf(keys), 0, d, loc);
    for (Array& x : whole)
      x = take_along_dim(x, order, static_cast<int>(d), {.mode = LookupMode::kPromise}, loc);
  }
  if (options.out_sharding)
    for (Array& x : whole) x = reshard(x, *options.out_sharding, loc);
  return whole;
}

}  // namespace

namespace detail {

Arrays SortBy(TreeRef xs, const OnTwoTrees& is_before, int dim, const OutOptions& options,
              Loc loc) {
  const Call call{"sort", loc};
  const CombinerOperands o = OperandsOf(xs, call);
  NormalDim(dim, Rank(o.xs[0]), call);
  return RunAsProgram(call, o.xs, [&](const Arrays& inside) {
    const ElementFunction f(call, inside, o.names, is_before, ElementFunction::kOneBool);
    return Sorted(f, inside, o.names[0], dim, options, call);
  });
}

}  // namespace detail
}  // namespace tessera
