// The transport over MPI.
#pragma once
#include <mpi.h>

#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "mpi/combinations.h"
#include "mpi/datatypes.h"
#include "mpi/watch.h"
#include "runtime/transport.h"

namespace tessera::mpi {

class MpiTransport final : public runtime::Transport {
 public:
  // Uses duplicates of the communicator, so that no messages of others mix with these.
  MpiTransport(MPI_Comm communicator, runtime::StartOptions options);
  ~MpiTransport() override;

  int32_t process() const override { return process_; }
  int32_t processes() const override { return processes_; }
  int32_t AddRuns(const runtime::ByteRuns& runs) override;
  int32_t AddGroup(const std::vector<int32_t>& processes) override;
  int32_t AddCombine(plan::CombineFn combine, int64_t item) override;
  Ticket Start(const runtime::Shipment& shipment) override;
  void Poll() override;
  void Finish(Ticket ticket) override;
  void BeginRun(uint64_t call, std::string_view where, std::string_view inputs) override;
  void FailRun(const std::string& message) override;
  std::vector<uint64_t> GatherNumbers(uint64_t mine) override;
  std::vector<std::string> GatherTexts(std::string_view mine) override;
  [[noreturn]] void Abort(int status) override;

 private:
  static constexpr size_t kNotStarted = ~size_t{0};
  struct RequestNeed {
    Need need;
    size_t request = kNotStarted;
    bool cancels = false;  // the request receives a message, and can be cancelled
  };
  // Messages and combinations on their way.
  struct Going {
    std::vector<MPI_Request> requests;
    std::vector<RequestNeed> needs;
    int queued = 0;  // combinations
  };
  struct Queued {
    runtime::Combination combination;
    Ticket ticket;
    size_t first_need;  // of the ticket
  };
  struct Communicators {
    MPI_Comm messages, control;
  };

  template <class Move>
  void StartEach(std::span<const runtime::Parcel> parcels, bool receives, Going& going, Move move);
  void StartCombination(const runtime::Combination& combination, Going& going);
  // MPI pairs the collectives of a group in their order, whatever calls they are for. So the
  // combinations of a run wait until all processes of the group have agreed that they run the same
  // call.
  void Queue(const runtime::Combination& combination, Ticket ticket);
  void StartQueued();
  static std::vector<Need> NeedsOf(Going& going);
  // Cancels a receive if a message for another call has overtaken its message. Returns whether one
  // has.
  bool CancelOvertaken(Going& going);
  // Polls until done() holds. A long wait tells its needs to the watch.
  template <class Done, class SetNeeds>
  void Wait(Done done, SetNeeds set_needs);
  // Waits for a collective. `keeps` lives until it is complete, also if the wait ends by an error.
  void WaitForAll(MPI_Request request, uint32_t meeting, std::shared_ptr<void> keeps);
  // Appends the part of each process's text.
  void GatherParts(std::string_view mine, const std::vector<int>& counts, uint32_t meeting,
                   std::vector<std::string>& each);
  std::vector<uint64_t> NumbersOver(MPI_Comm communicator, uint64_t mine, uint32_t meeting);

  // Begins a run or a meeting. All processes count them alike.
  void BeginStep(std::string_view where, std::string_view inputs);
  void CheckThread() const;
  [[noreturn]] void ThrowAlarm();
  void Recover();
  Communicators Duplicate() const;

  MPI_Comm base_;  // the others are its duplicates
  Communicators now_;
  int process_ = 0, processes_ = 1;
  bool only_main_thread_ = false;
  bool crowded_ = false;  // there are more processes than cores on this host
  Datatypes datatypes_;
  Combinations combinations_;
  std::vector<Going> going_;  // by ticket
  std::vector<Ticket> free_;
  std::deque<Queued> queued_;  // in the order in which all processes start them
  struct Steps {
    uint64_t count = 0;
    // Of all messages of the run. Those for another call have another one, so they never match.
    int tag = 0;
    int largest_tag = 0;
    bool failed = false;  // the last one, here or on another process
    bool mixed = false;   // in the last one, processes make different calls
  } steps_;
  PeerWatch watch_;
};

}  // namespace tessera::mpi
