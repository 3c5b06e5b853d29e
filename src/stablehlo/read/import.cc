// The public functions that read programs.
#include "api/functions/program_calls.h"
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
  return Imported(stablehlo::ReadModule(text, loc, nullptr, stablehlo::HasReader), options);
}

Program load_stablehlo(const std::string& path, ImportOptions options, Loc) {
  return Imported(stablehlo::ReadModuleFile(path, stablehlo::HasReader), options);
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

std::function<std::vector<Array>(std::vector<Array>)> to_function(Program program, Loc loc) {
  const api::Call call{"to_function", loc};
  api::CheckRuns(*program.program(), call);
  const auto kept = std::make_shared<trace::KeptCompilation>();
  return [program = std::move(program), kept, call](std::vector<Array> arguments) {
    return api::CallOf(program, std::move(arguments), *kept, call);
  };
}

}  // namespace tessera
