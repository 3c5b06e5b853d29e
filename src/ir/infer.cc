// Type inference: the op's own checks of shape and dtype, then the typing rule.
#include "ir/infer.h"

#include <absl/algorithm/container.h>
#include <fmt/format.h>

#include "base/error.h"
#include "base/sum_order.h"
#include "ir/fixes.h"
#include "ir/mapped_axes.h"
#include "ir/memo.h"
#include "ir/typing_map.h"
#include "sharding/explicit_rule.h"
#include "sharding/text.h"

namespace tessera::ir {

std::string OperandName(const OpDef& op, size_t i) {
  if (i < op.operand_names.size() && !op.operand_names[i].empty())
    return std::string(op.operand_names[i]);
  return fmt::format("operands[{}]", i);
}

sharding::DimMap DimMapOf(const OpDef& op, const Params* params, Types operands, Types results) {
  const DimsCall call = DimsCallOf(op, params, operands, results);
  return WithPiecesApart(std::get<DimMapFn>(*op.dims)(call), call.operands);
}

sharding::DimMap DeviceMapOf(const OpDef& op, const Params* params, Types operands, Types results) {
  const DimsCall call = DimsCallOf(op, params, operands, results);
  const bool to_float =
      absl::c_any_of(results, [](const Type* t) { return t->dtype().is_inexact(); });
  return OnDevices(std::get<DimMapFn>(*op.dims)(call), call.operands, call.results, to_float);
}

sharding::DimMap OnDevices(sharding::DimMap map, const sharding::Shapes& operands,
                           const sharding::Shapes& results, bool to_float) {
  map = sharding::OnShards(std::move(map), operands, results);
  return to_float && base::KeepsSumOrder() ? sharding::WithWholeSums(std::move(map)) : map;
}

bool IsRearrangement(const OpDef& op, const Params* params, Types operands, Types results) {
  if (!std::holds_alternative<DimMapFn>(*op.dims) || op.opaque || operands.size() != 1)
    return false;
  const sharding::DimMap map = DimMapOf(op, params, operands, results);
  const auto moves_only = [](const sharding::LinearGroup& g) {
    return g.kinds.sum && g.kinds.max && g.kinds.min;
  };
  return absl::c_any_of(map.linear, moves_only) &&
         absl::c_all_of(map.factors, [](const sharding::Factor& f) {
           return f.kind == sharding::FactorKind::kPass;
         });
}

const std::vector<sharding::LinearGroup>& LinearGroupsOf(const OpDef& op, const ParamsPtr& params,
                                                         Types operands, Types results) {
  static const std::vector<sharding::LinearGroup> none;
  if (!std::holds_alternative<DimMapFn>(*op.dims)) return none;
  static thread_local Memo<std::vector<sharding::LinearGroup>> memo;
  OpKey key{&op, params, {operands.begin(), operands.end()}};
  key.types.insert(key.types.end(), results.begin(), results.end());
  return memo.Get(std::move(key),
                  [&] { return DimMapOf(op, params.get(), operands, results).linear; });
}

namespace {

std::vector<ErrorOperand> Operands(const InferCall& call) {
  std::vector<ErrorOperand> out;
  for (size_t i = 0; i < call.operands.size() && i < 6; ++i) {
    bool known = i < call.operand_locs.size() && call.operand_locs[i].line() > 0;
    out.push_back({OperandName(call.op, i), WrittenOf(call, i)->text(),
                   known ? base::Where(call.operand_locs[i]) : ""});
  }
  return out;
}

ErrorDetail Detail(const InferCall& call, int check, std::string reason) {
  std::string name = call.shown_as ? call.shown_as : std::string(call.op.name);
  return {.kind = {},
          .op = name,
          .label = fmt::format("{}.C{}", call.op.name, check),
          .where = base::Where(call.loc),
          .reason = std::move(reason),
          .operands = Operands(call),
          .notes = {},
          .fixes = {}};
}

// C20: refuses ops that compute with random keys. Keys can only be moved.
void CheckKeys(const InferCall& call, const std::vector<ShapeAndDType>& results) {
  if (call.op.keys) return;
  bool any = false;
  for (const Type* t : call.operands) any = any || t->dtype().is_key();
  for (const ShapeAndDType& r : results) any = any || r.dtype.is_key();
  if (any)
    throw TypeProblem{TypeProblem::kDType, 20,
                      "a random key is not a number: it can be moved, but not computed with"};
}

std::vector<ShapeAndDType> InferShapes(const InferCall& call) {
  try {
    CheckKeys(call, {});
    std::vector<ShapeAndDType> results =
        (*call.op.type)(TypeCall{call.op, call.operands, call.params, call.wanted});
    CheckKeys(call, results);
    for (const ShapeAndDType& r : results)
      if (std::string problem = SizeProblem(r.shape); !problem.empty())
        throw TypeProblem{TypeProblem::kShape, 2,
                          fmt::format("the result would have {}: {}", problem, FieldText(r.shape))};
    return results;
  } catch (TypeProblem& p) {
    ErrorDetail detail = Detail(call, p.check, std::move(p.reason));
    if (p.kind == TypeProblem::kDType) base::ThrowDType(std::move(detail));
    base::ThrowShape(std::move(detail));
  }
}

void CheckMesh(const InferCall& call) {
  for (size_t i = 0; i < call.operands.size(); ++i) {
    const sharding::MeshDef* mesh = call.operands[i]->mesh();
    if (!mesh || !call.mesh || mesh == call.mesh) continue;
    ErrorDetail detail = Detail(
        call, sharding::Conflict::kMesh,
        fmt::format("{} is on the mesh {}, but the current one is {}", OperandName(call.op, i),
                    mesh->FullText(*call.mesh), call.mesh->FullText(*mesh)));
    detail.notes = {"move it to the current mesh: reshard(" + OperandName(call.op, i) + ", P())"};
    if (mesh->has_mode(AxisMode::Manual)) {
      detail.reason = fmt::format("{} is a per-device value of a shard_map that has ended",
                                  OperandName(call.op, i));
      detail.notes = {"return it from the function, with a spec in out_specs"};
    }
    base::ThrowSharding(std::move(detail));
  }
}

[[noreturn]] void ThrowConflict(const InferCall& call, const sharding::DimMap& map,
                                const std::vector<ShapeAndDType>& results,
                                const sharding::Conflict& conflict) {
  ErrorDetail detail = Detail(call, conflict.check, conflict.reason);
  if (conflict.illegal_result)
    detail.notes.push_back(
        fmt::format("result: {}{} is not a legal type", results[0].dtype.name(),
                    sharding::TypeSuffix(results[0].shape, *conflict.illegal_result)));
  detail.fixes = SuggestFixes(call, map, results, conflict);
  base::ThrowSharding(std::move(detail));
}

}  // namespace

namespace {

// Checks that out_sharding is for an only result, or results of the same dims, and of their rank:
// program text may declare another.
void CheckOut(const InferCall& call, const sharding::DimMap& map,
              const std::vector<ShapeAndDType>& results) {
  if (!call.out_sharding) return;
  const auto refuse = [&](std::string reason, std::vector<std::string> notes) {
    ErrorDetail detail = Detail(call, 1, std::move(reason));
    detail.notes = std::move(notes);
    base::ThrowShape(std::move(detail));
  };
  if (!sharding::AreResultsAlike(map))
    refuse(
        fmt::format("out_sharding is for one result, or for results of the same dims, but this op "
                    "has {} with other dims",
                    results.size()),
        {"call it without out_sharding, then reshard its results"});
  const int rank = call.out_sharding->rank(), own = static_cast<int>(results[0].shape.size());
  if (rank != own)
    refuse(fmt::format("out_sharding is for an array of rank {}, but the result has rank {}", rank,
                       own),
           {});
}

absl::InlinedVector<const Type*, 1> Infer(const InferCall& call) {
  std::vector<ShapeAndDType> shapes = InferShapes(call);
  CheckMesh(call);
  DimsCall dims{.op = call.op, .operands = {}, .results = {}, .params = call.params};
  std::vector<sharding::RuleOperand> operands;
  for (const Type* t : call.operands) {
    dims.operands.push_back(&t->shape());
    operands.push_back({&t->sharding(), &t->shape(), t->dtype().is_inexact()});
  }
  for (const ShapeAndDType& r : shapes) dims.results.push_back(&r.shape);
  dims.to_float = shapes[0].dtype.is_inexact();
  sharding::DimMap map = std::get<DimMapFn>(*call.op.dims)(dims);
  CheckOut(call, map, shapes);
  sharding::RuleResult rule = sharding::ExplicitRule(map, operands, dims.results, call.out_sharding,
                                                     MappedAxesOf(call.mesh));
  if (rule.conflict) ThrowConflict(call, map, shapes, *rule.conflict);
  bool weak = !call.operands.empty() && (!call.wanted || call.wanted->dtype.is_default());
  for (const Type* t : call.operands) weak = weak && t->weak();
  absl::InlinedVector<const Type*, 1> types;
  for (size_t i = 0; i < shapes.size(); ++i) {
    sharding::TensorSharding& s = rule.results[i];
    if (!s.mesh) s.mesh = call.mesh;
    types.push_back(Type::Get(std::move(shapes[i].shape), shapes[i].dtype, std::move(s),
                              weak && !shapes[i].dtype.is_bool()));
  }
  return types;
}

}  // namespace

// Caches results under everything that decides them. The wanted shape, dtype and out_sharding enter
// the key as a type, and the mesh as a scalar type that is reduced over the mapped axes.
absl::InlinedVector<const Type*, 1> InferTypes(const InferCall& call) {
  static thread_local Memo<absl::InlinedVector<const Type*, 1>> memo;
  OpKey key{&call.op, call.shared_params, {call.operands.begin(), call.operands.end()}};
  bool known = call.params == nullptr || call.shared_params != nullptr;
  if (!known || (call.out_sharding && !call.wanted)) return Infer(call);
  sharding::TensorSharding scope = sharding::Replicated(call.mesh, 0);
  scope.reduced = MappedAxesOf(call.mesh);
  key.types.push_back(Type::Get({}, f32, std::move(scope)));
  if (call.wanted) {
    if (CheckedElements(call.wanted->shape) < 0) return Infer(call);
    bool fits = call.out_sharding && call.out_sharding->dims.size() == call.wanted->shape.size();
    if (call.out_sharding && !fits) return Infer(call);
    key.types.push_back(fits ? Type::Get(call.wanted->shape, call.wanted->dtype, *call.out_sharding)
                             : Type::Get(call.wanted->shape, call.wanted->dtype));
    key.types.push_back(fits ? key.types.back() : nullptr);
  }
  return memo.Get(std::move(key), [&] { return Infer(call); });
}

}  // namespace tessera::ir
