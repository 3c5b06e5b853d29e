// Decodes constants.
#include "stablehlo/text/constants.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstring>

#include "base/narrow_floats.h"
#include "stablehlo/text/lexer.h"
#include "stablehlo/text/types.h"

namespace tessera::stablehlo {
namespace {

using Kind = ElementFormat::Kind;

constexpr std::array<int8_t, 256> kHexDigits = [] {
  std::array<int8_t, 256> digits{};
  digits.fill(-1);
  for (int i = 0; i < 10; ++i) digits[static_cast<size_t>('0' + i)] = static_cast<int8_t>(i);
  for (int i = 0; i < 6; ++i) {
    digits[static_cast<size_t>('a' + i)] = static_cast<int8_t>(10 + i);
    digits[static_cast<size_t>('A' + i)] = static_cast<int8_t>(10 + i);
  }
  return digits;
}();

// Rounds to f32 so that rounding the result again, to fewer bits, is as if it was done once: an
// inexact result gets an odd last bit.
float RoundToOdd(double value) {
  const auto rounded = static_cast<float>(value);
  if (static_cast<double>(rounded) == value || value != value) return rounded;
  auto bits = std::bit_cast<uint32_t>(rounded);
  if ((value < 0 ? -value : value) < (rounded < 0 ? -static_cast<double>(rounded) : rounded))
    --bits;
  return std::bit_cast<float>(bits | 1);
}

class ConstantDecoder {
 public:
  ConstantDecoder(const Module& module, const Attribute& constant, int bytes,
                  std::span<std::byte> out, RoundNarrow round)
      : module_(module),
        constant_(constant),
        type_(*constant.type),
        format_(FormatOf(type_.element)),
        bytes_(static_cast<size_t>(bytes)),
        out_(out),
        round_(round),
        lexer_(module.IsOfText(constant.text) ? module.text() : constant.text, module.file()),
        place_(module.PlaceOf(constant.text)) {}

  void Decode();

 private:
  size_t NumbersOfElement() const { return format_.is_complex ? 2 : 1; }
  size_t Numbers() const { return static_cast<size_t>(type_.count) * NumbersOfElement(); }
  [[noreturn]] void Fail(std::string reason) const { module_.Fail(lexer_.place(), reason); }
  void Check() const;
  void DecodeList(size_t dim);
  void DecodeElement();
  void DecodeNumber();
  void DecodeInteger(std::string_view text);
  void DecodeFloat(std::string_view text);
  template <class F>
  F Parsed(std::string_view text) const;
  uint64_t ParsedBits(std::string_view digits) const;
  void DecodeBytes();
  void CopyBytes(std::string_view digits);
  void DecodeBools(std::string_view digits);
  uint8_t ByteAt(std::string_view digits, size_t i) const;
  void RepeatFirst(size_t size);
  // Writes the number with these bits in the format of the constant.
  void PutBits(uint64_t bits);
  void PutInteger(uint64_t value, bool is_negative);
  void PutFloat(double value);
  void PutNarrow(double value);
  void Put(uint64_t bits) {
    std::memcpy(out_.data() + at_, &bits, bytes_);
    at_ += bytes_;
  }

  const Module& module_;
  const Attribute& constant_;
  const TextType& type_;
  const ElementFormat format_;
  const size_t bytes_;
  const std::span<std::byte> out_;
  const RoundNarrow round_;
  Lexer lexer_;
  const size_t place_;
  size_t at_ = 0;  // bytes written
};

void ConstantDecoder::Check() const {
  if (format_.kind == Kind::kUnknown)
    module_.Fail(place_, fmt::format("constants of {} are not read", type_.element));
  const bool is_float = format_.kind == Kind::kFloat;
  const bool is_native = bytes_ == static_cast<size_t>(format_.bytes);
  const bool is_converted = bytes_ == 8 || bytes_ == 4 || (!is_float && bytes_ <= 2);
  if (!is_native && (!is_converted || (is_float && format_.bytes == 1)))
    module_.Fail(place_, fmt::format("a constant of {} cannot be read as numbers of {} bytes",
                                     type_.element, bytes_));
  if (out_.size() != Numbers() * bytes_)
    module_.Fail(place_, fmt::format("a constant of {} numbers was asked for as {} bytes",
                                     Numbers(), out_.size()));
}

void ConstantDecoder::Decode() {
  Check();
  lexer_.set_place(place_);
  switch (constant_.form) {
    case Attribute::DenseForm::kEmpty:
      break;
    case Attribute::DenseForm::kBytes:
      DecodeBytes();
      break;
    case Attribute::DenseForm::kSplat:
      if (type_.count == 0) break;
      DecodeElement();
      RepeatFirst(at_);
      break;
    case Attribute::DenseForm::kList:
      DecodeList(0);
  }
  const size_t end = place_ + constant_.text.size();
  if (constant_.form != Attribute::DenseForm::kBytes && type_.count > 0 && lexer_.place() != end)
    Fail("expected the end of the constant");
}

void ConstantDecoder::DecodeList(size_t dim) {
  if (dim == type_.dims.size()) return DecodeElement();
  lexer_.Expect('[');
  for (int64_t i = 0; i < type_.dims[dim]; ++i) {
    if (i > 0 && !lexer_.Accept(','))
      Fail(fmt::format("the type has {} elements here, but the list has {}", type_.dims[dim], i));
    DecodeList(dim + 1);
  }
  if (lexer_.Peek() == ',')
    Fail(fmt::format("the list has more than the {} elements of the type", type_.dims[dim]));
  lexer_.Expect(']');
}

void ConstantDecoder::DecodeElement() {
  if (!format_.is_complex) return DecodeNumber();
  lexer_.Expect('(');
  DecodeNumber();
  lexer_.Expect(',');
  DecodeNumber();
  lexer_.Expect(')');
}

void ConstantDecoder::DecodeNumber() {
  if (format_.kind == Kind::kBool && !lexer_.AtNumber()) {
    const bool value = lexer_.Accept("true");
    if (!value) lexer_.Accept("false") ? void() : Fail("expected true or false");
    return Put(value ? 1 : 0);
  }
  if (!lexer_.AtNumber()) Fail("expected a number");
  const std::string_view text = lexer_.Number();
  if (format_.kind == Kind::kFloat)
    DecodeFloat(text);
  else
    DecodeInteger(text);
}

uint64_t ConstantDecoder::ParsedBits(std::string_view digits) const {
  uint64_t bits = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), bits, 16);
  if (error != std::errc() || end != digits.data() + digits.size()) Fail("expected hex digits");
  if (format_.bits < 64 && bits >> format_.bits != 0)
    Fail(fmt::format("these bits do not fit into {}", format_.number));
  return bits;
}

void ConstantDecoder::DecodeInteger(std::string_view text) {
  if (text.starts_with("0x")) return PutBits(ParsedBits(text.substr(2)));
  const bool is_negative = text[0] == '-';
  const std::string_view digits = text.substr(is_negative ? 1 : 0);
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error == std::errc() && end != digits.data() + digits.size()) Fail("expected an integer");
  const bool is_signed = format_.kind == Kind::kSigned;
  const int bits = format_.bits - (is_signed ? 1 : 0);
  const uint64_t most = bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - (is_negative ? 0 : 1);
  if (error != std::errc() || value > most || (is_negative && !is_signed && value > 0))
    Fail(fmt::format("{} does not fit into {}", text.substr(0, 40), format_.number));
  PutInteger(is_negative ? ~value + 1 : value, is_negative && value > 0);
}

template <class F>
F ConstantDecoder::Parsed(std::string_view text) const {
  F value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc::result_out_of_range) Fail("the number is out of range");
  if (error != std::errc() || end != text.data() + text.size()) Fail("expected a number");
  return value;
}

void ConstantDecoder::DecodeFloat(std::string_view text) {
  if (text.starts_with("0x")) return PutBits(ParsedBits(text.substr(2)));
  if (format_.bits == 32) return PutFloat(Parsed<float>(text));
  const auto value = Parsed<double>(text);
  if (format_.bits == 64)
    PutFloat(value);
  else
    PutNarrow(value);
}

// Rounds to a float of 16 or 8 bits.
void ConstantDecoder::PutNarrow(double value) {
  if (format_.number == "f16") return PutBits(base::FloatToHalf(RoundToOdd(value)));
  if (format_.number == "bf16") return PutBits(base::FloatToBrain(RoundToOdd(value)));
  uint8_t bits = 0;
  if (round_ == nullptr || !round_(format_.number, value, bits))
    Fail(fmt::format("numbers of {} are not read", format_.number));
  Put(bits);
}

void ConstantDecoder::PutInteger(uint64_t value, bool is_negative) {
  if (bytes_ < 8) {
    const size_t bits = 8 * bytes_ - (format_.kind == Kind::kSigned ? 1 : 0);
    const uint64_t high = value >> bits;
    if (high != (is_negative ? ~uint64_t{0} >> bits : 0))
      Fail(fmt::format("a number of this constant does not fit into {} bits", 8 * bytes_));
  }
  Put(value);
}

void ConstantDecoder::PutFloat(double value) {
  if (bytes_ == 8)
    Put(std::bit_cast<uint64_t>(value));
  else
    Put(std::bit_cast<uint32_t>(static_cast<float>(value)));
}

void ConstantDecoder::PutBits(uint64_t bits) {
  if (format_.kind != Kind::kFloat) {
    const int unused = 64 - format_.bits;
    bits <<= unused;
    if (format_.kind != Kind::kSigned) return PutInteger(bits >> unused, false);
    const auto value = static_cast<int64_t>(bits) >> unused;
    return PutInteger(static_cast<uint64_t>(value), value < 0);
  }
  if (bytes_ == static_cast<size_t>(format_.bytes)) return Put(bits);
  if (format_.bits == 64) return PutFloat(std::bit_cast<double>(bits));
  if (format_.bits == 32) return PutFloat(std::bit_cast<float>(static_cast<uint32_t>(bits)));
  const auto half = static_cast<uint16_t>(bits);
  PutFloat(format_.number == "f16" ? base::HalfToFloat(half) : base::BrainToFloat(half));
}

void ConstantDecoder::RepeatFirst(size_t size) {
  for (size_t done = size; done < out_.size(); done += std::min(done, out_.size() - done))
    std::memcpy(out_.data() + done, out_.data(), std::min(done, out_.size() - done));
  at_ = out_.size();
}

uint8_t ConstantDecoder::ByteAt(std::string_view digits, size_t i) const {
  const int high = kHexDigits[static_cast<unsigned char>(digits[2 * i])];
  const int low = kHexDigits[static_cast<unsigned char>(digits[2 * i + 1])];
  if (high < 0 || low < 0) module_.Fail(module_.PlaceOf(digits) + 2 * i, "expected hex digits");
  return static_cast<uint8_t>(16 * high + low);
}

// Writes the bytes as they are. The loop has no branch, as constants may be large.
void ConstantDecoder::CopyBytes(std::string_view digits) {
  int all = 0;  // negative if any digit is wrong
  for (size_t i = 0; i < digits.size() / 2; ++i) {
    const int high = kHexDigits[static_cast<unsigned char>(digits[2 * i])];
    const int low = kHexDigits[static_cast<unsigned char>(digits[2 * i + 1])];
    all |= high | low;
    out_[i] = static_cast<std::byte>(16 * high + low);
  }
  at_ = digits.size() / 2;
  for (size_t i = 0; all < 0; ++i) ByteAt(digits, i);
}

void ConstantDecoder::DecodeBytes() {
  const std::string_view quoted = lexer_.Quoted();
  if (!quoted.starts_with("0x") || quoted.size() % 2 != 0)
    module_.Fail(place_, "the bytes of a constant are \"0x\" and pairs of hex digits");
  if (lexer_.place() != place_ + constant_.text.size()) Fail("expected the end of the constant");
  const std::string_view digits = quoted.substr(2);
  if (format_.kind == Kind::kBool) return DecodeBools(digits);
  const auto native = static_cast<size_t>(format_.bytes);
  const size_t given = digits.size() / 2, element = native * NumbersOfElement();
  const bool is_splat = given == element && type_.count > 0;
  if (!is_splat && given != native * Numbers())
    module_.Fail(place_, fmt::format("the constant has {} bytes, but its type has {}", given,
                                     native * Numbers()));
  if (bytes_ == native && (format_.kind == Kind::kFloat || 8 * format_.bytes == format_.bits)) {
    CopyBytes(digits);
  } else {
    for (size_t number = 0; number < given / native; ++number) {
      uint64_t bits = 0;
      for (size_t i = 0; i < native; ++i)
        bits |= static_cast<uint64_t>(ByteAt(digits, number * native + i)) << (8 * i);
      PutBits(bits);
    }
  }
  if (is_splat) RepeatFirst(at_);
}

// Bools have a byte each; in texts of older versions a bit each, the lowest first.
void ConstantDecoder::DecodeBools(std::string_view digits) {
  const size_t given = digits.size() / 2, count = Numbers();
  if (given == count) {
    for (size_t i = 0; i < count; ++i) Put(ByteAt(digits, i) != 0 ? 1 : 0);
  } else if (given == 1 && count > 8) {
    Put(ByteAt(digits, 0) != 0 ? 1 : 0);
    RepeatFirst(at_);
  } else if (given == (count + 7) / 8) {
    for (size_t i = 0; i < count; ++i) Put(ByteAt(digits, i / 8) >> (i % 8) & 1);
  } else {
    module_.Fail(place_, fmt::format("the constant has {} bytes, but its type has {} elements",
                                     given, count));
  }
}

}  // namespace

ElementFormat FormatOf(std::string_view element) {
  ElementFormat format;
  format.number = element;
  if (element.starts_with("complex<")) {
    format.is_complex = true;
    format.number = element.substr(8, element.size() - 9);
  }
  const std::string_view number = format.number;
  if (number == "index") return {Kind::kSigned, false, 64, 8, number};
  const bool is_narrow = number.starts_with("f6") || number.starts_with("f4");
  if (!IsElementType(number) || (is_narrow && number != "f64") || number == "tf32") return {};
  const size_t digits = number.find_first_of("0123456789");
  std::from_chars(number.data() + digits, number.data() + number.size(), format.bits);
  format.bytes = (format.bits + 7) / 8;
  const std::string_view letters = number.substr(0, digits);
  format.kind = number == "i1"                      ? Kind::kBool
                : letters == "i" || letters == "si" ? Kind::kSigned
                : letters == "ui"                   ? Kind::kUnsigned
                                                    : Kind::kFloat;
  return format;
}

void DecodeConstant(const Module& module, const Attribute& constant, int bytes,
                    std::span<std::byte> out, RoundNarrow round) {
  ConstantDecoder(module, constant, bytes, out, round).Decode();
}

namespace {

// Decodes a number as a constant of one element. T is int64_t or double.
template <class T>
T DecodedNumber(const Module& module, const Attribute& number, const char* what) {
  constexpr bool kWantsFloat = std::is_floating_point_v<T>;
  TextType type;
  type.kind = TextType::Kind::kTensor;
  type.count = 1;
  type.element = number.type != nullptr ? number.type->text : kWantsFloat ? "f64" : "i64";
  const Kind kind = FormatOf(type.element).kind;
  if (number.kind != Attribute::Kind::kNumber || kind == Kind::kUnknown ||
      (kind == Kind::kFloat) != kWantsFloat)
    module.Fail(module.PlaceOf(number.text), what);
  Attribute constant = number;
  constant.kind = Attribute::Kind::kDense;
  constant.form = Attribute::DenseForm::kSplat;
  constant.type = &type;
  T value = 0;
  DecodeConstant(module, constant, sizeof(T), std::as_writable_bytes(std::span(&value, 1)));
  return value;
}

}  // namespace

int64_t IntegerOf(const Module& module, const Attribute& number) {
  return DecodedNumber<int64_t>(module, number, "expected an integer");
}

double FloatOf(const Module& module, const Attribute& number) {
  return DecodedNumber<double>(module, number, "expected a float");
}

std::vector<int64_t> IntegersOf(const Module& module, const Attribute& list) {
  if (list.kind == Attribute::Kind::kIntegers)
    return {list.numbers().begin(), list.numbers().end()};
  std::vector<int64_t> integers;
  if (list.kind == Attribute::Kind::kArray) {
    for (const Attribute& item : list.items()) integers.push_back(IntegerOf(module, item));
    return integers;
  }
  const bool is_constant = list.kind == Attribute::Kind::kDense;
  const Kind kind = is_constant ? FormatOf(list.type->element).kind : Kind::kUnknown;
  // A short text may be a splat of more elements than any list of dims or devices has.
  if (kind == Kind::kUnknown || kind == Kind::kFloat || list.type->count > (int64_t{1} << 24))
    module.Fail(module.PlaceOf(list.text), "expected a list of integers");
  integers.resize(static_cast<size_t>(list.type->count));
  DecodeConstant(module, list, sizeof(int64_t), std::as_writable_bytes(std::span(integers)));
  return integers;
}

}  // namespace tessera::stablehlo
