// Makes samples smooth: f64 for every float, c128 for every complex number, small numbers, and no
// element scaled twice.
#include "suite/smooth.h"

#include <cmath>
#include <set>

#include "base/dtype.h"
#include "ir/infer.h"
#include "ops/params.h"
#include "suite/table.h"

namespace tessera::suite {
namespace {

using ir::HostTensor;

DType Wide(DType t) { return t.is_complex() ? c128 : t.is_floating() ? f64 : t; }

// Returns the operands that the op only moves, which may have any dtype.
std::vector<int32_t> MovedOperands(const Sample& sample) {
  const Case c = Unsharded(sample);
  for (const sharding::LinearGroup& g :
       ir::DimMapOf(*sample.op, sample.params.get(), c.operands, ResultTypes(c)).linear)
    if (g.kinds.max) return {g.operands.begin(), g.operands.end()};
  return {};
}

// Returns the sample in f64, with numbers at which the op has a derivative.
Sample Smooth(const Sample& from) {
  Sample s = from;
  for (int32_t i : MovedOperands(from))
    if (DType& t = base::At(s.operands, i).dtype; !t.is_complex()) t = f64;
  if (s.wanted && from.operands[0].dtype != s.operands[0].dtype)
    s.wanted->dtype = s.operands[0].dtype;
  for (SampleOperand& o : s.operands) {
    o.dtype = Wide(o.dtype);
    if (!o.dtype.is_inexact()) continue;
    o.fill.wild = o.fill.whole = false;
    o.fill.lo = std::max(o.fill.lo, -8.0), o.fill.hi = std::min(o.fill.hi, 8.0);
  }
  if (s.wanted) s.wanted->dtype = Wide(s.wanted->dtype);
  if (s.op == &ops::kGather) {
    auto params = ir::As<ops::GatherParams>(s.params.get());
    params.fill = {s.operands[0].dtype, 0};
    s.params = ir::MakeParams(std::move(params));
  }
  // Steps between rounded numbers are smaller than the steps of finite differences.
  if (s.op == &ops::kReducePrecision) s.params = ir::MakeParams(ops::PrecisionParams{11, 50});
  if (s.op == &ops::kScatterMul) {
    auto params = ir::As<ops::ScatterParams>(s.params.get());
    params.unique = true;
    s.params = ir::MakeParams(std::move(params));
  }
  return s;
}

// Sets index vectors (0, 0, ...), (1, 0, ...), ...
void NameEachElementOnce(HostTensor& indices) {
  const int64_t entries = indices.shape.back();
  for (int64_t k = 0; k < indices.size(); ++k)
    indices.SetInt(k, k % entries == 0 ? k / entries : 0);
}

}  // namespace

bool IsFlat(const ir::OpDef& op) {
  const auto* derivative = std::get_if<ir::Derivative>(&*op.diff);
  return derivative && !derivative->transpose && derivative->of == decltype(derivative->of){};
}

std::vector<Sample> SmoothSamples(const ir::OpDef& op) {
  std::vector<Sample> samples;
  std::set<std::string> seen;
  for (const Sample* s : SamplesOf(op)) {
    if (s->operands.empty()) continue;
    Sample smooth = Smooth(*s);
    bool floats = false;
    for (const SampleOperand& o : smooth.operands) floats = floats || o.dtype.is_inexact();
    std::string key = smooth.name() + (s->params ? s->params->text() : "");
    if (smooth.wanted) key += smooth.wanted->dtype.name();
    if (floats && seen.insert(key).second) samples.push_back(std::move(smooth));
  }
  return samples;
}

std::vector<const ir::OpDef*> DifferentiableOps() {
  ops::Install();
  std::vector<const ir::OpDef*> list;
  for (const ir::OpDef* op : ir::AllOps())
    if (!std::holds_alternative<ir::NotDifferentiable>(*op->diff) &&
        std::holds_alternative<ir::DimMapFn>(*op->dims))
      list.push_back(op);
  return list;
}

bool IsConstant(const ir::OpDef& op, size_t i) {
  const auto* derivative = std::get_if<ir::Derivative>(&*op.diff);
  return derivative && i < derivative->none.size() && derivative->none[i];
}

std::vector<HostTensor> SmoothData(const Sample& sample) {
  std::vector<HostTensor> data = MakeData(sample);
  if (sample.op == &ops::kScatterMul) NameEachElementOnce(data[1]);
  return data;
}

std::vector<Array> ApplySmooth(const Case& c, std::vector<Array> operands) {
  for (size_t i = 0; i < operands.size(); ++i)
    if (IsConstant(*c.sample->op, i)) operands[i] = stop_gradient(operands[i]);
  return Apply(c, operands);
}

double Number(size_t i, int64_t k) {
  return std::sin(static_cast<double>(k * 37 + static_cast<int64_t>(i) * 11 + 5));
}

std::vector<HostTensor> Cotangents(const std::vector<HostTensor>& results) {
  std::vector<HostTensor> cotangents = results;
  for (size_t r = 0; r < results.size(); ++r) {
    if (!IsFloating(results[r])) continue;
    HostTensor parts = PartsOf(results[r]);
    for (int64_t k = 0; k < parts.size(); ++k) parts.SetFloat(k, Number(r + 5, k));
    SetParts(cotangents[r], parts);
  }
  return cotangents;
}

HostTensor PartsOf(const HostTensor& t) {
  if (!t.dtype.is_complex()) return t;
  HostTensor parts = t;
  parts.dtype = base::PartOf(t.dtype);
  parts.shape.push_back(2);
  return parts;
}
std::vector<HostTensor> PartsOf(const std::vector<HostTensor>& tensors) {
  std::vector<HostTensor> parts;
  for (const HostTensor& t : tensors) parts.push_back(PartsOf(t));
  return parts;
}
void SetParts(HostTensor& t, const HostTensor& parts) { t.data = parts.data; }

}  // namespace tessera::suite
