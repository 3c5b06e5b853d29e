// Prints and parses program text, which has one form for every stage.
#include "ir/program_text.h"

#include <absl/container/flat_hash_map.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "base/error.h"
#include "base/near_names.h"
#include "base/reader.h"
#include "ir/verify.h"
#include "sharding/text.h"

namespace tessera::ir {
namespace {

const char* ModeName(AxisMode mode) {
  return mode == AxisMode::Explicit ? "explicit" : mode == AxisMode::Auto ? "auto" : "manual";
}

// Returns the modes in which a value's mesh differs from the program's.
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

// Returns ops whose name may be meant: the one with the same letters, as swapped letters are the
// most frequent slip, or those with at most a third of other letters.
std::vector<std::string> OpsLike(const std::string& name) {
  std::vector<std::string> names;
  for (const OpDef* op : AllOps()) names.emplace_back(op->name);
  for (const std::string& n : names)
    if (std::ranges::is_permutation(n, name)) return {n};
  names = base::NearNames(std::move(names), name);
  const size_t most = std::max<size_t>(1, name.size() / 3);
  std::erase_if(names, [&](const std::string& n) {
    return n.find(name) == n.npos && base::EditDistance(n, name) > most;
  });
  return names;
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

// Reads `explicit={...} auto={...}`. Axes that are not named keep their mode.
const sharding::MeshDef* ReadModes(base::Reader& in, const sharding::MeshDef* mesh) {
  std::vector<AxisMode> modes;
  for (const MeshAxis& a : mesh->axes()) modes.push_back(a.mode);
  for (AxisMode mode : {AxisMode::Explicit, AxisMode::Auto, AxisMode::Manual}) {
    if (!in.Accept(ModeName(mode))) continue;
    in.Expect("=");
    in.List("{", "}", [&] {
      std::string name = in.Quoted();
      int axis = mesh->Find(name);
      if (axis < 0) in.Fail("there is no axis \"" + name + "\"");
      modes[axis] = mode;
    });
  }
  return mesh->WithModes(modes);
}

// Returns a name or a line for a comment, in quotes unless it is one word.
std::string NameText(std::string_view name) {
  bool word = !name.empty() && name[0] != '"' && name[0] != '%' && name[0] != '[' &&
              name.find_first_of(" \t\r\n") == name.npos;
  if (word) return std::string(name);
  return base::Quote(name);
}
// Takes the next name or line off the front of a comment.
std::string TakeName(std::string_view& comment) {
  std::string name;
  bool quoted = comment[0] == '"', escaped = false;
  size_t at = quoted;
  for (; at < comment.size() && (escaped || comment[at] != (quoted ? '"' : ' ')); ++at) {
    char c = comment[at];
    if (quoted && !escaped && c == '\\')
      escaped = true;
    else
      name += escaped && c == 'n' ? '\n' : c, escaped = false;
  }
  comment.remove_prefix(std::min(at + quoted, comment.size()));
  comment.remove_prefix(std::min(comment.find_first_not_of(' '), comment.size()));
  return name;
}
// Returns `[jit(f)/add]`, the scope of a line, or `["a b"]`.
std::string ScopeText(std::string_view scope) {
  const bool word = scope.find_first_of(" \t\r\n\"]") == scope.npos;
  return word ? fmt::format("[{}]", scope) : fmt::format("[{}]", base::Quote(scope));
}
// Takes a scope off the front of a comment; returns "" if none is there.
std::string TakeScope(std::string_view& comment) {
  if (!comment.starts_with('[')) return "";
  comment.remove_prefix(1);
  const bool quoted = comment.starts_with('"');
  std::string scope = comment.empty() ? "" : TakeName(comment);
  if (quoted)
    comment.remove_prefix(std::min<size_t>(2, comment.size()));
  else if (scope.ends_with(']'))
    scope.pop_back();
  return scope;
}
// Returns the location that "model.cc:12" names.
std::optional<Loc> LineNamed(std::string_view text) {
  size_t colon = text.rfind(':');
  if (colon == 0 || colon == text.npos) return std::nullopt;
  int line = 0;
  const char* end = text.data() + text.size();
  auto [at, error] = std::from_chars(text.data() + colon + 1, end, line);
  if (error != std::errc() || at != end || line < 1) return std::nullopt;
  return base::LineOf(text.substr(0, colon), line);
}

class Printer {
 public:
  explicit Printer(const Program& program) { Enter(program); }

  std::string Run() {
    const Program& program = *program_;
    if (program.mesh) out_ += MeshLine(*program.mesh);
    out_ += program.per_device ? "device func @main" : "func @main";
    Function();
    return std::move(out_);
  }

 private:
  void Enter(const Program& program) {
    program_ = &program;
    names_.assign(program.values.size(), -1);
  }
  // Prints from the parameters to the closing brace.
  void Function() {
    const Program& program = *program_;
    out_ += "(";
    Parameters(program.inputs);
    out_ += ")";
    if (!program.captures.empty()) {
      std::vector<ValueId> captured;
      for (const Capture& c : program.captures) captured.push_back(c.value);
      out_ += " captures(";
      Parameters(captured);
      out_ += ")";
    }
    out_ += " -> ";
    bool one = program.outputs.size() == 1;
    if (!one) out_ += "(";
    for (size_t i = 0; i < program.outputs.size(); ++i)
      out_ += (i ? ", " : "") + TypeAndPlace(program.outputs[i]);
    out_ += one ? " {\n" : ") {\n";
    for (const Instruction& instruction : program.instructions) Line(instruction);
    out_ += indent_ + "  return";
    for (size_t i = 0; i < program.outputs.size(); ++i)
      out_ += (i ? ", " : " ") + Use(program.outputs[i]);
    out_ += "\n" + indent_ + "}\n";
  }
  std::string TypeAndPlace(ValueId v) const {
    const Type* type = program_->type(v);
    std::string text = type->text() + OtherModes(type->mesh(), program_->mesh);
    if (program_->per_device) return text;  // the moves say how values are laid out
    if (const Type* place = program_->place(v)) text += " " + sharding::Text(place->sharding());
    return text;
  }
  std::string Use(ValueId v) { return fmt::format("%{}", names_[v]); }
  std::string Define(ValueId v) {
    names_[v] = next_++;
    return Use(v) + ": " + TypeAndPlace(v);
  }
  void Parameters(const std::vector<ValueId>& values) {
    for (size_t i = 0; i < values.size(); ++i) out_ += (i ? ", " : "") + Define(values[i]);
  }
  void Line(const Instruction& instruction) {
    std::string line = indent_ + "  ", operands;
    for (ValueId v : instruction.operands) operands += (operands.empty() ? " " : ", ") + Use(v);
    for (size_t i = 0; i < instruction.results.size(); ++i)
      line += (i ? ", " : "") + Define(instruction.results[i]);
    if (!instruction.results.empty()) line += " = ";
    line += std::string(instruction.op->name) + operands;
    if (instruction.params) line += " {" + instruction.params->text() + "}";
    std::string comment = base::Where(instruction.loc);
    if (!comment.empty()) comment = NameText(comment);
    if (const char* scope = instruction.loc.scope(); *scope && !comment.empty())
      comment += " " + ScopeText(scope);
    if (!comment.empty() && instruction.loc.is_backward()) comment = "backward " + comment;
    for (const auto& [name, value] : program_->names)
      for (ValueId v : instruction.results)
        if (v == value)
          comment += " " + (instruction.results.size() > 1 ? Use(v) + "=" : "") + NameText(name);
    out_ += comment.empty() ? line + "\n" : fmt::format("{:<70} // {}\n", line, comment);
    for (const RegionPtr& region : instruction.regions) Region(*region);
  }
  void Region(const Program& region) {
    const Program* outer = program_;
    base::IdVector<ValueId, int> outer_names = std::move(names_);
    Enter(region);
    indent_ += "    ";
    out_ += indent_ + "region" + OtherModes(region.mesh, outer->mesh);
    Function();
    indent_.resize(indent_.size() - 4);
    program_ = outer;
    names_ = std::move(outer_names);
  }

  const Program* program_;
  base::IdVector<ValueId, int> names_;  // numbers in the text, unique over all regions
  int next_ = 0;
  std::string indent_, out_;
};

class Parser {
 public:
  // Where instructions come from: the lines of the text, or the lines in its comments.
  enum Lines { kOfText, kOfComments };
  Parser(std::string_view text, Loc loc, Lines lines) : in_(text, "program", loc), lines_(lines) {}

  Program Run() {
    if (in_.Accept("mesh")) Mesh();
    program_.per_device = in_.Accept("device");
    in_.Expect("func");
    in_.Expect("@");
    in_.Word();
    Function();
    in_.ExpectEnd();
    return std::move(program_);
  }

 private:
  // Parses from the parameters to the closing brace.
  void Function() {
    in_.List("(", ")", [&] { program_.inputs.push_back(Definition()); });
    if (depth_ == 0 && in_.Accept("captures"))
      in_.List("(", ")",
               [&] { program_.captures.push_back({.value = Definition(), .array = nullptr}); });
    in_.Expect("->");
    struct Output {
      const Type *type, *place;  // `place` is null if the text has none
    };
    std::vector<Output> outputs;
    auto type = [&] {
      const Type* t = TypeAndModes();
      outputs.push_back({t, in_.Peek("<") ? Place(t) : nullptr});
    };
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
    if (outputs.size() != program_.outputs.size())
      in_.Fail("the function returns a different number of values than it declares");
    for (size_t i = 0; i < outputs.size(); ++i) {
      ValueId v = program_.outputs[i];
      if (outputs[i].type != program_.type(v))
        in_.Fail("a returned value does not have the declared type");
      if (!outputs[i].place) continue;
      if (!program_.place(v)) program_.SetPlace(v, outputs[i].place);
      if (outputs[i].place != program_.place(v))
        in_.Fail("a returned value does not have the declared sharding");
    }
  }

  // Parses a region, which sees no names from outside.
  RegionPtr Region() {
    if (++depth_ > kMostNested)
      in_.Fail(fmt::format("regions are nested more than {} levels deep", kMostNested));
    Program outer = std::move(program_);
    auto outer_names = std::move(names_);
    program_ = {};
    program_.mesh = outer.mesh ? ReadModes(in_, outer.mesh) : nullptr;
    program_.per_device = outer.per_device;
    names_ = {};
    Function();
    auto region = Shared(std::move(program_));
    program_ = std::move(outer);
    names_ = std::move(outer_names);
    --depth_;
    return region;
  }

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
    const sharding::MeshDef* mesh = sharding::ParseMesh(in_.Since(begin), in_.Here());
    program_.mesh = ReadModes(in_, mesh);
  }

  std::string Name() {
    in_.Expect("%");
    return in_.Word();
  }
  // Reads a type, and the modes in which its mesh differs from the program's.
  const Type* TypeAndModes() { return ReadType(in_, program_.mesh, ReadModes); }
  ValueId Definition() {
    std::string name = Name();
    in_.Expect(":");
    Loc loc = in_.Here();
    ValueId v = program_.AddValue(TypeAndModes(), loc);
    if (in_.Peek("<")) program_.SetPlace(v, Place(program_.type(v)));
    if (!names_.emplace(name, v).second) in_.Fail("%" + name + " is defined twice");
    return v;
  }
  // Reads the sharding that lays out a value of this type.
  const Type* Place(const Type* type) {
    size_t begin = in_.position();
    sharding::TensorSharding s;
    ReadField(in_, program_.mesh, s);
    if (s.rank() != type->rank()) {
      in_.set_position(begin);
      in_.Fail("the sharding does not have the rank of the value");
    }
    return Type::Get(type->shape(), type->dtype(), std::move(s));
  }
  ValueId Use() {
    std::string name = Name();
    auto it = names_.find(name);
    if (it == names_.end()) {
      in_.set_position(in_.position() - name.size() - 1);
      in_.Fail("%" + name + " is not defined above");
    }
    return it->second;
  }

  void Line() {
    Instruction instruction{
        .op = nullptr, .params = nullptr, .operands = {}, .results = {}, .loc = in_.Here()};
    const bool has_results = in_.Peek("%");
    if (has_results) {
      do instruction.results.push_back(Definition());
      while (in_.Accept(","));
      in_.Expect("=");
    }
    const size_t begin = in_.position();
    std::string name = has_results ? in_.Word() : in_.AcceptWord();
    instruction.op = FindOp(name);
    if (!has_results &&
        (!instruction.op || std::holds_alternative<DimMapFn>(*instruction.op->dims))) {
      in_.set_position(begin);
      in_.Fail("expected an instruction or return");
    }
    if (!instruction.op) {
      in_.set_position(in_.position() - name.size());
      in_.Fail("there is no op '" + name + "'", name, OpsLike(name));
    }
    if (in_.Peek("%")) do
        instruction.operands.push_back(Use());
      while (in_.Accept(","));
    if (in_.Accept("{")) {
      if (!instruction.op->params.read) in_.Fail("the op '" + name + "' has no parameters");
      instruction.params = instruction.op->params.read(in_, program_.mesh);
      in_.Expect("}");
    } else if (instruction.op->params.read) {
      in_.Fail("the op '" + name + "' needs its parameters");
    }
    if (lines_ == kOfComments) ReadComment(instruction);
    while (in_.Accept("region")) instruction.regions.push_back(Region());
    program_.instructions.push_back(std::move(instruction));
  }

  // Reads the comment after an instruction, as printed: its line, then names of its results.
  // Ignores other comments.
  void ReadComment(Instruction& instruction) {
    std::string_view comment = in_.Comment();
    if (comment.empty()) return;
    std::string place = TakeName(comment);
    const bool is_backward = place == "backward" && !comment.empty();
    if (is_backward) place = TakeName(comment);
    std::optional<Loc> line = LineNamed(place);
    if (!line) return;
    if (is_backward) line = line->Backward();
    if (const std::string scope = TakeScope(comment); !scope.empty()) line = line->In(scope);
    instruction.loc = *line;
    for (ValueId v : instruction.results) program_.values[v].loc = *line;
    while (!comment.empty() && !instruction.results.empty()) {
      ValueId v = instruction.results[0];
      if (size_t equals = comment.find('='); comment[0] == '%' && equals != comment.npos) {
        auto it = names_.find(std::string(comment.substr(1, equals - 1)));
        if (it == names_.end()) return;
        v = it->second;
        comment.remove_prefix(equals + 1);
        if (comment.empty()) return;
      }
      program_.names.emplace_back(TakeName(comment), v);
    }
  }

  base::Reader in_;
  const Lines lines_;
  Program program_;  // the region's, while inside one
  absl::flat_hash_map<std::string, ValueId> names_;
  int depth_ = 0;
};

}  // namespace

std::string Text(const Program& program) { return Printer(program).Run(); }

Program ParseProgram(std::string_view text, Loc loc) {
  // Errors in the text name the text's lines; later errors name the lines in its comments.
  Verify(Parser(text, loc, Parser::kOfText).Run());
  return Parser(text, loc, Parser::kOfComments).Run();
}

}  // namespace tessera::ir
