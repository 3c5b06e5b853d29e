// Traces a function into a program, and turns captures of regions into inputs that all
// regions share.
#include "trace/function.h"

#include "trace/apply.h"
#include "trace/scopes.h"
#include "trace/tree.h"

namespace tessera::trace {

Parameter LikeArray(const ArrayRef& array) { return {array->type(), array->loc(), array->place()}; }

TracedFunction TraceFunction(absl::Span<const Parameter> parameters, const detail::Body& f,
                             const char* op, Loc loc, Trace* outer, RegionRuns runs) {
  NestingScope nesting(op, loc);
  auto trace = std::make_shared<Trace>(CurrentMesh(), loc,
                                       outer ? outer->shared_from_this() : nullptr, runs);
  struct End {
    Trace& trace;
    ~End() { trace.End(); }
  } end{*trace};
  std::vector<Array> tracers;
  for (const Parameter& p : parameters) {
    ir::ValueId v = trace->program().AddValue(p.type, p.loc);
    trace->program().inputs.push_back(v);
    if (p.place) trace->program().SetPlace(v, p.place);
    tracers.emplace_back(std::make_shared<TracedArray>(p.type, p.loc, trace, v));
  }
  TraceScope scope(trace.get());
  detail::FunctionResult result = f(tracers);
  TracedFunction traced;
  traced.parameters = parameters.size();
  for (size_t i = 0; i < result.arrays.size(); ++i) {
    const auto name = [&]() -> std::string {
      if (!result.tree.given()) return "";
      const std::vector<std::string> names = TakeArrays(result.tree.ref(), "result").names;
      if (i >= names.size()) return "";
      return names[i] == "result" ? "the result" : names[i];
    };
    const Array inside = Enter(Use(result.arrays[i], op, loc, name), op, loc);
    const ArrayRef& output = inside.impl();
    traced.output_locs.push_back(output->loc());
    trace->program().outputs.push_back(trace->Lift(output, loc));
  }
  if (!trace->program().mesh)
    for (const ir::Value& v : trace->program().values)
      if (v.type->mesh()) trace->program().mesh = v.type->mesh();
  traced.key_uses = KeyUsesOf(*trace);
  traced.program = std::move(trace->program());
  traced.tree = std::move(result.tree);
  traced.made = std::move(result.made);
  return traced;
}

std::vector<ArrayRef> CloseRegions(std::vector<TracedFunction>& regions) {
  std::vector<ArrayRef> constants;
  absl::flat_hash_map<const void*, size_t> index;
  for (TracedFunction& region : regions)
    for (const ir::Capture& c : region.program.captures)
      if (index.try_emplace(c.array.get(), constants.size()).second)
        constants.push_back(CapturedArray(c));
  for (TracedFunction& region : regions) {
    std::vector<ir::ValueId> inputs(constants.size(), ir::kNoValue);
    for (const ir::Capture& c : region.program.captures) inputs[index.at(c.array.get())] = c.value;
    for (size_t i = 0; i < inputs.size(); ++i)
      if (inputs[i] == ir::kNoValue)
        inputs[i] = region.program.AddValue(constants[i]->type(), constants[i]->loc());
    inputs.insert(inputs.end(), region.program.inputs.begin(), region.program.inputs.end());
    region.program.inputs = std::move(inputs);
    region.program.captures.clear();
  }
  return constants;
}

}  // namespace tessera::trace

namespace tessera::detail {

AnyTree::AnyTree(const TreeType* type, void* owned) : type_(type), tree_(owned, type->destroy) {}

FunctionResult FunctionResult::Of(AnyTree tree) {
  std::vector<Array> arrays = LeavesOf(tree.ref());
  return {std::move(arrays), std::move(tree)};
}

Body MakeBody(const BoundFunction& bound) {
  return [bound](const std::vector<Array>& arrays) {
    return FunctionResult::Of(bound.call(bound, arrays));
  };
}

}  // namespace tessera::detail
