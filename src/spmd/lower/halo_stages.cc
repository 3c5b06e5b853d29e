// Groups halo exchanges by their reads along the first sharded dim, and compares bytes.
#include "spmd/lower/halo_stages.h"

#include <absl/algorithm/container.h>
#include <absl/container/flat_hash_map.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/at.h"
#include "sharding/access.h"
#include "spmd/lower/op_partition.h"

namespace tessera::spmd {
namespace {

using ir::HaloParams;
using ir::Instruction;
using ir::ValueId;

// Returns the read along a dim of the operand. Null: index o reads index o.
const std::vector<int64_t>* ReadAlong(const HaloParams& halo, size_t dim) {
  for (const std::vector<int64_t>& read : halo.reads)
    if (read[1] == static_cast<int64_t>(dim)) return &read;
  return nullptr;
}
bool IsSharded(const HaloParams& halo, size_t dim) {
  return !halo.to->sharding().dims[dim].axes.empty() ||
         !halo.from[0]->sharding().dims[dim].axes.empty();
}

// Whether the exchange reads one operand, apart from a fill, and reads along each dim of it at
// most once.
bool IsSimple(const HaloParams& halo) {
  if (halo.from.size() != (halo.fill < 0 ? 1 : 2) || halo.fill == 0) return false;
  if (!halo.from[0]->sharding().unreduced.empty()) return false;
  std::vector<int64_t> dims;
  for (const std::vector<int64_t>& read : halo.reads) {
    if (read[0] != 0 || absl::c_linear_search(dims, read[1])) return false;
    dims.push_back(read[1]);
    const bool is_local = !IsSharded(halo, base::Size(read[1]));
    const bool is_piece = halo.fill < 0 ? read[3] > 0 && read[4] == 1 : read[3] == 1;
    if (is_local && !is_piece) return false;
  }
  return dims.size() > 1;
}

// Exchanges of one value with the same read along the first dim.
struct Group {
  int64_t at_once = 0, dim_by_dim = 0;  // bytes
  std::vector<ValueId> results;
};

class Stages {
 public:
  Stages(const ir::Program& program, absl::FunctionRef<const ir::Type*(ValueId)> place)
      : program_(program), place_(place) {}

  absl::flat_hash_set<ValueId> Run() {
    for (const Instruction& i : program_.instructions)
      if (Moves(i)) Add(i);
    absl::flat_hash_set<ValueId> staged;
    for (auto& [key, group] : groups_) {
      const auto same = alone_.find(key);
      const HaloParams& first = ir::As<HaloParams>(key.second.second.get());
      if (same == alone_.end()) group.dim_by_dim += BytesOf(first);
      if (group.dim_by_dim >= group.at_once) continue;
      staged.insert(group.results.begin(), group.results.end());
      if (same != alone_.end()) staged.insert(same->second);
    }
    return staged;
  }

 private:
  // The operands, and the first stage. Its text orders groups.
  using Key = std::pair<std::vector<ValueId>, std::pair<std::string, ir::ParamsPtr>>;
  struct Before {
    bool operator()(const Key& a, const Key& b) const {
      return std::tie(a.first, a.second.first) < std::tie(b.first, b.second.first);
    }
  };
  Key KeyOf(const Instruction& i, const HaloParams& first) {
    ir::ParamsPtr params = ir::MakeParams(first);
    std::string text = params->text();
    std::vector<ValueId> operands;
    for (ValueId v : i.operands) operands.push_back(Same(v));
    return {std::move(operands), {std::move(text), std::move(params)}};
  }
  // Returns the first literal with the number of v. Each pad has its own.
  ValueId Same(ValueId v) {
    if (literals_.empty())
      for (const Instruction& i : program_.instructions)
        if (i.operands.empty() && i.params && i.results.size() == 1 &&
            std::holds_alternative<ir::AsConstant>(*i.op->lowering))
          literals_[i.results[0]] = numbers_.emplace(i.params->text(), i.results[0]).first->second;
    const auto it = literals_.find(v);
    return it == literals_.end() ? v : it->second;
  }

  bool Moves(const Instruction& i) const {
    return std::holds_alternative<ir::AsKernel>(*i.op->lowering) && i.results.size() == 1 &&
           !i.operands.empty() && i.operands.size() <= 2 && i.op->flops_per_point == 0 &&
           !i.op->opaque && !place_(i.results[0])->sharding().dims_empty();
  }

  void Add(const Instruction& i) {
    absl::InlinedVector<const ir::Type*, 3> operands;
    for (ValueId v : i.operands) operands.push_back(place_(v));
    const ir::Type* result = place_(i.results[0]);
    const std::shared_ptr<const Decision> decision = DecisionOn(i, operands, {&result, 1});
    if (!decision->halo) return;
    const auto& halo = ir::As<HaloParams>(decision->halo.get());
    std::optional<HaloParams> first = FirstStageOf(halo);
    if (!first) {
      alone_.emplace(KeyOf(i, halo), i.results[0]);
      return;
    }
    Group& group = groups_[KeyOf(i, *first)];
    group.results.push_back(i.results[0]);
    group.at_once += decision->cost->bytes;
    for (HaloParams rest = RestOf(halo, *first); ReadsShardedDim(rest);
         rest = RestOf(rest, *first)) {
      first = FirstStageOf(rest);
      group.dim_by_dim += BytesOf(first ? *first : rest);
      if (!first) break;
    }
  }

  const ir::Program& program_;
  const absl::FunctionRef<const ir::Type*(ValueId)> place_;
  std::map<std::string, ValueId> numbers_;
  absl::flat_hash_map<ValueId, ValueId> literals_;
  std::map<Key, Group, Before> groups_;
  std::map<Key, ValueId, Before> alone_;  // exchanges with reads along that dim alone
};

}  // namespace

std::optional<HaloParams> FirstStageOf(const HaloParams& halo) {
  if (!IsSimple(halo)) return {};
  const ir::Type &from = *halo.from[0], &to = *halo.to;
  size_t dim = 0;
  while (dim < to.shape().size() && !(ReadAlong(halo, dim) && IsSharded(halo, dim))) ++dim;
  if (dim == to.shape().size()) return {};
  base::Shape shape = from.shape();
  shape[dim] = to.shape()[dim];
  sharding::TensorSharding sharding = from.sharding();
  sharding.dims[dim] = to.sharding().dims[dim];
  HaloParams first = halo;
  first.to = ir::Type::Get(std::move(shape), to.dtype(), std::move(sharding));
  first.reads = {*ReadAlong(halo, dim)};
  return first;
}

HaloParams RestOf(const HaloParams& halo, const HaloParams& first) {
  HaloParams rest = halo;
  rest.from[0] = first.to;
  std::erase(rest.reads, first.reads[0]);
  return rest;
}

int64_t BytesOf(const HaloParams& halo) {
  const ir::Type &from = *halo.from[0], &to = *halo.to;
  sharding::DimMap map;
  sharding::FactorAxes axes;
  map.operands.emplace_back();
  for (size_t d = 0; d < to.shape().size(); ++d) {
    const std::vector<int64_t>* read = ReadAlong(halo, d);
    const auto kind = read ? sharding::FactorKind::kPermute : sharding::FactorKind::kPass;
    const int32_t f = map.AddFactor({.size = from.shape()[d], .kind = kind});
    map.operands[0].push_back({f});
    axes.push_back(to.sharding().dims[d].axes);
    if (read) map.accesses.push_back(ir::AccessOf(*read)), map.accesses.back().factor = f;
  }
  map.results = map.operands;
  return sharding::HaloBytes(
      map, {{&from.shape(), sharding::ItemSize::OfBits(from.dtype().bits()), &from.sharding()}},
      to.shape(), axes);
}

bool ReadsShardedDim(const HaloParams& halo) {
  return absl::c_any_of(halo.reads, [&](const std::vector<int64_t>& read) {
    return IsSharded(halo, base::Size(read[1]));
  });
}

absl::flat_hash_set<ValueId> FindStagedExchanges(
    const ir::Program& program, absl::FunctionRef<const ir::Type*(ValueId)> place) {
  return Stages(program, place).Run();
}

}  // namespace tessera::spmd
