// The syntax tree of StableHLO text. The pretty and the generic form of a program give the same
// tree: attributes have their names of the generic form, and operands and results are numbers.
// Every text in it is a view of the text that was read, or is in the memory of its Module.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <memory_resource>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stablehlo/text/locations.h"
#include "tessera/error.h"

namespace tessera::stablehlo {

// Size of a dim that the text leaves open: `?`.
inline constexpr int64_t kOpenSize = -1;

// A type. Equal types of one module are one object, so pointers can be compared.
struct TextType {
  enum class Kind : uint8_t { kTensor, kFunction, kTuple, kOther };
  Kind kind = Kind::kOther;
  std::string_view text;                      // as MLIR prints it
  std::string_view element;                   // of a tensor: "f32", "complex<f64>"
  std::string_view encoding;                  // of a tensor: the text after its element type
  std::span<const int64_t> dims;              // of a tensor
  int64_t count = 0;                          // elements of a tensor; kOpenSize if a dim is open
  std::span<const TextType* const> operands;  // of a function
  std::span<const TextType* const> results;   // of a function; members of a tuple
};

struct NamedAttribute;

struct Attribute {
  enum class Kind : uint8_t {
    kUnit,
    kNumber,       // text and type: `3 : i64`, `1.0 : f32`, `0x7FC0 : bf16`, `true`
    kString,       // text without escapes
    kSymbol,       // text without `@` and quotes
    kArray,        // items
    kDictionary,   // fields, sorted by name
    kIntegers,     // numbers; name is the element type of `array<i64: 1, 2>`, "" for `[1, 2]`
    kDense,        // text between `dense<` and `>`, and type
    kType,         // type
    kWord,         // `#stablehlo<precision DEFAULT>`: name "stablehlo.precision", text "DEFAULT"
    kStruct,       // `#stablehlo.gather<offset_dims = [1]>`: name "stablehlo.gather", fields
    kConvolution,  // items: the dims of input, kernel and output; each an array of words
    kOpaque        // name "sdy.sharding", text "<@mesh, [{\"x\"}]>" with its brackets; items of
                   // sdy.sharding_per_value: its shardings, each opaque
  };
  enum class DenseForm : uint8_t { kSplat, kList, kBytes, kEmpty };  // of kDense

  Kind kind = Kind::kUnit;
  DenseForm form = DenseForm::kSplat;
  uint32_t count = 0;  // of the list below
  std::string_view name, text;
  const TextType* type = nullptr;
  union {
    const void* none = nullptr;
    const Attribute* first_item;
    const NamedAttribute* first_field;
    const int64_t* first_number;
  };

  std::span<const Attribute> items() const;
  std::span<const NamedAttribute> fields() const;
  std::span<const int64_t> numbers() const;
  // Returns a field by its name, nullptr if there is none.
  const Attribute* Find(std::string_view field) const;
};

struct NamedAttribute {
  std::string_view name;
  Attribute value;
};

inline std::span<const Attribute> Attribute::items() const {
  if (kind != Kind::kArray && kind != Kind::kConvolution && kind != Kind::kOpaque) return {};
  return {first_item, count};
}
inline std::span<const NamedAttribute> Attribute::fields() const {
  if (kind != Kind::kDictionary && kind != Kind::kStruct) return {};
  return {first_field, count};
}
inline std::span<const int64_t> Attribute::numbers() const {
  if (kind != Kind::kIntegers) return {};
  return {first_number, count};
}

// Returns the attribute of that name, nullptr if there is none.
const Attribute* Find(std::span<const NamedAttribute> attributes, std::string_view name);

// A value of a function: an argument of a region or a result of an operation.
struct TextValue {
  std::string_view name;  // without `%` and `#1`
  const TextType* type = nullptr;
  LocationNumber location = kNoLocation;
  uint32_t result = 0;  // 1 for `%3#1`
};

struct Operation;

// A region of one block.
struct TextRegion {
  uint32_t first_argument = 0, arguments = 0;  // its arguments have numbers one after another
  std::span<const Operation> operations;
};

struct Operation {
  std::string_view name;                       // "stablehlo.add"
  std::span<const uint32_t> operands;          // numbers of values of the function
  std::span<const NamedAttribute> attributes;  // inherent and other ones, sorted by name
  std::span<const TextRegion> regions;         // in the order of the generic form
  std::span<const TextType* const> result_types;
  uint32_t first_result = 0;  // results have numbers one after another
  LocationNumber location = kNoLocation;
  size_t place = 0;  // offset in the text, for errors

  const Attribute* Find(std::string_view attribute) const {
    return stablehlo::Find(attributes, attribute);
  }
};

struct TextFunction {
  std::string_view name, visibility;  // "public", "private" or ""
  const TextType* type = nullptr;     // of kind kFunction
  // Dictionaries, one each; empty if there are no attributes.
  std::span<const Attribute> argument_attributes, result_attributes;
  std::span<const NamedAttribute> attributes;
  bool is_declared_only = false;  // it has no body
  TextRegion body;
  std::vector<TextValue> values;  // by number; arguments come first
  LocationNumber location = kNoLocation;
  size_t place = 0;
};

// `sdy.mesh @mesh = <["x"=2]>`
struct TextMesh {
  std::string_view name;
  Attribute mesh;                              // opaque, "sdy.mesh"
  std::span<const NamedAttribute> attributes;  // others
  LocationNumber location = kNoLocation;
  size_t place = 0;
};

class Module {
 public:
  // `file` is the caller's line, or a file at line 0, as in base::Reader. `owner` keeps the text
  // alive; without an owner the caller does.
  Module(std::string_view text, Loc file, std::shared_ptr<const void> owner);

  std::string_view name;
  std::span<const NamedAttribute> attributes;
  std::vector<TextMesh> meshes;
  std::vector<TextFunction> functions;
  Locations locations;
  LocationNumber location = kNoLocation;

  std::string_view text() const { return text_; }
  Loc file() const { return file_; }
  // Returns the function of that name, nullptr if there is none. It reads all names.
  const TextFunction* FindFunction(std::string_view function) const;
  // Whether a text of the tree is a view of the text that was read.
  bool IsOfText(std::string_view part) const;
  // Returns the offset of a view of the text; 0 for any other view.
  size_t PlaceOf(std::string_view part) const;
  // Throws a RuntimeError with the line and column of a place.
  [[noreturn]] void Fail(size_t place, std::string reason) const;

  // Copies items to memory that lives as long as the module. They need no destructor.
  template <class T>
  std::span<const T> Keep(std::span<const T> items) {
    static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);
    if (items.empty()) return {};
    T* copy = static_cast<T*>(memory_->allocate(items.size_bytes(), alignof(T)));
    std::uninitialized_copy(items.begin(), items.end(), copy);
    return {copy, items.size()};
  }
  std::string_view Keep(std::string_view part);

 private:
  std::string_view text_;
  Loc file_;
  std::shared_ptr<const void> owner_;
  std::unique_ptr<std::pmr::monotonic_buffer_resource> memory_;
};

}  // namespace tessera::stablehlo
