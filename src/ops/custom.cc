// Records of the ops that users register, and the check of a kernel against its rule on
// random data.
#include "ops/custom.h"

#include <cmath>

#include "base/error.h"
#include "base/shape.h"
#include "kernels/reduce/reduce_elements.h"
#include "ops/batching.h"
#include "ops/check.h"
#include "plan/plan.h"
#include "sharding/einsum_rule.h"
#include "sharding/rule_text.h"

namespace tessera::ops {
namespace {

using sharding::DimFactors;
using sharding::DimMap;
using sharding::FactorKind;

const OpDefinition& DefinitionOf(const ir::OpDef& op) {
  return static_cast<const CustomDef&>(op).definition;
}

std::vector<ShapedType> ResultTypes(const OpDefinition& d, const std::vector<ShapedType>& operands,
                                    Loc loc = Loc::Unknown()) {
  if (d.type) return d.type(operands);
  sharding::Shapes shapes;
  for (const ShapedType& t : operands) shapes.push_back(&t.shape);
  std::vector<ShapedType> results;
  for (Shape& s : sharding::EinsumResultShapes(d.rule, shapes, loc))
    results.push_back({std::move(s), operands.empty() ? DType{} : operands[0].dtype});
  return results;
}

// C17: the operands must fit the rule.
std::vector<ShapeAndDType> CustomType(const TypeCall& c) {
  std::vector<ShapedType> operands;
  for (const ir::Type* t : c.operands) operands.push_back({t->shape(), t->dtype()});
  try {
    std::vector<ShapeAndDType> results;
    for (ShapedType& t : ResultTypes(DefinitionOf(c.op), operands))
      results.push_back({std::move(t.shape), t.dtype});
    return results;
  } catch (const RuntimeError& e) {
    c.FailShape(17, "the operands do not fit the rule: " + e.detail().reason);
  }
}

DimMap CustomDims(const ir::DimsCall& c) {
  return sharding::ParseEinsumRule(DefinitionOf(c.op).rule, c.operands, c.results, Loc::Unknown());
}

// Runs the kernel outside of the caller's scopes, so that it sees the same on every thread.
void CallKernel(const OpDefinition& definition, const KernelCall& call) {
  DefaultDtypes dtypes(i32, f32);
  base::CallUsers(definition.name, "the kernel", "", [&] { definition.kernel(call); });
}

struct Config {
  const OpDefinition* definition;
  std::vector<ShapedType> in, out;
};

void RunOnShards(const plan::KernelArgs& call) {
  auto& config = *static_cast<const Config*>(call.config);
  KernelCall user;
  for (size_t i = 0; i < config.in.size(); ++i)
    user.in.emplace_back(config.in[i].dtype, config.in[i].shape,
                         const_cast<std::byte*>(call.in[i]));
  for (size_t i = 0; i < config.out.size(); ++i)
    user.out.emplace_back(config.out[i].dtype, config.out[i].shape, call.out[i]);
  CallKernel(*config.definition, user);
}

void MakeCustomKernel(const ir::LocalCall& c, plan::Kernel* kernel) {
  auto config = std::make_shared<Config>();
  config->definition = &DefinitionOf(c.op);
  for (const ir::LocalTensor& t : c.operands) config->in.push_back({t.shape, t.dtype});
  for (const ir::LocalTensor& t : c.results) config->out.push_back({t.shape, t.dtype});
  for (const auto* tensors : {&config->in, &config->out})
    for (const ShapedType& t : *tensors)
      kernel->bytes += static_cast<double>(base::Elements(t.shape) * t.dtype.size());
  kernel->fn = RunOnShards;
  // A user's kernel counts as expensive: it is worth a second worker.
  kernel->flops = 64 * kernel->bytes;
  kernel->config = std::move(config);
}

void RunOnTensors(const OpDefinition& d, const std::vector<const ir::HostTensor*>& in,
                  const std::vector<ir::HostTensor*>& out) {
  KernelCall user;
  for (const ir::HostTensor* t : in)
    user.in.emplace_back(t->dtype, t->shape, const_cast<std::byte*>(t->data.data()));
  for (ir::HostTensor* t : out) user.out.emplace_back(t->dtype, t->shape, t->data.data());
  CallKernel(d, user);
}

void CustomReference(const ir::ReferenceCall& c) {
  RunOnTensors(DefinitionOf(c.op), {c.operands.begin(), c.operands.end()}, c.results);
}

// Gives the kernel one more dim, if the rule allows it.
std::vector<ir::ValueId> CustomBatch(const ir::BatchCall& c) {
  const OpDefinition& d = DefinitionOf(c.op);
  const std::vector<bool> takes_more = sharding::EinsumTakesMore(d.rule, Loc::Unknown());
  std::vector<ir::ValueId> operands(c.operands.begin(), c.operands.end());
  for (size_t k = 0; k < operands.size(); ++k) {
    if (takes_more[k]) operands[k] = WithDim(c, k);
    if (!takes_more[k] && c.mapped[k])
      base::ThrowTrace(base::Refusal(
          d.name, 26, base::Where(c.builder.loc()),
          fmt::format("inside vmap, operand {} gets a leading batch dim, but the op's rule has no "
                      "`...` for it: {}",
                      k, d.rule),
          {"begin the operand and the results with `...` in the rule, if the kernel takes any "
           "number of leading dims"}));
  }
  std::vector<const ir::Type*> types;
  for (const ir::Type* t : c.result_types) types.push_back(WithDim(t, c.dim));
  const auto results = c.builder.EmitTyped(c.op, c.params, operands, types);
  return {results.begin(), results.end()};
}

// ---- checking a rule ----

// One half of a factor: maps elements of a tensor's shard to elements of the tensor.
class Half {
 public:
  Half(const DimMap& map, int32_t factor, int half) : map_(map), factor_(factor), half_(half) {}

  Shape LocalShape(const DimFactors& dims, const Shape& shape) const {
    Shape local = shape;
    for (size_t d = 0; d < dims.size(); ++d)
      if (Has(dims[d], factor_)) local[d] /= 2;
    return local;
  }

  // Calls f(index in the tensor, index in the shard), both row-major.
  template <class F>
  void ForEach(const DimFactors& dims, const Shape& shape, const F& f) const {
    Shape local = LocalShape(dims, shape);
    std::vector<int64_t> strides = base::DenseStrides(shape);
    int64_t elements = base::Elements(local);
    for (int64_t i = 0; i < elements; ++i) {
      int64_t rest = i, at = 0;
      for (size_t d = local.size(); d-- > 0; rest /= local[d])
        at += InWhole(dims[d], rest % local[d]) * strides[d];
      f(at, i);
    }
  }

 private:
  // Returns the index along the whole dim. The dim's factors are the digits of an index; the shard
  // has half of the values of one digit.
  int64_t InWhole(const sharding::FactorList& dim, int64_t index) const {
    if (!Has(dim, factor_)) return index;
    int64_t below = 1;
    for (size_t k = dim.size(); dim[k - 1] != factor_; --k) below *= map_.factors[dim[k - 1]].size;
    int64_t size = map_.factors[factor_].size, mine = size / 2;
    int64_t low = index % below, digit = index / below % mine, high = index / (below * mine);
    return (high * size + digit + half_ * mine) * below + low;
  }

  const DimMap& map_;
  int32_t factor_;
  int half_;
};

std::vector<ir::HostTensor> RandomOperands(const std::vector<Shape>& shapes, DType dtype) {
  std::vector<ir::HostTensor> out;
  uint32_t state = 12345;
  for (const Shape& shape : shapes) {
    ir::HostTensor t(dtype, shape);
    for (int64_t i = 0; i < t.size(); ++i) {
      state = state * 1664525 + 1013904223;
      const double part = static_cast<double>(state >> 8) / (1 << 23) - 1;
      if (dtype.is_complex())
        t.SetComplex(i, {part, std::sin(100 * part)});
      else if (dtype.is_floating())
        t.SetFloat(i, part);
      else
        t.SetInt(i, static_cast<int64_t>(state >> 24) % (dtype.is_bool() ? 2 : 10));
    }
    out.push_back(std::move(t));
  }
  return out;
}

std::vector<ir::HostTensor> Results(const OpDefinition& d, const std::vector<ir::HostTensor>& in,
                                    Loc loc = Loc::Unknown()) {
  std::vector<ShapedType> types;
  for (const ir::HostTensor& t : in) types.push_back({t.shape, t.dtype});
  std::vector<ir::HostTensor> out;
  for (ShapedType& t : ResultTypes(d, types, loc)) out.emplace_back(t.dtype, std::move(t.shape));
  return out;
}

using SampleValue = std::complex<double>;

SampleValue ValueAt(const ir::HostTensor& t, int64_t i) {
  return t.dtype.is_inexact() ? t.Complex(i) : static_cast<double>(t.Int(i));
}

SampleValue Combine(DType t, Reduction r, SampleValue a, SampleValue b) {
  if (t.is_complex()) return r == Reduction::kProd ? a * b : a + b;
  if (t.is_floating()) return kernels::Combine<double>(r, a.real(), b.real());
  return static_cast<double>(
      kernels::Combine<int64_t>(r, static_cast<int64_t>(a.real()), static_cast<int64_t>(b.real())));
}

std::string ValueText(SampleValue v, DType t) {
  return t.is_complex() ? fmt::format("({:.6g}, {:.6g})", v.real(), v.imag())
                        : fmt::format("{:.6g}", v.real());
}

// Computes both halves of a factor, joins them, and compares with the whole result.
class Trial {
 public:
  Trial(const OpDefinition& d, const DimMap& map, const std::vector<ir::HostTensor>& in,
        const std::vector<ir::HostTensor>& whole)
      : d_(d), map_(map), in_(in), whole_(whole) {}

  // Returns the first difference, or "".
  std::string Run(int32_t factor) const {
    std::vector<std::vector<SampleValue>> sum(whole_.size());
    std::vector<std::vector<bool>> seen(whole_.size());
    for (size_t r = 0; r < whole_.size(); ++r) {
      sum[r].resize(whole_[r].size());
      seen[r].resize(sum[r].size());
    }
    const sharding::Factor& f = map_.factors[factor];
    for (int half = 0; half < 2; ++half) {
      Half part(map_, factor, half);
      std::vector<ir::HostTensor> made = RunKernel(d_, Shards(part));
      for (size_t r = 0; r < made.size(); ++r) {
        if (made[r].shape != part.LocalShape(map_.results[r], whole_[r].shape))
          return fmt::format("result {} of one shard has shape {}", r, ShapeText(made[r].shape));
        part.ForEach(map_.results[r], whole_[r].shape, [&](int64_t at, int64_t i) {
          const SampleValue v = ValueAt(made[r], i);
          sum[r][at] = seen[r][at] && f.kind == FactorKind::kReduce
                           ? Combine(made[r].dtype, f.reduction, sum[r][at], v)
                           : v;
          seen[r][at] = true;
        });
      }
    }
    return Compare(sum);
  }

 private:
  std::vector<ir::HostTensor> Shards(const Half& part) const {
    std::vector<ir::HostTensor> shards;
    for (size_t i = 0; i < in_.size(); ++i) {
      ir::HostTensor shard(in_[i].dtype, part.LocalShape(map_.operands[i], in_[i].shape));
      part.ForEach(map_.operands[i], in_[i].shape,
                   [&](int64_t at, int64_t local) { shard.SetFrom(local, in_[i], at); });
      shards.push_back(std::move(shard));
    }
    return shards;
  }

  std::string Compare(const std::vector<std::vector<SampleValue>>& got) const {
    for (size_t r = 0; r < whole_.size(); ++r)
      for (int64_t i = 0; i < whole_[r].size(); ++i) {
        const SampleValue want = ValueAt(whole_[r], i), have = got[r][i];
        double tolerance =
            whole_[r].dtype.is_inexact() ? 1e-2 / (whole_[r].dtype.size() >= 4 ? 1000 : 1) : 0;
        if (std::abs(want - have) <= tolerance * (1 + std::abs(want))) continue;
        if (std::isnan(std::abs(want)) && std::isnan(std::abs(have))) continue;
        return fmt::format("element {} of result {} is {}, but {} when computed whole",
                           ShapeText(ir::CoordsOf(whole_[r].shape, i)), r,
                           ValueText(have, whole_[r].dtype), ValueText(want, whole_[r].dtype));
      }
    return {};
  }

  const OpDefinition& d_;
  const DimMap& map_;
  const std::vector<ir::HostTensor>&in_, &whole_;
};

}  // namespace

std::vector<ir::HostTensor> SampleOperands(const OpDefinition& d, DType dtype, Loc loc) {
  return RandomOperands(sharding::EinsumSampleShapes(d.rule, loc), dtype);
}

std::vector<ir::HostTensor> RunKernel(const OpDefinition& d,
                                      const std::vector<ir::HostTensor>& in) {
  std::vector<ir::HostTensor> out = Results(d, in);
  std::vector<const ir::HostTensor*> from;
  std::vector<ir::HostTensor*> to;
  for (const ir::HostTensor& t : in) from.push_back(&t);
  for (ir::HostTensor& t : out) to.push_back(&t);
  RunOnTensors(d, from, to);
  return out;
}

std::unique_ptr<CustomDef> MakeCustom(OpDefinition definition) {
  std::unique_ptr<CustomDef> def(new CustomDef{{.name = {},
                                                .doc = "A user's op.",
                                                .type = ir::TypeFn{CustomType},
                                                .dims = ir::DimMapFn{CustomDims},
                                                .lowering = ir::AsKernel{MakeCustomKernel},
                                                .reference = ir::ReferenceFn{CustomReference},
                                                .diff = ir::NotDifferentiable{""},
                                                .batch = CustomBatch,
                                                .flops_per_point = definition.flops_per_point,
                                                .out_sharding = true,
                                                .opaque = true},
                                               std::move(definition),
                                               {}});
  def->name = def->definition.name;
  return def;
}

std::string CheckRule(CustomDef& def, Loc loc) {
  const OpDefinition& d = def.definition;
  std::vector<std::string> names = sharding::EinsumFactorNames(d.rule, loc);
  for (DType dtype : d.samples) {
    std::vector<ir::HostTensor> in = SampleOperands(d, dtype, loc);
    std::vector<ir::HostTensor> empty = Results(d, in, loc);
    sharding::Shapes operands, results;
    for (const ir::HostTensor& t : in) operands.push_back(&t.shape);
    for (const ir::HostTensor& t : empty) results.push_back(&t.shape);
    // Errors in the rule come before the kernel runs.
    DimMap map = sharding::ParseEinsumRule(d.rule, operands, results, loc);
    std::vector<ir::HostTensor> whole = RunKernel(d, in);
    Trial trial(d, map, in, whole);
    for (size_t f = 0; f < map.factors.size(); ++f) {
      FactorKind kind = map.factors[f].kind;
      if (kind == FactorKind::kReplicate || kind == FactorKind::kPermute) continue;
      std::string difference = trial.Run(static_cast<int32_t>(f));
      const std::string& name = names[f];
      if (!difference.empty())
        return fmt::format("with {} in 2 shards, {}, in {}", name, difference, dtype.name());
      def.report +=
          fmt::format("{} in 2 shards, {}: same result as unsharded\n", name, dtype.name());
    }
  }
  return {};
}

}  // namespace tessera::ops
