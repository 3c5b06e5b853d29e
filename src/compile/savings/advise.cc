// Makes changes that may save much first, lowers each changed program, and keeps the best.
#include "compile/savings/advise.h"

#include <absl/algorithm/container.h>
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <ostream>
#include <set>
#include <utility>

#include "base/at.h"
#include "base/error.h"
#include "compile/inspect/memory.h"
#include "compile/inspect/report.h"
#include "compile/run/lower.h"
#include "compile/savings/lines_again.h"
#include "compile/savings/loops_again.h"
#include "compile/savings/sharded_inputs.h"
#include "ir/inline.h"
#include "ir/type.h"
#include "sharding/axes.h"
#include "sharding/mesh.h"
#include "spmd/definitions.h"
#include "spmd/schedule/peak_bytes.h"

namespace tessera::compile {
namespace {

constexpr size_t kMostTried = 24;   // each is lowered
constexpr size_t kMostOffered = 3;  // as the best of them

using DonatedInputs = std::vector<bool>;

struct ChangedCosts {
  int64_t peak = 0, sent = 0, flops = 0;
};

struct Candidate {
  MemoryChange change;
  std::string subject;   // the argument or line; one change of each subject and kind is offered
  int64_t may_save = 0;  // bytes, at most
  std::function<std::shared_ptr<const ir::Program>()> program =
      {};  // empty: the program itself; may return null
  DonatedInputs donated = {};
};

std::shared_ptr<Lowered::Impl> LoweredFor(std::shared_ptr<const ir::Program> program) {
  return LowerProgram(std::move(program), {}, {.records_types = false});
}

ChangedCosts CostsOf(const Lowered::Impl& lowered, const DonatedInputs& donated) {
  const CommReport comm = Report(lowered.device());
  return {spmd::PeakBytes(lowered.device(), lowered.schedule(), donated), comm.bytes(),
          comm.flops()};
}

// The arguments of a program, and how the user calls them.
class NamedInputs {
 public:
  NamedInputs(const ir::Program& program, const ProgramBorder& border) : program_(program) {
    std::map<ir::ValueId, std::string> given;  // a name of JAX or the user before a number
    for (const auto& [name, v] : program.names) {
      std::string& of_value = given[v];
      if (of_value.empty() || of_value.starts_with('%')) of_value = name;
    }
    for (size_t k = 0; k < program.inputs.size(); ++k) {
      const auto name = given.find(program.inputs[k]);
      names_.push_back(k < border.inputs.size() ? border.inputs[k]
                       : name != given.end()    ? name->second
                                                : fmt::format("%{}", k));
    }
    for (size_t k = 0; k < names_.size(); ++k)
      by_argument_[names_[k].substr(0, names_[k].find_first_of(".["))].push_back(k);
  }

  const std::string& Name(size_t k) const { return names_[k]; }
  // Returns the inputs by the argument of the function that they are part of: "argument 0",
  // "params".
  const std::map<std::string, std::vector<size_t>>& ByArgument() const { return by_argument_; }
  // Returns the result of the same type that may take the memory of each input, where there is one.
  std::map<size_t, size_t> Results() const {
    std::map<size_t, size_t> results;
    std::set<size_t> taken;
    for (size_t k = 0; k < program_.inputs.size(); ++k) {
      const ir::ValueId v = program_.inputs[k];
      if (absl::c_linear_search(program_.outputs, v)) continue;
      for (size_t r = 0; r < program_.outputs.size(); ++r)
        if (program_.type(program_.outputs[r]) == program_.type(v) && taken.insert(r).second) {
          results[k] = r;
          break;
        }
    }
    return results;
  }

 private:
  const ir::Program& program_;
  std::vector<std::string> names_;
  std::map<std::string, std::vector<size_t>> by_argument_;
};

class Adviser {
 public:
  Adviser(const ir::Program& program, const ProgramBorder& border)
      : program_(ir::InlineCallsAlone(ir::Shared(program))),
        inputs_(*program_, border),
        lowered_(LoweredFor(program_)),
        donated_(border.donated),
        costs_(CostsOf(*lowered_, donated_)) {
    donated_.resize(program_->inputs.size(), false);
  }

  MemoryAdvice Run() {
    AddDonations();
    AddCheckpoints();
    AddShardings();
    absl::c_stable_sort(candidates_, [](const Candidate& a, const Candidate& b) {
      return a.may_save > b.may_save;
    });
    MemoryAdvice advice{.peak_bytes = costs_.peak, .changes = {}};
    std::vector<Candidate> better;
    for (size_t k = 0; k < std::min(candidates_.size(), kMostTried); ++k) {
      Candidate& c = candidates_[k];
      const std::optional<ChangedCosts> costs = Tried(c);
      if (!costs) continue;
      ++advice.tried;
      if (costs->peak >= costs_.peak) continue;
      c.change.peak_bytes = costs->peak;
      c.change.more_bytes = costs->sent - costs_.sent;
      c.change.more_flops = costs->flops - costs_.flops;
      better.push_back(std::move(c));
    }
    absl::c_stable_sort(better, [](const Candidate& a, const Candidate& b) {
      return a.change.peak_bytes < b.change.peak_bytes;
    });
    std::set<std::pair<MemoryChangeKind, std::string>> offered;
    for (Candidate& c : better)
      if (advice.changes.size() < kMostOffered && offered.emplace(c.change.kind, c.subject).second)
        advice.changes.push_back(std::move(c.change));
    return advice;
  }

 private:
  // Returns the costs with a change; none if it cannot be made.
  std::optional<ChangedCosts> Tried(const Candidate& c) const {
    const DonatedInputs& donated = c.donated.empty() ? donated_ : c.donated;
    try {
      if (!c.program) return CostsOf(*lowered_, donated);
      const std::shared_ptr<const ir::Program> program = c.program();
      if (!program) return {};
      return CostsOf(*LoweredFor(program), donated);
    } catch (const Error&) {
      return {};
    }
  }

  std::string LineOf(size_t input) const {
    return base::Where(program_->values[program_->inputs[input]].loc);
  }
  int64_t BytesOf(size_t input) const {
    return spmd::ShardBytes(lowered_->device(), lowered_->device().inputs[input]);
  }

  void AddDonations() {
    const std::map<size_t, size_t> results = inputs_.Results();
    for (const auto& [argument, inputs] : inputs_.ByArgument()) {
      Candidate c{.change = {.kind = MemoryChangeKind::kDonate}, .subject = argument};
      c.donated = donated_;
      size_t count = 0;
      for (const size_t k : inputs) {
        if (donated_[k] || !results.contains(k)) continue;
        if (count++ == 0) c.change.where = LineOf(k);
        c.donated[k] = true;
        c.may_save += BytesOf(k);
      }
      if (count == 0) continue;
      c.change.text = fmt::format("donate {}: results of the same type{} take its memory", argument,
                                  count == 1 ? "" : "s");
      candidates_.push_back(std::move(c));
    }
  }

  // Lines with values that are kept for the backward pass at the peak, and loops that return such
  // values.
  void AddCheckpoints() {
    const MemoryReport memory = MemoryOf(lowered_->device(), lowered_->schedule(), donated_);
    std::map<std::string, int64_t> lines;
    for (const MemoryBuffer& b : memory.buffers())
      if (b.kind == MemoryKind::kKept && b.begin <= memory.peak_step() &&
          memory.peak_step() < b.end && !b.where.empty())
        lines[b.where] += b.bytes;
    for (const auto& [line, bytes] : lines) {
      const auto add = [&, line = line, bytes = bytes](std::string text, auto make) {
        candidates_.push_back({.change = {.kind = MemoryChangeKind::kCheckpoint,
                                          .where = line,
                                          .text = std::move(text)},
                               .subject = line,
                               .may_save = bytes,
                               .program = [this, line, make] { return make(*program_, line); }});
      };
      add("checkpoint the body of the loop", WithLoopAgain);
      add("checkpoint the values of the line, which the backward pass computes again",
          WithLineAgain);
    }
  }

  // Each argument, and each of its largest arrays, over each axis.
  void AddShardings() {
    if (!program_->mesh) return;
    constexpr size_t kMostArrays = 4;
    const std::map<size_t, size_t> results = inputs_.Results();
    for (int axis = 0; axis < program_->mesh->rank(); ++axis)
      for (const auto& [argument, inputs] : inputs_.ByArgument()) {
        std::vector<ShardedInput> sharded;
        for (const size_t k : inputs)
          if (std::optional<ShardedInput> s = Sharded(k, axis, results)) sharded.push_back(*s);
        if (sharded.empty()) continue;
        absl::c_stable_sort(sharded, [&](const ShardedInput& a, const ShardedInput& b) {
          return BytesOf(a.input) > BytesOf(b.input);
        });
        AddSharding(argument, sharded);
        for (size_t k = 0; sharded.size() > 1 && k < std::min(kMostArrays, sharded.size()); ++k)
          AddSharding(argument, {sharded[k]});
      }
  }
  void AddSharding(const std::string& argument, const std::vector<ShardedInput>& inputs) {
    const MeshAxis& axis = program_->mesh->axes()[base::Size(inputs[0].axis)];
    Candidate c{.change = {.kind = MemoryChangeKind::kShard, .where = LineOf(inputs[0].input)},
                .subject = argument};
    for (const ShardedInput& s : inputs)
      c.may_save += BytesOf(s.input) * (axis.size - 1) / axis.size;
    const std::string name = inputs_.Name(inputs[0].input);
    c.change.text = fmt::format("shard {} over {}: dim {}", name, axis.name, inputs[0].dim);
    if (inputs.size() > 1)
      c.change.text = fmt::format("shard {} over {}: {} arrays, such as dim {} of {}", argument,
                                  axis.name, inputs.size(), inputs[0].dim, name);
    if (axis.mode == AxisMode::Explicit) c.change.text += ", with a reshard where it is read";
    c.program = [this, inputs] { return WithSharded(*program_, inputs); };
    candidates_.push_back(std::move(c));
  }
  // Returns the first dim that a further axis divides.
  std::optional<ShardedInput> Sharded(size_t k, int axis,
                                      const std::map<size_t, size_t>& results) const {
    const ir::ValueId v = program_->inputs[k];
    const ir::Type* type = program_->place(v) ? program_->place(v) : program_->type(v);
    const sharding::AxisPart part = sharding::WholeAxis(*program_->mesh, axis);
    const sharding::TensorSharding& s = type->sharding();
    if (part.size < 2 || program_->mesh->axes()[base::Size(axis)].mode == AxisMode::Manual ||
        !program_->type(v)->sharding().no_sets() ||
        absl::c_any_of(s.dims, [&](const auto& d) { return sharding::OverlapsAny(d.axes, part); }))
      return {};
    for (size_t d = 0; d < type->shape().size(); ++d) {
      const int64_t parts = d < s.dims.size() ? sharding::SizeOf(s.dims[d].axes) : 1;
      if (type->shape()[d] % (parts * part.size) != 0 || type->shape()[d] == 0) continue;
      ShardedInput input{.input = k, .dim = static_cast<int>(d), .axis = axis, .results = {}};
      if (const auto result = results.find(k); result != results.end())
        input.results.push_back(result->second);
      return input;
    }
    return {};
  }

  const std::shared_ptr<const ir::Program> program_;
  const NamedInputs inputs_;
  const std::shared_ptr<Lowered::Impl> lowered_;
  DonatedInputs donated_;
  const ChangedCosts costs_;
  std::vector<Candidate> candidates_;
};

}  // namespace

MemoryAdvice AdviseMemory(const ir::Program& program, const ProgramBorder& border) {
  return Adviser(program, border).Run();
}

}  // namespace tessera::compile
