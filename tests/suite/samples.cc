// Joins the parts of the samples, and fills tensors with the numbers that each sample asks for.
#include "suite/samples.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <limits>

#include "ops/reference_values.h"
#include "suite/table.h"

namespace tessera::suite {
namespace {

uint64_t Mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

void SetWild(ir::HostTensor& t, int64_t i, uint64_t which) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  constexpr double kFloatCases[] = {
      std::numeric_limits<double>::quiet_NaN(), kInf, -kInf, 0.0, -0.0, 1, -1};
  const size_t n = std::size(kFloatCases);
  if (t.dtype.is_complex())
    return t.SetComplex(i, {kFloatCases[which % n], kFloatCases[which / n % n]});
  if (t.dtype.is_floating()) return t.SetFloat(i, kFloatCases[which % n]);
  if (t.dtype.is_bool()) return t.SetInt(i, static_cast<int64_t>(which & 1));
  const int64_t cases[] = {ops::reference::LowestInt(t.dtype), ops::reference::HighestInt(t.dtype),
                           0, -1, 1};
  t.SetInt(i, cases[which % std::size(cases)]);
}

void Set(ir::HostTensor& t, int64_t i, const Fill& fill, uint64_t random) {
  if (fill.wild && random % 5 == 0) return SetWild(t, i, random / 5);
  const auto number = [&](uint64_t bits) {
    const double unit = static_cast<double>(bits >> 11) * 0x1p-53;
    if (!fill.whole) return fill.lo + unit * (fill.hi - fill.lo);
    return std::min(std::floor(fill.lo + unit * (fill.hi - fill.lo + 1)), fill.hi);
  };
  double v = number(random);
  if (t.dtype.is_complex()) return t.SetComplex(i, {v, number(Mix(random))});
  if (t.dtype.is_floating()) return t.SetFloat(i, v);
  if (t.dtype.is_bool()) return t.SetInt(i, static_cast<int64_t>(random >> 40 & 1));
  if (t.dtype.is_unsigned()) v = std::abs(v);
  t.SetInt(i, static_cast<int64_t>(std::floor(v)));
}

}  // namespace

std::string Sample::name() const {
  std::string out;
  for (const SampleOperand& o : operands)
    out +=
        fmt::format("{}{}[{}]", out.empty() ? "" : ", ", o.dtype.name(), fmt::join(o.shape, ","));
  out = fmt::format("{}({})", op->name, out);
  if (wanted) out += fmt::format(" -> {}[{}]", wanted->dtype.name(), fmt::join(wanted->shape, ","));
  if (params) out += " {" + params->text() + "}";
  return out;
}

const std::vector<Sample>& Samples() {
  static const auto* table = [] {
    auto* t = new Table;
    AddElementwise(*t);
    AddMovement(*t);
    AddLookups(*t);
    AddContractions(*t);
    AddWindows(*t);
    AddLinalg(*t);
    AddFourier(*t);
    AddHost(*t);
    AddRagged(*t);
    AddComplex(*t);
    AddStorage(*t);
    return t;
  }();
  return *table;
}

std::vector<const Sample*> SamplesOf(const ir::OpDef& op) {
  std::vector<const Sample*> samples;
  for (const Sample& s : Samples())
    if (s.op == &op) samples.push_back(&s);
  return samples;
}

ir::HostTensor MakeData(const Sample& sample, size_t i) {
  const SampleOperand& o = sample.operands[i];
  ir::HostTensor t(o.dtype, o.shape);
  for (int64_t k = 0; k < t.size(); ++k)
    Set(t, k, o.fill, Mix(static_cast<uint64_t>(k) * 16 + i + 1));
  if (o.fill.diagonal == 0) return t;
  const int64_t rows = o.shape[o.shape.size() - 2], columns = o.shape.back();
  for (int64_t k = 0; k < t.size(); ++k)
    if (const int64_t row = k / columns % rows; row == k % columns)
      t.SetFloat(k, t.Float(k) + o.fill.diagonal * static_cast<double>(row + 1));
  return t;
}

std::vector<ir::HostTensor> MakeData(const Sample& sample) {
  std::vector<ir::HostTensor> data;
  for (size_t i = 0; i < sample.operands.size(); ++i) data.push_back(MakeData(sample, i));
  return data;
}

}  // namespace tessera::suite
