// Counts the ops of programs.
#include <algorithm>
#include <map>
#include <string_view>

#include "ir/infer.h"
#include "ir/program.h"
#include "spmd/cost.h"
#include "tessera/counts.h"

namespace tessera {
namespace {

int64_t BytesOf(const ir::Type& type) { return (type.elements() * type.dtype().bits() + 7) / 8; }

// Returns the FLOPs of one run.
double FlopsOf(const ir::Program& program, const ir::Instruction& i) {
  if (i.op->flops_per_point <= 0 || !i.regions.empty()) return 0;
  std::vector<const ir::Type*> operands, results;
  for (ir::ValueId v : i.operands) operands.push_back(program.type(v));
  for (ir::ValueId v : i.results) results.push_back(program.type(v));
  double flops = i.op->flops_per_point;
  for (const sharding::Factor& f : ir::DimMapOf(*i.op, i.params.get(), operands, results).factors)
    flops *= static_cast<double>(f.size);
  return flops;
}

using Counts = std::map<std::string_view, OpCount>;

void Count(const ir::Program& program, double times, Counts& counts) {
  for (const ir::Instruction& i : program.instructions) {
    OpCount& entry = counts[i.op->name];
    ++entry.count;
    entry.results += static_cast<int64_t>(i.results.size());
    for (ir::ValueId v : i.results)
      entry.result_bytes +=
          static_cast<int64_t>(times * static_cast<double>(BytesOf(*program.type(v))));
    entry.flops += static_cast<int64_t>(times * FlopsOf(program, i));
    if (i.regions.empty()) continue;
    const bool may_loop = std::holds_alternative<ir::AsRegions>(*i.op->lowering);
    const double runs = may_loop ? static_cast<double>(spmd::TimesOf(i).times) : 1;
    for (const ir::RegionPtr& r : i.regions) Count(*r, times * runs, counts);
  }
}

}  // namespace

std::vector<OpCount> count_ops(const Program& program) {
  Counts counts;
  Count(*program.program(), 1, counts);
  std::vector<OpCount> all;
  for (auto& [name, entry] : counts) {
    entry.op = name;
    all.push_back(std::move(entry));
  }
  std::ranges::stable_sort(all, std::greater(), &OpCount::count);
  return all;
}

}  // namespace tessera
