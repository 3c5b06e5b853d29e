// Adds host calls, so that loops and branches need no code for them.
#include "compile/checks/value_watch.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <map>
#include <utility>

#include "base/at.h"
#include "base/error.h"
#include "compile/host/host_array.h"
#include "ir/inline.h"
#include "ir/type.h"
#include "ir/uses.h"
#include "ops/host_call.h"

namespace tessera::compile {
namespace {

thread_local std::shared_ptr<ValueWatch> watching;

template <class... T>
bool IsOneOf(const ir::Lowering& lowering) {
  return (std::holds_alternative<T>(lowering) || ...);
}

// Whether the op may join a fused group, so that its operands need not be in memory.
bool MayFuse(const ir::OpDef& op) {
  return IsOneOf<ir::AsElementwise, ir::AsReduction, ir::AsBroadcast, ir::AsConstant, ir::AsIota,
                 ir::AsView, ir::AsExpansion>(*op.lowering);
}

// Whether the op computes numbers of its own. Moves, views and literals do not.
bool Computes(const ir::OpDef& op) {
  return IsOneOf<ir::AsKernel, ir::AsElementwise, ir::AsReduction, ir::AsManualMove, ir::AsPermute,
                 ir::AsHostCall>(*op.lowering);
}

bool IsLoop(const ir::Instruction& i) {
  const auto* regions = std::get_if<ir::AsRegions>(&*i.op->lowering);
  return regions &&
         (regions->kind == ir::AsRegions::kWhile || regions->kind == ir::AsRegions::kScan);
}

ir::ValueSet OutputsOf(const ir::Program& program) {
  ir::ValueSet outputs(program.values.size(), false);
  for (ir::ValueId v : program.outputs) outputs[v] = true;
  return outputs;
}

// Keeps the fingerprints of an operand. A buffer has a fixed number of chunks, each with sums of
// its own, so that the bits of the sums do not depend on the number of threads.
class KeepShards final : public ir::ShardFunction {
 public:
  KeepShards(std::shared_ptr<ValueWatch> watch, int64_t program, int64_t value,
             ir::ShardedOperand operand)
      : watch_(std::move(watch)), program_(program), value_(value), operand_(std::move(operand)) {
    constexpr int64_t kChunkBytes = 256 << 10, kMostChunks = 64;
    const ir::Type& place = *operand_.place;
    std::map<ShardElements, int32_t> holders;
    for (size_t p = 0; p < operand_.buffers.size(); ++p) {
      const auto position = static_cast<int64_t>(p);
      const ShardElements elements{ArrayAt(place, position), ShardAt(place, position)};
      const auto [shard, is_new] = shards_.try_emplace(operand_.buffers[p]);
      if (is_new) shard->second.rows = RowsOf(place, position);
      std::vector<ShardElements>& held = shard->second.elements;
      if (std::ranges::find(held, elements) == held.end()) held.push_back(elements);
      has_replicas_ |= holders.try_emplace(elements, shard->first).first->second != shard->first;
    }
    const int64_t bytes = place.elements() * static_cast<int64_t>(place.dtype().size());
    const int64_t of_one = bytes / static_cast<int64_t>(shards_.size());
    chunks_ = std::clamp<int64_t>(of_one / kChunkBytes, 1, kMostChunks);
  }
  int64_t max_parts() const override { return chunks_; }
  void Run(const ir::HostShard& shard) const override {
    for (int64_t k = chunks_ * shard.part / shard.parts;
         k < chunks_ * (shard.part + 1) / shard.parts; ++k)
      RunChunk(shard, k);
  }

 private:
  struct Shard {
    std::vector<ShardElements> elements;
    std::vector<ShardRows> rows;
  };

  void RunChunk(const ir::HostShard& shard, int64_t chunk) const {
    const DType dtype = operand_.place->dtype();
    const Shard& own = shards_.at(base::At(operand_.buffers, shard.position));
    const ShardPart part{shard.data, chunk, chunks_};
    watch_->Add({.program = program_,
                 .value = value_,
                 .device = operand_.device,
                 .iterations = {shard.iterations.begin(), shard.iterations.end()},
                 .at = {shard.position, chunk},
                 .parts = shards_.size() * base::Size(chunks_),
                 .elements = own.elements,
                 .print = FingerprintOf(dtype, own.rows, part),
                 .hash = has_replicas_ ? HashOf(dtype, own.rows, part) : 0});
  }

  const std::shared_ptr<ValueWatch> watch_;
  const int64_t program_, value_;
  const ir::ShardedOperand operand_;
  std::map<int32_t, Shard> shards_;  // by buffer
  bool has_replicas_ = false;        // whether several buffers hold the same elements
  int64_t chunks_ = 1;
};

class KeepFingerprints final : public ir::HostFunction {
 public:
  KeepFingerprints(std::shared_ptr<ValueWatch> watch, int64_t program, std::vector<int64_t> values)
      : watch_(std::move(watch)), program_(program), values_(std::move(values)) {}
  void Run(const ir::HostArguments&) const override {
    base::ThrowInternal(base::Refusal("watch_values", "shards", "",
                                      "a function of shards was called with whole values"));
  }
  bool CanTakeShards() const override { return true; }
  std::shared_ptr<const ir::ShardFunction> ForShards(
      const ir::ShardedOperand& operand) const override {
    return std::make_shared<const KeepShards>(watch_, program_, values_[operand.number], operand);
  }

 private:
  const std::shared_ptr<ValueWatch> watch_;
  const int64_t program_;
  const std::vector<int64_t> values_;
};

class KeepWhole final : public ir::HostFunction {
 public:
  KeepWhole(std::shared_ptr<ValueWatch> watch, std::vector<int64_t> values)
      : watch_(std::move(watch)), values_(std::move(values)) {}
  void Run(const ir::HostArguments& arguments) const override {
    watch_->AddWhole(values_, arguments);
  }

 private:
  const std::shared_ptr<ValueWatch> watch_;
  const std::vector<int64_t> values_;
};

ir::Instruction HostCall(const ir::Instruction& after, std::vector<ir::ValueId> operands,
                         std::shared_ptr<const ir::HostFunction> function) {
  ir::Instruction call{.op = &ops::CallbackOp(/*ordered=*/true),
                       .params = ir::MakeParams(ir::HostCallParams{{std::move(function)}}),
                       .operands = {},
                       .results = {},
                       .loc = after.loc};
  call.operands.assign(operands.begin(), operands.end());
  return call;
}

WholeValue WholeOf(int64_t number, const ir::HostArgument& value) {
  const ir::Type& type = *value.place;
  int64_t arrays = 1;
  for (size_t p = 0; p < value.shards.size(); ++p)
    arrays = std::max(arrays, ArrayAt(type, static_cast<int64_t>(p)) + 1);
  std::vector<int64_t> shape(type.shape().begin(), type.shape().end());
  if (arrays > 1) shape.insert(shape.begin(), arrays);
  WholeValue out{number, &type, ir::HostTensor(type.dtype(), shape), HasOtherReplicas(value)};
  const size_t bytes = base::Size(type.elements()) * type.dtype().size();
  for (size_t p = 0; p < value.shards.size(); ++p) {
    const std::byte* shard = value.shards[p];
    if (!shard) continue;
    const auto position = static_cast<int64_t>(p);
    std::byte* array = out.elements.data.data() + base::Size(ArrayAt(type, position)) * bytes;
    ForEachPiece(type, position, [&](int64_t in_whole, int64_t in_shard, int64_t n) {
      std::memcpy(array + in_whole, shard + in_shard, base::Size(n));
    });
  }
  return out;
}

}  // namespace

ValueWatch::ValueWatch(std::optional<WatchTarget> target)
    : target_(target), id_([] {
        static std::atomic<int64_t> last{0};
        return ++last;
      }()) {}

void ValueWatch::AddWhole(const std::vector<int64_t>& numbers, const ir::HostArguments& arguments) {
  const std::lock_guard lock(mutex_);
  if (arguments.device != target_->device || reached_[arguments.device]++ != target_->occurrence)
    return;
  for (size_t k = 0; k < numbers.size(); ++k)
    whole_.push_back(WholeOf(numbers[k], arguments.values[k]));
}

std::shared_ptr<const ir::Program> ValueWatch::Watched(
    const std::shared_ptr<const ir::Program>& program) {
  ir::Program live = *ir::InlineCallsAlone(program);
  ir::RemoveDead(live);
  const Numbers numbers = NumbersOf(live, {});
  NumberResults(live, numbers);
  std::shared_ptr<const ir::Program> watched = ir::Shared(Rewritten(live, numbers, {}));
  ++next_program_;
  return watched;
}

// Numbers inputs, captures and results, in the order of program text without regions.
ValueWatch::Numbers ValueWatch::NumbersOf(const ir::Program& program, const InstructionPath& path) {
  Numbers numbers(program.values.size(), -1);
  const auto add = [&](ir::ValueId v, std::string op, Loc loc) {
    numbers[v] = static_cast<int64_t>(values_.size());
    std::string name;
    for (const auto& [given, value] : program.names)
      if (value == v && name.empty()) name = given;
    values_.push_back({.op = std::move(op),
                       .where = base::Where(loc),
                       .name = std::move(name),
                       .type = program.type(v)->text(),
                       .backward = loc.is_backward()});
    operands_.emplace_back();
    paths_.push_back(path);
  };
  for (ir::ValueId v : program.inputs) add(v, "argument", program.values[v].loc);
  for (const ir::Capture& c : program.captures)
    add(c.value, "argument", program.values[c.value].loc);
  int64_t at = 0;
  for (const ir::Instruction& i : program.instructions) {
    ++at;
    for (ir::ValueId v : i.results) {
      add(v, std::string(i.op->name), i.loc);
      paths_.back().push_back({.instruction = at});
      for (ir::ValueId operand : i.operands) operands_.back().push_back(numbers[operand]);
    }
  }
  return numbers;
}

void ValueWatch::NumberResults(const ir::Program& program, const Numbers& numbers) {
  const bool computes = std::ranges::any_of(program.instructions, [](const ir::Instruction& i) {
    return !i.regions.empty() || Computes(*i.op);
  });
  if (!computes) return;
  for (size_t k = 0; k < program.outputs.size(); ++k)
    values_[base::Size(numbers[program.outputs[k]])].result = fmt::format("{}.{}", programs_, k);
  ++programs_;
}

ir::Program ValueWatch::Rewritten(const ir::Program& program, const Numbers& numbers,
                                  const InstructionPath& path) {
  const ir::ValueSet outputs = OutputsOf(program);
  ir::Program out = program;
  out.instructions.clear();
  int64_t at = 0;
  for (ir::Instruction i : program.instructions) {
    InstructionPath inside = path;
    inside.push_back({.instruction = ++at, .is_loop = IsLoop(i)});
    for (ir::RegionPtr& region : i.regions) {
      region = ir::Shared(Rewritten(*region, NumbersOf(*region, inside), inside));
      ++inside.back().region;
    }
    out.instructions.push_back(i);
    if (!i.regions.empty()) continue;
    if (target_)
      WatchWhole(program, i, numbers, out);
    else
      WatchMade(program, i, outputs, numbers, out);
  }
  return out;
}

void ValueWatch::WatchMade(const ir::Program& program, const ir::Instruction& i,
                           const ir::ValueSet& outputs, const Numbers& numbers, ir::Program& out) {
  if (!Computes(*i.op)) return;
  std::vector<ir::ValueId> values;
  std::vector<int64_t> watched;
  for (ir::ValueId v : i.results) {
    const sharding::TensorSharding& s = program.type(v)->sharding();
    if (MayFuse(*i.op) && !outputs[v]) continue;
    if (!s.unreduced.empty() && s.kind != Reduction::kSum) continue;
    values.push_back(v);
    watched.push_back(numbers[v]);
  }
  if (values.empty()) return;
  out.instructions.push_back(HostCall(i, std::move(values),
                                      std::make_shared<const KeepFingerprints>(
                                          shared_from_this(), next_program_, std::move(watched))));
}

void ValueWatch::WatchWhole(const ir::Program& program, const ir::Instruction& i,
                            const Numbers& numbers, ir::Program& out) {
  constexpr size_t kMost = 200;  // values that are kept
  const bool is_target = std::any_of(i.results.begin(), i.results.end(),
                                     [&](ir::ValueId v) { return numbers[v] == target_->value; });
  if (!is_target) return;
  ir::ValueSet kept(program.values.size(), false);
  std::vector<const ir::Instruction*> makers(program.values.size(), nullptr);
  for (const ir::Instruction& other : program.instructions)
    for (ir::ValueId v : other.results) makers[base::Size(base::Number(v))] = &other;
  std::vector<const ir::Instruction*> open = {&i};
  size_t count = 0;
  while (!open.empty()) {
    const ir::Instruction* next = open.back();
    open.pop_back();
    for (ir::ValueId v : next->operands) {
      if (kept[v] || count >= kMost) continue;
      kept[v] = true;
      ++count;
      const ir::Instruction* maker = makers[base::Size(base::Number(v))];
      if (maker && (MayFuse(*maker->op) || IsOneOf<ir::AsMove>(*maker->op->lowering)))
        open.push_back(maker);
    }
  }
  std::vector<ir::ValueId> values;
  std::vector<int64_t> watched;
  const auto keep = [&](ir::ValueId v) {
    values.push_back(v);
    watched.push_back(numbers[v]);
  };
  for (ir::ValueId v : program.inputs)
    if (kept[v]) keep(v);
  for (const ir::Capture& c : program.captures)
    if (kept[c.value]) keep(c.value);
  for (const ir::Instruction& other : program.instructions)
    for (ir::ValueId v : other.results)
      if (kept[v] && numbers[v] < target_->value) keep(v);
  for (ir::ValueId v : i.results)
    if (numbers[v] == target_->value) keep(v);
  out.instructions.push_back(
      HostCall(i, std::move(values),
               std::make_shared<const KeepWhole>(shared_from_this(), std::move(watched))));
}

const std::shared_ptr<ValueWatch>& CurrentValueWatch() { return watching; }
void SetValueWatch(std::shared_ptr<ValueWatch> watch) { watching = std::move(watch); }

std::shared_ptr<const ir::Program> WithValueWatch(
    const std::shared_ptr<const ir::Program>& program) {
  return watching ? watching->Watched(program) : program;
}

}  // namespace tessera::compile
