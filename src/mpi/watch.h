// Watches the other processes of a job.
#pragma once
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "mpi/channel.h"

namespace tessera::mpi {

// A message that has not arrived, or was not taken. The messages from one process to another are
// counted from 1.
struct Need {
  int32_t process = 0;  // the other one
  bool receives = false;
  uint32_t index = 0;
};

// Exchanges statuses with the other processes. It finds processes that do not answer, and processes
// that wait for each other. Packets may be lost, so each one holds a whole status, and a process
// that was never heard is not watched. It makes no MPI calls.
//
// One thread at a time counts messages and waits. A thread of the watch's own sends and receives.
class PeerWatch {
 public:
  using Clock = std::chrono::steady_clock;

  PeerWatch(int32_t process, int32_t processes, double stall_seconds);
  ~PeerWatch();
  PeerWatch(const PeerWatch&) = delete;

  // Returns where this process can be reached.
  std::string Address() const { return channel_.Address(); }
  // `addresses` are those of all processes.
  void Start(const std::vector<std::string>& addresses, uint64_t job);

  // Count a message or a meeting that this process has begun, and return its number.
  uint32_t CountSend(int32_t to) { return Count(At(to).sends); }
  uint32_t CountReceive(int32_t from) { return Count(At(from).receives); }
  uint32_t CountMeeting() { return Count(meetings_); }

  // A wait that takes long. It needs messages, or a meeting (0: none), or something that no other
  // process is late for.
  void BeginWait(std::string text);
  void SetNeeds(std::vector<Need> needs, uint32_t meeting);
  void EndWait();

  // Says that this process has failed in step `step` of the program.
  void SayFailed(uint64_t step, std::string message);
  // Forgets that up to the step no process could go on.
  void ForgetDoom(uint64_t step);
  // Forgets failures up to the step, because all processes have seen them, and counts messages and
  // meetings from the beginning.
  void Forget(uint64_t step);

  // Whether this process must not wait any longer: another one has failed, or all wait for each
  // other.
  bool HasAlarm() const {
    const AlarmKind kind = alarms_.kind.load(std::memory_order_relaxed);
    return kind == kDeadlock ||
           (kind == kFailure && alarms_.failed_step.load() <= alarms_.step.load());
  }
  // Says which step of the program begins, where, and the types of its inputs if it is a run.
  // Failures of later steps are no alarm yet.
  void BeginStep(uint64_t step, std::string_view where, std::string_view inputs);
  // Says that this process has a message for another step than its own. All processes get an alarm
  // soon.
  void SayMixed();
  bool HasDeadlock() const { return alarms_.kind.load(std::memory_order_relaxed) == kDeadlock; }
  struct Alarm {
    int32_t failed = -1;    // the process that has failed; -1: all wait for each other
    bool is_mixed = false;  // the processes make different calls
    std::string text;       // the message of the one that failed; or a line for each process
  };
  Alarm TheAlarm();

  // Says that this process is about to abort. Returns true when all others have said so too, or
  // false after the time. If all print a message, none is killed before it has.
  bool SayEnds(Clock::duration most);

 private:
  enum AlarmKind : uint8_t { kNone, kFailure, kDeadlock };
  // Why no process can go on.
  enum class Doom : uint8_t { kNone, kDeadlock, kMixed };
  // The status of a process, as it describes itself.
  struct Status {
    bool ends = false, blocked = false;
    Doom doom = Doom::kNone;
    uint32_t meetings = 0;
    uint64_t wait = 0;    // a number for each wait; 0: it does not wait
    uint64_t failed = 0;  // the last step that failed
    // The last step that got a message for another call; that no process could complete.
    uint64_t mixed = 0, doomed = 0;
    int32_t waits_for = -1;
    std::string place;          // the step, and the user's line that began it
    std::string text, message;  // of the wait, or of the work without one; of the failure
  };
  struct Header;  // the numbers of a Status, as a packet has them
  struct Peer {
    std::atomic<uint32_t> sends{0}, receives{0};  // messages to it, and from it, begun here
    uint32_t its_sends = 0, its_receives = 0;     // messages to this process, and from it
    Status status;
    Clock::time_point heard = {}, blocked_since = {};  // {}: never
    Clock::time_point answers_since = {};              // after it had not answered
    bool reported = false;                             // that it does not answer
    bool reported_busy = false;                        // that others wait for it
  };
  struct Wait {
    std::vector<Need> needs;
    uint32_t meeting = 0;
    uint64_t last = 0;  // the number of waits so far
    std::string work;   // of this process while it does not wait
  };

  // One thread counts, and another one reads.
  static uint32_t Count(std::atomic<uint32_t>& count) {
    const uint32_t next = count.load(std::memory_order_relaxed) + 1;
    count.store(next, std::memory_order_relaxed);
    return next;
  }
  Peer& At(int32_t process) { return peers_[static_cast<size_t>(process)]; }
  Status& Own() { return At(process_).status; }

  void Run();
  // The lock is held in all that follow.
  void SendAll();
  void Take(std::string_view packet);
  void SetStatus(int32_t process, Status status);
  Status OwnStatus();
  bool IsLate(const Need& need);
  void UpdateAlarm();
  bool Answers(int32_t process);
  bool IsLowest();
  void ReportStopped();
  void ReportBusy();
  bool IsBusy(int32_t process, int32_t waiter);
  void FindDeadlock();
  void FindMixed();
  void SetDoom(Doom doom, std::string Status::*place);
  // Returns a line for each text: "process 0: all_reduce at model.cc:12".
  std::string PlacesText(std::string Status::*place);

  const int32_t process_, processes_;
  const Clock::duration stall_, notice_, interval_;
  Channel channel_;
  std::vector<Peer> peers_;  // by process, this one among them
  std::atomic<uint32_t> meetings_{0};
  struct Alarms {
    std::atomic<AlarmKind> kind{kNone};
    std::atomic<uint64_t> step{0}, failed_step{0};  // of this process; the first one that failed
    Clock::time_point mixed_since = {};             // {}: no process has said so
  } alarms_;
  std::atomic<bool> stops_{false};
  std::mutex mutex_;
  std::condition_variable changed_;
  Wait wait_;
  struct {
    uint64_t step = 0;
    std::string where, inputs;
  } place_;  // of this process
  struct {
    uint64_t failure = 0, doom = 0;
  } forgotten_;  // the last steps whose failures, and whose dooms, are forgotten
  Clock::time_point now_ = Clock::now();
  std::thread thread_;
};

}  // namespace tessera::mpi
