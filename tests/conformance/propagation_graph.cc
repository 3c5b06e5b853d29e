// Builds the graph of a case: its values, ops, constraints and regions.
#include "propagation_graph.h"

#include <stdexcept>

#include "sharding/rule_text.h"
#include "sharding/text.h"

namespace tessera::conformance {
namespace {

using propagation::OpId;
using propagation::RegionId;
using propagation::ValueId;
using propagation::engine::Edge;
using propagation::engine::Op;
using propagation::engine::OperandUse;
using sharding::AxisList;
using sharding::TensorSharding;

class Builder {
 public:
  Builder(const Case& c, Rules rules) : case_(c), rules_(rules) {
    std::vector<MeshAxis> axes;
    for (const MeshAxis& axis : c.mesh) axes.push_back({axis.name, axis.size, Auto});
    out_.mesh = sharding::MeshDef::Intern(std::move(axes), {}, sharding::MeshKind::kAbstract);
  }

  CaseGraph Build() {
    for (const auto& [name, arg] : case_.json.at("args").items()) {
      bool plain = arg.is_string();
      ValueId v = AddValue(ParseTensor((plain ? arg : arg.at("type")).get<std::string>()));
      if (!plain) graph().values[v].sharding = Sharding(arg.value("sharding", Json()));
      out_.values[name] = v;
      out_.args.push_back(name);
    }
    Body(case_.json.at("body"), RegionId::kOutermost);
    Op end = Plain(Operands(case_.json.at("return")), RegionId::kOutermost);
    end.is_return = true;
    out_.returned.assign(end.operands.begin(), end.operands.end());
    Json given = case_.json.value("return_shardings", Json::array());
    for (size_t i = 0; i < end.operands.size(); ++i)
      graph().returns.push_back(i < given.size() ? Sharding(given[i]) : std::nullopt);
    out_.users[graph().Add(std::move(end))] = "return";
    return std::move(out_);
  }

 private:
  propagation::engine::FlatGraph& graph() { return out_.graph; }

  std::optional<TensorSharding> Sharding(const Json& text) const {
    if (!text.is_string()) return std::nullopt;
    return sharding::ParseSharding(text.get<std::string>(), out_.mesh, Loc::Unknown());
  }

  ValueId AddValue(const Tensor& tensor) {
    ValueId v = graph().AddValue(tensor.shape);
    tensors_.Add(tensor);
    return v;
  }

  // Values for results that the instruction names, with the shardings that it states.
  std::vector<ValueId> Results(const Json& instruction, const std::vector<Tensor>& tensors) {
    const Json& names = instruction.at("out");
    if (names.size() != tensors.size())
      throw std::logic_error(instruction.at("op").get<std::string>() + " gives other results");
    Json stated = instruction.value("out_shardings", Json::array());
    std::vector<ValueId> results;
    for (size_t i = 0; i < names.size(); ++i) {
      results.push_back(AddValue(tensors[i]));
      out_.values[names[i].get<std::string>()] = results.back();
      if (i < stated.size()) graph().values[results[i]].sharding = Sharding(stated[i]);
    }
    return results;
  }

  std::vector<ValueId> Operands(const Json& names) {
    std::vector<ValueId> operands;
    for (const Json& name : names) operands.push_back(out_.values.at(name.get<std::string>()));
    return operands;
  }

  std::vector<Tensor> TensorsOf(const std::vector<ValueId>& values) const {
    std::vector<Tensor> tensors;
    for (ValueId v : values) tensors.push_back(tensors_[v]);
    return tensors;
  }

  // An op that only uses its operands.
  static Op Plain(const std::vector<ValueId>& operands, RegionId region) {
    Op op;
    op.kind = Op::kNone;
    op.operands.assign(operands.begin(), operands.end());
    op.region = region;
    return op;
  }

  OpId Add(Op op, const Json& instruction) {
    OpId id = graph().Add(std::move(op));
    if (!instruction.at("out").empty()) out_.users[id] = instruction["out"][0].get<std::string>();
    return id;
  }

  OpId AddRegionOp(const Json& instruction, const std::vector<ValueId>& operands, RegionId region) {
    return Add(Plain(operands, region), instruction);
  }

  RegionId AddRegion(OpId op, RegionId parent) { return graph().regions.Add({op, parent}); }

  // The body of a function, and its end, which is returned.
  OpId Function(const Json& fn, RegionId region) {
    Body(fn.at("body"), region);
    return graph().Add(Plain(Operands(fn.at("return")), region));
  }

  // Adds one edge per result k, from sources(k) to the result and others(k).
  template <class Sources, class Others>
  void AddResultEdges(const std::vector<ValueId>& results, RegionId region, Sources sources,
                      Others others) {
    for (size_t i = 0; i < results.size(); ++i) {
      Edge edge;
      edge.sources = sources(static_cast<int32_t>(i));
      edge.other_targets = others(i);
      graph().AddEdge(std::move(edge), results[i], region);
    }
  }
  static std::vector<ValueId> NoOthers(size_t) { return {}; }

  std::vector<ValueId> Arguments(const Json& fn, const std::vector<Tensor>& tensors,
                                 RegionId region) {
    std::vector<ValueId> arguments;
    for (size_t i = 0; i < tensors.size(); ++i) {
      arguments.push_back(AddValue(tensors[i]));
      graph().values[arguments[i]].region = region;
      out_.values[fn.at("args").at(i).get<std::string>()] = arguments[i];
    }
    return arguments;
  }

  // The arguments of both functions and the results are one value of the loop.
  void While(const Json& instruction, RegionId region) {
    std::vector<ValueId> operands = Operands(instruction.at("in"));
    std::vector<Tensor> carried = TensorsOf(operands);
    OpId op = AddRegionOp(instruction, operands, region);
    const Json &condition = instruction.at("fns").at(0), &body = instruction["fns"].at(1);
    const RegionId first = AddRegion(op, region), second = AddRegion(op, region);
    std::vector<ValueId> condition_args = Arguments(condition, carried, first);
    Function(condition, first);
    std::vector<ValueId> body_args = Arguments(body, carried, second);
    OpId end = Function(body, second);
    AddResultEdges(
        Results(instruction, carried), region,
        [&](int32_t i) {
          return std::vector<OperandUse>{{op, i}, {end, i}};
        },
        [&](size_t i) {
          return std::vector<ValueId>{condition_args[i], body_args[i]};
        });
  }

  // `cond` lists the true branch first, programs the false one. Branches see the operands
  // themselves.
  void Branches(const Json& instruction, RegionId region) {
    std::vector<ValueId> operands = Operands(instruction.at("in"));
    OpId op = AddRegionOp(instruction, {operands.at(0)}, region);
    std::vector<Json> branches = instruction.at("fns");
    if (instruction.at("op") == "cond") std::reverse(branches.begin(), branches.end());
    std::vector<OpId> ends;
    for (const Json& branch : branches) {
      for (size_t i = 0; i < branch.at("args").size(); ++i)
        out_.values[branch["args"][i].get<std::string>()] = operands.at(i + 1);
      ends.push_back(Function(branch, AddRegion(op, region)));
    }
    std::vector<ValueId> returned = Operands(branches.at(0).at("return"));
    AddResultEdges(
        Results(instruction, TensorsOf(returned)), region,
        [&](int32_t i) {
          std::vector<OperandUse> sources;
          for (OpId end : ends) sources.push_back({end, i});
          return sources;
        },
        NoOthers);
  }

  void OptimizationBarrier(const Json& instruction, RegionId region) {
    std::vector<ValueId> operands = Operands(instruction.at("in"));
    OpId op = AddRegionOp(instruction, operands, region);
    AddResultEdges(
        Results(instruction, TensorsOf(operands)), region,
        [&](int32_t i) {
          return std::vector<OperandUse>{{op, i}};
        },
        NoOthers);
  }

  void NamedComputation(const Json& instruction, RegionId region) {
    std::vector<ValueId> operands = Operands(instruction.at("in"));
    OpId op = AddRegionOp(instruction, operands, region);
    const RegionId inner = AddRegion(op, region);
    const Json& fn = instruction.at("fn");
    std::vector<ValueId> arguments = Arguments(fn, TensorsOf(operands), inner);
    AddResultEdges(
        arguments, inner,
        [&](int32_t i) {
          return std::vector<OperandUse>{{op, i}};
        },
        NoOthers);
    OpId end = Function(fn, inner);
    std::vector<ValueId> returned = Operands(fn.at("return"));
    for (size_t i = 0; i < returned.size(); ++i)
      out_.callee_results[instruction.at("out").at(i)] = returned[i];
    AddResultEdges(
        Results(instruction, TensorsOf(returned)), region,
        [&](int32_t i) {
          return std::vector<OperandUse>{{end, i}};
        },
        NoOthers);
  }

  // The sharding that a spec of shard_map stands for: the manual axes that it does not name are
  // replicated.
  TensorSharding OuterSharding(const Json& spec, size_t rank, const AxisList& manual,
                               bool all_manual) const {
    TensorSharding s = sharding::Replicated(out_.mesh, static_cast<int>(rank));
    AxisList named;
    for (size_t d = 0; d < rank; ++d) {
      s.dims[d].open = !all_manual;
      Json entry = d < spec.at("spec").size() ? spec["spec"][d] : Json();
      if (entry.is_string()) entry = Json::array({entry});
      for (const Json& name : entry) {
        int axis = out_.mesh->Find(name.get<std::string>());
        if (out_.mesh->axis_size(axis) == 1) continue;
        s.dims[d].axes.push_back(sharding::WholeAxis(*out_.mesh, axis));
        named.push_back(s.dims[d].axes.back());
      }
    }
    s.replicated = sharding::Difference(manual, named);
    return s;
  }

  AxisList ManualAxes(const Json& names) const {
    AxisList manual;
    for (const Json& name : names) {
      int axis = out_.mesh->Find(name.get<std::string>());
      if (out_.mesh->axis_size(axis) > 1) manual.push_back(sharding::WholeAxis(*out_.mesh, axis));
    }
    sharding::SortAndMerge(manual);
    return manual;
  }

  // How a tensor of this sharding looks inside a region: each device's part.
  static Tensor Scaled(Tensor tensor, const TensorSharding& s, bool inward) {
    for (size_t d = 0; d < tensor.shape.size(); ++d) {
      int64_t parts = sharding::SizeOf(s.dims[d].axes);
      tensor.shape[d] = inward ? tensor.shape[d] / parts : tensor.shape[d] * parts;
    }
    return tensor;
  }

  void ShardMap(const Json& instruction, RegionId region) {
    const Json &attrs = instruction.at("attrs"), &fn = instruction.at("fn");
    std::vector<ValueId> operands = Operands(instruction.at("in"));
    OpId op = AddRegionOp(instruction, operands, region);
    const RegionId inner = AddRegion(op, region);
    AxisList manual = ManualAxes(attrs.at("axis_names"));
    bool all_manual = attrs["axis_names"].size() == out_.mesh->axes().size();
    auto add_edges = [&](const std::vector<ValueId>& targets, OpId source,
                         const std::vector<TensorSharding>& outer, bool inward) {
      for (size_t i = 0; i < targets.size(); ++i) {
        Edge edge;
        edge.sources = {{source, static_cast<int32_t>(i)}};
        edge.outer = outer[i];
        edge.manual = manual;
        edge.inward = inward;
        if (inward)
          out_.shard_maps[instruction.at("out").at(0)].push_back(
              {graph().edges.next_id(), targets[i]});
        graph().AddEdge(std::move(edge), targets[i], inward ? inner : region);
      }
    };
    auto scale = [&](std::vector<Tensor> tensors, const Json& specs, bool inward,
                     std::vector<TensorSharding>& outer) {
      for (size_t i = 0; i < tensors.size(); ++i) {
        outer.push_back(OuterSharding(specs.at(i), tensors[i].shape.size(), manual, all_manual));
        tensors[i] = Scaled(tensors[i], outer[i], inward);
      }
      return tensors;
    };
    std::vector<TensorSharding> in, out;
    std::vector<Tensor> parts = scale(TensorsOf(operands), attrs.at("in_specs"), true, in);
    add_edges(Arguments(fn, parts, inner), op, in, true);
    OpId end = Function(fn, inner);
    std::vector<Tensor> wholes =
        scale(TensorsOf(Operands(fn.at("return"))), attrs.at("out_specs"), false, out);
    add_edges(Results(instruction, wholes), end, out, false);
  }

  void Constraint(const Json& instruction, RegionId region) {
    std::vector<ValueId> operands = Operands(instruction.at("in"));
    std::vector<ValueId> results = Results(instruction, TensorsOf(operands));
    graph().values[results[0]].sharding =
        Sharding(instruction.at("attrs").value("sharding", Json()));
    Op op = Plain(operands, region);
    op.kind = Op::kConstraint;
    op.results = {results[0]};
    Add(std::move(op), instruction);
  }

  // Groups are joined where they share a value, which keeps the order of the instructions.
  void Join(int64_t group, ValueId v) {
    auto [first, added] = groups_.try_emplace(group, v);
    graph().groups.Add({v});
    if (!added) graph().groups.Add({first->second, v});
  }

  void Instruction(const Json& instruction, RegionId region) {
    std::string name = instruction.at("op");
    Json attrs = instruction.value("attrs", Json::object());
    std::vector<ValueId> operands = Operands(instruction.at("in"));
    OpFacts facts = FactsOf({name, attrs, TensorsOf(operands)});
    // Shardy saw select(p, b, a), and the order decides ties.
    if (name == "select_n" && operands.size() == 3) std::swap(operands[1], operands[2]);
    for (size_t i = 0; i < facts.unnamed_operands; ++i)
      operands.push_back(UnnamedScalar(tensors_[operands[0]].dtype, region));
    std::vector<ValueId> results = Results(instruction, facts.results);
    Op op = Plain(operands, region);
    op.results.assign(results.begin(), results.end());
    op.elementwise = facts.elementwise;
    op.foldable = facts.foldable;
    op.constant = facts.constant;
    op.expands = facts.expands;
    op.first = facts.first;
    if (!facts.constant) UseRule(op, facts.map, instruction);
    Add(std::move(op), instruction);
  }

  sharding::Shapes ShapesOf(const auto& values) {
    sharding::Shapes shapes;
    for (ValueId v : values) shapes.push_back(&graph().values[v].shape);
    return shapes;
  }

  // An op without a record is one whose result only has copies, which have our rule.
  void UseRule(Op& op, const sharding::DimMap& ours, const Json& instruction) {
    std::string result = instruction.at("out").at(0);
    const Json& rules = case_.expect.at("rules");
    Json recorded = rules.value(result, Json());
    std::string text = recorded.is_string() ? recorded.get<std::string>() : "";
    if (rules.contains(result)) {
      out_.rules.push_back({result, instruction.at("op"), ours, text});
      if (text.empty() && rules_ == Rules::kRecorded) return;
    }
    op.kind = Op::kRule;
    bool record = rules_ == Rules::kRecorded && !text.empty();
    sharding::DimMap map = record ? sharding::ParseRule(text, Loc::Unknown()) : ours;
    if (auto problem = sharding::VerifyRule(map, ShapesOf(op.operands), ShapesOf(op.results)))
      throw std::logic_error(result + ": " + problem->reason);
    op.rule = graph().AddRule(std::move(map));
  }

  ValueId UnnamedScalar(DType dtype, RegionId region) {
    Op op = Plain({}, region);
    op.constant = true;
    op.results = {AddValue({{}, dtype})};
    ValueId v = op.results[0];
    graph().Add(std::move(op));
    return v;
  }

  void Body(const Json& body, RegionId region) {
    for (const Json& instruction : body) {
      const std::string& op = instruction.at("op").get_ref<const std::string&>();
      if (op == "while_loop")
        While(instruction, region);
      else if (op == "cond" || op == "switch")
        Branches(instruction, region);
      else if (op == "optimization_barrier")
        OptimizationBarrier(instruction, region);
      else if (op == "jit")
        NamedComputation(instruction, region);
      else if (op == "shard_map")
        ShardMap(instruction, region);
      else if (op == "with_sharding_constraint")
        Constraint(instruction, region);
      else if (op == "sharding_group")
        Join(instruction.at("attrs").at("group_id"), Operands(instruction.at("in"))[0]);
      else
        Instruction(instruction, region);
    }
  }

  const Case& case_;
  Rules rules_;
  CaseGraph out_;
  base::IdVector<ValueId, Tensor> tensors_;
  std::map<int64_t, ValueId> groups_;  // a member of each
};

}  // namespace

CaseGraph BuildGraph(const Case& c, Rules rules) { return Builder(c, rules).Build(); }

}  // namespace tessera::conformance
