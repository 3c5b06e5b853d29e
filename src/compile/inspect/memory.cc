// Describes the values that a device holds by the ops and lines that make them.
#include "compile/inspect/memory.h"

#include <absl/algorithm/container.h>
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <ostream>
#include <tuple>

#include "base/at.h"
#include "base/error.h"
#include "spmd/definitions.h"
#include "spmd/schedule/peak_bytes.h"

namespace tessera::compile {
namespace {

// Returns "mul", "mul, add", "mul, add and 4 more".
std::string NamesOf(const ir::Program& device, absl::Span<const ir::InstructionId> instructions) {
  constexpr size_t kMost = 3;
  std::string names;
  for (size_t k = 0; k < std::min(instructions.size(), kMost); ++k)
    names += fmt::format("{}{}", k ? ", " : "", InstructionAt(device, instructions[k]).op->name);
  if (instructions.size() > kMost)
    names += fmt::format(" and {} more", instructions.size() - kMost);
  return names;
}

MemoryStep StepOf(const ir::Program& device, const spmd::Item& item) {
  // The last one makes the result.
  const Loc loc = InstructionAt(device, item.instructions().back()).loc;
  return {NamesOf(device, item.instructions()), base::Where(loc), loc.is_backward()};
}

MemoryKind KindOf(const spmd::HeldValue& h) {
  if (h.is_input) return MemoryKind::kArgument;
  if (h.is_output) return MemoryKind::kResult;
  if (h.is_kept) return MemoryKind::kKept;
  return h.is_received ? MemoryKind::kExchange : MemoryKind::kTemporary;
}

// Describes values by the instructions that define them.
class Describer {
 public:
  MemoryBuffer Buffer(const spmd::HeldValue& h) {
    const ir::InstructionId i = DefinitionsIn(*h.program)[h.value];
    const ir::Instruction* maker =
        i == spmd::kNoInstruction ? nullptr : &InstructionAt(*h.program, i);
    const Loc loc = maker ? maker->loc : h.program->values[h.value].loc;
    return {.kind = KindOf(h),
            .bytes = h.bytes,
            .begin = static_cast<int64_t>(h.begin),
            .end = static_cast<int64_t>(h.end),
            .op = maker ? std::string(maker->op->name) : "argument",
            .type = h.program->type(h.value)->text(),
            .where = base::Where(loc),
            .scope = loc.scope(),
            .backward = h.is_of_backward};
  }

 private:
  const spmd::ValueDefinitions& DefinitionsIn(const ir::Program& program) {
    auto [known, is_new] = definitions_.try_emplace(&program);
    if (is_new) known->second = spmd::DefinitionsOf(program);
    return known->second;
  }

  std::map<const ir::Program*, spmd::ValueDefinitions> definitions_;
};

}  // namespace

MemoryReport MemoryOf(const ir::Program& device, const spmd::Schedule& schedule,
                      const std::vector<bool>& donated) {
  std::vector<MemoryStep> steps = {{"start", ""}};
  for (const spmd::Item& item : schedule.items) steps.push_back(StepOf(device, item));
  std::vector<MemoryBuffer> buffers;
  Describer describer;
  for (const spmd::HeldValue& h : spmd::HeldValues(device, schedule, donated))
    buffers.push_back(describer.Buffer(h));
  return MemoryReport(std::move(steps), std::move(buffers));
}

}  // namespace tessera::compile

namespace tessera {
namespace {

template <class Counts>
std::vector<int64_t> BytesOf(const std::vector<MemoryBuffer>& buffers, size_t steps,
                             Counts counts) {
  std::vector<int64_t> bytes(steps + 1, 0);
  for (const MemoryBuffer& b : buffers) {
    if (!counts(b)) continue;
    bytes[base::Size(b.begin)] += b.bytes;
    bytes[base::Size(b.end)] -= b.bytes;
  }
  int64_t live = 0;
  for (int64_t& n : bytes) n = live += n;
  bytes.pop_back();
  return bytes;
}

}  // namespace

const char* memory_name(MemoryKind kind) {
  switch (kind) {
    case MemoryKind::kArgument:
      return "arguments";
    case MemoryKind::kResult:
      return "results";
    case MemoryKind::kKept:
      return "kept for the backward pass";
    case MemoryKind::kTemporary:
      return "temporaries";
    case MemoryKind::kExchange:
      return "exchange buffers";
  }
  return "";
}

MemoryReport::MemoryReport(std::vector<MemoryStep> steps, std::vector<MemoryBuffer> buffers)
    : steps_(std::move(steps)), buffers_(std::move(buffers)) {
  const std::vector<int64_t> live = bytes();
  const auto most = absl::c_max_element(live);
  if (most == live.end()) return;
  peak_step_ = most - live.begin();
  peak_bytes_ = *most;
}

std::vector<int64_t> MemoryReport::bytes() const {
  return BytesOf(buffers_, steps_.size(), [](const MemoryBuffer&) { return true; });
}
std::vector<int64_t> MemoryReport::bytes(MemoryKind kind) const {
  return BytesOf(buffers_, steps_.size(), [=](const MemoryBuffer& b) { return b.kind == kind; });
}

std::string MemoryReport::text() const {
  std::map<MemoryKind, int64_t> kinds;
  std::map<std::tuple<std::string, MemoryKind>, int64_t> lines;
  for (const MemoryBuffer& b : buffers_) {
    if (b.begin > peak_step_ || b.end <= peak_step_ || b.bytes == 0) continue;
    kinds[b.kind] += b.bytes;
    lines[{b.where.empty() ? b.op : b.where, b.kind}] += b.bytes;
  }
  std::string out = fmt::format("{} B at most on each device, at step {} of {}", peak_bytes_,
                                peak_step_, std::max<size_t>(steps_.size(), 1) - 1);
  if (!steps_.empty() && peak_step_ > 0) {
    const MemoryStep& at = steps_[base::Size(peak_step_)];
    out += fmt::format(": {}{}{}", at.op, at.where.empty() ? "" : " at ", at.where);
  }
  out += "\n";
  for (const auto& [kind, bytes] : kinds)
    out += fmt::format("{:>12} B  {}\n", bytes, memory_name(kind));
  std::vector<std::pair<std::tuple<std::string, MemoryKind>, int64_t>> sorted(lines.begin(),
                                                                              lines.end());
  absl::c_stable_sort(sorted, [](const auto& a, const auto& b) { return a.second > b.second; });
  for (const auto& [line, bytes] : sorted)
    out += fmt::format("{:>12} B  {:<24} {}\n", bytes, std::get<0>(line),
                       memory_name(std::get<1>(line)));
  return out;
}

std::ostream& operator<<(std::ostream& os, const MemoryReport& report) {
  return os << report.text();
}

}  // namespace tessera
