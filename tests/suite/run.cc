// Splits whole tensors into device buffers by their types, and joins results.
#include "suite/run.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "compile/host/processes.h"
#include "ops/ops.h"
#include "ops/reference_values.h"
#include "runtime/buffers.h"
#include "runtime/transport.h"
#include "sharding/explicit_rule.h"
#include "sharding/local.h"
#include "sharding/text.h"
#include "suite/placements.h"
#include "trace/apply.h"
#include "trace/scopes.h"

namespace tessera::suite {
namespace {

using ir::HostTensor;
using sharding::MeshDef;
using sharding::TensorSharding;

}  // namespace

std::vector<Array> Apply(const Case& c, const std::vector<Array>& operands) {
  trace::Application a{.op = *c.sample->op,
                       .params = c.sample->params,
                       .operands = {},
                       .out_sharding = c.out,
                       .loc = Loc::Unknown(),
                       .result = c.result};
  for (const Array& operand : operands) a.operands.push_back(operand.impl());
  if (c.sample->wanted) a.wanted = &*c.sample->wanted;
  return trace::Apply(a);
}

namespace {

std::vector<Array> PlaceAll(const Case& c, const std::vector<HostTensor>& data) {
  std::vector<Array> arrays;
  for (size_t i = 0; i < data.size(); ++i) arrays.push_back(Place(data[i], c.operands[i], c.mesh));
  return arrays;
}

// The part of the whole that the device at a mesh position holds.
struct Part {
  base::Shape local;
  std::vector<int64_t> begins;

  Part(const ir::Type& type, int64_t position)
      : local(sharding::LocalShape(type.shape(), type.sharding())) {
    for (size_t d = 0; d < local.size(); ++d) {
      const sharding::AxisList& axes = type.sharding().dims[d].axes;
      int64_t shard = axes.empty() ? 0 : sharding::ShardIndex(*type.mesh(), axes, position);
      begins.push_back(shard * local[d]);
    }
  }
  // Calls f(index in the part, index in the whole). Padding has no index in the whole.
  template <class F>
  void ForEach(const base::Shape& whole, F f) const {
    int64_t n = 1;
    for (int64_t s : local) n *= s;
    for (int64_t i = 0; i < n; ++i) {
      std::vector<int64_t> at = ir::CoordsOf(local, i);
      bool inside = true;
      for (size_t d = 0; d < at.size(); ++d) inside = (at[d] += begins[d]) < whole[d] && inside;
      if (inside) f(i, ir::FlatIndex(whole, at));
    }
  }
};

int64_t Positions(const ir::Type& type) { return type.mesh() ? type.mesh()->size() : 1; }

int64_t PartialIndex(const ir::Type& type, int64_t position) {
  const TensorSharding& s = type.sharding();
  return s.unreduced.empty() ? 0 : sharding::ShardIndex(*s.mesh, s.unreduced, position);
}

// Sets element i of `out` to the share of partial k of n in element `at` of data.
void SetPartial(HostTensor& out, int64_t i, const HostTensor& data, int64_t at, int64_t k,
                int64_t n, Reduction kind) {
  if (n == 1) return out.SetFrom(i, data, at);
  auto share = [&](int64_t p) { return p == 0 ? 0 : (at * 7 + p * 3) % 5 - 2; };
  bool floats = data.dtype.is_floating();
  if (kind == Reduction::kSum) {
    int64_t others = 0;
    for (int64_t p = 1; p < n; ++p) others += share(p);
    if (data.dtype.is_complex())
      out.SetComplex(i, std::complex<long double>(
                            k == 0 ? data.Complex(at) - static_cast<double>(others)
                                   : std::complex<double>(static_cast<double>(share(k)))));
    else if (floats)
      out.SetFloat(
          i, k == 0 ? data.Float(at) - static_cast<double>(others) : static_cast<double>(share(k)));
    else
      out.SetInt(i, k == 0 ? data.Int(at) - others : share(k));
    return;
  }
  out.SetFrom(i, data, at);
  if (k == at % n) return;
  int64_t step = kind == Reduction::kMax ? -1 : 1;
  if (floats)
    out.SetFloat(i, data.Float(at) + static_cast<double>(step));
  else if (data.dtype.is_signed() && std::abs(data.Int(at)) < 100)
    out.SetInt(i, data.Int(at) + step);
}

// Combines element j of `part` into element i of `out`.
void Combine(HostTensor& out, int64_t i, const HostTensor& part, int64_t j, Reduction kind) {
  using ops::reference::IntLess;
  if (kind == Reduction::kSum) {
    if (out.dtype.is_complex())
      out.SetComplex(i, std::complex<long double>(out.Complex(i) + part.Complex(j)));
    else if (out.dtype.is_floating())
      out.SetFloat(i, out.Float(i) + part.Float(j));
    else
      out.SetInt(i, out.Int(i) + part.Int(j));
    return;
  }
  bool larger = kind == Reduction::kMax;
  if (out.dtype.is_floating()) {
    out.SetFloat(i, larger ? ops::reference::Larger(out.Float(i), part.Float(j))
                           : ops::reference::Smaller(out.Float(i), part.Float(j)));
  } else if (IntLess(out.dtype, out.Int(i), part.Int(j)) == larger) {
    out.SetFrom(i, part, j);
  }
}

// Returns the part of each device by its position in the mesh. Every process gets all of them.
std::vector<HostTensor> PartsOf(const compile::Concrete& array) {
  const ir::Type& type = *array.placed();
  const HostTensor empty(type.dtype(), sharding::LocalShape(type.shape(), type.sharding()));
  std::vector<HostTensor> parts(static_cast<size_t>(Positions(type)), empty);
  if (empty.data.empty()) return parts;
  const std::vector<int32_t> instances = compile::InstancesByPosition(array);
  std::string here;  // the parts of this process
  for (size_t p = 0; p < parts.size(); ++p) {
    if (instances[p] == compile::kElsewhere) continue;
    std::memcpy(parts[p].data.data(), array.buffers.at(instances[p]), empty.data.size());
    here.append(reinterpret_cast<const char*>(parts[p].data.data()), empty.data.size());
  }
  if (compile::Processes() == 1 || !type.mesh()) return parts;
  const std::vector<std::string> all = runtime::TheTransport()->Gather(here);
  std::vector<size_t> at(all.size(), 0);
  for (size_t p = 0; p < parts.size(); ++p) {
    const auto process =
        static_cast<size_t>(compile::ProcessOf(type.mesh()->Device(static_cast<int64_t>(p))));
    std::memcpy(parts[p].data.data(), all[process].data() + at[process], empty.data.size());
    at[process] += empty.data.size();
  }
  return parts;
}

}  // namespace

std::string Case::name() const {
  std::string out;
  for (const ir::Type* t : operands) out += (out.empty() ? "" : ", ") + t->text();
  out = fmt::format("{}({})", sample->op->name, out);
  if (sample->params) out += " {" + sample->params->text() + "}";
  if (result) out += " -> " + result->text();
  if (this->out) out += ", out_sharding " + sharding::Text(*this->out);
  return mesh ? out + " on " + mesh->text() : out;
}

Case Unsharded(const Sample& sample) {
  Case c{.sample = &sample};
  for (const SampleOperand& o : sample.operands)
    c.operands.push_back(ir::Type::Get(o.shape, o.dtype));
  if (sample.op == &ops::kReshard) c.result = c.operands[0];
  return c;
}

std::vector<const ir::OpDef*> OpsWithRules() {
  ops::Install();
  std::vector<const ir::OpDef*> list;
  for (const ir::OpDef* op : ir::AllOps())
    if (std::holds_alternative<ir::DimMapFn>(*op->dims)) list.push_back(op);
  return list;
}

void ForEachAutoPlacement(const Sample& sample, const MeshDef* mesh, int64_t most,
                          const std::function<void(const Case&)>& f) {
  std::vector<std::vector<TensorSharding>> placements;
  int64_t all = 1;
  for (const SampleOperand& o : sample.operands) {
    placements.push_back(Placements(mesh->WithoutModes(), o.shape, {.uneven = true}));
    all *= static_cast<int64_t>(placements.back().size());
  }
  for (int64_t k = 0; k < std::min(all, most) && !testing::Test::HasFailure(); ++k) {
    auto choice = static_cast<size_t>(all <= most ? k : k * all / most);
    Case c{.sample = &sample, .mesh = mesh};
    for (size_t i = 0; i < placements.size(); ++i) {
      const SampleOperand& o = sample.operands[i];
      c.operands.push_back(
          ir::Type::Get(o.shape, o.dtype, placements[i][choice % placements[i].size()]));
      choice /= placements[i].size();
    }
    f(c);
  }
}

std::vector<const ir::Type*> ResultTypes(const Case& c) {
  if (c.result) return {c.result};
  const Sample& s = *c.sample;
  std::vector<ir::ShapeAndDType> shapes =
      (*s.op->type)({*s.op, c.operands, s.params.get(), s.wanted ? &*s.wanted : nullptr});
  ir::DimsCall dims{*s.op, {}, {}, s.params.get()};
  std::vector<sharding::RuleOperand> operands;
  for (const ir::Type* t : c.operands) {
    dims.operands.push_back(&t->shape());
    operands.push_back({&t->sharding(), &t->shape(), t->dtype().is_inexact()});
  }
  for (const ir::ShapeAndDType& r : shapes) dims.results.push_back(&r.shape);
  sharding::DimMap map = std::get<ir::DimMapFn>(*s.op->dims)(dims);
  sharding::RuleResult rule = sharding::ExplicitRule(map, operands, dims.results, c.out);
  std::vector<const ir::Type*> types;
  if (rule.conflict) return types;
  for (size_t i = 0; i < shapes.size(); ++i) {
    if (!rule.results[i].mesh) rule.results[i].mesh = c.mesh;
    types.push_back(ir::Type::Get(shapes[i].shape, shapes[i].dtype, rule.results[i]));
  }
  return types;
}

std::shared_ptr<const ir::Program> ProgramOf(const Case& c,
                                             const std::vector<const ir::Type*>& results) {
  auto program = std::make_shared<ir::Program>();
  program->mesh = c.mesh;
  for (const ir::Type* t : c.operands)
    program->inputs.push_back(program->AddValue(t, Loc::Unknown()));
  ir::Builder builder(*program, Loc::Unknown());
  auto values = builder.EmitTyped(*c.sample->op, c.sample->params, program->inputs, results);
  program->outputs.assign(values.begin(), values.end());
  return program;
}

Array Place(const HostTensor& data, const ir::Type* type, const MeshDef* mesh) {
  const TensorSharding& s = type->sharding();
  bool is_auto = mesh && mesh->all_mode(AxisMode::Auto);
  const ir::Type* seen =
      is_auto ? type->WithSharding(sharding::Replicated(mesh, type->rank())) : type;
  bool shares = compile::SharesReplicas();
  int64_t bytes = sharding::LocalElements(type->shape(), s) * type->dtype().size();
  auto array = std::make_shared<compile::Concrete>(
      seen, type, Loc::Unknown(), runtime::Allocate(bytes, compile::InstancesHere(*type, shares)),
      shares);
  const std::vector<int32_t> instances = compile::InstancesByPosition(*array);
  for (int64_t position = 0; position < Positions(*type); ++position) {
    const int32_t instance = instances[static_cast<size_t>(position)];
    if (instance == compile::kElsewhere) continue;
    Part part(*type, position);
    HostTensor local(type->dtype(), part.local);
    part.ForEach(type->shape(), [&](int64_t i, int64_t at) {
      SetPartial(local, i, data, at, PartialIndex(*type, position), sharding::SizeOf(s.unreduced),
                 s.kind);
    });
    if (!local.data.empty())
      std::memcpy(array->buffers.at(instance), local.data.data(), local.data.size());
  }
  return Array(std::move(array));
}

HostTensor ReadBack(const Array& array) {
  const auto& concrete = static_cast<const compile::Concrete&>(*array.impl());
  const ir::Type& type = *concrete.placed();
  HostTensor whole(type.dtype(), type.shape());
  int64_t partials = sharding::SizeOf(type.sharding().unreduced);
  // By element and partial: the first position seen.
  std::vector<int64_t> seen(static_cast<size_t>(whole.size() * partials), -1);
  const std::vector<HostTensor> parts = PartsOf(concrete);
  for (int64_t position = 0; position < Positions(type); ++position) {
    const HostTensor& local = parts[static_cast<size_t>(position)];
    int64_t k = PartialIndex(type, position);
    bool combine = k > 0;
    Part(type, position).ForEach(type.shape(), [&](int64_t i, int64_t at) {
      int64_t& first = seen[static_cast<size_t>(at * partials + k)];
      if (first >= 0) {
        const HostTensor& earlier = parts[static_cast<size_t>(first)];
        bool same = std::memcmp(earlier.data.data() + i * type.dtype().size(),
                                local.data.data() + i * type.dtype().size(),
                                static_cast<size_t>(type.dtype().size())) == 0;
        if (!same)
          ADD_FAILURE() << type.text() << ": element " << at
                        << " differs between the devices at mesh positions " << first << " and "
                        << position;
        return;
      }
      first = position;
      if (combine)
        Combine(whole, at, local, i, type.sharding().kind);
      else
        whole.SetFrom(at, local, i);
    });
  }
  return whole;
}

std::vector<HostTensor> ReadAll(const std::vector<Array>& arrays) {
  std::vector<HostTensor> out;
  for (const Array& a : arrays) out.push_back(ReadBack(a));
  return out;
}

std::vector<HostTensor> RunEager(const Case& c, const std::vector<HostTensor>& data) {
  trace::MeshDefScope scope(c.mesh);
  return ReadAll(Apply(c, PlaceAll(c, data)));
}

std::vector<HostTensor> RunJitted(const Case& c, const std::vector<HostTensor>& data) {
  trace::MeshDefScope scope(c.mesh);
  auto f = jit([&c](std::vector<Array> operands) { return Apply(c, operands); });
  return ReadAll(f(PlaceAll(c, data)));
}

}  // namespace tessera::suite
