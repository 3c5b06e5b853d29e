// Reads inputs, runs a program and writes its results.
#include "cli/run.h"

#include <fmt/format.h>
#include <tessera/io.h>
#include <tessera/stablehlo.h>

#include <filesystem>
#include <optional>
#include <stdexcept>
#include <system_error>

#include "cli/arrays.h"
#include "cli/output.h"
#include "cli/source.h"

namespace tessera::cli {
namespace {

[[noreturn]] void Fail(const std::string& reason) {
  throw std::runtime_error("tessera: " + reason);
}

// The files of a program's arguments.
class Inputs {
 public:
  explicit Inputs(const Program& program)
      : program_(program), types_(program.inputs()), files_(types_.size()) {}

  // Takes "x.npy" or "ARG=x.npy".
  void Take(const std::string& input) {
    const size_t equal = input.rfind('=');
    if (equal == input.npos)
      positional_.push_back(input);
    else
      Set(Named(input.substr(0, equal)), input.substr(equal + 1));
  }
  // Returns the arrays of all arguments.
  std::vector<Array> Read(bool fills) {
    SetPositional();
    if (!fills) CheckComplete();
    std::vector<Array> arrays;
    for (size_t k = 0; k < types_.size(); ++k)
      arrays.push_back(files_[k] ? ReadOne(k) : Filled(types_[k], k));
    return arrays;
  }

 private:
  std::string Shown(size_t k) const { return input_name(program_, k); }

  size_t Named(const std::string& name) const {
    const std::vector<size_t> found = find_inputs(program_, name, kHere);
    if (found.size() > 1)
      Fail(fmt::format("'{}' stands for {} arguments: an input is for one, such as {}", name,
                       found.size(), Shown(found[0])));
    return found[0];
  }
  void Set(size_t k, const std::string& file) {
    if (files_[k]) Fail(fmt::format("{} has two inputs: {} and {}", Shown(k), *files_[k], file));
    files_[k] = file;
  }
  // Files without a name are for the arguments that are left, in order.
  void SetPositional() {
    size_t k = 0;
    for (const std::string& file : positional_) {
      while (k < files_.size() && files_[k]) ++k;
      if (k == files_.size())
        Fail(fmt::format("the program takes {} argument{}: there is none for {}", files_.size(),
                         files_.size() == 1 ? "" : "s", file));
      files_[k] = file;
    }
  }
  void CheckComplete() const {
    std::string missing;
    for (size_t k = 0; k < types_.size(); ++k)
      if (!files_[k]) missing += fmt::format("\n  {}: {}", Shown(k), types_[k].text());
    if (!missing.empty())
      Fail("these arguments have no input:" + missing +
           "\ngive --input x.npy for each in this order, --input ARG=x.npy, or --fill");
  }
  Array ReadOne(size_t k) const {
    Array x = load_npy(*files_[k], {}, kHere);
    const DType wanted = types_[k].dtype();
    if (x.shape(kHere) == types_[k].shape() && x.dtype(kHere) == wanted) return x;
    const bool converts = x.shape(kHere) == types_[k].shape() && !NumpyName(wanted).empty();
    Fail(fmt::format("{} holds {}, but {} is {}{}", *files_[k], type_of(x, kHere).text(), Shown(k),
                     types_[k].text(),
                     converts ? ": convert it with x.astype('" + NumpyName(wanted) + "')" : ""));
  }

  const Program& program_;
  std::vector<ArrayType> types_;
  std::vector<std::optional<std::string>> files_;  // of each argument
  std::vector<std::string> positional_;
};

void MakeFolder(const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) Fail(fmt::format("cannot make the folder {}: {}", folder, ReasonOf(error)));
}

}  // namespace

std::vector<Array> ReadArguments(const Program& program, const RunRequest& request) {
  Inputs inputs(program);
  for (const std::string& input : request.inputs) inputs.Take(input);
  return inputs.Read(request.fills);
}

void RunProgram(const Program& program, const RunRequest& request, std::ostream& out) {
  const std::vector<Array> arguments = ReadArguments(program, request);
  if (!request.output.empty()) MakeFolder(request.output);
  const std::vector<Array> results = to_function(program, kHere)(arguments);
  for (size_t k = 0; k < results.size(); ++k) {
    const Array& x = results[k];
    const ArrayType type = type_of(x, kHere);
    out << fmt::format("result {}: {}{}\n{}", k, type.text(),
                       type.mesh().empty() ? "" : " " + x.sharding(kHere).text(), SummaryOf(x));
    if (request.output.empty()) continue;
    save_npy((std::filesystem::path(request.output) / fmt::format("out{}.npy", k)).string(), x,
             kHere);
  }
}

}  // namespace tessera::cli
