// Tries other places for groups of values around moves, and keeps what sends fewer bytes.
#include "spmd/lower/value_places.h"

#include <absl/container/flat_hash_map.h>
#include <absl/container/flat_hash_set.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/at.h"
#include "sharding/local.h"
#include "sharding/reshard.h"
#include "spmd/local_type.h"
#include "spmd/lower/op_partition.h"

namespace tessera::spmd {
namespace {

using ir::Instruction;
using ir::Type;
using ir::ValueId;
using sharding::TensorSharding;

bool IsMove(const Instruction& i) { return std::holds_alternative<ir::AsMove>(*i.op->lowering); }
bool IsElementwise(const Instruction& i) {
  return std::holds_alternative<ir::AsElementwise>(*i.op->lowering);
}

// Whether a decision of its own says where operands and results of the instruction lie.
bool IsPartitioned(const Instruction& i) {
  const ir::Lowering& l = *i.op->lowering;
  return IsElementwise(i) || std::holds_alternative<ir::AsKernel>(l) ||
         std::holds_alternative<ir::AsReduction>(l) || std::holds_alternative<ir::AsBroadcast>(l) ||
         std::holds_alternative<ir::AsView>(l);
}

// Whether the work is little beside moving the operands: other places are worth a try around it.
bool IsLight(const Instruction& i) {
  return IsMove(i) || IsElementwise(i) ||
         std::holds_alternative<ir::AsReduction>(*i.op->lowering) ||
         (IsPartitioned(i) && i.op->flops_per_point == 0);
}

bool IsPlain(const TensorSharding& s) { return s.unreduced.empty() && s.varying.empty(); }

// Whether every device has all of it: to move it sends nothing.
bool IsWhole(const TensorSharding& s) { return sharding::VaryingAxes(s).empty(); }

// What some instructions cost one device.
struct Sum {
  int64_t bytes = 0, collectives = 0;
  double work = 0;  // FLOPs, and elements written
  bool Beats(const Sum& other) const {
    if (work > other.work || bytes > other.bytes) return false;
    return bytes < other.bytes || (collectives <= other.collectives && work < other.work);
  }
};

// Who wants what is moved around a value.
struct Wish {
  std::optional<Loc> asked = {};  // the first line of the user that asks for some of it
  bool implied = false;           // nobody asks for some of it
  void Add(const Wish& other) {
    if (!asked) asked = other.asked;
    implied |= other.implied;
  }
};

class Placer {
 public:
  Placer(const ir::Program& program, size_t steady) : program_(program), first_(steady) {}

  // Returns the program and asked moves, no program if nothing changes.
  ChosenPlaces Run() {
    if (!FindMoves()) return {};
    Index();
    IndexUsers();
    FindFree();
    for (int round = 0; round < kMostRounds; ++round)
      if (!ImproveAll()) break;
    for (; !neutral_.empty(); neutral_.pop_back()) PutBack(neutral_.back());
    if (!changed_) return {};
    ir::Program placed = program_;
    for (size_t v = 0; v < places_.size(); ++v)
      if (const auto id = static_cast<ValueId>(v); free_[v] && !LiesAsTyped(id))
        placed.SetPlace(id, places_[v]);
    ChosenPlaces placement{.program = ir::Shared(std::move(placed))};
    for (const Instruction& i : program_.instructions)
      if (AskedMoves::mapped_type lines = LinesOf(i); !lines.empty())
        placement.asked.emplace(i.results[0], std::move(lines));
    return placement;
  }

 private:
  static constexpr int kMostRounds = 3;
  static constexpr size_t kMostCandidates = 8, kMostInstructions = 1000;

  const Type* Place(ValueId v) const { return base::At(places_, v); }
  const Type* Typed(ValueId v) const { return PlaceIn(program_, v); }
  // What is on no mesh lies as what is whole on the program's.
  const Type* TypedPlace(ValueId v) const {
    const Type* place = Typed(v);
    return place->mesh() ? place : Type::Get(place->shape(), place->dtype(), mesh_);
  }
  const TensorSharding& Sharding(ValueId v) const { return Place(v)->sharding(); }
  const Instruction& At(size_t i) const { return program_.instructions[i]; }
  bool SameShape(ValueId v, ValueId w) const { return Place(v)->shape() == Place(w)->shape(); }

  // ---- which values may lie elsewhere ----

  // Whether something is sent around an elementwise op or by a move that the user asked for. Marks
  // those instructions.
  bool FindMoves() {
    bool any = false;
    moves_.assign(program_.instructions.size(), false);
    for (size_t i = 0; i < moves_.size(); ++i) {
      const Instruction& instruction = At(i);
      if (!IsMove(instruction) && !IsElementwise(instruction)) continue;
      const Type* to = Typed(instruction.results[0]);
      for (ValueId v : instruction.operands) {
        const Type* from = Typed(v);
        if (from == to || from->shape() != to->shape() || from->sharding() == to->sharding())
          continue;
        any = moves_[i] = true;
      }
    }
    return any;
  }

  void Index() {
    const size_t n = program_.values.size();
    maker_.assign(n, -1);
    wishes_.resize(n);
    for (size_t v = 0; v < n; ++v) {
      places_.push_back(Typed(static_cast<ValueId>(v)));
      if (!mesh_) mesh_ = places_[v]->mesh();
    }
    for (size_t v = 0; v < n; ++v) places_[v] = TypedPlace(static_cast<ValueId>(v));
    visited_.assign(program_.instructions.size(), 0);
    visited_values_.assign(n, 0);
    steady_.assign(n, false);
    for (size_t k = 0; k < first_; ++k) base::At(steady_, program_.inputs[k]) = true;
    for (size_t i = 0; i < program_.instructions.size(); ++i) {
      const bool steady = AreSteady(At(i));
      for (ValueId v : At(i).results) base::At(steady_, v) = steady;
      for (ValueId v : At(i).results) base::At(maker_, v) = static_cast<int32_t>(i);
    }
  }

  // Users of all values in one list, value by value.
  void IndexUsers() {
    first_user_.assign(program_.values.size() + 1, 0);
    for (const Instruction& i : program_.instructions)
      for (ValueId v : i.operands) ++base::At(first_user_, v + 1);
    for (size_t v = 1; v < first_user_.size(); ++v) first_user_[v] += first_user_[v - 1];
    users_.resize(base::Size(first_user_.back()));
    std::vector<int32_t> next = first_user_;
    for (size_t i = 0; i < program_.instructions.size(); ++i)
      for (ValueId v : At(i).operands)
        base::At(users_, base::At(next, v)++) = static_cast<int32_t>(i);
  }
  absl::Span<const int32_t> Users(ValueId v) const {
    const int32_t first = base::At(first_user_, v);
    return absl::MakeConstSpan(users_).subspan(base::Size(first),
                                               base::Size(base::At(first_user_, v + 1) - first));
  }

  bool AreSteady(const Instruction& i) const {
    return first_ > 0 && i.op->effect == ir::Effect::kNone && i.regions.empty() &&
           std::all_of(i.operands.begin(), i.operands.end(),
                       [&](ValueId v) { return base::At(steady_, v); });
  }

  // Values near a move that only instructions read and make which take them from anywhere.
  void FindFree() {
    const size_t n = program_.values.size();
    std::vector<bool> near(n), pinned(n);
    for (ValueId v : program_.outputs) base::At(pinned, v) = true;
    for (size_t i = 0; i < program_.instructions.size(); ++i) {
      const Instruction& instruction = At(i);
      const bool fixed = !IsLight(instruction) || instruction.op->opaque ||
                         instruction.op->effect != ir::Effect::kNone;
      if (fixed) {
        for (ValueId v : instruction.operands) base::At(pinned, v) = true;
        if (!LeavesTerms(instruction))
          for (ValueId v : instruction.results) base::At(pinned, v) = true;
      }
      Spread(instruction, i, instruction.operands, instruction.results, near);
    }
    for (size_t i = program_.instructions.size(); i-- > 0;)
      Spread(At(i), i, At(i).results, At(i).operands, near);
    free_.resize(n);
    for (size_t v = 0; v < n; ++v) {
      const Type* place = places_[v];
      free_[v] = near[v] && !pinned[v] && maker_[v] >= 0 && place->mesh() &&
                 IsPlain(place->sharding()) && !place->mesh()->has_mode(AxisMode::Manual) &&
                 sharding::FirstUnevenDim(place->sharding(), place->shape()) < 0;
    }
  }

  // Whether heavy work ends with sums over devices. How it is split stays; where the sums go is
  // open.
  bool LeavesTerms(const Instruction& i) {
    if (!IsPartitioned(i) || i.op->opaque || i.op->effect != ir::Effect::kNone) return false;
    const std::shared_ptr<const Decision> decision = DecisionOf(i);
    if (decision->expands) return false;
    for (size_t k = 0; k < i.results.size(); ++k)
      if (decision->results[k]->sharding().unreduced == Sharding(i.results[k]).unreduced)
        return false;
    splits_.emplace(i.results[0], decision);
    return true;
  }
  bool KeepsSplit(const Instruction& i, const Decision& decision) const {
    const auto split = splits_.find(i.results[0]);
    return split == splits_.end() || (split->second->operands == decision.operands &&
                                      split->second->results == decision.results);
  }

  template <class From, class To>
  void Spread(const Instruction& instruction, size_t i, const From& from, const To& to,
              std::vector<bool>& near) const {
    const bool reached =
        moves_[i] || (IsLight(instruction) && std::any_of(from.begin(), from.end(), [&](ValueId v) {
                        return base::At(near, v);
                      }));
    if (!reached) return;
    for (ValueId v : to) base::At(near, v) = true;
  }

  // ---- groups: free values of one shape that lie alike, connected by elementwise ops and moves
  // ----

  ValueId Root(ValueId v) {
    while (base::At(group_, v) != v)
      v = base::At(group_, v) = base::At(group_, base::At(group_, v));
    return v;
  }
  void Connect() {
    group_.resize(program_.values.size());
    for (size_t v = 0; v < group_.size(); ++v) group_[v] = static_cast<ValueId>(v);
    for (const Instruction& i : program_.instructions) {
      if (!IsMove(i) && !IsElementwise(i)) continue;
      const ValueId result = i.results[0];
      ValueId other = base::At(free_, result) ? result : -1;
      for (ValueId v : i.operands) {
        if (!base::At(free_, v) || !SameShape(v, result)) continue;
        if (other >= 0 && Sharding(v) == Sharding(other)) group_[Index(Root(v))] = Root(other);
        if (other < 0) other = v;
      }
    }
  }
  static size_t Index(ValueId v) { return base::Size(v); }

  // Returns whether something lies elsewhere now.
  bool ImproveAll() {
    Connect();
    std::vector<ValueId> next(program_.values.size(), -1);  // of the same group
    std::vector<ValueId> last = next;                       // per root, once it has one
    std::vector<ValueId> firsts;                            // of what is read last, first
    for (size_t v = program_.values.size(); v-- > 0;) {
      if (!free_[v]) continue;
      ValueId& before = base::At(last, Root(static_cast<ValueId>(v)));
      (before < 0 ? firsts.emplace_back() : base::At(next, before)) = static_cast<ValueId>(v);
      before = static_cast<ValueId>(v);
    }
    bool improved = false;
    std::vector<ValueId> group;
    for (ValueId first : firsts) {
      group.clear();
      for (ValueId v = first; v >= 0; v = base::At(next, v)) group.push_back(v);
      improved |= Improve(group);
    }
    changed_ |= improved;
    return improved;
  }

  bool Improve(const std::vector<ValueId>& group) {
    const std::vector<TensorSharding> candidates = CandidatesFor(group);
    if (candidates.empty()) return false;
    const std::vector<int32_t> around = Around(group);
    if (around.size() > kMostInstructions) return false;
    const std::optional<Sum> before = CostOf(around);
    if (!before) return false;
    const TensorSharding old = Sharding(group[0]);
    const TensorSharding* best = nullptr;
    Sum least = *before;
    for (const TensorSharding& candidate : candidates) {
      Put(group, candidate);
      const std::optional<Sum> cost = CostOf(around);
      if (cost && cost->Beats(least)) least = *cost, best = &candidate;
    }
    Put(group, old);
    if (!best) return false;
    if (least.bytes == before->bytes) neutral_.push_back(group);
    const Wish wish = WishOf(around);
    for (ValueId v : group) base::At(wishes_, v).Add(wish);
    Put(group, *best);
    return true;
  }

  // What has sent no fewer bytes, and has not helped others to, is done where types say.
  void PutBack(const std::vector<ValueId>& group) {
    const std::vector<int32_t> around = Around(group);
    const std::optional<Sum> before = CostOf(around);
    std::vector<const Type*> places;
    for (ValueId v : group) {
      places.push_back(Place(v));
      base::At(places_, v) = TypedPlace(v);
    }
    const std::optional<Sum> after = CostOf(around);
    if (after && before && after->bytes <= before->bytes &&
        after->collectives <= before->collectives)
      return;
    for (size_t k = 0; k < group.size(); ++k) base::At(places_, group[k]) = places[k];
  }

  void Put(const std::vector<ValueId>& group, const TensorSharding& s) {
    for (ValueId v : group) {
      const Type* typed = TypedPlace(v);
      base::At(places_, v) = typed->sharding() == s ? typed : typed->WithSharding(s);
    }
  }

  // Places that neighbours of the group have or wish for, and where devices have no more of it.
  std::vector<TensorSharding> CandidatesFor(const std::vector<ValueId>& group) {
    std::vector<TensorSharding> candidates;
    const TensorSharding& now = Sharding(group[0]);
    const base::Shape& shape = Place(group[0])->shape();
    const int64_t elements = sharding::LocalElements(shape, now);
    const auto add = [&](const Type* place) {
      const TensorSharding& s = place->sharding();
      if (s == now || place->shape() != shape || !IsPlain(s) || s.mesh != now.mesh ||
          sharding::FirstUnevenDim(s, shape) >= 0 || candidates.size() == kMostCandidates ||
          sharding::LocalElements(shape, s) > elements)
        return;
      if (std::find(candidates.begin(), candidates.end(), s) == candidates.end())
        candidates.push_back(s);
    };
    for (ValueId v : group) {
      AddNeighbours(At(Index(base::At(maker_, v))), v, add);
      for (int32_t user : Users(v)) AddNeighbours(At(Index(user)), v, add);
    }
    return candidates;
  }
  template <class Add>
  void AddNeighbours(const Instruction& i, ValueId v, const Add& add) {
    if (IsMove(i) || IsElementwise(i)) {
      for (ValueId w : i.operands) add(Place(w));
      for (ValueId w : i.results) add(Place(w));
      return;
    }
    const std::shared_ptr<const Decision> decision = DecisionOf(i);
    for (size_t k = 0; k < i.operands.size(); ++k)
      if (i.operands[k] == v) add(decision->operands[k]);
    for (size_t k = 0; k < i.results.size(); ++k)
      if (i.results[k] == v) add(decision->results[k]);
  }

  // ---- what a choice costs ----

  // The instructions whose moves depend on where the group is; and those that move what these move,
  // which is moved once for all. Of more than kMostInstructions, some.
  std::vector<int32_t> Around(const std::vector<ValueId>& group) {
    std::vector<int32_t> around;
    ++visit_;
    const auto add = [&](int32_t i) {
      if (std::exchange(base::At(visited_, i), visit_) != visit_) around.push_back(i);
    };
    const auto add_moved = [&](int32_t i) {
      add(i);
      for (ValueId v : At(Index(i)).operands) {
        if (IsWhole(Sharding(v)) || std::exchange(base::At(visited_values_, v), visit_) == visit_)
          continue;
        for (int32_t user : Users(v))
          if (around.size() <= kMostInstructions) add(user);
      }
    };
    for (ValueId v : group) {
      add_moved(base::At(maker_, v));
      for (int32_t user : Users(v))
        if (around.size() <= kMostInstructions) add_moved(user);
    }
    std::sort(around.begin(), around.end());
    return around;
  }

  std::shared_ptr<const Decision> DecisionOf(const Instruction& i) {
    operands_.clear();
    results_.clear();
    for (ValueId v : i.operands) operands_.push_back(Scalar(i, v));
    for (ValueId v : i.results) results_.push_back(Place(v));
    return DecisionOn(i, operands_, results_);
  }
  // Elementwise ops repeat scalars themselves.
  const Type* Scalar(const Instruction& user, ValueId v) const {
    if (!IsElementwise(user) || user.operands.size() < 2) return Place(v);
    const int32_t maker = base::At(maker_, v);
    if (maker < 0) return Place(v);
    const Instruction& made = At(Index(maker));
    const bool repeated = std::holds_alternative<ir::AsBroadcast>(*made.op->lowering) &&
                          Place(made.operands[0])->shape().empty() &&
                          IsPlain(Sharding(made.operands[0])) && IsPlain(Sharding(v));
    return repeated ? Place(made.operands[0]) : Place(v);
  }

  std::optional<Sum> CostOf(const std::vector<int32_t>& instructions) {
    Sum sum;
    moved_.clear();
    for (int32_t at : instructions) {
      const Instruction& i = At(Index(at));
      if (IsMove(i)) {
        AddMove(i.operands[0], Place(i.operands[0]), Place(i.results[0]), sum);
        continue;
      }
      if (!IsPartitioned(i)) continue;  // as its operands' types say, whatever the choice
      const std::shared_ptr<const Decision> decision = DecisionOf(i);
      if (decision->expands || !KeepsSplit(i, *decision)) return {};
      for (size_t k = 0; k < i.operands.size(); ++k)
        AddMove(i.operands[k], operands_[k], decision->operands[k], sum);
      if (decision->cost->bytes > 0 && !AreSteady(i)) {
        sum.bytes += decision->cost->bytes;
        ++sum.collectives;
      }
      sum.work += decision->cost->flops;
      for (size_t k = 0; k < i.results.size(); ++k) {
        const Type *left = decision->results[k], *to = Place(i.results[k]);
        if (!base::At(steady_, i.results[k])) AddSteps(left, to, sum);
        sum.work += static_cast<double>(sharding::LocalElements(left->shape(), left->sharding()));
      }
    }
    return sum;
  }

  void AddMove(ValueId v, const Type* from, const Type* to, Sum& sum) {
    if (from == to || base::At(steady_, v) || !moved_.insert({v, to}).second) return;
    AddSteps(from, to, sum);
  }

  // Adds the collectives between two places.
  void AddSteps(const Type* from, const Type* to, Sum& sum) {
    const Sent sent = Between(from, to);
    sum.bytes += sent.bytes;
    sum.collectives += sent.collectives;
  }

  struct Sent {
    int64_t bytes = 0, collectives = 0;
  };
  Sent Between(const Type* from, const Type* to) {
    if (from == to || from->sharding() == to->sharding()) return {};
    const auto [it, is_new] = steps_.try_emplace(std::pair(from, to));
    Sent& sent = it->second;
    if (is_new)
      for (const sharding::ReshardStep& step : sharding::PlanReshard(
               from->shape(), from->dtype().size(), from->sharding(), to->sharding()))
        if (step.bytes > 0) sent = {sent.bytes + step.bytes, sent.collectives + 1};
    return sent;
  }

  // ---- who asked for it ----

  bool LiesAsTyped(ValueId v) const { return Sharding(v) == Typed(v)->sharding(); }

  // Where something is moved to or from at an instruction.
  struct Ends {
    const Type *from, *to;
    bool operator==(const Ends&) const = default;
  };
  // What is moved for each operand of an instruction, and then of each of its results.
  std::vector<Ends> MovesAt(const Instruction& i) {
    std::vector<Ends> moves;
    if (IsMove(i)) return {{Place(i.operands[0]), Place(i.results[0])}};
    if (!IsPartitioned(i)) return {};
    const std::shared_ptr<const Decision> decision = DecisionOf(i);
    if (decision->expands) return {};
    for (size_t k = 0; k < i.operands.size(); ++k)
      moves.push_back({operands_[k], decision->operands[k]});
    for (size_t k = 0; k < i.results.size(); ++k)
      moves.push_back({decision->results[k], Place(i.results[k])});
    return moves;
  }
  std::vector<Ends> TypedMovesAt(const Instruction& i) {
    absl::InlinedVector<const Type*, 4> chosen;
    const auto exchange = [&](ValueId v, const Type* place) {
      chosen.push_back(std::exchange(base::At(places_, v), place));
    };
    for (ValueId v : i.operands) exchange(v, TypedPlace(v));
    for (ValueId v : i.results) exchange(v, TypedPlace(v));
    std::vector<Ends> moves = MovesAt(i);
    // Backwards: an operand may be there twice.
    const auto restore = [&](ValueId v) {
      base::At(places_, v) = chosen.back(), chosen.pop_back();
    };
    for (size_t k = i.results.size(); k-- > 0;) restore(i.results[k]);
    for (size_t k = i.operands.size(); k-- > 0;) restore(i.operands[k]);
    return moves;
  }

  // Who wants each move at an instruction. One that types make as well is wanted by whom it was;
  // another one by those who want what is moved around the value, or else around its neighbours.
  std::vector<Wish> WishesAt(const Instruction& i) {
    const auto* move = std::get_if<ir::AsMove>(&*i.op->lowering);
    if (move && !move->implied) return {{.asked = i.loc}};
    const std::vector<Ends> now = MovesAt(i), typed = TypedMovesAt(i);
    Wish around;
    for (ValueId v : i.operands) around.Add(base::At(wishes_, v));
    for (ValueId v : i.results) around.Add(base::At(wishes_, v));
    std::vector<Wish> wishes;
    for (size_t k = 0; k < now.size(); ++k) {
      const size_t n = i.operands.size();
      const Wish& own = base::At(wishes_, k < n ? i.operands[k] : i.results[k - n]);
      const bool as_typed = k < typed.size() && typed[k] == now[k];
      const Wish& wish = own.asked || own.implied ? own : around;
      wishes.push_back(as_typed || !wish.asked ? Wish{.implied = true} : wish);
    }
    return wishes;
  }

  // Who wants what some instructions send.
  Wish WishOf(const std::vector<int32_t>& instructions) {
    Wish wish;
    for (int32_t at : instructions) {
      const Instruction& i = At(Index(at));
      if (!IsMove(i) && !IsPartitioned(i)) continue;
      const std::vector<Ends> moves = MovesAt(i);
      const std::vector<Wish> wishes = WishesAt(i);
      for (size_t k = 0; k < moves.size(); ++k)
        if (Between(moves[k].from, moves[k].to).bytes > 0) wish.Add(wishes[k]);
    }
    return wish;
  }

  // Returns nothing where all that is moved is implied, or moved as types say.
  AskedMoves::mapped_type LinesOf(const Instruction& i) {
    const auto wished = [&](ValueId v) { return base::At(wishes_, v).asked.has_value(); };
    if (std::none_of(i.operands.begin(), i.operands.end(), wished) &&
        std::none_of(i.results.begin(), i.results.end(), wished))
      return {};
    AskedMoves::mapped_type lines;
    for (const Wish& wish : WishesAt(i)) lines.push_back(wish.implied ? std::nullopt : wish.asked);
    return lines;
  }

  const ir::Program& program_;
  std::vector<bool> moves_;                  // per instruction: it is where something is moved
  std::vector<int32_t> maker_;               // per value: an instruction, or -1
  std::vector<int32_t> first_user_, users_;  // per value, where its users begin; and all users
  const sharding::MeshDef* mesh_ = nullptr;  // the program's
  std::vector<const Type*> places_;          // per value: now
  const size_t first_;                       // so many inputs are steady
  std::vector<bool> steady_;                 // per value: what is moved of it is moved before
  std::vector<bool> free_;                   // per value: it may lie elsewhere
  // By first result: the decision on what leaves terms, as types say.
  absl::flat_hash_map<ValueId, std::shared_ptr<const Decision>> splits_;
  std::vector<ValueId> group_;                 // per value: towards the root of its group
  std::vector<Wish> wishes_;                   // per value that has been moved elsewhere
  std::vector<std::vector<ValueId>> neutral_;  // groups that were put elsewhere for less work only
  bool changed_ = false;
  absl::InlinedVector<const Type*, 4> operands_, results_;  // of the decision that was asked last
  absl::flat_hash_set<std::pair<ValueId, const Type*>> moved_;  // by the instructions so far
  absl::flat_hash_map<std::pair<const Type*, const Type*>, Sent> steps_;
  std::vector<int32_t> visited_, visited_values_;  // per instruction and value: by which visit
  int32_t visit_ = 0;
};

}  // namespace

ChosenPlaces ChoosePlaces(std::shared_ptr<const ir::Program> program, size_t steady) {
  ChosenPlaces chosen = Placer(*program, steady).Run();
  if (!chosen.program) chosen.program = std::move(program);
  return chosen;
}

}  // namespace tessera::spmd
