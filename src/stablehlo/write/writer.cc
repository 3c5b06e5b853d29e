// Text of operations, and the operations that most others are made of.
#include "stablehlo/write/writer.h"

#include <absl/algorithm/container.h>
#include <absl/strings/str_join.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/dtype.h"
#include "ir/host_tensor.h"
#include "ops/laid_out.h"
#include "ops/params.h"
#include "stablehlo/write/numbers.h"

namespace tessera::stablehlo {
namespace {

std::string NamesOf(const OutValues& values) {
  std::string out;
  for (const OutValue& v : values) out += (out.empty() ? "" : ", ") + v.name;
  return out;
}

std::string TypesText(const OutTypes& types) {
  std::string out;
  for (const OutType& t : types) out += (out.empty() ? "" : ", ") + TypeText(t);
  return out;
}

// Returns "FLOAT", "SIGNED" or "UNSIGNED".
std::string_view ComparisonType(DType dtype) {
  if (dtype.is_inexact()) return "FLOAT";
  return dtype.is_signed() ? "SIGNED" : "UNSIGNED";
}

}  // namespace

OutTypes TypesOf(const OutValues& values) {
  OutTypes types;
  for (const OutValue& v : values) types.push_back(v.type);
  return types;
}

OutType OutTypeOf(const base::Shape& shape, DType dtype) {
  if (!dtype.is_key()) return {shape, dtype};
  OutType words{shape, u32};
  words.shape.push_back(2);
  return words;
}

std::string ElementText(DType dtype) {
  switch (dtype.code()) {
    case DType::kBool:
      return "i1";
    case DType::kC64:
      return "complex<f32>";
    case DType::kC128:
      return "complex<f64>";
    case DType::kF8E3M4:
      return "f8E3M4";
    case DType::kF8E4M3:
      return "f8E4M3";
    case DType::kF8E4M3B11FNUZ:
      return "f8E4M3B11FNUZ";
    case DType::kF8E4M3FN:
      return "f8E4M3FN";
    case DType::kF8E4M3FNUZ:
      return "f8E4M3FNUZ";
    case DType::kF8E5M2:
      return "f8E5M2";
    case DType::kF8E5M2FNUZ:
      return "f8E5M2FNUZ";
    default:
      return dtype.is_unsigned() ? fmt::format("ui{}", dtype.bits()) : std::string(dtype.name());
  }
}

std::string TypeText(const OutType& type) {
  std::string out = "tensor<";
  for (int64_t n : type.shape) out += fmt::format("{}x", n);
  return out + ElementText(type.dtype) + ">";
}

std::string IntegersText(const std::vector<int64_t>& numbers) {
  if (numbers.empty()) return "array<i64>";
  return fmt::format("array<i64: {}>", fmt::join(numbers, ", "));
}
std::string NumbersText(const std::vector<int64_t>& numbers) {
  return fmt::format("[{}]", fmt::join(numbers, ", "));
}
std::string PairsText(const std::vector<int64_t>& first, const std::vector<int64_t>& second) {
  std::vector<std::string> pairs;
  for (size_t k = 0; k < first.size(); ++k)
    pairs.push_back(fmt::format("[{}, {}]", first[k], second[k]));
  return fmt::format("dense<{}> : tensor<{}x2xi64>",
                     pairs.empty() ? "" : fmt::format("[{}]", fmt::join(pairs, ", ")),
                     pairs.size());
}
std::string IntegerField(std::string_view name, int64_t value) {
  return fmt::format("{} = {} : i64", name, value);
}

std::string QuotedText(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\' || byte < 32 || byte > 126)
      out += fmt::format("\\{:02X}", byte);
    else
      out += c;
  }
  return out + "\"";
}

std::string_view ReductionOp(Reduction reduction) {
  switch (reduction) {
    case Reduction::kSum:
      return "stablehlo.add";
    case Reduction::kProd:
      return "stablehlo.multiply";
    case Reduction::kMax:
      return "stablehlo.maximum";
    case Reduction::kMin:
      return "stablehlo.minimum";
    case Reduction::kAnd:
      return "stablehlo.and";
    case Reduction::kOr:
      return "stablehlo.or";
    case Reduction::kXor:
      break;
  }
  return "stablehlo.xor";
}

std::string TextWriter::NewName() { return fmt::format("%{}", next_++); }

std::string TextWriter::LocationText() const {
  std::string text =
      loc_.line() == 0 ? "" : fmt::format("{}:{}:1", QuotedText(loc_.file()), loc_.line());
  // Readers take the outermost name for the name stack.
  for (std::string_view name : {std::string_view(value_name_), std::string_view(loc_.scope())})
    if (!name.empty()) text = QuotedText(name) + (text.empty() ? "" : "(" + text + ")");
  return text.empty() ? "" : fmt::format(" loc({})", text);
}

OutValues TextWriter::Add(std::string_view op, const OutValues& operands, const OutTypes& results,
                          std::string_view properties, const std::vector<std::string>& regions,
                          std::string_view others) {
  OutValues made;
  for (const OutType& t : results) made.push_back({NewName(), t});
  // The results of one operation have one number, and names of their own.
  if (made.size() > 1)
    for (size_t k = made.size(); k-- > 0;) made[k].name = fmt::format("{}#{}", made[0].name, k);
  body_ += "  ";
  if (made.size() == 1)
    body_ += made[0].name + " = ";
  else if (made.size() > 1)
    body_ += fmt::format("{}:{} = ", made[0].name.substr(0, made[0].name.find('#')), made.size());
  body_ += fmt::format("\"{}\"({})", op, NamesOf(operands));
  if (!properties.empty()) body_ += fmt::format(" <{{{}}}>", properties);
  if (!regions.empty()) body_ += fmt::format(" ({})", fmt::join(regions, ", "));
  if (!others.empty()) body_ += fmt::format(" {{{}}}", others);
  const std::string to = TypesText(results);
  body_ += fmt::format(" : ({}) -> {}{}{}", TypesText(TypesOf(operands)),
                       results.size() == 1 ? "" : "(", to, results.size() == 1 ? "" : ")");
  body_ += LocationText() + "\n";
  return made;
}

OutValue TextWriter::One(std::string_view op, const OutValues& operands, OutType result,
                         std::string_view properties, const std::vector<std::string>& regions) {
  return Add(op, operands, {std::move(result)}, properties, regions)[0];
}

OutValue TextWriter::Pretty(std::string_view text, OutType result) {
  OutValue made{NewName(), std::move(result)};
  body_ += fmt::format("  {} = {} : {}{}\n", made.name, text, TypeText(made.type), LocationText());
  return made;
}

void TextWriter::Group(const OutValues& members) {
  for (const OutValue& x : members)
    body_ += fmt::format("  sdy.sharding_group {} group_id={} : {}{}\n", x.name, groups_,
                         TypeText(x.type), LocationText());
  ++groups_;
}

std::string TextWriter::Region(const OutTypes& arguments, Body body, std::string_view ends_in) {
  std::string outside;
  outside.swap(body_);
  OutValues values;
  std::string head;
  for (const OutType& t : arguments) {
    values.push_back(Argument(t));
    head += fmt::format("{}{}: {}", head.empty() ? "" : ", ", values.back().name, TypeText(t));
  }
  Add(ends_in, body(values), {});
  outside.swap(body_);
  return fmt::format("{{\n{}{}}}", arguments.empty() ? "" : fmt::format("^bb0({}):\n", head),
                     outside);
}

std::string TextWriter::Function(std::string_view head, const OutValues& arguments, Body body) {
  std::string outside;
  outside.swap(body_);
  Add("func.return", body(arguments), {});
  outside.swap(body_);
  return fmt::format("{} {{\n{}}}\n", head, outside);
}

OutValues TextWriter::Call(std::string_view function, const OutValues& arguments, Body body) {
  const std::string name =
      fmt::format("{}_{}", function, absl::StrJoin(arguments, "_", [](std::string* out, auto& v) {
                    for (int64_t n : v.type.shape) *out += fmt::format("{}x", n);
                    *out += v.type.dtype.name();
                  }));
  auto known = known_functions_.find(name);
  if (known == known_functions_.end()) {
    OutTypes results;
    OutValues values;
    std::string head;
    for (const OutValue& v : arguments) {
      values.push_back(Argument(v.type));
      head +=
          fmt::format("{}{}: {}", head.empty() ? "" : ", ", values.back().name, TypeText(v.type));
    }
    const std::string text = Function("", values, [&](const OutValues& in) {
      OutValues out = body(in);
      results = TypesOf(out);
      return out;
    });
    functions_ +=
        fmt::format("func.func private @{}({}) -> ({}){}", name, head, TypesText(results), text);
    known = known_functions_.emplace(name, results).first;
  }
  return Add("func.call", arguments, known->second, "callee = @" + name);
}

OutValue TextWriter::Compare(std::string_view direction, const OutValue& a, const OutValue& b) {
  return One("stablehlo.compare", {a, b}, {a.type.shape, bool_},
             fmt::format("compare_type = #stablehlo<comparison_type {}>, comparison_direction = "
                         "#stablehlo<comparison_direction {}>",
                         ComparisonType(a.type.dtype), direction));
}

OutValue TextWriter::Select(const OutValue& p, const OutValue& a, const OutValue& b) {
  return One("stablehlo.select", {p, a, b}, a.type);
}

OutValue TextWriter::Convert(const OutValue& x, DType dtype) {
  if (x.type.dtype == dtype) return x;
  return One("stablehlo.convert", {x}, {x.type.shape, dtype});
}

OutValue TextWriter::Reshape(const OutValue& x, base::Shape shape) {
  if (x.type.shape == shape) return x;
  return One("stablehlo.reshape", {x}, {std::move(shape), x.type.dtype});
}

OutValue TextWriter::Transpose(const OutValue& x, const std::vector<int64_t>& permutation) {
  if (absl::c_is_sorted(permutation)) return x;
  OutType type{{}, x.type.dtype};
  for (int64_t d : permutation) type.shape.push_back(x.type.shape[d]);
  return One("stablehlo.transpose", {x}, std::move(type),
             "permutation = " + IntegersText(permutation));
}

OutValue TextWriter::Spread(const OutValue& x, base::Shape shape,
                            const std::vector<int64_t>& dims) {
  return One("stablehlo.broadcast_in_dim", {x}, {std::move(shape), x.type.dtype},
             "broadcast_dimensions = " + IntegersText(dims));
}

OutValue TextWriter::SpreadTo(const OutValue& x, const base::Shape& shape) {
  if (x.type.shape == shape) return x;
  std::vector<int64_t> dims;
  for (size_t d = shape.size() - x.type.shape.size(); d < shape.size(); ++d)
    dims.push_back(static_cast<int64_t>(d));
  return Spread(x, shape, dims);
}

OutValue TextWriter::Slice(const OutValue& x, const std::vector<int64_t>& starts,
                           const std::vector<int64_t>& limits,
                           const std::vector<int64_t>& strides) {
  const std::vector<int64_t> steps =
      strides.empty() ? std::vector<int64_t>(starts.size(), 1) : strides;
  OutType type{{}, x.type.dtype};
  for (size_t d = 0; d < starts.size(); ++d)
    type.shape.push_back((limits[d] - starts[d] + steps[d] - 1) / steps[d]);
  return One("stablehlo.slice", {x}, std::move(type),
             fmt::format("limit_indices = {}, start_indices = {}, strides = {}",
                         IntegersText(limits), IntegersText(starts), IntegersText(steps)));
}

OutValue TextWriter::SliceDim(const OutValue& x, int64_t dim, int64_t begin, int64_t end) {
  std::vector<int64_t> starts(x.type.shape.size(), 0), limits = x.type.shape;
  starts[static_cast<size_t>(dim)] = begin;
  limits[static_cast<size_t>(dim)] = end;
  return Slice(x, starts, limits);
}

OutValue TextWriter::Concatenate(const OutValues& parts, int64_t dim) {
  if (parts.size() == 1) return parts[0];
  OutType type = parts[0].type;
  int64_t& size = type.shape[static_cast<size_t>(dim)];
  size = 0;
  for (const OutValue& x : parts) size += x.type.shape[static_cast<size_t>(dim)];
  return One("stablehlo.concatenate", parts, std::move(type), IntegerField("dimension", dim));
}

OutValue TextWriter::Iota(OutType type, int64_t dim) {
  return One("stablehlo.iota", {}, std::move(type), IntegerField("iota_dimension", dim));
}

OutValue TextWriter::Constant(const OutType& type, std::span<const std::byte> element) {
  const std::string number = NumberText(type.dtype, element);
  return One("stablehlo.constant", {}, type,
             fmt::format("value = dense<{}> : {}", base::Elements(type.shape) == 0 ? "" : number,
                         TypeText(type)));
}

OutValue TextWriter::Number(const OutType& type, double number) {
  ir::HostTensor element(type.dtype, {});
  if (type.dtype.is_complex())
    element.SetComplex(0, number);
  else if (type.dtype.is_floating())
    element.SetFloat(0, number);
  else
    element.SetInt(0, static_cast<int64_t>(number));
  return Constant(type, element.data);
}

OutValue TextWriter::Whole(const OutType& type, int64_t number) {
  if (type.dtype.is_inexact()) return Number(type, static_cast<double>(number));
  ir::HostTensor element(type.dtype, {});
  element.SetInt(0, number);
  return Constant(type, element.data);
}

// The high word comes first.
OutValue TextWriter::Key(std::span<const std::byte> element) {
  const OutType word{{1}, u32};
  return Concatenate({Constant(word, element.subspan(4)), Constant(word, element.first(4))}, 0);
}

OutValue TextWriter::Word(const OutValue& keys, int64_t k, const base::Shape& shape) {
  base::Shape without = keys.type.shape;
  without.pop_back();
  return SpreadTo(Reshape(SliceDim(keys, keys.type.rank() - 1, k, k + 1), without), shape);
}

OutValue TextWriter::Identity(Reduction reduction, DType dtype) {
  const ir::ParamsPtr params = ops::IdentityOf(reduction, dtype);
  const ir::Literal& value = ir::As<ops::ConstantParams>(params.get()).value;
  return Constant({{}, dtype}, {value.bits.data(), static_cast<size_t>(dtype.size())});
}

OutValue TextWriter::Combine(std::string_view op, const OutValue& a, const OutValue& b) {
  const bool is_largest = op == ReductionOp(Reduction::kMax);
  if (!a.type.dtype.is_complex() || (!is_largest && op != ReductionOp(Reduction::kMin)))
    return Binary(op, a, b);
  const OutType part{a.type.shape, base::PartOf(a.type.dtype)};
  const std::string_view direction = is_largest ? "GT" : "LT";
  const OutValue real_a = One("stablehlo.real", {a}, part),
                 real_b = One("stablehlo.real", {b}, part);
  const OutValue imag_a = One("stablehlo.imag", {a}, part),
                 imag_b = One("stablehlo.imag", {b}, part);
  const OutValue first = Select(Compare("EQ", real_a, real_b), Compare(direction, imag_a, imag_b),
                                Compare(direction, real_a, real_b));
  return Select(first, a, b);
}

std::string TextWriter::Combiner(std::string_view op, DType dtype) {
  const OutType scalar{{}, dtype};
  return Region({scalar, scalar},
                [&](const OutValues& in) { return OutValues{Combine(op, in[0], in[1])}; });
}

OutValue TextWriter::Reduce(std::string_view op, const OutValue& x, const OutValue& start,
                            const std::vector<int64_t>& dims) {
  OutType type{{}, x.type.dtype};
  for (int64_t d = 0; d < x.type.rank(); ++d)
    if (!absl::c_linear_search(dims, d)) type.shape.push_back(x.type.shape[static_cast<size_t>(d)]);
  return One("stablehlo.reduce", {x, start}, std::move(type), "dimensions = " + IntegersText(dims),
             {Combiner(op, x.type.dtype)});
}

}  // namespace tessera::stablehlo
