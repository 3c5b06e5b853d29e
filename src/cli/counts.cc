// Prints the numbers of a program.
#include "cli/counts.h"

#include <fmt/format.h>
#include <tessera/counts.h>

#include <algorithm>
#include <vector>

namespace tessera::cli {
namespace {

int64_t BytesOf(const std::vector<ArrayType>& types) {
  int64_t bytes = 0;
  for (const ArrayType& t : types) {
    int64_t bits = t.dtype().bits();
    for (int64_t size : t.shape()) bits *= size;
    bytes += (bits + 7) / 8;
  }
  return bytes;
}

Mesh MeshOf(const Program& program) {
  for (const auto& types : {program.inputs(), program.outputs()})
    for (const ArrayType& t : types)
      if (!t.mesh().empty()) return t.mesh();
  return Mesh();
}

// Returns "data=2 (Auto), model=4 (Auto): 8 devices".
std::string MeshText(const Mesh& mesh) {
  if (mesh.empty()) return "none";
  std::string text;
  for (const MeshAxis& a : mesh.axes()) {
    const char* mode = a.mode == AxisMode::Auto       ? "Auto"
                       : a.mode == AxisMode::Explicit ? "Explicit"
                                                      : "Manual";
    text += fmt::format("{}{}={} ({})", text.empty() ? "" : ", ", a.name, a.size, mode);
  }
  return fmt::format("{}: {} device{}", text, mesh.size(), mesh.size() == 1 ? "" : "s");
}

std::string RowText(const OpCount& c) {
  return fmt::format("{:<28}{:>8}{:>20}{:>20}\n", c.op, c.count, c.result_bytes,
                     c.flops > 0 ? fmt::format("{}", c.flops) : "");
}

}  // namespace

std::string CountsText(const Program& program) {
  std::string out =
      fmt::format("{:<28}{:>8}{:>20}{:>20}\n", "op", "count", "bytes of results", "FLOPs");
  OpCount total{.op = "total"};
  for (const OpCount& c : count_ops(program)) {
    out += RowText(c);
    total.count += c.count;
    total.result_bytes += c.result_bytes;
    total.flops += c.flops;
  }
  return out + RowText(total);
}

std::string SummaryText(const Lowered& lowered) {
  return fmt::format("{}at most {} B on each device\n", lowered.comm().text(),
                     lowered.peak_bytes());
}

std::string StatsText(const Program& program) {
  const std::vector<ArrayType> inputs = program.inputs(), outputs = program.outputs();
  int64_t values = static_cast<int64_t>(inputs.size());
  for (const OpCount& c : count_ops(program)) values += c.results;
  return fmt::format("mesh       {}\narguments  {}, {} B\nresults    {}, {} B\nvalues     {}\n\n{}",
                     MeshText(MeshOf(program)), inputs.size(), BytesOf(inputs), outputs.size(),
                     BytesOf(outputs), values, CountsText(program));
}

}  // namespace tessera::cli
