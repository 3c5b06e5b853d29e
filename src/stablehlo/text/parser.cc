// Reads operations and regions in the generic form.
#include "stablehlo/text/parser.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "stablehlo/text/pretty.h"

namespace tessera::stablehlo {

OperationReader::OperationReader(Module& module, Lexer& lexer)
    : lexer(lexer),
      types(module, lexer, level_),
      attributes(module, lexer, types, level_),
      locations(module, lexer, attributes, level_),
      module_(module) {}

void OperationReader::BeginFunction() {
  names_.Clear();
  values_.clear();
}

std::vector<TextValue> OperationReader::EndFunction() {
  return std::vector<TextValue>(values_.begin(), values_.end());
}

void OperationReader::Define(std::string_view name, size_t place, ValueRange values) {
  if (!names_.Define(name, values))
    lexer.FailAt(place, fmt::format("%{} is defined twice in this region", name));
}

void OperationReader::ReadResultNames(ResultNames& names) {
  if (lexer.Peek() != '%') return;
  do {
    ResultName& result = names.emplace_back();
    result.place = lexer.place();
    lexer.Expect('%');
    result.name = lexer.Suffix();
    if (!lexer.Accept(':')) continue;
    const size_t place = lexer.place();
    result.count = lexer.SmallInteger();
    if (result.count == 0) lexer.FailAt(place, "a name stands for at least one result");
  } while (lexer.Accept(','));
  lexer.Expect('=');
}

void OperationReader::ReadOperand(OperationDraft& draft) {
  lexer.Expect('%');
  const size_t place = lexer.place() - 1;
  const std::string_view name = lexer.Suffix();
  const ValueRange values = names_.Find(name);
  if (values.count == 0) lexer.FailAt(place, fmt::format("%{} is not defined here", name));
  uint32_t result = 0;
  if (lexer.text().substr(lexer.place(), 1) == "#") {
    lexer.Expect('#');
    result = lexer.SmallInteger();
    if (result >= values.count)
      lexer.FailAt(place, fmt::format("%{} stands for {}, so there is no %{}#{}", name,
                                      base::CountText(values.count, "value"), name, result));
  }
  draft.operands.push_back(values.first + result);
}

ArgumentText OperationReader::ReadArgument() {
  ArgumentText argument;
  lexer.Expect('%');
  argument.place = lexer.place() - 1;
  argument.name = lexer.Suffix();
  lexer.Expect(':');
  argument.type = types.Read();
  argument.location = locations.Accept();
  return argument;
}

void OperationReader::ReadArguments(ArgumentList& arguments) {
  lexer.Expect('(');
  if (lexer.Accept(')')) return;
  do arguments.push_back(ReadArgument());
  while (lexer.Accept(','));
  lexer.Expect(')');
}

uint32_t OperationReader::DefineArguments(const ArgumentList& arguments) {
  const auto first = static_cast<uint32_t>(values_.size());
  for (const ArgumentText& argument : arguments) {
    Define(argument.name, argument.place, {static_cast<uint32_t>(values_.size()), 1});
    values_.push_back({argument.name, argument.type, argument.location, 0});
  }
  return first;
}

TextRegion OperationReader::TakeRegion(uint32_t first_argument, size_t arguments,
                                       size_t first_operation) {
  TextRegion region;
  region.first_argument = first_argument;
  region.arguments = static_cast<uint32_t>(arguments);
  region.operations = module_.Keep(std::span<const Operation>(open_).subspan(first_operation));
  open_.resize(first_operation);
  return region;
}

TextRegion OperationReader::ReadRegion(const ArgumentList& arguments) {
  lexer.Expect('{');
  const Level nested(level_, lexer);
  names_.OpenRegion();
  const size_t first_operation = open_.size();
  const ArgumentList* declared = &arguments;
  ArgumentList labelled;
  if (arguments.empty() && lexer.Accept('^')) {
    lexer.Suffix();
    if (lexer.Peek() == '(') ReadArguments(labelled);
    lexer.Expect(':');
    declared = &labelled;
  }
  const uint32_t first_argument = DefineArguments(*declared);
  while (!lexer.Accept('}')) {
    if (lexer.Peek() == '^') lexer.Fail("a region has one block, without branches between blocks");
    if (lexer.AtEnd()) lexer.Fail("expected '}' but the text ends here");
    ReadOperation();
  }
  names_.CloseRegion();
  return TakeRegion(first_argument, declared->size(), first_operation);
}

TextRegion OperationReader::MakeRegion(std::string_view operation, size_t place,
                                       const TextType* type) {
  const size_t first_operation = open_.size();
  const auto first = static_cast<uint32_t>(values_.size());
  for (int i = 0; i < 3; ++i) values_.push_back({"", type, kNoLocation, 0});
  OperationDraft inner, last;
  inner.name = operation;
  inner.place = last.place = place;
  inner.operands = {first, first + 1};
  inner.result_types = {type};
  Add(inner, first + 2, kNoLocation);
  last.name = "stablehlo.return";
  last.operands = {first + 2};
  Add(last, first + 3, kNoLocation);
  return TakeRegion(first, 2, first_operation);
}

void OperationReader::ReadGenericHead(OperationDraft& draft) {
  lexer.Expect('(');
  if (!lexer.Accept(')')) {
    do ReadOperand(draft);
    while (lexer.Accept(','));
    lexer.Expect(')');
  }
  if (lexer.Peek() == '[') lexer.Fail("branches between blocks are not read");
  if (!lexer.Accept('<')) return;
  attributes.ReadFields(draft.attributes);
  lexer.Expect('>');
}

void OperationReader::ReadGenericTail(OperationDraft& draft) {
  if (lexer.Peek() == '{') attributes.ReadFields(draft.attributes);
  lexer.Expect(':');
  lexer.Peek();
  draft.types_place = lexer.place();
  types.ReadSignature(draft.operand_types, draft.result_types);
}

void OperationReader::ReadGeneric(OperationDraft& draft) {
  ReadGenericHead(draft);
  if (lexer.Accept('(')) {
    do draft.regions.push_back(ReadRegion({}));
    while (lexer.Accept(','));
    lexer.Expect(')');
  }
  ReadGenericTail(draft);
}

void OperationReader::CheckOperandTypes(const OperationDraft& draft) {
  if (draft.operands.size() != draft.operand_types.size())
    lexer.FailAt(draft.types_place, fmt::format("{} has {}, but there are types of {}", draft.name,
                                                base::CountText(draft.operands.size(), "operand"),
                                                draft.operand_types.size()));
  for (size_t i = 0; i < draft.operands.size(); ++i) {
    const TextValue& value = values_[draft.operands[i]];
    if (value.type != draft.operand_types[i])
      lexer.FailAt(draft.types_place,
                   fmt::format("operand {} of {} is {}, but its type here is {}", i, draft.name,
                               value.type->text, draft.operand_types[i]->text));
  }
}

uint32_t OperationReader::DefineResults(const OperationDraft& draft, const ResultNames& names,
                                        LocationNumber location) {
  const auto first = static_cast<uint32_t>(values_.size());
  const size_t count = draft.result_types.size();
  size_t named = 0;
  for (const ResultName& name : names) {
    if (name.count > count - std::min(named, count))
      lexer.FailAt(name.place, fmt::format("{} has {}, which are fewer than the names here",
                                           draft.name, base::CountText(count, "result")));
    const auto at = static_cast<uint32_t>(named);
    Define(name.name, name.place, {first + at, name.count});
    for (uint32_t i = 0; i < name.count; ++i)
      values_.push_back({name.name, draft.result_types[at + i], location, i});
    named += name.count;
  }
  if (named > 0 && named < count)
    lexer.FailAt(draft.place,
                 fmt::format("{} has {}, but {}", draft.name, base::CountText(count, "result"),
                             base::CountText(named, "name")));
  for (; named < count; ++named) values_.push_back({"", draft.result_types[named], location, 0});
  return first;
}

void OperationReader::Add(OperationDraft& draft, uint32_t first_result, LocationNumber location) {
  Operation& operation = open_.emplace_back();
  operation.name = draft.name;
  operation.place = draft.place;
  operation.location = location;
  operation.first_result = first_result;
  operation.operands = module_.Keep(std::span<const uint32_t>(draft.operands));
  operation.attributes = attributes.Sorted(draft.attributes, draft.place);
  operation.regions = module_.Keep(std::span<const TextRegion>(draft.regions));
  operation.result_types = module_.Keep(std::span<const TextType* const>(draft.result_types));
}

void OperationReader::ReadOperation() {
  ResultNames names;
  ReadResultNames(names);
  OperationDraft draft;
  const bool is_generic = lexer.Peek() == '"';
  draft.place = lexer.place();
  draft.name = is_generic ? lexer.Quoted() : lexer.Word("an operation");
  if (draft.name == "return") draft.name = "func.return";
  if (draft.name == "call") draft.name = "func.call";
  const std::string_view dialect = draft.name.substr(0, draft.name.find('.'));
  if (lexer.AtEnd()) lexer.FailAt(draft.place, "the text ends in this operation");
  if (!IsKnownDialect(dialect) || dialect == "mhlo")
    lexer.FailAtUnknown(
        draft.place, fmt::format("unknown operation \"{}\": func, stablehlo, chlo and sdy are read",
                                 draft.name.substr(0, 60)));
  if (is_generic)
    ReadGeneric(draft);
  else
    ReadPretty(*this, draft);
  RemoveDefaults(draft.attributes);
  CheckOperandTypes(draft);
  const LocationNumber location = locations.Accept();
  const uint32_t first_result = DefineResults(draft, names, location);
  Add(draft, first_result, location);
}

}  // namespace tessera::stablehlo
