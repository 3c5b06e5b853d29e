// Adds up events, measures the limits of the machine, and writes traces.
#include "compile/inspect/profile.h"

#include <absl/algorithm/container.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/at.h"
#include "base/error.h"
#include "base/file.h"
#include "kernels/copy/copy.h"
#include "kernels/gemm/dot.h"

namespace tessera::compile {
namespace {

using runtime::Event;

std::string NameOf(const plan::Plan& plan, const Event& event) {
  if (event.kind == Event::kWait) return "wait";
  return event.note == plan::kNoNote ? "move" : plan.notes[event.note].text();
}

// File names need not be UTF-8.
std::string Quoted(const std::string& text) {
  using Json = nlohmann::json;
  return Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
}

double Seconds(const Event& event) { return static_cast<double>(event.end - event.begin) * 1e-9; }

// The limits of one worker, measured with the kernels.
struct Limits {
  double far = 0, near = 0;  // bytes a second, read and written: from memory, from the caches
  double flops = 0;          // a second
  double SecondsOf(const Event& event) const {
    const double speed = event.bytes > kNearBytes ? far : near;
    return std::max(event.bytes / speed, event.flops / flops);
  }
  static constexpr double kNearBytes = 1 << 20;
};

double BestSeconds(const plan::Kernel& kernel, std::vector<std::vector<std::byte>> in,
                   size_t out_bytes) {
  std::vector<const std::byte*> ins;
  for (const auto& buffer : in) ins.push_back(buffer.data());
  std::vector<std::byte> out(out_bytes), scratch(base::Size(kernel.scratch_bytes) + 64);
  std::byte* outs[] = {out.data()};
  auto* aligned =
      reinterpret_cast<std::byte*>((reinterpret_cast<uintptr_t>(scratch.data()) + 63) / 64 * 64);
  double best = 1;
  for (int k = 0; k < 4; ++k) {
    const auto begin = std::chrono::steady_clock::now();
    kernel.fn({kernel.config.get(), ins.data(), outs, aligned, 0, 0, 1});
    best = std::min(
        best, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  return std::max(best, 1e-9);
}

const Limits& MachineLimits() {
  static const Limits limits = [] {
    constexpr int64_t kFar = 32 << 20, kNear = 128 << 10, kSide = 512;
    const auto speed = [](int64_t bytes) {
      std::vector<std::byte> from(base::Size(bytes), std::byte{1});
      return 2 * static_cast<double>(bytes) /
             BestSeconds(kernels::CopyWhole(bytes), {from}, from.size());
    };
    const std::vector<std::byte> square(kSide * kSide * 4);
    const plan::Kernel dot = kernels::DotGeneral({.lhs_dtype = f32,
                                                  .rhs_dtype = f32,
                                                  .out_dtype = f32,
                                                  .lhs = {kSide, kSide},
                                                  .rhs = {kSide, kSide},
                                                  .lhs_contract = {1},
                                                  .rhs_contract = {0},
                                                  .lhs_batch = {},
                                                  .rhs_batch = {}});
    return Limits{
        .far = speed(kFar),
        .near = speed(kNear),
        .flops = 2.0 * kSide * kSide * kSide / BestSeconds(dot, {square, square}, square.size())};
  }();
  return limits;
}

const char* KindName(Event::Kind kind) {
  switch (kind) {
    case Event::kStep:
      return "step";
    case Event::kExchange:
      return "exchange";
    case Event::kMessages:
      return "messages";
    case Event::kWait:
      return "wait";
  }
  return "";
}

// Waits until no other process writes the file; a child of a fork shares it.
class FileLock {
 public:
  explicit FileLock(int file) : file_(file) { Set(F_WRLCK); }
  ~FileLock() { Set(F_UNLCK); }
  FileLock(const FileLock&) = delete;

 private:
  void Set(short type) const {
    struct flock lock {};
    lock.l_type = type;
    lock.l_whence = SEEK_SET;
    while (fcntl(file_, F_SETLKW, &lock) != 0 && errno == EINTR) {
    }
  }
  const int file_;
};

// The file of TESSERA_TRACE: a list, one event a line. It is valid JSON after every run, however
// the process ends: new events overwrite the end of the list. Destroyed at exit, so that a run of
// another thread is written whole. Runs that end later are not recorded.
class TraceFile {
 public:
  explicit TraceFile(const std::string& path) {
    file_.value = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (file_.value < 0 || !Write(0, "[" + std::string(kEnd)))
      base::ThrowRuntime(base::Refusal(
          "TESSERA_TRACE", 1, "", fmt::format("cannot write {}: {}", path, base::ErrnoText())));
    recording_.emplace([this](const plan::Plan& plan, const runtime::Events& events) {
      std::string lines = TraceLines(plan, events, 0);
      if (lines.empty()) return;
      lines.resize(lines.size() - std::strlen(",\n"));
      Add(lines);
    });
  }

 private:
  static constexpr const char* kEnd = "\n]\n";

  void Add(const std::string& lines) const {
    const FileLock alone(file_.value);
    const auto end = static_cast<off_t>(std::strlen(kEnd));
    const off_t size = lseek(file_.value, 0, SEEK_END);
    const bool first = size <= end + 1;  // the file is "["
    Write(std::max<off_t>(size - end, 0), (first ? "\n" : ",\n") + lines + kEnd);
  }

  bool Write(off_t at, const std::string& text) const {
    for (size_t done = 0; done < text.size();) {
      const ssize_t n = pwrite(file_.value, text.data() + done, text.size() - done,
                               at + static_cast<off_t>(done));
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return false;
      done += base::Size(n);
    }
    return true;
  }

  base::Descriptor file_;
  std::optional<runtime::Recording> recording_;
};

// Returns the events of the first device in a run, and those of exchanges, in the order of time.
std::vector<Event> EventsOfOneDevice(const runtime::Events& events) {
  std::vector<Event> of_one;
  int32_t first = std::numeric_limits<int32_t>::max();
  for (const std::vector<Event>& of_worker : events)
    for (const Event& event : of_worker)
      if (event.device >= 0) first = std::min(first, event.device);
  for (const std::vector<Event>& of_worker : events)
    for (const Event& event : of_worker)
      if (event.kind != Event::kWait && (event.device < 0 || event.device == first))
        of_one.push_back(event);
  absl::c_stable_sort(of_one, [](const Event& a, const Event& b) { return a.begin < b.begin; });
  return of_one;
}

// The counter of the memory of a device in one run.
class MemoryCounter {
 public:
  MemoryCounter(const plan::Plan& plan, int64_t origin) : plan_(plan), origin_(origin) {
    const auto line =
        absl::c_find_if(plan.notes, [](const plan::Note& n) { return !n.where.empty(); });
    name_ = Quoted(line == plan.notes.end() ? "memory of a device"
                                            : "memory of a device: program of " + line->where);
  }

  // An item begins. Items before it that recorded no event are spread over the time since then.
  void Begin(int32_t item, int64_t time) {
    if (item <= last_) return;  // a worker, or messages, of an earlier item
    const int64_t since = last_ < 0 ? time : time_;
    for (int32_t k = last_ + 1; k <= item; ++k)
      Add(&plan_.held[base::Size(k)], since + (time - since) * (k - last_) / (item - last_));
    last_ = item, time_ = time;
  }
  // Returns the lines of the run, which ended.
  std::string End(int64_t time) {
    Begin(static_cast<int32_t>(plan_.held.size()) - 1, time);
    Add(nullptr, time);
    return std::move(lines_);
  }

 private:
  void Add(const plan::ItemMemory* held, int64_t time) {
    std::string args;
    for (size_t k = 0; k < plan_.uses.size(); ++k)
      args +=
          fmt::format("{}{}:{}", k ? "," : "", Quoted(plan_.uses[k]), held ? held->of_use[k] : 0);
    lines_ += fmt::format("{{\"name\":{},\"ph\":\"C\",\"pid\":1,\"ts\":{:.3f},\"args\":{{{}}}}},\n",
                          name_, static_cast<double>(time - origin_) * 1e-3, args);
  }

  const plan::Plan& plan_;
  const int64_t origin_;
  std::string name_, lines_;
  int32_t last_ = -1;  // item that began last, and its time
  int64_t time_ = 0;
};

// Returns the counters of a run, which are zero at its end.
std::string MemoryLines(const plan::Plan& plan, const runtime::Events& events, int64_t origin) {
  const std::vector<Event> of_one = EventsOfOneDevice(events);
  if (plan.held.empty() || of_one.empty()) return "";
  MemoryCounter counter(plan, origin);
  int64_t end = 0;
  for (const Event& event : of_one) {
    end = std::max(end, event.end);
    if (event.note != plan::kNoNote) counter.Begin(plan.notes[event.note].item, event.begin);
  }
  return counter.End(end);
}

thread_local bool is_memory_known = false;
std::atomic<bool> traces_all{false};

}  // namespace

MemoryKnownScope::MemoryKnownScope() : outer_(std::exchange(is_memory_known, true)) {}
MemoryKnownScope::~MemoryKnownScope() { is_memory_known = outer_; }
bool IsMemoryKnown() { return is_memory_known || traces_all.load(std::memory_order_relaxed); }

std::string TraceLines(const plan::Plan& plan, const runtime::Events& events, int64_t origin) {
  std::string out;
  for (size_t worker = 0; worker < events.size(); ++worker)
    for (const Event& event : events[worker]) {
      std::string args;
      if (event.device >= 0) args += fmt::format("\"device\":{}", event.device);
      const double seconds = std::max(Seconds(event), 1e-9);
      const auto add = [&](const char* what, double value, const char* rate) {
        if (value > 0)
          args += fmt::format("{}\"{}\":{:.0f},\"{}\":{:.3g}", args.empty() ? "" : ",", what, value,
                              rate, value / seconds * 1e-9);
      };
      add("bytes", event.bytes, "GB/s");
      add("FLOPs", event.flops, "GFLOP/s");
      if (event.bytes > 0 || event.flops > 0)
        args += fmt::format(",\"of the limit\":{:.3g}", MachineLimits().SecondsOf(event) / seconds);
      out += fmt::format(
          "{{\"name\":{},\"cat\":\"{}\",\"ph\":\"X\",\"pid\":1,\"tid\":{},\"ts\":{:.3f},\"dur\":{:."
          "3f},"
          "\"args\":{{{}}}}},\n",
          Quoted(NameOf(plan, event)), KindName(event.kind), worker,
          static_cast<double>(event.begin - origin) * 1e-3, seconds * 1e6, args);
    }
  return out + MemoryLines(plan, events, origin);
}

Collector::Collector() {
  MachineLimits();
  origin_ = std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
}

void Collector::Add(const plan::Plan& plan, const runtime::Events& events) {
  for (const std::vector<Event>& of_worker : events)
    for (const Event& event : of_worker)
      if (first_ < 0 || event.begin < first_) first_ = event.begin;
  result_.trace += TraceLines(plan, events, origin_);
  int workers = 0;
  for (const std::vector<Event>& of_worker : events) {
    workers += !of_worker.empty();
    for (const Event& event : of_worker) {
      last_ = std::max(last_, event.end);
      if (event.kind == Event::kWait) {
        result_.waiting += Seconds(event);
        continue;
      }
      ProfileStep& step = steps_[NameOf(plan, event)];
      const bool messages = event.kind == Event::kMessages;
      step.exchange = messages || event.kind == Event::kExchange;
      step.calls += messages && event.bytes == 0 ? 0 : 1;
      if (messages) {
        step.exposed += Seconds(event);
        result_.exposed += Seconds(event);
      }
      step.seconds += Seconds(event);
      step.bytes += event.bytes;
      step.flops += event.flops;
      step.of_limit += MachineLimits().SecondsOf(event);  // divided by the time in the end
    }
  }
  result_.workers = std::max(result_.workers, workers);
}

Profile::Impl Collector::Result() const {
  Profile::Impl result = result_;
  if (first_ >= 0) result.seconds = static_cast<double>(last_ - first_) * 1e-9;
  result.bytes_per_second = MachineLimits().far;
  result.flops_per_second = MachineLimits().flops;
  for (const auto& [name, step] : steps_) {
    result.steps.push_back(step);
    result.steps.back().name = name;
    result.steps.back().of_limit /= std::max(step.seconds, 1e-9);
  }
  std::stable_sort(result.steps.begin(), result.steps.end(),
                   [](const auto& a, const auto& b) { return a.seconds > b.seconds; });
  return result;
}

void StartTrace() {
  const char* path = std::getenv("TESSERA_TRACE");
  if (!path || !*path) return;
  static const TraceFile file(path);
  traces_all = true;
}

}  // namespace tessera::compile
