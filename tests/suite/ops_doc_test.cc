// docs/ops.md, written from the records and the sample table. UPDATE_GOLDEN=1 rewrites it.
#include <absl/algorithm/container.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>

#include "ir/builder.h"
#include "ir/fixes.h"
#include "ir/infer.h"
#include "spmd/pipeline.h"
#include "suite/device_examples.h"
#include "suite/placements.h"
#include "suite/run.h"
#include "suite/table.h"

namespace tessera::suite::ops_doc_test {
namespace {

using sharding::DimMap;

constexpr const char* kHead =
    R"(<!-- Written by tests/suite/ops_doc_test.cc; UPDATE_GOLDEN=1 ctest -R suite rewrites it. -->
# Ops

Every op of program text; `tessera ops NAME` prints one. Below its sentence there are:

* an example from the sample table of the tests. For an op that only device programs have, its line
  in one: the type is local, and the types in braces are the global ones before and after;
* its dimension map, in Shardy's notation: the factors of each dim of operands and results, then the
  factors that are reduced, must be whole or are permuted, then facts that Shardy's notation lacks
  (`docs/design.md`);
* the operands in which it is linear, together or each alone. Partial sums pass through these;
  partial maxima and minima do so where the text says it;
* for each factor, how the op computes when a dim is sharded. The dim *stays* sharded if each device
  works on its part alone. Otherwise the collective in parentheses *exchanges*, *gathers* or
  *reduces* the parts. *Refused* applies to Explicit axes only: over Auto axes the compiler chooses
  the cheapest move;
* how shardings over Auto axes propagate through it (`docs/propagation.md`), if not as through most
  ops. Elementwise ops come first, and turn constants into constants;
* its derivative (`docs/transforms.md`): the operands in which it is the op itself, which a transpose
  takes backward; those that have a formula; those in which it is zero almost everywhere.

)";

// Returns the small sample with the most dims.
const Sample* ExampleOf(const ir::OpDef& op) {
  auto dims = [](const Sample& s) {
    size_t n = 0;
    for (const SampleOperand& o : s.operands) n += o.shape.size();
    return std::pair(s.truth, n);
  };
  const Sample* example = nullptr;
  for (const Sample* s : SamplesOf(op))
    if (!example || dims(*s) > dims(*example)) example = s;
  return example;
}

std::string LinearText(const ir::OpDef& op, const DimMap& map) {
  std::string out;
  for (const sharding::LinearGroup& g : map.linear) {
    std::string names;
    for (size_t i = 0; i < g.operands.size(); ++i)
      names += (i ? " and " : "") + ir::OperandName(op, static_cast<size_t>(g.operands[i]));
    const bool any = g.kinds.max && g.kinds.min;
    const char* also = any && g.kinds.sum ? " (max and min too)"
                       : g.kinds.max      ? " (max only)"
                       : g.kinds.min      ? " (min only)"
                                          : "";
    out += (out.empty() ? "" : "; ") + names + also;
  }
  return out.empty() ? "nothing" : out;
}

// Returns the example with every dim whose first factor is `f` sharded in two, or
// nothing if a size is odd.
std::optional<Case> Sharded(const Sample& sample, const DimMap& map, int32_t f) {
  const sharding::MeshDef* mesh = MeshOf({2});
  Case c{.sample = &sample, .mesh = mesh};
  for (size_t i = 0; i < sample.operands.size(); ++i) {
    const SampleOperand& o = sample.operands[i];
    sharding::TensorSharding s = sharding::Replicated(mesh, o.shape.size());
    for (size_t d = 0; d < o.shape.size(); ++d) {
      const sharding::FactorList& dim = map.operands[i][d];
      if (dim.empty() || dim[0] != f) continue;
      if (o.shape[d] % 2) return {};
      s.dims[d].axes = {sharding::WholeAxis(*mesh, 0)};
    }
    c.operands.push_back(ir::Type::Get(o.shape, o.dtype, s));
  }
  return c;
}

std::string ShardedText(const Case& c) {
  const std::vector<const ir::Type*> results = ResultTypes(c);
  if (results.empty()) return "refused";
  std::set<std::string_view> collectives;
  const ir::Program device = spmd::Lower(*ProgramOf(c, results));
  for (const ir::Instruction& i : device.instructions)
    if (std::holds_alternative<ir::AsMove>(*i.op->lowering)) collectives.insert(i.op->name);
  if (collectives.empty()) return "stays";
  const bool gathers = collectives.count("all_gather"),
             reduces = collectives.count("all_reduce") || collectives.count("reduce_scatter");
  return fmt::format("{} ({})",
                     gathers   ? "gathered"
                     : reduces ? "reduced"
                               : "exchanged",
                     fmt::join(collectives, ", "));
}

std::string DimsText(const ir::OpDef& op, const Sample& sample) {
  const Case whole = Unsharded(sample);
  const DimMap map = ir::DimMapOf(op, sample.params.get(), whole.operands, ResultTypes(whole));
  std::string out = "    " + FullText(map) + "\n    linear in: " + LinearText(op, map) + "\n";
  std::string dims;
  const std::vector<bool> of_operands = FactorsOf(map, map.operands);
  for (size_t f = 0; f < map.factors.size(); ++f) {
    if (!of_operands[f] || map.factors[f].size == 1) continue;
    const auto factor = static_cast<int32_t>(f);
    if (auto c = Sharded(sample, map, factor))
      dims += fmt::format("{}{} {}", dims.empty() ? "" : "; ", sharding::FactorSymbol(factor),
                          ShardedText(*c));
  }
  return dims.empty() ? out : out + "    sharded: " + dims + "\n";
}

// Groups the operands by their rule in a `Derivative`. The example may be of integers.
std::string OperandsText(const ir::OpDef& op, const ir::Derivative& derivative) {
  if (!std::holds_alternative<ir::DimMapFn>(*op.dims))  // one operand
    return derivative.transpose                         ? "linear in operand, by transpose"
           : !derivative.of.empty() && derivative.of[0] ? "a formula in operand"
                                                        : "zero";
  const Sample* sample = ExampleOf(op);
  const Case whole = Unsharded(*sample);
  const DimMap map = ir::DimMapOf(op, sample->params.get(), whole.operands, ResultTypes(whole));
  std::set<size_t> linear;
  for (const sharding::LinearGroup& g : map.linear)
    if (g.kinds.sum) linear.insert(g.operands.begin(), g.operands.end());
  std::vector<std::string> itself, formula, zero, none;
  for (size_t k = 0; k < sample->operands.size(); ++k) {
    const bool has_formula = k < derivative.of.size() && derivative.of[k];
    if (linear.count(k))
      itself.push_back(ir::OperandName(op, k));
    else if (has_formula)
      formula.push_back(ir::OperandName(op, k));
    else if (k < derivative.none.size() && derivative.none[k])
      none.push_back(fmt::format("none in {}: {}", ir::OperandName(op, k), derivative.none[k]));
    else if (sample->operands[k].dtype.is_inexact())
      zero.push_back(ir::OperandName(op, k));
  }
  std::vector<std::string> parts;
  if (!itself.empty())
    parts.push_back(fmt::format("linear in {}{}", fmt::join(itself, " and "),
                                derivative.transpose ? ", by transpose" : ""));
  if (!formula.empty())
    parts.push_back(fmt::format("a formula in {}", fmt::join(formula, " and ")));
  if (!zero.empty()) parts.push_back(fmt::format("zero in {}", fmt::join(zero, " and ")));
  parts.insert(parts.end(), none.begin(), none.end());
  return parts.empty() ? "zero" : fmt::format("{}", fmt::join(parts, "; "));
}

// Whether the results have no tangent even if all operands have one.
bool IsZero(const ir::OpDef& op, const ir::Structural& rule) {
  const Sample* sample = ExampleOf(op);
  if (!sample) return false;
  const Case whole = Unsharded(*sample);
  ir::Program program = *ProgramOf(whole, ResultTypes(whole));
  const ir::Instruction i = program.instructions.back();
  ir::Builder builder(program, i.loc);
  std::vector<ir::ValueId> results(i.results.begin(), i.results.end());
  const std::vector<ir::ValueId> tangents = rule.jvp({.builder = builder,
                                                      .op = op,
                                                      .params = i.params,
                                                      .operands = i.operands,
                                                      .results = results,
                                                      .operand_types = whole.operands,
                                                      .result_types = ResultTypes(whole)},
                                                     i.operands, results);
  return absl::c_all_of(tangents, [](ir::ValueId t) { return t == ir::kNoValue; });
}

std::string DerivativeText(const ir::OpDef& op) {
  if (const auto* none = std::get_if<ir::NotDifferentiable>(&*op.diff))
    return fmt::format("none: {}", none->why);
  if (std::holds_alternative<ir::ByRegions>(*op.diff)) return "by its regions";
  if (const auto* rule = std::get_if<ir::Structural>(&*op.diff))
    return IsZero(op, *rule) ? "zero" : "of all results at once";
  return OperandsText(op, std::get<ir::Derivative>(*op.diff));
}

std::string MapText(const ir::OpDef& op) {
  if (const std::string line = DeviceExample(op); !line.empty())
    return fmt::format("    {}\n", line);
  if (const auto* rule = std::get_if<ir::NoRule>(&*op.dims))
    return fmt::format("    no dimension map: {}\n", rule->why);
  if (std::holds_alternative<ir::DataFlowEdges>(*op.dims))
    return "    no dimension map: values flow through its regions\n";
  const Sample& sample = *ExampleOf(op);
  return "    " + sample.name() + "\n" + DimsText(op, sample);
}

std::string TravelText(const ir::OpDef& op) {
  std::vector<std::string> parts;
  switch (op.travel) {
    case ir::Travel::kLate:
      break;
    case ir::Travel::kElementwise:
      parts.push_back("like an elementwise op, between equal shapes");
      break;
    case ir::Travel::kEarly:
      parts.push_back("first, like an elementwise op");
      break;
    case ir::Travel::kEarlyForward:
      parts.push_back("first, from operands to results");
      break;
    case ir::Travel::kAsOne:
      parts.push_back("operand and result are one value");
      break;
  }
  if (op.foldable) parts.push_back("turns constants into a constant");
  if (op.swaps_last) parts.push_back("the last two operands are swapped, as in StableHLO");
  return parts.empty() ? "" : fmt::format("    propagation: {}\n", fmt::join(parts, "; "));
}

std::string EffectText(const ir::OpDef& op) {
  if (op.effect == ir::Effect::kNone) return "";
  return op.effect == ir::Effect::kOrdered ? "    has an effect, in program order\n"
                                           : "    has an effect\n";
}

// Returns where to break a line that is too long: at the last blank before the limit inside the
// fewest brackets; 0 if there is none.
size_t BreakOf(const std::string& line, size_t indent) {
  constexpr size_t kColumns = 100;
  if (line.size() <= kColumns) return 0;
  size_t found = 0;
  int depth = 0, least = 0;
  for (size_t at = indent; at <= kColumns; ++at) {
    const char c = line[at];
    depth += (c == '(' || c == '[' || c == '{') - (c == ')' || c == ']' || c == '}');
    if (c != ' ' || (found > 0 && depth > least)) continue;
    found = at;
    least = depth;
  }
  return found;
}

// Breaks long lines. Indents the rest of a line in a block of code.
std::string Wrapped(const std::string& text) {
  std::string out;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    size_t indent = line.starts_with("    ") ? 4 : 0;
    while (const size_t at = BreakOf(line, indent)) {
      out += line.substr(0, at) + '\n';
      if (indent > 0) indent = 8;
      line = std::string(indent, ' ') + line.substr(at + 1);
    }
    out += line + '\n';
  }
  return out;
}

std::string SectionOf(const ir::OpDef& op) {
  return Wrapped(fmt::format("## {}\n\n{}\n\n{}{}{}    derivative: {}\n\n", op.name, op.doc,
                             MapText(op), TravelText(op), EffectText(op), DerivativeText(op)));
}

TEST(OpsDoc, IsWhatTheRecordsSay) {
  ops::Install();
  std::string text = kHead;
  for (const ir::OpDef* op : ir::AllOps()) {
    ASSERT_TRUE(ExampleOf(*op) || !std::holds_alternative<ir::DimMapFn>(*op->dims)) << op->name;
    text += SectionOf(*op);
  }
  text.pop_back();
  const char* path = TESSERA_SOURCE_DIR "/docs/ops.md";
  if (std::getenv("UPDATE_GOLDEN")) {
    std::ofstream(path) << text;
    return;
  }
  std::ifstream file(path);
  std::stringstream wanted;
  wanted << file.rdbuf();
  EXPECT_EQ(text, wanted.str()) << "run with UPDATE_GOLDEN=1 and read what changes in " << path;
}

}  // namespace
}  // namespace tessera::suite::ops_doc_test
