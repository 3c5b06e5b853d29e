// Calls of NumPy's functions of arrays: reductions, pieces, sets, statistics.
#include "functions/calls/calls.h"

namespace tessera::functions {

namespace {

using C = const RandomCall&;
using R = std::vector<Array>;

ReduceOptions Reducing(C c) {
  return {.keepdims = c.flag("keepdims"), .where = c.at("where"), .initial = c.at("initial")};
}
VarOptions Varying(C c) {
  return {.keepdims = c.flag("keepdims"), .ddof = c.number("ddof", 0), .where = c.at("where")};
}
QuantileOptions Quantiles(C c) {
  const std::string method = c.text("method", "linear");
  return {.method = method == "lower"      ? QuantileMethod::kLower
                    : method == "higher"   ? QuantileMethod::kHigher
                    : method == "nearest"  ? QuantileMethod::kNearest
                    : method == "midpoint" ? QuantileMethod::kMidpoint
                                           : QuantileMethod::kLinear,
          .keepdims = c.flag("keepdims")};
}
ConvolveMode ModeOf(C c, const char* usual) {
  const std::string mode = c.text("mode", usual);
  return mode == "full"   ? ConvolveMode::kFull
         : mode == "same" ? ConvolveMode::kSame
                          : ConvolveMode::kValid;
}

#define REDUCTION(name)                                                 \
  {                                                                     \
#name, [](C c) -> R { return {name(c[0], c.dims(), Reducing(c))}; } \
  }
#define VARIANCE(key, name)                                          \
  {                                                                  \
    key, [](C c) -> R { return {name(c[0], c.dims(), Varying(c))}; } \
  }
#define RUNNING(name)                                       \
  {                                                         \
#name, [](C c) -> R { return {name(c[0], c.axis(0))}; } \
  }
#define ARG(name)                                                                             \
  {                                                                                           \
#name, [](C c) -> R { return {name(c[0], c.axis(0), {.keepdims = c.flag("keepdims")})}; } \
  }

}  // namespace

const CallTable& NumpyCalls() {
  static const CallTable table = {
      REDUCTION(sum),
      REDUCTION(prod),
      REDUCTION(max),
      REDUCTION(min),
      REDUCTION(mean),
      REDUCTION(any),
      REDUCTION(all),
      REDUCTION(nansum),
      REDUCTION(nanprod),
      REDUCTION(nanmax),
      REDUCTION(nanmin),
      REDUCTION(nanmean),
      {"logsumexp",
       [](C c) -> R {
         const ReduceOptions o = Reducing(c);
         return {logsumexp(c[0], c.dims(), {.keepdims = o.keepdims, .where = o.where})};
       }},
      REDUCTION(ptp),
      REDUCTION(count_nonzero),
      REDUCTION(logmeanexp),
      VARIANCE("var", var),
      VARIANCE("std", stddev),
      VARIANCE("nanvar", nanvar),
      VARIANCE("nanstd", nanstd),
      RUNNING(cumsum),
      RUNNING(cumprod),
      RUNNING(nancumsum),
      RUNNING(nancumprod),
      RUNNING(cummax),
      RUNNING(cummin),
      RUNNING(cumlogsumexp),
      ARG(argmax),
      ARG(argmin),
      ARG(nanargmax),
      ARG(nanargmin),
      {"quantile", [](C c) -> R { return {quantile(c[0], c[1], c.dims(), Quantiles(c))}; }},
      {"nanquantile", [](C c) -> R { return {nanquantile(c[0], c[1], c.dims(), Quantiles(c))}; }},
      {"percentile", [](C c) -> R { return {percentile(c[0], c[1], c.dims(), Quantiles(c))}; }},
      {"median",
       [](C c) -> R { return {median(c[0], c.dims(), {.keepdims = c.flag("keepdims")})}; }},
      {"nanmedian",
       [](C c) -> R { return {nanmedian(c[0], c.dims(), {.keepdims = c.flag("keepdims")})}; }},
      {"average",
       [](C c) -> R {
         return {
             average(c[0], c.dims(), {.weights = c.at("weights"), .keepdims = c.flag("keepdims")})};
       }},
      {"cov",
       [](C c) -> R {
         return {cov(c[0], {.rowvar = c.flag("rowvar", true), .bias = c.flag("bias")})};
       }},
      {"corrcoef", [](C c) -> R { return {corrcoef(c[0], {.rowvar = c.flag("rowvar", true)})}; }},
      {"convolve", [](C c) -> R { return {convolve(c[0], c[1], ModeOf(c, "full"))}; }},
      {"correlate", [](C c) -> R { return {correlate(c[0], c[1], ModeOf(c, "valid"))}; }},
      {"gradient", [](C c) -> R { return gradient(c[0], c.dims()); }},
      {"trapezoid",
       [](C c) -> R {
         return {trapezoid(c[0], {.x = c.at("x"), .dx = c.number("dx", 1), .dim = c.axis()})};
       }},
      {"interp",
       [](C c) -> R {
         InterpOptions options;
         if (c.has("left")) options.left = c.number("left", 0);
         if (c.has("right")) options.right = c.number("right", 0);
         if (c.has("period")) options.period = c.number("period", 0);
         return {interp(c[0], c[1], c[2], options)};
       }},
      {"unwrap", [](C c) -> R { return {unwrap(c[0], {.dim = c.axis()})}; }},
      {"diff",
       [](C c) -> R {
         return {
             diff(c[0], c.axis(),
                  {.n = c.integer("n", 1), .prepend = c.at("prepend"), .append = c.at("append")})};
       }},
      {"ediff1d",
       [](C c) -> R {
         return {ediff1d(c[0], {.before = c.at("to_begin"), .after = c.at("to_end")})};
       }},
      {"vecdot", [](C c) -> R { return {vecdot(c[0], c[1], c.axis())}; }},
      {"matvec", [](C c) -> R { return {matvec(c[0], c[1])}; }},
      {"vecmat", [](C c) -> R { return {vecmat(c[0], c[1])}; }},
      {"searchsorted",
       [](C c) -> R {
         return {searchsorted(sort(c[0]), c[1], {.right = c.text("side", "left") == "right"})};
       }},
      {"digitize",
       [](C c) -> R { return {digitize(c[0], sort(c[1]), {.right = c.flag("right")})}; }},
      {"bincount",
       [](C c) -> R {
         return {bincount(c[0], {.weights = c.at("weights"), .length = c.maybe("length")})};
       }},
      {"histogram",
       [](C c) -> R {
         const Histogram made =
             histogram(c[0], {.bins = c.integer("bins", 10), .density = c.flag("density")});
         return {made.counts, made.edges[0]};
       }},
      {"histogram_edges",
       [](C c) -> R {
         return {histogram(c[0], {.edges = sort(c[1]), .weights = c.at("weights")}).counts};
       }},
      {"segment_sum",
       [](C c) -> R {
         return {segment_sum(c[0], c[1], {.num_segments = c.maybe("num_segments")})};
       }},
      {"segment_max",
       [](C c) -> R {
         return {segment_max(c[0], c[1], {.num_segments = c.maybe("num_segments")})};
       }},
      {"segment_prod",
       [](C c) -> R {
         return {segment_prod(c[0], c[1], {.num_segments = c.maybe("num_segments")})};
       }},
      {"nonzero",
       [](C c) -> R {
         SizeOptions options{.size = c.maybe("size")};
         if (c.has("fill_value")) options.fill_value = c.integer("fill_value", 0);
         return nonzero(c[0], options);
       }},
      {"argwhere", [](C c) -> R { return {argwhere(c[0], {.size = c.maybe("size")})}; }},
      {"flatnonzero", [](C c) -> R { return {flatnonzero(c[0], {.size = c.maybe("size")})}; }},
      {"extract", [](C c) -> R { return {extract(c[0], c[1], {.size = c.maybe("size")})}; }},
      {"compress",
       [](C c) -> R { return {compress(c[0], c[1], c.dims(), {.size = c.maybe("size")})}; }},
      {"unique",
       [](C c) -> R {
         const Unique made = unique_all(c[0], {.size = c.maybe("size")});
         return {made.values, made.index, made.inverse, made.counts};
       }},
      {"isin", [](C c) -> R { return {isin(c[0], c[1])}; }},
      {"union1d", [](C c) -> R { return {union1d(c[0], c[1], {.size = c.maybe("size")})}; }},
      {"intersect1d", [](C c) -> R { return {intersect1d(c[0], c[1])}; }},
      {"setdiff1d", [](C c) -> R { return {setdiff1d(c[0], c[1])}; }},
      {"setxor1d", [](C c) -> R { return {setxor1d(c[0], c[1])}; }},
      {"lexsort", [](C c) -> R { return {lexsort(c.arrays(), c.axis())}; }},
      {"sort",
       [](C c) -> R { return {sort(c[0], c.axis(), {.descending = c.flag("descending")})}; }},
      {"argsort",
       [](C c) -> R { return {argsort(c[0], c.axis(), {.descending = c.flag("descending")})}; }},
      {"partition", [](C c) -> R { return {sort(partition(c[0], 0, c.axis()), c.axis())}; }},
      {"vstack", [](C c) -> R { return {vstack(c.arrays())}; }},
      {"hstack", [](C c) -> R { return {hstack(c.arrays())}; }},
      {"dstack", [](C c) -> R { return {dstack(c.arrays())}; }},
      {"column_stack", [](C c) -> R { return {column_stack(c.arrays())}; }},
      {"stack", [](C c) -> R { return {stack(c.arrays(), c.axis(0))}; }},
      {"concatenate", [](C c) -> R { return {concatenate(c.arrays(), c.axis(0))}; }},
      {"array_split", [](C c) -> R { return array_split(c[0], c.integer("parts", 2), c.axis(0)); }},
      {"append", [](C c) -> R { return {append(c[0], c[1])}; }},
      {"atleast_3d", [](C c) -> R { return {atleast_3d(c[0])}; }},
      {"rot90", [](C c) -> R { return {rot90(c[0], c.integer("k", 1))}; }},
      {"rollaxis",
       [](C c) -> R {
         return {rollaxis(c[0], c.axis(0), static_cast<int>(c.integer("start", 0)))};
       }},
      {"roll", [](C c) -> R { return {roll(c[0], c.integer("shift", 1), c.axis(0))}; }},
      {"flip", [](C c) -> R { return {flip(c[0], c.dims())}; }},
      {"repeat", [](C c) -> R { return {repeat(c[0], c.integer("repeats", 2), c.axis(0))}; }},
      {"tile", [](C c) -> R { return {tile(c[0], c.list("reps"))}; }},
      {"resize", [](C c) -> R { return {resize(c[0], c.list("shape"))}; }},
      {"delete", [](C c) -> R { return {delete_(c[0], c.list("indices"), c.axis(0))}; }},
      {"insert", [](C c) -> R { return {insert(c[0], c.integer("index", 0), c[1], c.axis(0))}; }},
      {"packbits",
       [](C c) -> R {
         return {packbits(c[0], {.dim = c.axis(), .little = c.text("order", "big") == "little"})};
       }},
      {"unpackbits",
       [](C c) -> R {
         return {unpackbits(c[0], {.dim = c.axis(), .little = c.text("order", "big") == "little"})};
       }},
      {"select",
       [](C c) -> R {
         return {select({c[0], c[1]}, {c[2], c[3]}, static_cast<int64_t>(c.number("default", 0)))};
       }},
      {"choose",
       [](C c) -> R {
         return {choose(c[0], {c[1], c[2]})};
       }},
      {"put_along_axis", [](C c) -> R { return {put_along_dim(c[0], c[1], c[2], c.axis(0))}; }},
      {"take_along_axis", [](C c) -> R { return {take_along_dim(c[0], c[1], c.axis(0))}; }},
      {"take", [](C c) -> R { return {take(c[0], c[1], c.axis(0))}; }},
      {"place", [](C c) -> R { return {place(c[0], c[1], c[2])}; }},
      {"put", [](C c) -> R { return {put(c[0], c[1], c[2])}; }},
      {"fill_diagonal", [](C c) -> R { return {fill_diagonal(c[0], c[1])}; }},
      {"tri",
       [](C c) -> R {
         return {tri(c.integer("n", 1), {.columns = c.maybe("m"), .k = c.integer("k", 0)})};
       }},
      {"tril_indices",
       [](C c) -> R {
         return tril_indices(c.integer("n", 1), {.k = c.integer("k", 0), .columns = c.maybe("m")});
       }},
      {"triu_indices",
       [](C c) -> R {
         return triu_indices(c.integer("n", 1), {.k = c.integer("k", 0), .columns = c.maybe("m")});
       }},
      {"indices", [](C c) -> R { return {indices(c.list("shape"))}; }},
      {"unravel_index", [](C c) -> R { return unravel_index(c[0], c.list("shape")); }},
      {"diagflat", [](C c) -> R { return {diagflat(c[0], c.integer("k", 0))}; }},
      {"diag", [](C c) -> R { return {diag(c[0], c.integer("k", 0))}; }},
      {"tril", [](C c) -> R { return {tril(c[0], c.integer("k", 0))}; }},
      {"triu", [](C c) -> R { return {triu(c[0], c.integer("k", 0))}; }},
      {"trace", [](C c) -> R { return {matrix_trace(c[0], {.offset = c.integer("offset", 0)})}; }},
      {"diagonal", [](C c) -> R { return {diagonal(c[0], {.offset = c.integer("offset", 0)})}; }},
      {"linspace",
       [](C c) -> R {
         return {
             linspace(c[0], c[1], c.integer("num", 50), {.endpoint = c.flag("endpoint", true)})};
       }},
      {"geomspace",
       [](C c) -> R {
         return {
             geomspace(c[0], c[1], c.integer("num", 50), {.endpoint = c.flag("endpoint", true)})};
       }},
      {"kron", [](C c) -> R { return {kron(c[0], c[1])}; }},
      {"outer", [](C c) -> R { return {outer(c[0], c[1])}; }},
      {"inner", [](C c) -> R { return {inner(c[0], c[1])}; }},
      {"dot", [](C c) -> R { return {dot(c[0], c[1])}; }},
      {"matmul", [](C c) -> R { return {matmul(c[0], c[1])}; }},
      {"vander",
       [](C c) -> R {
         return {vander(c[0], {.columns = c.maybe("N"), .increasing = c.flag("increasing")})};
       }},
      {"polyval", [](C c) -> R { return {polyval(c[0], c[1])}; }},
      {"polyadd", [](C c) -> R { return {polyadd(c[0], c[1])}; }},
      {"polysub", [](C c) -> R { return {polysub(c[0], c[1])}; }},
      {"polymul", [](C c) -> R { return {polymul(c[0], c[1])}; }},
      {"polyder", [](C c) -> R { return {polyder(c[0], c.integer("m", 1))}; }},
      {"polyint", [](C c) -> R { return {polyint(c[0], c.integer("m", 1))}; }},
      {"polydiv",
       [](C c) -> R {
         const auto made = polydiv(c[0], c[1]);
         return {made.first, made.second};
       }},
  };
  return table;
}

}  // namespace tessera::functions
