// Adds checks as host calls, so that loops and layouts need no code for them.
#include "compile/checks/nan_watch.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <set>

#include "base/at.h"
#include "base/dtype.h"
#include "base/error.h"
#include "base/float8.h"
#include "compile/checks/counted_lanes.h"
#include "ir/differentiated.h"
#include "ir/host_call.h"
#include "ir/host_notes.h"
#include "ir/inline.h"
#include "ops/host_call.h"
#include "sharding/local.h"

namespace tessera::compile {
namespace {

thread_local NanChecks current = NanChecks::kNone;

// The first number of a kind in a value.
struct Found {
  size_t device;  // position in the mesh
  std::vector<int64_t> index;
  double number;
};

// A number that is not finite has all bits of the exponent set; a NaN has bits of the mantissa too.
template <class Bits>
std::vector<int64_t> NotFinite(const std::byte* data, int64_t n, Bits exponent, bool nans) {
  constexpr int64_t kBlock = 4096;
  const Bits sign = static_cast<Bits>(Bits{1} << (8 * sizeof(Bits) - 1));
  const auto is_found = [&](int64_t i) {
    Bits bits;
    std::memcpy(&bits, data + base::Size(i) * sizeof bits, sizeof bits);
    bits &= static_cast<Bits>(~sign);
    return nans ? bits > exponent : bits == exponent;
  };
  std::vector<int64_t> found;
  for (int64_t begin = 0; begin < n; begin += kBlock) {
    const int64_t end = std::min(begin + kBlock, n);
    bool any = false;
    for (int64_t i = begin; i < end; ++i) any |= is_found(i);
    for (int64_t i = begin; any && i < end; ++i)
      if (is_found(i)) found.push_back(i);
  }
  return found;
}
std::vector<int64_t> NotFinite(DType t, const std::byte* data, int64_t n, bool nans) {
  if (t.is_complex()) {  // an element counts once, by its parts
    std::vector<int64_t> found = NotFinite(base::PartOf(t), data, 2 * n, nans);
    for (int64_t& i : found) i /= 2;
    found.erase(std::unique(found.begin(), found.end()), found.end());
    return found;
  }
  if (t.is_float8()) {
    const auto format = base::Float8Format::Of(t.code());
    std::vector<int64_t> found;
    for (int64_t i = 0; i < n; ++i) {
      const float v = base::Float8ToFloat(format, static_cast<uint32_t>(data[i]));
      if (nans ? std::isnan(v) : !std::isfinite(v)) found.push_back(i);
    }
    return found;
  }
  if (t == f64) return NotFinite<uint64_t>(data, n, 0x7ff0000000000000u, nans);
  if (t == f32) return NotFinite<uint32_t>(data, n, 0x7f800000u, nans);
  return NotFinite<uint16_t>(data, n, t == f16 ? 0x7c00 : 0x7f80, nans);
}

// Returns the element of a predicate at the leading dims of an index; true if it has other dims.
bool At(const ir::HostArgument& predicate, const std::vector<int64_t>& index,
        const ir::Type& type) {
  const ir::Type& lanes = *predicate.place;
  if (!HasLanes(&type, &lanes)) return true;
  const base::Shape local = sharding::LocalShape(lanes.shape(), lanes.sharding());
  for (size_t p = 0; p < predicate.shards.size(); ++p) {
    int64_t at = 0;
    bool inside = true;
    for (size_t d = 0; d < local.size(); ++d) {
      const sharding::AxisList& axes = lanes.sharding().dims[d].axes;
      const int64_t shard =
          axes.empty() ? 0 : sharding::ShardIndex(*lanes.mesh(), axes, static_cast<int64_t>(p));
      const int64_t i = index[d] - shard * local[d];
      inside = inside && 0 <= i && i < local[d];
      at = at * local[d] + i;
    }
    if (inside && predicate.shards[p]) return predicate.shards[p][at] != std::byte{0};
  }
  return true;
}

// Returns the first NaN of a value, or its first infinity. Padding of shards does not count, nor do
// lanes in which a predicate is false.
std::optional<Found> Find(const ir::HostArgument& value, bool nans,
                          absl::Span<const ir::HostArgument> predicates) {
  const ir::Type& type = *value.place;
  const base::Shape local = sharding::LocalShape(type.shape(), type.sharding());
  const int64_t elements = sharding::LocalElements(type.shape(), type.sharding());
  std::set<const std::byte*> seen;  // devices may share a buffer
  for (size_t p = 0; p < value.shards.size(); ++p) {
    const std::byte* shard = value.shards[p];
    if (!shard || !seen.insert(shard).second) continue;
    for (int64_t i : NotFinite(type.dtype(), shard, elements, nans)) {
      std::vector<int64_t> index = ir::CoordsOf(local, i);
      bool is_padding = false;
      for (size_t d = 0; d < index.size(); ++d) {
        const sharding::AxisList& axes = type.sharding().dims[d].axes;
        if (!axes.empty())
          index[d] += sharding::ShardIndex(*type.mesh(), axes, static_cast<int64_t>(p)) * local[d];
        is_padding = is_padding || index[d] >= type.shape()[d];
      }
      const bool counts =
          std::all_of(predicates.begin(), predicates.end(),
                      [&](const ir::HostArgument& lanes) { return At(lanes, index, type); });
      if (is_padding || !counts) continue;
      ir::HostTensor number(type.dtype(), {});
      const auto size = number.data.size();
      std::memcpy(number.data.data(), shard + base::Size(i) * size, size);
      return Found{p, std::move(index), number.Float(0)};
    }
  }
  return {};
}

// The ops that each line of the user's program applies, by which the backward pass of a line is
// named: those that were differentiated in this process, or, in a program that was read from text,
// those that it applies.
class OpsOfLines {
 public:
  explicit OpsOfLines(const ir::Program& program) { Add(program); }
  std::vector<std::string> At(Loc loc) const {
    if (std::vector<std::string> ops = ir::DifferentiatedAt(loc); !ops.empty()) return ops;
    const auto found = ops_.find({loc.file(), loc.line()});
    return found == ops_.end() ? std::vector<std::string>() : found->second;
  }

 private:
  void Add(const ir::Program& program) {
    for (const ir::Instruction& i : program.instructions) {
      for (const ir::RegionPtr& region : i.regions) Add(*region);
      if (i.loc.is_backward() || i.operands.empty() || !ir::ComputesElements(*i.op)) continue;
      std::vector<std::string>& of = ops_[{i.loc.file(), i.loc.line()}];
      if (std::find(of.begin(), of.end(), i.op->name) == of.end()) of.emplace_back(i.op->name);
    }
  }
  std::map<std::pair<std::string_view, int>, std::vector<std::string>> ops_;
};

// Checks the floating-point results of an instruction, which come first, then the operands, in
// lanes in which the predicates, which come last, are true.
class NanCheck final : public ir::HostFunction {
 public:
  NanCheck(const ir::Instruction& i, size_t results, size_t operands, NanChecks checks,
           const OpsOfLines& forward)
      : op_(i.op->name),
        loc_(i.loc),
        results_(results),
        floats_(results + operands),
        checks_(checks),
        forward_(forward.At(i.loc)) {}

  void Run(const ir::HostArguments& arguments) const override {
    Look(arguments, /*nans=*/true);
    if (checks_ == NanChecks::kAll) Look(arguments, /*nans=*/false);
  }

 private:
  void Look(const ir::HostArguments& arguments, bool nans) const {
    const auto predicates = absl::MakeConstSpan(arguments.values).subspan(floats_);
    for (size_t r = 0; r < results_; ++r) {
      const std::optional<Found> found = Find(arguments.values[r], nans, predicates);
      if (!found) continue;
      for (size_t k = results_; k < floats_; ++k) {
        if (Find(arguments.values[k], true, predicates)) return;
        if (!nans && Find(arguments.values[k], false, predicates)) return;
      }
      Fail(arguments, *arguments.values[r].place, *found);
    }
  }

  [[noreturn]] void Fail(const ir::HostArguments& arguments, const ir::Type& type,
                         const Found& found) const {
    std::string where =
        type.shape().empty() ? "" : fmt::format("element [{}] of ", fmt::join(found.index, ", "));
    std::string reason = fmt::format("{}its result {} is {}", where, type.text(),
                                     std::isnan(found.number) ? "nan"
                                     : found.number > 0       ? "inf"
                                                              : "-inf");
    const std::string device = ir::DeviceNote(arguments, type, static_cast<int64_t>(found.device));
    if (!device.empty()) reason += ", " + device;
    std::vector<std::string> notes = ir::IterationNotes(arguments);
    if (std::string note = DerivativeNote(); !note.empty()) notes.push_back(std::move(note));
    base::ThrowRuntime({.kind = {},
                        .op = std::string(op_),
                        .label = "NanWatch",
                        .where = base::Where(loc_),
                        .reason = std::move(reason),
                        .operands = {},
                        .notes = std::move(notes),
                        .fixes = {}});
  }

  // Returns the user's ops of the line, if the op that failed may be of their derivative.
  std::string DerivativeNote() const {
    const std::string ops = fmt::format("{}", fmt::join(forward_, ", "));
    if (loc_.is_backward()) return "in the backward pass of " + (ops.empty() ? "this line" : ops);
    const bool is_users = std::find(forward_.begin(), forward_.end(), op_) != forward_.end();
    return is_users || ops.empty() ? "" : "this line has derivatives of " + ops;
  }

  const std::string_view op_;
  const Loc loc_;
  const size_t results_, floats_;
  const NanChecks checks_;
  const std::vector<std::string> forward_;  // the ops that the user's line applies
};

ir::Program Checked(const ir::Program& program, NanChecks checks,
                    const std::vector<Predicates>& inputs, const OpsOfLines& forward) {
  ir::Program out = program;
  const CountedLanes lanes(program, inputs);
  out.instructions.clear();
  const auto is_inexact = [&](ir::ValueId v) { return program.type(v)->dtype().is_inexact(); };
  for (ir::Instruction i : program.instructions) {
    if (!i.regions.empty()) i = lanes.WithPredicates(i);
    for (ir::RegionPtr& region : i.regions)
      region = ir::Shared(Checked(*region, checks, lanes.InputsOf(i, *region), forward));
    out.instructions.push_back(i);
    // Literals are as the user wrote them, and regions have checks of their own.
    if (i.operands.empty() || !i.regions.empty() ||
        std::holds_alternative<ir::AsExpansion>(*i.op->lowering))
      continue;
    ir::Instruction check{.op = &ops::CallbackOp(/*ordered=*/true),
                          .params = nullptr,
                          .operands = {},
                          .results = {},
                          .loc = i.loc};
    for (ir::ValueId v : i.results)
      if (is_inexact(v)) check.operands.push_back(v);
    const size_t results = check.operands.size();
    if (results == 0) continue;
    for (ir::ValueId v : i.operands)
      if (is_inexact(v)) check.operands.push_back(v);
    const size_t operands = check.operands.size() - results;
    const Predicates& predicates = lanes.Of(i.results[0]);
    check.operands.insert(check.operands.end(), predicates.begin(), predicates.end());
    check.params = ir::MakeParams(ir::HostCallParams{
        {std::make_shared<const NanCheck>(i, results, operands, checks, forward)}});
    out.instructions.push_back(std::move(check));
  }
  return out;
}

}  // namespace

NanChecks CurrentNanChecks() { return current; }
void SetNanChecks(NanChecks checks) { current = checks; }

std::shared_ptr<const ir::Program> WithNanChecks(
    const std::shared_ptr<const ir::Program>& program) {
  if (current == NanChecks::kNone) return program;
  const std::shared_ptr<const ir::Program> inlined = ir::InlineCallsAlone(program);
  return ir::Shared(Checked(*inlined, current, {}, OpsOfLines(*inlined)));
}

}  // namespace tessera::compile
