// Reads types. Equal types become one object.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "stablehlo/text/lexer.h"
#include "stablehlo/text/tree.h"

namespace tessera::stablehlo {

using TextTypes = absl::InlinedVector<const TextType*, 4>;

class TypeReader {
 public:
  TypeReader(Module& module, Lexer& lexer, int& level)
      : module_(module), lexer_(lexer), level_(level) {}

  const TextType* Read();
  // Reads `T`, or `(T, ...)`, which may be empty.
  void ReadList(TextTypes& types);
  // Reads `(T, ...) -> T`, `(T, ...) -> (T, ...)`.
  void ReadSignature(TextTypes& operands, TextTypes& results);
  // Returns the type with that text: a tensor, or a type of one word.
  const TextType* Named(std::string_view text);
  const TextType* FunctionOf(const TextTypes& operands, const TextTypes& results);

 private:
  // Reads the tensor type `raw`, which stands at `place` of the text.
  const TextType* Tensor(std::string_view raw, size_t place);
  // Returns the type of `text`, which is made by `type` if it is new.
  const TextType* Unique(const std::string& text, TextType type);
  const TextType* Tuple();
  const TextType* OfDialect();
  std::string_view RawTensor();

  Module& module_;
  Lexer& lexer_;
  int& level_;
  int type_level_ = 0;  // of functions and tuples
  // By their text here, and as MLIR prints them.
  absl::flat_hash_map<std::string_view, const TextType*> types_;
};

// Whether a tensor may have elements of this type, such as "f32" or "complex<f64>".
bool IsElementType(std::string_view text);
// Whether attributes and types of this dialect may occur.
bool IsKnownDialect(std::string_view dialect);

}  // namespace tessera::stablehlo
