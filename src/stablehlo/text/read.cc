// Reads modules: their meshes, functions and aliases.
#include "stablehlo/text/read.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "base/error.h"
#include "base/file.h"
#include "stablehlo/text/parser.h"

namespace tessera::stablehlo {

namespace {

class ModuleReader {
 public:
  ModuleReader(Module& module, std::string_view text, Loc file)
      : module_(module), lexer_(text, file), operations_(module, lexer_) {}

  void Read();

 private:
  void ReadAliases();
  void ReadPrettyModule();
  void ReadGenericModule();
  // Reads meshes and functions to the end of the module.
  void ReadItems();
  void ReadPrettyMesh();
  void ReadGenericMesh(size_t place);
  void ReadPrettyFunction();
  void ReadGenericFunction(size_t place);
  // Reads `(%a: T {...}, ...)`; of a function without a body also `(T, ...)`.
  void ReadFunctionArguments(ArgumentList& arguments, std::vector<Attribute>& dictionaries);
  void ReadFunctionResults(TextTypes& types, std::vector<Attribute>& dictionaries);
  Attribute DictionaryOrEmpty();
  void AddFunction(TextFunction function, size_t place);
  void AddMesh(TextMesh mesh, size_t place);
  // Reads `name = "f"` and `sym_visibility` out of attributes and removes them.
  std::string_view TakeText(FieldList& fields, std::string_view name);

  Module& module_;
  Lexer lexer_;
  OperationReader operations_;
  absl::flat_hash_set<std::string_view> names_;
};

void ModuleReader::Read() {
  ReadAliases();
  if (lexer_.AtEnd()) lexer_.Fail("expected a module but the text ends here");
  if (lexer_.Peek() == '"' && lexer_.PeekIs("\"builtin.module\""))
    ReadGenericModule();
  else if (lexer_.PeekIs("module") || lexer_.PeekIs("builtin.module"))
    ReadPrettyModule();
  else
    ReadItems();
  module_.location = operations_.locations.Accept();
  ReadAliases();
  if (lexer_.PeekIs("{-#"))
    lexer_.Fail("constants that are kept apart from the text (dense_resource) are not read");
  if (!lexer_.AtEnd()) lexer_.Fail("expected the end of the text after the module");
  operations_.locations.Finish();
}

void ModuleReader::ReadAliases() {
  while (lexer_.Peek() == '#') {
    lexer_.Expect('#');
    const std::string_view name = lexer_.Word("the name of an alias");
    lexer_.Expect('=');
    if (lexer_.PeekIs("loc"))
      operations_.locations.Define(name);
    else
      operations_.attributes.Define(name);
  }
  if (lexer_.Peek() == '!') lexer_.Fail("aliases of types are not read");
}

void ModuleReader::ReadPrettyModule() {
  if (!lexer_.Accept("module")) lexer_.Expect("builtin.module");
  if (lexer_.Peek() == '@') module_.name = operations_.attributes.ReadSymbol();
  const size_t place = lexer_.place();
  FieldList fields;
  if (lexer_.Accept("attributes")) operations_.attributes.ReadFields(fields);
  module_.attributes = operations_.attributes.Sorted(fields, place);
  lexer_.Expect('{');
  ReadItems();
  lexer_.Expect('}');
}

void ModuleReader::ReadGenericModule() {
  const size_t place = lexer_.place();
  lexer_.Quoted();
  OperationDraft draft;
  operations_.ReadGenericHead(draft);
  lexer_.Expect('(');
  lexer_.Expect('{');
  if (lexer_.Accept('^')) {
    lexer_.Suffix();
    lexer_.Expect(':');
  }
  ReadItems();
  lexer_.Expect('}');
  lexer_.Expect(')');
  operations_.ReadGenericTail(draft);
  module_.name = TakeText(draft.attributes, "sym_name");
  module_.attributes = operations_.attributes.Sorted(draft.attributes, place);
}

void ModuleReader::ReadItems() {
  while (true) {
    const char next = lexer_.Peek();
    const size_t place = lexer_.place();
    if (lexer_.AtEnd() || next == '}' || next == '#' || next == '{') return;
    const bool is_generic = next == '"';
    const std::string_view name = is_generic ? lexer_.Quoted() : lexer_.Word("func.func");
    if (name == "func.func")
      is_generic ? ReadGenericFunction(place) : ReadPrettyFunction();
    else if (name == "sdy.mesh")
      is_generic ? ReadGenericMesh(place) : ReadPrettyMesh();
    else
      lexer_.FailAt(place,
                    fmt::format("expected func.func or sdy.mesh, not {}", name.substr(0, 60)));
  }
}

std::string_view ModuleReader::TakeText(FieldList& fields, std::string_view name) {
  const auto field = std::find_if(fields.begin(), fields.end(),
                                  [&](const NamedAttribute& f) { return f.name == name; });
  if (field == fields.end()) return "";
  const std::string_view text = field->value.text;
  fields.erase(field);
  return text;
}

void ModuleReader::AddMesh(TextMesh mesh, size_t place) {
  if (mesh.mesh.kind != Attribute::Kind::kOpaque || mesh.mesh.name != "sdy.mesh")
    lexer_.FailAt(place, "a mesh has a list of axes");
  if (!names_.insert(mesh.name).second)
    lexer_.FailAt(place, fmt::format("@{} is defined twice", mesh.name));
  mesh.place = place;
  mesh.location = operations_.locations.Accept();
  module_.meshes.push_back(mesh);
}

void ModuleReader::ReadPrettyMesh() {
  lexer_.Peek();
  const size_t place = lexer_.place();
  TextMesh mesh;
  mesh.name = operations_.attributes.ReadSymbol();
  lexer_.Expect('=');
  mesh.mesh = operations_.attributes.ReadSharding();
  mesh.mesh.name = "sdy.mesh";
  FieldList fields;
  if (lexer_.Peek() == '{') operations_.attributes.ReadFields(fields);
  mesh.attributes = operations_.attributes.Sorted(fields, place);
  AddMesh(mesh, place);
}

void ModuleReader::ReadGenericMesh(size_t place) {
  OperationDraft draft;
  operations_.ReadGeneric(draft);
  TextMesh mesh;
  mesh.name = TakeText(draft.attributes, "sym_name");
  const auto axes = std::find_if(draft.attributes.begin(), draft.attributes.end(),
                                 [](const NamedAttribute& f) { return f.name == "mesh"; });
  if (axes != draft.attributes.end()) {
    mesh.mesh = axes->value;
    draft.attributes.erase(axes);
  }
  mesh.attributes = operations_.attributes.Sorted(draft.attributes, place);
  AddMesh(mesh, place);
}

void ModuleReader::AddFunction(TextFunction function, size_t place) {
  if (!names_.insert(function.name).second)
    lexer_.FailAt(place, fmt::format("@{} is defined twice", function.name));
  if (function.type->operands.size() != function.body.arguments && !function.is_declared_only)
    lexer_.FailAt(place, fmt::format("the type of @{} has {}, but its body has {}", function.name,
                                     base::CountText(function.type->operands.size(), "operand"),
                                     function.body.arguments));
  function.place = place;
  function.values = operations_.EndFunction();
  for (size_t i = 0; i < function.body.arguments; ++i)
    if (function.values[i].type != function.type->operands[i])
      lexer_.FailAt(place,
                    fmt::format("argument {} of @{} is {}, but {} in its type", i, function.name,
                                function.values[i].type->text, function.type->operands[i]->text));
  function.location = operations_.locations.Accept();
  module_.functions.push_back(std::move(function));
}

Attribute ModuleReader::DictionaryOrEmpty() {
  if (lexer_.Peek() == '{') return operations_.attributes.ReadDictionary();
  Attribute empty;
  empty.kind = Attribute::Kind::kDictionary;
  return empty;
}

void ModuleReader::ReadFunctionArguments(ArgumentList& arguments,
                                         std::vector<Attribute>& dictionaries) {
  lexer_.Expect('(');
  if (lexer_.Accept(')')) return;
  do {
    ArgumentText& argument = arguments.emplace_back();
    lexer_.Peek();
    argument.place = lexer_.place();
    if (lexer_.Accept('%')) {
      argument.name = lexer_.Suffix();
      lexer_.Expect(':');
    }
    argument.type = operations_.types.Read();
    dictionaries.push_back(DictionaryOrEmpty());
    argument.location = operations_.locations.Accept();
  } while (lexer_.Accept(','));
  lexer_.Expect(')');
}

void ModuleReader::ReadFunctionResults(TextTypes& types, std::vector<Attribute>& dictionaries) {
  if (!lexer_.Accept("->")) return;
  if (!lexer_.Accept('(')) {
    types.push_back(operations_.types.Read());
    return;
  }
  if (lexer_.Accept(')')) return;
  do {
    types.push_back(operations_.types.Read());
    dictionaries.push_back(DictionaryOrEmpty());
    operations_.locations.Accept();
  } while (lexer_.Accept(','));
  lexer_.Expect(')');
}

// Returns the dictionaries, none if all are empty.
std::span<const Attribute> KeptUnlessEmpty(Module& module, std::span<const Attribute> all) {
  const bool is_empty =
      std::all_of(all.begin(), all.end(), [](const Attribute& a) { return a.count == 0; });
  return is_empty ? std::span<const Attribute>() : module.Keep(all);
}

void ModuleReader::ReadPrettyFunction() {
  TextFunction function;
  operations_.BeginFunction();
  for (const char* visibility : {"public", "private", "nested"})
    if (lexer_.Accept(visibility)) function.visibility = visibility;
  lexer_.Peek();
  const size_t place = lexer_.place();
  function.name = operations_.attributes.ReadSymbol();
  ArgumentList arguments;
  TextTypes operands, results;
  std::vector<Attribute> of_arguments, of_results;
  ReadFunctionArguments(arguments, of_arguments);
  ReadFunctionResults(results, of_results);
  for (const ArgumentText& argument : arguments) operands.push_back(argument.type);
  function.type = operations_.types.FunctionOf(operands, results);
  function.argument_attributes = KeptUnlessEmpty(module_, of_arguments);
  function.result_attributes = KeptUnlessEmpty(module_, of_results);
  FieldList fields;
  if (lexer_.Accept("attributes")) operations_.attributes.ReadFields(fields);
  function.attributes = operations_.attributes.Sorted(fields, place);
  function.is_declared_only = lexer_.Peek() != '{';
  if (!function.is_declared_only) {
    for (const ArgumentText& argument : arguments)
      if (argument.name.empty()) lexer_.FailAt(argument.place, "this argument has no name");
    function.body = operations_.ReadRegion(arguments);
  }
  AddFunction(std::move(function), place);
}

void ModuleReader::ReadGenericFunction(size_t place) {
  TextFunction function;
  OperationDraft draft;
  operations_.BeginFunction();
  operations_.ReadGeneric(draft);
  FieldList& fields = draft.attributes;
  function.name = TakeText(fields, "sym_name");
  function.visibility = TakeText(fields, "sym_visibility");
  if (draft.regions.size() != 1) lexer_.FailAt(place, "a function has one region");
  function.body = draft.regions[0];
  function.is_declared_only = function.body.operations.empty();
  FieldList others;
  for (const NamedAttribute& field : fields) {
    if (field.name == "function_type")
      function.type = field.value.type;
    else if (field.name == "arg_attrs")
      function.argument_attributes = KeptUnlessEmpty(module_, field.value.items());
    else if (field.name == "res_attrs")
      function.result_attributes = KeptUnlessEmpty(module_, field.value.items());
    else
      others.push_back(field);
  }
  if (function.type == nullptr || function.type->kind != TextType::Kind::kFunction)
    lexer_.FailAt(place, "the function has no function_type");
  const auto check = [&](std::span<const Attribute> dictionaries, size_t count) {
    if (!dictionaries.empty() && dictionaries.size() != count)
      lexer_.FailAt(place, "arg_attrs or res_attrs has the wrong length");
  };
  check(function.argument_attributes, function.type->operands.size());
  check(function.result_attributes, function.type->results.size());
  function.attributes = operations_.attributes.Sorted(others, place);
  AddFunction(std::move(function), place);
}

// Returns a file as text, and the owner of its memory.
std::pair<std::string_view, std::shared_ptr<const void>> MappedFile(const std::string& path) {
  const auto fail = [&](const std::string& reason) {
    base::ThrowRuntime(base::Refusal("stablehlo", "read", path, reason));
  };
  if (const std::string reason = base::WhyUnreadable(path); !reason.empty())
    fail(path + " cannot be read: " + reason);
  base::Descriptor file;
  file.value = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat status {};
  if (file.value < 0 || fstat(file.value, &status) != 0)
    fail(path + " cannot be read: " + base::ErrnoText());
  const auto size = static_cast<size_t>(status.st_size);
  if (size == 0) return {};
  void* data = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.value, 0);
  if (data == MAP_FAILED) fail(path + " cannot be read: " + base::ErrnoText());
  std::shared_ptr<const void> owner(
      data, [size](const void* mapped) { munmap(const_cast<void*>(mapped), size); });
  return {{static_cast<const char*>(data), size}, std::move(owner)};
}

}  // namespace

Module ReadModule(std::string_view text, Loc file, std::shared_ptr<const void> owner,
                  IsSupported is_supported) {
  Module module(text, file, std::move(owner));
  try {
    ModuleReader(module, text, file).Read();
  } catch (const UnknownPartError&) {
    const Unsupported all = is_supported ? UnsupportedIn(text, file, is_supported) : Unsupported();
    if (all.empty()) throw;
    all.Fail(text, file);
  }
  return module;
}

Module ReadModuleFile(const std::string& path, IsSupported is_supported) {
  auto [text, owner] = MappedFile(path);
  return ReadModule(text, base::LineOf(path, 0), std::move(owner), is_supported);
}

}  // namespace tessera::stablehlo
