// Reads the pretty forms of operations, piece by piece of their formats.
#include "stablehlo/text/pretty.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "stablehlo/text/form_table.h"
#include "stablehlo/text/parser.h"
#include "stablehlo/text/pretty_regions.h"

namespace tessera::stablehlo {
namespace {

struct Piece;
// Reads a piece of a format.
using ReadPiece = void (*)(OperationReader&, OperationDraft&, const Piece&);

struct Piece {
  ReadPiece read = nullptr;
  std::string token;         // as it is; begins an optional part
  std::string type;          // of word:TYPE:NAME
  std::string attribute;     // its name
  bool is_optional = false;  // begins a part that may be absent
  size_t skip = 0;           // pieces of that part after this one
};

void Put(OperationDraft& draft, std::string_view name, const Attribute& value) {
  draft.attributes.push_back({name, value});
}

void ReadToken(OperationReader& r, OperationDraft&, const Piece& piece) {
  r.lexer.Expect(piece.token);
}
void ReadOneOperand(OperationReader& r, OperationDraft& draft, const Piece&) {
  r.ReadOperand(draft);
}
void ReadOperands(OperationReader& r, OperationDraft& draft, const Piece&) {
  if (r.lexer.Peek() != '%') return;
  do r.ReadOperand(draft);
  while (r.lexer.Accept(','));
}
// `()` stands for none, as the next line may begin with `%`.
void ReadOperandsOrNone(OperationReader& r, OperationDraft& draft, const Piece& piece) {
  if (r.lexer.Accept('('))
    r.lexer.Expect(')');
  else
    ReadOperands(r, draft, piece);
}
void ReadOperandsWithCommas(OperationReader& r, OperationDraft& draft, const Piece&) {
  while (r.lexer.Peek() == '%') {
    r.ReadOperand(draft);
    r.lexer.Expect(',');
  }
}
void ReadAttributes(OperationReader& r, OperationDraft& draft, const Piece&) {
  if (r.lexer.Peek() == '{') r.attributes.ReadFields(draft.attributes);
}
void ReadNumbers(OperationReader& r, OperationDraft& draft, const Piece& piece) {
  NumberList numbers;
  r.attributes.ReadNumbers(numbers);
  Put(draft, piece.attribute, r.attributes.Integers("i64", numbers));
}
std::string_view IntegerText(OperationReader& r) {
  r.lexer.Peek();
  const size_t begin = r.lexer.place();
  r.lexer.Integer();
  return r.lexer.Since(begin);
}
void ReadInteger(OperationReader& r, OperationDraft& draft, const Piece& piece) {
  Put(draft, piece.attribute, r.attributes.Number(IntegerText(r), "i64"));
}
void ReadInteger32(OperationReader& r, OperationDraft& draft, const Piece& piece) {
  Put(draft, piece.attribute, r.attributes.Number(IntegerText(r), "i32"));
}
void ReadWord(OperationReader& r, OperationDraft& draft, const Piece& piece) {
  Put(draft, piece.attribute, r.attributes.Word(piece.type, r.lexer.Word("a word in capitals")));
}
void ReadBool(OperationReader& r, OperationDraft& draft, const Piece& piece) {
  r.lexer.Peek();
  const size_t begin = r.lexer.place();
  if (!r.lexer.Accept("true")) r.lexer.Expect("false");
  Put(draft, piece.attribute, r.attributes.Number(r.lexer.Since(begin), "i1"));
}
void ReadQuoted(OperationReader& r, OperationDraft& draft, const Piece& piece) {
  if (r.lexer.Peek() != '"') r.lexer.FailToFind("\"");
  Put(draft, piece.attribute, r.attributes.String(r.attributes.ReadString()));
}
void ReadTarget(OperationReader& r, OperationDraft& draft, const Piece& piece) {
  const bool is_quoted = r.lexer.Peek() == '"';
  Put(draft, piece.attribute,
      r.attributes.String(is_quoted ? r.attributes.ReadString() : r.attributes.ReadSymbol()));
}
void ReadCallee(OperationReader& r, OperationDraft& draft, const Piece& piece) {
  Put(draft, piece.attribute, r.attributes.Symbol(r.attributes.ReadSymbol()));
}
void ReadOneSharding(OperationReader& r, OperationDraft& draft, const Piece& piece) {
  Put(draft, piece.attribute, r.attributes.ReadSharding());
}
void ReadShardings(OperationReader& r, OperationDraft& draft, const Piece& piece) {
  Put(draft, piece.attribute, r.attributes.ReadShardings());
}
void ReadAxes(OperationReader& r, OperationDraft& draft, const Piece& piece) {
  Attribute axes;
  axes.kind = Attribute::Kind::kOpaque;
  axes.name = piece.type;
  axes.text = r.lexer.Balanced();
  Put(draft, piece.attribute, axes);
}
void ReadDirection(OperationReader& r, OperationDraft& draft, const Piece& piece) {
  r.lexer.Peek();
  const size_t place = r.lexer.place();
  const std::string_view word = r.lexer.Word("a direction");
  constexpr std::string_view kWords[] = {"NONE", "FORWARD", "BACKWARD", "BOTH"};
  constexpr std::string_view kNumbers[] = {"0", "1", "2", "3"};
  const auto found = std::find(std::begin(kWords), std::end(kWords), word) - std::begin(kWords);
  if (found == 4) r.lexer.FailAt(place, "expected NONE, FORWARD, BACKWARD or BOTH");
  Put(draft, piece.attribute, r.attributes.Number(kNumbers[found], "i32"));
}
void ReadValue(OperationReader& r, OperationDraft& draft, const Piece&) {
  r.lexer.Peek();
  draft.types_place = r.lexer.place();
  const Attribute value = r.attributes.Read();
  if (value.type == nullptr || value.type->kind != TextType::Kind::kTensor)
    r.lexer.FailAt(draft.types_place, "expected a constant with a tensor type");
  Put(draft, "value", value);
  draft.result_types.push_back(value.type);
}

// Reads `e8m7`.
void ReadBitsOfFloat(OperationReader& r, OperationDraft& draft, const Piece&) {
  r.lexer.Peek();
  const size_t place = r.lexer.place();
  const std::string_view word = r.lexer.Word("a float format such as e8m7");
  const size_t m = word.find('m');
  const auto are_digits = [](std::string_view text) {
    return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
  };
  if (word[0] != 'e' || m == std::string_view::npos || !are_digits(word.substr(1, m - 1)) ||
      !are_digits(word.substr(m + 1)))
    r.lexer.FailAt(place, "expected a float format such as e8m7");
  Put(draft, "exponent_bits", r.attributes.Number(word.substr(1, m - 1), "i32"));
  Put(draft, "mantissa_bits", r.attributes.Number(word.substr(m + 1), "i32"));
}

// Reads `[0:4, 1:7:3]`: start, limit and stride.
void ReadRanges(OperationReader& r, OperationDraft& draft, const Piece&) {
  NumberList starts, limits, strides;
  r.lexer.Expect('[');
  if (!r.lexer.Accept(']')) {
    do {
      starts.push_back(r.lexer.Integer());
      r.lexer.Expect(':');
      limits.push_back(r.lexer.Integer());
      strides.push_back(r.lexer.Accept(':') ? r.lexer.Integer() : 1);
    } while (r.lexer.Accept(','));
    r.lexer.Expect(']');
  }
  Put(draft, "start_indices", r.attributes.Integers("i64", starts));
  Put(draft, "limit_indices", r.attributes.Integers("i64", limits));
  Put(draft, "strides", r.attributes.Integers("i64", strides));
}

// Takes `, word =` if it is next.
bool AcceptClause(Lexer& lexer, std::string_view word) {
  const size_t before = lexer.place();
  if (lexer.Accept(',') && lexer.Accept(word)) {
    lexer.Expect('=');
    return true;
  }
  lexer.set_place(before);
  return false;
}

// Reads `, batching_dims = [0] x [0], contracting_dims = [2] x [1]`. Either may be absent.
void ReadDotDims(OperationReader& r, OperationDraft& draft, const Piece&) {
  FieldList fields;
  const auto read = [&](std::string_view word, std::string_view lhs, std::string_view rhs) {
    if (!AcceptClause(r.lexer, word)) return;
    for (const std::string_view side : {lhs, rhs}) {
      NumberList dims;
      r.attributes.ReadNumbers(dims);
      if (side == lhs) r.lexer.Expect('x');
      if (!dims.empty()) fields.push_back({side, r.attributes.Integers("", dims)});
    }
  };
  read("batching_dims", "lhs_batching_dimensions", "rhs_batching_dimensions");
  read("contracting_dims", "lhs_contracting_dimensions", "rhs_contracting_dimensions");
  Put(draft, "dot_dimension_numbers", r.attributes.Struct("stablehlo.dot", fields));
}

// Reads `, precision = [DEFAULT, HIGH], algorithm = <...>`. Either may be absent.
void ReadPrecision(OperationReader& r, OperationDraft& draft, const Piece&) {
  if (AcceptClause(r.lexer, "precision")) {
    absl::InlinedVector<Attribute, 2> words;
    r.lexer.Expect('[');
    if (!r.lexer.Accept(']')) {
      do words.push_back(r.attributes.Word("stablehlo.precision", r.lexer.Word("a precision")));
      while (r.lexer.Accept(','));
      r.lexer.Expect(']');
    }
    Put(draft, "precision_config", r.attributes.Array(words));
  }
  if (AcceptClause(r.lexer, "algorithm"))
    Put(draft, "algorithm", r.attributes.ReadStruct("stablehlo.dot_algorithm"));
}

void ReadConvolutionDims(OperationReader& r, OperationDraft& draft, const Piece&) {
  Put(draft, "dimension_numbers", r.attributes.ReadConvolution());
}

// Reads `[[1, 1], [0, 2]]` as the constant that the generic form has.
Attribute ReadPadding(OperationReader& r) {
  NumberList all;
  size_t rows = 0;
  r.lexer.Expect('[');
  const size_t begin = r.lexer.place() - 1;
  if (!r.lexer.Accept(']')) {
    for (; rows == 0 || r.lexer.Accept(','); ++rows) {
      r.attributes.ReadNumbers(all);
      if (all.size() != 2 * (rows + 1)) r.lexer.Fail("expected two numbers for each dim");
    }
    r.lexer.Expect(']');
  }
  Attribute padding;
  padding.kind = Attribute::Kind::kDense;
  padding.type = r.types.Named(fmt::format("tensor<{}x2xi64>", rows));
  padding.text = r.lexer.Since(begin);
  padding.form = Attribute::DenseForm::kList;
  if (rows == 0) {
    padding.form = Attribute::DenseForm::kEmpty;
    padding.text = "";
  } else if (std::count(all.begin(), all.end(), all[0]) == static_cast<long>(all.size())) {
    padding.form = Attribute::DenseForm::kSplat;
    padding.text = padding.text.substr(padding.text.find_first_not_of("[ "));
    padding.text = padding.text.substr(0, padding.text.find_first_of(", ]"));
  }
  return padding;
}

// Reads `[false, true]`.
void ReadBools(OperationReader& r, NumberList& values) {
  r.lexer.Expect('[');
  if (r.lexer.Accept(']')) return;
  do {
    const bool value = r.lexer.Accept("true") || r.lexer.Accept("1");
    if (!value && !r.lexer.Accept("0")) r.lexer.Expect("false");
    values.push_back(value ? 1 : 0);
  } while (r.lexer.Accept(','));
  r.lexer.Expect(']');
}

// Reads `stride = [1], pad = [[0, 0]], lhs_dilate = [1], rhs_dilate = [1], reverse = [false]`.
void ReadWindow(OperationReader& r, OperationDraft& draft, const Piece&) {
  if (r.lexer.Peek() == '}') return;
  do {
    r.lexer.Peek();
    const size_t place = r.lexer.place();
    const std::string_view word = r.lexer.Word("a word such as stride");
    r.lexer.Expect('=');
    NumberList numbers;
    if (word == "pad") {
      Put(draft, "padding", ReadPadding(r));
    } else if (word == "reverse") {
      ReadBools(r, numbers);
      Put(draft, "window_reversal", r.attributes.Integers("i1", numbers));
    } else {
      const std::string_view name = word == "stride"       ? "window_strides"
                                    : word == "lhs_dilate" ? "lhs_dilation"
                                    : word == "rhs_dilate" ? "rhs_dilation"
                                                           : "";
      if (name.empty())
        r.lexer.FailAt(place, "expected stride, pad, lhs_dilate, rhs_dilate or reverse");
      r.attributes.ReadNumbers(numbers);
      Put(draft, name, r.attributes.Integers("i64", numbers));
    }
  } while (r.lexer.Accept(','));
}

void ReadRegionWithArguments(OperationReader& r, OperationDraft& draft, const Piece&) {
  ArgumentList arguments;
  r.ReadArguments(arguments);
  draft.regions.push_back(r.ReadRegion(arguments));
}

// Takes the colon before types.
void ExpectColon(OperationReader& r, OperationDraft& draft) {
  r.lexer.Expect(':');
  r.lexer.Peek();
  draft.types_place = r.lexer.place();
}

// Reads `: T, T`.
void ReadTypeList(OperationReader& r, OperationDraft& draft, TextTypes& types) {
  ExpectColon(r, draft);
  do types.push_back(r.types.Read());
  while (r.lexer.Accept(','));
}

// `: (T, T) -> T`
void ReadFunctionType(OperationReader& r, OperationDraft& draft, const Piece&) {
  ExpectColon(r, draft);
  r.types.ReadSignature(draft.operand_types, draft.result_types);
}
// Reads a colon. If a whole function type follows, reads it and returns true.
bool ReadWholeType(OperationReader& r, OperationDraft& draft) {
  ExpectColon(r, draft);
  if (r.lexer.Peek() != '(') return false;
  r.types.ReadSignature(draft.operand_types, draft.result_types);
  return true;
}
// `: T` of all operands and the result
void ReadSameType(OperationReader& r, OperationDraft& draft, const Piece&) {
  if (ReadWholeType(r, draft)) return;
  const TextType* type = r.types.Read();
  draft.operand_types.assign(draft.operands.size(), type);
  draft.result_types = {type};
}
// `: T, T` of the predicate and of the others
void ReadSelectType(OperationReader& r, OperationDraft& draft, const Piece&) {
  if (ReadWholeType(r, draft)) return;
  const TextType* predicate = r.types.Read();
  r.lexer.Expect(',');
  const TextType* type = r.types.Read();
  draft.operand_types = {predicate, type, type};
  draft.result_types = {type};
}
// `: T` of the result, which is complex
void ReadComplexType(OperationReader& r, OperationDraft& draft, const Piece&) {
  if (ReadWholeType(r, draft)) return;
  const TextType* type = r.types.Read();
  if (!type->element.starts_with("complex<"))
    r.lexer.FailAt(draft.types_place, "expected a type with complex elements");
  std::string part(type->text);
  part.replace(part.find("complex<"), type->element.size(),
               type->element.substr(8, type->element.size() - 9));
  draft.operand_types.assign(2, r.types.Named(part));
  draft.result_types = {type};
}
// `: T, T` of the operands; nothing if there are none
void ReadOperandTypes(OperationReader& r, OperationDraft& draft, const Piece&) {
  if (!draft.operands.empty() || r.lexer.Peek() == ':') ReadTypeList(r, draft, draft.operand_types);
}
// `: T, T` of the operands, and the results are like them
void ReadPairedTypes(OperationReader& r, OperationDraft& draft, const Piece& piece) {
  ReadOperandTypes(r, draft, piece);
  draft.result_types = draft.operand_types;
}
void ReadResultTypes(OperationReader& r, OperationDraft& draft, const Piece&) {
  ReadTypeList(r, draft, draft.result_types);
}
// `: T, T -> T`
void ReadArrowType(OperationReader& r, OperationDraft& draft, const Piece&) {
  ReadTypeList(r, draft, draft.operand_types);
  r.lexer.Expect("->");
  r.types.ReadList(draft.result_types);
}
// `: tuple<T, T>` of operands `T, T`
void ReadTupleType(OperationReader& r, OperationDraft& draft, const Piece&) {
  ReadTypeList(r, draft, draft.result_types);
  const auto members = draft.result_types[0]->results;
  draft.operand_types.assign(members.begin(), members.end());
}

template <void (*kRead)(OperationReader&, OperationDraft&)>
void ReadWhole(OperationReader& r, OperationDraft& draft, const Piece&) {
  kRead(r, draft);
}

using ReaderTable = absl::flat_hash_map<std::string_view, ReadPiece>;

// Readers of `kind:NAME`.
const ReaderTable& AttributeReaders() {
  static const auto& readers = *new ReaderTable{
      {"numbers", ReadNumbers},     {"int", ReadInteger},   {"int32", ReadInteger32},
      {"word", ReadWord},           {"bool", ReadBool},     {"string", ReadQuoted},
      {"target", ReadTarget},       {"symbol", ReadCallee}, {"sharding", ReadOneSharding},
      {"shardings", ReadShardings}, {"axes", ReadAxes},     {"direction", ReadDirection}};
  return readers;
}

// Readers of other words.
const ReaderTable& PartReaders() {
  static const auto& readers = *new ReaderTable{{"%", ReadOneOperand},
                                                {"%*", ReadOperands},
                                                {"%*or()", ReadOperandsOrNone},
                                                {"%,", ReadOperandsWithCommas},
                                                {"attrs", ReadAttributes},
                                                {"value", ReadValue},
                                                {"e_m", ReadBitsOfFloat},
                                                {"ranges", ReadRanges},
                                                {"dot_dims", ReadDotDims},
                                                {"precision", ReadPrecision},
                                                {"convolution", ReadConvolutionDims},
                                                {"window_parts", ReadWindow},
                                                {"region", ReadRegionWithArguments},
                                                {":function", ReadFunctionType},
                                                {":same", ReadSameType},
                                                {":select", ReadSelectType},
                                                {":complex", ReadComplexType},
                                                {":operands", ReadOperandTypes},
                                                {":pairs", ReadPairedTypes},
                                                {":results", ReadResultTypes},
                                                {":arrow", ReadArrowType},
                                                {":tuple", ReadTupleType},
                                                {"reduce", ReadWhole<ReadReduce>},
                                                {"scan", ReadWhole<ReadScan>},
                                                {"while", ReadWhole<ReadWhile>}};
  return readers;
}

// Returns the parts of a text between separators.
std::vector<std::string> Split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find(separator, begin), text.size());
    if (end > begin) parts.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

std::vector<Piece> Compiled(std::string_view format) {
  std::vector<Piece> pieces;
  size_t optional = 0;  // where the part began that is open
  bool begins_optional = false;
  for (const std::string& word : Split(format, ' ')) {
    if (word == "?(") {
      begins_optional = true;
      continue;
    }
    if (word == ")?") {
      pieces[optional].is_optional = true;
      pieces[optional].skip = pieces.size() - optional - 1;
      continue;
    }
    Piece& piece = pieces.emplace_back();
    const auto part = PartReaders().find(word);
    const std::vector<std::string> names = Split(word, ':');
    if (part != PartReaders().end()) {
      piece.read = part->second;
    } else if (names.size() > 1) {
      piece.read = AttributeReaders().at(names[0]);
      piece.attribute = names.back();
      if (names.size() == 3) piece.type = names[1];
    } else {
      piece.read = ReadToken;
      piece.token = word;
    }
    if (begins_optional) optional = pieces.size() - 1;
    begins_optional = false;
  }
  return pieces;
}

struct FormTable {
  std::deque<std::string> names;
  absl::flat_hash_map<std::string_view, std::vector<Piece>> pieces;  // by name
};

const FormTable& Forms() {
  static const FormTable& forms = *[] {
    auto* table = new FormTable;
    for (const FormFamily& family : kFormFamilies) {
      for (const std::string& operation : Split(family.operations, ' ')) {
        table->names.push_back(fmt::format("{}.{}", family.dialect, operation));
        table->pieces[table->names.back()] = Compiled(family.format);
      }
    }
    return table;
  }();
  return forms;
}

}  // namespace

void ReadPretty(OperationReader& reader, OperationDraft& draft) {
  const auto form = Forms().pieces.find(draft.name);
  if (form == Forms().pieces.end())
    reader.lexer.FailAtUnknown(draft.place,
                               fmt::format("{} has no pretty form here; print the module with "
                                           "get_asm(print_generic_op_form=True)",
                                           draft.name.substr(0, 60)));
  const std::vector<Piece>& pieces = form->second;
  for (size_t i = 0; i < pieces.size(); ++i) {
    const Piece& piece = pieces[i];
    if (piece.is_optional && !reader.lexer.PeekIs(piece.token))
      i += piece.skip;
    else
      piece.read(reader, draft, piece);
  }
}

void RemoveDefaults(FieldList& attributes) {
  const auto says_nothing = [](const NamedAttribute& attribute) {
    const Attribute& value = attribute.value;
    const std::string_view name = attribute.name;
    if (name == "has_side_effect") return value.text == "false";
    if (name == "api_version") return value.text == "1";
    if (name == "version") return value.text == "0";
    if (name == "called_computations" || name == "output_operand_aliases")
      return value.kind == Attribute::Kind::kArray && value.count == 0;
    if (name == "composite_attributes")
      return value.kind == Attribute::Kind::kDictionary && value.count == 0;
    if (name != "result_accuracy" || value.fields().size() != 1) return false;
    const Attribute* mode = value.Find("mode");
    return mode != nullptr && mode->text == "<DEFAULT>";
  };
  attributes.erase(std::remove_if(attributes.begin(), attributes.end(), says_nothing),
                   attributes.end());
}

}  // namespace tessera::stablehlo
