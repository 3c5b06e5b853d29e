// Contractions, and one_hot.
#include "ops.h"
#include "tessera/ragged.h"

namespace tessera::conformance {
namespace {

DotOptions DotOptionsOf(const Call& c) {
  return {.dtype = c.dtype("preferred_element_type"), .out_sharding = c.spec()};
}

std::vector<int64_t> List(const Json& json) { return json.get<std::vector<int64_t>>(); }

// [[lhs contracted, rhs contracted], [lhs batch, rhs batch]]
DotDims ParseDims(const Json& numbers) {
  return {.lhs_contract = List(numbers.at(0).at(0)),
          .rhs_contract = List(numbers.at(0).at(1)),
          .lhs_batch = List(numbers.at(1).at(0)),
          .rhs_batch = List(numbers.at(1).at(1))};
}

Array BatchMatmul(const Call& c) {
  DotDims dims;
  int rank = c.rank(0);
  for (int d = 0; d < rank - 2; ++d) {
    dims.lhs_batch.push_back(d);
    dims.rhs_batch.push_back(d);
  }
  dims.lhs_contract = {rank - 1};
  dims.rhs_contract = {rank - 2};
  return dot_general(c.in(0), c.in(1), dims, DotOptionsOf(c), c.loc());
}

Array Tensordot(const Call& c) {
  if (!c.has("axes")) return tensordot(c.in(0), c.in(1), 2, DotOptionsOf(c), c.loc());
  const Json& axes = c.attr("axes");
  if (axes.is_number())
    return tensordot(c.in(0), c.in(1), axes.get<int>(), DotOptionsOf(c), c.loc());
  auto side = [&](size_t i) {
    return axes.at(i).is_number() ? std::vector<int64_t>{axes.at(i).get<int64_t>()}
                                  : List(axes.at(i));
  };
  DotDims dims{.lhs_contract = side(0), .rhs_contract = side(1)};
  return tensordot(c.in(0), c.in(1), dims, DotOptionsOf(c), c.loc());
}

Array RaggedDotGeneral(const Call& c) {
  const Json& numbers = c.attr("ragged_dot_dimension_numbers");
  RaggedDotDims dims{.dot = ParseDims(numbers.at("dot_dimension_numbers")),
                     .lhs_ragged = List(numbers.at("lhs_ragged_dimensions")).at(0)};
  const auto groups = List(numbers.at("rhs_group_dimensions"));
  if (!groups.empty()) dims.rhs_group = groups[0];
  return ragged_dot_general(c.in(0), c.in(1), c.in(2), dims, DotOptionsOf(c), c.loc());
}

}  // namespace

void AddContractions(OpTable& table) {
  table["ragged_dot"] = [](const Call& c) {
    return std::vector{ragged_dot(c.in(0), c.in(1), c.in(2), DotOptionsOf(c), c.loc())};
  };
  table["ragged_dot_general"] = [](const Call& c) { return std::vector{RaggedDotGeneral(c)}; };
  table["dot_general"] = [](const Call& c) {
    return std::vector{dot_general(c.in(0), c.in(1), ParseDims(c.attr("dimension_numbers")),
                                   DotOptionsOf(c), c.loc())};
  };
  table["batch_matmul"] = [](const Call& c) { return std::vector{BatchMatmul(c)}; };
  table["dot"] = [](const Call& c) {
    return std::vector{dot(c.in(0), c.in(1), DotOptionsOf(c), c.loc())};
  };
  table["np.dot"] = table["dot"];
  table["np.matmul"] = [](const Call& c) {
    return std::vector{matmul(c.in(0), c.in(1), DotOptionsOf(c), c.loc())};
  };
  table["np.tensordot"] = [](const Call& c) { return std::vector{Tensordot(c)}; };
  table["np.einsum"] = [](const Call& c) {
    return std::vector{
        einsum(c.attr("subscripts").get<std::string>(), c.arrays(), DotOptionsOf(c), c.loc())};
  };
  table["nn.one_hot"] = [](const Call& c) {
    OneHotOptions options{.dtype = c.dtype(), .dim = c.dim("axis", -1), .out_sharding = c.spec()};
    return std::vector{one_hot(c.in(0), c.integer("num_classes"), options, c.loc())};
  };
}

}  // namespace tessera::conformance
