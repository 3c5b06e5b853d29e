// Cases of propagation as programs of the library: traced by the public functions, and made a graph
// as every program is.
#include "call.h"
#include "compile/auto/program_graph.h"
#include "machine.h"
#include "propagation_graph.h"
#include "sharding/text.h"
#include "tessera/mesh.h"
#include "tessera/transforms.h"
#include "trace/array.h"

namespace tessera::conformance {
namespace {

using propagation::OpId;
using propagation::RegionId;
using propagation::ValueId;
using sharding::TensorSharding;

std::string TypeOf(const Json& argument) {
  return argument.is_string() ? argument.get<std::string>()
                              : argument.at("type").get<std::string>();
}

// The ids of the values of the outermost function.
using Ids = std::map<std::string, ir::ValueId>;

Program Traced(const Case& c, Ids& ids) {
  std::vector<Array> arguments;
  for (const auto& [name, argument] : c.args.items())
    arguments.push_back(abstract_array(TypeOf(argument)));
  auto f = jit([&](std::vector<Array> traced) {
    Machine machine(c);
    auto keep = [&](const std::string& name, const Array& x) {
      ids[name] = static_cast<const trace::TracedArray&>(*x.impl()).value;
      machine.Set(name, Operand(x));
    };
    size_t next = 0;
    for (const auto& [name, argument] : c.args.items()) keep(name, traced[next++]);
    std::vector<Array> results;
    for (size_t k = 0; k < c.body.size(); ++k) {
      machine.Step(k);
      for (const std::string& out : c.body[k].out) keep(out, machine.Get(out).array());
    }
    // The body of shard_map is part of the same program.
    const auto trace_of = [](const Array& x) {
      return static_cast<const trace::TracedArray&>(*x.impl()).trace;
    };
    for (const auto& [name, x] : machine.inner_arrays())
      if (!traced.empty() && trace_of(x) == trace_of(traced[0]) && !ids.count(name)) keep(name, x);
    for (const Json& name : c.json.at("return"))
      results.push_back(machine.Get(name.get<std::string>()).array());
    return results;
  });
  return f.trace(arguments);
}

}  // namespace

CaseGraph FrontendGraph(const Case& c) {
  if (std::string why = WhyUnknown(c.body); !why.empty()) throw Unsupported(why);
  for (const Instruction& instruction : c.body)
    if (instruction.op == "jit") throw Unsupported("a call: ours are traced into their callers");
  MeshScope scope(abstract_mesh(c.mesh));
  CaseGraph out;
  out.mesh = current_mesh().def()->WithoutModes();
  Ids ids;
  Program program = Traced(c, ids);
  compile::ProgramGraph built = compile::GraphOf(*program.program());
  const auto& values = built.regions[RegionId::kOutermost].values;
  for (const auto& [name, id] : ids) out.values[name] = values[id];
  out.graph = std::move(built.graph);
  auto parse = [&](const Json& text) -> std::optional<TensorSharding> {
    if (!text.is_string()) return std::nullopt;
    return sharding::ParseSharding(text.get<std::string>(), out.mesh, Loc::Unknown());
  };
  auto give = [&](const std::string& name, const Json& text) {
    if (auto s = parse(text)) out.graph.values[out.values.at(name)].sharding = s;
  };
  for (const auto& [name, argument] : c.args.items()) {
    out.args.push_back(name);
    if (argument.is_object()) give(name, argument.value("sharding", Json()));
  }
  for (const Json& instruction : c.json.at("body")) {
    Json carried = instruction.value("out_shardings", Json::array());
    for (size_t i = 0; i < carried.size(); ++i) give(instruction.at("out").at(i), carried[i]);
  }
  Json returns = c.json.value("return_shardings", Json::array());
  for (size_t i = 0; i < returns.size(); ++i) out.graph.returns[i] = parse(returns[i]);
  for (ir::ValueId v : program.program()->outputs) out.returned.push_back(values[v]);
  for (const Instruction& instruction : c.body) {
    if (instruction.op != "shard_map") continue;
    for (const std::string& argument : instruction.functions.at(0).args) {
      const ValueId v = out.values.at(argument);
      for (OpId id : built.ops.ids())
        if (built.ops[id].edge_of && values[built.ops[id].edge_of->results[0]] == v)
          out.shard_maps[instruction.out.at(0)].push_back({out.graph.ops[id].edge, v});
    }
  }
  for (OpId id : built.ops.ids()) {
    auto& user = out.users[id];
    if (out.graph.ops[id].is_return) user = "return";
    const ir::Instruction* made = built.ops[id].instruction;
    if (!made || out.graph.ops[id].region != RegionId::kOutermost) continue;
    for (const Instruction& instruction : c.body)
      if (ids.at(instruction.out.at(0)) == made->results[0]) user = instruction.out[0];
  }
  return out;
}

}  // namespace tessera::conformance
