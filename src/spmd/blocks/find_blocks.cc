// A product of [B, M, K] and [B, N, K] has dims of both sides: it is *wide*, and so is what is made
// of it by element, by broadcast, or for another product. What reads or makes wide values, and
// what lies between such instructions, forms groups, each of which runs in blocks of one dim. Wide
// values that a later group reads are made again there, and what is made of them but by products.
// Wide values without products behind them, such as masks, are made where they are used.
#include "spmd/blocks/find_blocks.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "base/at.h"
#include "ir/infer.h"
#include "plan/fused.h"
#include "spmd/blocks/block_types.h"
#include "spmd/blocks/marks.h"
#include "spmd/blocks/order.h"

namespace tessera::spmd {
namespace {

using ir::Instruction;
using ir::ValueId;
using sharding::DimFactors;
using sharding::DimMap;
using sharding::FactorKind;

constexpr int kNone = kNoDim;

// The dims of one value by those of the product: which of them each is, or none.
using Labels = absl::InlinedVector<int, 4>;

using Group = std::vector<size_t>;  // of instructions, in order

class Finder {
 public:
  Finder(const ir::Program& p, int64_t least)
      : p_(p),
        made_by_(p.values.size(), -1),
        users_(p.values.size()),
        maps_(p.instructions.size()),
        returned_(p.values.size()),
        of_product_(p.values.size()),
        labels_(p.values.size()),
        calls_(p.instructions.size()),
        dim_of_(p.values.size(), kNone),
        member_(p.instructions.size()),
        core_(p.instructions.size()),
        marked_(p.instructions.size()),
        also_marked_(p.instructions.size()),
        level_(p.instructions.size()),
        groups_of_(p.instructions.size()) {
    for (size_t i = 0; i < p.instructions.size(); ++i) {
      for (ValueId v : p.instructions[i].results) base::At(made_by_, v) = static_cast<int32_t>(i);
      for (ValueId v : p.instructions[i].operands) base::At(users_, v).push_back(i);
    }
    for (ValueId v : p.outputs) base::At(returned_, v) = true;
    for (size_t i = 0; i < p.instructions.size(); ++i)
      for (ValueId v : p.instructions[i].results) base::At(of_product_, v) = IsOfProduct(i, least);
  }

  // Returns the groups of what is done with the product that instruction i makes.
  std::vector<BlockGroup> Run(size_t i) {
    const ValueId product = p_.instructions[i].results[0];
    std::vector<BlockGroup> found;
    if (LabelAll(i))
      for (int d = 0; found.empty() && d < p_.type(product)->rank(); ++d)
        if (p_.type(product)->shape()[base::Size(d)] > 1) found = Along(product, d);
    for (ValueId v : labelled_) base::At(labels_, v).clear();
    labelled_.clear();
    return found;
  }

  // Whether instruction i makes a product many times as large as its operands together: a sum of
  // few terms that needs much memory. Others would gain less from blocks, which cost some percent.
  bool IsProduct(size_t i) const {
    const Instruction& made = p_.instructions[i];
    if (made.results.size() != 1 || made.operands.size() != 2 || made.op->flops_per_point == 0 ||
        !std::holds_alternative<ir::AsKernel>(*made.op->lowering) || !MayJoin(made))
      return false;
    return p_.type(made.results[0])->elements() >=
           Limits().ratio *
               (p_.type(made.operands[0])->elements() + p_.type(made.operands[1])->elements());
  }

 private:
  // ---- what is wide ----------------------------------------------------------------------------

  bool MayJoin(const Instruction& i) const {
    const ir::OpDef& op = *i.op;
    if (!i.regions.empty() || op.opaque || op.effect != ir::Effect::kNone ||
        i.results.size() != 1 || !std::holds_alternative<ir::DimMapFn>(*op.dims))
      return false;
    const auto* kernel = std::get_if<ir::AsKernel>(&*op.lowering);
    if (kernel) return !kernel->sharded;
    return std::holds_alternative<ir::AsElementwise>(*op.lowering) ||
           std::holds_alternative<ir::AsReduction>(*op.lowering) ||
           std::holds_alternative<ir::AsBroadcast>(*op.lowering) ||
           std::holds_alternative<ir::AsView>(*op.lowering) || IsFree(i);
  }
  // Made where it is used.
  static bool IsFree(const Instruction& i) {
    return std::holds_alternative<ir::AsConstant>(*i.op->lowering) ||
           std::holds_alternative<ir::AsIota>(*i.op->lowering);
  }

  bool IsOfProduct(size_t i, int64_t least) const {
    const Instruction& made = p_.instructions[i];
    if (std::holds_alternative<ir::AsKernel>(*made.op->lowering) && made.op->flops_per_point > 0 &&
        p_.type(made.results[0])->elements() >= least)
      return true;
    return std::any_of(made.operands.begin(), made.operands.end(),
                       [&](ValueId v) { return static_cast<bool>(base::At(of_product_, v)); });
  }

  const DimMap& MapOf(size_t i) {
    std::optional<DimMap>& map = maps_[i];
    if (map) return *map;
    const Instruction& made = p_.instructions[i];
    absl::InlinedVector<const ir::Type*, 3> operands, results;
    for (ValueId v : made.operands) operands.push_back(p_.type(v));
    for (ValueId v : made.results) results.push_back(p_.type(v));
    map = ir::DimMapOf(*made.op, made.params.get(), operands, results);
    return *map;
  }

  // Labels all that is wide. False: some of it is needed whole.
  bool LabelAll(size_t product) {
    sides_.clear();
    const DimMap& map = MapOf(product);
    const ValueId v = p_.instructions[product].results[0];
    Labels own;
    for (int d = 0; d < p_.type(v)->rank(); ++d) {
      const int32_t f = FactorOf(map.results[0], d);
      const bool left = f >= 0 && DimOf(map.operands[0], f) != kNone,
                 right = f >= 0 && DimOf(map.operands[1], f) != kNone;
      own.push_back(d);
      sides_.push_back(left == right ? 0 : left ? 1 : 2);
    }
    std::vector<ValueId> work;
    if (!IsWide(v, own)) return false;
    base::At(labels_, v) = own;
    labelled_.push_back(v);
    work.push_back(v);
    while (!work.empty()) {
      const ValueId wide = work.back();
      work.pop_back();
      const int32_t maker = base::At(made_by_, wide);
      if (maker >= 0 && MayJoin(p_.instructions[base::Size(maker)]) &&
          !LabelThrough(base::Size(maker), work))
        return false;
      if (!base::At(of_product_, wide)) continue;
      if (base::At(returned_, wide)) return false;
      for (size_t user : base::At(users_, wide))
        if (!MayJoin(p_.instructions[user]) || !LabelThrough(user, work)) return false;
    }
    return true;
  }

  bool IsWide(ValueId v, const Labels& labels) const {
    bool side[3] = {};
    for (size_t d = 0; d < labels.size(); ++d)
      if (labels[d] != kNone && p_.type(v)->shape()[d] > 1)
        side[base::At(sides_, labels[d])] = true;
    return side[1] && side[2];
  }

  // Tells the values of an instruction what is known of its factors. False: a contradiction.
  bool LabelThrough(size_t i, std::vector<ValueId>& work) {
    const Instruction& made = p_.instructions[i];
    const DimMap& map = MapOf(i);
    std::vector<int> label_of(map.factors.size(), kNone);
    // Returns false if both are known, and not the same.
    const auto merge = [](int& known, int label) {
      if (known == kNone) known = label;
      return label == kNone || known == label;
    };
    const auto learn = [&](ValueId v, const DimFactors& dims) {
      const Labels& labels = base::At(labels_, v);
      bool fits = true;
      for (size_t d = 0; d < labels.size(); ++d)
        if (dims[d].size() == 1) fits &= merge(base::At(label_of, dims[d][0]), labels[d]);
      return fits;
    };
    const auto tell = [&](ValueId v, const DimFactors& dims) {
      Labels labels = base::At(labels_, v);
      labels.resize(dims.size(), kNone);
      for (size_t d = 0; d < dims.size(); ++d)
        if (dims[d].size() == 1) merge(labels[d], base::At(label_of, dims[d][0]));
      if (!IsWide(v, labels) || base::At(labels_, v) == labels) return;
      if (base::At(labels_, v).empty()) labelled_.push_back(v);
      base::At(labels_, v) = std::move(labels);
      work.push_back(v);
    };
    bool fits = learn(made.results[0], map.results[0]);
    for (size_t k = 0; k < made.operands.size(); ++k)
      fits &= learn(made.operands[k], map.operands[k]);
    tell(made.results[0], map.results[0]);
    for (size_t k = 0; k < made.operands.size(); ++k) tell(made.operands[k], map.operands[k]);
    return fits;
  }

  bool IsWide(ValueId v) const { return !base::At(labels_, v).empty(); }

  // ---- one dim -------------------------------------------------------------------------------

  std::vector<BlockGroup> Along(ValueId product, int label) {
    const int64_t size = p_.type(product)->shape()[base::Size(label)];
    label_ = label;
    if (!FindMembers() || !FindLevels()) return {};
    std::vector<Group> groups;
    for (int32_t level = 0; level <= levels_; ++level) {
      groups.push_back(GroupOf(level));
      if (!MayRepeatAll(groups.back(), level)) return {};
    }
    if (!FindReturned()) return {};
    const int64_t block = LeastBlock(product, size, groups);
    if (block == 0) return {};
    std::vector<BlockGroup> found;
    for (int32_t level = 0; level <= levels_; ++level) {
      BlockGroup& made = found.emplace_back(BlockGroup{.size = size, .block = block, .calls = {}});
      for (size_t i : base::At(groups, level)) {
        made.calls.push_back({i, IsLight(i) || IsFree(p_.instructions[i]), calls_[i]});
        made.calls.back().dims.returns &= level_[i] == level;
      }
      if (made.calls.empty()) found.pop_back();
    }
    return found;
  }

  // Returns the least block of some that is worth it; 0 if none is.
  int64_t LeastBlock(ValueId product, int64_t size, const std::vector<Group>& groups) const {
    for (int64_t times : {1, 2, 4}) {
      const int64_t block = BlockOf(p_.type(product)->elements(), size, times);
      const auto fits = [&](const Group& group) {
        return MayBeBlocked(group, block) && IsWorthIt(group, product, size / block);
      };
      if (block != 0 && std::all_of(groups.begin(), groups.end(), fits)) return block;
    }
    return 0;
  }

  // Returns the largest divisor of the dim that gives small blocks; 0 if it has none.
  static int64_t BlockOf(int64_t elements, int64_t size, int64_t times) {
    const int64_t most = std::max<int64_t>(1, times * Limits().block / (elements / size));
    if (most >= size) return 0;
    int64_t block = most;
    while (size % block != 0) --block;
    return block * 8 >= most ? block : 0;
  }

  // The instructions that touch wide values, and small ones between them that pass the dim on.
  bool FindMembers() {
    members_.clear();
    member_.Clear();
    core_.Clear();
    std::set<size_t> pending;
    for (ValueId v : labelled_) {
      const std::vector<size_t>& users = base::At(users_, v);
      if (base::At(of_product_, v)) pending.insert(users.begin(), users.end());
      if (base::At(made_by_, v) >= 0) pending.insert(base::Size(base::At(made_by_, v)));
    }
    for (size_t i : pending) core_.Set(i);
    for (; !pending.empty(); pending.erase(pending.begin())) {
      const size_t i = *pending.begin();
      if (!MayJoin(p_.instructions[i]) || (!core_.Has(i) && !IsSmall(i))) continue;
      const bool fits = FitCall(i);
      if (core_.Has(i) && !fits && !IsLight(i)) return false;
      const bool is_whole = calls_[i].result == kNone && !core_.Has(i);
      if (!fits || is_whole || (calls_[i].sums && IsLight(i))) continue;
      member_.Set(i);
      members_.push_back(i);
      if (calls_[i].sums || IsLight(i)) continue;
      const std::vector<size_t>& users = base::At(users_, p_.instructions[i].results[0]);
      pending.insert(users.begin(), users.end());
    }
    KeepWhatLeadsToWide(/*in_a_level=*/false);
    return true;
  }
  // Others may make it too.
  bool IsLight(size_t i) const {
    return !base::At(of_product_, p_.instructions[i].results[0]) &&
           IsWide(p_.instructions[i].results[0]);
  }
  // Lies behind members, and is no product.
  bool IsSmall(size_t i) const {
    const Instruction& made = p_.instructions[i];
    return !IsFree(made) && !std::holds_alternative<ir::AsKernel>(*made.op->lowering);
  }
  void KeepWhatLeadsToWide(bool in_a_level) {
    const std::vector<size_t> all = std::exchange(members_, {});
    member_.Clear();
    for (size_t k = all.size(); k-- > 0;) {
      const std::vector<size_t>& users = base::At(users_, p_.instructions[all[k]].results[0]);
      if (!core_.Has(all[k]) && std::none_of(users.begin(), users.end(), [&](size_t u) {
            return member_.Has(u) && (!in_a_level || level_[u] == level_[all[k]]);
          }))
        continue;
      member_.Set(all[k]);
      members_.push_back(all[k]);
    }
    std::reverse(members_.begin(), members_.end());
  }

  // Known of what is wide and of what members make, unless they sum over the dim: that is known
  // behind the loop only.
  bool IsKnown(ValueId v) const {
    if (IsWide(v)) return true;
    const int32_t at = base::At(made_by_, v);
    return at >= 0 && IsMember(at) && !base::At(calls_, at).sums;
  }
  bool IsMember(int32_t i) const { return member_.Has(base::Size(i)); }
  int KnownDim(ValueId v) const {
    if (!IsWide(v)) return base::At(dim_of_, v);
    const Labels& labels = base::At(labels_, v);
    const auto at = std::find(labels.begin(), labels.end(), label_);
    return at == labels.end() ? kNone : static_cast<int>(at - labels.begin());
  }

  // Finds how the instruction meets the dim. False: it cannot run in blocks of it.
  bool FitCall(size_t i) {
    const Instruction& made = p_.instructions[i];
    const DimMap& map = MapOf(i);
    DimOfCall& call = calls_[i];
    int32_t factor = -1;
    const auto learn = [&](ValueId v, const DimFactors& dims) {
      const int d = IsKnown(v) ? KnownDim(v) : kNone;
      if (d != kNone && factor < 0) factor = FactorOf(dims, d);
      return d == kNone || factor >= 0;
    };
    if (IsWide(made.results[0]) && !learn(made.results[0], map.results[0])) return false;
    for (size_t k = 0; k < made.operands.size(); ++k)
      if (!learn(made.operands[k], map.operands[k])) return false;
    call.operands.clear();
    call.result = base::At(dim_of_, made.results[0]) = kNone;
    call.sums = false;
    if (factor < 0) {
      call.operands.assign(made.operands.size(), kNone);
      return true;
    }
    for (size_t k = 0; k < made.operands.size(); ++k) {
      if (IsMixed(map.operands[k], factor)) return false;
      call.operands.push_back(DimOf(map.operands[k], factor));
      if (IsKnown(made.operands[k]) && KnownDim(made.operands[k]) != call.operands.back())
        return false;
    }
    if (IsMixed(map.results[0], factor)) return false;
    call.result = DimOf(map.results[0], factor);
    if (IsWide(made.results[0]) && KnownDim(made.results[0]) != call.result) return false;
    base::At(dim_of_, made.results[0]) = call.result;
    const sharding::Factor& f = base::At(map.factors, factor);
    call.sums = call.result == kNone;
    if (call.sums)
      return f.kind == FactorKind::kReduce && f.reduction == Reduction::kSum &&
             made.op->flops_per_point > 0;
    return f.kind == FactorKind::kPass && (!IsFree(made) || CountsAlong(i, call.result) <= 1);
  }

  // Of an index: how many dims it counts if it counts dim d; else 0.
  int CountsAlong(size_t i, int d) const {
    const ValueId v = p_.instructions[i].results[0];
    const auto& iota = std::get<ir::AsIota>(*p_.instructions[i].op->lowering);
    const ir::LocalTensor local{p_.type(v)->dtype(), p_.type(v)->shape(), p_.type(v)->shape(),
                                &p_.type(v)->sharding()};
    const std::vector<int64_t> strides = iota.index(p_.instructions[i].params.get(), local).strides;
    if (base::At(strides, d) == 0) return 0;
    return static_cast<int>(
        std::count_if(strides.begin(), strides.end(), [](int64_t stride) { return stride != 0; }));
  }

  // ---- groups --------------------------------------------------------------------------------

  // A group is what can run in one loop: nothing leaves it and comes back.
  bool FindLevels() {
    constexpr int32_t kMostLevels = 3, kMostRounds = 8;
    for (int32_t round = 0; round < kMostRounds; ++round) {
      CountLevels();
      const size_t before = members_.size();
      KeepWhatLeadsToWide(/*in_a_level=*/true);
      if (members_.size() == before) return levels_ < kMostLevels;
    }
    return false;
  }
  void CountLevels() {
    const size_t last = members_.back();
    const auto is_light = [&](size_t i) { return IsLight(i); };
    const size_t first = *std::find_if_not(members_.begin(), members_.end(), is_light);
    first_ = static_cast<int32_t>(first);
    for (size_t i : members_) level_[i] = 0;
    levels_ = 0;
    for (size_t i = first; i <= last; ++i) {
      level_[i] = 0;
      for (ValueId v : p_.instructions[i].operands) {
        const int32_t at = base::At(made_by_, v);
        if (at < static_cast<int32_t>(first)) continue;
        const bool leaves = IsMember(at) && (!member_.Has(i) || base::At(calls_, at).sums);
        level_[i] = std::max(level_[i], base::At(level_, at) + leaves);
      }
      if (member_.Has(i)) levels_ = std::max(levels_, level_[i]);
    }
    for (size_t i : members_) groups_of_[i] = 0;
  }
  // Of what is not a member too.
  int32_t LevelOf(int32_t i) const { return i < first_ ? 0 : base::At(level_, i); }

  // What a level does, with what it makes again of lower levels.
  Group GroupOf(int32_t level) {
    std::set<size_t, std::greater<>> pending;
    for (size_t i : members_)
      if (level_[i] == level) pending.insert(i);
    Group group;
    for (; !pending.empty(); pending.erase(pending.begin())) {
      const size_t i = *pending.begin();
      group.push_back(i);
      for (size_t k = 0; k < p_.instructions[i].operands.size(); ++k) {
        const ValueId v = p_.instructions[i].operands[k];
        const int32_t at = base::At(made_by_, v);
        if (at < 0) continue;
        const bool is_free =
            IsFree(base::At(p_.instructions, at)) && calls_[i].operands[k] == kNone;
        if (is_free && !IsMember(at)) {
          base::At(calls_, at).result = kNone;
          base::At(groups_of_, at) = 0;
          base::At(level_, at) = level;
        }
        if (is_free || (IsMember(at) && MayRepeat(v, at))) pending.insert(base::Size(at));
      }
    }
    std::reverse(group.begin(), group.end());
    for (size_t i : group) groups_of_[i] |= static_cast<uint8_t>(1 << level);
    return group;
  }
  bool IsIn(int32_t i, int32_t level) const {
    return (IsMember(i) || IsFree(base::At(p_.instructions, i))) &&
           (base::At(groups_of_, i) >> level & 1) != 0;
  }

  // Not sums over the dim, which are known behind the loop only.
  bool MayRepeat(ValueId v, int32_t maker) const {
    if (base::At(calls_, maker).sums) return false;
    const Instruction& made = base::At(p_.instructions, maker);
    return IsWide(v) || !std::holds_alternative<ir::AsKernel>(*made.op->lowering);
  }

  // What is made a second time may differ in the last bit: it must not be compared for equality
  // with what was made of it the first time, as the gradient of a maximum does.
  bool MayRepeatAll(const Group& group, int32_t level) {
    Marks &again = marked_, &earlier = also_marked_;
    again.Clear();
    earlier.Clear();
    for (size_t i : group) {
      const Instruction& made = p_.instructions[i];
      if (member_.Has(i) && level_[i] < level) again.Set(i);
      for (ValueId v : made.operands) {
        const int32_t at = base::At(made_by_, v);
        if (at < 0) continue;
        const auto maker = base::Size(at);
        const bool is_inside = IsIn(at, level);
        if (is_inside && again.Has(maker)) again.Set(i);
        if (is_inside ? earlier.Has(maker) : IsMember(at) || LevelOf(at) > 0) earlier.Set(i);
      }
      const auto* by_element = std::get_if<ir::AsElementwise>(&*made.op->lowering);
      const bool compares = by_element && (by_element->op == plan::ScalarOp::kEq ||
                                           by_element->op == plan::ScalarOp::kNe);
      if (compares && again.Has(i) && earlier.Has(i) &&
          p_.type(made.operands[0])->dtype().is_floating())
        return false;
    }
    return true;
  }

  // Finds what others than its group read. False: it is the same in all blocks, or wide.
  bool FindReturned() {
    for (size_t i : members_) {
      const ValueId v = p_.instructions[i].results[0];
      const std::vector<size_t>& users = base::At(users_, v);
      DimOfCall& call = calls_[i];
      call.returns = false;
      if (IsLight(i)) continue;
      call.returns =
          base::At(returned_, v) || std::any_of(users.begin(), users.end(), [&](size_t user) {
            return !member_.Has(user) || (groups_of_[user] & ~groups_of_[i]) != 0;
          });
      if (call.returns && (IsWide(v) || (call.result == kNone && !call.sums))) return false;
    }
    return true;
  }

  bool MayBeBlocked(const Group& group, int64_t block) const {
    return std::all_of(group.begin(), group.end(), [&](size_t i) {
      return TakesBlocks(p_, p_.instructions[i], calls_[i], block);
    });
  }

  // Each block reads once more what has not the dim, and adds to sums over it. That must cost less
  // than the wide values do in memory: each is written, and read a few times.
  bool IsWorthIt(const Group& group, ValueId product, int64_t blocks) const {
    constexpr int64_t kPasses = 4, kPassesOfSums = 3;
    int64_t bytes = 0;
    std::set<size_t> in(group.begin(), group.end());
    std::set<ValueId> whole;
    for (size_t i : group) {
      const Instruction& made = p_.instructions[i];
      if (calls_[i].sums) bytes += kPassesOfSums * BytesOf(made.results[0]);
      for (size_t k = 0; k < made.operands.size(); ++k) {
        const int32_t at = base::At(made_by_, made.operands[k]);
        const bool is_inside = at >= 0 && in.count(base::Size(at)) != 0;
        if (!is_inside && calls_[i].operands[k] == kNone) whole.insert(made.operands[k]);
      }
    }
    for (ValueId v : whole) bytes += BytesOf(v);
    return bytes * blocks <= kPasses * BytesOf(product);
  }
  int64_t BytesOf(ValueId v) const { return p_.type(v)->elements() * p_.type(v)->dtype().size(); }

  const ir::Program& p_;
  std::vector<int32_t> made_by_;             // per value: the instruction, or -1
  std::vector<std::vector<size_t>> users_;   // per value
  std::vector<std::optional<DimMap>> maps_;  // per instruction, as far as asked for
  std::vector<bool> returned_;               // per value
  std::vector<bool> of_product_;             // per value: made of a large product, or one
  std::vector<Labels> labels_;               // per value; empty: not wide
  std::vector<ValueId> labelled_;            // those that are
  std::vector<int> sides_;                   // per label: of both operands, the left, the right
  // Along one dim; of members, unless it says otherwise.
  int label_ = 0;
  std::vector<size_t> members_;   // in order
  std::vector<DimOfCall> calls_;  // per instruction
  std::vector<int> dim_of_;       // per value
  Marks member_, core_, marked_, also_marked_;
  int32_t first_ = 0;               // of members of which there is one only: the first
  std::vector<int32_t> level_;      // per instruction from there to the last member
  std::vector<uint8_t> groups_of_;  // per instruction: a bit for each level whose group has it
  int32_t levels_ = 0;
};

}  // namespace

BlockLimits& Limits() {
  static BlockLimits limits;
  return limits;
}

std::vector<BlockGroup> FindBlocks(const ir::Program& device, int64_t least,
                                   std::set<ValueId>& tried) {
  std::optional<Finder> finder;
  std::vector<BlockGroup> groups;
  std::vector<bool> taken(device.instructions.size());
  size_t first = 0;  // groups of the first product
  std::set<ValueId> later;
  for (size_t i = 0; i < device.instructions.size(); ++i) {
    const Instruction& made = device.instructions[i];
    if (made.results.size() != 1 || device.type(made.results[0])->elements() < least || taken[i] ||
        !tried.insert(made.results[0]).second)
      continue;
    if (!finder) finder.emplace(device, least);
    if (!finder->IsProduct(i)) continue;
    std::vector<BlockGroup> found = finder->Run(i);
    const auto overlaps = [&](const BlockGroup& group) {
      return std::any_of(group.calls.begin(), group.calls.end(),
                         [&](const BlockedCall& call) { return taken[call.instruction]; });
    };
    if (!groups.empty() && !found.empty()) later.insert(made.results[0]);
    if (std::any_of(found.begin(), found.end(), overlaps)) {
      tried.erase(made.results[0]);  // once the others are loops
      continue;
    }
    for (BlockGroup& group : found) {
      for (const BlockedCall& call : group.calls) taken[call.instruction] = !call.is_shared;
      groups.push_back(std::move(group));
    }
    if (first == 0) first = groups.size();
  }
  std::vector<std::vector<size_t>> together;
  for (const BlockGroup& group : groups) {
    std::vector<size_t>& list = together.emplace_back();
    for (const BlockedCall& call : group.calls)
      if (!call.is_shared) list.push_back(call.instruction);
  }
  if (CanBeOrdered(device, together)) return groups;
  for (ValueId v : later) tried.erase(v);
  groups.resize(first);
  return groups;
}

}  // namespace tessera::spmd
