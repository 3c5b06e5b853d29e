// Propagation of shardings over another compiler's graph: fill a Graph with values and ops, and get
// the sharding of every value back. Needs no arrays and no programs, and knows no op by its name.
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

// Strategies, each one built on those before: all tensors of an op must agree; conflicts are
// resolved; ops take turns; dims take turns.
enum class Stage : uint8_t { kBasic, kAggressive, kOpPriority, kUserPriority };

// Which way shardings cross an op: from operands to results, back, or both ways.
enum class Direction : uint8_t { kNone = 0, kForward = 1, kBackward = 2, kBoth = 3 };
constexpr Direction operator|(Direction a, Direction b) {
  return static_cast<Direction>(static_cast<uint8_t>(a) | static_cast<uint8_t>(b));
}
constexpr Direction operator&(Direction a, Direction b) {
  return static_cast<Direction>(static_cast<uint8_t>(a) & static_cast<uint8_t>(b));
}

struct ValueOptions {
  std::vector<int64_t> shape = {};
  // Shardy's text, `<@mesh, [{"x"}, {"y", ?}p1]>`; empty: every dim is open. It is a start: open
  // dims may get more axes, and a dim with priority p1 has its turn after those of p0.
  std::string sharding = {};
  std::string name = {};                   // in messages and explanations; else "value 3"
  std::string where = {};                  // "model.f90:12"
  RegionId region = RegionId::kOutermost;  // where it is made; of an argument: whose it is
};

inline constexpr int kLastPriority = 99;

struct OpOptions {
  std::string name = {};  // in messages and explanations, and for Options::op_priorities
  // Shardy's text, `([i, j], [j, k])->([i, k]) {i=8, j=16, k=32} reduction={j}`, or the names of
  // dims as in einsum, `b h, h k -> b k`. Empty: nothing crosses the op; of a constraint, a barrier
  // and an elementwise op: the identity.
  std::string rule = {};
  std::vector<ValueId> operands = {}, results = {};
  // The round from which on shardings cross the op, both ways, 0 to kLastPriority; -1:
  // Options::op_priorities decide.
  int priority = -1;
  bool elementwise = false;  // pointwise over one shape; it passes shardings on in the first round
  bool constant = false;     // makes its result of nothing: every user gets a copy of its own
  bool foldable = false;     // constant-like: a constant if all its operands are
  bool expands = false;      // repeats its operand along new dims, as broadcasts do
  bool constraint = false;   // asks the sharding of its result of its operand as well
  bool barrier = false;      // shardings cross it in direction `crosses` only
  Direction crosses = Direction::kBoth;
  std::string where = {};
  RegionId region = RegionId::kOutermost;  // that it is in: ends of regions are, their ops are not
};

// Operand number `operand` of an op.
struct Use {
  OpId op;
  int operand = 0;
};

// Values that are one at run time: what enters and leaves the body of a loop, or leaves a branch.
// What a branch uses of the outside needs no edge: its ops may name any value.
struct EdgeOptions {
  std::vector<Use> sources = {};      // operands of the loop and of the ends of its bodies
  std::vector<ValueId> targets = {};  // arguments of bodies, results of the loop
  ValueId owner = ValueId{-1};        // that one of the targets whose sharding is that of all
  // Into or out of a region with manual axes, as shard_map has one: the sharding on the outside,
  // with the manual axes first in each dim. Values inside do not mention these, and are as large as
  // one device's part over them.
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

  // Returns a new value. Throws RuntimeError, with the place in the text, for a malformed sharding
  // and for one with unknown or repeated axes; ShardingError if it is not of the shape's rank.
  ValueId value(ValueOptions options, Loc loc = Loc::Current());
  // Returns a new op; ops are added in program order, a loop before what is inside. Throws
  // RuntimeError for a malformed rule; ShardingError for values that do not exist, and for a rule
  // that does not fit their shapes.
  OpId op(OpOptions options, Loc loc = Loc::Current());
  // Returns a new region of an op: a loop's or a branch's body, or one over whose `manual` axes
  // each device works by itself. Without manual axes regions only decide which comes first of
  // conflicting shardings, as in Shardy. Throws ShardingError for an op that does not exist, and
  // for axes that do not or are manual already.
  RegionId region(OpId op, std::vector<std::string> manual = {}, Loc loc = Loc::Current());
  // Adds a data-flow edge, which takes its turn among the ops where it is added. Throws
  // ShardingError for uses and values that do not exist, and for an `outer` sharding that does not
  // fit the region.
  void edge(EdgeOptions options, Loc loc = Loc::Current());
  // Says that these values must be sharded alike. Throws ShardingError unless their shapes are.
  void group(std::vector<ValueId> values, Loc loc = Loc::Current());
  // Returns the op that ends the function. Says what the function returns, and with which
  // shardings: one each, empty where it is free.
  OpId returns(std::vector<ValueId> values, std::vector<std::string> shardings = {},
               Loc loc = Loc::Current());

  struct Impl;  // the engine's graph

 private:
  friend Result propagate(const Graph&, Options, Loc);
  std::unique_ptr<Impl> impl_;
};

// What a predicate of Options::op_priorities is asked about.
struct OpFacts {
  OpId id;
  std::string_view name;
  bool elementwise, expands;
  bool single_use;  // no operand but scalars has another use
  bool shared;      // the factor asked about is of operands and results, not reduced or kept whole
};
using OpPriority = std::function<Direction(const OpFacts&)>;

// What happens to the shardings of arguments and of what is returned, as the outside sees them.
enum class Border : uint8_t {
  kWholeAxes,  // axes that do not divide the dim are cut, an open dim at its first sub-axis as well
  kEven,       // axes that do not divide the dim are cut
  kKeep,       // as propagated
};

struct Options {
  Stage stop_after = Stage::kUserPriority;
  // In the k-th round shardings cross an op the ways that the first k predicates say together;
  // after the last one all ops both ways. Empty: Shardy's order, those that pass shardings on
  // first.
  std::vector<OpPriority> op_priorities = {};
  Border border = Border::kWholeAxes;
  bool explain = true;  // Result::explain answers; costs a little time and memory
};

// A use of a constant that got a value of its own.
struct Copy {
  ValueId original;
  Use use;
  ValueId copy;  // Result::sharding and Result::explain know it
  ValueId made;  // by the use's op, where that is a copy itself: which one; else -1
};

class Result {
 public:
  struct Impl;
  explicit Result(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
  // Returns Shardy's text. Throws ShardingError if there is no such value.
  std::string sharding(ValueId value, Loc loc = Loc::Current()) const;
  // Returns the sharding of the k-th returned value. Throws ShardingError if fewer are returned.
  std::string returned(int k, Loc loc = Loc::Current()) const;
  // Returns where each axis of the value came from, and which ones it did not get and why. Throws
  // ShardingError if there is no such value, or Options::explain was off.
  std::string explain(ValueId value, Loc loc = Loc::Current()) const;
  // Returns the uses of constants that got values of their own.
  const std::vector<Copy>& copies() const;
  // Returns what was settled without asking, a sentence each.
  const std::vector<std::string>& warnings() const;

 private:
  std::shared_ptr<const Impl> impl_;
};

// Returns a sharding for every value. Throws ShardingError for a graph that is not well-formed: a
// value made twice, a constraint without a sharding, an edge without sources.
Result propagate(const Graph& graph, Options options = {}, Loc loc = Loc::Current());

}  // namespace propagation
}  // namespace tessera
