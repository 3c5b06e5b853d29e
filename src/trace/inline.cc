// Programs recorded in a trace, or run.
#include "trace/inline.h"

#include "trace/scopes.h"

namespace tessera::trace {
namespace {

ArrayRef Captured(const ir::Capture& c) {
  return std::const_pointer_cast<ArrayImpl>(std::static_pointer_cast<const ArrayImpl>(c.array));
}

std::vector<Array> Record(Trace& trace, const ir::Program& program,
                          const std::vector<ArrayRef>& inputs, Loc loc) {
  std::vector<ir::ValueId> map(program.values.size(), -1);
  const auto at = [&](ir::ValueId v) -> ir::ValueId& { return map[static_cast<size_t>(v)]; };
  for (size_t i = 0; i < inputs.size(); ++i) at(program.inputs[i]) = trace.Lift(inputs[i], loc);
  for (const ir::Capture& c : program.captures) at(c.value) = trace.Lift(Captured(c), loc);
  absl::InlinedVector<ir::ValueId, 3> operands;
  absl::InlinedVector<const ir::Type*, 1> types;
  for (const ir::Instruction& i : program.instructions) {
    operands.clear(), types.clear();
    for (ir::ValueId v : i.operands) operands.push_back(at(v));
    for (ir::ValueId v : i.results) types.push_back(program.type(v));
    trace.builder().set_loc(i.loc);
    auto results = trace.builder().EmitTyped(*i.op, i.params, operands, types, i.regions);
    for (size_t r = 0; r < results.size(); ++r) at(i.results[r]) = results[r];
  }
  for (const auto& [name, v] : program.names)
    if (at(v) >= 0) trace.Name(name, at(v));
  std::vector<Array> outputs;
  for (ir::ValueId v : program.outputs)
    outputs.emplace_back(std::make_shared<TracedArray>(trace.program().type(at(v)), loc,
                                                       trace.shared_from_this(), at(v)));
  return outputs;
}

std::vector<Array> RunNow(const std::shared_ptr<const ir::Program>& program,
                          std::vector<ArrayRef> inputs, Loc loc) {
  for (const ir::Capture& c : program->captures) inputs.push_back(Captured(c));
  std::vector<Array> outputs;
  const bool is_abstract = (program->mesh && program->mesh->is_abstract()) ||
                           std::any_of(inputs.begin(), inputs.end(), [](const ArrayRef& a) {
                             return a->kind() == ArrayImpl::kAbstract;
                           });
  if (is_abstract) {
    for (ir::ValueId v : program->outputs)
      outputs.emplace_back(
          std::make_shared<ArrayImpl>(ArrayImpl::kAbstract, program->type(v), loc));
    return outputs;
  }
  std::vector<bool> shares;
  for (const ArrayRef& input : inputs)
    shares.push_back(static_cast<const ConcreteArray*>(input.get())->shares_replicas());
  Executor::Compiled compiled =
      TheExecutor().Compile(program, std::vector<bool>(inputs.size()), std::move(shares));
  for (ArrayRef& r : TheExecutor().Run(compiled.get(), std::move(inputs), loc))
    outputs.emplace_back(std::move(r));
  return outputs;
}

}  // namespace

bool InsideTrace(const std::vector<ArrayRef>& arrays) {
  if (CurrentTrace()) return true;
  for (const ArrayRef& a : arrays)
    if (a->kind() == ArrayImpl::kTraced) return true;
  return false;
}

std::vector<Array> CallProgram(const std::shared_ptr<const ir::Program>& program,
                               const std::vector<ArrayRef>& inputs, Loc loc) {
  if (!InsideTrace(inputs)) return RunNow(program, inputs, loc);
  // As in Apply: a traced input decides, if it is not of a trace around the thread's.
  Trace* trace = CurrentTrace();
  for (const ArrayRef& input : inputs) {
    if (input->kind() != ArrayImpl::kTraced) continue;
    const auto& own = static_cast<const TracedArray*>(input.get())->trace;
    if (!trace || !trace->IsInside(own.get())) trace = own.get();
  }
  return Record(*trace, *program, inputs, loc);
}

}  // namespace tessera::trace
