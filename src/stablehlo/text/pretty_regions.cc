// Reads the pretty forms of reduce, while and scan.
#include "stablehlo/text/pretty_regions.h"

#include <string_view>

#include "stablehlo/text/parser.h"

namespace tessera::stablehlo {
namespace {

// Reads `(%a, ...)`, perhaps `()`.
void ReadOperandList(OperationReader& r, OperationDraft& draft) {
  r.lexer.Expect('(');
  if (r.lexer.Accept(')')) return;
  do r.ReadOperand(draft);
  while (r.lexer.Accept(','));
  r.lexer.Expect(')');
}

// Reads `(%a: T, %b: T) (%c: T, %d: T) {...}`. The region has all left arguments first.
void ReadReducer(OperationReader& r, OperationDraft& draft) {
  r.lexer.Expect("reducer");
  ArgumentList left, right;
  do {
    r.lexer.Expect('(');
    left.push_back(r.ReadArgument());
    r.lexer.Expect(',');
    right.push_back(r.ReadArgument());
    r.lexer.Expect(')');
  } while (r.lexer.Peek() == '(');
  left.insert(left.end(), right.begin(), right.end());
  draft.regions.push_back(r.ReadRegion(left));
}

}  // namespace

void ReadReduce(OperationReader& r, OperationDraft& draft) {
  OperationDraft starts;
  do {
    r.lexer.Expect('(');
    r.ReadOperand(draft);
    r.lexer.Expect("init");
    r.lexer.Expect(':');
    r.ReadOperand(starts);
    r.lexer.Expect(')');
  } while (r.lexer.Accept(','));
  const size_t inputs = draft.operands.size();
  draft.operands.insert(draft.operands.end(), starts.operands.begin(), starts.operands.end());
  const bool is_one = r.lexer.Accept("applies");
  r.lexer.Peek();
  const size_t place = r.lexer.place();
  const std::string_view applied = is_one ? r.lexer.Word("an operation") : "";
  if (is_one && inputs != 1) r.lexer.FailAt(place, "`applies` is for one operand");
  if (is_one && !applied.starts_with("stablehlo."))
    r.lexer.FailAt(place, "expected an operation of stablehlo");
  r.lexer.Expect("across");
  r.lexer.Expect("dimensions");
  r.lexer.Expect('=');
  NumberList dims;
  r.attributes.ReadNumbers(dims);
  draft.attributes.push_back({"dimensions", r.attributes.Integers("i64", dims)});
  r.ReadGenericTail(draft);
  if (!is_one)
    ReadReducer(r, draft);
  else
    draft.regions.push_back(r.MakeRegion(applied, place, r.TypeOf(draft.operands.back())));
}

void ReadWhile(OperationReader& r, OperationDraft& draft) {
  ArgumentList arguments;
  r.lexer.Expect('(');
  if (!r.lexer.Accept(')')) {
    do {
      ArgumentText& argument = arguments.emplace_back();
      r.lexer.Expect('%');
      argument.place = r.lexer.place() - 1;
      argument.name = r.lexer.Suffix();
      r.lexer.Expect('=');
      r.ReadOperand(draft);
    } while (r.lexer.Accept(','));
    r.lexer.Expect(')');
  }
  if (!arguments.empty()) {
    r.lexer.Expect(':');
    r.lexer.Peek();
    draft.types_place = r.lexer.place();
    do draft.operand_types.push_back(r.types.Read());
    while (r.lexer.Accept(','));
  }
  draft.result_types = draft.operand_types;
  if (draft.operand_types.size() != arguments.size())
    r.lexer.FailAt(draft.types_place, "expected one type for each value of the loop");
  for (size_t i = 0; i < arguments.size(); ++i) arguments[i].type = draft.operand_types[i];
  if (r.lexer.Accept("attributes")) r.attributes.ReadFields(draft.attributes);
  for (const char* word : {"cond", "do"}) {
    r.lexer.Expect(word);
    draft.regions.push_back(r.ReadRegion(arguments));
  }
}

void ReadScan(OperationReader& r, OperationDraft& draft) {
  ReadOperandList(r, draft);
  const auto inputs = static_cast<int64_t>(draft.operands.size());
  if (r.lexer.Accept("inits")) ReadOperandList(r, draft);
  const int64_t carries = static_cast<int64_t>(draft.operands.size()) - inputs;
  r.lexer.Expect("dimension");
  r.lexer.Expect('=');
  r.lexer.Peek();
  const size_t place = r.lexer.place();
  r.lexer.Integer();
  draft.attributes.push_back({"dimension", r.attributes.Number(r.lexer.Since(place), "i64")});
  if (r.lexer.Accept("attributes")) r.attributes.ReadFields(draft.attributes);
  draft.regions.push_back(r.ReadRegion({}));
  r.ReadGenericTail(draft);
  const int64_t outputs = static_cast<int64_t>(draft.result_types.size()) - carries;
  if (outputs < 0) r.lexer.FailAt(draft.types_place, "a scan has a result for each of its inits");
  const int64_t operands[] = {inputs, carries}, results[] = {outputs, carries};
  draft.attributes.push_back({"operandSegmentSizes", r.attributes.Integers("i32", operands)});
  draft.attributes.push_back({"resultSegmentSizes", r.attributes.Integers("i32", results)});
}

}  // namespace tessera::stablehlo
