// Prints shardings in Shardy's form and in JAX's types, and reads Shardy's form.
#include "sharding/text.h"

#include <absl/algorithm/container.h>
#include <fmt/format.h>

#include "base/error.h"
#include "base/reader.h"
#include "sharding/tensor_sharding.h"

namespace tessera::sharding {
namespace {

std::string ListText(const MeshDef* mesh, const AxisList& axes) {
  std::string out;
  for (AxisPart a : axes) out += (out.empty() ? "" : ", ") + AxisText(*mesh, a);
  return out;
}

}  // namespace

std::string DimText(const MeshDef* mesh, const DimAxes& d) {
  std::string out = "{" + ListText(mesh, d.axes);
  if (d.open) out += d.axes.empty() ? "?" : ", ?";
  out += "}";
  if (d.priority >= 0) out += fmt::format("p{}", d.priority);
  return out;
}

namespace {

const char* KindPrefix(Reduction kind) {
  return kind == Reduction::kSum ? "" : ReductionName(kind);
}

AxisPart ReadAxis(base::Reader& in, const MeshDef* mesh) {
  std::string name = in.Quoted();
  int axis = mesh ? mesh->Find(name) : -1;
  if (axis < 0) in.Fail(fmt::format("unknown axis name: \"{}\"", name));
  const bool cut = in.Peek(":");
  const AxisPart a = ReadPart(in, *mesh, axis);
  if (cut && a.size == mesh->axis_size(axis))
    in.Fail("sub-axis size is equal to the full axis size");
  return a;
}

void Keep(const MeshDef* mesh, AxisPart a, AxisList& out) {
  if (mesh->axis_size(a.axis) > 1) out.push_back(a);
}

DimAxes ReadDim(base::Reader& in, const MeshDef* mesh) {
  DimAxes d;
  bool named = false;
  in.List("{", "}", [&] {
    if (d.open) in.Fail("'?' must come last");
    if (in.Accept("?")) {
      d.open = true;
    } else {
      Keep(mesh, ReadAxis(in, mesh), d.axes);
      named = true;
    }
  });
  size_t before = in.position();
  std::string word = in.AcceptWord();
  if (word.empty()) return d;
  bool digits = word[0] == 'p' && word.size() > 1 && word.size() < 9 &&
                word.find_first_not_of("0123456789", 1) == std::string::npos;
  if (!digits) {
    in.set_position(before);
    in.Fail(fmt::format("expected a priority p<number> but found '{}'", word));
  }
  if (word.size() > 2 && word[1] == '0') in.Fail("priorities with leading zeros are not allowed");
  // A dim over axes of size 1 only is unsharded and closed, so it cannot have a priority.
  if (!named || d.open || !d.axes.empty()) d.priority = std::stoi(word.substr(1));
  return d;
}

}  // namespace

const char* ReductionName(Reduction reduction) {
  switch (reduction) {
    case Reduction::kSum:
      return "sum";
    case Reduction::kMax:
      return "max";
    case Reduction::kMin:
      return "min";
    case Reduction::kProd:
      return "prod";
    case Reduction::kAnd:
      return "and";
    case Reduction::kOr:
      return "or";
    case Reduction::kXor:
      return "xor";
  }
  return nullptr;
}

std::string Text(const TensorSharding& s) {
  std::string out = "<@mesh, [";
  for (size_t d = 0; d < s.dims.size(); ++d) out += (d ? ", " : "") + DimText(s.mesh, s.dims[d]);
  out += "]";
  if (!s.replicated.empty()) out += ", replicated={" + ListText(s.mesh, s.replicated) + "}";
  if (!s.unreduced.empty())
    out += fmt::format(", unreduced={}{{{}}}", KindPrefix(s.kind), ListText(s.mesh, s.unreduced));
  if (!s.reduced.empty()) out += ", reduced={" + ListText(s.mesh, s.reduced) + "}";
  if (!s.varying.empty()) out += ", varying={" + ListText(s.mesh, s.varying) + "}";
  return out + ">";
}

TensorSharding ParseSharding(std::string_view text, const MeshDef* mesh, Loc loc) {
  base::Reader in(text, "sharding", loc);
  TensorSharding s;
  s.mesh = mesh;
  in.Expect("<");
  in.Expect("@");
  in.Word();
  in.Expect(",");
  in.List("[", "]", [&] { s.dims.push_back(ReadDim(in, mesh)); });
  while (in.Accept(",")) {
    std::string set = in.Word();
    in.Accept("=");
    AxisList* axes = set == "replicated"  ? &s.replicated
                     : set == "unreduced" ? &s.unreduced
                     : set == "reduced"   ? &s.reduced
                     : set == "varying"   ? &s.varying
                                          : nullptr;
    if (!axes)
      in.Fail(fmt::format("expected replicated, unreduced, reduced or varying, not '{}'", set));
    if (set == "unreduced") {
      if (in.Accept("max"))
        s.kind = Reduction::kMax;
      else if (in.Accept("min"))
        s.kind = Reduction::kMin;
      else
        in.Accept("sum");
    }
    in.List("{", "}", [&] { Keep(mesh, ReadAxis(in, mesh), *axes); });
    absl::c_sort(*axes, MeshOrder);
  }
  in.Expect(">");
  in.ExpectEnd();
  if (auto problem = Verify(s)) in.Fail(problem->reason);
  return s;
}

std::string TypeSuffix(const std::vector<int64_t>& shape, const TensorSharding& s) {
  std::string out = "[";
  for (size_t d = 0; d < shape.size(); ++d) {
    if (d) out += ",";
    out += std::to_string(shape[d]);
    if (!s.dims[d].axes.empty()) out += "@" + PlainAxesText(*s.mesh, s.dims[d].axes);
  }
  out += "]";
  if (s.no_sets()) return out;
  const std::string kind = KindPrefix(s.kind);
  std::string sets;
  auto add = [&](const std::string& tag, const AxisList& axes) {
    if (!axes.empty())
      sets += (sets.empty() ? "" : ", ") + tag + ":" + PlainAxesText(*s.mesh, axes);
  };
  add("V", s.varying);
  add("U" + (kind.empty() ? "" : "_" + kind), s.unreduced);
  add("R", s.reduced);
  return out + "{" + sets + "}";
}

}  // namespace tessera::sharding
