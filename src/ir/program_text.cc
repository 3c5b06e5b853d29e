// Program text: printing and parsing. One form for every stage.
#include <absl/container/flat_hash_map.h>
#include <fmt/format.h>

#include "base/error.h"
#include "base/reader.h"
#include "ir/program.h"

namespace tessera::ir {
namespace {

const char* ModeName(AxisMode mode) {
  return mode == AxisMode::Explicit ? "explicit" : mode == AxisMode::Auto ? "auto" : "manual";
}

// The modes in which a value's mesh differs from the program's.
std::string OtherModes(const sharding::MeshDef* mesh, const sharding::MeshDef* program) {
  std::string out;
  if (!mesh || !program || mesh == program || mesh->rank() != program->rank()) return out;
  for (AxisMode mode : {AxisMode::Explicit, AxisMode::Auto, AxisMode::Manual}) {
    std::string names;
    for (size_t a = 0; a < mesh->axes().size(); ++a)
      if (mesh->axes()[a].mode == mode && program->axes()[a].mode != mode)
        names += fmt::format("{}\"{}\"", names.empty() ? "" : ", ", mesh->axes()[a].name);
    if (!names.empty()) out += fmt::format(" {}={{{}}}", ModeName(mode), names);
  }
  return out;
}

std::string MeshLine(const sharding::MeshDef& mesh) {
  std::string out = "mesh @mesh = " + mesh.text();
  for (AxisMode mode : {AxisMode::Explicit, AxisMode::Auto, AxisMode::Manual}) {
    std::string names;
    for (const MeshAxis& a : mesh.axes())
      if (a.mode == mode) names += fmt::format("{}\"{}\"", names.empty() ? "" : ", ", a.name);
    if (!names.empty()) out += fmt::format(" {}={{{}}}", ModeName(mode), names);
  }
  return out + "\n";
}

class Printer {
 public:
  explicit Printer(const Program& program) : program_(program), names_(program.values.size(), -1) {}

  std::string Run() {
    if (program_.mesh) out_ += MeshLine(*program_.mesh);
    out_ += program_.per_device ? "device func @main(" : "func @main(";
    Parameters(program_.inputs);
    out_ += ")";
    if (!program_.captures.empty()) {
      std::vector<ValueId> captured;
      for (const Capture& c : program_.captures) captured.push_back(c.value);
      out_ += " captures(";
      Parameters(captured);
      out_ += ")";
    }
    out_ += " -> ";
    bool one = program_.outputs.size() == 1;
    if (!one) out_ += "(";
    for (size_t i = 0; i < program_.outputs.size(); ++i)
      out_ += (i ? ", " : "") + program_.type(program_.outputs[i])->text();
    out_ += one ? " {\n" : ") {\n";
    for (const Instruction& instruction : program_.instructions) Line(instruction);
    out_ += "  return";
    for (size_t i = 0; i < program_.outputs.size(); ++i)
      out_ += (i ? ", " : " ") + Use(program_.outputs[i]);
    return out_ + "\n}\n";
  }

 private:
  std::string Use(ValueId v) { return fmt::format("%{}", names_[static_cast<size_t>(v)]); }
  std::string Define(ValueId v) {
    names_[static_cast<size_t>(v)] = next_++;
    std::string text = Use(v) + ": " + program_.type(v)->text() +
                       OtherModes(program_.type(v)->mesh(), program_.mesh);
    if (const Type* place = program_.place(v)) text += " " + sharding::Text(place->sharding());
    return text;
  }
  void Parameters(const std::vector<ValueId>& values) {
    for (size_t i = 0; i < values.size(); ++i) out_ += (i ? ", " : "") + Define(values[i]);
  }
  void Line(const Instruction& instruction) {
    std::string line = "  ", operands;
    for (ValueId v : instruction.operands) operands += (operands.empty() ? " " : ", ") + Use(v);
    for (size_t i = 0; i < instruction.results.size(); ++i)
      line += (i ? ", " : "") + Define(instruction.results[i]);
    line += fmt::format(" = {}{}", instruction.op->name, operands);
    if (instruction.params) line += " {" + instruction.params->text() + "}";
    out_ += fmt::format("{:<70} // {}", line, base::Where(instruction.loc));
    for (const auto& [name, value] : program_.names)
      for (ValueId v : instruction.results)
        if (v == value) out_ += " " + name;
    out_ += "\n";
  }

  const Program& program_;
  std::vector<int> names_;
  int next_ = 0;
  std::string out_;
};

class Parser {
 public:
  Parser(std::string_view text, Loc loc) : in_(text, "program", loc), loc_(loc) {}

  Program Run() {
    if (in_.Accept("mesh")) Mesh();
    program_.per_device = in_.Accept("device");
    in_.Expect("func");
    in_.Expect("@");
    in_.Word();
    in_.List("(", ")", [&] { program_.inputs.push_back(Definition()); });
    if (in_.Accept("captures"))
      in_.List("(", ")", [&] { program_.captures.push_back({Definition(), nullptr}); });
    in_.Expect("->");
    std::vector<const Type*> outputs;
    auto type = [&] { outputs.push_back(ReadType(in_, program_.mesh)); };
    if (in_.Peek("("))
      in_.List("(", ")", type);
    else
      type();
    in_.Expect("{");
    while (!in_.Accept("return")) Line();
    if (!in_.Peek("}")) do
        program_.outputs.push_back(Use());
      while (in_.Accept(","));
    in_.Expect("}");
    in_.ExpectEnd();
    if (outputs.size() != program_.outputs.size())
      in_.Fail("the function's results are not as many as it returns");
    for (size_t i = 0; i < outputs.size(); ++i)
      if (outputs[i] != program_.type(program_.outputs[i]))
        in_.Fail("a returned value is not of the function's result type");
    return std::move(program_);
  }

 private:
  void Mesh() {
    in_.Expect("@");
    in_.Word();
    in_.Expect("=");
    in_.Expect("<");
    size_t begin = in_.position() - 1;
    while (!in_.Peek(">")) {
      if (in_.AtEnd()) in_.Fail("the mesh does not end");
      in_.set_position(in_.position() + 1);
    }
    in_.Expect(">");
    const sharding::MeshDef* mesh = sharding::ParseMesh(in_.Since(begin), false, loc_);
    program_.mesh = ReadModes(mesh);
  }

  // Takes `explicit={...} auto={...}`; axes that are not named keep their mode.
  const sharding::MeshDef* ReadModes(const sharding::MeshDef* mesh) {
    std::vector<AxisMode> modes;
    for (const MeshAxis& a : mesh->axes()) modes.push_back(a.mode);
    for (AxisMode mode : {AxisMode::Explicit, AxisMode::Auto, AxisMode::Manual}) {
      if (!in_.Accept(ModeName(mode))) continue;
      in_.Expect("=");
      in_.List("{", "}", [&] {
        std::string name = in_.Quoted();
        int axis = mesh->Find(name);
        if (axis < 0) in_.Fail("there is no axis \"" + name + "\"");
        modes[static_cast<size_t>(axis)] = mode;
      });
    }
    return mesh->WithModes(modes);
  }

  std::string Name() {
    in_.Expect("%");
    return in_.Word();
  }
  ValueId Definition() {
    std::string name = Name();
    in_.Expect(":");
    const Type* type = ReadType(in_, program_.mesh);
    if (program_.mesh && type->mesh()) {
      sharding::TensorSharding s = type->sharding();
      s.mesh = ReadModes(program_.mesh);
      type = type->WithSharding(std::move(s));
    }
    ValueId v = program_.AddValue(type, loc_);
    if (in_.Peek("<")) Place(v);
    if (!names_.emplace(name, v).second) in_.Fail("%" + name + " is defined twice");
    return v;
  }
  void Place(ValueId v) {
    if (!program_.mesh) in_.Fail("a sharding without a mesh");
    size_t begin = in_.position();
    std::string text = ReadShardingText(in_);
    const Type* type = program_.type(v);
    sharding::TensorSharding s = sharding::ParseSharding(text, program_.mesh->WithoutModes(), loc_);
    if (s.rank() != type->rank()) {
      in_.set_position(begin);
      in_.Fail("the sharding is not of the value's rank");
    }
    program_.SetPlace(v, Type::Get(type->shape(), type->dtype(), std::move(s)));
  }
  ValueId Use() {
    std::string name = Name();
    auto it = names_.find(name);
    if (it == names_.end()) in_.Fail("%" + name + " is not defined above");
    return it->second;
  }

  void Line() {
    Instruction instruction{nullptr, nullptr, {}, {}, loc_};
    if (!in_.Peek("%")) in_.Fail("expected an instruction or return");
    do instruction.results.push_back(Definition());
    while (in_.Accept(","));
    in_.Expect("=");
    std::string name = in_.Word();
    instruction.op = FindOp(name);
    if (!instruction.op) in_.Fail("there is no op '" + name + "'");
    if (in_.Peek("%")) do
        instruction.operands.push_back(Use());
      while (in_.Accept(","));
    if (in_.Accept("{")) {
      if (!instruction.op->params.read) in_.Fail("the op '" + name + "' has no parameters");
      instruction.params = instruction.op->params.read(in_);
      in_.Expect("}");
    } else if (instruction.op->params.read) {
      in_.Fail("the op '" + name + "' needs its parameters");
    }
    program_.instructions.push_back(std::move(instruction));
  }

  base::Reader in_;
  Loc loc_;
  Program program_;
  absl::flat_hash_map<std::string, ValueId> names_;
};

}  // namespace

std::string Text(const Program& program) { return Printer(program).Run(); }

Program ParseProgram(std::string_view text, Loc loc) {
  Program program = Parser(text, loc).Run();
  Verify(program);
  return program;
}

}  // namespace tessera::ir
