// Runs two programs on simulated devices.
#include "cli/compare.h"

#include <fmt/format.h>
#include <tessera/first_difference.h>
#include <tessera/stablehlo.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <stdexcept>

namespace tessera::cli {
namespace {

// Returns "%arg1 (params['w']): f32[4,8]"; "none" beyond the last argument. Axes are left out.
std::string ArgumentText(const Program& program, const std::vector<ArrayType>& types, size_t k) {
  if (k >= types.size()) return "none";
  std::string shape;
  for (const int64_t size : types[k].shape())
    shape += fmt::format("{}{}", shape.empty() ? "" : ",", size);
  return fmt::format("{}: {}[{}]", input_name(program, k), types[k].dtype().name(), shape);
}

// Returns the name that the text gives to an argument, "params['w']"; "" if it gives none.
std::string GivenName(const Program& program, size_t k) {
  const std::string shown = input_name(program, k);
  const size_t open = shown.find(" (");
  return open == shown.npos ? "" : shown.substr(open);
}

// Floats of several widths may be compared: the second program gets converted numbers.
bool AreAlike(const ArrayType& x, const ArrayType& y) {
  return x.shape() == y.shape() &&
         (x.dtype() == y.dtype() || (x.dtype().is_floating() && y.dtype().is_floating()));
}
bool AreNamedAlike(const Program& a, const Program& b, size_t k) {
  const std::string of_a = GivenName(a, k), of_b = GivenName(b, k);
  return of_a.empty() || of_b.empty() || of_a == of_b;
}

void CheckArguments(const Program& a, const Program& b, const ComparedSources& sources) {
  const std::vector<ArrayType> of_a = a.inputs(), of_b = b.inputs();
  std::string different;
  for (size_t k = 0; k < std::max(of_a.size(), of_b.size()); ++k)
    if (k >= std::min(of_a.size(), of_b.size()) || !AreAlike(of_a[k], of_b[k]) ||
        !AreNamedAlike(a, b, k))
      different += fmt::format("\n  argument {}: {} in {}, {} in {}", k, ArgumentText(a, of_a, k),
                               sources.a.file, ArgumentText(b, of_b, k), sources.b.file);
  if (!different.empty())
    throw std::runtime_error("tessera: the programs take different arguments:" + different);
}

std::vector<Array> ConvertedFor(const Program& program, std::vector<Array> arguments) {
  const std::vector<ArrayType> types = program.inputs();
  for (size_t k = 0; k < arguments.size(); ++k)
    if (types[k].dtype() != arguments[k].dtype(kHere))
      arguments[k] = arguments[k].astype(types[k].dtype(), kHere);
  return arguments;
}

}  // namespace

ComparedSources SourcesOf(const ProgramSource& first, const CompareRequest& request) {
  ComparedSources sources = {first, first};
  if (!request.other.empty()) sources.b.file = request.other;
  if (!request.meshes.empty()) {
    sources.a.changes.mesh = request.meshes.front();
    sources.b.changes.mesh = request.meshes.back();
  }
  if (!request.modes.empty()) sources.b.changes.modes = request.modes;
  for (const std::string& setting : request.settings) sources.b.changes.settings.push_back(setting);
  return sources;
}

std::string ReasonAgainstTolerance(const std::string& text) {
  char* end = nullptr;
  const double tolerance = std::strtod(text.c_str(), &end);
  return tolerance > 0 && std::isfinite(tolerance) && *end == '\0'
             ? ""
             : "a tolerance is a number above 0, not '" + text + "'";
}

bool PrintComparison(const ComparedSources& sources, const CompareRequest& request,
                     std::ostream& out) {
  const Program a = sources.a.LoadToRun(), b = sources.b.LoadToRun(DeviceCount());
  CheckArguments(a, b, sources);
  const std::vector<Array> of_a = ReadArguments(a, request.arguments), of_b = ConvertedFor(b, of_a);
  const FirstDifference difference =
      first_difference([&] { to_function(a, kHere)(of_a); }, [&] { to_function(b, kHere)(of_b); },
                       {.tolerance = request.tolerance}, kHere);
  out << difference;
  return difference.found;
}

}  // namespace tessera::cli
