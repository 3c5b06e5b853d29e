// Decodes constants: `dense<1.5>`, `dense<[[1, 2], [3, 4]]>`, `dense<"0x...">`, `dense<>`.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "stablehlo/text/tree.h"

namespace tessera::stablehlo {

// How the numbers of an element type are stored as they are: a complex element has two numbers.
struct ElementFormat {
  enum class Kind : uint8_t { kUnknown, kBool, kSigned, kUnsigned, kFloat };
  Kind kind = Kind::kUnknown;
  bool is_complex = false;
  int bits = 0;             // of one number: 4 for i4
  int bytes = 0;            // of one number: 1 for i4
  std::string_view number;  // the type of one number: "f32" of complex<f32>
};
ElementFormat FormatOf(std::string_view element);

// Rounds a number to a float type of 8 bits and returns its bits. Returns false if it does not know
// the type.
using RoundNarrow = bool (*)(std::string_view type, double value, uint8_t& bits);

// Writes all numbers of a constant to `out`, in row-major order, each with `bytes` bytes: as many
// as the format has, or 8, 4, 2, 1 for integers (which must fit), 8 or 4 for floats (which are
// converted). Throws a RuntimeError with line and column if the constant is wrong or has the wrong
// number of elements, or if its type is none of these.
void DecodeConstant(const Module& module, const Attribute& constant, int bytes,
                    std::span<std::byte> out, RoundNarrow round = nullptr);

// Return the value of an attribute. Throw a RuntimeError with line and column if it has another
// kind. A number may be `true`; a list of integers may be `array<i64: 1, 2>`, `[1, 2]` or a
// constant, as in older texts, whose integers come in row-major order.
int64_t IntegerOf(const Module& module, const Attribute& number);
double FloatOf(const Module& module, const Attribute& number);
std::vector<int64_t> IntegersOf(const Module& module, const Attribute& list);

}  // namespace tessera::stablehlo
