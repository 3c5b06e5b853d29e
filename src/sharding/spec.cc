// The public value types of tessera/sharding.h.
#include <fmt/format.h>

#include <algorithm>
#include <ostream>

#include "base/error.h"
#include "sharding/tensor_sharding.h"
#include "sharding/text.h"

namespace tessera {

AxisRef SubAxis(std::string_view name, int64_t pre, int64_t size) {
  return {std::string(name), pre, size};
}

DimSharding DimSharding::priority(int p) const {
  DimSharding d = *this;
  d.priority_ = p;
  return d;
}
DimSharding Open(DimSharding dim) {
  dim.open_ = true;
  return dim;
}
DimSharding Closed(DimSharding dim) {
  dim.open_ = false;
  return dim;
}

PartitionSpec PartitionSpec::unreduced(AxisSet axes, Reduction kind) const {
  PartitionSpec s = *this;
  s.unreduced_ = axes.axes();
  s.kind_ = kind;
  return s;
}
PartitionSpec PartitionSpec::reduced(AxisSet axes) const {
  PartitionSpec s = *this;
  s.reduced_ = axes.axes();
  return s;
}
PartitionSpec PartitionSpec::replicated(AxisSet axes) const {
  PartitionSpec s = *this;
  s.replicated_ = axes.axes();
  return s;
}
PartitionSpec PartitionSpec::priority(int p) const {
  PartitionSpec s = *this;
  for (DimSharding& d : s.dims_) d = d.priority(p);
  return s;
}

namespace {

std::string AxisCode(const AxisRef& a) {
  return a.size ? fmt::format("SubAxis(\"{}\", {}, {})", a.name, a.pre, a.size)
                : fmt::format("\"{}\"", a.name);
}

std::string AxesCode(const std::vector<AxisRef>& axes) {
  std::string out;
  for (const AxisRef& a : axes) out += (out.empty() ? "" : ", ") + AxisCode(a);
  return axes.size() > 1 ? "{" + out + "}" : out;
}

std::string DimCode(const DimSharding& d) {
  std::string axes = AxesCode(d.axes());
  std::string out = d.axes().empty() ? "None" : axes;
  if (d.open())
    out = "Open(" + axes + ")";
  else if (d.priority() >= 0)
    out = "Closed(" + out + ")";
  if (d.priority() >= 0) out += fmt::format(".priority({})", d.priority());
  return out;
}

}  // namespace

std::string PartitionSpec::text() const {
  std::string out = "P(";
  for (size_t d = 0; d < dims_.size(); ++d) out += (d ? ", " : "") + DimCode(dims_[d]);
  out += ")";
  if (!unreduced_.empty()) {
    const char* kind = kind_ == Reduction::kMax   ? ", Reduction::kMax"
                       : kind_ == Reduction::kMin ? ", Reduction::kMin"
                                                  : "";
    out += fmt::format(".unreduced({}{})", AxesCode(unreduced_), kind);
  }
  if (!reduced_.empty()) out += fmt::format(".reduced({})", AxesCode(reduced_));
  if (!replicated_.empty()) out += fmt::format(".replicated({})", AxesCode(replicated_));
  return out;
}

Sharding::Sharding(Mesh mesh, PartitionSpec spec, Loc loc) : mesh_(mesh), spec_(std::move(spec)) {
  sharding::Resolved r = sharding::Resolve(spec_, mesh.def(), spec_.rank());
  if (!r.problem) return;
  base::ThrowSharding(base::Refusal("Sharding", r.problem->check, base::Where(loc),
                                    r.problem->reason, {"spec: " + spec_.text()}));
}

Sharding Sharding::Parse(std::string_view text, Mesh mesh, Loc loc) {
  return Sharding(mesh, sharding::ToSpec(sharding::ParseSharding(text, mesh.def(), loc)), loc);
}

std::string Sharding::text() const {
  return sharding::Text(sharding::Resolve(spec_, mesh_.def(), spec_.rank()).sharding);
}

std::ostream& operator<<(std::ostream& os, const PartitionSpec& spec) { return os << spec.text(); }
std::ostream& operator<<(std::ostream& os, const Sharding& s) { return os << s.text(); }

}  // namespace tessera
