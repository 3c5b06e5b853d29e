// Sharding propagation for the graphs of other compilers. Fill a Graph with values and ops;
// propagate() returns the sharding of every value. It needs no arrays and no programs, and knows no
// op by name.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/error.h"
#include "tessera/mesh.h"

namespace TESSERA_PUBLIC tessera {
namespace propagation {

enum class ValueId : int32_t {};
enum class OpId : int32_t {};
enum class RegionId : int32_t { kOutermost = 0 };

// Strategies, each one built on those before: kBasic uses an axis only if all tensors of an op
// agree; kAggressive resolves conflicts; kOpPriority lets ops take turns; kUserPriority lets dims
// take turns.
enum class Stage : uint8_t { kBasic, kAggressive, kOpPriority, kUserPriority };

// The direction in which shardings cross an op: from operands to results, from results to operands,
// or both.
enum class Direction : uint8_t { kNone = 0, kForward = 1, kBackward = 2, kBoth = 3 };
constexpr Direction operator|(Direction a, Direction b) {
  return static_cast<Direction>(static_cast<uint8_t>(a) | static_cast<uint8_t>(b));
}
constexpr Direction operator&(Direction a, Direction b) {
  return static_cast<Direction>(static_cast<uint8_t>(a) & static_cast<uint8_t>(b));
}

struct ValueOptions {
  std::vector<int64_t> shape = {};
  // The initial sharding in Shardy's syntax, `<@mesh, [{"x"}, {"y", ?}p1]>`; empty: every dim is
  // open. Propagation may add axes to open dims. A dim of priority p1 takes its turn after those
  // of p0.
  std::string sharding = {};
  std::string name = {};   // in messages and explanations; default: "value 3"
  std::string where = {};  // "model.f90:12"
  // The region that contains the definition; for an argument, the region whose argument it is.
  RegionId region = RegionId::kOutermost;
};

inline constexpr int kLastPriority = 99;

struct OpOptions {
  std::string name = {};  // in messages and explanations, and for Options::op_priorities
  // The rule in Shardy's syntax, `([i, j], [j, k])->([i, k]) {i=8, j=16, k=32} reduction={j}`, or
  // as dim names like einsum's, `b h, h k -> b k`. Empty: shardings do not cross the op, except
  // that constraints, barriers and elementwise ops get the identity.
  std::string rule = {};
  std::vector<ValueId> operands = {}, results = {};
  // The first round in which shardings cross the op, in both directions: 0 to kLastPriority, or -1
  // to follow Options::op_priorities.
  int priority = -1;
  bool elementwise = false;  // pointwise over one shape; crossed in the first round
  bool constant = false;     // has no operands; every user gets its own copy
  bool foldable = false;     // a constant if all its operands are constants
  bool expands = false;      // repeats its operand along new dims, like a broadcast
  bool constraint = false;   // constrains its operand to the sharding of its result
  bool barrier = false;      // shardings cross it in direction `crosses` only
  Direction crosses = Direction::kBoth;
  std::string where = {};
  // The region that contains the op. The end of a region is inside it; the op that owns it is not.
  RegionId region = RegionId::kOutermost;
};

// Operand number `operand` of an op.
struct Use {
  OpId op;
  int operand = 0;
};

// Values that are the same buffer at run time: values that enter and leave the body of a loop, or
// leave a branch. Ops of a branch may use any outer value; such a use needs no edge.
struct EdgeOptions {
  std::vector<Use> sources = {};      // operands of the loop and of the ends of its bodies
  std::vector<ValueId> targets = {};  // arguments of bodies, results of the loop
  ValueId owner = ValueId{-1};        // the target whose sharding all ends share
  // For an edge into or out of a region with manual axes, such as a shard_map: the sharding outside
  // of the region, with the manual axes first in each dim. Values inside do not use these axes;
  // their shapes are those of one device's part.
  std::string outer = {};
  std::string where = {};
};

class Result;
struct Options;

class Graph {
 public:
  explicit Graph(Mesh mesh, Loc loc = Loc::Current());
  ~Graph();
  Graph(Graph&&) noexcept;
  Graph& operator=(Graph&&) noexcept;

  // Returns a new value. Throws RuntimeError, with the position in the text, for a malformed
  // sharding and for unknown or repeated axes; ShardingError if the ranks differ.
  ValueId value(ValueOptions options, Loc loc = Loc::Current());
  // Returns a new op. Add ops in program order, a loop before the ops inside it. Throws
  // RuntimeError for a malformed rule; ShardingError for values that do not exist, and for a rule
  // that does not fit their shapes.
  OpId op(OpOptions options, Loc loc = Loc::Current());
  // Returns a new region of an op: the body of a loop or a branch, or one in which each device
  // works on its own part over the `manual` axes. Without manual axes, regions only affect which of
  // two conflicting shardings wins, as in Shardy. Throws ShardingError for an op that does not
  // exist, and for axes that do not exist or are manual already.
  RegionId region(OpId op, std::vector<std::string> manual = {}, Loc loc = Loc::Current());
  // Adds a data-flow edge. It takes its turn among the ops at the position where it is added.
  // Throws ShardingError for uses and values that do not exist, and for an `outer` sharding that
  // does not fit the region.
  void edge(EdgeOptions options, Loc loc = Loc::Current());
  // Requires these values to have the same sharding. Throws ShardingError unless they have the
  // same shape.
  void group(std::vector<ValueId> values, Loc loc = Loc::Current());
  // Sets the values that the function returns, with one sharding each (empty: free), and returns
  // the op that ends the function.
  OpId returns(std::vector<ValueId> values, std::vector<std::string> shardings = {},
               Loc loc = Loc::Current());

  struct Impl;  // graph of the engine

 private:
  friend Result propagate(const Graph&, Options, Loc);
  std::unique_ptr<Impl> impl_;
};

// The facts about an op and a factor that a predicate of Options::op_priorities gets.
struct OpFacts {
  OpId id;
  std::string_view name;
  bool elementwise, expands;
  bool single_use;  // no operand except scalars has another use
  bool shared;      // the factor is in operands and results, not reduced or replicated
};
using OpPriority = std::function<Direction(const OpFacts&)>;

// The treatment of the shardings of arguments and results, as the outside sees them.
enum class Border : uint8_t {
  kWholeAxes,  // drop axes that do not divide the dim; cut an open dim at its first sub-axis
  kEven,       // drop axes that do not divide the dim
  kKeep,       // as propagated
};

struct Options {
  Stage stop_after = Stage::kUserPriority;
  // In round k, shardings cross an op in the directions that the first k predicates return
  // together. After the last round they cross all ops in both directions. Empty: Shardy's order, in
  // which ops that only pass shardings on come first.
  std::vector<OpPriority> op_priorities = {};
  Border border = Border::kWholeAxes;
  bool explain = true;  // enables Result::explain; costs a little time and memory
};

// A copy of a constant for one of its uses.
struct Copy {
  ValueId original;
  Use use;
  ValueId copy;  // valid for Result::sharding and Result::explain
  ValueId made;  // if the use's op is itself a copy: the copy that it defines; else -1
};

class Result {
 public:
  struct Impl;
  explicit Result(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
  // Returns the sharding in Shardy's syntax. Throws ShardingError if there is no such value.
  std::string sharding(ValueId value, Loc loc = Loc::Current()) const;
  // Returns the sharding of the k-th returned value. Throws ShardingError if there are fewer.
  std::string returned(int k, Loc loc = Loc::Current()) const;
  // Returns the origin of each axis of the value, and the axes that it did not get, with the
  // reason. Throws ShardingError if there is no such value, or Options::explain was off.
  std::string explain(ValueId value, Loc loc = Loc::Current()) const;
  // Returns the copies of constants that were made.
  const std::vector<Copy>& copies() const;
  // Returns the conflicts that were resolved without an error, one sentence each.
  const std::vector<std::string>& warnings() const;

 private:
  std::shared_ptr<const Impl> impl_;
};

// Returns a sharding for every value. Throws ShardingError for a graph that is not well-formed: a
// value with two definitions, a constraint without a sharding, an edge without sources.
Result propagate(const Graph& graph, Options options = {}, Loc loc = Loc::Current());

}  // namespace propagation
}  // namespace tessera
