// OpDef: everything semantic about one op, in one record. What can be derived from the dimension
// map (typing, local shapes, collectives, cost) is not here.
#pragma once
#include <absl/container/inlined_vector.h>
#include <absl/types/span.h>

#include <array>
#include <string_view>
#include <variant>
#include <vector>

#include "ir/host_tensor.h"
#include "ir/params.h"
#include "ir/type.h"
#include "sharding/dim_map.h"

namespace tessera::plan {
struct Kernel;
enum class ScalarOp : uint8_t;
enum class Reduction : uint8_t;
}  // namespace tessera::plan

namespace tessera::ir {

struct OpDef;
class Builder;
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
// No dimension map, with the reason a user would read.
struct NoRule {
  const char* why;
};
using DimsRule = std::variant<DimMapFn, NoRule>;

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

// How an op is computed on local buffers.
using ExpandFn = std::vector<ValueId> (*)(Builder&, const Params*,
                                          absl::Span<const ValueId> operands, const Type* result);
struct Kernel {  // by a kernel of its own
  void (*make)(const LocalCall&, plan::Kernel*);
  // What to do instead where a reduce factor is sharded, if its partial results do not combine.
  ExpandFn sharded = nullptr;
};
struct Elementwise {  // element by element: may join a fused group
  plan::ScalarOp op;
};
struct Reduce {  // over the reduce factors of its map: may join a fused group
  plan::Reduction reduction;
  void (*make)(const LocalCall&, plan::Kernel*);  // on its own
};
struct Broadcast {  // elements are repeated along new dims: may join a fused group
  void (*make)(const LocalCall&, plan::Kernel*);
};
struct Constant {  // a literal: may join a fused group
  uint64_t (*bits)(const Params*);
};
struct IotaLike {  // the index along a dim: may join a fused group
  int64_t (*dim)(const Params*);
  void (*make)(const LocalCall&, plan::Kernel*);
};
struct View {};  // the same buffer under another shape
struct Expand {  // by other ops, before lowering
  ExpandFn expand;
};
struct Move {};  // between shardings: reshard and the collectives it becomes
using Lowering =
    std::variant<Kernel, Elementwise, Reduce, Broadcast, Constant, IotaLike, View, Expand, Move>;

struct ReferenceCall {
  const OpDef& op;
  const Params* params;
  std::vector<const HostTensor*> operands;
  std::vector<HostTensor*> results;  // allocated, with shape and dtype
};
// The obvious computation on whole tensors: the oracle of the tests.
using ReferenceFn = void (*)(const ReferenceCall&);

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
  kEarly,         // it only passes shardings on
  kEarlyForward,  // the same, from operands to results only
};

struct OpDef {
  std::string_view name;  // as program text has it
  std::string_view doc;   // one sentence
  Required<TypeFn> type;
  Required<DimsRule> dims;
  Required<Lowering> lowering;
  Required<ReferenceFn> reference;
  ParamsKind params = {};
  double flops_per_point = 0;  // per point of the iteration space
  bool out_sharding = false;   // takes one
  Travel travel = Travel::kLate;
  std::array<std::string_view, 3> operand_names = {"operand", "", ""};  // in messages
};

// The list of all ops, in src/ops. Installed once, before the first program.
void InstallOps(absl::Span<const OpDef* const> ops);
// Returns the op of that name, null if there is none.
const OpDef* FindOp(std::string_view name);
absl::Span<const OpDef* const> AllOps();

}  // namespace tessera::ir
