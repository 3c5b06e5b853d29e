// The tables' control flow as calls of the library.
#include <algorithm>
#include <functional>
#include <stdexcept>

#include "call.h"
#include "machine.h"
#include "tessera/batching.h"
#include "tessera/checkpoint.h"
#include "tessera/control.h"
#include "tessera/gradients.h"
#include "tessera/modes.h"
#include "tessera/shard_map.h"
#include "tessera/transforms.h"

namespace tessera::conformance {
namespace {

using Tree = std::vector<Array>;

Tree Part(const Tree& all, size_t begin, size_t end) {
  if (begin > end || end > all.size()) throw std::out_of_range("more carries than arrays");
  return {all.begin() + static_cast<long>(begin), all.begin() + static_cast<long>(end)};
}

// One spec for all, or a list of them.
Specs SpecsOf(const Call& call, const std::string& key) {
  if (!call.has(key)) return {};
  const Json& json = call.attr(key);
  if (!json.is_array()) return ParseSpec(json);
  std::vector<Specs> parts;
  for (const Json& part : json) parts.push_back(ParseSpec(part));
  return Specs(std::move(parts));
}

AxisNames AxesOf(const Call& call, const std::string& key = "axes") {
  if (!call.has(key)) return {};
  const Json& json = call.attr(key);
  if (json.is_string()) return json.get<std::string>();
  return json.get<std::vector<std::string>>();
}

// One dim for all arrays, or a list of them: of the tree's arrays.
MapDims DimsOf(const Call& call, const std::string& key) {
  const auto one = [](const Json& json) {
    return json.is_null() ? MapDims(None) : MapDims(json.get<int64_t>());
  };
  if (!call.names(key)) return 0;
  if (!call.has(key)) return None;
  const Json& json = call.attr(key);
  if (!json.is_array()) return one(json);
  std::vector<MapDims> parts;
  for (const Json& part : json) parts.push_back(one(part));
  return MapDims(std::move(parts));
}

DimSharding AxesOfLanes(const Call& call) {
  if (!call.has("spmd_axis_name")) return {};
  const Json& json = call.attr("spmd_axis_name");
  if (json.is_string()) return P(json.get<std::string>()).dims()[0];
  std::vector<AxisRef> axes;
  for (const Json& name : json) axes.emplace_back(name.get<std::string>());
  return DimSharding(axes);
}

std::vector<size_t> ChosenArguments(const Call& call) {
  if (!call.has("argnums")) return {0};
  const Json& json = call.attr("argnums");
  if (!json.is_array()) return {json.get<size_t>()};
  return json.get<std::vector<size_t>>();
}

Tree Joined(Tree a, const Tree& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

// grad, jvp, vjp and vmap of the function.
Tree Transformed(const std::string& op, const std::function<Tree(Tree)>& f, const Call& call,
                 Loc loc, size_t parameters) {
  const Tree in = call.arrays();
  if (op == "vmap") {
    MapDims dims = DimsOf(call, "in_axes");
    const bool is_list = call.has("in_axes") && call.attr("in_axes").is_array();
    VmapOptions options{.in_dims = is_list ? MapDims(std::vector{dims}) : dims,
                        .out_dims = DimsOf(call, "out_axes"),
                        .sharding = AxesOfLanes(call)};
    if (call.has("axis_size")) options.size = call.integer("axis_size");
    call.CheckAllRead();
    return vmap(f, options, loc)(in, loc);
  }
  if (op == "grad") {
    // Of the sum of the only result, in the arguments that are chosen.
    const std::vector<size_t> chosen = ChosenArguments(call);
    call.CheckAllRead();
    Tree of;
    for (size_t i : chosen) of.push_back(in.at(i));
    auto loss = [&](Tree varied) {
      Tree all = in;
      for (size_t i = 0; i < chosen.size(); ++i) all[chosen[i]] = varied[i];
      Array out = f(all).at(0);
      return out.rank() == 0 ? out : sum(out);
    };
    return grad(loss, loc)(of, loc);
  }
  call.CheckAllRead();
  const Tree primals = Part(in, 0, parameters), given = Part(in, parameters, in.size());
  if (op == "jvp") {
    auto [out, tangents] = jvp(f, std::tuple(primals), std::tuple(given), loc);
    return Joined(out, tangents);
  }
  auto [out, pullback] = vjp(f, primals, loc);
  return Joined(out, pullback(given, loc));
}

}  // namespace

bool IsControl(const std::string& op) {
  for (const char* name :
       {"cond", "switch", "while_loop", "fori_loop", "scan", "jit", "auto_axes", "explicit_axes",
        "grad", "jvp", "vjp", "vmap", "checkpoint", "shard_map"})
    if (op == name) return true;
  return false;
}

std::vector<Array> Machine::Apply(const Instruction& instruction,
                                  const std::vector<Operand>& operands) {
  const std::vector<Function>& fns = instruction.functions;
  Loc loc = Loc::Current(instruction.out.at(0).c_str(), 1);
  Call call(instruction, operands, loc);
  auto function = [&](size_t i) {
    return std::function([this, &fns, i](Tree in) { return CallFunction(fns.at(i), in); });
  };
  if (instruction.op == "jit") {
    // The specs are of the arguments; ours is one, a list.
    Specs in = SpecsOf(call, "in_shardings");
    JitOptions options{.in_shardings = in.given() ? Specs(std::vector<Specs>{in}) : in,
                       .out_shardings = SpecsOf(call, "out_shardings")};
    call.CheckAllRead();
    return jit(function(0), options)(call.arrays(), loc);
  }
  if (instruction.op == "auto_axes") {
    AutoAxesOptions options{.axes = AxesOf(call), .out_sharding = SpecsOf(call, "out_sharding")};
    call.CheckAllRead();
    return auto_axes(function(0), options)(call.arrays(), loc);
  }
  if (instruction.op == "explicit_axes") {
    Specs in = SpecsOf(call, "in_sharding");
    ExplicitAxesOptions options{.axes = AxesOf(call),
                                .in_sharding = in.given() ? Specs(std::vector<Specs>{in}) : in};
    call.CheckAllRead();
    return explicit_axes(function(0), options)(call.arrays(), loc);
  }
  if (instruction.op == "shard_map") {
    if (!call.flag("check_vma", true)) throw Unsupported("shard_map without its checks");
    Specs in = SpecsOf(call, "in_specs");
    ShardMapOptions options{.in_specs = in.given() ? Specs(std::vector<Specs>{in}) : in,
                            .out_specs = SpecsOf(call, "out_specs"),
                            .axes = AxesOf(call, "axis_names")};
    call.CheckAllRead();
    return shard_map(function(0), options, loc)(call.arrays(), loc);
  }
  if (instruction.op == "checkpoint") {
    call.CheckAllRead();
    return checkpoint(function(0), {}, loc)(call.arrays(), loc);
  }
  for (const char* transform : {"grad", "jvp", "vjp", "vmap"})
    if (instruction.op == transform)
      return Transformed(instruction.op, function(0), call, loc, fns.at(0).args.size());
  if (instruction.op == "cond")
    return cond(operands.at(0), function(0), function(1), call.arrays(1));
  if (instruction.op == "switch") {
    std::vector<std::function<Tree(Tree)>> branches;
    for (size_t i = 0; i < fns.size(); ++i) branches.push_back(function(i));
    return switch_case(operands.at(0), branches, call.arrays(1));
  }
  if (instruction.op == "while_loop")
    return while_loop([&](Tree in) { return CallFunction(fns.at(0), in).at(0); }, function(1),
                      call.arrays(), loc);
  if (instruction.op == "fori_loop") {
    auto body = [&](Array i, Tree in) {
      in.insert(in.begin(), i);
      return CallFunction(fns.at(0), in);
    };
    return fori_loop(Operand(call.integer("lower"), loc), Operand(call.integer("upper"), loc), body,
                     call.arrays(), {.unroll = call.has("unroll") ? call.integer("unroll") : 1},
                     loc);
  }
  auto carries = static_cast<size_t>(call.integer("num_carry"));
  ScanOptions options{.length = {}, .reverse = call.flag("reverse")};
  if (call.has("length")) options.length = call.integer("length");
  if (call.has("unroll")) options.unroll = call.integer("unroll");
  call.CheckAllRead();
  auto body = [&](Tree carry, Tree xs) {
    carry.insert(carry.end(), xs.begin(), xs.end());
    Tree out = CallFunction(fns.at(0), carry);
    // A body that gives too little is the library's to refuse.
    size_t given = std::min(carries, out.size());
    return std::pair(Part(out, 0, given), Part(out, given, out.size()));
  };
  Tree in = call.arrays();
  auto [carry, ys] = scan(body, Part(in, 0, carries), Part(in, carries, in.size()), options, loc);
  carry.insert(carry.end(), ys.begin(), ys.end());
  return carry;
}

}  // namespace tessera::conformance
