// Joins the values that elementwise ops connect, and splits their reductions at the fewest trailing
// dims.
#include "spmd/passes/split_reductions.h"

#include <absl/algorithm/container.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <numeric>
#include <utility>

#include "base/ids.h"
#include "ops/params.h"
#include "plan/fused.h"
#include "spmd/local_type.h"
#include "spmd/value_sets.h"

namespace tessera::spmd {
namespace {

using ir::Instruction;
using ir::ValueId;

// The reduced rows must be long enough, so that their results need little memory.
constexpr int64_t kLeastRow = 8;

class Splitter {
 public:
  explicit Splitter(ir::Program& device)
      : program_(device), sets_(device.values.size()), fewest_(device.values.size(), 0) {}

  void Run() {
    for (const Instruction& i : program_.instructions) Join(i);
    for (const Instruction& i : program_.instructions) {
      const int64_t dims = TrailingDims(i);
      if (dims == 0) continue;
      int64_t& fewest = fewest_[sets_.Root(i.operands[0])];
      fewest = fewest == 0 ? dims : std::min(fewest, dims);
    }
    std::vector<Instruction> from = std::move(program_.instructions);
    program_.instructions.clear();
    for (Instruction& i : from) {
      const int64_t dims = TrailingDims(i);
      if (dims > 0) SplitAt(i, fewest_[sets_.Root(i.operands[0])], dims);
      program_.instructions.push_back(std::move(i));
    }
  }

 private:
  const base::Shape& shape(ValueId v) const { return program_.type(v)->shape(); }

  void Join(const Instruction& i) {
    if (!std::holds_alternative<ir::AsElementwise>(*i.op->lowering)) return;
    for (ValueId v : i.operands)
      if (shape(v) == shape(i.results[0])) sets_.Join(v, i.results[0]);
  }

  // Returns how many trailing dims the instruction reduces, if a fused group can do it; else 0.
  int64_t TrailingDims(const Instruction& i) const {
    const auto* reduction = std::get_if<ir::AsReduction>(&*i.op->lowering);
    if (!reduction ||
        !plan::ReducesInGroup(program_.type(i.results[0])->dtype(), reduction->reduction))
      return 0;
    const std::vector<int64_t>& dims = ir::As<ops::DimsParams>(i.params.get()).dims;
    const int64_t rank = program_.type(i.operands[0])->rank();
    const auto count = std::ssize(dims);
    return absl::c_all_of(dims, [&](int64_t d) { return d >= rank - count; }) ? count : 0;
  }

  // Adds the reduction of the last `inner` dims, if that is less than all `dims` dims of the
  // reduction, which then reduces the others.
  void SplitAt(Instruction& i, int64_t inner, int64_t dims) {
    const ir::Type* place = program_.place(i.operands[0]);
    const base::Shape& local = shape(i.operands[0]);
    const int64_t row =
        std::accumulate(local.end() - inner, local.end(), int64_t{1}, std::multiplies<>());
    const Reduction kind = std::get<ir::AsReduction>(*i.op->lowering).reduction;
    const sharding::TensorSharding& s = place->sharding();
    const bool rounds = (kind == Reduction::kSum || kind == Reduction::kProd) &&
                        place->dtype().is_inexact() && place->dtype().size() < 4;
    if (inner == dims || row < kLeastRow || rounds || (!s.unreduced.empty() && s.kind != kind))
      return;
    const int64_t kept = place->rank() - inner;
    sharding::TensorSharding left = s;
    left.kind = kind;
    for (int64_t d = kept; d < place->rank(); ++d)
      sharding::AddTo(left.unreduced, s.dims[base::Size(d)].axes);
    if (left.unreduced.empty()) left.kind = Reduction::kSum;
    left.dims.resize(base::Size(kept));
    const base::Shape rows(place->shape().begin(), place->shape().begin() + kept);
    const ir::Type* row_place = ir::Type::Get(rows, place->dtype(), std::move(left));
    const ValueId made = program_.AddValue(LocalType(row_place), i.loc, row_place);
    program_.instructions.push_back(
        {.op = i.op,
         .params = DimsBetween(kept, place->rank()),
         .operands = {i.operands[0]},
         .results = {made},
         .loc = i.loc,
         .cost = std::exchange(i.cost, std::make_shared<const ir::Cost>())});
    i.operands = {made};
    i.params = DimsBetween(place->rank() - dims, kept);
  }

  static ir::ParamsPtr DimsBetween(int64_t begin, int64_t end) {
    ops::DimsParams dims;
    for (int64_t d = begin; d < end; ++d) dims.dims.push_back(d);
    return ir::MakeParams(std::move(dims));
  }

  ir::Program& program_;
  ValueSets sets_;
  base::IdVector<ValueId, int64_t> fewest_;  // trailing dims of reductions, by root
};

}  // namespace

void SplitReductions(ir::Program& device) { Splitter(device).Run(); }

}  // namespace tessera::spmd
