// ragged_all_to_all: every device gathers the rows of its group, and takes those that are for it.
#include "tessera/ragged.h"

#include <fmt/format.h>

#include "api/array/apply_elementwise.h"
#include "api/core/edits.h"
#include "api/core/manual_axes.h"
#include "base/at.h"
#include "ops/params.h"
#include "tessera/lookup.h"

namespace tessera {

using namespace api;

namespace {

// C15, C17: a list of a device must have one integer for each slice, and each device of the group
// the same number of slices.
Array CheckedList(const Operand& x, const char* name, int64_t devices, Call call) {
  const Array list = ToArray(x, call);
  const ir::Type* type = TypeOf(list);
  if (!type->dtype().is_integer())
    FailDType(call, 15, fmt::format("{} must be integers, not {}", name, type->text()));
  if (type->rank() != 1 || type->shape()[0] == 0 || type->shape()[0] % devices != 0)
    FailShape(call, 17,
              fmt::format("{} must have one dim, whose size is a multiple of the {} devices of the "
                          "group, not {}",
                          name, devices, type->text()));
  return Convert(list, i64, call);
}

Array RaggedAllToAll(const Operands& xs, const AxisSet& axes, Call call) {
  const Loc loc = call.loc;
  const int64_t devices = axis_size(axes, loc);
  const Array operand = ToArray(xs[0], call), output = ToArray(xs[1], call);
  const ir::Type *from = TypeOf(operand), *to = TypeOf(output);
  if (from->dtype() != to->dtype())
    FailDType(call, 13,
              fmt::format("operand and output have different dtypes, {} and {}",
                          from->dtype().name(), to->dtype().name()));
  const auto row = [](const ir::Type* t) {
    return base::Shape(t->shape().begin() + 1, t->shape().end());
  };
  if (from->rank() == 0 || to->rank() == 0 || row(from) != row(to))
    FailShape(call, 16,
              fmt::format("operand and output must have rows of one shape, unlike {} and {}",
                          from->text(), to->text()));
  std::vector<Array> lists;
  constexpr const char* kNames[] = {"input_offsets", "send_sizes", "output_offsets", "recv_sizes"};
  for (size_t i = 0; i < std::size(kNames); ++i) {
    lists.push_back(CheckedList(xs[i + 2], kNames[i], devices, call));
    if (ShapeOf(lists[i]) != ShapeOf(lists[0]))
      FailShape(call, 18,
                fmt::format("{} have {} entries, but {} have {}", kNames[0], ShapeOf(lists[0])[0],
                            kNames[i], ShapeOf(lists[i])[0]));
  }
  const Array rows = all_gather(operand, axes, {.tiled = true}, loc);
  const Array slices = all_gather(stack(lists, 0, loc), axes, {}, loc);
  const int64_t n = to->shape()[0];
  const Array source =
      Run(ops::kRaggedRows, ir::MakeParams(ops::RaggedRowsParams{from->shape()[0], n}),
          {slices, axis_index(axes, loc)}, call);
  GatherDims dims{.offset = {}, .collapsed = {0}, .start = {0}};
  base::Shape one = from->shape(), column(one.size(), 1);
  for (size_t d = 1; d < one.size(); ++d) dims.offset.push_back(static_cast<int64_t>(d));
  one[0] = 1, column[0] = n;
  const Array taken =
      gather(rows, Reshape(source, {n, 1}, call), dims, one, {.mode = LookupMode::kFill}, loc);
  const Array received = ge(Reshape(source, column, call), Operand(0, loc), {}, loc);
  return Where(received, taken, output, call);
}

}  // namespace

Array ragged_all_to_all(Operand operand, Operand output, Operand input_offsets, Operand send_sizes,
                        Operand output_offsets, Operand recv_sizes, AxisSet axes, Loc loc) {
  const Call call{"ragged_all_to_all", loc};
  const Operands xs{operand, output, input_offsets, send_sizes, output_offsets, recv_sizes};
  return AsOne(call, {}, [&](const Operands&) { return RaggedAllToAll(xs, axes, call); });
}

}  // namespace tessera
