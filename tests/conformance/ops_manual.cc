// Collectives inside of shard_map.
#include "ops.h"
#include "tessera/ragged.h"
#include "tessera/shard_map.h"

namespace tessera::conformance {
namespace {

AxisSet AxesOf(const Call& c) {
  const Json& json = c.attr("axis_name");
  if (json.is_string()) return json.get<std::string>();
  return AxisSet(json.get<std::vector<std::string>>());
}

Variance StateOf(const Call& c, const char* otherwise) {
  const std::string to = c.text("to", otherwise);
  for (auto [name, state] : {std::pair("varying", Variance::kVarying),
                             {"invarying", Variance::kInvarying},
                             {"unreduced", Variance::kUnreduced},
                             {"reduced", Variance::kReduced}})
    if (to == name) return state;
  throw Unsupported("the state " + to);
}

std::vector<std::pair<int, int>> PairsOf(const Call& c) {
  std::vector<std::pair<int, int>> pairs;
  for (const Json& pair : c.attr("perm"))
    pairs.emplace_back(pair.at(0).get<int>(), pair.at(1).get<int>());
  return pairs;
}

}  // namespace

void AddCollectives(OpTable& table) {
  auto reduction = [](Array (*f)(Operand, AxisSet, Loc)) {
    return [f](const Call& c) { return std::vector{f(c.in(0), AxesOf(c), c.loc())}; };
  };
  table["psum"] = reduction(psum);
  table["pmean"] = reduction(pmean);
  table["pmax"] = reduction(pmax);
  table["pmin"] = reduction(pmin);
  table["all_gather"] = [](const Call& c) {
    const AllGatherOptions options{
        .dim = c.dim("axis", 0), .tiled = c.flag("tiled"), .to = StateOf(c, "varying")};
    return std::vector{all_gather(c.in(0), AxesOf(c), options, c.loc())};
  };
  table["psum_scatter"] = [](const Call& c) {
    const PsumScatterOptions options{.dim = c.dim("scatter_dimension", 0),
                                     .tiled = c.flag("tiled")};
    return std::vector{psum_scatter(c.in(0), AxesOf(c), options, c.loc())};
  };
  table["all_to_all"] = [](const Call& c) {
    const int split = c.dim("split_axis", 0), concat = c.dim("concat_axis", 0);
    return std::vector{
        all_to_all(c.in(0), AxesOf(c), split, concat, {.tiled = c.flag("tiled")}, c.loc())};
  };
  table["ragged_all_to_all"] = [](const Call& c) {
    return std::vector{ragged_all_to_all(c.in(0), c.in(1), c.in(2), c.in(3), c.in(4), c.in(5),
                                         AxesOf(c), c.loc())};
  };
  table["ppermute"] = [](const Call& c) {
    return std::vector{ppermute(c.in(0), AxesOf(c), PairsOf(c), c.loc())};
  };
  table["pbroadcast"] = [](const Call& c) {
    return std::vector{
        pbroadcast(c.in(0), AxesOf(c), static_cast<int>(c.integer("source")), c.loc())};
  };
  table["axis_index"] = [](const Call& c) { return std::vector{axis_index(AxesOf(c), c.loc())}; };
  table["axis_size"] = [](const Call& c) {
    return std::vector{Array(static_cast<int>(axis_size(AxesOf(c), c.loc())))};
  };
  table["pcast"] = [](const Call& c) {
    const Variance to = StateOf(c, "");
    return std::vector{pcast(c.in(0), AxesOf(c), to, c.loc())};
  };
}

}  // namespace tessera::conformance
