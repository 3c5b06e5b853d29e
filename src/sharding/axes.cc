// Relations between sub-axes, and lists of them: overlap, prefix, difference, merging.
#include "sharding/axes.h"

#include <absl/algorithm/container.h>
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace tessera::sharding {

bool Contains(AxisPart a, AxisPart b) {
  return a.axis == b.axis && a.pre <= b.pre && a.next() >= b.next();
}

bool Overlaps(AxisPart a, AxisPart b) {
  return a.axis == b.axis && a.pre < b.next() && b.pre < a.next();
}

bool CanCoexist(AxisPart a, AxisPart b) {
  if (a.axis != b.axis) return true;
  auto [min_pre, max_pre] = std::minmax({a.pre, b.pre});
  auto [min_next, max_next] = std::minmax({a.next(), b.next()});
  if (min_next > max_pre)
    return min_next % max_pre == 0 && max_pre % min_pre == 0 && max_next % min_next == 0;
  return max_pre % min_next == 0;
}

std::optional<AxisPart> PrefixWithoutOverlap(AxisPart a, AxisPart b) {
  if (!CanCoexist(a, b)) return std::nullopt;
  if (!Overlaps(a, b)) return a;
  if (a.pre >= b.pre) return std::nullopt;
  return AxisPart{a.axis, a.pre, b.pre / a.pre};
}

std::optional<AxisPart> SuffixWithoutOverlap(AxisPart a, AxisPart b) {
  if (!CanCoexist(a, b)) return std::nullopt;
  if (!Overlaps(a, b)) return a;
  if (a.next() <= b.next()) return std::nullopt;
  return AxisPart{a.axis, b.next(), a.next() / b.next()};
}

bool CanMerge(AxisPart a, AxisPart b) { return a.axis == b.axis && a.next() == b.pre; }

bool Collide(AxisPart a, AxisPart b) { return Overlaps(a, b) || !CanCoexist(a, b); }

bool MeshOrder(AxisPart a, AxisPart b) {
  if (a.axis != b.axis) return a.axis < b.axis;
  return a.pre != b.pre ? a.pre < b.pre : a.size < b.size;
}

int64_t SizeOf(const AxisList& axes) {
  int64_t size = 1;
  for (AxisPart a : axes) size *= a.size;
  return size;
}

bool ContainsAxis(const AxisList& axes, AxisPart a) {
  return absl::c_any_of(axes, [a](AxisPart b) { return Contains(b, a); });
}

bool OverlapsAny(const AxisList& axes, AxisPart a) {
  return absl::c_any_of(axes, [a](AxisPart b) { return Overlaps(a, b); });
}

bool CollidesWithAny(const AxisList& axes, AxisPart a) {
  return absl::c_any_of(axes, [a](AxisPart b) { return Collide(a, b); });
}

void AppendMerged(AxisList& axes, AxisPart a) {
  if (!axes.empty() && CanMerge(axes.back(), a))
    axes.back().size *= a.size;
  else
    axes.push_back(a);
}

void SortAndMerge(AxisList& axes) {
  absl::c_sort(axes, MeshOrder);
  AxisList merged;
  for (AxisPart a : axes) AppendMerged(merged, a);
  axes = std::move(merged);
}

void AddTo(AxisList& set, const AxisList& axes) {
  for (AxisPart a : Difference(axes, set)) set.push_back(a);
  SortAndMerge(set);
}

AxisList Difference(const AxisList& a, const AxisList& b) {
  AxisList left = a;
  for (AxisPart cut : b) {
    AxisList rest;
    for (AxisPart x : left) {
      if (!Overlaps(x, cut)) {
        rest.push_back(x);
        continue;
      }
      if (auto prefix = PrefixWithoutOverlap(x, cut)) rest.push_back(*prefix);
      if (auto suffix = SuffixWithoutOverlap(x, cut)) rest.push_back(*suffix);
    }
    left = std::move(rest);
  }
  return left;
}

bool IsPrefix(const AxisList& prefix, const AxisList& list) {
  if (prefix.size() > list.size()) return false;
  for (size_t i = 0; i < prefix.size(); ++i) {
    if (prefix[i] == list[i]) continue;
    return i + 1 == prefix.size() && prefix[i].pre == list[i].pre && Contains(list[i], prefix[i]);
  }
  return true;
}

AxisList PrefixThatDivides(const AxisList& axes, int64_t size) {
  AxisList fits;
  for (AxisPart a : axes) {
    const int64_t common = std::gcd(a.size, size);
    if (common > 1) AppendMerged(fits, {a.axis, a.pre, common});
    if (common != a.size) break;
    size /= common;
  }
  return fits;
}

namespace {
std::string Text(const MeshDef& mesh, AxisPart a, const char* quote) {
  const std::string name = quote + mesh.axes()[a.axis].name + quote;
  return IsWhole(mesh, a) ? name : fmt::format("{}:({}){}", name, a.pre, a.size);
}
}  // namespace

std::string PlainAxisText(const MeshDef& mesh, AxisPart a) { return Text(mesh, a, ""); }
std::string PlainAxesText(const MeshDef& mesh, const AxisList& axes) {
  std::string out;
  for (AxisPart a : axes) out += (out.empty() ? "" : ",") + PlainAxisText(mesh, a);
  return axes.size() > 1 ? "(" + out + ")" : out;
}
std::string AxisText(const MeshDef& mesh, AxisPart a) { return Text(mesh, a, "\""); }

AxisPart ReadPart(base::Reader& in, const MeshDef& mesh, int axis) {
  AxisPart a = WholeAxis(mesh, axis);
  if (!in.Accept(":")) return a;
  in.Expect("(");
  a.pre = in.Integer();
  in.Expect(")");
  a.size = in.Integer();
  // Checks both numbers before their product is formed.
  const int64_t n = mesh.axis_size(axis);
  if (a.pre < 1 || a.size < 1 || a.pre > n || a.size > n)
    in.Fail(fmt::format("sub-axis sizes of \"{}\" must be between 1 and {}", mesh.axes()[axis].name,
                        n));
  return a;
}

}  // namespace tessera::sharding
