// Derivatives of users' ops: their vjp is traced as a program, and compared with
// finite differences.
#include "api/functions/custom_derivative.h"

#include <fmt/format.h>

#include <cmath>
#include <optional>

#include "api/core/operands.h"
#include "base/error.h"
#include "ir/interpret.h"
#include "ops/calls.h"
#include "ops/tangents.h"
#include "trace/function.h"
#include "trace/scopes.h"

namespace tessera::api {
namespace {

using ops::CotangentType;
using ops::CustomDef;
using ops::HasTangent;
using ops::RunKernel;
using ops::SampleOperands;

using ir::HostTensor;
using ir::ValueId;

Call CallOf(const OpDefinition& d, Loc loc) { return {d.name.c_str(), loc}; }

// Returns the cotangents of floating operands. C21, C22: the vjp returns a cotangent for each
// operand, of the right type.
std::vector<Array> CheckedCotangents(const OpDefinition& d, std::vector<Array> made,
                                     ir::Types operands, Loc loc) {
  if (made.size() != operands.size())
    FailTrace(CallOf(d, loc), 21,
              fmt::format("its vjp returns {} arrays, not {}", made.size(), operands.size()),
              {"return a cotangent for each operand; those of integers are ignored"});
  std::vector<Array> out;
  for (size_t k = 0; k < made.size(); ++k) {
    if (!HasTangent(operands[k])) continue;
    const trace::ArrayRef& array = trace::Use(made[k], d.name.c_str(), loc);
    const ir::Type* must = CotangentType(operands[k]);
    if (!ir::SameType(array->type(), must))
      FailTrace(CallOf(d, loc), 22,
                fmt::format("its vjp returns the wrong type for the cotangent of operand {}", k),
                {"the cotangent must be " + must->text()},
                {{fmt::format("operand {}", k), operands[k]->text(), ""},
                 {"cotangent", array->type()->text(), base::Where(array->loc())}});
    out.push_back(made[k]);
  }
  return out;
}

// Returns the traced vjp:
//   operands, cotangents of floating results -> cotangents of floating operands
ir::RegionPtr TransposeOf(const OpDefinition& d, ir::Types operands, ir::Types results, Loc loc) {
  std::vector<trace::Parameter> parameters;
  for (const ir::Type* t : operands) parameters.push_back({t, loc});
  for (const ir::Type* t : results)
    if (HasTangent(t)) parameters.push_back({CotangentType(t), loc});
  // The derivative of an op inside shard_map may be taken outside: axes must be Manual here.
  std::optional<trace::MeshDefScope> scope;
  for (const ir::Type* t : operands)
    if (t->mesh() && !scope) scope.emplace(t->mesh());
  ir::Program program =
      trace::TraceFunction(
          parameters,
          [&](const std::vector<Array>& arrays) {
            return detail::FunctionResult{CheckedCotangents(d, d.vjp(arrays), operands, loc), {}};
          },
          d.name.c_str(), loc, /*outer=*/nullptr)
          .program;
  if (!program.captures.empty())
    FailTrace(CallOf(d, loc), 23, "its vjp captures an array",
              {"create the array inside the vjp, or pass it as an operand"});
  return ir::Shared(std::move(program));
}

std::vector<ValueId> JvpByVjp(const ir::DiffCall& c, absl::Span<const ValueId> tangents,
                              std::vector<ValueId>&) {
  const OpDefinition& d = static_cast<const CustomDef&>(c.op).definition;
  return ops::TangentsByTranspose(c, {c.operands.begin(), c.operands.end()},
                                  ops::FloatingTangents(c, tangents, 0),
                                  TransposeOf(d, c.operand_types, c.result_types, c.builder.loc()));
}

// ---- comparison with finite differences ---------------------------------------------------------

const ir::Type* TensorType(const HostTensor& t) { return ir::Type::Get(t.shape, t.dtype); }

// A function of one element of one operand: the sum of results times cotangents.
class Along {
 public:
  Along(const OpDefinition& d, const std::vector<HostTensor>& in,
        const std::vector<HostTensor>& cotangents)
      : d_(d), in_(in), cotangents_(cotangents) {}

  double Slope(size_t operand, int64_t element, double step) const {
    return (At(operand, element, step) - At(operand, element, -step)) / (2 * step);
  }

 private:
  double At(size_t operand, int64_t element, double step) const {
    std::vector<HostTensor> moved = in_;
    moved[operand].SetFloat(element, moved[operand].Float(element) + step);
    const std::vector<HostTensor> made = RunKernel(d_, moved);
    double sum = 0;
    for (size_t r = 0, next = 0; r < made.size(); ++r) {
      if (!made[r].dtype.is_floating()) continue;
      const HostTensor& ct = cotangents_[next++];
      for (int64_t k = 0; k < ct.size(); ++k) sum += made[r].Float(k) * ct.Float(k);
    }
    return sum;
  }
  const OpDefinition& d_;
  const std::vector<HostTensor>&in_, &cotangents_;
};

// Returns a message for the first element whose derivative differs from the slope, empty if there
// is none. Skips slopes that depend on the step, as at a kink.
std::string CompareSlopes(const OpDefinition& d, DType dtype, const std::vector<HostTensor>& in,
                          const std::vector<HostTensor>& cotangents,
                          const std::vector<HostTensor>& got) {
  const bool wide = dtype == f64;
  const double step = wide ? 1e-5 : 1e-2, tol = wide ? 1e-5 : 1e-2;
  const Along along(d, in, cotangents);
  constexpr int64_t kMost = 16;  // elements per operand
  for (size_t k = 0; k < in.size(); ++k)
    for (int64_t n = 0; n < std::min(kMost, in[k].size()); ++n) {
      const int64_t element = n * in[k].size() / std::min(kMost, in[k].size());
      const double slope = along.Slope(k, element, step), again = along.Slope(k, element, step / 2),
                   mine = got[k].Float(element);
      const double allowed = tol * (1 + std::abs(slope));
      if (std::abs(slope - again) > allowed || std::abs(slope - mine) <= allowed) continue;
      return fmt::format(
          "in element {} of operand {} it gives {:.6g}, but finite differences give {:.6g}",
          ir::FieldText(ir::CoordsOf(in[k].shape, element)), k, mine, slope);
    }
  return {};
}

}  // namespace

ir::Diff DiffOf(const OpDefinition& d) {
  if (d.vjp) return ir::Structural{JvpByVjp};
  return ir::NotDifferentiable{d.not_differentiable.empty() ? "register_op was given no .vjp"
                                                            : d.not_differentiable.c_str()};
}

std::string CheckVjp(CustomDef& def, Loc loc) {
  const OpDefinition& d = def.definition;
  if (!d.vjp) return {};
  for (DType dtype : d.samples) {
    if (dtype != f32 && dtype != f64) continue;  // narrower floats round more than a step
    const std::vector<HostTensor> in = SampleOperands(d, dtype, loc);
    std::vector<HostTensor> cotangents;
    std::vector<const ir::Type*> operands, results;
    for (const HostTensor& t : in) operands.push_back(TensorType(t));
    for (const HostTensor& t : RunKernel(d, in)) {
      results.push_back(TensorType(t));
      if (!t.dtype.is_floating()) continue;
      cotangents.push_back(t);
      for (int64_t k = 0; k < t.size(); ++k)
        cotangents.back().SetFloat(k, std::sin(static_cast<double>(k * 37 + 5)));
    }
    std::vector<HostTensor> inputs = in;
    inputs.insert(inputs.end(), cotangents.begin(), cotangents.end());
    const std::string difference = CompareSlopes(
        d, dtype, in, cotangents, ir::Interpret(*TransposeOf(d, operands, results, loc), inputs));
    if (!difference.empty()) return fmt::format("{}, in {}", difference, dtype.name());
    def.report += fmt::format("vjp, in {}: agrees with finite differences\n", dtype.name());
  }
  return {};
}

}  // namespace tessera::api
