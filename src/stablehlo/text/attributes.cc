// Reads attributes.
#include "stablehlo/text/attributes.h"

#include <fmt/format.h>

#include <algorithm>

namespace tessera::stablehlo {
namespace {

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

Attribute Of(Attribute::Kind kind, std::string_view name, std::string_view text) {
  Attribute attribute;
  attribute.kind = kind;
  attribute.name = name;
  attribute.text = text;
  return attribute;
}

bool IsDialectOfStructs(std::string_view name) {
  if (name == "stablehlo.bounds" || name == "stablehlo.type_extensions") return false;
  return name.starts_with("stablehlo.") || name.starts_with("chlo.") || name.starts_with("mhlo.");
}

}  // namespace

Attribute AttributeReader::Word(std::string_view name, std::string_view text) const {
  return Of(Attribute::Kind::kWord, name, text);
}
Attribute AttributeReader::String(std::string_view text) const {
  return Of(Attribute::Kind::kString, "", text);
}
Attribute AttributeReader::Symbol(std::string_view text) const {
  return Of(Attribute::Kind::kSymbol, "", text);
}

Attribute AttributeReader::Number(std::string_view text, std::string_view type) {
  Attribute number = Of(Attribute::Kind::kNumber, "", text);
  number.type = types_.Named(type);
  return number;
}

Attribute AttributeReader::Integers(std::string_view element, std::span<const int64_t> numbers) {
  Attribute integers = Of(Attribute::Kind::kIntegers, element, "");
  integers.first_number = module_.Keep(numbers).data();
  integers.count = static_cast<uint32_t>(numbers.size());
  return integers;
}

Attribute AttributeReader::Array(std::span<const Attribute> items) {
  Attribute array = Of(Attribute::Kind::kArray, "", "");
  array.first_item = module_.Keep(items).data();
  array.count = static_cast<uint32_t>(items.size());
  return array;
}

Attribute AttributeReader::Struct(std::string_view name, std::span<const NamedAttribute> fields) {
  Attribute made = Of(Attribute::Kind::kStruct, name, "");
  made.first_field = module_.Keep(fields).data();
  made.count = static_cast<uint32_t>(fields.size());
  return made;
}

Attribute AttributeReader::Raw(size_t begin) const {
  return Of(Attribute::Kind::kOpaque, "", lexer_.Since(begin));
}

std::string_view AttributeReader::JoinedName(std::string_view dialect, std::string_view mnemonic) {
  std::string name = fmt::format("{}.{}", dialect, mnemonic);
  std::string_view& kept = names_[name];
  if (kept.empty()) kept = module_.Keep(std::string_view(name));
  return kept;
}

std::string_view AttributeReader::Unescaped(std::string_view text, size_t place) {
  if (text.find('\\') == std::string_view::npos) return text;
  std::string plain;
  plain.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\') {
      plain += text[i];
      continue;
    }
    const char next = ++i < text.size() ? text[i] : '\0';
    const int high = HexDigit(next), low = i + 1 < text.size() ? HexDigit(text[i + 1]) : -1;
    if (next == '"' || next == '\\') {
      plain += next;
    } else if (high >= 0 && low >= 0) {
      plain += static_cast<char>(16 * high + low);
      ++i;
    } else if (next == 'n' || next == 't') {
      plain += next == 'n' ? '\n' : '\t';
    } else {
      lexer_.FailAt(place + i, "expected two hex digits after '\\' in a string");
    }
  }
  return module_.Keep(std::string_view(plain));
}

std::string_view AttributeReader::ReadString() {
  if (lexer_.Peek() != '"') return lexer_.Word("a name or a string");
  const size_t place = lexer_.place() + 1;
  return Unescaped(lexer_.Quoted(), place);
}

std::string_view AttributeReader::ReadSymbol() {
  lexer_.Expect('@');
  if (lexer_.text().substr(lexer_.place(), 1) == "\"") return ReadString();
  return lexer_.Suffix();
}

void AttributeReader::ReadNumbers(NumberList& numbers) {
  lexer_.Expect('[');
  if (lexer_.Accept(']')) return;
  do numbers.push_back(lexer_.Integer());
  while (lexer_.Accept(','));
  lexer_.Expect(']');
}

std::span<const NamedAttribute> AttributeReader::Sorted(FieldList& fields, size_t place) {
  const auto by_name = [](const NamedAttribute& a, const NamedAttribute& b) {
    return a.name < b.name;
  };
  if (!std::is_sorted(fields.begin(), fields.end(), by_name))
    std::stable_sort(fields.begin(), fields.end(), by_name);
  for (size_t i = 1; i < fields.size(); ++i)
    if (fields[i].name == fields[i - 1].name)
      lexer_.FailAt(place, fmt::format("the attribute {} is given twice", fields[i].name));
  return module_.Keep(std::span<const NamedAttribute>(fields));
}

void AttributeReader::ReadFields(FieldList& fields) {
  lexer_.Expect('{');
  if (lexer_.Accept('}')) return;
  do {
    NamedAttribute& field = fields.emplace_back();
    field.name = ReadString();
    if (!lexer_.Accept('=')) continue;
    const Attribute value = Read();
    fields.back().value = value;
  } while (lexer_.Accept(','));
  lexer_.Expect('}');
}

Attribute AttributeReader::ReadDictionary() {
  lexer_.Peek();
  const size_t place = lexer_.place();
  FieldList fields;
  ReadFields(fields);
  Attribute dictionary = Struct("", Sorted(fields, place));
  dictionary.kind = Attribute::Kind::kDictionary;
  return dictionary;
}

Attribute AttributeReader::ReadNumber() {
  Attribute number = Of(Attribute::Kind::kNumber, "", lexer_.Number());
  if (lexer_.Accept(':'))
    number.type = types_.Read();
  else
    number.type = types_.Named(number.text.find_first_of(".eE") == std::string_view::npos ||
                                       number.text.starts_with("0x")
                                   ? "i64"
                                   : "f64");
  return number;
}

Attribute AttributeReader::ReadArray() {
  absl::InlinedVector<Attribute, 4> items;
  lexer_.Expect('[');
  if (!lexer_.Accept(']')) {
    do items.push_back(Read());
    while (lexer_.Accept(','));
    lexer_.Expect(']');
  }
  return Array(items);
}

// Reads `array<i64: 1, 2>` after its first word.
Attribute AttributeReader::ReadIntegers() {
  const size_t begin = lexer_.place() - 5;
  lexer_.Expect('<');
  const std::string_view element = lexer_.Word("the type of the elements of an array");
  NumberList numbers;
  if (!IsElementType(element))
    lexer_.FailAt(begin + 6, fmt::format("unknown element type \"{}\"", element));
  if (!element.starts_with('i')) {
    lexer_.set_place(begin + 5);
    lexer_.Balanced();
    return Raw(begin);
  }
  if (lexer_.Accept(':')) {
    do {
      if (lexer_.Accept("true"))
        numbers.push_back(1);
      else if (lexer_.Accept("false"))
        numbers.push_back(0);
      else
        numbers.push_back(lexer_.Integer());
    } while (lexer_.Accept(','));
  }
  lexer_.Expect('>');
  return Integers(element, numbers);
}

// Reads `dense<...> : tensor<...>` after its first word, which is at `begin`.
Attribute AttributeReader::ReadDense(size_t begin) {
  lexer_.Expect('<');
  Attribute dense = Of(Attribute::Kind::kDense, "", lexer_.BodyOfDense());
  if (dense.text == "__elided__")
    lexer_.FailAt(begin,
                  "this constant was left out when the module was printed; print it with "
                  "as_text(), or with get_asm() without large_elements_limit");
  using Form = Attribute::DenseForm;
  dense.form = dense.text.empty()             ? Form::kEmpty
               : dense.text.starts_with('[')  ? Form::kList
               : dense.text.starts_with("\"") ? Form::kBytes
                                              : Form::kSplat;
  lexer_.Expect(':');
  lexer_.Peek();
  const size_t type_place = lexer_.place();
  dense.type = types_.Read();
  if (dense.type->kind != TextType::Kind::kTensor || dense.type->count == kOpenSize)
    lexer_.FailAt(type_place, "a constant has a tensor type without open sizes");
  if (dense.form == Form::kEmpty && dense.type->count != 0)
    lexer_.FailAt(begin, "this constant has no elements, but its type has");
  return dense;
}

// Reads an attribute that begins with a word: `true`, `dense<...>`, `array<...>`, a type.
Attribute AttributeReader::ReadWordLike() {
  const size_t begin = lexer_.place();
  const std::string_view word = lexer_.AcceptWord();
  if (word == "true" || word == "false") return Number(word, "i1");
  if (word == "dense") return ReadDense(begin);
  if (word == "array") return ReadIntegers();
  if (word == "unit") return {};
  if (word == "dense_resource") {
    lexer_.Expect('<');
    const bool is_elided = lexer_.Accept("__elided__");
    lexer_.FailAt(begin, is_elided ? "this constant was left out when the module was printed; "
                                     "print it with as_text(), or with get_asm() without "
                                     "large_elements_limit"
                                   : "constants that are kept apart from the text "
                                     "(dense_resource) are not read");
  }
  if (word == "sparse") lexer_.FailAt(begin, "sparse constants are not read");
  if (word == "loc" || word == "affine_map" || word == "strided") {
    lexer_.Balanced();
    return Raw(begin);
  }
  lexer_.set_place(begin);
  Attribute type = Of(Attribute::Kind::kType, "", "");
  type.type = types_.Read();
  return type;
}

Attribute AttributeReader::Read() {
  const Level nested(level_, lexer_);
  const char next = lexer_.Peek();
  switch (next) {
    case '"':
      return String(ReadString());
    case '@': {
      const size_t begin = lexer_.place();
      const std::string_view name = ReadSymbol();
      if (!lexer_.Accept("::")) return Symbol(name);
      do ReadSymbol();
      while (lexer_.Accept("::"));
      return Raw(begin);
    }
    case '[':
      return ReadArray();
    case '{':
      return ReadDictionary();
    case '#':
      return ReadHash();
    default:
      return lexer_.AtNumber() ? ReadNumber() : ReadWordLike();
  }
}

// Reads an alias, `#stablehlo<precision DEFAULT>` or `#stablehlo.gather<...>`.
Attribute AttributeReader::ReadHash() {
  const size_t begin = lexer_.place();
  lexer_.Expect('#');
  const std::string_view name = lexer_.Word("a name after '#'");
  const size_t dot = name.find('.');
  if (dot == std::string_view::npos && lexer_.Peek() != '<') {
    const auto alias = aliases_.find(name);
    if (alias == aliases_.end()) lexer_.FailAt(begin, fmt::format("#{} is not defined", name));
    // Aliases of aliases could stand for more than any memory holds.
    if (is_in_alias_) lexer_.FailAt(begin, "an alias inside of an alias is not read");
    return alias->second;
  }
  const std::string_view dialect = name.substr(0, dot);
  if (!IsKnownDialect(dialect))
    lexer_.FailAtUnknown(begin, fmt::format("unknown dialect \"{}\"", dialect));
  if (dot != std::string_view::npos) return ReadOfDialect(name);
  lexer_.Expect('<');
  const std::string_view joined = JoinedName(dialect, lexer_.Word("the name of an attribute"));
  lexer_.Peek();
  const size_t text = lexer_.place();
  if (const std::string_view word = lexer_.AcceptWord(); !word.empty()) {
    lexer_.Expect('>');
    return Word(joined, word);
  }
  if (lexer_.Accept('>')) return Of(Attribute::Kind::kOpaque, joined, "");
  lexer_.Balanced();
  const Attribute opaque = Of(Attribute::Kind::kOpaque, joined, lexer_.Since(text));
  lexer_.Expect('>');
  return opaque;
}

Attribute AttributeReader::ReadOfDialect(std::string_view name) {
  if (lexer_.Peek() != '<') return Of(Attribute::Kind::kOpaque, name, "");
  const size_t begin = lexer_.place();
  if (name == "sdy.sharding_per_value") {
    lexer_.Expect('<');
    const Attribute shardings = ReadShardings();
    lexer_.Expect('>');
    return shardings;
  }
  if (name == "stablehlo.conv") {
    lexer_.Expect('<');
    const Attribute dims = ReadConvolution();
    lexer_.Expect('>');
    return dims;
  }
  if (IsDialectOfStructs(name)) {
    lexer_.Expect('<');
    const bool has_fields =
        lexer_.Accept('>') || (!lexer_.AcceptWord().empty() && lexer_.Peek() == '=');
    lexer_.set_place(begin);
    if (has_fields) return ReadStruct(name);
  }
  lexer_.Balanced();
  return Of(Attribute::Kind::kOpaque, name, lexer_.Since(begin));
}

Attribute AttributeReader::ReadStruct(std::string_view name) {
  FieldList fields;
  lexer_.Expect('<');
  if (!lexer_.Accept('>')) {
    do {
      NamedAttribute& field = fields.emplace_back();
      field.name = lexer_.Word("the name of a field");
      lexer_.Expect('=');
      const Attribute value = ReadFieldValue();
      fields.back().value = value;
    } while (lexer_.Accept(','));
    lexer_.Expect('>');
  }
  return Struct(name, fields);
}

// Reads a value of a field of a struct: numbers have no type, and lists of them no `array`.
Attribute AttributeReader::ReadFieldValue() {
  const Level nested(level_, lexer_);
  const char next = lexer_.Peek();
  const size_t begin = lexer_.place();
  if (next == '[') return ReadFieldList();
  if (next == '(') {  // (1)2
    lexer_.Balanced();
    lexer_.Number();
    return Raw(begin);
  }
  if (next == '<') {
    lexer_.Balanced();
    return Raw(begin);
  }
  if (lexer_.AtNumber()) {
    Attribute number = Of(Attribute::Kind::kNumber, "", lexer_.Number());
    if (lexer_.Accept(':')) number.type = types_.Read();
    return number;
  }
  if (next == '"' || next == '@' || next == '#' || next == '{' || next == '!') return Read();
  const std::string_view word = lexer_.Word("the value of a field");
  if (word == "true" || word == "false") return Of(Attribute::Kind::kNumber, "", word);
  if (lexer_.Peek() != '<') return Word("", word);
  lexer_.set_place(begin);
  return Read();
}

Attribute AttributeReader::ReadFieldList() {
  lexer_.Expect('[');
  if (lexer_.Accept(']')) return Integers("", {});
  const bool has_numbers = lexer_.AtNumber();
  NumberList numbers;
  absl::InlinedVector<Attribute, 2> items;
  do {
    if (has_numbers)
      numbers.push_back(lexer_.Integer());
    else
      items.push_back(ReadFieldValue());
  } while (lexer_.Accept(','));
  lexer_.Expect(']');
  return has_numbers ? Integers("", numbers) : Array(items);
}

Attribute AttributeReader::ReadConvolution() {
  Attribute lists[3];
  for (int i = 0; i < 3; ++i) {
    if (i == 1) lexer_.Expect('x');
    if (i == 2) lexer_.Expect("->");
    absl::InlinedVector<Attribute, 6> dims;
    lexer_.Expect('[');
    do {
      const bool is_letter = !lexer_.AtNumber();
      dims.push_back(Word("", is_letter ? lexer_.Word("a dim") : lexer_.Number()));
    } while (lexer_.Accept(','));
    lexer_.Expect(']');
    lists[i] = Array(dims);
  }
  Attribute convolution = Array(lists);
  convolution.kind = Attribute::Kind::kConvolution;
  convolution.name = "stablehlo.conv";
  return convolution;
}

Attribute AttributeReader::ReadSharding() {
  if (lexer_.Peek() != '<') lexer_.FailToFind("<");
  return Of(Attribute::Kind::kOpaque, "sdy.sharding", lexer_.Balanced());
}

Attribute AttributeReader::ReadShardings() {
  lexer_.Peek();
  const size_t begin = lexer_.place();
  absl::InlinedVector<Attribute, 4> items;
  lexer_.Expect('[');
  if (!lexer_.Accept(']')) {
    do items.push_back(ReadSharding());
    while (lexer_.Accept(','));
    lexer_.Expect(']');
  }
  Attribute shardings = Array(items);
  shardings.kind = Attribute::Kind::kOpaque;
  shardings.name = "sdy.sharding_per_value";
  shardings.text = lexer_.Since(begin);
  return shardings;
}

void AttributeReader::Define(std::string_view name) {
  const size_t begin = lexer_.place();
  is_in_alias_ = true;
  const Attribute value = Read();
  is_in_alias_ = false;
  if (!aliases_.try_emplace(name, value).second)
    lexer_.FailAt(begin, fmt::format("#{} is defined twice", name));
}

}  // namespace tessera::stablehlo
