// OpDef: everything semantic about one op, in one record. Facts that follow from the dimension map
// (typing, local shapes, collectives, cost) are not here.
#pragma once
#include <absl/container/inlined_vector.h>
#include <absl/types/span.h>

#include <array>
#include <functional>
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
// A function inside an instruction. It is closed: it uses nothing but its inputs.
using RegionPtr = std::shared_ptr<const Program>;
using Regions = absl::Span<const RegionPtr>;
// A value of a program: its index in Program::values.
enum class ValueId : int32_t {};
inline constexpr ValueId kNoValue{-1};
using Types = absl::Span<const Type* const>;

// A result before the typing rule has added its sharding.
struct ShapeAndDType {
  Shape shape;
  DType dtype;
};

// A refusal by an op's type function. The caller adds the op, the operands and the lines.
struct TypeProblem {
  enum Kind { kShape, kDType } kind;
  int check;  // C<check>, from 11 on: 1 to 10 are common to all ops
  std::string reason;
};

// The arguments of a type function. `wanted`, if given, has the shape (reshape, broadcast, iota)
// and dtype that the user asks for.
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
  bool to_float = true;  // whether the first result is floating or complex
};
using DimMapFn = sharding::DimMap (*)(const DimsCall&);
// Where a value enters or leaves an op with regions.
struct FlowEnd {
  enum Kind : uint8_t { kOperand, kRegionInput, kRegionOutput, kResult } kind;
  int32_t region = 0;  // for kRegionInput and kRegionOutput
  int32_t index = 0;
  friend bool operator==(const FlowEnd&, const FlowEnd&) = default;
};
// Ends of one type. A value from any of the sources (operands, region outputs) flows to all targets
// (region inputs, results). The owner is the target that represents the edge.
struct FlowEdge {
  FlowEnd owner;
  std::vector<FlowEnd> sources;
  std::vector<FlowEnd> targets;  // without the owner
  // Operands and results have a leading unsharded dim that the regions step over.
  bool stacked = false;
};
struct FlowCall {
  const Params* params;
  size_t operands;
  Regions regions;
};
// How values flow through an op with regions. Every region input and every result is a target of
// one edge. Typing, lowering and propagation read the edges.
struct DataFlowEdges {
  std::vector<FlowEdge> (*edges)(const FlowCall&);
};
// The counterpart of a region's input or output: an operand, a result or a residual (a value that
// one region passes to another). It has the type of that or of its tangent, or if `cotangent` of
// its cotangent.
struct RegionRole {
  enum Kind : uint8_t { kOperand, kResult, kResidual } kind;
  int32_t index = 0;
  bool cotangent = false;
};
struct RegionRoles {
  std::vector<RegionRole> inputs, outputs;
};
// Returns the roles per region, for an op whose regions are rules of a user's function.
using RolesFn = std::vector<RegionRoles> (*)(const FlowCall&, Types operands, Types results);
// The op has no dimension map, for this reason, which users may read.
struct NoRule {
  const char* why;
};
using DimsRule = std::variant<DimMapFn, DataFlowEdges, NoRule>;

// An operand or result as one device sees it: `shape` is local, and `global` and `sharding` locate
// the shard.
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

// The ways to lower an op.
using ExpandFn = std::vector<ValueId> (*)(Builder&, const Params*,
                                          absl::Span<const ValueId> operands, const Type* result);
// How an op that computes on windows of its operands (sharding::Access) runs on views: the parts of
// a sharded dim that the windows of one shard cover (sharding::WindowView).
struct OnViews {
  // Returns the params for views along these dims of the result. A view begins with the first
  // window of its shard, and includes the padding and the positions between elements.
  ParamsPtr (*params)(const Params*, const std::vector<bool>& viewed) = nullptr;
  // Returns the element of a view where operand k has none: the params of a constant.
  ParamsPtr (*outside)(const Params*, size_t k, DType) = nullptr;
};
struct AsKernel {  // a kernel of its own
  void (*make)(const LocalCall&, plan::Kernel*);
  // Replaces the op where a reduce factor is sharded and partial results do not combine, or where a
  // scan factor is sharded.
  ExpandFn sharded = nullptr;
  // Replaces the op where operand 0 is one number everywhere. It gets that number as a scalar, and
  // makes any part of the result.
  ExpandFn of_scalar = nullptr;
  OnViews views = {};  // if the map has accesses with windows
};
struct AsElementwise {  // element by element; may join a fused group
  plan::ScalarOp op;
};
struct AsReduction {  // over the reduce factors of its map; may join a fused group
  Reduction reduction;
  void (*make)(const LocalCall&, plan::Kernel*);  // if it is not fused
};
struct AsBroadcast {  // repeats elements along new dims; may join a fused group
  void (*make)(const LocalCall&, plan::Kernel*);
};
struct AsConstant {  // a literal, made where it is used
  base::ElementBits (*bits)(const Params*);
};
// A number for each position of a tensor: the sum of stride times index over the dims, plus the
// offset of the device (no offsets: 0).
struct AffineIndex {
  std::vector<int64_t> strides, offsets;
};
struct AsIota {  // an index, made where it is used
  AffineIndex (*index)(const Params*, const LocalTensor& result);
};
struct AsView {};     // the same buffer with another shape
struct AsExpansion {  // other ops, substituted before lowering
  ExpandFn expand;
  bool late = false;  // after propagation, which reads the op
};
// A move between shardings: reshard, and the collectives it becomes.
struct AsMove {
  bool implied = false;  // not asked for by the user (docs/design.md, "Asked for, or implied")
  // The step of a reshard plan that the op is, in device programs.
  std::optional<sharding::StepKind> step = {};
};
// The places between which a manual op moves. A device's own array (varying) is seen as one part of
// a larger array, or as a term of a sum.
struct ManualViews {
  const Type *from, *to;
};
// Views the operand as `from`, moves that to `to`, and views it as the result.
struct AsManualMove {
  ManualViews (*views)(const Params*, const Type* operand, const Type* result);
  bool implied = false;  // as in AsMove
  // Whether both views are the same, so that devices send nothing: pcast, assume_invariant.
  bool is_local(const Params* params, const Type* operand, const Type* result) const {
    const ManualViews seen = views(params, operand, result);
    return seen.from == seen.to;
  }
};
struct AsPermute {};  // each device gets the array of another, or zeros: PermuteParams
struct AsRegions {    // runs its regions
  enum Kind : uint8_t {
    kWhile,   // condition, body: WhileParams
    kScan,    // body: ScanParams
    kSwitch,  // branches; operand 0 is the index, or a bool: true takes the first branch
    kCall,    // region 0, once; the others are rules. Inlined before lowering
  } kind;
};
// Calls a host function once, with the operands as they are laid out (ir/host_call.h).
struct AsHostCall {};
using Lowering =
    std::variant<AsKernel, AsElementwise, AsReduction, AsBroadcast, AsConstant, AsIota, AsView,
                 AsExpansion, AsMove, AsManualMove, AsPermute, AsRegions, AsHostCall>;

// The effects of an op besides its results. Passes never drop, merge or repeat an instruction with
// an effect, and keep ordered ones in order.
enum class Effect : uint8_t { kNone, kUnordered, kOrdered };

struct ReferenceCall {
  const OpDef& op;
  const Params* params;
  std::vector<const HostTensor*> operands;
  std::vector<HostTensor*> results;  // allocated, with shape and dtype
  Regions regions = {};
};
// The obvious computation on whole tensors, with which tests compare.
using ReferenceFn = void (*)(const ReferenceCall&);

// Returns a region with tangents of the inputs that are true in `active`: the inputs are followed
// by their tangents, and the outputs by the tangents of all floating outputs.
using RegionJvp = std::function<Program(const Program& region, const std::vector<bool>& active)>;
// An instruction whose derivative is being built. Values are of the program under construction. In
// a transpose, operands that depend on the tangents are kNoValue, and there are no results.
struct DiffCall {
  Builder& builder;
  const OpDef& op;
  const ParamsPtr& params;
  absl::Span<const ValueId> operands, results;
  Types operand_types, result_types;
  Regions regions = {};
  const RegionJvp* jvp_of = nullptr;  // in a jvp
};
// Returns the result's tangent, given one operand's tangent; linear in it.
using TangentFn = ValueId (*)(const DiffCall&, ValueId tangent);
// Returns the results' tangents, given those of the operands; kNoValue is zero everywhere. The rule
// may replace `results` by values that it computes differently.
using JvpFn = std::vector<ValueId> (*)(const DiffCall&, absl::Span<const ValueId> tangents,
                                       std::vector<ValueId>& results);
// Returns the cotangent of operand k, in which the op is linear, given the only result's.
using TransposeFn = ValueId (*)(const DiffCall&, ValueId cotangent, size_t k);
// Returns the cotangents of the operands (kNoValue: none), given those of the results (kNoValue:
// zero everywhere).
using TransposesFn = std::vector<ValueId> (*)(const DiffCall&,
                                              absl::Span<const ValueId> cotangents);

// The derivative of an op with one result, operand by operand. DimMap::linear lists the operands in
// which the op is linear: their tangent is the op itself, applied to the tangents.
struct Derivative {
  // The tangent rule of an operand. If the op is not linear in it, null means a derivative of zero
  // almost everywhere. If it is linear in it, the rule applies when no other operand of the linear
  // group has a tangent; null then means the op itself, with zeros for the others.
  std::array<TangentFn, 3> of = {};
  TransposeFn transpose = nullptr;  // for ops that are linear in an operand
  // Why the op has no derivative in an operand, as users read it; null if it has one.
  std::array<const char*, 3> none = {};
};
// The derivative of an op with several results, or whose tangent is not a sum over operands.
struct Structural {
  JvpFn jvp;
  TransposesFn transposes = nullptr;  // for ops that occur in linear programs
};
// The derivative of an op with regions follows from its regions.
struct ByRegions {};
struct NotDifferentiable {
  const char* why;  // as users read it
};
using Diff = std::variant<Derivative, Structural, ByRegions, NotDifferentiable>;

// The leading dim that vmap adds to arrays: the batch dim.
struct MappedDim {
  int64_t size = 0;
  const sharding::MeshDef* mesh = nullptr;
  sharding::AxisList axes = {};                         // the Explicit axes that shard it
  sharding::DimAxes lies = {.axes = {}, .open = true};  // its axes in constraints over Auto axes
};
// An instruction some of whose operands get the batch dim. All its results get it.
struct BatchCall {
  Builder& builder;
  const OpDef& op;
  const ParamsPtr& params;
  absl::Span<const ValueId> operands;  // mapped ones have the batch dim
  const std::vector<bool>& mapped;
  Types operand_types, result_types;  // without the batch dim
  const MappedDim& dim;
};
// Returns the results with the batch dim.
using BatchFn = std::vector<ValueId> (*)(const BatchCall&);

// A field without default: leaving it out is a compile error.
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

// When propagation over Auto axes first visits an op.
enum class Travel : uint8_t {
  kLate,          // with all others; elementwise ops are always early
  kElementwise,   // like an elementwise op, where operand and result have one shape
  kEarly,         // early: it only passes shardings on
  kEarlyForward,  // early, from operands to results only
  kAsOne,         // operand and result are one value, like the ends of a data-flow edge
};

struct OpDef {
  std::string_view name;  // in program text
  std::string_view doc;   // one sentence
  Required<TypeFn> type;
  Required<DimsRule> dims;
  Required<Lowering> lowering;
  Required<ReferenceFn> reference;
  Required<Diff> diff;
  ParamsKind params = {};
  // For an op that becomes another op when certain operands get the batch dim. All else is derived:
  // the dim is a leading pass factor, and the dim numbers in params shift (ir/params.h).
  BatchFn batch = nullptr;
  RolesFn roles = nullptr;     // for calls with rules
  double flops_per_point = 0;  // per point of the iteration space
  bool out_sharding = false;   // accepts one
  bool keys = false;           // operands and results may be random keys
  // Whether passes must neither move nor recompute the op: a user's kernel, or a barrier.
  bool opaque = false;
  // The effect of the op itself. EffectOf (ir/uses.h) adds the effects of regions.
  Effect effect = Effect::kNone;
  Travel travel = Travel::kLate;
  // Whether the op, applied to constants, makes a constant, which propagation copies for every
  // user. Elementwise ops and broadcasts always do.
  bool foldable = false;
  // StableHLO has the last two operands in the opposite order, and their order breaks ties.
  bool swaps_last = false;
  std::array<std::string_view, 4> operand_names = {"operand", "", ""};  // in messages
};

// Installs the list of all ops (src/ops), once, before the first program.
void InstallOps(absl::Span<const OpDef* const> ops);
// Adds a user's op to those that FindOp knows. It must stay alive and have a new name.
void AddOp(const OpDef* op);
// Returns the op of that name, or null.
const OpDef* FindOp(std::string_view name);
absl::Span<const OpDef* const> AllOps();

}  // namespace tessera::ir
