// Finds the parts of one op, and composes those of several.
#include "spmd/schedule/reads.h"

#include <absl/algorithm/container.h>

#include <algorithm>

#include "base/at.h"
#include "base/divide.h"
#include "base/shape.h"
#include "sharding/access.h"

namespace tessera::spmd {
namespace {

using ir::Instruction;
using ir::ValueId;
using sharding::DimMap;
using sharding::ShardRun;
using sharding::ShardRuns;

// With more parts than this, finding the part of an element takes too long.
constexpr size_t kMostParts = 32;
// The longest chain of instructions that is followed; the value at its end is computed.
constexpr int kDeepest = 64;
// Starting a row of the fused kernel costs more than reading a shorter row through parts saves.
constexpr int64_t kLeastRow = 64;

int64_t ElementsOf(const ReadPart& part) {
  int64_t n = 1;
  for (size_t d = 0; d < part.begin.size(); ++d) n *= part.end[d] - part.begin[d];
  return n;
}

// Finds the parts of the result of one op.
class PartFinder {
 public:
  PartFinder(const DimMap& map, const std::vector<const base::Shape*>& operands,
             const base::Shape& result, absl::Span<const ValueId> values)
      : map_(map), operands_(operands), result_(result), values_(values) {}

  std::optional<ReadParts> Run() {
    if (!OnlyMovesElements(map_) || base::Elements(result_) == 0) return {};
    const int32_t fill = sharding::FillOf(map_);
    for (size_t i = 0; i < operands_.size(); ++i)
      if (static_cast<int32_t>(i) != fill && !TryAddOperand(i, fill)) return {};
    int64_t covered = 0;
    for (const ReadPart& part : parts_) covered += ElementsOf(part);
    if (covered != base::Elements(result_)) return {};
    return std::move(parts_);
  }

 private:
  // Returns the dim of the result whose only factor this is; -1 if there is none.
  int32_t ResultDimOf(int32_t factor) const {
    for (size_t d = 0; d < map_.results[0].size(); ++d)
      if (map_.results[0][d] == sharding::FactorList{factor}) return static_cast<int32_t>(d);
    return -1;
  }

  // Adds the parts that read operand i, and those around them that read the scalar `fill`, if there
  // is one. Returns false if the map does not describe them.
  bool TryAddOperand(size_t i, int32_t fill) {
    const base::Shape& shape = *operands_[i];
    std::vector<ShardRuns> runs;  // per dim of the result: indices of i by indices of the result
    for (int64_t size : result_) runs.push_back({{.count = size}});
    std::vector<ReadDim> dims(shape.size());
    std::vector<std::pair<size_t, const sharding::Access*>> gaps;
    for (size_t d = 0; d < shape.size(); ++d) {
      const sharding::FactorList& factors = map_.operands[i][d];
      if (shape[d] == 1 && (factors.empty() || !HasAccess(i, factors[0]))) continue;
      if (factors.size() != 1) return false;
      const int32_t r = ResultDimOf(factors[0]);
      if (r < 0) return false;
      dims[d] = {.dim = r, .start = 0, .step = 1};
      ShardRuns& along = base::At(runs, r);
      if (!HasAccess(i, factors[0])) {
        if (base::At(map_.factors, factors[0]).kind != sharding::FactorKind::kPass ||
            shape[d] != base::At(result_, r))
          return false;
        continue;
      }
      along.clear();
      for (const sharding::Access& a : map_.accesses) {
        if (a.operand != static_cast<int32_t>(i) || a.factor != factors[0]) continue;
        gaps.emplace_back(base::Size(r), &a);
        for (const ShardRun& run : sharding::RunsOf(a, OnOneDevice(shape[d], r), 0)) {
          if (run.out_step != 1 && run.count > 1) return false;
          along.push_back(run);
        }
      }
    }
    AddParts(values_[i], runs, dims);
    return fill < 0 || AddFill(values_[base::Size(fill)], runs, gaps);
  }

  bool HasAccess(size_t i, int32_t factor) const {
    return absl::c_any_of(map_.accesses, [&](const sharding::Access& a) {
      return a.operand == static_cast<int32_t>(i) && a.factor == factor;
    });
  }
  sharding::AccessDim OnOneDevice(int64_t size, int32_t r) const {
    const int64_t to = base::At(result_, r);
    return {size, size, to, to};
  }

  // Adds a part for each choice of one run per dim.
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

  // Adds parts for elements that read no element of the operand. For each dim these are the gaps
  // along it, within the elements that the dims before it cover.
  bool AddFill(ValueId fill, const std::vector<ShardRuns>& runs,
               const std::vector<std::pair<size_t, const sharding::Access*>>& accesses) {
    std::vector<ShardRuns> boxes;
    for (int64_t size : result_) boxes.push_back({{.count = size}});
    for (const auto& [r, access] : accesses) {
      const size_t d = OperandDimOf(*access);
      boxes[r] = sharding::GapsOf(
          *access, OnOneDevice((*operands_[OperandOf(*access)])[d], static_cast<int32_t>(r)), 0);
      for (const ShardRun& gap : boxes[r])
        if (gap.out_step != 1 && gap.count > 1) return false;
      AddParts(fill, boxes, {});
      boxes[r] = runs[r];
    }
    return true;
  }
  static size_t OperandOf(const sharding::Access& a) { return base::Size(a.operand); }
  size_t OperandDimOf(const sharding::Access& a) const {
    const sharding::DimFactors& dims = map_.operands[OperandOf(a)];
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

// Narrows [begin, end) to the positions p with lo <= start + step * p < hi. Returns whether there
// are any.
bool NarrowRange(int64_t& begin, int64_t& end, const ReadDim& dim, int64_t lo, int64_t hi) {
  if (dim.step > 0) {
    begin = std::max(begin, base::CeilDiv(lo - dim.start, dim.step));
    end = std::min(end, base::CeilDiv(hi - dim.start, dim.step));
  } else {
    begin = std::max(begin, base::FloorDiv(hi - dim.start, dim.step) + 1);
    end = std::min(end, base::FloorDiv(lo - dim.start, dim.step) + 1);
  }
  return begin < end;
}

// Adds `part` to `out`, with the sources of its source, whose parts are `inner`.
void AddComposed(const ReadPart& part, const ReadParts& inner, ReadParts& out) {
  ReadPart p;
  for (const ReadPart& q : inner) {
    p.begin = part.begin, p.end = part.end;
    bool meets = true;
    for (size_t e = 0; meets && e < part.dims.size(); ++e) {
      const ReadDim& dim = part.dims[e];
      if (dim.dim < 0)
        meets = q.begin[e] <= dim.start && dim.start < q.end[e];
      else
        meets = NarrowRange(base::At(p.begin, dim.dim), base::At(p.end, dim.dim), dim, q.begin[e],
                            q.end[e]);
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
  return absl::c_all_of(strides, [](int64_t s) { return s == 0; });
}

// Whether fused kernels take the part: its rows are contiguous in the source, or it repeats one
// element. Rows are the dims from `row` on; the part covers them if reductions run over them.
bool IsReadable(const plan::FusedDesc::Part& part, const base::Shape& space, size_t row) {
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

// Returns the parts of an instruction's result, by its dimension map. Returns nothing if the op
// computes anything, or chooses elements in a way that the map does not describe.
std::optional<ReadParts> PartsOf(const ir::Program& device, const Instruction& instruction) {
  const ir::Lowering& lowering = *instruction.op->lowering;
  if (!std::holds_alternative<ir::AsKernel>(lowering) &&
      !std::holds_alternative<ir::AsBroadcast>(lowering))
    return {};
  if (instruction.op->flops_per_point != 0 || instruction.results.size() != 1) return {};
  if (!std::holds_alternative<ir::DimMapFn>(*instruction.op->dims)) return {};
  const ir::Type* result = device.type(instruction.results[0]);
  std::vector<const base::Shape*> shapes;
  for (ValueId v : instruction.operands) {
    shapes.push_back(&device.type(v)->shape());
    if (device.type(v)->dtype() != result->dtype()) return {};
  }
  const DimMap map = DimMapOf(device, instruction);
  return PartFinder(map, shapes, result->shape(), instruction.operands).Run();
}

}  // namespace

Reads::Reads(const ir::Program& device) : device_(device), definitions_(DefinitionsOf(device)) {}

const ReadParts* Reads::InOperands(ValueId v) {
  if (definitions_[v] == kNoInstruction) return nullptr;
  auto it = in_operands_.find(v);
  if (it == in_operands_.end()) {
    const Instruction& definition = InstructionAt(device_, definitions_[v]);
    it = in_operands_.emplace(v, PartsOf(device_, definition)).first;
  }
  return it->second ? &*it->second : nullptr;
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
  const ReadParts* own = InOperands(v);
  if (own == nullptr) return {};
  ReadParts composed;
  for (const ReadPart& part : *own) {
    if (const ReadParts* inner = Of(part.source))
      AddComposed(part, *inner, composed);
    else
      composed.push_back(part);
  }
  return composed.size() <= kMostParts ? std::move(composed) : *own;
}

const ReadParts* Reads::Repeated(ValueId v, const base::Shape& space) {
  const ReadParts* parts = Of(v);
  if (!parts || parts->size() != 1) return nullptr;
  const ReadPart& part = parts->front();
  return IsRepeat(part, device_.type(part.source)->shape(), space) ? parts : nullptr;
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
  ValueId fill = kNoValue;  // the source of parts that repeat one element
  for (const ReadPart& part : *parts) {
    const plan::FusedDesc::Part desc = PartDesc(part, device_.type(part.source)->shape());
    if (!IsReadable(desc, space, outer) || !MayStayAlive(part.source, base::Elements(space)))
      return nullptr;
    if (!AllZero(desc.strides)) continue;
    if (fill != kNoValue && fill != part.source) return nullptr;
    fill = part.source;
  }
  return parts;
}

const ReadParts* Reads::ForCopy(ValueId v) {
  // Starting a kernel costs more than moving fewer bytes.
  constexpr int64_t kLeastBytes = 4096, kLeastRun = 16;
  const ir::Type& type = *device_.type(v);
  if (definitions_[v] == kNoInstruction || ShardBytes(device_, v) < kLeastBytes) return nullptr;
  const Instruction& definition = InstructionAt(device_, definitions_[v]);
  const ReadParts* own = InOperands(v);
  const ReadParts* parts = own != nullptr && own->size() > 1 ? Of(v) : nullptr;
  if (!parts || parts->size() > kMostParts) return nullptr;
  size_t inner = type.shape().size();
  while (inner > 0 && type.shape()[inner - 1] == 1) --inner;
  if (inner == 0) return nullptr;
  const auto is_operand = [&](const ReadPart& part) {
    return absl::c_linear_search(definition.operands, part.source);
  };
  if (absl::c_all_of(*parts, is_operand)) return nullptr;
  for (const ReadPart& part : *parts) {
    const plan::FusedDesc::Part desc = PartDesc(part, device_.type(part.source)->shape());
    if (!MayStayAlive(part.source, type.elements())) return nullptr;
    if (AllZero(desc.strides)) continue;
    const int64_t run = (desc.end[inner - 1] - desc.begin[inner - 1]) * type.dtype().size();
    if (desc.strides[inner - 1] != 1 || run < kLeastRun) return nullptr;
  }
  return parts;
}

const ReadParts* Reads::Element(ValueId v) {
  constexpr int64_t kSmall = 32;
  if (device_.type(v)->elements() != 1) return nullptr;
  for (InstructionId i = definitions_[v]; i != kNoInstruction && IsView(InstructionAt(device_, i));
       i = definitions_[v]) {
    const ValueId operand = InstructionAt(device_, i).operands[0];
    if (device_.type(operand)->dtype() != device_.type(v)->dtype()) return nullptr;
    v = operand;
  }
  const ReadParts* parts = Of(v);
  return parts && parts->size() == 1 && MayStayAlive(parts->front().source, kSmall) ? parts
                                                                                    : nullptr;
}

// Whether the source may stay in memory until a reader of `elements` elements runs. Inputs are in
// memory anyway; a value that is much larger than the elements read should be freed before.
bool Reads::MayStayAlive(ValueId source, int64_t elements) const {
  return definitions_[source] == kNoInstruction || device_.type(source)->elements() <= 2 * elements;
}

bool IsRepeat(const ReadPart& part, const base::Shape& source, const base::Shape& space) {
  if (part.end != space || !absl::c_all_of(part.begin, [](int64_t b) { return b == 0; }))
    return false;
  int32_t last = -1;
  for (size_t e = 0; e < source.size(); ++e) {
    const ReadDim& dim = part.dims[e];
    if (source[e] == 1) continue;
    if (dim.dim <= last || dim.start != 0 || dim.step != 1 || source[e] != base::At(space, dim.dim))
      return false;
    last = dim.dim;
  }
  return true;
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
