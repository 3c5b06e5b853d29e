// Makes the params of our ops from recorded attributes, and infers shapes of results.
#include "propagation_ops.h"

#include <algorithm>
#include <map>

#include "base/dtype.h"
#include "call.h"
#include "compile/auto/program_graph.h"
#include "ir/infer.h"
#include "ops/ops.h"
#include "ops/params.h"

namespace tessera::conformance {

using propagation::Direction;

Tensor ParseTensor(const std::string& type) {
  size_t bracket = type.find('[');
  std::string dtype = type.substr(0, bracket);
  Tensor tensor{{}, ParseDType(dtype)};
  for (size_t at = bracket + 1; type.at(at) != ']';) {
    size_t digits = 0;
    tensor.shape.push_back(std::stoll(type.substr(at), &digits));
    at += digits;
    if (type.at(at) == ',') ++at;
  }
  return tensor;
}

namespace {

// JAX's name, where ours is another.
std::string OurName(const std::string& op) {
  if (op == "max") return "maximum";
  if (op == "min") return "minimum";
  if (op == "reduce_window") return "reduce_window_sum";  // the rule is the same for all kinds
  return op;
}

using MakeParams = ir::ParamsPtr (*)(const OpCall&);

ir::ParamsPtr Dims(const OpCall& c, const char* key) {
  return ir::MakeParams(ops::DimsParams{{c.List(key)}});
}

ir::ParamsPtr Pairs(const OpCall& c) {
  auto list = [&](int pair, int side) {
    return c.attrs.at("dimension_numbers").at(pair).at(side).get<std::vector<int64_t>>();
  };
  return ir::MakeParams(
      ops::DotParams{.contract = {list(0, 0), list(0, 1)}, .batch = {list(1, 0), list(1, 1)}});
}

ir::ParamsPtr Padding(const OpCall& c) {
  ops::PadParams p;
  for (const Json& dim : c.attrs.at("padding_config")) {
    p.low.push_back(dim.at(0));
    p.high.push_back(dim.at(1));
    p.interior.push_back(dim.at(2));
  }
  return ir::MakeParams(p);
}

// Returns one entry per dim of the list; `count` ones if there is none.
std::vector<int64_t> OnesOr(const OpCall& c, const char* key, size_t count) {
  if (!c.attrs.contains(key) || c.attrs[key].is_null()) return std::vector<int64_t>(count, 1);
  return c.List(key);
}

ir::ParamsPtr Windows(const OpCall& c) {
  const size_t rank = c.shape(0).size();
  ops::WindowParams p{.sizes = OnesOr(c, "window_dimensions", rank),
                      .strides = OnesOr(c, "window_strides", rank),
                      .low = {},
                      .high = {},
                      .base_dilation = OnesOr(c, "base_dilation", rank),
                      .window_dilation = OnesOr(c, "window_dilation", rank)};
  for (const Json& edges : c.attrs.at("padding")) {
    p.low.push_back(edges.at(0));
    p.high.push_back(edges.at(1));
  }
  return ir::MakeParams(p);
}

ir::ParamsPtr Convolving(const OpCall& c) {
  const Json& numbers = c.attrs.at("dimension_numbers");
  const auto list = [&](const char* key) { return numbers.at(key).get<std::vector<int64_t>>(); };
  const size_t spatial = c.shape(0).size() - 2;
  const int64_t features = c.attrs.value("feature_group_count", int64_t{1}),
                batch = c.attrs.value("batch_group_count", int64_t{1});
  ops::ConvolutionParams p{.lhs = list("lhs_spec"),
                           .rhs = list("rhs_spec"),
                           .out = list("out_spec"),
                           .strides = OnesOr(c, "window_strides", spatial),
                           .low = {},
                           .high = {},
                           .lhs_dilation = OnesOr(c, "lhs_dilation", spatial),
                           .rhs_dilation = OnesOr(c, "rhs_dilation", spatial),
                           .groups = std::max(features, batch),
                           .lhs_groups = batch > 1 ? 0 : 1};
  for (const Json& edges : c.attrs.at("padding")) {
    p.low.push_back(edges.at(0));
    p.high.push_back(edges.at(1));
  }
  return ir::MakeParams(p);
}

ir::ParamsPtr Slicing(const OpCall& c) {
  ops::SliceParams p{c.List("start_indices"), c.List("limit_indices"), {}};
  bool steps = c.attrs.contains("strides") && !c.attrs["strides"].is_null();
  p.strides = steps ? c.List("strides") : std::vector<int64_t>(p.starts.size(), 1);
  return ir::MakeParams(p);
}

template <class Params>
Params Lookup(const OpCall& c, const char* windows, const char* dropped, const char* starts,
              const char* indices_batch) {
  const Json& numbers = c.attrs.at("dimension_numbers");
  auto list = [&](const char* key) { return numbers.value(key, std::vector<int64_t>()); };
  Params p;
  p.windows = list(windows);
  p.dropped = list(dropped);
  p.starts = list(starts);
  p.batch = {list("operand_batching_dims"), list(indices_batch)};
  return p;
}

ir::ParamsPtr Gathering(const OpCall& c) {
  auto p = Lookup<ops::GatherParams>(c, "offset_dims", "collapsed_slice_dims", "start_index_map",
                                     "start_indices_batching_dims");
  p.fill.dtype = c.operands[0].dtype;
  return ir::MakeParams(p);
}

ir::ParamsPtr Scattering(const OpCall& c) {
  return ir::MakeParams(Lookup<ops::ScatterParams>(c, "update_window_dims", "inserted_window_dims",
                                                   "scatter_dims_to_operand_dims",
                                                   "scatter_indices_batching_dims"));
}

// The slices' dims among those of the indices but the last.
base::Shape GatherShape(const OpCall& c) {
  const Json& numbers = c.attrs.at("dimension_numbers");
  auto has = [&](const char* key, size_t d) {
    auto list = numbers.value(key, std::vector<int64_t>());
    return std::count(list.begin(), list.end(), static_cast<int64_t>(d)) != 0;
  };
  std::vector<int64_t> sizes = c.List("slice_sizes"), windows;
  for (size_t d = 0; d < sizes.size(); ++d)
    if (!has("collapsed_slice_dims", d) && !has("operand_batching_dims", d))
      windows.push_back(sizes[d]);
  size_t rank = windows.size() + c.shape(1).size() - 1, window = 0, query = 0;
  base::Shape shape;
  for (size_t d = 0; d < rank; ++d)
    shape.push_back(has("offset_dims", d) ? windows.at(window++) : c.shape(1).at(query++));
  return shape;
}

const std::map<std::string, MakeParams>& ParamsOfOps() {
  static const std::map<std::string, MakeParams> table = [] {
    std::map<std::string, MakeParams> t = {
        {"dot_general", Pairs},
        {"gather", Gathering},
        {"conv_general_dilated", Convolving},
        {"reduce_window", Windows},
        {"pad", Padding},
        {"slice", Slicing},
        {"rev", [](const OpCall& c) { return Dims(c, "dimensions"); }},
        {"transpose",
         [](const OpCall& c) {
           return ir::MakeParams(ops::TransposeParams{{c.List("permutation")}});
         }},
        {"broadcast_in_dim",
         [](const OpCall& c) {
           return ir::MakeParams(ops::BroadcastParams{{c.List("broadcast_dimensions")}});
         }},
        {"concatenate",
         [](const OpCall& c) {
           return ir::MakeParams(ops::DimParams{{c.attrs.at("dimension").get<int64_t>()}});
         }},
        {"reduce_precision",
         [](const OpCall& c) {
           return ir::MakeParams(ops::PrecisionParams{c.attrs.at("exponent_bits").get<int64_t>(),
                                                      c.attrs.at("mantissa_bits").get<int64_t>()});
         }},
        {"iota",
         [](const OpCall& c) {
           return ir::MakeParams(ops::IotaParams{{c.attrs.at("dimension").get<int64_t>()}});
         }},
        {"sort",
         [](const OpCall& c) {
           int64_t rank = static_cast<int64_t>(c.shape(0).size());
           int64_t dim = c.attrs.value("dimension", int64_t{-1});
           return ir::MakeParams(ops::SortParams{.dim = {dim < 0 ? dim + rank : dim},
                                                 .num_keys = c.attrs.value("num_keys", 1)});
         }},
    };
    for (const char* kind : {"sum", "prod", "max", "min", "and", "or"})
      t[std::string("reduce_") + kind] = [](const OpCall& c) { return Dims(c, "axes"); };
    for (const char* name : {"scatter", "scatter_add", "scatter_mul", "scatter_max", "scatter_min"})
      t[name] = Scattering;
    return t;
  }();
  return table;
}

// The shape and dtype that the attributes state, where the op does not infer them.
std::optional<ir::ShapeAndDType> Stated(const OpCall& c) {
  DType dtype = c.operands.empty() ? DType() : c.operands[0].dtype;
  for (const char* key : {"dtype", "new_dtype"})
    if (c.attrs.contains(key)) dtype = ParseDType(c.attrs[key].get<std::string>());
  if (c.op == "gather") return ir::ShapeAndDType{GatherShape(c), dtype};
  for (const char* key : {"shape", "new_sizes", "slice_sizes"})
    if (c.attrs.contains(key)) return ir::ShapeAndDType{c.List(key), dtype};
  if (c.attrs.contains("new_dtype")) return ir::ShapeAndDType{c.shape(0), dtype};
  return std::nullopt;
}

}  // namespace

bool IsNative(const std::string& op) {
  ops::Install();
  // JAX's fft is one op over up to three dims; ours runs along one.
  return op != "fft" && ir::FindOp(OurName(op)) != nullptr;
}

OpFacts NativeFacts(const OpCall& c) {
  const ir::OpDef& op = *ir::FindOp(OurName(c.op));
  auto make = ParamsOfOps().find(c.op);
  ir::ParamsPtr params = make == ParamsOfOps().end() ? nullptr : make->second(c);
  std::vector<const ir::Type*> operands, results;
  for (const Tensor& t : c.operands) operands.push_back(ir::Type::Get(t.shape, t.dtype));
  std::optional<ir::ShapeAndDType> stated = Stated(c);
  ir::InferCall call{.op = op,
                     .operands = operands,
                     .params = params.get(),
                     .wanted = stated ? &*stated : nullptr};
  OpFacts facts;
  for (const ir::Type* t : ir::InferTypes(call)) {
    results.push_back(t);
    facts.results.push_back({t->shape(), t->dtype()});
  }
  sharding::Shapes shapes;
  for (const ir::Type* t : operands) shapes.push_back(&t->shape());
  facts.map =
      sharding::WithWindowsInside(ir::DimMapOf(op, params.get(), operands, results), shapes);
  compile::OpTraits traits = compile::TraitsOf(op, operands, results);
  facts.constant = traits.constant;
  facts.elementwise = traits.elementwise;
  facts.foldable = traits.foldable;
  facts.expands = traits.expands;
  facts.first = traits.first;
  if (std::holds_alternative<ir::AsReduction>(*op.lowering) || c.op == "reduce_window")
    facts.unnamed_operands = 1;
  return facts;
}

OpFacts FactsOf(const OpCall& call) {
  OpFacts facts = IsNative(call.op) ? NativeFacts(call) : ForeignFacts(call);
  for (size_t i = 0; i < facts.unnamed_operands && IsNative(call.op); ++i)
    facts.map.operands.emplace_back();
  return facts;
}

}  // namespace tessera::conformance
