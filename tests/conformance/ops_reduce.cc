// Reductions, cumulative reductions, functions composed of them, and sorting.
#include "ops.h"
#include "tessera/quantiles.h"

namespace tessera::conformance {
namespace {

using Reduce = Array (*)(Operand, Dims, ReduceOptions, Loc);
using StrictReduce = Array (*)(Operand, Dims, OutOptions, Loc);
using Var = Array (*)(Operand, Dims, VarOptions, Loc);
using Arg = Array (*)(Operand, int, ArgOptions, Loc);
using Cum = Array (*)(Operand, int, CumOptions, Loc);
using Combine = Array (*)(Operand, Operand, OutOptions, Loc);

// `combine` is how NumPy's `initial` joins the result; null where there is no such parameter.
OpFunction FromReduce(Reduce f, Combine combine = nullptr) {
  return [=](const Call& c) {
    ReduceOptions options{.dtype = c.dtype(), .keepdims = c.flag("keepdims")};
    if (!combine || !c.has("initial")) return std::vector{f(c.in(0), c.dims(), options, c.loc())};
    Operand initial(ParseScalar(c.attr("initial")), c.loc());
    return std::vector{combine(f(c.in(0), c.dims(), options, c.loc()), initial, {}, c.loc())};
  };
}

OpFunction FromStrict(StrictReduce f) {
  return [f](const Call& c) {
    return std::vector{f(c.in(0), Dims(c.integers("axes")), {c.spec()}, c.loc())};
  };
}

OpFunction FromVar(Var f) {
  return [f](const Call& c) {
    VarOptions options{.dtype = c.dtype(), .keepdims = c.flag("keepdims")};
    if (c.has("ddof")) options.ddof = c.attr("ddof").get<double>();
    return std::vector{f(c.in(0), c.dims(), options, c.loc())};
  };
}

OpFunction FromArg(Arg f) {
  return [f](const Call& c) {
    return std::vector{f(c.in(0), c.dim("axis", 0), {.dtype = c.dtype("index_dtype")}, c.loc())};
  };
}

// Without an axis NumPy looks at the flattened array.
OpFunction FromNumpyArg(Arg f) {
  return [f](const Call& c) {
    bool keepdims = c.flag("keepdims");
    if (c.has("axis")) {
      return std::vector{f(c.in(0), c.dim("axis", 0), {.keepdims = keepdims}, c.loc())};
    }
    Array flat = f(reshape(c.in(0), {-1}, {}, c.loc()), 0, {}, c.loc());
    if (!keepdims) return std::vector{flat};
    std::vector<int64_t> ones(static_cast<size_t>(c.rank(0)), 1);
    return std::vector{reshape(flat, Shape(ones), {}, c.loc())};
  };
}

OpFunction FromCum(Cum f) {
  return [f](const Call& c) {
    return std::vector{f(c.in(0), c.dim("axis", 0), {.reverse = c.flag("reverse")}, c.loc())};
  };
}

// NumPy's running reductions convert first, bools to the default int, and flatten without an axis.
OpFunction FromNumpyCum(Cum f) {
  return [f](const Call& c) {
    DType dtype = c.dtype();
    bool flat = !c.has("axis");
    int dim = c.dim("axis", 0);
    Array x = c.array(0);
    if (!dtype.is_default()) {
      x = astype(x, dtype, c.loc());
    } else if (x.dtype(c.loc()).is_bool()) {
      x = astype(x, type_of(Array(1, c.loc())).dtype(), c.loc());
    }
    if (flat) x = reshape(x, {-1}, {}, c.loc());
    Array result = f(x, dim, {}, c.loc());
    return std::vector{dtype.is_default() ? result : astype(result, dtype, c.loc())};
  };
}

QuantileMethod MethodOf(const Call& c) {
  const std::string method = c.text("method", "linear");
  return method == "lower"      ? QuantileMethod::kLower
         : method == "higher"   ? QuantileMethod::kHigher
         : method == "nearest"  ? QuantileMethod::kNearest
         : method == "midpoint" ? QuantileMethod::kMidpoint
                                : QuantileMethod::kLinear;
}

using QuantileFunction = Array (*)(Operand, Operand, Dims, QuantileOptions, Loc);
OpFunction FromQuantile(QuantileFunction f) {
  return [f](const Call& c) {
    const QuantileOptions options{
        .method = MethodOf(c), .keepdims = c.flag("keepdims"), .out_sharding = c.spec()};
    const Operand q = c.size() > 1 ? c.in(1) : Operand(ParseScalar(c.attr("q")), c.loc());
    return std::vector{f(c.in(0), q, c.dims(), options, c.loc())};
  };
}

void AddReduces(OpTable& table) {
  table["np.sum"] = FromReduce(sum, add);
  table["np.prod"] = FromReduce(prod, mul);
  table["np.max"] = table["np.amax"] = FromReduce(max, maximum);
  table["np.min"] = table["np.amin"] = FromReduce(min, minimum);
  table["np.mean"] = FromReduce(mean);
  table["np.ptp"] = FromReduce(ptp);
  table["np.count_nonzero"] = FromReduce(count_nonzero);
  table["np.any"] = FromReduce(any);
  table["np.all"] = FromReduce(all);
  table["nn.logsumexp"] = FromReduce([](Operand x, Dims dims, ReduceOptions o, Loc loc) {
    return logsumexp(x, dims, {.dtype = o.dtype, .keepdims = o.keepdims}, loc);
  });
  table["np.quantile"] = FromQuantile(quantile);
  table["np.percentile"] = FromQuantile(percentile);
  table["np.median"] = [](const Call& c) {
    return std::vector{median(c.in(0), c.dims(), {.keepdims = c.flag("keepdims")}, c.loc())};
  };
  table["np.var"] = FromVar(var);
  table["np.std"] = FromVar(stddev);
  table["reduce_sum"] = FromStrict(reduce_sum);
  table["reduce_prod"] = FromStrict(reduce_prod);
  table["reduce_max"] = FromStrict(reduce_max);
  table["reduce_min"] = FromStrict(reduce_min);
  table["reduce_and"] = FromStrict(reduce_and);
  table["reduce_or"] = FromStrict(reduce_or);
  table["reduce_xor"] = FromStrict(reduce_xor);
  table["argmax"] = FromArg(argmax);
  table["argmin"] = FromArg(argmin);
  table["np.argmax"] = FromNumpyArg(argmax);
  table["np.argmin"] = FromNumpyArg(argmin);
  table["cumsum"] = FromCum(cumsum);
  table["cumprod"] = FromCum(cumprod);
  table["cummax"] = FromCum(cummax);
  table["cummin"] = FromCum(cummin);
  table["cumlogsumexp"] = FromCum(cumlogsumexp);
  table["np.cumsum"] = FromNumpyCum(cumsum);
  table["np.cumprod"] = FromNumpyCum(cumprod);
}

// NumPy's sort looks at the last dim, or, with a null axis, at the flattened array.
template <class Sort>
OpFunction FromNumpySort(Sort sort) {
  return [=](const Call& c) {
    SortOptions options{.descending = c.flag("descending"), .stable = c.flag("stable", true)};
    int dim = c.dim("axis", -1);
    bool flat = c.attrs().contains("axis") && !c.has("axis");
    Array x = flat ? reshape(c.in(0), {-1}, {}, c.loc()) : c.array(0);
    return std::vector{sort(x, dim, options, c.loc())};
  };
}

// lax.top_k along another dim than the last is that between two transposes.
std::vector<Array> TopKAlong(const Call& c) {
  int64_t k = c.integer("k");
  int rank = c.rank(0), dim = c.dim("axis", -1);
  if (dim < 0) dim += rank;
  TopK top;
  if (dim == rank - 1) {
    top = top_k(c.in(0), k, {}, c.loc());
    return {top.values, top.indices};
  }
  std::vector<int64_t> order;
  for (int d = 0; d < rank; ++d) order.push_back(d);
  std::swap(order.at(static_cast<size_t>(dim)), order.back());
  top = top_k(transpose(c.in(0), Dims(order), c.loc()), k, {}, c.loc());
  return {transpose(top.values, Dims(order), c.loc()),
          transpose(top.indices, Dims(order), c.loc())};
}

void AddSorts(OpTable& table) {
  table["sort"] = [](const Call& c) {
    SortOptions options{.stable = c.flag("is_stable", true), .num_keys = c.dim("num_keys", 1)};
    int dim = c.dim("dimension", -1);
    if (c.size() == 1) return std::vector{sort(c.in(0), dim, options, c.loc())};
    return sort(c.arrays(), dim, options, c.loc());
  };
  table["sort_key_val"] = table["sort"];
  table["np.sort"] =
      FromNumpySort([](Array x, int dim, SortOptions o, Loc loc) { return sort(x, dim, o, loc); });
  table["np.argsort"] = FromNumpySort(
      [](Array x, int dim, SortOptions o, Loc loc) { return argsort(x, dim, o, loc); });
  table["top_k"] = TopKAlong;
}

}  // namespace

void AddReductions(OpTable& table) {
  AddReduces(table);
  AddSorts(table);
  auto soft = [](Array (*f)(Operand, Dims, Loc)) {
    return [f](const Call& c) {
      Dims dims = c.has("axis") ? c.dims() : Dims(-1);
      return std::vector{f(c.in(0), dims, c.loc())};
    };
  };
  table["nn.standardize"] = [](const Call& c) {
    Dims dims = c.has("axis") ? c.dims() : Dims(-1);
    return std::vector{layer_norm(c.in(0), 1.0, 0.0, dims, {}, c.loc())};
  };
  table["nn.softmax"] = soft(softmax);
  table["nn.log_softmax"] = soft(log_softmax);
}

}  // namespace tessera::conformance
