// stablehlo_runner [--numbers|--shardings|--collectives|--round-trip] CASE.json...: programs as JAX
// prints them (../shared/stablehlo/README.md has the format).
//   --numbers      runs them on one device and partitioned, and compares with JAX's numbers
//   --shardings    propagates, and compares with Shardy's shardings
//   --collectives  partitions, and compares the bytes that devices receive with those of XLA
//   --round-trip   exports them and imports the export: the same types and numbers
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <tessera/stablehlo.h>
#include <tessera/tessera.h>

#include <algorithm>
#include <cmath>
#include <fstream>

#include "cases.h"
#include "ir/host_tensor.h"
#include "ir/program.h"
#include "sharding/text.h"

namespace tessera::stablehlo_runner {
namespace {

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
  const fs::path text = TextOf(path);
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
  const fs::path text = TextOf(path);
  const Program program = load_stablehlo(text.string());
  const Program again = import_stablehlo(export_stablehlo(program));
  if (TypesText(again) != TypesText(program))
    throw Failure{fmt::format("the types are {}, not {}", TypesText(again), TypesText(program))};
  std::vector<Array> inputs;
  for (size_t i = 0; i < c["inputs"].size(); ++i)
    inputs.push_back(Input(c["inputs"][i], again.inputs()[i], static_cast<int64_t>(i)));
  CompareAll(to_function(again)(inputs), c);
}

}  // namespace

const Json& Differences() {
  static const Json differences = Json::parse(std::ifstream(STABLEHLO_DIFFERENCES));
  return differences;
}

namespace {

int Main(int argc, char** argv) {
  SetDeviceCount(8);
  int passed = 0, failed = 0, skipped = 0;
  const auto chosen = [&](std::string_view option) {
    return std::find(argv + 1, argv + argc, option) != argv + argc;
  };
  const auto run = chosen("--shardings")     ? RunShardings
                   : chosen("--collectives") ? RunCollectives
                   : chosen("--round-trip")  ? RunRoundTrip
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
