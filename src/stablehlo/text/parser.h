// Reads operations, their regions and the values that they use and define.
#pragma once
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "stablehlo/text/attributes.h"
#include "stablehlo/text/lexer.h"
#include "stablehlo/text/location_reader.h"
#include "stablehlo/text/tree.h"
#include "stablehlo/text/types.h"
#include "stablehlo/text/values.h"

namespace tessera::stablehlo {

// An argument of a region as the text declares it.
struct ArgumentText {
  std::string_view name;
  size_t place = 0;
  const TextType* type = nullptr;
  LocationNumber location = kNoLocation;
};
using ArgumentList = absl::InlinedVector<ArgumentText, 4>;

// An operation that is being read.
struct OperationDraft {
  std::string_view name;
  size_t place = 0;
  absl::InlinedVector<uint32_t, 4> operands;
  FieldList attributes;
  absl::InlinedVector<TextRegion, 2> regions;
  TextTypes operand_types, result_types;
  size_t types_place = 0;
};

class OperationReader {
 public:
  OperationReader(Module& module, Lexer& lexer);

  Lexer& lexer;
  TypeReader types;
  AttributeReader attributes;
  LocationReader locations;

  // Reads an operation with the names of its results and its location.
  void ReadOperation();
  // Reads `{ ... }` with the given arguments, or with those after its `^bb0`.
  TextRegion ReadRegion(const ArgumentList& arguments);
  // Makes a region of one operation and stablehlo.return of its result.
  TextRegion MakeRegion(std::string_view operation, size_t place, const TextType* type);
  // Reads `(%a: T, ...)`.
  void ReadArguments(ArgumentList& arguments);
  ArgumentText ReadArgument();
  // Reads `%a`, a value that is defined, and adds it to the operands.
  void ReadOperand(OperationDraft& draft);
  // Reads `"name"(%a) <{...}> ({...}) {...} : (T) -> T` after the name.
  void ReadGeneric(OperationDraft& draft);
  // Reads the parts of the generic form before the regions: operands and properties.
  void ReadGenericHead(OperationDraft& draft);
  // Reads attributes and types after the regions.
  void ReadGenericTail(OperationDraft& draft);
  const TextType* TypeOf(uint32_t value) const { return values_[value].type; }

  // Each function has its own names and numbers of values.
  void BeginFunction();
  std::vector<TextValue> EndFunction();

 private:
  struct ResultName {
    std::string_view name;
    size_t place = 0;
    uint32_t count = 1;
  };
  using ResultNames = absl::InlinedVector<ResultName, 2>;

  void ReadResultNames(ResultNames& names);
  void CheckOperandTypes(const OperationDraft& draft);
  // Numbers the results of an operation and names them.
  uint32_t DefineResults(const OperationDraft& draft, const ResultNames& names,
                         LocationNumber location);
  void Define(std::string_view name, size_t place, ValueRange values);
  uint32_t DefineArguments(const ArgumentList& arguments);
  void Add(OperationDraft& draft, uint32_t first_result, LocationNumber location);
  TextRegion TakeRegion(uint32_t first_argument, size_t arguments, size_t first_operation);

  Module& module_;
  int level_ = 0;
  TextNames names_;
  std::vector<TextValue> values_;
  std::vector<Operation> open_;  // operations of the regions that are being read
};

}  // namespace tessera::stablehlo
