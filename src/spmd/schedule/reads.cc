// Finds what only moves elements, and composes it.
#include "spmd/schedule/reads.h"

#include <algorithm>

#include "base/at.h"
#include "base/divide.h"
#include "base/shape.h"
#include "ir/infer.h"
#include "sharding/access.h"

namespace tessera::spmd {
namespace {

using ir::Instruction;
using ir::ValueId;
using sharding::DimMap;
using sharding::ShardRun;
using sharding::ShardRuns;

// More boxes than that are not worth finding one's way in.
constexpr size_t kMostParts = 32;
// Moves of moves of moves: what lies deeper is made, so that a long chain ends.
constexpr int kDeepest = 64;
// A shorter row of the fused kernel is not worth its start.
constexpr int64_t kLeastRow = 64;

int64_t Volume(const ReadPart& part) {
  int64_t n = 1;
  for (size_t d = 0; d < part.begin.size(); ++d) n *= part.end[d] - part.begin[d];
  return n;
}

// One op's parts.
class Finder {
 public:
  Finder(const DimMap& map, const std::vector<const base::Shape*>& operands,
         const base::Shape& result, absl::Span<const ValueId> values)
      : map_(map), operands_(operands), result_(result), values_(values) {}

  std::optional<ReadParts> Run() {
    if (!OnlyMoves() || base::Elements(result_) == 0) return {};
    const int32_t fill = sharding::FillOf(map_);
    for (size_t i = 0; i < operands_.size(); ++i)
      if (static_cast<int32_t>(i) != fill && !Add(i, fill)) return {};
    int64_t covered = 0;
    for (const ReadPart& part : parts_) covered += Volume(part);
    if (covered != base::Elements(result_)) return {};
    return std::move(parts_);
  }

 private:
  // What commutes with all reductions in all operands at once takes each element from somewhere.
  bool OnlyMoves() const {
    return map_.results.size() == 1 && map_.linear.size() == 1 && !map_.traits.custom &&
           map_.linear[0].operands.size() == operands_.size() && map_.linear[0].kinds.sum &&
           map_.linear[0].kinds.max && map_.linear[0].kinds.min;
  }

  // The result's dim with one factor, this one; -1 if there is none.
  int32_t DimOf(int32_t factor) const {
    for (size_t d = 0; d < map_.results[0].size(); ++d)
      if (map_.results[0][d] == sharding::FactorList{factor}) return static_cast<int32_t>(d);
    return -1;
  }

  // Adds what operand i gives, and `fill` around it. False: it is not known.
  bool Add(size_t i, int32_t fill) {
    const base::Shape& shape = *operands_[i];
    std::vector<ShardRuns> runs;  // per dim of the result: of indices o, those of i
    for (int64_t size : result_) runs.push_back({{.count = size}});
    std::vector<ReadDim> dims(shape.size());
    std::vector<std::pair<size_t, const sharding::Access*>> gaps;
    for (size_t d = 0; d < shape.size(); ++d) {
      const sharding::FactorList& factors = map_.operands[i][d];
      if (shape[d] == 1 && (factors.empty() || !Accessed(i, factors[0]))) continue;
      if (factors.size() != 1) return false;
      const int32_t r = DimOf(factors[0]);
      if (r < 0) return false;
      dims[d] = {.dim = r, .start = 0, .step = 1};
      ShardRuns& along = base::At(runs, r);
      if (!Accessed(i, factors[0])) {
        if (base::At(map_.factors, factors[0]).kind != sharding::FactorKind::kPass ||
            shape[d] != base::At(result_, r))
          return false;
        continue;
      }
      along.clear();
      for (const sharding::Access& a : map_.accesses) {
        if (a.operand != static_cast<int32_t>(i) || a.factor != factors[0]) continue;
        gaps.emplace_back(base::Size(r), &a);
        for (const ShardRun& run : sharding::RunsOf(a, Whole(shape[d], r), 0)) {
          if (run.out_step != 1 && run.count > 1) return false;
          along.push_back(run);
        }
      }
    }
    AddParts(values_[i], runs, dims);
    return fill < 0 || AddFill(values_[base::Size(fill)], runs, gaps);
  }

  bool Accessed(size_t i, int32_t factor) const {
    return std::any_of(map_.accesses.begin(), map_.accesses.end(), [&](const auto& a) {
      return a.operand == static_cast<int32_t>(i) && a.factor == factor;
    });
  }
  sharding::AccessDim Whole(int64_t size, int32_t r) const {
    const int64_t to = base::At(result_, r);
    return {size, size, to, to};
  }

  // One part for each choice of a run along every dim.
  void AddParts(ValueId source, const std::vector<ShardRuns>& runs,
                const std::vector<ReadDim>& dims) {
    sharding::ForEachChoice(runs, [&](const std::vector<const ShardRun*>& choice) {
      ReadPart part{.begin = {}, .end = {}, .source = source, .dims = dims};
      for (const ShardRun* run : choice) {
        part.begin.push_back(run->out);
        part.end.push_back(run->out + run->count);
      }
      for (ReadDim& dim : part.dims) {
        if (dim.dim < 0) continue;
        const ShardRun& run = *base::At(choice, dim.dim);
        dim = {dim.dim, run.in - run.in_step * run.out, run.in_step};
      }
      parts_.push_back(std::move(part));
    });
  }

  // For each dim what is not read of it, of what the dims before it read.
  bool AddFill(ValueId fill, const std::vector<ShardRuns>& runs,
               const std::vector<std::pair<size_t, const sharding::Access*>>& accesses) {
    std::vector<ShardRuns> boxes;
    for (int64_t size : result_) boxes.push_back({{.count = size}});
    for (const auto& [r, access] : accesses) {
      const size_t d = DimOfOperand(*access);
      boxes[r] = sharding::GapsOf(
          *access, Whole((*operands_[Index(*access)])[d], static_cast<int32_t>(r)), 0);
      for (const ShardRun& gap : boxes[r])
        if (gap.out_step != 1 && gap.count > 1) return false;
      AddParts(fill, boxes, {});
      boxes[r] = runs[r];
    }
    return true;
  }
  static size_t Index(const sharding::Access& a) { return base::Size(a.operand); }
  size_t DimOfOperand(const sharding::Access& a) const {
    const sharding::DimFactors& dims = map_.operands[Index(a)];
    size_t d = 0;
    while (dims[d].size() != 1 || dims[d][0] != a.factor) ++d;
    return d;
  }

  const DimMap& map_;
  const std::vector<const base::Shape*>& operands_;
  const base::Shape& result_;
  absl::Span<const ValueId> values_;
  ReadParts parts_;
};

// Narrows [begin, end) to the positions p with lo <= start + step * p < hi; returns whether there
// are some.
bool Narrow(int64_t& begin, int64_t& end, const ReadDim& dim, int64_t lo, int64_t hi) {
  if (dim.step > 0) {
    begin = std::max(begin, base::CeilDiv(lo - dim.start, dim.step));
    end = std::min(end, base::CeilDiv(hi - dim.start, dim.step));
  } else {
    begin = std::max(begin, base::FloorDiv(hi - dim.start, dim.step) + 1);
    end = std::min(end, base::FloorDiv(lo - dim.start, dim.step) + 1);
  }
  return begin < end;
}

// What `part` reads of its source, whose parts are `inner`, as parts of what those read.
void Through(const ReadPart& part, const ReadParts& inner, ReadParts& out) {
  ReadPart p;
  for (const ReadPart& q : inner) {
    p.begin = part.begin, p.end = part.end;
    bool meets = true;
    for (size_t e = 0; meets && e < part.dims.size(); ++e) {
      const ReadDim& dim = part.dims[e];
      if (dim.dim < 0)
        meets = q.begin[e] <= dim.start && dim.start < q.end[e];
      else
        meets =
            Narrow(base::At(p.begin, dim.dim), base::At(p.end, dim.dim), dim, q.begin[e], q.end[e]);
    }
    for (size_t d = 0; meets && d < p.begin.size(); ++d) meets = p.begin[d] < p.end[d];
    if (!meets) continue;
    p.source = q.source, p.dims = q.dims;
    for (ReadDim& g : p.dims) {
      if (g.dim < 0) continue;
      const ReadDim& middle = base::At(part.dims, g.dim);
      g = {middle.dim, g.start + g.step * middle.start, g.step * middle.step};
    }
    out.push_back(p);
  }
}

bool AllZero(const std::vector<int64_t>& strides) {
  return std::all_of(strides.begin(), strides.end(), [](int64_t s) { return s == 0; });
}

// Whether the fused kernel takes the part: rows of neighbours, or one element everywhere.
bool Suits(const plan::FusedDesc::Part& part, const base::Shape& space, size_t row) {
  const bool whole_rows = row < space.size();
  size_t inner = space.size();
  while (inner > 0 && space[inner - 1] == 1) --inner;
  if (inner == 0) return false;
  if (AllZero(part.strides)) return !whole_rows;
  if (part.strides[inner - 1] != 1) return false;
  int64_t dense = 1;
  for (size_t d = space.size(); d-- > row;) {
    if (part.begin[d] != 0 || part.end[d] != space[d]) return false;
    if (space[d] != 1 && part.strides[d] != dense) return false;
    dense *= space[d];
  }
  return true;
}

}  // namespace

std::optional<ReadParts> PartsOf(const ir::Program& device, const Instruction& instruction) {
  const ir::Lowering& lowering = *instruction.op->lowering;
  if (!std::holds_alternative<ir::AsKernel>(lowering) &&
      !std::holds_alternative<ir::AsBroadcast>(lowering))
    return {};
  if (instruction.op->flops_per_point != 0 || instruction.results.size() != 1) return {};
  if (!std::holds_alternative<ir::DimMapFn>(*instruction.op->dims)) return {};
  std::vector<const ir::Type*> in, out{device.type(instruction.results[0])};
  std::vector<const base::Shape*> shapes;
  for (ValueId v : instruction.operands) {
    in.push_back(device.type(v));
    shapes.push_back(&in.back()->shape());
    if (in.back()->dtype() != out[0]->dtype()) return {};
  }
  const DimMap map = ir::DimMapOf(*instruction.op, instruction.params.get(), in, out);
  return Finder(map, shapes, out[0]->shape(), instruction.operands).Run();
}

Reads::Reads(const ir::Program& device) : device_(device), maker_(device.values.size()) {
  for (const Instruction& i : device.instructions)
    for (ValueId v : i.results) base::At(maker_, v) = &i;
}

const ReadParts* Reads::Of(ValueId v) {
  auto it = known_.find(v);
  if (it == known_.end()) {
    if (depth_ == kDeepest) return nullptr;
    ++depth_;
    it = known_.emplace(v, Composed(v)).first;
    --depth_;
  }
  return it->second ? &*it->second : nullptr;
}

std::optional<ReadParts> Reads::Composed(ValueId v) {
  const Instruction* maker = base::At(maker_, v);
  if (!maker) return {};
  std::optional<ReadParts> own = PartsOf(device_, *maker);
  if (!own) return {};
  ReadParts composed;
  for (const ReadPart& part : *own) {
    if (const ReadParts* inner = Of(part.source))
      Through(part, *inner, composed);
    else
      composed.push_back(part);
  }
  return composed.size() <= kMostParts ? std::move(composed) : std::move(own);
}

const ReadParts* Reads::For(ValueId v, const base::Shape& space, int32_t reduced) {
  if (device_.type(v)->shape() != space) return nullptr;
  int64_t row = 1;
  for (int64_t size : space)
    if (size != 1) row = size;
  if (row < kLeastRow) return nullptr;
  const ReadParts* parts = Of(v);
  if (!parts || parts->size() > kMostParts) return nullptr;
  const size_t outer = space.size() - base::Size(reduced);
  ValueId fill = -1;
  for (const ReadPart& part : *parts) {
    const plan::FusedDesc::Part desc = PartDesc(part, device_.type(part.source)->shape());
    if (!Suits(desc, space, outer) || !IsKept(part.source, base::Elements(space))) return nullptr;
    if (!AllZero(desc.strides)) continue;
    if (fill >= 0 && fill != part.source) return nullptr;
    fill = part.source;
  }
  return parts;
}

const ReadParts* Reads::Element(ValueId v) {
  constexpr int64_t kSmall = 32;
  if (device_.type(v)->elements() != 1) return nullptr;
  for (const Instruction* maker = base::At(maker_, v);
       maker && std::holds_alternative<ir::AsView>(*maker->op->lowering);
       maker = base::At(maker_, v)) {
    if (device_.type(maker->operands[0])->dtype() != device_.type(v)->dtype()) return nullptr;
    v = maker->operands[0];
  }
  const ReadParts* parts = Of(v);
  return parts && parts->size() == 1 && IsKept(parts->front().source, kSmall) ? parts : nullptr;
}

// A source lives as long as it is read: not one that is much larger, unless it lives anyway.
bool Reads::IsKept(ValueId source, int64_t elements) const {
  return !base::At(maker_, source) || device_.type(source)->elements() <= 2 * elements;
}

plan::FusedDesc::Part PartDesc(const ReadPart& part, const base::Shape& source) {
  const std::vector<int64_t> dense = base::DenseStrides(source);
  plan::FusedDesc::Part desc{part.begin, part.end, base::Shape(part.begin.size(), 0)};
  for (size_t e = 0; e < part.dims.size(); ++e) {
    desc.offset += part.dims[e].start * dense[e];
    if (part.dims[e].dim >= 0)
      base::At(desc.strides, part.dims[e].dim) += part.dims[e].step * dense[e];
  }
  return desc;
}

}  // namespace tessera::spmd
