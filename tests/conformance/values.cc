// Builds arguments from recorded numbers, and compares results on one device and on a mesh.
#include "values.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <set>

#include "base/float8.h"
#include "compare.h"
#include "machine.h"
#include "ops.h"

namespace tessera::conformance {
namespace {

std::string ArgumentType(const Json& arg) {
  return arg.is_string() ? arg.get<std::string>() : arg.at("type").get<std::string>();
}

template <class E>
void Append(std::vector<std::byte>& bytes, E value) {
  size_t at = bytes.size();
  bytes.resize(at + sizeof(E));
  std::memcpy(bytes.data() + at, &value, sizeof(E));
}

void AppendElement(std::vector<std::byte>& bytes, DType dtype, const Json& json) {
  if (dtype.is_float8()) {
    const auto format = base::Float8Format::Of(dtype.code());
    const auto v = static_cast<float>(Number(json));
    return Append(bytes, static_cast<uint8_t>(base::FloatToFloat8(format, v)));
  }
  switch (dtype.code()) {
    case DType::kBool:
      return Append<uint8_t>(bytes, Number(json) != 0);
    case DType::kI2:
    case DType::kI4:
    case DType::kI8:
      return Append(bytes, json.get<int8_t>());
    case DType::kI16:
      return Append(bytes, json.get<int16_t>());
    case DType::kI32:
      return Append(bytes, json.get<int32_t>());
    case DType::kI64:
      return Append(bytes, json.get<int64_t>());
    case DType::kU2:
    case DType::kU4:
    case DType::kU8:
      return Append(bytes, json.get<uint8_t>());
    case DType::kU16:
      return Append(bytes, json.get<uint16_t>());
    case DType::kU32:
      return Append(bytes, json.get<uint32_t>());
    case DType::kU64:
      return Append(bytes, json.get<uint64_t>());
    case DType::kF16:
      return Append(bytes, Float16(static_cast<float>(Number(json))));
    case DType::kBF16:
      return Append(bytes, BFloat16(static_cast<float>(Number(json))));
    case DType::kF32:
      return Append(bytes, static_cast<float>(Number(json)));
    case DType::kC64:
      return Append(bytes, std::complex<float>(ComplexNumber(json)));
    case DType::kC128:
      return Append(bytes, ComplexNumber(json));
    default:
      return Append(bytes, Number(json));
  }
}

// The first two dims over x and y where they divide. Dims of size 0 stay whole.
PartitionSpec Sharded(const std::vector<int64_t>& shape) {
  std::vector<DimSharding> dims;
  const char* names[] = {"x", "y"};
  for (size_t d = 0; d < shape.size(); ++d) {
    bool divides = d < 2 && shape[d] > 0 && shape[d] % 2 == 0;
    dims.push_back(divides ? DimSharding(names[d]) : DimSharding(None));
  }
  return PartitionSpec(std::move(dims));
}

Operand WeakArgument(const Json& arg, DType dtype) {
  Json value = arg.contains("data") ? arg["data"].at(0) : Json(1);
  if (dtype.is_bool()) return Operand(Scalar(Number(value) != 0));
  if (dtype.is_complex()) return Operand(ComplexNumber(value));
  return Operand(dtype.is_floating() ? Scalar(Number(value)) : Scalar(value.get<int64_t>()));
}

// Arguments whose case asks for types alone are ones.
Operand Argument(const Json& arg, bool sharded) {
  ArrayType type = ArrayType::Parse(ArgumentType(arg));
  DType dtype = type.dtype();
  if (arg.is_object() && arg.value("weak", false)) return WeakArgument(arg, dtype);
  std::optional<PartitionSpec> spec;
  if (sharded) spec = Sharded(type.shape());
  if (!arg.is_object() || !arg.contains("data")) {
    return Operand(ones(Shape(type.shape()), {.dtype = dtype, .out_sharding = spec}));
  }
  std::vector<std::byte> bytes;
  for (const Json& element : arg["data"]) AppendElement(bytes, dtype, element);
  detail::HostData host{bytes.data(), static_cast<int64_t>(arg["data"].size()), dtype};
  ArrayOptions options{.dtype = dtype, .shape = Shape(type.shape()), .out_sharding = spec};
  return Operand(detail::ArrayFromHost(host, options, Loc::Current()));
}

// Returns `wanted` without the elements at which an argument of that size is subnormal: the table's
// JAX takes them for zeros, and a library that keeps them is as good (the table's README).
Json WithoutSubnormals(const Case& c, const Json& wanted) {
  Json masked = wanted;
  for (const auto& [name, arg] : c.args.items()) {
    if (!arg.is_object() || !arg.contains("data") || arg["data"].size() != wanted.size()) continue;
    double least = ArgumentType(arg).rfind("f64", 0) == 0 ? std::numeric_limits<double>::min()
                                                          : std::numeric_limits<float>::min();
    for (size_t i = 0; i < wanted.size(); ++i) {
      double x = std::abs(ComplexNumber(arg["data"][i]));
      if (x > 0 && x < least) masked[i] = nullptr;
    }
  }
  return masked;
}

// One run of a case.
class Pass {
 public:
  Pass(const Case& c, const Families& families, bool sharded)
      : case_(c), families_(families), sharded_(sharded), machine_(c) {}
  Outcome Run();

 private:
  void Step(size_t k);
  std::optional<Outcome> Compare(const std::string& name);
  Situation At(size_t k) const;
  Outcome Refused(size_t k, Outcome outcome) const;
  Outcome Accepted(size_t k);

  const Case& case_;
  const Families& families_;
  bool sharded_;
  Machine machine_;
  Outcome outcome_;
};

// Runs an instruction; operands whose placement the typing rule refuses are replicated and counted.
// Captures of the functions of control flow are replicated too, and a carry whose placement changes
// counts as refused.
void Pass::Step(size_t k) {
  bool control = !case_.body[k].functions.empty();
  try {
    return machine_.Step(k);
  } catch (const ShardingError&) {
    if (!sharded_) throw;
  } catch (const TraceError&) {
    if (!sharded_ || !control) throw;
  }
  if (control) machine_.Replicate();
  std::vector<Operand> operands;
  for (const Operand& operand : machine_.Operands(k)) {
    operands.push_back(operand.scalar() ? operand : Operand(reshard(operand.array(), P())));
  }
  machine_.Step(k, operands);
  ++outcome_.resharded;
}

std::optional<Outcome> Pass::Compare(const std::string& name) {
  const Json& expect = case_.expect;
  const Array& array = machine_.Get(name).array();
  ArrayType type = type_of(array);
  if (expect.contains("types") && expect["types"].contains(name)) {
    std::string wanted = expect["types"][name].get<std::string>();
    ArrayType parsed = ArrayType::Parse(wanted);
    if (parsed.shape() != type.shape() || parsed.dtype() != type.dtype()) {
      return Failed(Kind::kDifferent, name + ": " + wanted, type.text());
    }
  }
  if (!expect.contains("data") || !expect["data"].contains(name)) return std::nullopt;
  std::optional<double> tolerance;
  if (expect.contains("tol")) tolerance = expect["tol"].get<double>();
  std::optional<std::string> difference = CompareData(array, expect["data"][name], tolerance);
  if (!difference) return std::nullopt;
  bool floats = array.dtype().is_inexact();
  if (case_.loose ||
      (floats && !CompareData(array, WithoutSubnormals(case_, expect["data"][name]), tolerance))) {
    outcome_.loose = true;
    return std::nullopt;
  }
  return Failed(Kind::kDifferent, name + ": " + type.text() + " as listed", *difference);
}

Situation Pass::At(size_t k) const {
  Situation situation{case_, case_.body[k], {}};
  for (const Operand& operand : machine_.Operands(k)) {
    if (!operand.scalar()) situation.operands.push_back(type_of(operand.array()));
  }
  return situation;
}

// JAX's acceptance may be argued to be wrong.
Outcome Pass::Refused(size_t k, Outcome outcome) const {
  if (outcome.kind != Kind::kRefuses) return outcome;
  if (auto family = families_.Find(At(k), Departure::kRefused)) {
    outcome.family = family->name;
    outcome.passed = true;
  }
  return outcome;
}

Outcome Pass::Accepted(size_t k) {
  const Situation situation = At(k);
  const std::string& name = case_.body[k].out.at(0);
  Outcome outcome = Failed(Kind::kAcceptsMore, name + " refused: " + case_.refusal(),
                           type_of(machine_.Get(name).array()).text());
  auto family = case_.gap ? Family{"gap", false} : families_.Find(situation, Departure::kAccepted);
  if (family) outcome.family = family->name;
  outcome.passed = family.has_value();
  return outcome;
}

Outcome Pass::Run() {
  for (const auto& [name, arg] : case_.args.items()) machine_.Set(name, Argument(arg, sharded_));
  for (size_t k = 0; k < case_.body.size(); ++k) {
    try {
      Step(k);
    } catch (...) {
      Outcome caught = Caught(case_, k, machine_);
      return caught.kind == Kind::kSame ? outcome_ : Refused(k, std::move(caught));
    }
    if (case_.refused_at() == case_.body[k].out.at(0)) return Accepted(k);
    for (const std::string& name : case_.body[k].out) {
      if (auto failure = Compare(name)) return *failure;
    }
  }
  return outcome_;
}

}  // namespace

Outcome RunValues(const Case& c, const Families& families) {
  std::string why = WhyUnsupported(c);
  if (!why.empty()) return Skipped(why);
  DefaultDtypes wide(i64, f64);
  Outcome alone = Pass(c, families, false).Run();
  if (alone.kind != Kind::kSame) {
    if (alone.kind != Kind::kUnsupported) alone.came = "one device: " + alone.came;
    return alone;
  }
  MeshScope scope(make_mesh({{"x", 2}, {"y", 2}}));
  Outcome sharded = Pass(c, families, true).Run();
  sharded.loose = sharded.loose || alone.loose;
  if (sharded.kind != Kind::kSame) sharded.came = "2 x 2 mesh: " + sharded.came;
  return sharded;
}

}  // namespace tessera::conformance
