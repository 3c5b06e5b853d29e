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

OpFacts Fft(const OpCall& c) {
  std::vector<int64_t> lengths = c.List("fft_lengths");
  std::string type = c.attrs.at("fft_type").get<std::string>();
  Shape result = c.shape(0);
  if (type == "RFFT") result.back() = lengths.back() ? lengths.back() / 2 + 1 : 0;
  if (type == "IRFFT") result.back() = lengths.back();
  DType dtype = type == "IRFFT" ? f32 : c64;
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
      {"fft", Fft},
      {"linalg.cholesky", Cholesky},
      {"linalg.triangular_solve", TriangularSolve},
      {"rng_bit_generator", RngBitGenerator},
  };
  auto op = table.find(c.op);
  if (op == table.end()) throw Unsupported(c.op);
  return op->second(c);
}

}  // namespace tessera::conformance
