// Reads the small programs of the golden files, and the shardings that they expect.
#include "unit/propagation/golden.h"

#include <fmt/format.h>

#include <fstream>
#include <iterator>

#include "base/reader.h"
#include "sharding/einsum_rule.h"
#include "sharding/rule_text.h"
#include "sharding/text.h"

namespace tessera::propagation::engine::testing {
namespace {

using sharding::Shapes;

// Puts quotes around the names of axes.
std::string Quoted(std::string_view text) {
  std::string out;
  bool inside = false, word = false;
  for (char c : text) {
    if (c == '{' || c == '}') inside = c == '{';
    bool letter = inside && (std::isalpha(static_cast<unsigned char>(c)) != 0);
    if (letter != word) out += '"';
    word = letter;
    out += c;
  }
  return out;
}

class CasesReader {
 public:
  CasesReader(const std::string& text)
      : text_(text), in_(text_, "propagation cases", Loc::Unknown()) {}

  std::vector<GoldenCase> Read() {
    while (!in_.AtEnd()) Case();
    return std::move(cases_);
  }

 private:
  GoldenCase& current() { return cases_.back(); }
  FlatGraph& graph() { return current().graph; }

  void Case() {
    cases_.emplace_back();
    meshes_ = {{"empty", nullptr},
               {"maximal", sharding::MeshDef::Intern({}, {0}, sharding::MeshKind::kAbstract)}};
    in_.Expect("case");
    current().name = in_.Quoted();
    current().import = in_.Accept("import");
    while (!in_.Accept("expect")) Line();
    while (!in_.AtEnd() && !in_.Peek("case")) Expectation();
  }

  void Line() {
    if (in_.Accept("mesh")) return Mesh("mesh");
    if (in_.Accept("other")) return Mesh("other");
    if (in_.Accept("return")) return Return();
    if (in_.Accept("group")) {
      std::vector<ValueId> group;
      do group.push_back(Known());
      while (in_.Accept(","));
      graph().groups.Add(std::move(group));
      return;
    }
    Values();
  }

  void Mesh(const std::string& name) {
    std::vector<MeshAxis> axes;
    do {
      MeshAxis axis{in_.Word(), 1, Auto};
      in_.Expect("=");
      axis.size = in_.Integer();
      axes.push_back(axis);
    } while (in_.Accept(","));
    meshes_[name] = sharding::MeshDef::Intern(std::move(axes), {}, sharding::MeshKind::kAbstract);
  }

  ValueId Known() {
    std::string name = in_.Word();
    auto value = current().values.find(name);
    if (value == current().values.end()) in_.Fail("no value " + name);
    return value->second;
  }

  Shape ReadShape() {
    Shape shape;
    std::string word = in_.Word();
    if (word == "scalar") return shape;
    for (size_t at = 0; at < word.size();) {
      size_t digits = 0;
      shape.push_back(std::stoll(word.substr(at), &digits));
      at += digits + 1;
    }
    return shape;
  }

  // Reads `[{a}, {?}] replicated={b} unreduced={c}`, on the mesh or on `@other`.
  std::optional<TensorSharding> Sharding() {
    std::string mesh = in_.Accept("@") ? in_.Word() : "mesh";
    if (!in_.Peek("[")) return {};
    auto until = [&](char end) {
      in_.Peek("");
      size_t begin = in_.position();
      in_.set_position(text_.find(end, begin) + 1);
      return std::string(in_.Since(begin));
    };
    std::string text = until(']');
    while (in_.Peek("replicated") || in_.Peek("unreduced")) text += ", " + until('}');
    return sharding::ParseSharding("<@mesh, " + Quoted(text) + ">", meshes_.at(mesh),
                                   Loc::Unknown());
  }

  // A given sharding is expected to stay, except for its priorities, unless the case
  // says otherwise.
  void Keeps(const std::string& name, TensorSharding given) {
    for (sharding::DimAxes& d : given.dims) d.priority = -1;
    current().expected[name] = ShardingText(&given);
  }

  void Values() {
    std::vector<ValueId> values;
    do {
      std::string name = in_.Word();
      in_.Expect(":");
      Shape shape = ReadShape();
      std::optional<TensorSharding> given = Sharding();
      if (given) Keeps(name, *given);
      values.push_back(graph().AddValue(shape, std::move(given)));
      current().values[name] = values.back();
    } while (in_.Accept(","));
    if (in_.Accept("=")) MakeOp(values);
  }

  Shapes ShapesOf(const auto& values) {
    Shapes shapes;
    for (ValueId v : values) shapes.push_back(&graph().values[v].shape);
    return shapes;
  }

  // Operands end with the line.
  void ReadOperands(Op& op) {
    const size_t begin = in_.position(), end = std::min(text_.find('\n', begin), text_.size());
    in_.set_position(end);
    base::Reader line(std::string_view(text_).substr(begin, end - begin), "operands",
                      Loc::Unknown());
    while (!line.AtEnd()) {
      std::string name = line.Word();
      if (!current().values.contains(name)) in_.Fail("no value " + name);
      op.operands.push_back(current().values[name]);
    }
  }

  DimMap Map(const std::string& text, const Op& op) {
    if (text.starts_with("([")) return sharding::ParseRule(text, Loc::Unknown());
    return sharding::ParseEinsumRule(text, ShapesOf(op.operands), ShapesOf(op.results),
                                     Loc::Unknown());
  }

  Direction BarrierDirection() {
    if (in_.Accept("none")) return Direction::kNone;
    if (in_.Accept("forward")) return Direction::kForward;
    in_.Expect("backward");
    return Direction::kBackward;
  }

  void MakeOp(const std::vector<ValueId>& results) {
    Op op;
    op.results.assign(results.begin(), results.end());
    std::string word = in_.Word();
    if (word == "enter" || word == "leave") return Border(word == "enter", results[0]);
    if (word == "constraint") op.kind = Op::kConstraint;
    if (word == "barrier") {
      op.kind = Op::kBarrier;
      op.barrier = BarrierDirection();
    }
    op.constant = word == "constant";
    op.elementwise = word == "elementwise";
    op.expands = word == "broadcast";
    op.foldable = op.elementwise || op.expands;
    if (word == "transpose" || word == "reshape") op.first = Direction::kBoth;
    if (word == "dynamic_slice") op.first = Direction::kForward;
    std::string rule = in_.Peek("\"") ? in_.Quoted() : "";
    ReadOperands(op);
    if (word == "reshape")
      op.rule = graph().AddRule(
          sharding::ReshapeMap(*ShapesOf(op.operands)[0], *ShapesOf(op.results)[0]));
    else if (word == "elementwise")
      op.rule =
          graph().IdentityRule(*ShapesOf(op.results)[0], static_cast<int>(op.operands.size()));
    else if (!rule.empty())
      op.rule = graph().AddRule(Map(rule, op));
    else if (op.kind == Op::kRule)
      op.kind = Op::kNone;
    graph().Add(std::move(op));
  }

  // Reads `enter a [{a, b?}] x`: an argument of a region with manual axis a, and its sharding
  // outside. `leave` is a result of the region.
  void Border(bool inward, ValueId target) {
    Edge edge;
    const sharding::MeshDef* mesh = meshes_.at("mesh");
    edge.manual = {sharding::WholeAxis(*mesh, mesh->Find(in_.Word()))};
    edge.outer = Sharding();
    edge.inward = inward;
    Op end;
    end.kind = Op::kNone;
    const RegionId last{static_cast<int32_t>(graph().regions.size()) - 1};
    end.region = inward ? RegionId::kOutermost : last;
    ReadOperands(end);
    OpId op = graph().Add(std::move(end));
    edge.sources = {{op, 0}};
    const RegionId region =
        inward ? graph().regions.Add({op, RegionId::kOutermost}) : RegionId::kOutermost;
    graph().AddEdge(std::move(edge), target, region);
  }

  void Return() {
    Op op;
    op.kind = Op::kNone;
    op.is_return = true;
    do {
      op.operands.push_back(Known());
      graph().returns.push_back(Sharding());
      if (const auto& given = graph().returns.back())
        Keeps(fmt::format("return {}", op.operands.size() - 1), *given);
    } while (in_.Accept(","));
    graph().Add(std::move(op));
  }

  void Expectation() {
    std::string name = in_.Word();
    if (name == "return")
      name += " " + std::to_string(in_.Integer());
    else if (!current().values.contains(name))
      in_.Fail("no value " + name);
    std::optional<TensorSharding> sharding = Sharding();
    current().expected[name] = ShardingText(sharding ? &*sharding : nullptr);
  }

  std::string text_;
  base::Reader in_;
  std::vector<GoldenCase> cases_;
  std::map<std::string, const sharding::MeshDef*> meshes_;
};

}  // namespace

std::string ShardingText(const TensorSharding* s) {
  if (!s) return "open";
  bool open = s->dims_empty() && s->replicated.empty() && s->unreduced.empty();
  for (const sharding::DimAxes& d : s->dims) open = open && d.open;
  return open ? "open" : Text(*s);
}

std::vector<GoldenCase> ReadCases(const std::string& path) {
  std::ifstream file(path);
  return CasesReader(std::string(std::istreambuf_iterator<char>(file), {})).Read();
}

}  // namespace tessera::propagation::engine::testing
