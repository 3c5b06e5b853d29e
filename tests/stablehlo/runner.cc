// stablehlo_runner [--numbers|--shardings|--round-trip] CASE.json...: programs as JAX prints them
// (../shared/stablehlo/README.md has the format).
//   --numbers     runs them on one device and partitioned, and compares with JAX's numbers
//   --shardings   propagates, and compares with Shardy's shardings
//   --round-trip  exports them and imports the export: the same types and numbers
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <tessera/stablehlo.h>
#include <tessera/tessera.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "ir/host_tensor.h"
#include "ir/program.h"
#include "sharding/text.h"
#include "stablehlo/read/meshes.h"
#include "stablehlo/text/read.h"

namespace tessera::stablehlo_runner {
namespace {

using Json = nlohmann::json;
namespace fs = std::filesystem;

struct Skipped {};
struct Failure {
  std::string reason;
};

double Fraction(double t) { return t - std::floor(t); }

// Returns element k of argument i by the rule of its data.
double FloatAt(const Json& rule, int64_t i, int64_t k) {
  const double v = Fraction(static_cast<double>(k) * 0.6180339887498949 +
                            static_cast<double>(i) * 0.3819660112501051);
  return (v - 0.5) * rule.value("scale", 1.0) + rule.value("offset", 0.0);
}

Array Input(const Json& input, const ArrayType& type, int64_t i) {
  const DType t = type.dtype();
  ir::HostTensor data(t, type.shape());
  const auto rounded = [&](double v) {
    return t == f64 || t == c128 ? v : static_cast<double>(static_cast<float>(v));
  };
  for (int64_t k = 0; k < data.size(); ++k) {
    if (t.is_bool())
      data.SetInt(k, k % 3 == 0);
    else if (t.is_integer())
      data.SetInt(k, (k * 7 + i * 3) % input.value("bound", int64_t{1}) +
                         input.value("offset", int64_t{0}));
    else if (t.is_complex())
      data.SetComplex(k,
                      {rounded(FloatAt(input, i, 2 * k)), rounded(FloatAt(input, i, 2 * k + 1))});
    else
      data.SetFloat(k, rounded(FloatAt(input, i, k)));
  }
  const detail::HostData host{data.data.data(), data.size(), t};
  return detail::ArrayFromHost(host, {.dtype = t, .shape = Shape(type.shape())}, Loc::Current());
}

double Number(const Json& j) {
  if (!j.is_string()) return j.is_boolean() ? j.get<bool>() : j.get<double>();
  const auto text = j.get<std::string>();
  if (text == "nan") return std::nan("");
  return text == "inf" ? INFINITY : -INFINITY;
}
std::complex<double> Complex(const Json& j) {
  if (j.is_array()) return {Number(j[0]), Number(j[1])};
  return Number(j);
}

bool Near(double got, double want, double allowed) {
  if (std::isnan(want)) return std::isnan(got);
  if (std::isinf(want) || std::isinf(got)) return got == want;
  return std::abs(got - want) <= allowed;
}
bool Near(std::complex<double> got, std::complex<double> want, double abs, double rel) {
  const double allowed = abs + (std::isfinite(std::abs(want)) ? rel * std::abs(want) : 0);
  return Near(got.real(), want.real(), allowed) && Near(got.imag(), want.imag(), allowed);
}

void Compare(const Array& made, const Json& output, size_t r) {
  const ArrayType type = type_of(made);
  if (type.shape() != output["shape"].get<std::vector<int64_t>>())
    throw Failure{fmt::format("result {} has type {}", r, type.text())};
  const std::vector<std::complex<double>> got = made.astype(c128).to_vector<std::complex<double>>();
  const bool exact = type.dtype().is_integer() || type.dtype().is_bool();
  const double abs = exact ? 0 : output["tol"]["abs"].get<double>(),
               rel = exact ? 0 : output["tol"]["rel"].get<double>();
  const auto check = [&](size_t k, const Json& want) {
    if (!Near(got[k], Complex(want), abs, rel))
      throw Failure{fmt::format("result {} element {}: {}{:+}j, not {}", r, k, got[k].real(),
                                got[k].imag(), want.dump())};
  };
  if (output.contains("data")) {
    for (size_t k = 0; k < output["data"].size(); ++k) check(k, output["data"][k]);
    return;
  }
  for (const Json& sample : output["samples"]) check(sample[0].get<size_t>(), sample[1]);
  std::complex<double> sum = 0;
  for (const auto& v : got) sum += v;
  const double within = static_cast<double>(got.size()) * abs + rel * Number(output["abs_sum"]);
  if (!exact && std::isfinite(Complex(output["sum"]).real()) &&
      !(std::abs(sum - Complex(output["sum"])) <= within + 1e-9 * Number(output["abs_sum"])))
    throw Failure{
        fmt::format("result {}: the sum is {}, not {}", r, sum.real(), output["sum"].dump())};
}

void CompareAll(const std::vector<Array>& results, const Json& c) {
  if (results.size() != c["outputs"].size()) throw Failure{"another number of results"};
  for (size_t r = 0; r < results.size(); ++r) Compare(results[r], c["outputs"][r], r);
}

// Runs a program without a mesh on one axis of n devices: the first dim of each argument that n
// divides is sharded.
void RunOver(int64_t n, const fs::path& text, std::vector<Array> inputs, const Json& c) {
  const Mesh mesh = make_mesh({{"x", n}});
  for (Array& x : inputs) {
    const std::vector<int64_t> shape = type_of(x).shape();
    std::vector<DimSharding> dims(shape.size());
    const auto divides = [&](int64_t size) { return size > 0 && size % n == 0; };
    const auto first = std::find_if(shape.begin(), shape.end(), divides);
    if (first != shape.end()) dims[static_cast<size_t>(first - shape.begin())] = "x";
    const MeshScope scope(mesh);
    x = reshard(x, PartitionSpec(std::move(dims)));
  }
  const ImportOptions options{.mesh = make_mesh({{"x", n, AxisMode::Auto}})};
  CompareAll(to_function(load_stablehlo(text.string(), options))(inputs), c);
}

void RunNumbers(const fs::path& path, const Json& c) {
  fs::path text = path;
  text.replace_extension(".mlir");
  const Program program = load_stablehlo(text.string());
  const std::vector<ArrayType> types = program.inputs();
  if (types.size() != c["inputs"].size()) throw Failure{"another number of arguments"};
  std::vector<Array> inputs;
  for (size_t i = 0; i < types.size(); ++i)
    inputs.push_back(Input(c["inputs"][i], types[i], static_cast<int64_t>(i)));
  CompareAll(to_function(program)(inputs), c);
  if (program.program()->mesh) return;
  for (int64_t n : {2, 8}) {
    try {
      RunOver(n, text, inputs, c);
    } catch (const Failure& f) {
      throw Failure{fmt::format("on {} devices: {}", n, f.reason)};
    }
  }
}

// The shardings of the values of one name, which is copied for each call of its function.
using Named = std::map<std::string, std::vector<const ir::Type*>>;

void AddNames(const ir::Program& p, Named& named) {
  for (const auto& [name, v] : p.names) named[name].push_back(p.place(v) ? p.place(v) : p.type(v));
  for (const ir::Instruction& i : p.instructions)
    for (const ir::RegionPtr& region : i.regions) AddNames(*region, named);
}

// Returns Shardy's text of a sharding without the mesh, "" if it is replicated.
std::string DimsText(const ir::Type* place, sharding::TensorSharding s) {
  // Shardy cuts arguments and results at axes that divide, on functions that we inline.
  for (size_t d = 0; d < s.dims.size(); ++d)
    s.dims[d].axes = sharding::PrefixThatDivides(s.dims[d].axes, place->shape()[d]);
  if (!s.mesh || s.dims_empty()) return "";
  for (sharding::DimAxes& d : s.dims) d.open = false, d.priority = -1;
  s.replicated.clear();
  s.varying.clear();
  const std::string text = sharding::Text(s);
  const size_t begin = text.find('[');
  return text.substr(begin, text.size() - begin - 1);
}

std::string DimsText(const ir::Type* place) { return DimsText(place, place->sharding()); }

// Shardy's arguments have whole axes.
sharding::TensorSharding WithoutParts(sharding::TensorSharding s, bool is_argument) {
  for (sharding::DimAxes& d : s.dims)
    d.axes.erase(std::remove_if(d.axes.begin(), d.axes.end(),
                                [&](sharding::AxisPart a) {
                                  return is_argument && !sharding::IsWhole(*s.mesh, a);
                                }),
                 d.axes.end());
  return s;
}

// Marks the values that are computed from constants alone. Shardy copies them for each use, and its
// copies have other names.
void AddConstants(const ir::Program& p, std::set<std::string>& constants) {
  ir::ValueSet varies(p.values.size(), false);
  for (ir::ValueId v : p.inputs) varies[v] = true;
  for (const ir::Instruction& i : p.instructions) {
    bool any = !i.regions.empty();
    for (ir::ValueId v : i.operands) any = any || varies[v];
    for (ir::ValueId v : i.results) varies[v] = any;
    for (const ir::RegionPtr& region : i.regions) AddConstants(*region, constants);
  }
  for (const auto& [name, v] : p.names)
    if (!varies[v]) constants.insert(name);
}

// Compares one value. Returns false if it has another sharding than all that Shardy gives it.
bool HasOneOf(const ir::Type* place, const Json& wanted, const stablehlo::TextMeshes& meshes,
              const std::string& mesh) {
  const std::string made = DimsText(place);
  const auto is = [&](const std::string& dims) {
    if (dims.empty()) return made.empty();
    const std::string text = dims[0] == '<' ? dims : fmt::format("<@{}, {}>", mesh, dims);
    stablehlo::Attribute attribute;
    attribute.text = text;
    return made == DimsText(place, meshes.ShardingOf(attribute));
  };
  if (wanted.is_string()) return is(wanted.get<std::string>());
  for (const Json& one : wanted)
    if (is(one.get<std::string>())) return true;
  return false;
}

void RunShardings(const fs::path& path, const Json& c) {
  if (!c.contains("propagated")) throw Skipped{};
  fs::path text = path;
  text.replace_extension(".mlir");
  const stablehlo::Module module = stablehlo::ReadModuleFile(text.string());
  const stablehlo::TextMeshes meshes(module, {});
  std::string mesh;
  for (const stablehlo::TextMesh& m : module.meshes)
    if (mesh.empty() && m.mesh.text.find('"') != std::string_view::npos) mesh = m.name;
  const Program program = load_stablehlo(text.string()).propagated();
  Named named;
  AddNames(*program.program(), named);
  const auto& outputs = program.program()->outputs;
  for (size_t r = 0; r < outputs.size(); ++r) {
    const ir::Type* place = program.program()->place(outputs[r]);
    named[fmt::format("return#{}", r)] = {place ? place : program.program()->type(outputs[r])};
  }
  std::set<std::string> constants;
  AddConstants(*program.program(), constants);
  std::vector<std::string> wrong;
  size_t right = 0, absent = 0;
  for (const auto& [function, values] : c["propagated"]["shardings"].items())
    for (const auto& [value, wanted] : values.items()) {
      if (function != "main" && value.starts_with("return#")) continue;
      const auto found = named.find((function == "main" ? "" : "@" + function + "/") + value);
      if (found == named.end()) {
        ++absent;
        continue;
      }
      for (const ir::Type* place : found->second) {
        // A constant that the importer does not need, such as the iota of an argmax.
        if (constants.contains(found->first) && DimsText(place).empty()) {
          ++absent;
          continue;
        }
        if (HasOneOf(place, wanted, meshes, mesh)) {
          ++right;
          continue;
        }
        wrong.push_back(
            fmt::format("{} is {}, not {}", found->first, DimsText(place), wanted.dump()));
      }
    }
  // Fully replicated values are left out.
  for (const auto& [name, places] : named) {
    if (name[0] != '%' && name[0] != '@') continue;  // of an argument, besides its own
    const bool of_main = name[0] != '@';
    const Json& functions = c["propagated"]["shardings"];
    const std::string function = of_main ? "main" : name.substr(1, name.find('/') - 1);
    const std::string value = of_main ? name : name.substr(name.find('/') + 1);
    if (!functions.contains(function) || functions[function].contains(value)) continue;
    if (constants.contains(name)) continue;
    // Arguments of regions have the sharding of the operand or result.
    if (value.find("/%iterArg") != std::string::npos || value.find("/%arg") != std::string::npos)
      continue;
    for (const ir::Type* place : places)
      if (!DimsText(place, WithoutParts(place->sharding(), value.starts_with("%arg"))).empty())
        wrong.push_back(fmt::format("{} is {}, not replicated", name, DimsText(place)));
  }
  if (!wrong.empty())
    throw Failure{fmt::format("{} right, {} absent, {} wrong: {}", right, absent, wrong.size(),
                              fmt::join(wrong, "; "))};
}

std::string TypesText(const Program& program) {
  const auto list = [&](const std::vector<ir::ValueId>& values) {
    std::string text;
    for (ir::ValueId v : values) {
      const ir::Type *type = program.program()->type(v), *place = program.program()->place(v);
      text += fmt::format("{}{} ", type->text(),
                          place ? " as " + sharding::Text(place->sharding()) : std::string());
    }
    return text;
  };
  return list(program.program()->inputs) + "-> " + list(program.program()->outputs);
}

void RunRoundTrip(const fs::path& path, const Json& c) {
  fs::path text = path;
  text.replace_extension(".mlir");
  const Program program = load_stablehlo(text.string());
  const Program again = import_stablehlo(export_stablehlo(program));
  if (TypesText(again) != TypesText(program))
    throw Failure{fmt::format("the types are {}, not {}", TypesText(again), TypesText(program))};
  std::vector<Array> inputs;
  for (size_t i = 0; i < c["inputs"].size(); ++i)
    inputs.push_back(Input(c["inputs"][i], again.inputs()[i], static_cast<int64_t>(i)));
  CompareAll(to_function(again)(inputs), c);
}

int Main(int argc, char** argv) {
  SetDeviceCount(8);
  int passed = 0, failed = 0, skipped = 0;
  const auto chosen = [&](std::string_view option) {
    return std::find(argv + 1, argv + argc, option) != argv + argc;
  };
  const auto run = chosen("--shardings")    ? RunShardings
                   : chosen("--round-trip") ? RunRoundTrip
                                            : RunNumbers;
  for (int k = 1; k < argc; ++k) {
    if (argv[k][0] == '-') continue;
    const fs::path path(argv[k]);
    try {
      const Json c = Json::parse(std::ifstream(path));
      run(path, c);
      ++passed;
      continue;
    } catch (const Skipped&) {
      ++skipped;
      continue;
    } catch (const Failure& f) {
      fmt::print("FAIL {}: {}\n", path.stem().string(), f.reason);
    } catch (const std::exception& e) {
      fmt::print("FAIL {}: {}\n", path.stem().string(), e.what());
    }
    ++failed;
  }
  fmt::print("{} passed, {} failed, {} skipped\n", passed, failed, skipped);
  return failed != 0;
}

}  // namespace
}  // namespace tessera::stablehlo_runner

int main(int argc, char** argv) { return tessera::stablehlo_runner::Main(argc, argv); }
