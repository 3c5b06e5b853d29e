// Prints a syntax tree in MLIR's generic form.
#include "stablehlo/text/print.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "stablehlo/text/lexer.h"

namespace tessera::stablehlo {
namespace {

class GenericPrinter {
 public:
  GenericPrinter(const Locations* locations, std::string& out) : locations_(locations), out_(out) {}

  void PrintModule(const Module& module);
  void PrintAttribute(const Attribute& attribute);

 private:
  template <class... T>
  void Put(fmt::format_string<T...> format, T&&... values) {
    fmt::format_to(std::back_inserter(out_), format, std::forward<T>(values)...);
  }
  // Prints items with commas between them.
  template <class Items, class F>
  void PutList(const Items& items, F put) {
    bool is_first = true;
    for (const auto& item : items) {
      if (!is_first) out_ += ", ";
      is_first = false;
      put(item);
    }
  }
  void PutString(std::string_view text);
  void PutSymbol(std::string_view name);
  void PutName(std::string_view name);
  void PutFields(std::span<const NamedAttribute> fields);
  void PutDictionary(std::span<const NamedAttribute> fields);
  void PutIntegers(const Attribute& attribute);
  void PutOpaque(const Attribute& attribute);
  void PutTypes(std::span<const TextType* const> types);
  void PutLocation(LocationNumber number);
  void PutLocationBody(const Location& location);
  void PutLocations();
  void PutRegion(const TextFunction& function, const TextRegion& region);
  void PutOperation(const TextFunction& function, const Operation& operation);
  void PutFunction(const TextFunction& function);
  void PutMesh(const TextMesh& mesh);

  const Locations* locations_;  // nullptr if they are not printed
  std::string& out_;
};

void GenericPrinter::PutString(std::string_view text) {
  out_ += '"';
  for (char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\\')
      out_ += "\\\\";
    else if (c == '"' || byte < 32 || byte > 126)
      Put("\\{:02X}", byte);
    else
      out_ += c;
  }
  out_ += '"';
}

bool IsPlain(std::string_view name) {
  if (name.empty() || (name[0] >= '0' && name[0] <= '9')) return false;
  return std::all_of(name.begin(), name.end(), IsWordLetter) && name[0] != '$' && name[0] != '.';
}

void GenericPrinter::PutName(std::string_view name) {
  if (IsPlain(name))
    out_ += name;
  else
    PutString(name);
}

void GenericPrinter::PutSymbol(std::string_view name) {
  out_ += '@';
  PutName(name);
}

void GenericPrinter::PutFields(std::span<const NamedAttribute> fields) {
  PutList(fields, [&](const NamedAttribute& field) {
    PutName(field.name);
    if (field.value.kind == Attribute::Kind::kUnit) return;
    out_ += " = ";
    PrintAttribute(field.value);
  });
}

void GenericPrinter::PutDictionary(std::span<const NamedAttribute> fields) {
  out_ += '{';
  PutFields(fields);
  out_ += '}';
}

void GenericPrinter::PutIntegers(const Attribute& attribute) {
  const auto put = [&](int64_t number) {
    if (attribute.name == "i1")
      out_ += number != 0 ? "true" : "false";
    else
      Put("{}", number);
  };
  if (attribute.name.empty()) {
    out_ += '[';
    PutList(attribute.numbers(), put);
    out_ += ']';
    return;
  }
  Put("array<{}{}", attribute.name, attribute.count > 0 ? ": " : "");
  PutList(attribute.numbers(), put);
  out_ += '>';
}

void GenericPrinter::PutOpaque(const Attribute& attribute) {
  if (attribute.name.empty()) {
    out_ += attribute.text;
  } else if (attribute.name == "sdy.sharding_per_value") {
    out_ += "#sdy.sharding_per_value<[";
    PutList(attribute.items(), [&](const Attribute& item) { out_ += item.text; });
    out_ += "]>";
  } else if (attribute.text.empty() || attribute.text.starts_with('<')) {
    Put("#{}{}", attribute.name, attribute.text);
  } else {
    const size_t dot = attribute.name.find('.');
    Put("#{}<{}{}>", attribute.name.substr(0, dot), attribute.name.substr(dot + 1), attribute.text);
  }
}

void GenericPrinter::PrintAttribute(const Attribute& attribute) {
  using Kind = Attribute::Kind;
  const auto put = [&](const Attribute& item) { PrintAttribute(item); };
  switch (attribute.kind) {
    case Kind::kUnit:
      out_ += "unit";
      break;
    case Kind::kNumber:
      out_ += attribute.text;
      if (attribute.type != nullptr && attribute.type->text != "i1")
        Put(" : {}", attribute.type->text);
      break;
    case Kind::kString:
      PutString(attribute.text);
      break;
    case Kind::kSymbol:
      PutSymbol(attribute.text);
      break;
    case Kind::kArray:
      out_ += '[';
      PutList(attribute.items(), put);
      out_ += ']';
      break;
    case Kind::kDictionary:
      PutDictionary(attribute.fields());
      break;
    case Kind::kIntegers:
      PutIntegers(attribute);
      break;
    case Kind::kDense:
      Put("dense<{}> : {}", attribute.text, attribute.type->text);
      break;
    case Kind::kType:
      out_ += attribute.type->text;
      break;
    case Kind::kWord:
      if (attribute.name.empty()) {
        out_ += attribute.text;
      } else {
        const size_t dot = attribute.name.find('.');
        Put("#{}<{} {}>", attribute.name.substr(0, dot), attribute.name.substr(dot + 1),
            attribute.text);
      }
      break;
    case Kind::kStruct:
      Put("#{}<", attribute.name);
      PutFields(attribute.fields());
      out_ += '>';
      break;
    case Kind::kConvolution: {
      const auto lists = attribute.items();
      out_ += "#stablehlo.conv<";
      for (size_t i = 0; i < lists.size(); ++i) {
        out_ += i == 0 ? "" : i == 1 ? "x" : "->";
        PrintAttribute(lists[i]);
      }
      out_ += '>';
      break;
    }
    case Kind::kOpaque:
      PutOpaque(attribute);
  }
}

void GenericPrinter::PutTypes(std::span<const TextType* const> types) {
  out_ += '(';
  PutList(types, [&](const TextType* type) { out_ += type->text; });
  out_ += ')';
}

void GenericPrinter::PutLocation(LocationNumber number) {
  if (locations_ != nullptr && number != kNoLocation) Put(" loc(#loc{})", number);
}

void GenericPrinter::PutLocationBody(const Location& location) {
  const FileRange& range = location.range;
  switch (location.kind) {
    case Location::Kind::kUndefined:
    case Location::Kind::kUnknown:
      out_ += "unknown";
      break;
    case Location::Kind::kFile:
      PutString(range.file);
      Put(":{}:{}", range.line, range.column);
      if (range.line != range.end_line || range.column != range.end_column)
        Put(" to {}:{}", range.end_line, range.end_column);
      break;
    case Location::Kind::kName:
      PutString(range.file);
      if (location.first != kNoLocation) Put("(#loc{})", location.first);
      break;
    case Location::Kind::kCallSite:
      Put("callsite(#loc{} at #loc{})", location.first, location.second);
      break;
    case Location::Kind::kFused: {
      const std::span all(locations_->fused);
      Put("fused{}[", range.file);
      PutList(all.subspan(location.first, location.second),
              [&](LocationNumber number) { Put("#loc{}", number); });
      out_ += ']';
    }
  }
}

// MLIR wants the locations inside of another one to be defined before it.
void GenericPrinter::PutLocations() {
  const std::vector<Location>& all = locations_->all;
  std::vector<bool> is_open(all.size()), is_done(all.size());
  std::vector<LocationNumber> open;
  for (LocationNumber start = 0; start < all.size(); ++start) {
    open.push_back(start);
    while (!open.empty()) {
      const LocationNumber at = open.back();
      if (!is_open[at]) {
        is_open[at] = true;
        for (LocationNumber inside : locations_->Inside(at))
          if (!is_open[inside]) open.push_back(inside);
        continue;
      }
      open.pop_back();
      if (is_done[at]) continue;
      is_done[at] = true;
      Put("#loc{} = loc(", at);
      PutLocationBody(all[at]);
      out_ += ")\n";
    }
  }
}

void GenericPrinter::PutRegion(const TextFunction& function, const TextRegion& region) {
  out_ += "{\n";
  if (region.arguments > 0) {
    out_ += "^bb0(";
    for (uint32_t i = 0; i < region.arguments; ++i) {
      const uint32_t number = region.first_argument + i;
      const TextValue& value = function.values[number];
      Put("{}%{}: {}", i > 0 ? ", " : "", number, value.type->text);
      PutLocation(value.location);
    }
    out_ += "):\n";
  }
  for (const Operation& operation : region.operations) PutOperation(function, operation);
  out_ += '}';
}

void GenericPrinter::PutOperation(const TextFunction& function, const Operation& operation) {
  const auto results = static_cast<uint32_t>(operation.result_types.size());
  for (uint32_t i = 0; i < results; ++i)
    Put("{}%{}", i > 0 ? ", " : "", operation.first_result + i);
  Put("{}\"{}\"(", results > 0 ? " = " : "", operation.name);
  PutList(operation.operands, [&](uint32_t operand) { Put("%{}", operand); });
  out_ += ')';
  if (!operation.regions.empty()) {
    out_ += " (";
    PutList(operation.regions, [&](const TextRegion& region) { PutRegion(function, region); });
    out_ += ')';
  }
  if (!operation.attributes.empty()) {
    out_ += ' ';
    PutDictionary(operation.attributes);
  }
  out_ += " : (";
  PutList(operation.operands,
          [&](uint32_t operand) { out_ += function.values[operand].type->text; });
  out_ += ") -> ";
  PutTypes(operation.result_types);
  PutLocation(operation.location);
  out_ += '\n';
}

void GenericPrinter::PutMesh(const TextMesh& mesh) {
  out_ += "\"sdy.mesh\"() {";
  out_ += "mesh = ";
  PrintAttribute(mesh.mesh);
  out_ += ", sym_name = ";
  PutString(mesh.name);
  if (!mesh.attributes.empty()) out_ += ", ";
  PutFields(mesh.attributes);
  out_ += "} : () -> ()";
  PutLocation(mesh.location);
  out_ += '\n';
}

void GenericPrinter::PutFunction(const TextFunction& function) {
  out_ += "\"func.func\"() (";
  PutRegion(function, function.body);
  Put(") {{function_type = {}, sym_name = ", function.type->text);
  PutString(function.name);
  if (!function.visibility.empty()) {
    out_ += ", sym_visibility = ";
    PutString(function.visibility);
  }
  const auto put_list = [&](const char* name, std::span<const Attribute> dictionaries) {
    if (dictionaries.empty()) return;
    Put(", {} = [", name);
    PutList(dictionaries, [&](const Attribute& dictionary) { PrintAttribute(dictionary); });
    out_ += ']';
  };
  put_list("arg_attrs", function.argument_attributes);
  put_list("res_attrs", function.result_attributes);
  if (!function.attributes.empty()) out_ += ", ";
  PutFields(function.attributes);
  out_ += "} : () -> ()";
  PutLocation(function.location);
  out_ += '\n';
}

void GenericPrinter::PrintModule(const Module& module) {
  if (locations_ != nullptr) PutLocations();
  out_ += "\"builtin.module\"() ({\n";
  for (const TextMesh& mesh : module.meshes) PutMesh(mesh);
  for (const TextFunction& function : module.functions) PutFunction(function);
  out_ += "}) {";
  if (!module.name.empty()) {
    out_ += "sym_name = ";
    PutString(module.name);
    if (!module.attributes.empty()) out_ += ", ";
  }
  PutFields(module.attributes);
  out_ += "} : () -> ()";
  PutLocation(module.location);
  out_ += '\n';
}

}  // namespace

std::string GenericText(const Module& module, PrintLocations locations) {
  std::string text;
  GenericPrinter(locations == PrintLocations::kYes ? &module.locations : nullptr, text)
      .PrintModule(module);
  return text;
}

std::string GenericText(const Attribute& attribute) {
  std::string text;
  GenericPrinter(nullptr, text).PrintAttribute(attribute);
  return text;
}

}  // namespace tessera::stablehlo
