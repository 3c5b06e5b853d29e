// Sums, products and extremes of segments, by scatters of rows.
#include <fmt/format.h>

#include "api/array/reductions.h"
#include "api/core/option_fields.h"
#include "api/numpy/sized.h"

namespace tessera {

using namespace api;

static std::string Code(const SegmentOptions& v) {
  return OptionFields()
      .Add("num_segments", v.num_segments)
      .Add("indices_are_sorted", v.indices_are_sorted, false)
      .Add("unique_indices", v.unique_indices, false)
      .Add(v.out_sharding)
      .code();
}

namespace {

Array OfSegments(const char* name, ScatterCall scatter, const ir::OpDef& reduction,
                 const Operand& x, const Operand& ids, SegmentOptions options, Loc loc) {
  const Call call{name, loc};
  return AsOne(
      call, {{"operand", x}, {"segment_ids", ids}, options},
      [&](const Operand& operand, const Operand& segments) -> Array {
        const Array a = ToArray(operand, call), id = ToArray(segments, call);
        if (Rank(a) < 1 || ShapeOf(id) != base::Shape{ShapeOf(a)[0]})
          FailShape(call, 18,
                    fmt::format("each row has one segment: the array has shape {}, the ids {}",
                                ir::FieldText(ShapeOf(a)), ir::FieldText(ShapeOf(id))));
        if (!TypeOf(id)->dtype().is_integer())
          FailDType(call, 14, fmt::format("ids are ints, not {}", TypeOf(id)->dtype().name()));
        const bool is_empty = ShapeOf(id)[0] == 0;
        const int64_t n =
            options.num_segments || is_empty
                ? SizeOr(options.num_segments, StrongScalar(0, i64, call), call)
                : SizeOr({}, add(max(id, All, {}, loc), Operand(1, loc), {}, loc), call);
        base::Shape shape = ShapeOf(a);
        shape[0] = n;
        const Array start = full(shape, IdentityOf(reduction, TypeOf(a)->dtype(), call), {}, loc);
        return AtRows(scatter, start, id, a,
                      {.indices_are_sorted = options.indices_are_sorted,
                       .unique_indices = options.unique_indices,
                       .out_sharding = options.out_sharding},
                      call);
      });
}

}  // namespace

Array segment_sum(Operand x, Operand segment_ids, SegmentOptions options, Loc loc) {
  return OfSegments("segment_sum", scatter_add, ops::kReduceSum, x, segment_ids, std::move(options),
                    loc);
}
Array segment_prod(Operand x, Operand segment_ids, SegmentOptions options, Loc loc) {
  return OfSegments("segment_prod", scatter_mul, ops::kReduceProd, x, segment_ids,
                    std::move(options), loc);
}
Array segment_max(Operand x, Operand segment_ids, SegmentOptions options, Loc loc) {
  return OfSegments("segment_max", scatter_max, ops::kReduceMax, x, segment_ids, std::move(options),
                    loc);
}
Array segment_min(Operand x, Operand segment_ids, SegmentOptions options, Loc loc) {
  return OfSegments("segment_min", scatter_min, ops::kReduceMin, x, segment_ids, std::move(options),
                    loc);
}

}  // namespace tessera
