// Compares hashes of the elements.
#include "compile/host/replicas.h"

#include <absl/functional/function_ref.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "base/at.h"
#include "base/error.h"
#include "compile/host/host_array.h"
#include "compile/host/processes.h"
#include "ir/host_tensor.h"
#include "runtime/meeting.h"
#include "runtime/transport.h"
#include "sharding/local.h"

namespace tessera::compile {
namespace {

thread_local Others others = Others::kRun;

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

// A shard that two processes have made with different elements.
struct UnequalShard {
  Concrete* array;
  int64_t shard;
  int32_t process, other;
};

// Returns the first elements of a shard as text.
std::string ElementsText(const ir::Type& placed, const std::byte* shard) {
  constexpr int64_t kShown = 4;
  const int64_t elements = sharding::LocalElements(placed.shape(), placed.sharding());
  ir::HostTensor tensor(placed.dtype(), {std::min(elements, kShown)});
  std::memcpy(tensor.data.data(), shard, tensor.data.size());
  std::string text;
  for (int64_t i = 0; i < tensor.size(); ++i) {
    text += text.empty() ? "" : ", ";
    text += placed.dtype().is_key() ? "a key"
            : placed.dtype().is_complex()
                ? fmt::format("({}, {})", tensor.Complex(i).real(), tensor.Complex(i).imag())
            : placed.dtype().is_floating() ? fmt::format("{}", tensor.Float(i))
                                           : fmt::format("{}", tensor.Int(i));
  }
  return text + (elements > kShown ? ", ..." : "");
}

// Calls f(position, data) for each distinct shard that this process has, in their order.
void ForEachShard(const Concrete& x,
                  absl::FunctionRef<void(int64_t position, const std::byte* data)> f) {
  const std::vector<int32_t> instances = InstancesByPosition(x);
  for (int64_t p : PositionsOn(Process(), *x.placed())) f(p, x.buffers.at(base::At(instances, p)));
}

// All processes call it.
[[noreturn]] void FailReplica(const UnequalShard& unequal, Loc loc) {
  const auto& [x, shard, process, other] = unequal;
  const ir::Type& placed = *x->placed();
  std::string mine;
  ForEachShard(*x, [&](int64_t position, const std::byte* data) {
    if (ShardAt(placed, position) != shard) return;
    mine = fmt::format("{}{} = {}   from {}", placed.text(),
                       placed.sharding().dims_empty() ? "" : IndexText(RangesOf(placed, position)),
                       ElementsText(placed, data), base::Where(x->loc()));
  });
  const std::vector<std::string> all = runtime::TheTransport()->Gather(mine);
  base::ThrowRuntime(base::Refusal(
      "run", "replicas", base::Where(loc),
      fmt::format("processes {} and {} made different elements of an array that they use together",
                  process, other),
      {fmt::format("process {}: {}", process, base::At(all, process)),
       fmt::format("process {}: {}", other, base::At(all, other)),
       "make it of the same data on every process, or shard it: array_from_callback"}));
}

// Reads the hashes of all processes: for each array those of the shards that the process has.
std::optional<UnequalShard> FindUnequal(const std::vector<Concrete*>& arrays,
                                        const std::vector<std::string>& hashes) {
  std::vector<size_t> read(hashes.size());
  for (Concrete* x : arrays) {
    std::map<int64_t, std::pair<int32_t, uint64_t>> first;  // by shard: a process, and its hash
    for (int32_t process = 0; process < Processes(); ++process) {
      for (int64_t position : PositionsOn(process, *x->placed())) {
        uint64_t hash;
        std::memcpy(&hash, base::At(hashes, process).data() + base::At(read, process), sizeof hash);
        base::At(read, process) += sizeof hash;
        const int64_t shard = ShardAt(*x->placed(), position);
        const auto& [known, known_hash] =
            first.emplace(shard, std::pair(process, hash)).first->second;
        if (known_hash != hash) return UnequalShard{x, shard, known, process};
      }
    }
  }
  return std::nullopt;
}

}  // namespace

bool IsOnOneProcess() { return others != Others::kRun; }
bool OthersWait() { return others == Others::kWait; }
OnOneProcess::OnOneProcess(Others now) : outer_(others) { others = std::max(others, now); }
OnOneProcess::~OnOneProcess() { others = outer_; }

void FailTurn(const char* op, Loc loc) {
  base::ThrowRuntime(base::Refusal(
      op, "ordered", base::Where(loc),
      "an ordered callback runs on one process after the other, so it cannot exchange data with "
      "them",
      {"read addressable_shards(), or pass the callback an array that is replicated",
       "leave .ordered out: then all processes call it at once"}));
}

void CompareReplicas(const std::vector<trace::ArrayRef>& inputs, Loc loc) {
  if (IsOnOneProcess()) return;
  std::vector<Concrete*> compared;
  std::string types, hashes;
  uint64_t hash_of_types = 0;
  for (const trace::ArrayRef& input : inputs) {
    auto& x = static_cast<Concrete&>(*input);
    if (!x.may_differ()) continue;
    compared.push_back(&x);
    const std::string& type = x.placed()->text();
    types += fmt::format("{} // {}\n", type, base::Where(x.loc()));
    hash_of_types = runtime::MixShared(hash_of_types, runtime::SharedHash(type));
    ForEachShard(x, [&](int64_t, const std::byte* data) {
      const uint64_t hash = HashOf(data, x.buffers.bytes);
      hashes.append(reinterpret_cast<const char*>(&hash), sizeof hash);
    });
  }
  if (compared.empty()) return;
  runtime::Meet({"comparing arrays", base::Where(loc), hash_of_types, [&] { return types; },
                 "every process makes the same calls with arrays of the same types"});
  const std::vector<std::string> all = runtime::TheTransport()->GatherTexts(hashes);
  if (const std::optional<UnequalShard> found = FindUnequal(compared, all))
    FailReplica(*found, loc);
  for (Concrete* x : compared) x->SetCompared();
}

}  // namespace tessera::compile
