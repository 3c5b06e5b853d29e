// The public graph. It checks every text and every id when they are passed in.
#include "api/propagation/graph.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "propagation/refuse.h"
#include "sharding/einsum_rule.h"
#include "sharding/rule_text.h"
#include "sharding/text.h"

namespace tessera::propagation {
namespace {

using engine::MaybeSharding;
using engine::TensorSharding;

// Runs `read`. Errors show the user's line first, then the position in the text.
template <class Read>
auto ReadAt(const std::string& where, const Read& read) {
  try {
    return read();
  } catch (const RuntimeError& e) {
    ErrorDetail detail = e.detail();
    detail.where = fmt::format("{}: {}", where, detail.where);
    // Removes the note that names the line of the caller's C++ code, because `where` is
    // more precise.
    detail.notes.pop_back();
    base::ThrowRuntime(std::move(detail));
  }
}

sharding::DimMap ReadRule(const std::string& text, const sharding::Shapes& operands,
                          const sharding::Shapes& results, const std::string& name,
                          const std::string& where) {
  size_t first = text.find_first_not_of(" \n\t");
  bool einsum =
      first != std::string::npos && text[first] != '#' && text.find('[') == std::string::npos;
  if (einsum)
    return ReadAt(
        where, [&] { return sharding::ParseEinsumRule(text, operands, results, Loc::Unknown()); });
  sharding::DimMap map = ReadAt(where, [&] { return sharding::ParseRule(text, Loc::Unknown()); });
  if (auto problem = sharding::VerifyRule(map, operands, results))
    Refuse(name, 18, where, "the rule does not fit: " + problem->reason);
  return map;
}

// Returns the rule of an elementwise op. Operands are scalars, or have the result's rank and dims
// of the result's size or of size 1.
sharding::DimMap PointwiseRule(const std::string& name, const sharding::Shapes& operands,
                               const sharding::Shapes& results, const std::string& where) {
  const base::Shape& wanted = *results[0];
  auto fits = [&](const base::Shape& shape) {
    if (shape.empty()) return true;
    if (shape.size() != wanted.size()) return false;
    for (size_t d = 0; d < shape.size(); ++d)
      if (shape[d] != wanted[d] && shape[d] != 1) return false;
    return true;
  };
  for (const base::Shape* shape : operands)
    if (!fits(*shape))
      Refuse(name, 18, where, "the operands of an elementwise op have different shapes");
  for (const base::Shape* shape : results)
    if (*shape != wanted)
      Refuse(name, 18, where, "the results of an elementwise op have different shapes");
  return sharding::Pointwise(operands, wanted, static_cast<int>(results.size()));
}

engine::RuleId RuleOf(Graph::Impl& impl, const OpOptions& op, const std::string& where) {
  std::string key = op.rule;
  sharding::Shapes operands, results;
  auto list = [&](const std::vector<ValueId>& values, sharding::Shapes& shapes) {
    key += "|";
    for (ValueId v : values) {
      shapes.push_back(&impl.graph.values[v].shape);
      for (int64_t n : *shapes.back()) key += std::to_string(n) + ",";
      key += ";";
    }
  };
  list(op.operands, operands);
  list(op.results, results);
  auto known = impl.rules.find(key);
  if (known != impl.rules.end()) return known->second;
  sharding::DimMap map = op.rule.empty() ? PointwiseRule(op.name, operands, results, where)
                                         : ReadRule(op.rule, operands, results, op.name, where);
  return impl.rules[key] = impl.graph.AddRule(std::move(map));
}

void CheckOptions(const OpOptions& op, const std::string& where) {
  auto fail = [&](std::string reason) { Refuse(op.name, 19, where, std::move(reason)); };
  if (op.constraint && op.barrier) fail("an op is a constraint or a barrier, not both");
  bool identity = op.constraint || op.barrier;
  if (identity && !op.rule.empty())
    fail("constraints and barriers are identities: they have no rule");
  if (op.constant && !op.operands.empty()) fail("a constant has no operands");
  if (op.elementwise && op.results.empty()) fail("an elementwise op needs at least one result");
  if (op.priority < -1 || op.priority > kLastPriority)
    fail(fmt::format("the priority must be 0 to {}, or -1 for none, not {}", kLastPriority,
                     op.priority));
}

engine::Op EngineOp(Graph::Impl& impl, const OpOptions& options, const std::string& where) {
  engine::Op op;
  op.kind = options.constraint ? engine::Op::kConstraint
            : options.barrier  ? engine::Op::kBarrier
                               : engine::Op::kNone;
  op.operands.assign(options.operands.begin(), options.operands.end());
  op.results.assign(options.results.begin(), options.results.end());
  op.elementwise = options.elementwise;
  op.constant = options.constant;
  op.foldable = options.foldable;
  op.expands = options.expands;
  op.barrier = options.crosses;
  op.region = options.region;
  bool crossed = !options.rule.empty() || options.elementwise;
  if (op.kind == engine::Op::kNone && crossed) {
    op.kind = engine::Op::kRule;
    op.rule = RuleOf(impl, options, where);
  }
  return op;
}

// Throws RuntimeError if the sharding of a value in a region names one of its manual axes.
void CheckManual(const Graph::Impl& impl, const TensorSharding& s, RegionId region,
                 const std::string& where) {
  auto check = [&](const sharding::AxisList& axes) {
    for (sharding::AxisPart a : axes)
      for (sharding::AxisPart b : impl.manual[region])
        if (a.axis == b.axis)
          Refuse("value", 27, where,
                 fmt::format("{} is manual in its region", AxisText(*impl.mesh, b)));
  };
  for (const sharding::DimAxes& d : s.dims) check(d.axes);
  check(s.replicated);
  check(s.unreduced);
}

}  // namespace

std::string WhereOf(const std::string& given, Loc loc) {
  return given.empty() ? base::Where(loc) : given;
}

void CheckValues(const Graph::Impl& impl, const char* op, const std::vector<ValueId>& values,
                 const std::string& where) {
  for (ValueId v : values)
    if (!impl.graph.values.Has(v))
      Refuse(op, 1, where,
             fmt::format("there is no value {}; the graph has {}", Number(v),
                         impl.graph.values.size()));
}

void CheckRegion(const Graph::Impl& impl, const char* op, RegionId region,
                 const std::string& where) {
  if (!impl.graph.regions.Has(region))
    Refuse(op, 5, where, fmt::format("there is no region {}", Number(region)));
}

const engine::TensorSharding& ShardingOf(Graph::Impl& impl, const std::string& text,
                                         const std::string& where) {
  auto known = impl.shardings.find(text);
  if (known != impl.shardings.end()) return known->second;
  TensorSharding s =
      ReadAt(where, [&] { return sharding::ParseSharding(text, impl.mesh, Loc::Unknown()); });
  return impl.shardings.emplace(text, std::move(s)).first->second;
}

Graph::Graph(Mesh mesh, Loc loc) {
  if (mesh.empty()) Refuse("Graph", 20, base::Where(loc), "a graph needs a mesh with axes");
  impl_ = std::make_unique<Impl>(mesh.def()->WithoutModes());
}
Graph::~Graph() = default;
Graph::Graph(Graph&&) noexcept = default;
Graph& Graph::operator=(Graph&&) noexcept = default;

ValueId Graph::value(ValueOptions options, Loc loc) {
  std::string where = WhereOf(options.where, loc);
  for (int64_t n : options.shape)
    if (n < 0) Refuse("value", 21, where, fmt::format("a dim has size {}", n));
  MaybeSharding given;
  if (!options.sharding.empty()) given = ShardingOf(*impl_, options.sharding, where);
  if (given && given->dims.size() != options.shape.size())
    Refuse("value", 2, where,
           fmt::format("the sharding has rank {}, but the value has rank {}", given->dims.size(),
                       options.shape.size()));
  CheckRegion(*impl_, "value", options.region, where);
  if (given) CheckManual(*impl_, *given, options.region, where);
  const ValueId id =
      impl_->graph.AddValue(std::move(options.shape), std::move(given), options.region);
  if (options.name.empty()) options.name = fmt::format("value {}", Number(id));
  impl_->values.Add({std::move(options.name), std::move(options.where)});
  return id;
}

OpId Graph::op(OpOptions options, Loc loc) {
  std::string where = WhereOf(options.where, loc);
  if (options.name.empty()) options.name = fmt::format("op {}", impl_->ops.size());
  CheckValues(*impl_, options.name.c_str(), options.operands, where);
  CheckValues(*impl_, options.name.c_str(), options.results, where);
  CheckRegion(*impl_, options.name.c_str(), options.region, where);
  CheckOptions(options, where);
  const OpId id = impl_->graph.Add(EngineOp(*impl_, options, where));
  impl_->ops.Add({std::move(options.name), std::move(options.where)});
  impl_->priorities.Add(options.priority);
  return id;
}

void Graph::group(std::vector<ValueId> values, Loc loc) {
  std::string where = base::Where(loc);
  CheckValues(*impl_, "group", values, where);
  for (ValueId v : values) {
    const std::vector<int64_t>&first = impl_->graph.values[values[0]].shape,
          &shape = impl_->graph.values[v].shape;
    if (shape != first)
      Refuse("group", 15, where,
             fmt::format("its members must have the same shape, unlike {} and {}",
                         impl_->values[values[0]].name, impl_->values[v].name));
  }
  impl_->graph.groups.Add(std::move(values));
}

OpId Graph::returns(std::vector<ValueId> values, std::vector<std::string> shardings, Loc loc) {
  std::string where = base::Where(loc);
  CheckValues(*impl_, "returns", values, where);
  if (!impl_->graph.returns.empty()) Refuse("returns", 22, where, "returns() was already called");
  if (!shardings.empty() && shardings.size() != values.size())
    Refuse("returns", 16, where,
           fmt::format("{} shardings are given, but the number of returned values is {}",
                       shardings.size(), values.size()));
  shardings.resize(values.size());
  engine::Op end;
  end.kind = engine::Op::kNone;
  end.is_return = true;
  std::vector<MaybeSharding> given(values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    end.operands.push_back(values[i]);
    if (shardings[i].empty()) continue;
    given[i] = ShardingOf(*impl_, shardings[i], where);
    size_t rank = impl_->graph.values[values[i]].shape.size();
    if (given[i]->dims.size() != rank)
      Refuse("returns", 2, where,
             fmt::format("the sharding has rank {}, but the value has rank {}",
                         given[i]->dims.size(), rank));
  }
  impl_->graph.returns = std::move(given);
  const OpId id = impl_->graph.Add(std::move(end));
  impl_->ops.Add({"return", {}});
  impl_->priorities.Add(-1);
  return id;
}

}  // namespace tessera::propagation
