// Regions as expressions.
#include "stablehlo/read/expressions.h"

#include <absl/algorithm/container.h>
#include <absl/container/flat_hash_map.h>
#include <absl/strings/ascii.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <bit>

#include "stablehlo/text/constants.h"

namespace tessera::stablehlo {
namespace {

constexpr size_t kLongest = 2000;  // an expression may be exponentially longer than its text

class Expressions {
 public:
  Expressions(const Module& module, const TextRegion& region, ComparedSides sides)
      : module_(module) {
    const uint32_t half = region.arguments / 2;
    for (uint32_t k = 0; k < region.arguments; ++k) {
      const bool in_turn = sides == ComparedSides::kInTurn;
      const bool left = in_turn ? k % 2 == 0 : k < half;
      const uint32_t number = in_turn ? k / 2 : left ? k : k - half;
      texts_[region.first_argument + k] = fmt::format("{}{}", left ? 'l' : 'r', number);
    }
  }

  // Returns the operands of the region's last operation.
  std::vector<std::string> Read(const TextRegion& region) {
    std::vector<std::string> results;
    for (size_t k = 0; k + 1 < region.operations.size(); ++k) {
      const Operation& op = region.operations[k];
      texts_[op.first_result] = op.result_types.size() == 1 ? TextOf(op) : "";
    }
    if (region.operations.empty()) return {};
    return Operands(region.operations.back());
  }

 private:
  std::vector<std::string> Operands(const Operation& op) const {
    std::vector<std::string> texts;
    for (uint32_t v : op.operands) {
      const auto found = texts_.find(v);
      texts.push_back(found == texts_.end() ? "" : found->second);
    }
    return texts;
  }
  std::string TextOf(const Operation& op) const {
    if (op.operands.empty()) return NumberText(module_, op);
    const std::vector<std::string> operands = Operands(op);
    if (absl::c_any_of(operands, [](const std::string& text) { return text.empty(); })) return "";
    if (op.name == "sdy.sharding_constraint") return operands[0];  // JAX shards scalars, too
    std::string name(op.name.substr(op.name.find('.') + 1));
    if (name == "compare") {
      const Attribute* direction = op.Find("comparison_direction");
      const Attribute* order = op.Find("compare_type");
      name = direction ? absl::AsciiStrToLower(std::string(direction->text)) : "";
      if (order && order->text == "TOTALORDER") name += '!';
    }
    std::string text = fmt::format("{}({})", name, fmt::join(operands, ","));
    return text.size() > kLongest ? "" : text;
  }

  const Module& module_;
  absl::flat_hash_map<uint32_t, std::string> texts_;  // by number of the value
};

bool IsFloat(const TextType& type) {
  const ElementFormat format = FormatOf(type.element);
  return format.kind == ElementFormat::Kind::kFloat && !format.is_complex;
}

// The comparison of a key: JAX makes NaNs and zeros of floats equal first.
std::string Compared(std::string_view direction, bool is_float, int64_t key) {
  const auto side = [&](char s) {
    const std::string x = fmt::format("{}{}", s, key);
    return is_float ? fmt::format("select(ne({0},{0}),nan,select(eq({0},0),0,{0}))", x) : x;
  };
  return fmt::format("{}{}({},{})", direction, is_float ? "!" : "", side('l'), side('r'));
}

// The function that compares by these keys, the first of them first.
std::string Comparator(std::string_view direction, const std::vector<bool>& is_float) {
  std::string text;
  for (auto k = static_cast<int64_t>(is_float.size()) - 1; k >= 0; --k) {
    const bool f = is_float[static_cast<size_t>(k)];
    const std::string less = Compared(direction, f, k);
    text = text.empty() ? less : fmt::format("or({},and({},{}))", less, Compared("eq", f, k), text);
  }
  return text;
}

}  // namespace

std::string NumberText(const Module& module, const Operation& op) {
  const Attribute* value = op.name == "stablehlo.constant" ? op.Find("value") : nullptr;
  if (!value || !value->type || value->type->count != 1) return "";
  const ElementFormat format = FormatOf(value->type->element);
  using enum ElementFormat::Kind;
  if (format.is_complex || format.kind == kUnknown || format.kind == kBool) return "";
  if (format.kind == kFloat && format.bits < 16) return "";
  std::array<std::byte, 8> bytes;
  DecodeConstant(module, *value, 8, bytes);
  if (format.kind == kSigned) return std::to_string(std::bit_cast<int64_t>(bytes));
  if (format.kind == kUnsigned) return std::to_string(std::bit_cast<uint64_t>(bytes));
  const auto number = std::bit_cast<double>(bytes);
  return number != number ? "nan" : fmt::format("{}", number);
}

std::vector<std::string> ExpressionsOf(const Module& module, const TextRegion& region,
                                       ComparedSides sides) {
  return Expressions(module, region, sides).Read(region);
}

std::optional<ComparedKeys> KeysOf(const Module& module, const TextRegion& region,
                                   const std::vector<const TextType*>& types) {
  const std::vector<std::string> made = ExpressionsOf(module, region, ComparedSides::kInTurn);
  if (made.size() != 1 || made[0].empty()) return std::nullopt;
  std::vector<bool> is_float;
  for (const TextType* type : types) {
    is_float.push_back(IsFloat(*type));
    for (const char* direction : {"lt", "gt"})
      if (made[0] == Comparator(direction, is_float))
        return ComparedKeys{static_cast<int64_t>(is_float.size()), direction[0] == 'g'};
  }
  return std::nullopt;
}

ChosenPair ChosenPairOf(const Module& module, const TextRegion& region) {
  const std::vector<std::string> made =
      ExpressionsOf(module, region, ComparedSides::kOneAfterTheOther);
  if (made.size() != 2) return ChosenPair::kNeither;
  for (const char* direction : {"gt", "lt"})
    for (const char* pick : {"or({}(l0,r0),ne(l0,l0))", "{}(l0,r0)"}) {
      const std::string first = fmt::format(fmt::runtime(pick), direction);
      if (made[0] == fmt::format("select({},l0,r0)", first) &&
          made[1] == fmt::format("select(or({},and(eq(l0,r0),lt(l1,r1))),l1,r1)", first))
        return direction[0] == 'g' ? ChosenPair::kLarger : ChosenPair::kSmaller;
    }
  return ChosenPair::kNeither;
}

}  // namespace tessera::stablehlo
