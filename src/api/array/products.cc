// Products of two arrays of any dtypes, and specs for their results.
#include "api/array/products.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/at.h"
#include "ops/params.h"
#include "ops/product_dtype.h"
#include "sharding/explicit_rule.h"

namespace tessera::api {

Array Dot(Array a, Array b, const DotDims& dims, const DotOptions& options, Call call) {
  DType da = TypeOf(a)->dtype(), db = TypeOf(b)->dtype();
  DType t = options.dtype.is_default() && da != db ? Promoted(da, db, call) : options.dtype;
  if (t.is_default() && da.is_bool()) t = bool_;
  const DType product = ops::ProductOf(da, db);
  if (product.is_integer() && !t.is_default() && (t.is_bool() || t.bits() < product.bits()))
    FailDType(call, 19,
              fmt::format("products of {} cannot be summed in {}, which is narrower",
                          product.name(), t.name()),
              {"convert the sum instead"});
  if (da.is_bool()) a = Convert(a, db.is_bool() ? i32 : db, call);
  if (db.is_bool()) b = Convert(b, da.is_bool() ? i32 : da, call);
  ir::ShapeAndDType wanted{{}, t};
  // dot_general sums in a dtype at least as wide as the products. A narrower result is converted.
  bool narrower = !t.is_default() && (t.is_bool() || (product.is_inexact() && !t.is_inexact()) ||
                                      (product.is_complex() && !t.is_complex()));
  if (narrower && options.out_sharding && !options.out_sharding->unreduced_axes().empty())
    FailSharding(call, sharding::Conflict::kUnreduced,
                 fmt::format("the sum is converted to {}, and converted parts do not add up to the "
                             "converted sum, so it cannot stay unreduced",
                             t.name()),
                 {"leave .unreduced out, or ask for a dtype that holds the sum"});
  int rank = static_cast<int>(TypeOf(a)->rank() + TypeOf(b)->rank()) -
             2 * static_cast<int>(dims.lhs_contract.size()) -
             static_cast<int>(dims.lhs_batch.size());
  ops::DotParams p{{dims.lhs_contract, dims.rhs_contract}, {dims.lhs_batch, dims.rhs_batch}};
  Array y = Run(ops::kDotGeneral, ir::MakeParams(std::move(p)), {a, b}, call,
                {.wanted = t.is_default() || narrower ? nullptr : &wanted,
                 .out_sharding = options.out_sharding,
                 .rank = std::max(rank, 0)});
  return narrower ? Convert(y, t, call) : y;
}

std::optional<PartitionSpec> Permuted(const std::optional<PartitionSpec>& spec,
                                      const std::vector<int64_t>& order) {
  if (!spec) return spec;
  std::vector<DimSharding> dims(order.size());
  for (size_t d = 0; d < order.size(); ++d)
    if (base::Size(order[d]) < spec->dims().size()) dims[d] = base::At(spec->dims(), order[d]);
  for (size_t d = order.size(); d < spec->dims().size(); ++d) dims.push_back(spec->dims()[d]);
  PartitionSpec out(std::move(dims));
  if (!spec->unreduced_axes().empty())
    out = out.unreduced(spec->unreduced_axes(), spec->reduction());
  if (!spec->reduced_axes().empty()) out = out.reduced(spec->reduced_axes());
  return out;
}

bool IsIota(const std::vector<int64_t>& v) {
  for (size_t i = 0; i < v.size(); ++i)
    if (v[i] != static_cast<int64_t>(i)) return false;
  return true;
}

}  // namespace tessera::api
