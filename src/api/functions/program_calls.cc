// Lays out the arguments of a program as its inputs, and calls it.
#include "api/functions/program_calls.h"

#include <fmt/format.h>

#include <algorithm>

#include "api/core/reshard_to.h"
#include "base/error.h"
#include "tessera/saved.h"
#include "trace/tree.h"

namespace tessera {

using namespace api;

void api::CheckRuns(const ir::Program& program, Call call) {
  const auto refuse = [&](const char* check, std::string reason, std::vector<std::string> notes) {
    base::ThrowRuntime(base::Refusal(call.name, check, base::Where(call.loc), std::move(reason),
                                     std::move(notes)));
  };
  if (program.per_device)
    refuse("device", "a device program has local shapes: run the traced one", {});
  const auto missing = static_cast<size_t>(
      std::ranges::count_if(program.captures, [](const ir::Capture& c) { return !c.array; }));
  if (missing > 0)
    refuse("captures",
           fmt::format("the program captures {}, which its text does not hold",
                       base::CountText(missing, "array")),
           {"reimport makes arguments of them, as --auto does in the command"});
}

namespace {

// Returns an array as an input of the program: laid out as the input's place says, over axes that
// the type does not show because they are Auto.
Array AsInput(const Array& x, const ir::Type* type, const ir::Type* place, Call call) {
  if (!type->mesh() || x.is_traced() || x.is_abstract() || TypeOf(x) == type) return x;
  Array placed = x;
  if (place) placed = ReshardTo(x, place->sharding(), call);
  return Moved(placed, type->sharding(), call);
}

// Returns "argument 2", or with its name in the traced function "argument 2 (argument 0.w)".
std::string InputText(const Program& program, size_t k) {
  const std::vector<std::string>& names = program.border().inputs;
  const std::string number = fmt::format("argument {}", k);
  return k < names.size() && names[k] != number ? fmt::format("{} ({})", number, names[k]) : number;
}

}  // namespace

std::vector<Array> api::CallOf(const Program& program, std::vector<Array> arguments,
                               trace::KeptCompilation& kept, Call call) {
  const std::vector<ArrayType> inputs = program.inputs();
  if (arguments.size() != inputs.size())
    FailShape(call, 1,
              fmt::format("the program takes {}, not {}", base::CountText(inputs.size(), "array"),
                          arguments.size()));
  const std::vector<trace::ArrayRef> given = RefsOf(arguments, call);
  for (size_t k = 0; k < inputs.size(); ++k) {
    const ir::Type* type = given[k]->type();
    if (type->shape() != inputs[k].shape() || type->dtype() != inputs[k].dtype())
      FailShape(call, 1,
                fmt::format("{} is {}, but the program takes {}", InputText(program, k),
                            type->text(), inputs[k].text()));
    const ir::ValueId input = program.program()->inputs[k];
    arguments[k] = AsInput(arguments[k], program.program()->type(input),
                           program.program()->place(input), call);
  }
  std::vector<Array> results =
      trace::CallProgram(program.program(), RefsOf(arguments, call), call.name, call.loc, &kept,
                         program.border().donated);
  // An argument that was laid out in another way is given up as well.
  for (size_t k = 0; k < program.border().donated.size(); ++k)
    if (program.border().donated[k] && arguments[k].impl()->donated_at)
      given[k]->donated_at = call.loc;
  return results;
}

namespace {

[[noreturn]] void RefuseNames(const std::string& difference, const char* whose, Loc loc) {
  FailTrace(
      {"run", loc}, 2,
      fmt::format("the {} are not those of the function that was traced: {}", whose, difference));
}

}  // namespace

void detail::RunTrees(const Program& program, TreeRef arguments, TreeRef like, Loc loc) {
  const ProgramBorder& border = program.border();
  const trace::Leaves given = trace::TakeArrays(arguments, trace::kArguments),
                      wanted = trace::TakeArrays(like, trace::kResult);
  if (!border.inputs.empty())
    if (std::string why = trace::DifferenceOf(border.inputs, given.names); !why.empty())
      RefuseNames(why, "arguments", loc);
  if (!border.outputs.empty())
    if (std::string why = trace::DifferenceOf(border.outputs, wanted.names); !why.empty())
      RefuseNames(why, "results", loc);
  Unflatten(like, program.run(given.arrays, loc), loc);
}

}  // namespace tessera
