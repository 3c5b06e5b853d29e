#include "trace/control.h"

#include "trace/scopes.h"

namespace tessera::trace {

TracedRegion TraceRegion(absl::Span<const ir::Type* const> parameters, const LeafFunction& f,
                         const char* op, Loc loc) {
  NestingScope nesting(op, loc);
  Trace* outer = CurrentTrace();
  auto trace =
      std::make_shared<Trace>(CurrentMesh(), loc, outer ? outer->shared_from_this() : nullptr);
  struct End {
    Trace& trace;
    ~End() { trace.ended = true; }
  } end{*trace};
  std::vector<Array> tracers;
  for (const ir::Type* type : parameters) {
    ir::ValueId v = trace->program().AddValue(type, loc);
    trace->program().inputs.push_back(v);
    tracers.emplace_back(std::make_shared<TracedArray>(type, loc, trace, v));
  }
  TraceScope scope(trace.get());
  TracedRegion region;
  region.result = f(tracers);
  for (const Array& leaf : region.result.arrays) {
    const ArrayRef& output = Use(leaf, op, loc);
    region.output_locs.push_back(output->loc());
    trace->program().outputs.push_back(trace->Lift(output, loc));
  }
  if (!trace->program().mesh)
    for (const ir::Value& v : trace->program().values)
      if (v.type->mesh()) trace->program().mesh = v.type->mesh();
  region.program = std::move(trace->program());
  return region;
}

std::vector<ArrayRef> CloseRegions(std::vector<TracedRegion>& regions) {
  std::vector<ArrayRef> constants;
  absl::flat_hash_map<const void*, size_t> index;
  for (TracedRegion& region : regions)
    for (const ir::Capture& c : region.program.captures)
      if (index.try_emplace(c.array.get(), constants.size()).second)
        constants.push_back(
            std::const_pointer_cast<ArrayImpl>(std::static_pointer_cast<const ArrayImpl>(c.array)));
  for (TracedRegion& region : regions) {
    std::vector<ir::ValueId> inputs(constants.size(), -1);
    for (const ir::Capture& c : region.program.captures) inputs[index.at(c.array.get())] = c.value;
    for (size_t i = 0; i < inputs.size(); ++i)
      if (inputs[i] < 0)
        inputs[i] = region.program.AddValue(constants[i]->type(), constants[i]->loc());
    inputs.insert(inputs.end(), region.program.inputs.begin(), region.program.inputs.end());
    region.program.inputs = std::move(inputs);
    region.program.captures.clear();
  }
  return constants;
}

}  // namespace tessera::trace
