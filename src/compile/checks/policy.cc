// Compares a communication report with the limits in scope, and throws or warns.
#include "compile/checks/policy.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "base/error.h"
#include "compile/inspect/report.h"

namespace tessera::compile {
namespace {

struct Scope {
  CommLimits limits;
  Loc loc;
  std::string key;
};
thread_local std::vector<Scope> policies;
thread_local std::string policy_key;

void SetKey() {
  policy_key.clear();
  for (const Scope& s : policies) policy_key += s.key + "|";
}

bool Applies(const CommLimits& limits, const CommEvent& e) {
  bool kind = limits.kinds.empty() || std::count(limits.kinds.begin(), limits.kinds.end(), e.kind);
  if (!kind) return false;
  const auto& names = limits.axes.names();
  if (names.empty()) return true;
  return std::any_of(e.axes.begin(), e.axes.end(), [&](const std::string& a) {
    return std::count(names.begin(), names.end(), AxisNameOf(a));
  });
}

void AddViolations(const CommLimits& limits, const CommReport& report,
                   std::vector<std::string>& out) {
  int64_t bytes = 0;
  for (const CommEvent& e : report.lines()) {
    if (!Applies(limits, e)) continue;
    bytes += e.bytes * e.times;
    bool forbidden =
        limits.rule == CommRule::kForbid || (limits.rule == CommRule::kForbidImplied && e.implied);
    if (forbidden)
      out.push_back(fmt::format("{}: {} over {} is {}: {} B per device{}", e.where,
                                comm_name(e.kind), fmt::join(e.axes, ","),
                                e.implied ? "implied, which is forbidden here" : "forbidden here",
                                e.bytes, e.times > 1 ? fmt::format(" x{}", e.times) : ""));
  }
  if (limits.bytes >= 0 && bytes > limits.bytes)
    out.push_back(
        fmt::format("{} B leave each device, more than the budget of {} B", bytes, limits.bytes));
}

// Refuses a limit on an axis that the mesh does not have, because it would always hold. A program
// without a mesh may have any limit.
void CheckAxes(const Scope& scope, const ir::Program& program) {
  std::vector<const sharding::MeshDef*> meshes;
  if (program.mesh) meshes.push_back(program.mesh);
  for (const ir::Value& v : program.values)
    if (v.type->mesh()) meshes.push_back(v.type->mesh());
  if (meshes.empty()) return;
  for (const std::string& name : scope.limits.axes.names())
    if (std::none_of(meshes.begin(), meshes.end(), [&](auto* m) { return m->Find(name) >= 0; }))
      base::ThrowSharding(base::Refusal(
          "CommPolicy", 2, base::Where(scope.loc),
          fmt::format("there is no axis \"{}\": the program's mesh is {}", name, meshes[0]->text()),
          {}));
}

}  // namespace

void PushPolicy(CommLimits limits, Loc loc) {
  std::string key =
      fmt::format("{} {} {}", static_cast<int>(limits.rule), limits.bytes, limits.warn_only);
  for (CommKind k : limits.kinds) key += fmt::format(" k{}", static_cast<int>(k));
  for (const std::string& a : limits.axes.names()) key += " " + a;
  policies.push_back({std::move(limits), loc, std::move(key)});
  SetKey();
}
void PopPolicy() {
  policies.pop_back();
  SetKey();
}

const std::string& PolicyKey() { return policy_key; }

void CheckPolicies(const CommReport& report, const ir::Program& program) {
  for (const Scope& s : policies) CheckAxes(s, program);
  std::vector<std::string> hard, soft;
  std::string where;  // the first policy that is broken
  for (const Scope& s : policies) {
    AddViolations(s.limits, report, s.limits.warn_only ? soft : hard);
    if (where.empty() && !hard.empty()) where = base::Where(s.loc);
  }
  for (const std::string& line : soft)
    std::fprintf(stderr, "tessera: CommPolicy: %s\n", line.c_str());
  if (hard.empty()) return;
  std::string reason = fmt::format("the program breaks the policy in scope: {}",
                                   base::CountText(hard.size(), "violation"));
  base::ThrowSharding(base::Refusal("CommPolicy", 1, where, std::move(reason), std::move(hard)));
}

}  // namespace tessera::compile
