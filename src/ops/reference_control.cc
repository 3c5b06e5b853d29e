// Ops with regions, step by step.
#include <algorithm>
#include <cstring>

#include "ir/control_params.h"
#include "ir/program.h"
#include "ops/reference.h"
#include "ops/reference_values.h"

namespace tessera::ops::reference {
namespace {

using Tensors = std::vector<HostTensor>;

Tensors Operands(const ReferenceCall& call, size_t first, size_t last) {
  Tensors out;
  for (size_t i = first; i < last; ++i) out.push_back(*call.operands[i]);
  return out;
}

Tensors Join(Tensors a, const Tensors& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

HostTensor SliceAt(const HostTensor& xs, int64_t i) {
  HostTensor x(xs.dtype, {xs.shape.begin() + 1, xs.shape.end()});
  std::memcpy(x.data.data(), xs.data.data() + i * static_cast<int64_t>(x.data.size()),
              x.data.size());
  return x;
}

}  // namespace

void While(const ReferenceCall& call) {
  auto n = static_cast<size_t>(ir::As<ir::WhileParams>(call.params).constants);
  const Tensors constants = Operands(call, 0, n);
  Tensors carry = Operands(call, n, call.operands.size());
  while (ir::Interpret(*call.regions[0], Join(constants, carry))[0].Int(0) != 0)
    carry = ir::Interpret(*call.regions[1], Join(constants, carry));
  for (size_t i = 0; i < carry.size(); ++i) *call.results[i] = std::move(carry[i]);
}

void Scan(const ReferenceCall& call) {
  const auto& p = ir::As<ir::ScanParams>(call.params);
  auto constants = static_cast<size_t>(p.constants), carries = static_cast<size_t>(p.carries);
  const Tensors fixed = Operands(call, 0, constants);
  Tensors carry = Operands(call, constants, constants + carries);
  for (int64_t step = 0; step < p.length; ++step) {
    int64_t at = p.reverse ? p.length - 1 - step : step;
    Tensors inputs = Join(fixed, carry);
    for (size_t i = constants + carries; i < call.operands.size(); ++i)
      inputs.push_back(SliceAt(*call.operands[i], at));
    Tensors outputs = ir::Interpret(*call.regions[0], std::move(inputs));
    for (size_t i = 0; i < carries; ++i) carry[i] = std::move(outputs[i]);
    for (size_t i = carries; i < outputs.size(); ++i) {
      auto bytes = outputs[i].data.size();
      std::memcpy(call.results[i]->data.data() + static_cast<size_t>(at) * bytes,
                  outputs[i].data.data(), bytes);
    }
  }
  for (size_t i = 0; i < carries; ++i) *call.results[i] = std::move(carry[i]);
}

void Switch(const ReferenceCall& call) {
  const HostTensor& index = *call.operands[0];
  auto last = static_cast<int64_t>(call.regions.size()) - 1;
  int64_t branch = index.dtype.is_bool() ? (index.Int(0) != 0 ? 0 : 1)
                                         : std::clamp<int64_t>(IndexAt(index, 0), 0, last);
  Tensors outputs = ir::Interpret(*call.regions[static_cast<size_t>(branch)],
                                  Operands(call, 1, call.operands.size()));
  for (size_t i = 0; i < outputs.size(); ++i) *call.results[i] = std::move(outputs[i]);
}

}  // namespace tessera::ops::reference
