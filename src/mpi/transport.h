// The transport over MPI.
#pragma once
#include <mpi.h>

#include <functional>
#include <map>
#include <vector>

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
  int32_t AddRuns(const runtime::Runs& runs) override;
  int32_t AddGroup(const std::vector<int32_t>& processes) override;
  int32_t AddCombine(plan::CombineFn combine, int64_t item) override;
  Ticket Start(const runtime::Shipment& shipment) override;
  void Poll() override;
  void Finish(Ticket ticket) override;
  void BeginRun() override;
  void FailRun(const std::string& message) override;
  std::vector<uint64_t> GatherNumbers(uint64_t mine) override;
  std::vector<std::string> GatherTexts(std::string_view mine) override;
  [[noreturn]] void Abort(int status) override;

 private:
  struct RequestNeed {
    Need need;
    size_t request = 0;
    bool cancels = false;  // the request receives a message, and can be cancelled
  };
  // Messages and combinations on their way.
  struct Going {
    std::vector<MPI_Request> requests;
    std::vector<RequestNeed> needs;
  };
  struct Group {
    std::vector<int32_t> processes;
    MPI_Comm communicator;
  };
  struct Combine {
    MPI_Datatype element;
    int item;
    MPI_Op op;
  };
  struct Communicators {
    MPI_Comm messages, control;
  };

  template <class Move>
  void StartEach(std::span<const runtime::Parcel> parcels, bool receives, Going& going, Move move);
  void StartCombination(const runtime::Combination& combination, Going& going);
  MPI_Datatype TypeOf(int64_t bytes);
  // Polls until done() holds. A long wait tells its needs to the watch.
  template <class Done, class SetNeeds>
  void Wait(Done done, SetNeeds set_needs);
  // Waits for a collective. `keeps` lives until it is complete, also if the wait ends by an error.
  void WaitForAll(MPI_Request request, uint32_t meeting, std::shared_ptr<void> keeps);
  std::vector<uint64_t> NumbersOver(MPI_Comm communicator, uint64_t mine, uint32_t meeting);

  // Begins a run or a meeting. All processes count them alike.
  void BeginStep();
  void CheckThread() const;
  [[noreturn]] void ThrowAlarm();
  void Recover();
  Communicators Duplicate() const;
  MPI_Comm CommunicatorOf(const std::vector<int32_t>& processes) const;

  MPI_Comm base_;  // the others are its duplicates
  Communicators now_;
  int process_ = 0, processes_ = 1;
  bool only_main_thread_ = false;
  bool crowded_ = false;  // there are more processes than cores on this host
  std::map<std::vector<int32_t>, int32_t> group_of_;
  std::vector<Group> groups_;
  std::map<std::pair<plan::CombineFn, int64_t>, int32_t> combine_of_;
  std::vector<Combine> combines_;
  std::map<int64_t, MPI_Datatype> large_;  // by contiguous bytes
  std::map<runtime::Runs, int32_t> number_of_;
  std::vector<MPI_Datatype> types_;  // by the number of AddRuns
  std::vector<Going> going_;         // by ticket
  std::vector<Ticket> free_;
  struct Steps {
    uint64_t count = 0;
    bool failed = false;  // the last one, here or on another process
  } steps_;
  PeerWatch watch_;
};

}  // namespace tessera::mpi
