// Numbers and constants as text.
#include "stablehlo/write/numbers.h"

#include <fmt/format.h>

#include <cmath>
#include <cstring>

#include "base/dtype.h"
#include "ir/host_tensor.h"

namespace tessera::stablehlo {
namespace {

// Constants of more elements are written as bytes.
constexpr int64_t kMostListed = 100;

std::string HexText(std::span<const std::byte> bytes) {
  std::string out;
  for (const std::byte b : bytes) out += fmt::format("{:02X}", static_cast<unsigned>(b));
  return out;
}

// Returns the shortest digits that give the number back, with the point that MLIR asks for.
std::string DigitsText(double v, bool is_wide) {
  std::string digits = is_wide ? fmt::format("{}", v) : fmt::format("{}", static_cast<float>(v));
  if (digits.find('.') != std::string::npos) return digits;
  const size_t e = digits.find('e');
  return e == std::string::npos ? digits + ".0" : digits.insert(e, ".0");
}

std::string FloatText(DType dtype, std::span<const std::byte> bytes) {
  ir::HostTensor element(dtype, {});
  std::memcpy(element.data.data(), bytes.data(), bytes.size());
  const double v = element.Float(0);
  if (std::isfinite(v)) return DigitsText(v, dtype == f64);
  std::vector<std::byte> reversed(bytes.rbegin(), bytes.rend());
  return "0x" + HexText(reversed);
}

std::string RowsText(const OutType& type, std::span<const std::byte> data, size_t d, size_t& at) {
  const auto size = static_cast<size_t>(type.dtype.size());
  if (d == type.shape.size()) return NumberText(type.dtype, data.subspan(size * at++, size));
  std::string out = "[";
  for (int64_t i = 0; i < type.shape[d]; ++i)
    out += (i == 0 ? "" : ", ") + RowsText(type, data, d + 1, at);
  return out + "]";
}

bool IsSplat(std::span<const std::byte> data, size_t size) {
  return data.size() >= size &&
         std::memcmp(data.data(), data.data() + size, data.size() - size) == 0;
}

}  // namespace

std::string NumberText(DType dtype, std::span<const std::byte> element) {
  if (dtype.is_complex()) {
    const size_t half = element.size() / 2;
    const DType part = base::PartOf(dtype);
    return fmt::format("({},{})", FloatText(part, element.first(half)),
                       FloatText(part, element.subspan(half)));
  }
  if (dtype.is_floating()) return FloatText(dtype, element);
  ir::HostTensor number(dtype, {});
  std::memcpy(number.data.data(), element.data(), element.size());
  const int64_t v = number.Int(0);
  if (dtype.is_bool()) return v != 0 ? "true" : "false";
  return dtype == u64 ? fmt::format("{}", static_cast<uint64_t>(v)) : fmt::format("{}", v);
}

std::string DenseText(const OutType& type, std::span<const std::byte> data) {
  const auto size = static_cast<size_t>(type.dtype.size());
  const int64_t elements = base::Elements(type.shape);
  size_t at = 0;
  std::string text;
  if (elements == 0)
    text = "";
  else if (IsSplat(data, size))
    text = NumberText(type.dtype, data.first(size));
  else if (elements > kMostListed && type.dtype.bits() >= 8)
    text = "\"0x" + HexText(data) + "\"";
  else
    text = RowsText(type, data, 0, at);
  return fmt::format("dense<{}> : {}", text, TypeText(type));
}

}  // namespace tessera::stablehlo
