// OpDef: everything semantic about one op, in one record. What can be derived from the dimension
// map (typing, local shapes, collectives, cost) is not here.
#pragma once
#include <absl/container/inlined_vector.h>
#include <absl/types/span.h>

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "ir/host_tensor.h"
#include "ir/params.h"
#include "ir/type.h"
#include "sharding/reshard.h"

namespace tessera::plan {
struct Kernel;
enum class ScalarOp : uint8_t;
}  // namespace tessera::plan

namespace tessera::ir {

struct OpDef;
struct Program;
class Builder;
// A function inside an instruction: closed, it uses nothing but its inputs.
using RegionPtr = std::shared_ptr<const Program>;
using Regions = absl::Span<const RegionPtr>;
using ValueId = int32_t;
using Types = absl::Span<const Type* const>;

// Result of type inference: the sharding is added by the typing rule.
struct ShapeAndDType {
  Shape shape;
  DType dtype;
};

// A refusal by an op's type function; the caller adds op, operands and lines.
struct TypeProblem {
  enum Kind { kShape, kDType } kind;
  int check;  // C<check>, from 11 on: 1 to 10 are common to all ops
  std::string reason;
};

// What a type function sees. `wanted`, if given, has the result's shape (reshape, broadcast, iota)
// and dtype.
struct TypeCall {
  const OpDef& op;
  Types operands;
  const Params* params;
  const ShapeAndDType* wanted;
  Regions regions = {};
  [[noreturn]] void FailShape(int check, std::string reason) const {
    throw TypeProblem{TypeProblem::kShape, check, std::move(reason)};
  }
  [[noreturn]] void FailDType(int check, std::string reason) const {
    throw TypeProblem{TypeProblem::kDType, check, std::move(reason)};
  }
};
using TypeFn = std::vector<ShapeAndDType> (*)(const TypeCall&);

struct DimsCall {
  const OpDef& op;
  sharding::Shapes operands, results;
  const Params* params;
  bool to_float = true;  // the first result is floating
};
using DimMapFn = sharding::DimMap (*)(const DimsCall&);
// Where a value enters or leaves an op with regions.
struct FlowEnd {
  enum Kind : uint8_t { kOperand, kRegionInput, kRegionOutput, kResult } kind;
  int32_t region = 0;  // kRegionInput, kRegionOutput
  int32_t index = 0;
  friend bool operator==(const FlowEnd&, const FlowEnd&) = default;
};
// Ends that are of one type: what comes from any of the sources (operands, region outputs) goes to
// all targets (region inputs, results). The owner is the target that stands for all of them.
struct FlowEdge {
  FlowEnd owner;
  std::vector<FlowEnd> sources;
  std::vector<FlowEnd> targets;  // but for the owner
  // Operands and results have one more dim in front, unsharded, over which the regions step.
  bool stacked = false;
};
struct FlowCall {
  const Params* params;
  size_t operands;
  Regions regions;
};
// Of an op with regions: how values flow through it. Every region input and result is a target of
// one edge. Typing, lowering and propagation read the edges.
struct DataFlowEdges {
  std::vector<FlowEdge> (*edges)(const FlowCall&);
};
// What a value that enters or leaves a region goes with: it, or its tangent, is of the type of an
// operand, a result or a residual (what one region leaves to another), or it is a cotangent of one.
struct RegionRole {
  enum Kind : uint8_t { kOperand, kResult, kResidual } kind;
  int32_t index = 0;
  bool cotangent = false;
};
struct RegionRoles {
  std::vector<RegionRole> inputs, outputs;
};
// Of an op whose regions are rules of a user's function: their roles, per region.
using RolesFn = std::vector<RegionRoles> (*)(const FlowCall&, Types operands, Types results);
// No dimension map, with the reason a user would read.
struct NoRule {
  const char* why;
};
using DimsRule = std::variant<DimMapFn, DataFlowEdges, NoRule>;

// One instruction as one device sees it. Shapes of `operands` and `results` are local; the global
// shape and the sharding of each say where the shard lies.
struct LocalTensor {
  DType dtype;
  Shape shape, global;
  const sharding::TensorSharding* sharding;
};
struct LocalCall {
  const OpDef& op;
  const Params* params;
  std::vector<LocalTensor> operands, results;
  const sharding::MeshDef* mesh;  // null: one device
};

// What an op is lowered as.
using ExpandFn = std::vector<ValueId> (*)(Builder&, const Params*,
                                          absl::Span<const ValueId> operands, const Type* result);
struct AsKernel {  // a kernel of its own
  void (*make)(const LocalCall&, plan::Kernel*);
  // What to do instead where a reduce factor is sharded, if its partial results do not combine.
  ExpandFn sharded = nullptr;
  // The same where operand 0 is one number everywhere: from that scalar, as a part of any result.
  ExpandFn of_scalar = nullptr;
};
struct AsElementwise {  // element by element: may join a fused group
  plan::ScalarOp op;
};
struct AsReduction {  // over the reduce factors of its map: may join a fused group
  Reduction reduction;
  void (*make)(const LocalCall&, plan::Kernel*);  // on its own
};
struct AsBroadcast {  // elements are repeated along new dims: may join a fused group
  void (*make)(const LocalCall&, plan::Kernel*);
};
struct AsConstant {  // a literal: made where it is used
  uint64_t (*bits)(const Params*);
};
// Numbers that are linear in the position in a tensor: a step per dim, and per device where they
// begin (empty: at 0).
struct AffineIndex {
  std::vector<int64_t> strides, offsets;
};
struct AsIota {  // an index: made where it is used, as a literal is
  AffineIndex (*index)(const Params*, const LocalTensor& result);
};
struct AsView {};     // the same buffer under another shape
struct AsExpansion {  // other ops, before lowering
  ExpandFn expand;
};
// A move between shardings: reshard, and the collectives it becomes.
struct AsMove {
  bool implied = false;  // not asked for by the user (docs/design.md, "Asked for, or implied")
  // The step of a reshard plan that the op is, in device programs.
  std::optional<sharding::StepKind> step = {};
};
// What a device has, as two places say it: an array of its own (varying) may be seen as one part of
// a larger one, or as a term of a sum.
struct ManualViews {
  const Type *from, *to;
};
struct AsManualMove {  // seen as `from`, moved to `to`, and seen as the result
  ManualViews (*views)(const Params*, const Type* operand, const Type* result);
  bool implied = false;  // as of an AsMove
  // Whether the views are one, so that devices send nothing: pcast, assume_invariant.
  bool is_local(const Params* params, const Type* operand, const Type* result) const {
    const ManualViews seen = views(params, operand, result);
    return seen.from == seen.to;
  }
};
struct AsPermute {};  // each device gets another's array, or zeros: PermuteParams
struct AsRegions {    // running its regions
  enum Kind : uint8_t {
    kWhile,   // condition, body: WhileParams
    kScan,    // body: ScanParams
    kSwitch,  // branches: operand 0 is the index; a bool takes the first branch where it is true
    kCall,    // region 0, once; the others are rules. Replaced by it before anything is lowered
  } kind;
};
// A call of a function of the host, once, which sees the operands as they lie (ir/host_call.h).
struct AsHostCall {};
using Lowering =
    std::variant<AsKernel, AsElementwise, AsReduction, AsBroadcast, AsConstant, AsIota, AsView,
                 AsExpansion, AsMove, AsManualMove, AsPermute, AsRegions, AsHostCall>;

// What an op does beside making its results. Passes neither drop nor merge nor repeat what has an
// effect, and keep the order of what is ordered.
enum class Effect : uint8_t { kNone, kUnordered, kOrdered };

struct ReferenceCall {
  const OpDef& op;
  const Params* params;
  std::vector<const HostTensor*> operands;
  std::vector<HostTensor*> results;  // allocated, with shape and dtype
  Regions regions = {};
};
// The obvious computation on whole tensors: the oracle of the tests.
using ReferenceFn = void (*)(const ReferenceCall&);

// An instruction, while its derivative is built. Values are of the program that is being built; in
// a transpose the operands that depend on the tangents are -1, and there are no results.
struct DiffCall {
  Builder& builder;
  const OpDef& op;
  const ParamsPtr& params;
  absl::Span<const ValueId> operands, results;
  Types operand_types, result_types;
  Regions regions = {};
};
// Returns the result's tangent for one of an operand; linear in it.
using TangentFn = ValueId (*)(const DiffCall&, ValueId tangent);
// Returns the results' tangents for those of the operands; -1 is zero everywhere. `results`: the
// values, which the rule may compute in another way.
using JvpFn = std::vector<ValueId> (*)(const DiffCall&, absl::Span<const ValueId> tangents,
                                       std::vector<ValueId>& results);
// Returns the cotangent of operand k, in which the op is linear, for that of the only result.
using TransposeFn = ValueId (*)(const DiffCall&, ValueId cotangent, size_t k);
// Returns the cotangents of the operands, -1 where there is none, for those of the results; -1 is
// zero everywhere.
using TransposesFn = std::vector<ValueId> (*)(const DiffCall&,
                                              absl::Span<const ValueId> cotangents);

// In which operands an op is linear its dimension map says (DimMap::linear). The tangent of those
// is the op itself, of the tangents.
struct Derivative {
  // The others, by operand. Null: the derivative is zero almost everywhere. Of an operand in which
  // the op is linear: how its tangent travels where the others of its group have none; null: beside
  // zeros.
  std::array<TangentFn, 3> of = {};
  TransposeFn transpose = nullptr;  // of ops that are linear in an operand
  // Those in which it has none, though it has one in others: why, as a user reads it.
  std::array<const char*, 3> none = {};
};
// An op with several results, or one whose tangent is no sum over operands.
struct Structural {
  JvpFn jvp;
  TransposesFn transposes = nullptr;  // of ops that linear programs have
};
// Of an op with regions: what its regions say.
struct ByRegions {};
struct NotDifferentiable {
  const char* why;  // what a user reads
};
using Diff = std::variant<Derivative, Structural, ByRegions, NotDifferentiable>;

// One more dim in front of arrays, along which a function is mapped.
struct MappedDim {
  int64_t size = 0;
  const sharding::MeshDef* mesh = nullptr;
  sharding::AxisList axes = {};                         // Explicit ones over which it lies
  sharding::DimAxes lies = {.axes = {}, .open = true};  // over Auto ones, as constraints inside say
};
// An instruction of which some operands get the dim; all results do.
struct BatchCall {
  Builder& builder;
  const OpDef& op;
  const ParamsPtr& params;
  absl::Span<const ValueId> operands;  // with the dim where they are mapped
  const std::vector<bool>& mapped;
  Types operand_types, result_types;  // without it
  const MappedDim& dim;
};
// Returns the results with the dim.
using BatchFn = std::vector<ValueId> (*)(const BatchCall&);

// A field that cannot be left out: no default constructor.
template <class T>
class Required {
 public:
  template <class U>
  requires std::is_constructible_v<T, U>
  constexpr Required(U value) : value_(std::move(value)) {}  // implicit: {.type = F}
  constexpr const T& operator*() const { return value_; }
  constexpr const T* operator->() const { return &value_; }

 private:
  T value_;
};

// When propagation over Auto axes visits an op, before it visits all.
enum class Travel : uint8_t {
  kLate,          // with all others; elementwise ops travel early whatever is said here
  kElementwise,   // as an elementwise op where operand and result have one shape
  kEarly,         // it only passes shardings on
  kEarlyForward,  // the same, from operands to results only
  kAsOne,         // operand and result are one value, as at the ends of a data-flow edge
};

struct OpDef {
  std::string_view name;  // as program text has it
  std::string_view doc;   // one sentence
  Required<TypeFn> type;
  Required<DimsRule> dims;
  Required<Lowering> lowering;
  Required<ReferenceFn> reference;
  Required<Diff> diff;
  ParamsKind params = {};
  // Of an op that one more dim of certain operands makes another op. All else is derived: the dim
  // is a pass factor in front, and the dim numbers of params shift (ir/params.h).
  BatchFn batch = nullptr;
  RolesFn roles = nullptr;     // of calls with rules
  double flops_per_point = 0;  // per point of the iteration space
  bool out_sharding = false;   // takes one
  bool keys = false;           // operands and results may be keys of random numbers
  // It stays where it is written: a user's kernel, or a barrier. Not computed anew elsewhere.
  bool opaque = false;
  // Of the op itself; what its regions do is derived (EffectOf in ir/uses.h).
  Effect effect = Effect::kNone;
  Travel travel = Travel::kLate;
  // Of constants it makes a constant, which propagation copies for every user; elementwise ops and
  // broadcasts do whatever is said here.
  bool foldable = false;
  // StableHLO has the last two operands the other way round; their order settles ties.
  bool swaps_last = false;
  std::array<std::string_view, 4> operand_names = {"operand", "", ""};  // in messages
};

// The list of all ops, in src/ops. Installed once, before the first program.
void InstallOps(absl::Span<const OpDef* const> ops);
// Adds a user's op to those that FindOp knows; it must stay alive, and its name be new.
void AddOp(const OpDef* op);
// Returns the op of that name, null if there is none.
const OpDef* FindOp(std::string_view name);
absl::Span<const OpDef* const> AllOps();

}  // namespace tessera::ir
