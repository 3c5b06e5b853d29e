// Calls that lowering turns into the ops of device programs.
#include "suite/device_examples.h"

#include <gtest/gtest.h>

#include <sstream>

#include "tessera/tessera.h"

namespace tessera::suite {
namespace {

Array In(PartitionSpec spec) { return reshard(zeros({8, 4}), std::move(spec)); }
PartitionSpec Parts() { return P().unreduced("x"); }

Lowered Resharded(PartitionSpec from, PartitionSpec to) {
  return jit([to](Array x) { return reshard(x, to); }).lower(In(std::move(from)));
}
// Over Auto axes: a dim that does not divide, and elements that come from neighbours.
Lowered Uneven() {
  const auto f = [](Array x) { return exp(with_sharding_constraint(x, P("x"))); };
  return jit(auto_axes(f, {.out_sharding = P()})).lower(zeros({7, 4}));
}
Lowered Rolled() {
  const auto f = [](Array x) { return roll(x, 1, 0); };
  return jit(auto_axes(f, {.out_sharding = P("x")})).lower(In(P("x")));
}
// Shared values, and parts, as arrays of each device's own.
Lowered Copied() {
  const auto f = [](Array x) { return pcast(x, "x", Variance::kVarying); };
  return jit(shard_map(f, {.in_specs = P(), .out_specs = P("x")})).lower(In(P()));
}
Lowered Seen() {
  const auto f = [](Array x) { return x + 1; };
  return jit(shard_map(f, {.in_specs = P("x"), .out_specs = P("x")})).lower(In(P("x")));
}

struct Row {
  const char* op;
  Lowered (*call)();
};
const Row kRows[] = {
    {"all_slice", [] { return Resharded(P(), P("x")); }},
    {"all_gather", [] { return Resharded(P("x"), P()); }},
    {"all_to_all", [] { return Resharded(P("x"), P(None, "x")); }},
    {"collective_permute", [] { return Resharded(P("x"), P("y")); }},
    {"all_reduce", [] { return Resharded(Parts(), P()); }},
    {"reduce_scatter", [] { return Resharded(Parts(), P("x")); }},
    {"replicated_to_unreduced", [] { return Resharded(P(), Parts()); }},
    {"sharded_to_unreduced", [] { return Resharded(P("x"), Parts()); }},
    {"halo_exchange", Rolled},
    {"pad_to_shards", Uneven},
    {"trim", Uneven},
    {"copy_to_each", Copied},
    {"seen_as", Seen},
};

}  // namespace

std::string DeviceExample(const ir::OpDef& op) {
  for (const Row& row : kRows) {
    if (row.op != op.name) continue;
    MeshScope mesh(make_mesh({{"x", 2}, {"y", 2}}));
    std::istringstream lines(row.call().device_program().text());
    const std::string wanted = " = " + std::string(row.op) + " ";
    for (std::string line; std::getline(lines, line);)
      if (line.find(wanted) != std::string::npos)
        return line.substr(line.find('%'), line.find_last_of('}') + 1 - line.find('%'));
    ADD_FAILURE() << "no " << row.op << " in\n" << lines.str();
  }
  return "";
}

}  // namespace tessera::suite
