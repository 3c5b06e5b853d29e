// The ops of the tables that Tessera's frontend lacks.
#include <map>

#include "base/dtype.h"
#include "call.h"
#include "propagation_ops.h"
#include "unit/ops/foreign_rules.h"

namespace tessera::conformance {
namespace {

using base::Shape;
using sharding::DimMap;

OpFacts Facts(std::vector<Tensor> results, DimMap map) {
  OpFacts facts;
  facts.results = std::move(results);
  facts.map = std::move(map);
  return facts;
}

std::vector<int64_t> Numbers(const OpCall& c, const char* key) {
  const Json& numbers = c.attrs.at("dimension_numbers");
  if (!numbers.contains(key)) return {};
  return numbers[key].get<std::vector<int64_t>>();
}

int64_t AttrAt(const OpCall& c, const char* key, size_t d, int64_t otherwise) {
  if (!c.attrs.contains(key) || c.attrs[key].is_null()) return otherwise;
  return c.attrs[key].at(d).get<int64_t>();
}

// The number of places of a window in a dim.
int64_t Places(int64_t size, int64_t dilation, const ops::Window& w, int64_t window_dilation) {
  int64_t spread = size == 0 ? 0 : (size - 1) * dilation + 1;
  int64_t reach = (w.size - 1) * window_dilation + 1;
  int64_t room = spread + w.low + w.high - reach;
  return room < 0 ? 0 : room / w.stride + 1;
}

ops::ConvolutionNumbers::Dims ConvolutionDimsOf(const std::vector<int64_t>& spec) {
  return {spec.at(0), spec.at(1), {spec.begin() + 2, spec.end()}};
}

OpFacts Convolution(const OpCall& c) {
  ops::ConvolutionNumbers n{.lhs = ConvolutionDimsOf(Numbers(c, "lhs_spec")),
                            .rhs = ConvolutionDimsOf(Numbers(c, "rhs_spec")),
                            .result = ConvolutionDimsOf(Numbers(c, "out_spec")),
                            .feature_groups = c.attrs.value("feature_group_count", int64_t{1}),
                            .batch_groups = c.attrs.value("batch_group_count", int64_t{1})};
  auto at = [](const Shape& shape, int64_t d) { return shape.at(static_cast<size_t>(d)); };
  Shape result(c.shape(0).size());
  auto set = [&](int64_t d, int64_t size) { result.at(static_cast<size_t>(d)) = size; };
  set(n.result.batch, at(c.shape(0), n.lhs.batch) / n.batch_groups);
  set(n.result.feature, at(c.shape(1), n.rhs.batch));
  for (size_t i = 0; i < n.lhs.spatial.size(); ++i) {
    const Json& padding = c.attrs.at("padding").at(i);
    ops::Window window{.size = at(c.shape(1), n.rhs.spatial[i]),
                       .stride = AttrAt(c, "window_strides", i, 1),
                       .low = padding.at(0),
                       .high = padding.at(1)};
    set(n.result.spatial[i],
        Places(at(c.shape(0), n.lhs.spatial[i]), AttrAt(c, "lhs_dilation", i, 1), window,
               AttrAt(c, "rhs_dilation", i, 1)));
  }
  return Facts({{result, c.operands[0].dtype}},
               ops::ConvolutionDims(n, c.shape(0), c.shape(1), result));
}

OpFacts ReduceWindow(const OpCall& c) {
  std::vector<ops::Window> windows;
  Shape result;
  for (size_t d = 0; d < c.shape(0).size(); ++d) {
    const Json& padding = c.attrs.at("padding").at(d);
    windows.push_back({.size = AttrAt(c, "window_dimensions", d, 1),
                       .stride = AttrAt(c, "window_strides", d, 1),
                       .low = padding.at(0),
                       .high = padding.at(1)});
    result.push_back(Places(c.shape(0)[d], AttrAt(c, "base_dilation", d, 1), windows.back(),
                            AttrAt(c, "window_dilation", d, 1)));
  }
  OpFacts facts =
      Facts({{result, c.operands[0].dtype}}, ops::ReduceWindowDims(windows, c.shape(0), result));
  facts.unnamed_operands = 1;
  return facts;
}

OpFacts Fft(const OpCall& c) {
  std::vector<int64_t> lengths = c.List("fft_lengths");
  std::string type = c.attrs.at("fft_type").get<std::string>();
  Shape result = c.shape(0);
  if (type == "RFFT") result.back() = lengths.back() ? lengths.back() / 2 + 1 : 0;
  if (type == "IRFFT") result.back() = lengths.back();
  DType dtype = type == "IRFFT" ? f32 : f64;  // f64 stands for c64, as wherever types are read
  return Facts({{result, dtype}}, ops::FftDims(lengths.size(), c.shape(0), result));
}

OpFacts TriangularSolve(const OpCall& c) {
  return Facts({c.operands[1]}, ops::TriangularSolveDims(c.attrs.value("left_side", false),
                                                         c.attrs.value("transpose_a", false),
                                                         c.shape(0), c.shape(1)));
}

OpFacts Cholesky(const OpCall& c) { return Facts({c.operands[0]}, ops::CholeskyDims(c.shape(0))); }

OpFacts RngBitGenerator(const OpCall& c) {
  Shape shape = c.List("shape");
  DType dtype = c.attrs.contains("dtype") ? ParseDType(c.attrs["dtype"].get<std::string>()) : u32;
  return Facts({c.operands[0], {shape, dtype}}, ops::RngBitGeneratorDims(c.shape(0), shape));
}

OpFacts Pointwise(const OpCall& c, DType dtype) {
  sharding::Shapes shapes;
  for (const Tensor& t : c.operands) shapes.push_back(&t.shape);
  OpFacts facts = Facts({{c.shape(0), dtype}}, sharding::Pointwise(shapes, c.shape(0)));
  facts.elementwise = facts.foldable = true;
  facts.first = propagation::Direction::kBoth;
  return facts;
}

// A constant has no rule, and its value does not matter.
OpFacts Full(const OpCall& c) {
  OpFacts facts;
  facts.results = {{c.List("shape"), ParseDType(c.attrs.at("dtype").get<std::string>())}};
  facts.constant = true;
  return facts;
}

}  // namespace

OpFacts ForeignFacts(const OpCall& c) {
  static const std::map<std::string, OpFacts (*)(const OpCall&)> table = {
      {"full", Full},
      {"conv_general_dilated", Convolution},
      {"reduce_window", ReduceWindow},
      {"fft", Fft},
      {"linalg.cholesky", Cholesky},
      {"linalg.triangular_solve", TriangularSolve},
      {"rng_bit_generator", RngBitGenerator},
      {"real", [](const OpCall& call) { return Pointwise(call, f32); }},
      {"imag", [](const OpCall& call) { return Pointwise(call, f32); }},
      {"complex", [](const OpCall& call) { return Pointwise(call, f64); }},
      {"reduce_precision",
       [](const OpCall& call) { return Pointwise(call, call.operands.at(0).dtype); }},
  };
  auto op = table.find(c.op);
  if (op == table.end()) throw Unsupported(c.op);
  return op->second(c);
}

}  // namespace tessera::conformance
