// Writes the code of edits.
#include "sharding/edit_code.h"

#include <absl/algorithm/container.h>
#include <absl/strings/str_join.h>
#include <fmt/format.h>

#include <utility>

namespace tessera::sharding {
namespace {

thread_local bool of_jax = false;

std::string JaxAxes(const std::vector<AxisRef>& axes, const char* open, const char* close) {
  const auto quoted = [](std::string* out, const AxisRef& a) { *out += '"' + a.name + '"'; };
  const std::string list = absl::StrJoin(axes, ", ", quoted);
  return open + list + close;
}

// Returns `P("x", None, ("y", "z"), reduced={"w"})`.
std::string JaxSpec(const PartitionSpec& spec) {
  std::vector<std::string> parts;
  for (const DimSharding& d : spec.dims())
    parts.push_back(d.axes().empty()       ? d.open() ? "P.UNCONSTRAINED" : "None"
                    : d.axes().size() == 1 ? JaxAxes(d.axes(), "", "")
                                           : JaxAxes(d.axes(), "(", ")"));
  if (!spec.unreduced_axes().empty())
    parts.push_back("unreduced=" + JaxAxes(spec.unreduced_axes(), "{", "}"));
  if (!spec.reduced_axes().empty())
    parts.push_back("reduced=" + JaxAxes(spec.reduced_axes(), "{", "}"));
  return "P(" + absl::StrJoin(parts, ", ") + ")";
}

std::string SpecCode(const PartitionSpec& spec) { return of_jax ? JaxSpec(spec) : spec.text(); }

// Returns the axes as the argument of a function.
std::string AxesArgument(const MeshDef* mesh, const AxisList& axes) {
  std::string code = AxesCode(mesh, axes);
  if (of_jax && code.starts_with('{')) code.front() = '(', code.back() = ')';
  return code;
}

}  // namespace

JaxEditScope::JaxEditScope() : old_(std::exchange(of_jax, true)) {}
JaxEditScope::~JaxEditScope() { of_jax = old_; }
bool EditsAreOfJax() { return of_jax; }

bool CanWrite(const PartitionSpec& spec) {
  const auto are_whole = [](const std::vector<AxisRef>& axes) {
    return absl::c_all_of(axes, [](const AxisRef& a) { return a.pre == 1 && a.size == 0; });
  };
  return !of_jax ||
         (are_whole(spec.unreduced_axes()) && are_whole(spec.reduced_axes()) &&
          absl::c_all_of(spec.dims(), [&](const DimSharding& d) { return are_whole(d.axes()); }));
}

std::string ReshardCode(std::string_view name, const PartitionSpec& spec) {
  return fmt::format("{}reshard({}, {})", of_jax ? "jax." : "", name, SpecCode(spec));
}

std::string OutShardingCode(const PartitionSpec& spec) {
  return (of_jax ? "out_sharding=" : ".out_sharding = ") + SpecCode(spec);
}

bool IsOptionCode(std::string_view code) {
  return code.starts_with('.') || code.starts_with("out_sharding=");
}

std::string PsumCode(std::string_view name, const MeshDef* mesh, const AxisList& axes) {
  return fmt::format("{}psum({}, {})", of_jax ? "jax.lax." : "", name, AxesArgument(mesh, axes));
}

std::string PcastCode(std::string_view name, const MeshDef* mesh, const AxisList& axes,
                      bool to_varying) {
  const std::string of = fmt::format("{}, {}", name, AxesArgument(mesh, axes));
  return of_jax
             ? fmt::format("jax.lax.pcast({}, to=\"{}\")", of, to_varying ? "varying" : "reduced")
             : fmt::format("pcast({}, Variance::{})", of, to_varying ? "kVarying" : "kReduced");
}

}  // namespace tessera::sharding
