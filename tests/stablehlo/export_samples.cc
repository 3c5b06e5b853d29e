// stablehlo_samples DIR [PROGRAM.txt]...: writes every sample of every op, or these programs, as
// StableHLO text, with operands and the results that are right, for scripts/check_xla.
// stablehlo_samples --import: imports the text of every sample, runs it and compares.
#include <absl/algorithm/container.h>
#include <fmt/format.h>
#include <tessera/stablehlo.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <span>

#include "base/dtype.h"
#include "ops/ops.h"
#include "stablehlo/export_programs.h"
#include "suite/run.h"
#include "suite/samples.h"

namespace tessera::stablehlo_samples {
namespace {

using Json = nlohmann::json;
namespace fs = std::filesystem;

void WriteFile(const fs::path& path, std::string_view text) {
  std::ofstream out(path, std::ios::binary);
  out << text;
  if (!out) throw std::runtime_error("cannot write " + path.string());
}

// Writes the elements of an array and returns its description. Keys are pairs of words, the high
// one first.
Json WriteArray(const fs::path& path, ir::HostTensor array) {
  std::vector<int64_t> shape = array.shape;
  std::string dtype = array.dtype.name();
  if (array.dtype.is_key()) {
    shape.push_back(2);
    dtype = "u32";
    auto* words = reinterpret_cast<uint32_t*>(array.data.data());
    for (int64_t k = 0; k < array.size(); ++k) std::swap(words[2 * k], words[2 * k + 1]);
  }
  WriteFile(path, {reinterpret_cast<const char*>(array.data.data()), array.data.size()});
  return {{"file", path.filename().string()}, {"dtype", dtype}, {"shape", shape}};
}

std::vector<ir::HostTensor> Expected(const suite::Sample& sample,
                                     const std::vector<const ir::Type*>& types,
                                     const std::vector<ir::HostTensor>& data) {
  std::vector<ir::HostTensor> results;
  for (const ir::Type* t : types) results.emplace_back(t->dtype(), t->shape());
  ir::ReferenceCall call{*sample.op, sample.params.get(), {}, {}};
  for (const ir::HostTensor& x : data) call.operands.push_back(&x);
  for (ir::HostTensor& r : results) call.results.push_back(&r);
  (*sample.op->reference)(call);
  return results;
}

// Returns how the program that is imported from an export differs, "" if it gives the same numbers:
// those of fewer than 16 bits, and results that are not unique, are not compared.
std::string ImportProblem(const std::string& text, const suite::Sample& sample,
                          const std::vector<ir::HostTensor>& data,
                          const std::vector<ir::HostTensor>& want) {
  try {
    const auto f = to_function(import_stablehlo(text));
    std::vector<Array> arguments;
    for (const ir::HostTensor& x : data)
      arguments.push_back(suite::Place(x, ir::Type::Get(x.shape, x.dtype)));
    const std::vector<ir::HostTensor> got = suite::ReadAll(f(arguments));
    if (got.size() != want.size()) return fmt::format("{} results", got.size());
    for (size_t k = 0; k < got.size(); ++k) {
      if (got[k].dtype != want[k].dtype || got[k].shape != want[k].shape) return "another type";
      for (int64_t i = 0; i < got[k].size() && !sample.align && want[k].dtype.bits() > 8; ++i) {
        const std::complex<double> w = want[k].Complex(i), g = got[k].Complex(i);
        if (std::abs(g - w) > 0.02 * (std::abs(w) + sample.forward.magnitude))
          return fmt::format("element {} is {}, not {}", i, g.real(), w.real());
      }
    }
  } catch (const Error& e) {
    return e.reason();
  }
  return "";
}

// Prints for how many samples the import of the export gives the same numbers, and why not.
int RunImports() {
  std::map<std::string, std::pair<int, std::string>> problems;
  int same = 0, all = 0;
  for (const suite::Sample& sample : suite::Samples()) {
    const suite::Case one = suite::Unsharded(sample);
    const std::vector<const ir::Type*> types = suite::ResultTypes(one);
    std::string text;
    const std::vector<ir::HostTensor> data = suite::MakeData(sample);
    const bool has_keys = absl::c_any_of(data, [](const auto& x) { return x.dtype.is_key(); }) ||
                          absl::c_any_of(types, [](auto* t) { return t->dtype().is_key(); });
    if (has_keys) continue;  // they become words
    try {
      text = export_stablehlo(Program(suite::ProgramOf(one, types)));
    } catch (const Error&) {
      continue;
    }
    ++all;
    const std::string problem = ImportProblem(text, sample, data, Expected(sample, types, data));
    if (problem.empty()) ++same;
    auto& [count, first] = problems[std::string(sample.op->name)];
    if (!problem.empty() && count++ == 0) first = sample.name() + ": " + problem;
  }
  for (const auto& [op, why] : problems)
    if (why.first > 0) fmt::print("{}: {}, such as {}\n", op, why.first, why.second);
  fmt::print("{} of {} exports are imported with the same numbers\n", same, all);
  return same == all ? 0 : 1;
}

Json WriteSample(const fs::path& folder, size_t number, const suite::Sample& sample) {
  const suite::Case one = suite::Unsharded(sample);
  const std::vector<const ir::Type*> types = suite::ResultTypes(one);
  const std::string name = fmt::format("{:05}", number);
  Json entry = {{"name", sample.name()}, {"op", sample.op->name}, {"text", name + ".mlir"}};
  WriteFile(folder / (name + ".mlir"), export_stablehlo(Program(suite::ProgramOf(one, types))));
  const std::vector<ir::HostTensor> data = suite::MakeData(sample);
  for (size_t k = 0; k < data.size(); ++k)
    entry["inputs"].push_back(WriteArray(folder / fmt::format("{}.in{}", name, k), data[k]));
  const std::vector<ir::HostTensor> want = Expected(sample, types, data);
  for (size_t k = 0; k < want.size(); ++k)
    entry["outputs"].push_back(WriteArray(folder / fmt::format("{}.out{}", name, k), want[k]));
  entry["eps"] = sample.forward.eps;
  entry["magnitude"] = sample.forward.magnitude;
  entry["unique"] = sample.align == nullptr;
  return entry;
}

// Writes the program of a function, traced on its mesh, and its results.
Json WriteProgram(const fs::path& folder, const TestProgram& program) {
  Json entry = {{"name", program.name}, {"op", "programs"}, {"text", program.name + ".mlir"}};
  std::optional<MeshScope> scope;
  std::vector<ir::HostTensor> data, want;
  for (const Array& x : program.arguments) data.push_back(suite::ReadBack(x));
  if (program.without_mesh) want = suite::ReadAll(program.without_mesh(program.arguments));
  if (program.mesh) scope.emplace(*program.mesh);
  std::vector<Array> arguments;
  for (const ir::HostTensor& x : data) {
    const detail::HostData host{x.data.data(), x.size(), x.dtype};
    arguments.push_back(
        detail::ArrayFromHost(host, {.dtype = x.dtype, .shape = Shape(x.shape)}, Loc::Current()));
  }
  const auto traced = jit([&](std::vector<Array> in) { return program.f(in); });
  if (!program.without_mesh) want = suite::ReadAll(traced(arguments));
  WriteFile(folder / (program.name + ".mlir"), export_stablehlo(traced.trace(arguments)));
  for (size_t k = 0; k < data.size(); ++k)
    entry["inputs"].push_back(
        WriteArray(folder / fmt::format("{}.in{}", program.name, k), data[k]));
  for (size_t k = 0; k < want.size(); ++k)
    entry["outputs"].push_back(
        WriteArray(folder / fmt::format("{}.out{}", program.name, k), want[k]));
  entry["eps"] = 1024;  // of sums in other orders
  entry["magnitude"] = 1;
  entry["unique"] = true;
  return entry;
}

// Returns small numbers.
ir::HostTensor SmallNumbers(const ir::Type& type, size_t k) {
  ir::HostTensor data(type.dtype(), type.shape());
  for (int64_t i = 0; i < data.size(); ++i) {
    const double v = std::sin(static_cast<double>(i) * 1.7 + static_cast<double>(k));
    if (type.dtype().is_complex())
      data.SetComplex(i, {v, -v / 2});
    else if (type.dtype().is_floating())
      data.SetFloat(i, v / 2);
    else
      data.SetInt(i, i % 3);
  }
  return data;
}

// Writes a program that a run has dumped (TESSERA_DUMP). Arrays that it captures are arguments.
Json WriteText(const fs::path& folder, const fs::path& file) {
  auto program = std::make_shared<ir::Program>(*Program::Load(file.string()).program());
  for (const ir::Capture& c : program->captures) program->inputs.push_back(c.value);
  program->captures.clear();
  const std::string name = file.stem().string();
  Json entry = {{"name", file.string()}, {"op", "texts"}, {"text", name + ".mlir"}};
  WriteFile(folder / (name + ".mlir"), export_stablehlo(Program(program)));
  std::optional<MeshScope> scope;
  if (program->mesh) scope.emplace(Mesh(program->mesh));
  std::vector<Array> arguments;
  for (size_t k = 0; k < program->inputs.size(); ++k) {
    const ir::Type *type = program->type(program->inputs[k]),
                   *place = program->place(program->inputs[k]);
    const ir::HostTensor data = SmallNumbers(*type, k);
    entry["inputs"].push_back(WriteArray(folder / fmt::format("{}.in{}", name, k), data));
    if (program->mesh && !place && program->mesh->all_mode(AxisMode::Auto))
      place = ir::Type::Get(type->shape(), type->dtype(), program->mesh->WithoutModes());
    arguments.push_back(suite::Place(data, place ? place : type, program->mesh));
  }
  const std::vector<ir::HostTensor> want = suite::ReadAll(to_function(Program(program))(arguments));
  for (size_t k = 0; k < want.size(); ++k)
    entry["outputs"].push_back(WriteArray(folder / fmt::format("{}.out{}", name, k), want[k]));
  entry["eps"] = 1 << 14;  // an optimizer divides by small numbers, whose sums have other orders
  entry["magnitude"] = 1;
  entry["unique"] = true;
  return entry;
}

int RunTexts(const fs::path& folder, std::span<char* const> files) {
  SetDeviceCount(8);
  ops::Install();
  fs::create_directories(folder);
  Json entries = Json::array(), refused = Json::array();
  for (const char* file : files) {
    try {
      entries.push_back(WriteText(folder, file));
    } catch (const Error& e) {
      refused.push_back({{"name", file}, {"op", "texts"}, {"why", e.what()}});
    }
  }
  WriteFile(folder / "samples.json", Json{{"samples", entries}, {"refused", refused}}.dump(1));
  fmt::print("{} programs written, {} refused\n", entries.size(), refused.size());
  return 0;
}

int Run(const fs::path& folder) {
  ops::Install();
  fs::create_directories(folder);
  Json entries = Json::array(), refused = Json::array();
  size_t number = 0;
  for (const suite::Sample& sample : suite::Samples()) {
    try {
      entries.push_back(WriteSample(folder, number++, sample));
    } catch (const Error& e) {
      refused.push_back({{"name", sample.name()}, {"op", sample.op->name}, {"why", e.what()}});
    }
  }
  SetDeviceCount(8);
  for (const TestProgram& program : TestPrograms()) {
    try {
      entries.push_back(WriteProgram(folder, program));
    } catch (const Error& e) {
      refused.push_back({{"name", program.name}, {"op", "programs"}, {"why", e.what()}});
    }
  }
  WriteFile(folder / "samples.json", Json{{"samples", entries}, {"refused", refused}}.dump(1));
  fmt::print("{} samples written, {} refused\n", entries.size(), refused.size());
  return 0;
}

}  // namespace
}  // namespace tessera::stablehlo_samples

int main(int argc, char** argv) {
  if (argc < 2) {
    std::cerr << "usage: stablehlo_samples DIR [PROGRAM.txt]..., or --import\n";
    return 2;
  }
  if (std::string_view(argv[1]) == "--import") {
    tessera::ops::Install();
    return tessera::stablehlo_samples::RunImports();
  }
  const std::span<char* const> files(argv + 2, argv + argc);
  if (!files.empty()) return tessera::stablehlo_samples::RunTexts(argv[1], files);
  return tessera::stablehlo_samples::Run(argv[1]);
}
