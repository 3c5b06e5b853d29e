// Compares hashes of the elements.
#include "compile/host/replicas.h"

#include <absl/algorithm/container.h>
#include <fmt/format.h>

#include <cstring>
#include <string>
#include <string_view>

#include "base/at.h"
#include "base/error.h"
#include "compile/host/agree.h"
#include "compile/host/processes.h"
#include "ir/host_tensor.h"
#include "runtime/transport.h"

namespace tessera::compile {
namespace {

thread_local bool on_one_process = false;

constexpr std::string_view kTitle = "compare arrays ";
constexpr size_t kHashDigits = 16;

// Returns a hash that is the same in all processes.
uint64_t HashOf(const std::byte* data, int64_t bytes) {
  constexpr int kLanes = 4;  // independent chains of multiplications
  constexpr uint64_t kFactor = 0x9e3779b97f4a7c15u;
  uint64_t lanes[kLanes] = {1, 2, 3, 4};
  const auto mix = [](uint64_t& lane, uint64_t word) {
    lane = (lane ^ word) * kFactor;
    lane ^= lane >> 29;
  };
  constexpr int64_t kBlock = kLanes * 8;
  int64_t at = 0;
  for (; at + kBlock <= bytes; at += kBlock) {
    uint64_t words[kLanes];
    std::memcpy(words, data + at, kBlock);
    for (int i = 0; i < kLanes; ++i) mix(lanes[i], words[i]);
  }
  uint64_t rest[kLanes] = {};
  std::memcpy(rest, data + at, base::Size(bytes - at));
  for (int i = 0; i < kLanes; ++i) mix(lanes[i], rest[i]);
  uint64_t hash = static_cast<uint64_t>(bytes);
  for (uint64_t lane : lanes) mix(hash, lane);
  return hash;
}

// Returns the first elements as text.
std::string ElementsText(const Concrete& x) {
  constexpr int64_t kShown = 4;
  const ir::Type& type = *x.type();
  ir::HostTensor tensor(type.dtype(), {std::min(type.elements(), kShown)});
  std::memcpy(tensor.data.data(), x.buffers.at(0), tensor.data.size());
  std::string text;
  for (int64_t i = 0; i < tensor.size(); ++i) {
    text += text.empty() ? "" : ", ";
    text += type.dtype().is_key()        ? "a key"
            : type.dtype().is_floating() ? fmt::format("{}", tensor.Float(i))
                                         : fmt::format("{}", tensor.Int(i));
  }
  return text + (type.elements() > kShown ? ", ..." : "");
}

// All processes call it: array `x` differs between process 0 and some other one.
[[noreturn]] void FailReplica(const Concrete& x, Loc loc) {
  const std::string mine =
      fmt::format("{} = {}   from {}", x.type()->text(), ElementsText(x), base::Where(x.loc()));
  const std::string key = fmt::format("{:x}\n", HashOf(x.buffers.at(0), x.buffers.bytes));
  const std::vector<std::string> all = runtime::TheTransport()->Gather(key + mine);
  const auto other = absl::c_find_if(all, [&](const std::string& text) { return text != all[0]; });
  const auto shown = [](const std::string& text) { return text.substr(text.find('\n') + 1); };
  base::ThrowRuntime(base::Refusal(
      "run", "replicas", base::Where(loc),
      fmt::format("processes 0 and {} made different elements of an array that they use together",
                  other - all.begin()),
      {fmt::format("process 0: {}", shown(all[0])),
       fmt::format("process {}: {}", other - all.begin(), shown(*other)),
       "make it of the same data on every process, or shard it: array_from_callback"}));
}

}  // namespace

bool IsOnOneProcess() { return on_one_process; }
OnOneProcess::OnOneProcess() : outer_(on_one_process) { on_one_process = true; }
OnOneProcess::~OnOneProcess() { on_one_process = outer_; }

void CompareReplicas(const std::vector<trace::ArrayRef>& inputs, Loc loc) {
  if (on_one_process) return;
  std::vector<Concrete*> compared;
  std::string hashes;
  for (const trace::ArrayRef& input : inputs) {
    auto& x = static_cast<Concrete&>(*input);
    if (!x.may_differ()) continue;
    compared.push_back(&x);
    hashes += fmt::format("{:016x}", HashOf(x.buffers.at(0), x.buffers.bytes));
  }
  if (compared.empty()) return;
  const std::vector<std::string> all =
      runtime::TheTransport()->Gather(std::string(kTitle) + hashes);
  const auto other = absl::c_find_if(all, [&](const std::string& text) { return text != all[0]; });
  if (other != all.end()) {
    const bool compare = all[0].starts_with(kTitle) && other->starts_with(kTitle);
    if (!compare || other->size() != all[0].size()) FailDifferent("run", all, loc);
    const auto differs = absl::c_mismatch(all[0], *other).first - all[0].begin();
    FailReplica(*compared[(base::Size(differs) - kTitle.size()) / kHashDigits], loc);
  }
  for (Concrete* x : compared) x->SetCompared();
}

}  // namespace tessera::compile
