// Attributes, types and regions of an operation.
#include "stablehlo/read/read_call.h"

#include <fmt/format.h>

#include <utility>

#include "base/error.h"
#include "stablehlo/read/importer.h"

namespace tessera::stablehlo {

DType DTypeOf(std::string_view element) {
  static const auto* const dtypes =
      new absl::flat_hash_map<std::string_view, DType>{{"i1", bool_},
                                                       {"i2", i2},
                                                       {"i4", i4},
                                                       {"i8", i8},
                                                       {"i16", i16},
                                                       {"i32", i32},
                                                       {"i64", i64},
                                                       {"ui2", u2},
                                                       {"ui4", u4},
                                                       {"ui8", u8},
                                                       {"ui16", u16},
                                                       {"ui32", u32},
                                                       {"ui64", u64},
                                                       {"f8E3M4", f8_e3m4},
                                                       {"f8E4M3", f8_e4m3},
                                                       {"f8E4M3B11FNUZ", f8_e4m3b11fnuz},
                                                       {"f8E4M3FN", f8_e4m3fn},
                                                       {"f8E4M3FNUZ", f8_e4m3fnuz},
                                                       {"f8E5M2", f8_e5m2},
                                                       {"f8E5M2FNUZ", f8_e5m2fnuz},
                                                       {"f16", f16},
                                                       {"bf16", bf16},
                                                       {"f32", f32},
                                                       {"f64", f64},
                                                       {"complex<f32>", c64},
                                                       {"complex<f64>", c128}};
  const auto found = dtypes->find(element);
  return found == dtypes->end() ? DType{} : found->second;
}

const Array& ReadCall::In(size_t k) const {
  if (k >= in.size())
    Fail(fmt::format("it needs {}, not {}", base::CountText(k + 1, "operand"), in.size()));
  return in[k];
}

void ReadCall::Replace(size_t k, Array by) const { frame_.values[op_.operands[k]] = std::move(by); }

void ReadCall::CheckOneShape() const {
  for (const Array& x : in)
    if (api::ShapeOf(x) != api::ShapeOf(in[0]))
      Fail(fmt::format("its operands have different shapes: {} and {}", api::TypeOf(in[0])->text(),
                       api::TypeOf(x)->text()));
}

namespace {
const Operation* FindDefinition(const TextRegion& region, uint32_t value) {
  for (const Operation& op : region.operations) {
    if (value - op.first_result < op.result_types.size()) return &op;
    for (const TextRegion& inner : op.regions)
      if (const Operation* found = FindDefinition(inner, value)) return found;
  }
  return nullptr;
}
}  // namespace

const Operation* ReadCall::DefinitionOf(size_t k) const {
  return k < op_.operands.size() ? DefinitionOfValue(op_.operands[k]) : nullptr;
}
const Operation* ReadCall::DefinitionOfValue(uint32_t value) const {
  return FindDefinition(frame_.function.body, value);
}

const Attribute& ReadCall::Get(std::string_view name) const {
  const Attribute* found = op_.Find(name);
  if (!found) Fail(fmt::format("it has no attribute {}", name));
  return *found;
}

int64_t ReadCall::Integer(std::string_view name) const {
  return IntegerOf(importer_.module(), Get(name));
}
int64_t ReadCall::Integer(std::string_view name, int64_t otherwise) const {
  return Has(name) ? Integer(name) : otherwise;
}
double ReadCall::Float(std::string_view name) const {
  return FloatOf(importer_.module(), Get(name));
}
bool ReadCall::Flag(std::string_view name) const {
  const Attribute* found = op_.Find(name);
  if (!found) return false;
  return found->kind == Attribute::Kind::kUnit || IntegerOf(importer_.module(), *found) != 0;
}
std::vector<int64_t> ReadCall::Integers(std::string_view name) const {
  return IntegersOf(importer_.module(), Get(name));
}
std::vector<int64_t> ReadCall::Integers(std::string_view name, size_t count, int64_t each) const {
  std::vector<int64_t> numbers = Has(name) ? Integers(name) : std::vector<int64_t>(count, each);
  if (numbers.size() == 1) numbers.resize(count, numbers[0]);  // dense<1> : tensor<2xi64>
  if (numbers.size() != count)
    Fail(fmt::format("{} must have {} numbers, not {}", name, count, numbers.size()));
  return numbers;
}
std::string_view ReadCall::Word(std::string_view name) const {
  const Attribute* found = op_.Find(name);
  return found ? found->text : std::string_view();
}
std::vector<int64_t> ReadCall::FieldIntegers(std::string_view name, std::string_view field) const {
  const Attribute* found = Get(name).Find(field);
  return found ? IntegersOf(importer_.module(), *found) : std::vector<int64_t>();
}
int64_t ReadCall::FieldInteger(std::string_view name, std::string_view field,
                               int64_t otherwise) const {
  const Attribute* found = Get(name).Find(field);
  return found ? IntegerOf(importer_.module(), *found) : otherwise;
}

const TextType& ReadCall::ResultType(size_t k) const {
  if (k >= op_.result_types.size())
    Fail(fmt::format("it needs {}, not {}", base::CountText(k + 1, "result"),
                     op_.result_types.size()));
  const TextType& type = *op_.result_types[k];
  if (type.kind != TextType::Kind::kTensor || type.count == kOpenSize)
    Fail(fmt::format("a result of type {} is not supported", type.text));
  return type;
}
base::Shape ReadCall::ResultShape(size_t k) const {
  const TextType& type = ResultType(k);
  return base::Shape(type.dims.begin(), type.dims.end());
}
DType ReadCall::ResultDType(size_t k) const {
  const TextType& type = ResultType(k);
  const DType dtype = DTypeOf(type.element);
  if (dtype.is_default()) Fail(fmt::format("a result of type {} is not supported", type.text));
  return dtype;
}

Array ReadCall::Run(const ir::OpDef& op, ir::ParamsPtr params, const Arrays& operands) const {
  const ir::ShapeAndDType wanted = Result();
  api::ResultOptions options{.wanted = &wanted};
  if (op.out_sharding && out_sharding_) {
    options.out_sharding = out_sharding_;
    options.rank = static_cast<int>(wanted.shape.size());
  }
  return api::Run(op, std::move(params), operands, call_, options);
}

Arrays ReadCall::RunRegion(size_t k, const Arrays& arguments) const {
  if (k >= op_.regions.size())
    Fail(fmt::format("it needs {}, not {}", base::CountText(k + 1, "region"), op_.regions.size()));
  if (op_.regions[k].arguments != arguments.size())
    Fail(fmt::format("its region needs {}, not {}", base::CountText(arguments.size(), "argument"),
                     op_.regions[k].arguments));
  const size_t outer = frame_.path.size();
  if (!op_.result_types.empty())
    frame_.path += fmt::format("%{}/{}/", frame_.function.values[op_.first_result].name, k);
  const bool is_manual = op_.name == "sdy.manual_computation";
  Arrays results = importer_.Inside(
      *this, is_manual, [&] { return importer_.RunRegion(frame_, op_.regions[k], arguments); });
  frame_.path.resize(outer);
  return results;
}

Array ReadCall::Only(const Arrays& results) const {
  if (results.size() != 1)
    Fail(fmt::format("its region returns {}, not 1", base::CountText(results.size(), "value")));
  return results[0];
}

ReadCall::OnTwo ReadCall::RegionOfTwo(size_t k, bool in_pairs) const {
  return [this, k, in_pairs](const Arrays& a, const Arrays& b) {
    Arrays arguments;
    if (in_pairs) {
      for (size_t i = 0; i < a.size(); ++i) {
        arguments.push_back(a[i]);
        arguments.push_back(b[i]);
      }
    } else {
      arguments = a;
      arguments.insert(arguments.end(), b.begin(), b.end());
    }
    const bool names = std::exchange(frame_.names_values, false);
    Arrays results = RunRegion(k, arguments);
    frame_.names_values = names;
    return results;
  };
}

void ReadCall::Fail(std::string reason) const {
  const bool is_custom = op_.name == "stablehlo.custom_call";
  importer_.module().Fail(
      op_.place, is_custom ? fmt::format("{} @{}: {}", op_.name, Word("call_target_name"), reason)
                           : fmt::format("{}: {}", op_.name, reason));
}

}  // namespace tessera::stablehlo
