// Reads types.
#include "stablehlo/text/types.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "absl/container/flat_hash_set.h"

namespace tessera::stablehlo {
namespace {

// More elements than any memory holds, and few enough that sizes in bytes do not overflow.
constexpr int64_t kMostElements = int64_t{1} << 48;
constexpr size_t kMostDims = 64;
// Each level of a type keeps its text. Real programs have two levels.
constexpr int kMostTypeLevels = 8;

std::string_view Trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \n\t\r";
  text.remove_prefix(std::min(text.find_first_not_of(kBlanks), text.size()));
  return text.substr(0, text.find_last_not_of(kBlanks) + 1);
}

std::string ListText(std::span<const TextType* const> types) {
  std::string text = "(";
  for (const TextType* type : types) {
    if (text.size() > 1) text += ", ";
    text += type->text;
  }
  return text + ")";
}

}  // namespace

bool IsKnownDialect(std::string_view dialect) {
  for (std::string_view known : {"builtin", "func", "stablehlo", "chlo", "sdy", "mhlo"})
    if (dialect == known) return true;
  return false;
}

bool IsElementType(std::string_view text) {
  static const auto& known = *new absl::flat_hash_set<std::string_view>{
      "f16",           "bf16",         "f32",         "f64",        "tf32",
      "f8E3M4",        "f8E4M3",       "f8E4M3FN",    "f8E4M3FNUZ", "f8E5M2",
      "f8E4M3B11FNUZ", "f8E5M2FNUZ",   "f8E8M0FNU",   "f4E2M1FN",   "f6E2M3FN",
      "f6E3M2FN",      "i1",           "i2",          "i4",         "i8",
      "i16",           "i32",          "i64",         "ui2",        "ui4",
      "ui8",           "ui16",         "ui32",        "ui64",       "si2",
      "si4",           "si8",          "si16",        "si32",       "si64",
      "index",         "complex<f32>", "complex<f64>"};
  return known.contains(text);
}

const TextType* TypeReader::Unique(const std::string& text, TextType type) {
  if (const auto found = types_.find(text); found != types_.end()) return found->second;
  type.text = module_.Keep(std::string_view(text));
  const TextType* kept = module_.Keep(std::span<const TextType>(&type, 1)).data();
  types_[type.text] = kept;
  return kept;
}

const TextType* TypeReader::Tensor(std::string_view raw, size_t place) {
  if (const auto found = types_.find(raw); found != types_.end()) return found->second;
  const size_t start = sizeof("tensor<") - 1;
  const auto fail = [&](size_t at, std::string reason) { lexer_.FailAt(place + at, reason); };
  absl::InlinedVector<int64_t, 8> dims;
  int64_t count = 1, known_product = 1;
  size_t at = start;
  const auto skip = [&] { at = std::min(raw.find_first_not_of(" \n\t\r", at), raw.size()); };
  for (skip(); raw[at] == '?' || raw[at] == '*' || (raw[at] >= '0' && raw[at] <= '9'); skip()) {
    int64_t size = kOpenSize;
    if (raw[at] == '*') fail(at, "tensors without a rank are not read");
    if (raw[at] == '?') {
      ++at;
    } else {
      const auto [end, error] = std::from_chars(raw.data() + at, raw.data() + raw.size(), size);
      if (error != std::errc() || size > kMostElements) fail(at, "this size is above 2^48");
      at = static_cast<size_t>(end - raw.data());
    }
    skip();
    if (raw[at] != 'x') fail(at, "expected 'x' after a size");
    ++at;
    if (dims.size() == kMostDims) fail(at, "a tensor has at most 64 dims");
    dims.push_back(size);
    // A size of zero does not allow others that overflow.
    if (size > 0 && known_product > kMostElements / size)
      fail(start, "the shape has more than 2^48 elements");
    known_product *= std::max<int64_t>(size, 1);
    count = size == kOpenSize || count == kOpenSize ? kOpenSize : count * size;
  }
  std::string_view rest = raw.substr(at, raw.size() - at - 1), encoding;
  if (const size_t comma = rest.find(','); comma != std::string_view::npos && rest[0] != '!') {
    encoding = Trimmed(rest.substr(comma + 1));
    rest = rest.substr(0, comma);
  }
  rest = Trimmed(rest);
  if (!IsElementType(rest) && !rest.starts_with("!quant."))
    fail(at, fmt::format("unknown element type \"{}\"", rest.substr(0, 40)));
  std::string text = "tensor<";
  for (int64_t dim : dims) text += dim == kOpenSize ? "?x" : fmt::format("{}x", dim);
  text += rest;
  if (!encoding.empty()) fmt::format_to(std::back_inserter(text), ", {}", encoding);
  text += ">";
  TextType type;
  type.kind = TextType::Kind::kTensor;
  type.element = rest;
  type.encoding = encoding;
  type.dims = module_.Keep(std::span<const int64_t>(dims));
  type.count = count;
  return types_[raw] = Unique(text, type);
}

// Returns `tensor<...>` at the lexer's place.
std::string_view TypeReader::RawTensor() {
  const std::string_view text = lexer_.text();
  const size_t begin = lexer_.place();
  size_t at = begin + 6;
  for (int open = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '<') ++open;
    if (c == '>' && --open == 0) {
      lexer_.set_place(at + 1);
      return lexer_.Since(begin);
    }
    if (c == '"' || c == '-' || c == '\n') break;
  }
  lexer_.set_place(begin + 6);
  lexer_.Balanced();
  return lexer_.Since(begin);
}

const TextType* TypeReader::Named(std::string_view text) {
  if (const auto found = types_.find(text); found != types_.end()) return found->second;
  if (text.starts_with("tensor<")) return Tensor(module_.Keep(text), lexer_.place());
  return Unique(std::string(text), {});
}

const TextType* TypeReader::FunctionOf(const TextTypes& operands, const TextTypes& results) {
  std::string text = ListText(operands) + " -> ";
  const bool is_single = results.size() == 1 && results[0]->kind != TextType::Kind::kFunction;
  text += is_single ? std::string(results[0]->text) : ListText(results);
  TextType type;
  type.kind = TextType::Kind::kFunction;
  type.operands = module_.Keep(std::span<const TextType* const>(operands));
  type.results = module_.Keep(std::span<const TextType* const>(results));
  return Unique(text, type);
}

void TypeReader::ReadList(TextTypes& types) {
  if (!lexer_.Accept('(')) {
    types.push_back(Read());
    return;
  }
  if (lexer_.Accept(')')) return;
  do types.push_back(Read());
  while (lexer_.Accept(','));
  lexer_.Expect(')');
}

void TypeReader::ReadSignature(TextTypes& operands, TextTypes& results) {
  if (lexer_.Peek() != '(') lexer_.FailToFind("(");
  ReadList(operands);
  lexer_.Expect("->");
  ReadList(results);
}

const TextType* TypeReader::Tuple() {
  TextTypes members;
  lexer_.Expect('<');
  if (!lexer_.Accept('>')) {
    do members.push_back(Read());
    while (lexer_.Accept(','));
    lexer_.Expect('>');
  }
  const std::string list = ListText(members);
  TextType type;
  type.kind = TextType::Kind::kTuple;
  type.results = module_.Keep(std::span<const TextType* const>(members));
  return Unique("tuple<" + list.substr(1, list.size() - 2) + ">", type);
}

// Reads `!stablehlo.token` or `!quant.uniform<...>`. MLIR defines no aliases of the types here.
const TextType* TypeReader::OfDialect() {
  const size_t begin = lexer_.place();
  lexer_.Expect('!');
  const std::string_view name = lexer_.Word("the name of a type after '!'");
  const std::string_view dialect = name.substr(0, name.find('.'));
  if (!IsKnownDialect(dialect) && dialect != "quant")
    lexer_.FailAtUnknown(begin, fmt::format("unknown dialect \"{}\"", dialect));
  if (lexer_.text().substr(lexer_.place(), 1) == "<") lexer_.Balanced();
  return Unique(std::string(lexer_.Since(begin)), {});
}

const TextType* TypeReader::Read() {
  const char next = lexer_.Peek();
  const size_t begin = lexer_.place();
  if (next == 't' && lexer_.text().substr(begin, 7) == "tensor<") return Tensor(RawTensor(), begin);
  const Level nested(level_, lexer_);
  const Level nested_type(type_level_, lexer_, kMostTypeLevels);
  if (next == '(') {
    TextTypes operands, results;
    ReadSignature(operands, results);
    return FunctionOf(operands, results);
  }
  if (next == '!') return OfDialect();
  const std::string_view word = lexer_.Word("a type");
  if (word == "tuple") return Tuple();
  if (word == "complex") lexer_.Balanced();
  const std::string_view text = lexer_.Since(begin);
  if (!IsElementType(text) && text != "none")
    lexer_.FailAt(begin, fmt::format("unknown type \"{}\"", text.substr(0, 40)));
  return Named(text);
}

}  // namespace tessera::stablehlo
