// A product of [B, M, K] and [B, N, K] has dims of both sides: it is *wide*, and so is what is made
// of it by element, by broadcast, or for another product. What reads or makes wide values, and
// what lies between such instructions, forms groups, each of which runs in blocks of one dim. Wide
// values that a later group reads are made again there, and what is made of them but by products.
#include "spmd/blocking.h"

#include <algorithm>

#include "base/at.h"
#include "ir/infer.h"
#include "plan/fused.h"
#include "spmd/local_type.h"

namespace tessera::spmd {
namespace {

using ir::Instruction;
using ir::ValueId;
using sharding::DimFactors;
using sharding::DimMap;
using sharding::FactorKind;

constexpr int kNone = DimOfCall::kNone;

// The dims of one value by those of the product: which of them each is, or none.
using Labels = absl::InlinedVector<int, 4>;

// Returns the factor that a dim is alone, or -1.
int32_t FactorOf(const DimFactors& dims, int dim) {
  const sharding::FactorList& list = base::At(dims, dim);
  return list.size() == 1 ? list[0] : -1;
}
// Returns the dim that a factor is alone, or kNone.
int DimOf(const DimFactors& dims, int32_t factor) {
  for (size_t d = 0; d < dims.size(); ++d)
    if (dims[d].size() == 1 && dims[d][0] == factor) return static_cast<int>(d);
  return kNone;
}
// Whether a factor stands beside others in a dim.
bool IsMixed(const DimFactors& dims, int32_t factor) {
  return std::any_of(dims.begin(), dims.end(), [factor](const sharding::FactorList& list) {
    return list.size() > 1 && std::find(list.begin(), list.end(), factor) != list.end();
  });
}

class Finder {
 public:
  explicit Finder(const ir::Program& p)
      : p_(p),
        made_by_(p.values.size(), -1),
        users_(p.values.size()),
        maps_(p.instructions.size()),
        returned_(p.values.size()) {
    for (size_t i = 0; i < p.instructions.size(); ++i) {
      for (ValueId v : p.instructions[i].results) base::At(made_by_, v) = static_cast<int32_t>(i);
      for (ValueId v : p.instructions[i].operands) base::At(users_, v).push_back(i);
    }
    for (ValueId v : p.outputs) base::At(returned_, v) = true;
  }

  // Returns how to block what is done with the product that instruction i makes.
  std::optional<Blocking> Run(size_t i) {
    const ValueId product = p_.instructions[i].results[0];
    if (!LabelAll(i)) return {};
    for (int d = 0; d < p_.type(product)->rank(); ++d) {
      if (p_.type(product)->shape()[static_cast<size_t>(d)] == 1) continue;
      if (std::optional<Blocking> found = Along(product, d)) return found;
    }
    return {};
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
    labels_.assign(p_.values.size(), {});
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
    work.push_back(v);
    while (!work.empty()) {
      const ValueId wide = work.back();
      work.pop_back();
      if (base::At(returned_, wide)) return false;
      const int32_t maker = base::At(made_by_, wide);
      if (maker >= 0 && MayJoin(p_.instructions[static_cast<size_t>(maker)]) &&
          !LabelThrough(static_cast<size_t>(maker), work))
        return false;
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
  bool TouchesWide(const Instruction& i) const {
    return (!i.results.empty() && IsWide(i.results[0])) ||
           std::any_of(i.operands.begin(), i.operands.end(), [&](ValueId v) { return IsWide(v); });
  }

  // ---- one dim -------------------------------------------------------------------------------

  std::optional<Blocking> Along(ValueId product, int label) {
    Blocking found;
    found.size = p_.type(product)->shape()[static_cast<size_t>(label)];
    label_ = label;
    if (!FindMembers() || !FindLevels()) return {};
    for (int32_t level = 0; level <= levels_; ++level) {
      BlockGroup group = GroupOf(level);
      if (group.instructions.empty()) continue;
      if (!MayRepeatAll(group, level)) return {};
      found.groups.push_back(std::move(group));
    }
    if (!FindReturned(found.groups)) return {};
    found.block = LeastBlock(product, found);
    if (found.block == 0) return {};
    found.calls = std::move(calls_);
    return found;
  }

  // Returns the least block of some that is worth it; 0 if none is.
  int64_t LeastBlock(ValueId product, const Blocking& found) const {
    for (int64_t times : {1, 2, 4}) {
      const int64_t block = BlockOf(p_.type(product)->elements(), found.size, times);
      const auto fits = [&](const BlockGroup& group) {
        return MayBeBlocked(group, block) && IsWorthIt(group, product, found.size / block);
      };
      if (block != 0 && std::all_of(found.groups.begin(), found.groups.end(), fits)) return block;
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
    const size_t n = p_.instructions.size();
    calls_.assign(n, {});
    dim_of_.assign(p_.values.size(), kNone);
    member_.assign(n, false);
    std::vector<bool> is_core(n), leads(n);
    for (size_t i = 0; i < n; ++i) {
      const Instruction& made = p_.instructions[i];
      if (!MayJoin(made)) continue;
      is_core[i] = TouchesWide(made);
      const bool is_small = !is_core[i] && !IsFree(made) &&
                            !std::holds_alternative<ir::AsKernel>(*made.op->lowering) &&
                            MadeByMember(made);
      if (!is_core[i] && !is_small) continue;
      const bool fits = FitCall(i);
      if (is_core[i] && !fits) return false;
      member_[i] = fits && (is_core[i] || !calls_[i].sums);
    }
    for (size_t i = n; i-- > 0;) {
      if (!member_[i]) continue;
      const std::vector<size_t>& users = base::At(users_, p_.instructions[i].results[0]);
      leads[i] = is_core[i] || std::any_of(users.begin(), users.end(),
                                           [&](size_t u) { return static_cast<bool>(leads[u]); });
      member_[i] = leads[i];
    }
    return true;
  }

  const Instruction* MemberThatMakes(ValueId v) const {
    const int32_t at = base::At(made_by_, v);
    return at >= 0 && base::At(member_, at) ? &base::At(p_.instructions, at) : nullptr;
  }
  bool MadeByMember(const Instruction& i) const {
    return std::any_of(i.operands.begin(), i.operands.end(),
                       [&](ValueId v) { return MemberThatMakes(v) != nullptr; });
  }
  // Known of what is wide and of what members make, unless they sum over the dim: that is known
  // behind the loop only.
  bool IsKnown(ValueId v) const {
    if (IsWide(v)) return true;
    const int32_t at = base::At(made_by_, v);
    return at >= 0 && base::At(member_, at) && !base::At(calls_, at).sums;
  }
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
    call.result = kNone;
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
    constexpr int32_t kMostLevels = 3;
    level_.assign(p_.instructions.size(), 0);
    levels_ = 0;
    for (size_t i = 0; i < p_.instructions.size(); ++i) {
      for (ValueId v : p_.instructions[i].operands) {
        const int32_t at = base::At(made_by_, v);
        if (at < 0) continue;
        const bool leaves = base::At(member_, at) && (!member_[i] || base::At(calls_, at).sums);
        level_[i] = std::max(level_[i], base::At(level_, at) + leaves);
      }
      if (member_[i]) levels_ = std::max(levels_, level_[i]);
    }
    return levels_ < kMostLevels;
  }

  // What a level does, with what it makes again: wide values of lower levels.
  BlockGroup GroupOf(int32_t level) {
    std::vector<bool> in(p_.instructions.size());
    for (size_t i = 0; i < in.size(); ++i) in[i] = member_[i] && level_[i] == level;
    BlockGroup group;
    for (size_t i = in.size(); i-- > 0;) {
      if (!in[i]) continue;
      for (size_t k = 0; k < p_.instructions[i].operands.size(); ++k) {
        const ValueId v = p_.instructions[i].operands[k];
        const int32_t at = base::At(made_by_, v);
        if (at < 0) continue;
        const bool is_free =
            IsFree(base::At(p_.instructions, at)) && calls_[i].operands[k] == kNone;
        if (is_free) base::At(calls_, at).result = kNone;
        if (is_free || (base::At(member_, at) && MayRepeat(v, at))) base::At(in, at) = true;
      }
    }
    for (size_t i = 0; i < in.size(); ++i)
      if (in[i]) group.instructions.push_back(i);
    return group;
  }

  // Not sums over the dim, which are known behind the loop only.
  bool MayRepeat(ValueId v, int32_t maker) const {
    if (base::At(calls_, maker).sums) return false;
    const Instruction& made = base::At(p_.instructions, maker);
    return IsWide(v) || !std::holds_alternative<ir::AsKernel>(*made.op->lowering);
  }

  // What is made a second time may differ in the last bit: it must not be compared for equality
  // with what was made of it the first time, as the gradient of a maximum does.
  bool MayRepeatAll(const BlockGroup& group, int32_t level) const {
    std::vector<bool> in(p_.instructions.size()), again(in.size()), earlier(in.size());
    for (size_t i : group.instructions) {
      const Instruction& made = p_.instructions[i];
      in[i] = true;
      again[i] = level_[i] < level && member_[i];
      for (ValueId v : made.operands) {
        const int32_t at = base::At(made_by_, v);
        if (at < 0) continue;
        const bool is_inside = base::At(in, at);
        again[i] = again[i] || (is_inside && base::At(again, at));
        earlier[i] = earlier[i] || (is_inside ? base::At(earlier, at)
                                              : base::At(level_, at) > 0 || base::At(member_, at));
      }
      const auto* by_element = std::get_if<ir::AsElementwise>(&*made.op->lowering);
      const bool compares = by_element && (by_element->op == plan::ScalarOp::kEq ||
                                           by_element->op == plan::ScalarOp::kNe);
      if (compares && again[i] && earlier[i] && p_.type(made.operands[0])->dtype().is_floating())
        return false;
    }
    return true;
  }

  // Finds what others than its group read. False: it is the same in all blocks, or wide.
  bool FindReturned(const std::vector<BlockGroup>& groups) {
    std::vector<bool> read = returned_;
    std::vector<bool> in(p_.instructions.size());
    const auto reads = [&](size_t i, const std::vector<bool>& own) {
      for (ValueId v : p_.instructions[i].operands) {
        const int32_t at = base::At(made_by_, v);
        if (at >= 0 && !base::At(own, at)) base::At(read, v) = true;
      }
    };
    for (const BlockGroup& group : groups) {
      std::vector<bool> own(in.size());
      for (size_t i : group.instructions) own[i] = in[i] = true;
      for (size_t i : group.instructions) reads(i, own);
    }
    const std::vector<bool> none(in.size());
    for (size_t i = 0; i < in.size(); ++i)
      if (!in[i]) reads(i, none);
    for (size_t i = 0; i < in.size(); ++i) {
      if (!member_[i]) continue;
      const ValueId v = p_.instructions[i].results[0];
      calls_[i].returns = base::At(read, v);
      if (calls_[i].returns && (IsWide(v) || (calls_[i].result == kNone && !calls_[i].sums)))
        return false;
    }
    return true;
  }

  // Whether the ops can be told of blocks: the sizes of some are in their parameters.
  bool MayBeBlocked(const BlockGroup& group, int64_t block) const {
    for (size_t i : group.instructions) {
      const Instruction& made = p_.instructions[i];
      const DimOfCall& call = calls_[i];
      if (!std::holds_alternative<ir::AsKernel>(*made.op->lowering)) continue;
      const auto blocked = [&](ValueId v, int d) {
        base::Shape shape = p_.type(v)->shape();
        if (d != kNone) shape[static_cast<size_t>(d)] = block;
        return ir::Type::Get(std::move(shape), p_.type(v)->dtype());
      };
      absl::InlinedVector<const ir::Type*, 3> operands;
      for (size_t k = 0; k < made.operands.size(); ++k)
        operands.push_back(blocked(made.operands[k], call.operands[k]));
      const ir::Type* wanted = blocked(made.results[0], call.result);
      if (!Makes(made, operands, wanted)) return false;
    }
    return true;
  }
  static bool Makes(const Instruction& made, ir::Types operands, const ir::Type* wanted) {
    try {
      const auto types = ir::InferTypes(
          {.op = *made.op, .operands = operands, .params = made.params.get(), .loc = made.loc});
      return types[0]->shape() == wanted->shape() && types[0]->dtype() == wanted->dtype();
    } catch (const Error&) {
      return false;
    }
  }

  // Each block reads once more what has not the dim, and adds to sums over it. That must cost less
  // than the wide values do in memory: each is written, and read a few times.
  bool IsWorthIt(const BlockGroup& group, ValueId product, int64_t blocks) const {
    constexpr int64_t kPasses = 4, kPassesOfSums = 3;
    int64_t bytes = 0;
    std::vector<bool> in(p_.instructions.size());
    for (size_t i : group.instructions) in[i] = true;
    std::set<ValueId> whole;
    for (size_t i : group.instructions) {
      const Instruction& made = p_.instructions[i];
      if (calls_[i].sums) bytes += kPassesOfSums * BytesOf(made.results[0]);
      for (size_t k = 0; k < made.operands.size(); ++k) {
        const int32_t at = base::At(made_by_, made.operands[k]);
        const bool is_inside = at >= 0 && base::At(in, at);
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
  std::vector<Labels> labels_;               // per value; empty: not wide
  std::vector<int> sides_;                   // per label: of both operands, the left, the right
  // Along one dim.
  int label_ = 0;
  std::vector<DimOfCall> calls_;
  std::vector<int> dim_of_;  // per value that members make
  std::vector<bool> member_;
  std::vector<int32_t> level_;  // per instruction
  int32_t levels_ = 0;
};

}  // namespace

BlockLimits& Limits() {
  static BlockLimits limits;
  return limits;
}

std::optional<Blocking> FindBlocking(const ir::Program& device, int64_t least,
                                     std::set<ValueId>& tried) {
  std::optional<Finder> finder;
  for (size_t i = 0; i < device.instructions.size(); ++i) {
    const Instruction& made = device.instructions[i];
    if (made.results.size() != 1 || device.type(made.results[0])->elements() < least ||
        tried.count(made.results[0]) != 0)
      continue;
    if (!finder) finder.emplace(device);
    if (!finder->IsProduct(i)) continue;
    tried.insert(made.results[0]);
    if (std::optional<Blocking> found = finder->Run(i)) return found;
  }
  return {};
}

}  // namespace tessera::spmd
