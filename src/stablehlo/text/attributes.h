// Reads attributes.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "stablehlo/text/lexer.h"
#include "stablehlo/text/tree.h"
#include "stablehlo/text/types.h"

namespace tessera::stablehlo {

using FieldList = absl::InlinedVector<NamedAttribute, 4>;
using NumberList = absl::InlinedVector<int64_t, 8>;

class AttributeReader {
 public:
  AttributeReader(Module& module, Lexer& lexer, TypeReader& types, int& level)
      : module_(module), lexer_(lexer), types_(types), level_(level) {}

  Attribute Read();
  // Reads `{name = value, ...}` and adds it to `fields`.
  void ReadFields(FieldList& fields);
  // Reads `{name = value, ...}`.
  Attribute ReadDictionary();
  // Reads `<name = value, ...>` of the struct attribute `name`.
  Attribute ReadStruct(std::string_view name);
  // Reads `"..."` or a name of letters, without escapes.
  std::string_view ReadString();
  // Reads `@name`.
  std::string_view ReadSymbol();
  // Reads `[1, 2]`.
  void ReadNumbers(NumberList& numbers);
  // Reads `[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]`.
  Attribute ReadConvolution();
  // Reads `[<@mesh, ...>, ...]`.
  Attribute ReadShardings();
  // Reads `<@mesh, ...>`.
  Attribute ReadSharding();
  // Reads the alias of an attribute, `#name = value`; `name` was read.
  void Define(std::string_view name);

  Attribute Word(std::string_view name, std::string_view text) const;
  Attribute String(std::string_view text) const;
  Attribute Symbol(std::string_view text) const;
  // `type` is the text of the type of the number.
  Attribute Number(std::string_view text, std::string_view type);
  Attribute Integers(std::string_view element, std::span<const int64_t> numbers);
  Attribute Array(std::span<const Attribute> items);
  Attribute Struct(std::string_view name, std::span<const NamedAttribute> fields);
  // Sorts fields by name and keeps them. `place` is for the error if one is given twice.
  std::span<const NamedAttribute> Sorted(FieldList& fields, size_t place);

 private:
  Attribute ReadNumber();
  Attribute ReadArray();
  Attribute ReadIntegers();
  Attribute ReadDense(size_t begin);
  Attribute ReadHash();
  Attribute ReadOfDialect(std::string_view name);
  Attribute ReadWordLike();
  Attribute ReadFieldValue();
  Attribute ReadFieldList();
  Attribute Raw(size_t begin) const;
  std::string_view Unescaped(std::string_view text, size_t place);
  // Returns "stablehlo.precision" for the parts; equal names are kept once.
  std::string_view JoinedName(std::string_view dialect, std::string_view mnemonic);

  Module& module_;
  Lexer& lexer_;
  TypeReader& types_;
  int& level_;
  absl::flat_hash_map<std::string_view, Attribute> aliases_;
  absl::flat_hash_map<std::string, std::string_view> names_;
  bool is_in_alias_ = false;
};

}  // namespace tessera::stablehlo
