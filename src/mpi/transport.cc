// Moves parcels by messages between two processes; combines elements and gathers texts by
// collectives.
#include "mpi/transport.h"

#include <absl/algorithm/container.h>
#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <random>
#include <sstream>
#include <thread>

#include "base/at.h"
#include "runtime/meeting.h"
#include "tessera/error.h"
#include "tessera/sharding.h"  // ErrorDetail holds Fix

namespace tessera::mpi {
namespace {

using Clock = std::chrono::steady_clock;

// Elements of one collective: MPI counts in ints.
constexpr int64_t kMostElements = 1 << 27;
// Open MPI sends messages of less than 4 KiB to a process of the same host without waiting for it:
// two of 2 KiB take half the time of one of 4 KiB (btl_vader_eager_limit). Other
// parcels, which the other process may describe by a datatype, are one message.
constexpr int64_t kEagerBytes = 3968;
constexpr int64_t kMostEager = 4;

// A wait polls this often before it gives way to other threads, and between looks at the clock.
constexpr int kPollsAlone = 256;
constexpr int kPollsBetween = 16;
// A wait that takes longer is told to the watch, and again when its needs may have changed.
constexpr auto kLong = std::chrono::milliseconds(50);
// The time for the others to print an error of theirs before this process ends them. Often all have
// the same.
constexpr auto kTimeToPrint = std::chrono::milliseconds(300);
// The time for received messages of a failed run to arrive before their memory is used again.
constexpr auto kTimeToCancel = std::chrono::milliseconds(100);

// Returns the number of messages that carry contiguous bytes.
int64_t MessagesFor(int64_t bytes) {
  return bytes <= kMostEager * kEagerBytes ? (bytes + kEagerBytes - 1) / kEagerBytes : 1;
}

int RankIn(MPI_Comm communicator) {
  int rank = 0;
  MPI_Comm_rank(communicator, &rank);
  return rank;
}
int SizeOf(MPI_Comm communicator) {
  int size = 0;
  MPI_Comm_size(communicator, &size);
  return size;
}

// Returns the tags that calls may have: 0 to this one, which has all bits.
int LargestTag(MPI_Comm communicator) {
  void* most = nullptr;
  int is_known = 0;
  MPI_Comm_get_attr(communicator, MPI_TAG_UB, &most, &is_known);
  const auto largest = is_known ? static_cast<unsigned>(*static_cast<int*>(most)) : 32767u;
  return static_cast<int>(std::bit_floor(largest + 1) - 1);
}

bool IsCrowded(MPI_Comm communicator) {
  MPI_Comm host;
  MPI_Comm_split_type(communicator, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
  const bool crowded = SizeOf(host) > sysconf(_SC_NPROCESSORS_ONLN);
  MPI_Comm_free(&host);
  return crowded;
}

[[noreturn]] void Throw(const char* label, std::string reason, std::vector<std::string> notes) {
  throw RuntimeError({.kind = "RuntimeError",
                      .op = "processes",
                      .label = label,
                      .where = "",
                      .reason = std::move(reason),
                      .operands = {},
                      .notes = std::move(notes),
                      .fixes = {}});
}

[[noreturn]] void ThrowMpi(int error) {
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(error, text, &length);
  Throw("processes.mpi", fmt::format("MPI could not exchange bytes: {}", text), {});
}

}  // namespace

MpiTransport::MpiTransport(MPI_Comm communicator, runtime::StartOptions options)
    : watch_(RankIn(communicator), SizeOf(communicator), options.stall_seconds) {
  MPI_Comm_dup(communicator, &base_);
  // The duplicates have the handler too.
  MPI_Comm_set_errhandler(base_, MPI_ERRORS_RETURN);
  now_ = Duplicate();
  process_ = RankIn(base_);
  processes_ = SizeOf(base_);
  steps_.largest_tag = LargestTag(base_);
  crowded_ = IsCrowded(base_);
  int level = MPI_THREAD_SINGLE;
  MPI_Query_thread(&level);
  only_main_thread_ = level < MPI_THREAD_SERIALIZED;
  const uint64_t job = GatherNumbers(std::random_device()())[0];
  watch_.Start(GatherTexts(watch_.Address()), job);
  steps_.count = 0;
}

MpiTransport::~MpiTransport() {
  MPI_Comm_free(&now_.messages);
  MPI_Comm_free(&now_.control);
  MPI_Comm_free(&base_);
}

MpiTransport::Communicators MpiTransport::Duplicate() const {
  Communicators made;
  MPI_Comm_dup(base_, &made.messages);
  MPI_Comm_dup(base_, &made.control);
  return made;
}

int32_t MpiTransport::AddRuns(const runtime::ByteRuns& runs) { return datatypes_.Add(runs); }
int32_t MpiTransport::AddGroup(const std::vector<int32_t>& processes) {
  return combinations_.AddGroup(processes, base_);
}
int32_t MpiTransport::AddCombine(plan::CombineFn combine, int64_t item) {
  return combinations_.AddFunction(combine, item);
}

template <class Move>
void MpiTransport::StartEach(std::span<const runtime::Parcel> parcels, bool receives, Going& going,
                             Move move) {
  for (const runtime::Parcel& p : parcels) {
    const auto add = [&](std::byte* data, int64_t count, MPI_Datatype type) {
      const uint32_t index =
          receives ? watch_.CountReceive(p.process) : watch_.CountSend(p.process);
      going.needs.push_back({{p.process, receives, index}, going.requests.size(), receives});
      move(data, static_cast<int>(count), type, p.process, &going.requests.emplace_back());
    };
    if (p.runs >= 0) {
      add(p.data, 1, datatypes_.At(p.runs));
    } else if (p.bytes > kMostBytes) {
      add(p.data, 1, datatypes_.OfBytes(p.bytes));
    } else {
      const int64_t n = p.splits ? MessagesFor(p.bytes) : 1;
      for (int64_t k = 0; k < n; ++k)
        add(p.data + p.bytes * k / n, p.bytes * (k + 1) / n - p.bytes * k / n, MPI_BYTE);
    }
  }
}

// For the watch, a combination is a message to each process of the group, and one from it.
void MpiTransport::Queue(const runtime::Combination& combination, Ticket ticket) {
  Going& going = base::At(going_, ticket);
  combinations_.Greet(combination.group, steps_.count, steps_.tag);
  queued_.push_back({combination, ticket, going.needs.size()});
  for (int32_t other : combinations_.GroupAt(combination.group).processes) {
    if (other == process_) continue;
    watch_.CountSend(other);
    going.needs.push_back({.need = {other, /*receives=*/true, watch_.CountReceive(other)}});
  }
  ++going.queued;
}

void MpiTransport::StartQueued() {
  while (!queued_.empty()) {
    const Queued& next = queued_.front();
    const Combinations::Answer answer = combinations_.AnswerOf(next.combination.group);
    steps_.mixed = steps_.mixed || answer == Combinations::Answer::kAnotherCall;
    if (answer != Combinations::Answer::kSameCall) return;
    Going& going = base::At(going_, next.ticket);
    StartCombination(next.combination, going);
    const auto others = combinations_.GroupAt(next.combination.group).processes.size() - 1;
    for (size_t k = 0; k < others; ++k)
      going.needs[next.first_need + k].request = going.requests.size() - 1;
    --going.queued;
    queued_.pop_front();
  }
}

void MpiTransport::StartCombination(const runtime::Combination& c, Going& going) {
  const auto& [element, item, op] = combinations_.FunctionAt(c.combine);
  const MPI_Comm communicator = combinations_.GroupAt(c.group).communicator;
  for (int64_t at = 0, n = 0; at < c.elements; at += n) {
    // A scatter is one call: its parts follow each other.
    n = c.scatters ? c.elements : std::min(c.elements - at, kMostElements);
    const auto count = static_cast<int>(n);
    const std::byte* from = c.from + at * item;
    std::byte* to = c.to + at * item;
    MPI_Request* request = &going.requests.emplace_back();
    c.scatters ? MPI_Ireduce_scatter_block(from, to, count, element, op, communicator, request)
               : MPI_Iallreduce(from, to, count, element, op, communicator, request);
  }
}

runtime::Transport::Ticket MpiTransport::Start(const runtime::Shipment& shipment) {
  if (free_.empty()) {
    free_.push_back(static_cast<Ticket>(going_.size()));
    going_.emplace_back();
  }
  const Ticket ticket = free_.back();
  free_.pop_back();
  Going& going = base::At(going_, ticket);
  StartEach(shipment.receives, /*receives=*/true, going,
            [&](void* data, int n, MPI_Datatype type, int from, MPI_Request* r) {
              MPI_Irecv(data, n, type, from, steps_.tag, now_.messages, r);
            });
  StartEach(shipment.sends, /*receives=*/false, going,
            [&](void* data, int n, MPI_Datatype type, int to, MPI_Request* r) {
              MPI_Isend(data, n, type, to, steps_.tag, now_.messages, r);
            });
  for (const runtime::Combination& c : shipment.combinations) Queue(c, ticket);
  StartQueued();
  return ticket;
}

void MpiTransport::Poll() {
  StartQueued();
  int flag = 0;
  MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, now_.control, &flag, MPI_STATUS_IGNORE);
}

template <class Done, class SetNeeds>
void MpiTransport::Wait(Done done, SetNeeds set_needs) {
  Clock::time_point told_at{};
  bool told = false;
  for (int64_t polls = 1; !done(); ++polls) {
    if (polls % kPollsBetween != 0) continue;
    if (!crowded_ && polls < kPollsAlone) continue;
    // All know of a failed step while they recover from it.
    if (steps_.failed ? watch_.HasDeadlock() : watch_.HasAlarm()) {
      if (told) watch_.EndWait();
      ThrowAlarm();
    }
    sched_yield();
    const Clock::time_point now = Clock::now();
    if (told_at == Clock::time_point()) told_at = now;
    if (now - told_at < kLong) continue;
    told_at = now;
    if (!std::exchange(told, true)) watch_.BeginWait(runtime::Waiting::Text());
    set_needs();
  }
  if (told) watch_.EndWait();
}

void MpiTransport::Finish(Ticket ticket) {
  Going& going = base::At(going_, ticket);
  const auto done = [&] {
    if (!queued_.empty()) StartQueued();
    if (steps_.mixed || going.queued > 0) return false;
    int all = 0;
    const auto count = static_cast<int>(going.requests.size());
    const int error = MPI_Testall(count, going.requests.data(), &all, MPI_STATUSES_IGNORE);
    if (error != MPI_SUCCESS) ThrowMpi(error);
    return all != 0;
  };
  Wait(done, [&] {
    steps_.mixed = steps_.mixed || CancelOvertaken(going);
    if (steps_.mixed) watch_.SayMixed();
    watch_.SetNeeds(NeedsOf(going), /*meeting=*/0);
  });
  going.requests.clear();
  going.needs.clear();
  free_.push_back(ticket);
}

std::vector<Need> MpiTransport::NeedsOf(Going& going) {
  std::vector<Need> needs;
  for (const RequestNeed& n : going.needs) {
    int is_complete = 0;
    if (n.request != kNotStarted)
      MPI_Request_get_status(going.requests[n.request], &is_complete, MPI_STATUS_IGNORE);
    if (!is_complete) needs.push_back(n.need);
  }
  return needs;
}

// Messages between two processes arrive in order. So if a message with another tag has arrived, and
// a receive is not matched by an earlier one, the other process has not sent that one.
bool MpiTransport::CancelOvertaken(Going& going) {
  for (const RequestNeed& n : going.needs) {
    if (!n.cancels || going.requests[n.request] == MPI_REQUEST_NULL) continue;
    MPI_Request& request = going.requests[n.request];
    int has_message = 0, is_complete = 0, is_cancelled = 0;
    MPI_Status status;
    MPI_Iprobe(n.need.process, MPI_ANY_TAG, now_.messages, &has_message, &status);
    if (!has_message || status.MPI_TAG == steps_.tag) continue;
    // MPI cancels only receives that are not matched.
    MPI_Cancel(&request);
    MPI_Test(&request, &is_complete, &status);
    if (is_complete) MPI_Test_cancelled(&status, &is_cancelled);
    if (is_cancelled) return true;
  }
  return false;
}

void MpiTransport::WaitForAll(MPI_Request request, uint32_t meeting, std::shared_ptr<void> keeps) {
  const auto done = [&] {
    int complete = 0;
    MPI_Test(&request, &complete, MPI_STATUS_IGNORE);
    return complete != 0;
  };
  try {
    Wait(done, [&] { watch_.SetNeeds({}, meeting); });
  } catch (...) {
    new std::shared_ptr<void>(std::move(keeps));  // MPI may still write to it
    throw;
  }
}

std::vector<uint64_t> MpiTransport::NumbersOver(MPI_Comm communicator, uint64_t mine,
                                                uint32_t meeting) {
  struct Numbers {
    uint64_t mine;
    std::vector<uint64_t> all;
  };
  const auto numbers =
      std::make_shared<Numbers>(Numbers{mine, std::vector<uint64_t>(base::Size(processes_))});
  MPI_Request request;
  MPI_Iallgather(&numbers->mine, 1, MPI_UINT64_T, numbers->all.data(), 1, MPI_UINT64_T,
                 communicator, &request);
  WaitForAll(request, meeting, numbers);
  return numbers->all;
}

std::vector<uint64_t> MpiTransport::GatherNumbers(uint64_t mine) {
  BeginStep(runtime::Waiting::Text(), "");
  return NumbersOver(now_.control, mine, watch_.CountMeeting());
}

std::vector<std::string> MpiTransport::GatherTexts(std::string_view mine) {
  const uint32_t meeting = watch_.CountMeeting();
  const std::vector<uint64_t> sizes = NumbersOver(now_.control, mine.size(), meeting);
  const uint64_t longest = *std::max_element(sizes.begin(), sizes.end());
  // A round gathers at most this much of each text, since MPI counts in ints.
  const uint64_t part = base::Size(kMostBytes / processes_);
  std::vector<std::string> each(sizes.size());
  for (uint64_t at = 0; at < longest; at += part) {
    std::vector<int> counts;
    for (uint64_t size : sizes)
      counts.push_back(static_cast<int>(std::min(part, size - std::min(size, at))));
    GatherParts(mine.substr(std::min<size_t>(at, mine.size()), part), counts, meeting, each);
  }
  return each;
}

void MpiTransport::GatherParts(std::string_view mine, const std::vector<int>& counts,
                               uint32_t meeting, std::vector<std::string>& each) {
  struct Texts {
    std::string mine, all;
    std::vector<int> sizes, begins;
  };
  const auto texts = std::make_shared<Texts>(Texts{std::string(mine), {}, counts, {}});
  texts->begins.resize(counts.size());
  std::exclusive_scan(counts.begin(), counts.end(), texts->begins.begin(), 0);
  texts->all.resize(base::Size(texts->begins.back() + counts.back()));
  MPI_Request request;
  MPI_Iallgatherv(texts->mine.data(), static_cast<int>(mine.size()), MPI_CHAR, texts->all.data(),
                  texts->sizes.data(), texts->begins.data(), MPI_CHAR, now_.control, &request);
  WaitForAll(request, meeting, texts);
  for (size_t p = 0; p < each.size(); ++p)
    each[p] += texts->all.substr(base::Size(texts->begins[p]), base::Size(counts[p]));
}

void MpiTransport::CheckThread() const {
  int is_main = 1, is_finalised = 0;
  MPI_Finalized(&is_finalised);
  if (is_finalised)
    Throw("processes.finalised",
          "the program has called MPI_Finalize, so its processes cannot "
          "run together any longer",
          {"end the Processes scope before MPI_Finalize"});
  if (only_main_thread_) MPI_Is_thread_main(&is_main);
  if (!is_main)
    Throw("processes.thread",
          "MPI is initialised for the main thread alone, but this is another one",
          {"call MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &provided)"});
}

void MpiTransport::BeginStep(std::string_view where, std::string_view inputs) {
  CheckThread();
  if (steps_.failed) Recover();
  watch_.BeginStep(++steps_.count, where, inputs);
  if (watch_.HasAlarm()) ThrowAlarm();
}

void MpiTransport::BeginRun(uint64_t call, std::string_view where, std::string_view inputs) {
  BeginStep(where, inputs);
  const uint64_t mixed = runtime::MixShared(call, steps_.count);
  steps_.tag =
      static_cast<int>((mixed ^ (mixed >> 32)) & static_cast<uint64_t>(steps_.largest_tag));
}

void MpiTransport::FailRun(const std::string& message) {
  if (!std::exchange(steps_.failed, true)) watch_.SayFailed(steps_.count, message);
  // Whoever catches the error uses the memory of the run again.
  const Clock::time_point end = Clock::now() + kTimeToCancel;
  for (Going& going : going_) {
    for (const RequestNeed& n : going.needs) {
      if (!n.cancels || going.requests[n.request] == MPI_REQUEST_NULL) continue;
      MPI_Request& request = going.requests[n.request];
      MPI_Cancel(&request);
      for (int done = 0; !done && Clock::now() < end;) MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    }
  }
}

void MpiTransport::ThrowAlarm() {
  steps_.failed = true;
  const PeerWatch::Alarm alarm = watch_.TheAlarm();
  std::vector<std::string> lines;
  std::istringstream text(alarm.text);
  for (std::string line; std::getline(text, line);) lines.push_back(line);
  if (alarm.is_mixed) {
    lines.push_back(
        "all processes must make the same calls in the same order, from the same lines");
    Throw("processes.differ", "the processes make different calls", lines);
  }
  if (alarm.failed < 0)
    Throw("processes.deadlock", "the processes wait for each other, in different places", lines);
  Throw("processes.failed",
        fmt::format("process {} has failed, so this process cannot go on", alarm.failed), lines);
}

// Continues after a failed run if all processes have seen it in the same step. Messages of the run
// that nobody received stay on the old communicators.
void MpiTransport::Recover() {
  watch_.ForgetDoom(steps_.count);
  watch_.BeginStep(++steps_.count, "going on after a failed call", "");
  const std::vector<uint64_t> steps = NumbersOver(base_, steps_.count, watch_.CountMeeting());
  const auto [least, most] = std::minmax_element(steps.begin(), steps.end());
  if (*least != *most)
    Throw("processes.apart",
          fmt::format("after a failed run the processes are at different places: process {} has "
                      "done less than process {}",
                      least - steps.begin(), most - steps.begin()),
          {"do not catch the error, or catch it on all processes around the same calls"});
  watch_.Forget(steps_.count);
  now_ = Duplicate();
  combinations_.Renew(base_);
  going_.clear();
  free_.clear();
  queued_.clear();
  steps_.mixed = false;
  steps_.failed = false;
}

void MpiTransport::Abort(int status) {
  const bool all_end = watch_.SayEnds(kTimeToPrint);
  // If all abort at once, mpirun takes a second longer.
  if (all_end && process_ != 0) std::this_thread::sleep_for(kTimeToPrint);
  int is_finalised = 0;
  MPI_Finalized(&is_finalised);
  if (!is_finalised) MPI_Abort(base_, status);
  std::_Exit(status);
}

}  // namespace tessera::mpi
