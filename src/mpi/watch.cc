// Exchanges statuses with the other processes, and judges them.
#include "mpi/watch.h"

#include <absl/algorithm/container.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <utility>

#include "runtime/only_thread.h"

namespace tessera::mpi {
namespace {

constexpr size_t kMostPlace = 300, kMostText = 400, kMostMessage = 2000;  // bytes in a packet
constexpr size_t kMostPlaces = 6;                                         // lines of a message

PeerWatch::Clock::duration Seconds(double seconds) {
  return std::chrono::duration_cast<PeerWatch::Clock::duration>(
      std::chrono::duration<double>(seconds));
}

// A time between packets that finds a stall soon after it is one, and keeps the network idle.
PeerWatch::Clock::duration Interval(double stall_seconds, int32_t processes) {
  const double seconds = std::clamp(0.02 * processes, 0.25, 5.0);
  return Seconds(stall_seconds > 0 ? std::min(seconds, stall_seconds / 4) : seconds);
}

}  // namespace

struct PeerWatch::Header {
  int32_t from, waits_for;
  uint32_t meetings;
  uint32_t sends, receives;  // messages to the receiver of the packet, and from it
  uint32_t place_bytes, text_bytes;
  uint64_t wait, failed, mixed, doomed;
  bool ends, blocked;
  Doom doom;
};

PeerWatch::PeerWatch(int32_t process, int32_t processes, double stall_seconds)
    : process_(process),
      processes_(processes),
      stall_(Seconds(stall_seconds)),
      notice_(stall_ / 3),
      interval_(Interval(stall_seconds, processes)),
      peers_(static_cast<size_t>(processes)) {}

PeerWatch::~PeerWatch() {
  stops_ = true;
  if (thread_.joinable()) thread_.join();
}

void PeerWatch::Start(const std::vector<std::string>& addresses, uint64_t job) {
  channel_.Connect(addresses, job);
  sigset_t all, old;  // signals are for the program's threads
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &old);
  thread_ = std::thread([this] { Run(); });
  pthread_sigmask(SIG_SETMASK, &old, nullptr);
}

void PeerWatch::BeginWait(std::string text) {
  const std::lock_guard lock(mutex_);
  Own().wait = ++wait_.last;
  Own().text = std::move(text);
}
void PeerWatch::SetNeeds(std::vector<Need> needs, uint32_t meeting) {
  const std::lock_guard lock(mutex_);
  wait_.needs = std::move(needs);
  wait_.meeting = meeting;
}
void PeerWatch::EndWait() {
  const std::lock_guard lock(mutex_);
  Own().wait = 0;
  Own().text.clear();
  wait_.needs.clear();
  wait_.meeting = 0;
}

void PeerWatch::BeginStep(uint64_t step, std::string_view where, std::string_view inputs) {
  alarms_.step = step;
  const std::lock_guard lock(mutex_);
  place_.step = step;
  place_.where = where;
  place_.inputs = inputs;
}

void PeerWatch::SayMixed() {
  const std::lock_guard lock(mutex_);
  if (std::exchange(Own().mixed, alarms_.step.load()) != alarms_.step.load()) SendAll();
}

void PeerWatch::SayFailed(uint64_t step, std::string message) {
  const std::lock_guard lock(mutex_);
  Own().failed = step;
  Own().message = std::move(message);
  SendAll();
}
void PeerWatch::ForgetDoom(uint64_t step) {
  const std::lock_guard lock(mutex_);
  forgotten_.doom = step;
  Own().doom = Doom::kNone;
  UpdateAlarm();
}
void PeerWatch::Forget(uint64_t step) {
  const std::lock_guard lock(mutex_);
  forgotten_.failure = step;
  meetings_ = 0;
  for (Peer& peer : peers_) {
    peer.sends = peer.receives = 0;
    peer.its_sends = peer.its_receives = 0;
  }
  UpdateAlarm();
}

PeerWatch::Alarm PeerWatch::TheAlarm() {
  const std::lock_guard lock(mutex_);
  for (int32_t p = 0; p < processes_ && Own().doom == Doom::kNone; ++p)
    if (p != process_ && At(p).status.failed > forgotten_.failure)
      return {.failed = p, .text = At(p).status.message};
  return {.is_mixed = Own().doom == Doom::kMixed, .text = Own().message};
}

bool PeerWatch::SayEnds(Clock::duration most) {
  std::unique_lock lock(mutex_);
  Own().ends = true;
  SendAll();
  return changed_.wait_for(
      lock, most, [&] { return absl::c_all_of(peers_, [](auto& p) { return p.status.ends; }); });
}

void PeerWatch::Run() {
  Clock::time_point next = Clock::now();
  while (!stops_) {
    const Clock::time_point before = Clock::now();
    const Clock::duration left = std::clamp<Clock::duration>(next - before, {}, Seconds(0.05));
    const std::string packet = channel_.Receive(left);
    std::string work = runtime::WorkText();
    const std::lock_guard lock(mutex_);
    wait_.work = std::move(work);
    const Clock::duration slept = Clock::now() - now_;
    now_ = Clock::now();
    // If this process was stopped itself, it knows nothing about the others.
    if (slept > std::max(stall_ / 2, 2 * interval_))
      for (Peer& peer : peers_)
        if (peer.heard != Clock::time_point()) peer.heard = now_;
    if (!packet.empty()) Take(packet);
    if (now_ < next) continue;
    next = now_ + interval_;
    SendAll();
    FindMixed();
    if (stall_ == Clock::duration()) continue;
    ReportStopped();
    ReportBusy();
    FindDeadlock();
  }
}

void PeerWatch::SendAll() {
  SetStatus(process_, OwnStatus());
  const Status& own = Own();
  for (int32_t p = 0; p < processes_; ++p) {
    if (p == process_) continue;
    const std::string place = own.place.substr(0, kMostPlace);
    const std::string text = own.text.substr(0, kMostText);
    const Header header{.from = process_,
                        .waits_for = own.waits_for,
                        .meetings = own.meetings,
                        .sends = At(p).sends.load(std::memory_order_relaxed),
                        .receives = At(p).receives.load(std::memory_order_relaxed),
                        .place_bytes = static_cast<uint32_t>(place.size()),
                        .text_bytes = static_cast<uint32_t>(text.size()),
                        .wait = own.wait,
                        .failed = own.failed,
                        .mixed = own.mixed,
                        .doomed = own.doomed,
                        .ends = own.ends,
                        .blocked = own.blocked,
                        .doom = own.doom};
    std::string packet(reinterpret_cast<const char*>(&header), sizeof header);
    channel_.Send(p, packet + place + text + own.message.substr(0, kMostMessage));
  }
}

void PeerWatch::Take(std::string_view packet) {
  Header h;
  if (packet.size() < sizeof h) return;
  std::memcpy(&h, packet.data(), sizeof h);
  packet.remove_prefix(sizeof h);
  if (h.from < 0 || h.from >= processes_ || h.from == process_ ||
      size_t{h.place_bytes} + h.text_bytes > packet.size())
    return;
  const auto take = [&](size_t bytes) {
    std::string text(packet.substr(0, bytes));
    packet.remove_prefix(bytes);
    return text;
  };
  Peer& peer = At(h.from);
  if (now_ - peer.heard >= stall_) peer.answers_since = now_;
  peer.heard = now_;
  peer.reported = false;
  peer.its_sends = h.sends;
  peer.its_receives = h.receives;
  const Status status{.ends = h.ends,
                      .blocked = h.blocked,
                      .doom = h.doom,
                      .meetings = h.meetings,
                      .wait = h.wait,
                      .failed = h.failed,
                      .mixed = h.mixed,
                      .doomed = h.doomed,
                      .waits_for = h.waits_for,
                      .place = take(h.place_bytes),
                      .text = take(h.text_bytes),
                      .message = std::string(packet)};
  if (Own().doom == Doom::kNone && status.doomed > forgotten_.doom) {
    Own().doom = status.doom;
    Own().doomed = status.doomed;
    Own().message = status.message;
  }
  SetStatus(h.from, status);
  UpdateAlarm();
  changed_.notify_all();
}

void PeerWatch::SetStatus(int32_t process, Status status) {
  Peer& peer = At(process);
  const bool goes_on = peer.status.blocked && status.blocked && peer.status.wait == status.wait;
  if (!goes_on) peer.blocked_since = now_;
  peer.status = std::move(status);
}

// Whether the other process has not begun its part of a message.
bool PeerWatch::IsLate(const Need& need) {
  const Peer& peer = At(need.process);
  return (need.receives ? peer.its_sends : peer.its_receives) < need.index;
}

PeerWatch::Status PeerWatch::OwnStatus() {
  Status own = Own();
  own.meetings = meetings_.load(std::memory_order_relaxed);
  if (place_.step > 0)
    own.place = place_.inputs.empty() ? fmt::format("call {}, {}", place_.step, place_.where)
                                      : fmt::format("call {}, the program of {} called at {}",
                                                    place_.step, place_.inputs, place_.where);
  own.waits_for = -1;
  if (!own.wait) own.text = wait_.work;
  for (int32_t p = processes_; p-- > 0 && own.wait;)
    if (p != process_ && At(p).status.meetings < wait_.meeting) own.waits_for = p;
  for (const Need& need : wait_.needs)
    if (IsLate(need)) own.waits_for = need.process;
  own.blocked = own.waits_for >= 0;
  return own;
}

void PeerWatch::UpdateAlarm() {
  uint64_t first = 0;  // the first step that failed
  for (int32_t p = 0; p < processes_; ++p) {
    const uint64_t failed = At(p).status.failed;
    if (p != process_ && failed > forgotten_.failure)
      first = first ? std::min(first, failed) : failed;
  }
  alarms_.failed_step = first;
  const bool has_failure = first > 0;
  alarms_.kind = Own().doom != Doom::kNone ? kDeadlock : has_failure ? kFailure : kNone;
}

bool PeerWatch::Answers(int32_t process) {
  const Peer& peer = At(process);
  return process == process_ || peer.heard == Clock::time_point() || now_ - peer.heard < stall_;
}

// Whether no process with a lower number could report.
bool PeerWatch::IsLowest() {
  for (int32_t p = 0; p < process_; ++p)
    if (Answers(p)) return false;
  return true;
}

void PeerWatch::ReportStopped() {
  if (!IsLowest()) return;
  for (int32_t p = 0; p < processes_; ++p) {
    if (Answers(p) || At(p).reported || At(p).status.ends) continue;
    At(p).reported = true;
    std::string waits;
    for (int32_t q = processes_; q-- > 0;) {
      const Status& other = At(q).status;
      if (other.waits_for == p && Answers(q))
        waits = fmt::format("; process {} waits for it: {}", q, other.text);
    }
    const std::string text =
        fmt::format("tessera: process {} (pid {} on {}) has not answered for {:g} s{}\n", p,
                    channel_.peer(p).pid, channel_.peer(p).host,
                    std::chrono::duration<double>(stall_).count(), waits);
    std::fputs(text.c_str(), stderr);
  }
}

// Whether a process that does not wait has not come to `waiter` for long.
bool PeerWatch::IsBusy(int32_t process, int32_t waiter) {
  const Peer &peer = At(process), &waits = At(waiter);
  if (!waits.status.blocked || waits.status.waits_for != process || !Answers(waiter)) return false;
  // A process that goes on after a stop has just begun to come.
  const Clock::time_point late = std::max(waits.blocked_since, peer.answers_since) + notice_;
  return now_ >= late && (process == process_ || peer.heard >= late) && peer.status.wait == 0 &&
         !peer.status.ends;
}

void PeerWatch::ReportBusy() {
  if (!IsLowest()) return;
  for (int32_t p = 0; p < processes_; ++p) {
    Peer& peer = At(p);
    if (absl::c_none_of(peers_, [&](const Peer& other) {
          return other.status.blocked && other.status.waits_for == p;
        }))
      peer.reported_busy = false;
    int32_t waiter = 0;
    while (waiter < processes_ && !IsBusy(p, waiter)) ++waiter;
    if (waiter == processes_ || std::exchange(peer.reported_busy, true)) continue;
    const std::string text =
        fmt::format("tessera: process {} has waited {:g} s for process {}: {}; process {} {}\n",
                    waiter, std::chrono::duration<double>(notice_).count(), p,
                    At(waiter).status.text, p, peer.status.text);
    std::fputs(text.c_str(), stderr);
  }
}

// If every process waits for one that has not begun its part of a message or a meeting, none of
// them can go on.
void PeerWatch::FindDeadlock() {
  if (!IsLowest() || Own().doom != Doom::kNone) return;
  for (int32_t p = 0; p < processes_; ++p) {
    const Peer& peer = At(p);
    const bool is_known = p == process_ || (peer.heard != Clock::time_point() && Answers(p));
    if (!is_known || !peer.status.blocked || now_ - peer.blocked_since < stall_) return;
  }
  SetDoom(Doom::kDeadlock, &Status::text);
}

// The lowest process says it for all, when it has heard where all of them are. If packets are lost,
// another one does.
void PeerWatch::FindMixed() {
  const bool is_mixed =
      absl::c_any_of(peers_, [&](const Peer& p) { return p.status.mixed > forgotten_.doom; });
  if (!is_mixed) alarms_.mixed_since = {};
  if (!is_mixed || Own().doom != Doom::kNone) return;
  if (alarms_.mixed_since == Clock::time_point()) alarms_.mixed_since = now_;
  if (now_ - alarms_.mixed_since >= interval_ * (IsLowest() ? 1 : 8))
    SetDoom(Doom::kMixed, &Status::place);
}

void PeerWatch::SetDoom(Doom doom, std::string Status::*place) {
  Own().message = PlacesText(place);
  Own().doom = doom;
  Own().doomed = alarms_.step;
  SendAll();
  UpdateAlarm();
}

std::string PeerWatch::PlacesText(std::string Status::*place) {
  std::vector<std::pair<std::string, std::vector<int32_t>>> places;
  for (int32_t p = 0; p < processes_; ++p) {
    const std::string& text = At(p).status.*place;
    auto known = absl::c_find_if(places, [&](const auto& other) { return other.first == text; });
    if (known == places.end()) known = places.insert(known, {text, {}});
    known->second.push_back(p);
  }
  std::string lines;
  for (size_t i = 0; i < std::min(places.size(), kMostPlaces); ++i) {
    const auto& [text, processes] = places[i];
    const size_t shown = std::min<size_t>(processes.size(), kMostPlaces);
    lines += fmt::format(
        "{}process{} {}{}: {}", i ? "\n" : "", processes.size() > 1 ? "es" : "",
        fmt::join(processes.begin(), processes.begin() + static_cast<long>(shown), ", "),
        shown < processes.size() ? ", ..." : "", text);
  }
  return lines;
}

}  // namespace tessera::mpi
