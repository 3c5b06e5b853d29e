// Recognises, case by case, the families of programs that only the library accepts.
#include "families.h"

#include <algorithm>
#include <fstream>
#include <stdexcept>

namespace tessera::conformance {
namespace {

bool Mentions(const std::string& text, const std::string& name) {
  return std::regex_search(text, std::regex("\\b" + name + "\\b"));
}

std::string AttributesOf(const std::vector<Instruction>& body) {
  std::string text;
  for (const Instruction& instruction : body) {
    text += instruction.attrs.dump();
    for (const Function& f : instruction.functions) text += AttributesOf(f.body);
  }
  return text;
}

// An axis of size 1 is in the case's types or attributes. Our types leave it out.
bool SizeOneAxis(const Situation& s) {
  std::string text = s.c.args.dump() + AttributesOf(s.c.body);
  return std::any_of(s.c.mesh.begin(), s.c.mesh.end(), [&](const MeshAxis& axis) {
    return axis.size == 1 && Mentions(text, axis.name);
  });
}

// Numbers stand in the instruction.
bool ScalarOperand(const Situation& s) {
  return std::any_of(s.instruction.in.begin(), s.instruction.in.end(),
                     [](const Json& in) { return in.is_number(); }) ||
         std::any_of(s.operands.begin(), s.operands.end(),
                     [](const ArrayType& type) { return type.shape().empty(); });
}

std::vector<std::string> Axes(const ArrayType& type, int64_t dim) {
  std::vector<std::string> names;
  PartitionSpec spec = type.spec();
  if (dim >= spec.rank()) return names;
  for (const AxisRef& axis : spec.dims()[static_cast<size_t>(dim)].axes())
    names.push_back(axis.name);
  return names;
}

using DimPairs = std::vector<std::pair<int64_t, int64_t>>;

// The letters that both operands of an einsum have, and the result too.
DimPairs EinsumBatch(const std::string& text) {
  size_t comma = text.find(','), arrow = text.find("->");
  if (comma == std::string::npos || text.find(',', comma + 1) != std::string::npos) return {};
  std::string lhs = text.substr(0, comma), rhs = text.substr(comma + 1, arrow - comma - 1);
  std::string out = arrow == std::string::npos ? "" : text.substr(arrow + 2);
  DimPairs pairs;
  for (size_t d = 0; d < lhs.size(); ++d) {
    size_t e = rhs.find(lhs[d]);
    if (e != std::string::npos && out.find(lhs[d]) != std::string::npos)
      pairs.emplace_back(d, static_cast<int64_t>(e));
  }
  return pairs;
}

// The batch dims of a product of two operands, left and right.
DimPairs BatchDims(const Situation& s) {
  const Json& attrs = s.instruction.attrs;
  DimPairs pairs;
  if (s.operands.size() != 2) return pairs;
  if (attrs.contains("subscripts")) return EinsumBatch(attrs["subscripts"].get<std::string>());
  if (attrs.contains("dimension_numbers")) {
    const Json& batch = attrs["dimension_numbers"].at(1);
    for (size_t i = 0; i < batch.at(0).size(); ++i)
      pairs.emplace_back(batch[0][i].get<int64_t>(), batch[1].at(i).get<int64_t>());
    return pairs;
  }
  auto m = static_cast<int64_t>(s.operands[0].shape().size()),
       n = static_cast<int64_t>(s.operands[1].shape().size());
  for (int64_t d = 3; d <= std::min(m, n); ++d) pairs.emplace_back(m - d, n - d);
  return pairs;
}

// Some pair of a dot's batch dims is sharded on one side only, or on both differently.
bool OneSidedBatch(const Situation& s) {
  DimPairs pairs = BatchDims(s);
  return std::any_of(pairs.begin(), pairs.end(), [&](auto pair) {
    return Axes(s.operands[0], pair.first) != Axes(s.operands[1], pair.second);
  });
}

// A matmul with an out_sharding, one of whose operands has more batch dims.
bool BroadcastOutSharding(const Situation& s) {
  return s.instruction.attrs.contains("out_sharding") && s.operands.size() == 2 &&
         s.operands[0].shape().size() != s.operands[1].shape().size();
}

// Operands of one rank differ in placement, and where they do all but one placement is none.
bool JoinsUnsharded(const Situation& s) {
  bool differ = false;
  for (const ArrayType& a : s.operands) {
    for (const ArrayType& b : s.operands) {
      if (a.shape().empty() || a.shape().size() != b.shape().size()) continue;
      for (int64_t d = 0; d < static_cast<int64_t>(a.shape().size()); ++d) {
        auto x = Axes(a, d), y = Axes(b, d);
        if (x != y && !x.empty() && !y.empty()) return false;
        differ = differ || x != y;
      }
    }
  }
  return differ;
}

// The same of a concatenation along a dim that all operands shard alike: it moves data by itself.
bool JoinsBesideSharded(const Situation& s) {
  if (!JoinsUnsharded(s)) return false;
  auto dim = s.instruction.attrs.value("dimension", s.instruction.attrs.value("axis", 0));
  return std::all_of(s.operands.begin(), s.operands.end(),
                     [&](const ArrayType& t) { return !Axes(t, dim).empty(); });
}

bool OutShardings(const Situation& s) { return s.instruction.attrs.contains("out_shardings"); }

bool Differentiates(const std::vector<Instruction>& body) {
  for (const Instruction& i : body) {
    if (i.op == "grad" || i.op == "vjp" || i.op == "jvp") return true;
    for (const Function& f : i.functions)
      if (Differentiates(f.body)) return true;
  }
  return false;
}
bool HasDerivatives(const Situation& s) { return Differentiates(s.c.body); }

bool SpmdAxisName(const Situation& s) { return s.instruction.attrs.contains("spmd_axis_name"); }

bool OutSharding(const Situation& s) { return s.instruction.attrs.contains("out_sharding"); }

// An integer for every dim.
bool OneElement(const Situation& s) {
  if (s.operands.size() != 1 || !s.instruction.attrs.contains("index")) return false;
  const auto& index = s.instruction.attrs.at("index");
  return index.size() == s.operands[0].shape().size() &&
         std::all_of(index.begin(), index.end(), [](const auto& i) { return i.is_number(); });
}

bool ShardedIndices(const Situation& s) {
  for (size_t i = 1; i < s.operands.size(); ++i)
    for (int64_t d = 0; d < static_cast<int64_t>(s.operands[i].shape().size()); ++d)
      if (!Axes(s.operands[i], d).empty()) return true;
  return false;
}

// The reshape is that after a transpose, or between two. JAX's rule looks at the operand before the
// first.
bool Transposes(const Situation& s) {
  const Json& attrs = s.instruction.attrs;
  return attrs.contains("dimensions") || attrs.value("order", "C") == "F";
}

// The first operand is unreduced.
bool UnreducedFirst(const Situation& s) {
  return !s.operands.empty() && !s.operands[0].spec().unreduced_axes().empty();
}

// An einsum of one operand that is not summed.
bool OnlyTransposes(const Situation& s) {
  std::string text = s.instruction.attrs.value("subscripts", "");
  size_t arrow = text.find("->");
  if (text.find(',') != std::string::npos) return false;
  std::string in = text.substr(0, arrow);
  std::sort(in.begin(), in.end());
  if (arrow == std::string::npos) return std::adjacent_find(in.begin(), in.end()) == in.end();
  std::string out = text.substr(arrow + 2);
  std::sort(out.begin(), out.end());
  return in == out;
}

bool ComplexOperand(const Situation& s) {
  return std::any_of(s.operands.begin(), s.operands.end(),
                     [](const ArrayType& t) { return t.dtype().is_complex(); });
}

// A convolution whose result has its dims in another order than lhs. JAX's rule pairs them by
// position.
bool ReordersDims(const Situation& s) {
  const Json& attrs = s.instruction.attrs;
  return attrs.contains("dimension_numbers") && attrs["dimension_numbers"].size() == 3 &&
         attrs["dimension_numbers"][0] != attrs["dimension_numbers"][2];
}

bool ShardedOperand(const Situation& s) {
  return std::any_of(s.operands.begin(), s.operands.end(), [](const ArrayType& t) {
    for (int64_t d = 0; d < t.spec().rank(); ++d)
      if (!Axes(t, d).empty()) return true;
    return false;
  });
}

// A dim has so few elements that a transform to real numbers has none.
bool FewElements(const Situation& s) {
  return std::any_of(s.operands.begin(), s.operands.end(), [](const ArrayType& t) {
    return std::any_of(t.shape().begin(), t.shape().end(), [](int64_t n) { return n < 2; });
  });
}

bool (*Predicate(const std::string& name))(const Situation&) {
  if (name.empty()) return nullptr;
  if (name == "size_one_axis") return SizeOneAxis;
  if (name == "one_sided_batch") return OneSidedBatch;
  if (name == "scalar_operand") return ScalarOperand;
  if (name == "broadcast_out_sharding") return BroadcastOutSharding;
  if (name == "joins_unsharded") return JoinsUnsharded;
  if (name == "joins_beside_sharded") return JoinsBesideSharded;
  if (name == "out_shardings") return OutShardings;
  if (name == "out_sharding") return OutSharding;
  if (name == "one_element") return OneElement;
  if (name == "sharded_indices") return ShardedIndices;
  if (name == "transposes") return Transposes;
  if (name == "unreduced_first") return UnreducedFirst;
  if (name == "only_transposes") return OnlyTransposes;
  if (name == "reorders_dims") return ReordersDims;
  if (name == "derivatives") return HasDerivatives;
  if (name == "spmd_axis_name") return SpmdAxisName;
  if (name == "complex_operand") return ComplexOperand;
  if (name == "sharded_operand") return ShardedOperand;
  if (name == "few_elements") return FewElements;
  throw std::runtime_error("families: no predicate " + name);
}

}  // namespace

Families Families::Load(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error(path + ": cannot be read");
  Families families;
  for (const Json& json : Json::parse(file)) {
    const Json& match = json.at("match");
    Entry entry;
    entry.family = {json.at("family").get<std::string>(), json.value("may_communicate", false)};
    if (json.at("argued").get<std::string>().empty()) throw std::runtime_error("not argued");
    entry.ops = match.value("ops", std::vector<std::string>());
    if (match.contains("message")) entry.message = match["message"].get<std::string>();
    entry.predicate = Predicate(match.value("predicate", ""));
    std::string departure = match.value("departure", "accepted");
    entry.departure = departure == "refused"        ? Departure::kRefused
                      : departure == "another type" ? Departure::kAnotherType
                                                    : Departure::kAccepted;
    families.entries_.push_back(std::move(entry));
  }
  return families;
}

std::optional<Family> Families::Find(const Situation& situation, Departure departure) const {
  for (const Entry& entry : entries_) {
    if (entry.departure != departure) continue;
    const auto& ops = entry.ops;
    if (!ops.empty() && std::find(ops.begin(), ops.end(), situation.instruction.op) == ops.end()) {
      continue;
    }
    if (entry.message && !std::regex_search(situation.c.refusal(), *entry.message)) continue;
    if (entry.predicate && !entry.predicate(situation)) continue;
    return entry.family;
  }
  return std::nullopt;
}

}  // namespace tessera::conformance
