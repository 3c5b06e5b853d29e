// Lesson 8: shardings for another compiler's programs.
//
// tessera/propagation.h needs no arrays and no traced programs. A compiler describes its values and
// ops as a flat graph, and propagation returns a sharding for each value. The toy compiler of this
// lesson has inputs, products, sums and constants; only its function Fill uses Tessera.
#include <tessera/propagation.h>

#include <iostream>
#include <memory>
#include <string>
#include <vector>

namespace tp = tessera::propagation;

// 1. The compiler's own representation: a tree of expressions.
struct Expr {
  enum Kind { kInput, kConstant, kMatmul, kAdd, kRelu, kRowSums } kind;
  std::string name;
  std::vector<int64_t> shape;
  std::vector<std::shared_ptr<Expr>> operands = {};
  std::string sharding = {};  // annotation by the user of the language
  int line = 0;
};
using ExprPtr = std::shared_ptr<Expr>;

ExprPtr Make(Expr e) { return std::make_shared<Expr>(std::move(e)); }

// 2. For each kind of op, the compiler only states which dims correspond.
const char* RuleOf(Expr::Kind kind) {
  switch (kind) {
    case Expr::kMatmul:
      return "m k, k n -> m n";
    case Expr::kRowSums:
      return "m n -> m";
    default:
      return "";  // elementwise ops need no rule
  }
}

// 3. Fill the graph: operands before users, each value and op with the line of the source.
class Compiler {
 public:
  explicit Compiler(tessera::Mesh mesh) : graph_(mesh) {}

  tp::ValueId Fill(const ExprPtr& e) {
    for (const auto& [known, id] : values_)
      if (known == e) return id;
    std::vector<tp::ValueId> operands;
    for (const ExprPtr& operand : e->operands) operands.push_back(Fill(operand));
    std::string where = "net.toy:" + std::to_string(e->line);
    tp::ValueId id =
        graph_.value({.shape = e->shape, .sharding = e->sharding, .name = e->name, .where = where});
    if (e->kind != Expr::kInput)
      graph_.op({.name = e->name,
                 .rule = RuleOf(e->kind),
                 .operands = operands,
                 .results = {id},
                 .elementwise = e->kind == Expr::kAdd || e->kind == Expr::kRelu,
                 .constant = e->kind == Expr::kConstant,
                 .where = where});
    values_.emplace_back(e, id);
    return id;
  }

  tp::Graph& graph() { return graph_; }
  const std::vector<std::pair<ExprPtr, tp::ValueId>>& values() const { return values_; }

 private:
  tp::Graph graph_;
  std::vector<std::pair<ExprPtr, tp::ValueId>> values_;
};

int main() {
  // A batch over data, the hidden dim over model: two annotations for the whole program.
  ExprPtr x = Make({Expr::kInput, "x", {64, 32}, {}, R"(<@mesh, [{"data"}, {?}]>)", 1});
  ExprPtr w1 = Make({Expr::kInput, "w1", {32, 128}, {}, R"(<@mesh, [{?}, {"model"}]>)", 2});
  ExprPtr w2 = Make({Expr::kInput, "w2", {128, 32}, {}, "", 3});
  ExprPtr zero = Make({Expr::kConstant, "zero", {64, 32}, {}, "", 4});
  ExprPtr hidden = Make({Expr::kMatmul, "hidden", {64, 128}, {x, w1}, "", 5});
  ExprPtr active = Make({Expr::kRelu, "active", {64, 128}, {hidden}, "", 6});
  ExprPtr out = Make({Expr::kMatmul, "out", {64, 32}, {active, w2}, "", 7});
  ExprPtr shifted = Make({Expr::kAdd, "shifted", {64, 32}, {out, zero}, "", 8});
  ExprPtr w3 = Make({Expr::kInput, "w3", {128, 64}, {}, "", 9});
  ExprPtr turned = Make({Expr::kMatmul, "turned", {128, 32}, {w3, zero}, "", 9});
  ExprPtr sums = Make({Expr::kRowSums, "sums", {64}, {shifted}, "", 10});

  Compiler compiler(tessera::abstract_mesh({{"data", 4}, {"model", 2}}));
  tp::ValueId result = compiler.Fill(sums);
  compiler.Fill(turned);
  compiler.graph().returns({result});

  // 4. Propagate, and read a sharding per value.
  tp::Result done = propagate(compiler.graph());
  for (const auto& [e, id] : compiler.values())
    std::cout << e->name << ": " << done.sharding(id) << "\n";
  std::cout << "returned: " << done.returned(0) << "\n";

  // 5. Each use of a constant got its own copy, with the sharding that the use needs.
  std::cout << "\n";
  for (const tp::Copy& copy : done.copies())
    std::cout << "operand " << copy.use.operand << " of op " << static_cast<int>(copy.use.op)
              << " uses zero as " << done.sharding(copy.copy) << "\n";

  // 6. The reason for a sharding.
  std::cout << "\n" << done.explain(compiler.Fill(w2));

  // 7. Another order of ops: sums first, then all others.
  auto sums_first = [](const tp::OpFacts& op) {
    return op.name == "sums" ? tp::Direction::kBoth : tp::Direction::kNone;
  };
  tp::Result again = propagate(compiler.graph(), {.op_priorities = {sums_first}});
  std::cout << "\nwith sums first: " << again.sharding(result) << "\n";

  // 8. A rule that does not fit is refused, with the line of the toy program.
  try {
    compiler.graph().op({.name = "transpose",
                         .rule = "([i, j])->([j, i]) {i=64, j=128}",
                         .operands = {compiler.Fill(x)},
                         .results = {compiler.Fill(w2)},
                         .where = "net.toy:11"});
  } catch (const tessera::ShardingError& e) {
    std::cout << "\n" << e.what() << "\n";
  }
}
