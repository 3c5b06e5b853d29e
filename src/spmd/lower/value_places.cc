// Tries other places for groups of values around moves, and keeps those that send fewer bytes.
#include "spmd/lower/value_places.h"

#include <absl/algorithm/container.h>
#include <absl/functional/function_ref.h>

#include <utility>
#include <vector>

#include "base/ids.h"
#include "ops/ops.h"
#include "sharding/local.h"
#include "spmd/lower/place_groups.h"
#include "spmd/lower/place_trial.h"

namespace tessera::spmd {
namespace {

using ir::Instruction;
using ir::Type;
using ir::ValueId;
using sharding::TensorSharding;
using Group = std::vector<ValueId>;

constexpr int kMostRounds = 3;
constexpr size_t kMostCandidates = 8;

// Who asked for the moves around a value: a line of the user, nobody (they are implied), or both
// for different moves.
struct Wish {
  std::optional<Loc> asked = {};  // the first line of the user that asks for some of them
  bool implied = false;           // nobody asks for some of them
  void Add(const Wish& other) {
    if (!asked) asked = other.asked;
    implied |= other.implied;
  }
};

// The wishes of values, which values keep when they get other places.
class Wishes {
 public:
  Wishes(const ir::Program& program, PlaceTrial& trial)
      : program_(program), trial_(trial), wishes_(program.values.size()) {}

  // Adds the wishes for the moves of the instructions to all values of the group.
  void Add(const Group& group, const std::vector<ir::InstructionId>& instructions) {
    const Wish wish = SumOver(instructions);
    for (ValueId v : group) wishes_[v].Add(wish);
  }

  // Returns the user's lines that ask for the moves at an instruction. Empty if all of its moves
  // are implied, or follow from its types.
  AskedMoves::mapped_type LinesOf(const Instruction& i) {
    const auto is_asked = [&](ValueId v) { return wishes_[v].asked.has_value(); };
    if (absl::c_none_of(i.operands, is_asked) && absl::c_none_of(i.results, is_asked)) return {};
    AskedMoves::mapped_type lines;
    for (const Wish& wish : At(i)) lines.push_back(wish.implied ? std::nullopt : wish.asked);
    return lines;
  }

 private:
  // Returns the wish for each move at an instruction. A move that the types require too keeps
  // its own wish. Any other move gets the wishes around its value, or, without any, those around
  // the instruction.
  std::vector<Wish> At(const Instruction& i) {
    const auto* move = std::get_if<ir::AsMove>(&*i.op->lowering);
    if (move && !move->implied) return {{.asked = i.loc}};
    const std::vector<TriedMove> now = trial_.MovesAt(i), typed = trial_.TypedMovesAt(i);
    Wish around;
    for (ValueId v : i.operands) around.Add(wishes_[v]);
    for (ValueId v : i.results) around.Add(wishes_[v]);
    std::vector<Wish> wishes;
    for (size_t k = 0; k < now.size(); ++k) {
      const size_t n = i.operands.size();
      const Wish& own = wishes_[k < n ? i.operands[k] : i.results[k - n]];
      const bool is_typed = k < typed.size() && typed[k] == now[k];
      const Wish& wish = own.asked || own.implied ? own : around;
      wishes.push_back(is_typed || !wish.asked ? Wish{.implied = true} : wish);
    }
    return wishes;
  }

  // Returns the wishes for all moves of the instructions that send something.
  Wish SumOver(const std::vector<ir::InstructionId>& instructions) {
    Wish sum;
    for (ir::InstructionId at : instructions) {
      const Instruction& i = InstructionAt(program_, at);
      if (!IsReshard(i) && !IsPartitioned(i)) continue;
      const std::vector<TriedMove> moves = trial_.MovesAt(i);
      const std::vector<Wish> wishes = At(i);
      for (size_t k = 0; k < moves.size(); ++k)
        if (trial_.Sends(moves[k])) sum.Add(wishes[k]);
    }
    return sum;
  }

  const ir::Program& program_;
  PlaceTrial& trial_;
  base::IdVector<ValueId, Wish> wishes_;
};

// Finds the best place of each group.
class PlaceSearch {
 public:
  PlaceSearch(const ir::Program& program, const ValueUses& uses, PlaceTrial& trial, Wishes& wishes)
      : program_(program), uses_(uses), trial_(trial), wishes_(wishes) {}

  // Moves each group to its best place. Returns whether any group has moved.
  bool MoveGroups(const std::vector<Group>& groups) {
    bool moved = false;
    for (const Group& group : groups) moved |= MoveToBestPlace(group);
    return moved;
  }

  // Puts back the groups whose new place only saves work, unless other groups send less because of
  // it. The last group that moved comes first.
  void PutBackNeutral() {
    for (; !neutral_.empty(); neutral_.pop_back()) PutBack(neutral_.back());
  }

 private:
  bool MoveToBestPlace(const Group& group) {
    const std::vector<TensorSharding> candidates = CandidatesFor(group);
    if (candidates.empty()) return false;
    const std::vector<ir::InstructionId> around = trial_.Around(group);
    if (around.size() > PlaceTrial::kMostInstructions) return false;
    const std::optional<PlaceCost> before = trial_.CostOf(around);
    if (!before) return false;
    const TensorSharding old = trial_.sharding(group[0]);
    const TensorSharding* best = nullptr;
    PlaceCost least = *before;
    for (const TensorSharding& candidate : candidates) {
      Put(group, candidate);
      const std::optional<PlaceCost> cost = trial_.CostOf(around);
      if (cost && cost->Beats(least)) least = *cost, best = &candidate;
    }
    Put(group, old);
    if (!best) return false;
    if (least.bytes == before->bytes) neutral_.push_back(group);
    wishes_.Add(group, around);
    Put(group, *best);
    return true;
  }

  void PutBack(const Group& group) {
    const std::vector<ir::InstructionId> around = trial_.Around(group);
    const std::optional<PlaceCost> before = trial_.CostOf(around);
    std::vector<const Type*> places;
    for (ValueId v : group) {
      places.push_back(trial_.place(v));
      trial_.SetPlace(v, trial_.TypedPlace(v));
    }
    const std::optional<PlaceCost> after = trial_.CostOf(around);
    if (after && before && after->bytes <= before->bytes &&
        after->collectives <= before->collectives)
      return;
    for (size_t k = 0; k < group.size(); ++k) trial_.SetPlace(group[k], places[k]);
  }

  void Put(const Group& group, const TensorSharding& s) {
    for (ValueId v : group) {
      const Type* typed = trial_.TypedPlace(v);
      trial_.SetPlace(v, typed->sharding() == s ? typed : typed->WithSharding(s));
    }
  }

  // Returns the places that neighbours of the group have or want, and in which no device holds more
  // of the group than now.
  std::vector<TensorSharding> CandidatesFor(const Group& group) {
    std::vector<TensorSharding> candidates;
    const TensorSharding& now = trial_.sharding(group[0]);
    const base::Shape& shape = trial_.place(group[0])->shape();
    const int64_t elements = sharding::LocalElements(shape, now);
    const auto add = [&](const Type* place) {
      const TensorSharding& s = place->sharding();
      if (s == now || place->shape() != shape || !IsPlainSharding(s) || s.mesh != now.mesh ||
          sharding::FirstUnevenDim(s, shape) >= 0 || candidates.size() == kMostCandidates ||
          sharding::LocalElements(shape, s) > elements)
        return;
      if (!absl::c_linear_search(candidates, s)) candidates.push_back(s);
    };
    for (ValueId v : group) {
      AddNeighbours(uses_.maker(v), v, add);
      for (ir::InstructionId user : uses_.users(v)) AddNeighbours(user, v, add);
    }
    return candidates;
  }

  void AddNeighbours(ir::InstructionId at, ValueId v, absl::FunctionRef<void(const Type*)> add) {
    const Instruction& i = InstructionAt(program_, at);
    if (IsReshard(i) || IsElementwise(i)) {
      for (ValueId w : i.operands) add(trial_.place(w));
      for (ValueId w : i.results) add(trial_.place(w));
      // An operand that the op repeats along a dim has a shape of its own.
      if (trial_.place(v)->shape() == trial_.place(i.results[0])->shape()) return;
    }
    const std::shared_ptr<const Decision> decision = trial_.DecisionOf(i);
    for (size_t k = 0; k < i.operands.size(); ++k)
      if (i.operands[k] == v) add(decision->operands[k]);
    for (size_t k = 0; k < i.results.size(); ++k)
      if (i.results[k] == v) add(decision->results[k]);
  }

  const ir::Program& program_;
  const ValueUses& uses_;
  PlaceTrial& trial_;
  Wishes& wishes_;
  std::vector<Group> neutral_;  // groups that were moved to save work only
};

// Makes the program with the chosen places.
class PlacedProgram {
 public:
  PlacedProgram(const ir::Program& program, PlaceTrial& trial, Wishes& wishes)
      : from_(program), trial_(trial), wishes_(wishes), placed_(program) {}

  ChosenPlaces Make(const FreeValues& free) && {
    for (ValueId v : free.is_free.ids())
      if (free.is_free[v] && trial_.sharding(v) != trial_.TypedPlace(v)->sharding())
        placed_.SetPlace(v, trial_.place(v));
    placed_.instructions.clear();
    for (const Instruction& i : from_.instructions) Add(i);
    return {.program = ir::Shared(std::move(placed_)), .asked = std::move(asked_)};
  }

 private:
  void Add(const Instruction& i) {
    AskedMoves::mapped_type lines = wishes_.LinesOf(i);
    if (trial_.LosesSplit(i)) return AddSplit(i, std::move(lines));
    placed_.instructions.push_back(i);
    if (!lines.empty()) asked_.emplace(i.results[0], std::move(lines));
  }

  // Adds an op whose result keeps the partial place in which its split leaves it, and the move from
  // there to the chosen place.
  void AddSplit(const Instruction& i, AskedMoves::mapped_type lines) {
    const std::shared_ptr<const Decision> split = trial_.DecisionOf(i);
    Instruction left = i;
    for (size_t k = 0; k < i.results.size(); ++k)
      left.results[k] = placed_.AddValue(from_.type(i.results[k]), i.loc, split->results[k]);
    placed_.instructions.push_back(left);
    for (size_t k = 0; k < i.results.size(); ++k) {
      placed_.instructions.push_back({.op = &ops::kImpliedReshard,
                                      .params = nullptr,
                                      .operands = {left.results[k]},
                                      .results = {i.results[k]},
                                      .loc = i.loc});
      if (!lines.empty())
        asked_.emplace(i.results[k], AskedMoves::mapped_type{lines[i.operands.size() + k]});
    }
    if (!lines.empty()) asked_.emplace(left.results[0], std::move(lines));
  }

  const ir::Program& from_;
  PlaceTrial& trial_;
  Wishes& wishes_;
  ir::Program placed_;
  AskedMoves asked_;
};

}  // namespace

ChosenPlaces ChoosePlaces(std::shared_ptr<const ir::Program> program, size_t steady) {
  if (!HasMoves(*program)) return {.program = std::move(program)};
  const ValueUses uses(*program, steady);
  PlaceTrial trial(*program, uses);
  const FreeValues free = FindFreeValues(*program, uses, trial);
  trial.KeepSplits(free.splits);
  Wishes wishes(*program, trial);
  PlaceSearch search(*program, uses, trial, wishes);
  int rounds = 0;
  while (rounds < kMostRounds && search.MoveGroups(GroupsOf(*program, free, trial))) ++rounds;
  if (rounds == 0) return {.program = std::move(program)};
  search.PutBackNeutral();
  return PlacedProgram(*program, trial, wishes).Make(free);
}

}  // namespace tessera::spmd
