// Calls programs: records them in a trace, or runs them.
#include "trace/inline.h"

#include <absl/algorithm/container.h>
#include <fmt/format.h>

#include <mutex>

#include "base/error.h"
#include "base/fork.h"
#include "ir/inline.h"
#include "trace/compilations.h"
#include "trace/scopes.h"

namespace tessera::trace {
namespace {

std::vector<Array> RecordProgram(Trace& trace, const ir::Program& program,
                                 const std::vector<ArrayRef>& inputs, Loc loc) {
  std::vector<ir::ValueId> given;
  for (const ArrayRef& a : inputs) given.push_back(trace.Lift(a, loc));
  for (const ir::Capture& c : program.captures) given.push_back(trace.Lift(CapturedArray(c), loc));
  std::vector<Array> outputs;
  for (ir::ValueId v : ir::Inline(trace.builder(), program, given))
    outputs.emplace_back(
        std::make_shared<TracedArray>(trace.program().type(v), loc, trace.shared_from_this(), v));
  return outputs;
}

// Returns the program with the layouts of inputs and captures whose types do not say them.
std::shared_ptr<const ir::Program> PlacedAs(const std::shared_ptr<const ir::Program>& program,
                                            const std::vector<const ir::Type*>& places) {
  std::vector<ir::ValueId> values = program->inputs;
  for (const ir::Capture& c : program->captures) values.push_back(c.value);
  std::shared_ptr<ir::Program> placed;
  for (size_t i = 0; i < values.size(); ++i) {
    if (!places[i] || program->place(values[i]) == places[i]) continue;
    if (!placed) placed = std::make_shared<ir::Program>(*program);
    placed->SetPlace(values[i], places[i]);
  }
  return placed ? placed : program;
}

// Guards all KeptCompilations: held for lookups, never while compiling.
std::mutex& KeptMutex() {
  static auto& mutex = base::NewForkMutex();
  return mutex;
}

}  // namespace

bool InsideTrace(const std::vector<ArrayRef>& arrays) {
  if (CurrentTrace()) return true;
  return absl::c_any_of(arrays, [](const ArrayRef& a) { return a->kind() == ArrayImpl::kTraced; });
}

bool IsAbstract(const std::vector<ArrayRef>& arrays, const ir::Program& program) {
  if (program.mesh && program.mesh->is_abstract()) return true;
  return absl::c_any_of(arrays,
                        [](const ArrayRef& a) { return a->kind() == ArrayImpl::kAbstract; });
}

std::vector<ArrayRef> WithCaptures(std::vector<ArrayRef> arrays, const ir::Program& program,
                                   const char* op, Loc loc) {
  for (const ir::Capture& c : program.captures) {
    arrays.push_back(CapturedArray(c));
    if (const std::optional<Loc>& donated = arrays.back()->donated_at)
      base::ThrowTrace(
          base::Refusal(op, "captured", base::Where(loc),
                        fmt::format("the function captured {}, which has since been donated",
                                    arrays.back()->type()->text()),
                        {"donated at " + base::Where(*donated),
                         "pass it as an argument instead of capturing it"}));
  }
  return arrays;
}

std::vector<Array> AbstractOutputs(const ir::Program& program, Loc loc) {
  std::vector<Array> outputs;
  for (ir::ValueId v : program.outputs)
    outputs.emplace_back(std::make_shared<ArrayImpl>(ArrayImpl::kAbstract, program.type(v), loc));
  return outputs;
}

Executor::Compiled KeptCompilation::For(const std::shared_ptr<const ir::Program>& program,
                                        const std::vector<bool>& donated,
                                        const std::vector<ArrayRef>& inputs) {
  const size_t key = TheExecutor().CompileKey();
  std::vector<const ir::Type*> places;
  std::vector<bool> shares;
  for (const ArrayRef& input : inputs) {
    places.push_back(input->place());
    shares.push_back(static_cast<const ConcreteArray*>(input.get())->shares_replicas());
  }
  {
    const std::lock_guard lock(KeptMutex());
    if (compiled_ && key_ == key && places_ == places && shares_ == shares) return compiled_;
  }
  Executor::Compiled compiled = CompileOnce(PlacedAs(program, places), donated, inputs);
  const std::lock_guard lock(KeptMutex());
  key_ = key, places_ = std::move(places), shares_ = std::move(shares), compiled_ = compiled;
  return compiled;
}

std::vector<Array> CallProgram(const std::shared_ptr<const ir::Program>& program,
                               const std::vector<ArrayRef>& inputs, const char* op, Loc loc,
                               KeptCompilation* kept, const std::vector<bool>& donated) {
  if (!InsideTrace(inputs)) {
    if (IsAbstract(inputs, *program)) return AbstractOutputs(*program, loc);
    std::vector<ArrayRef> all = WithCaptures(inputs, *program, op, loc);
    KeptCompilation once;
    const Executor::Compiled compiled = (kept ? *kept : once).For(program, donated, all);
    for (size_t i = 0; i < donated.size(); ++i)
      if (donated[i]) inputs[i]->donated_at = loc;
    std::vector<Array> outputs;
    for (ArrayRef& r : TheExecutor().Run(compiled.get(), std::move(all), loc))
      outputs.emplace_back(std::move(r));
    return outputs;
  }
  // As in Apply: the thread's trace records, unless an input is of a trace that does not
  // surround it.
  Trace* trace = CurrentTrace();
  for (const ArrayRef& input : inputs) {
    if (input->kind() != ArrayImpl::kTraced) continue;
    const auto& own = static_cast<const TracedArray*>(input.get())->trace;
    if (!trace || !trace->IsInside(own.get())) trace = own.get();
  }
  return RecordProgram(*trace, *program, inputs, loc);
}

}  // namespace tessera::trace
