// The public functions that read programs.
#include <fmt/format.h>

#include <algorithm>

#include "api/core/reshard_to.h"
#include "base/error.h"
#include "compile/run/executor.h"
#include "stablehlo/read/argument_names.h"
#include "stablehlo/read/importer.h"
#include "stablehlo/text/read.h"
#include "tessera/stablehlo.h"
#include "trace/inline.h"

namespace tessera {
namespace {

Program Imported(const stablehlo::Module& module, const ImportOptions& options) {
  compile::Install();
  return Program(std::make_shared<const ir::Program>(stablehlo::Importer(module, options).Build()));
}

}  // namespace

Program import_stablehlo(std::string_view text, ImportOptions options, Loc loc) {
  return Imported(stablehlo::ReadModule(text, loc), options);
}

Program load_stablehlo(const std::string& path, ImportOptions options, Loc) {
  return Imported(stablehlo::ReadModuleFile(path), options);
}

std::vector<size_t> find_inputs(const Program& program, std::string_view name, Loc loc) {
  return stablehlo::ArgumentNames(*program.program()).Find(name, "find_inputs", loc);
}
std::string input_name(const Program& program, size_t input) {
  return stablehlo::ArgumentNames(*program.program())[input].Shown();
}

Program reimport(const Program& program, ImportOptions options, Loc loc) {
  return import_stablehlo(export_stablehlo(program, loc), std::move(options), loc);
}

namespace {

// Throws for programs that cannot run.
void CheckRuns(const ir::Program& program, Loc loc) {
  const auto refuse = [&](const char* check, std::string reason, std::vector<std::string> notes) {
    base::ThrowRuntime(
        base::Refusal("to_function", check, base::Where(loc), std::move(reason), std::move(notes)));
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

// Returns an array as an input of the program: laid out as the input's place says, over axes that
// the type does not show because they are Auto.
Array AsInput(const Array& x, const ir::Type* type, const ir::Type* place, api::Call call) {
  if (!type->mesh() || x.is_traced() || x.is_abstract() || api::TypeOf(x) == type) return x;
  Array placed = x;
  if (place) placed = api::ReshardTo(x, place->sharding(), call);
  return api::Moved(placed, type->sharding(), call);
}

}  // namespace

std::function<std::vector<Array>(std::vector<Array>)> to_function(Program program, Loc loc) {
  CheckRuns(*program.program(), loc);
  const auto kept = std::make_shared<trace::KeptCompilation>();
  return [program = std::move(program), kept, loc](std::vector<Array> arguments) {
    constexpr const char* kName = "to_function";
    const api::Call call{kName, loc};
    const std::vector<ArrayType> inputs = program.inputs();
    if (arguments.size() != inputs.size())
      api::FailShape(call, 1,
                     fmt::format("the program takes {}, not {}",
                                 base::CountText(inputs.size(), "array"), arguments.size()));
    for (size_t k = 0; k < inputs.size(); ++k) {
      const ir::Type* type = api::TypeOf(arguments[k]);
      if (type->shape() != inputs[k].shape() || type->dtype() != inputs[k].dtype())
        api::FailShape(call, 1,
                       fmt::format("argument {} is {}, but the program takes {}", k, type->text(),
                                   inputs[k].text()));
      const ir::ValueId input = program.program()->inputs[k];
      arguments[k] = AsInput(arguments[k], program.program()->type(input),
                             program.program()->place(input), call);
    }
    return trace::CallProgram(program.program(), api::RefsOf(arguments, call), kName, loc,
                              kept.get());
  };
}

}  // namespace tessera
