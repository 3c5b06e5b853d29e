// The transport over MPI.
#pragma once
#include <mpi.h>

#include <map>
#include <vector>

#include "runtime/transport.h"

namespace tessera::mpi {

class MpiTransport final : public runtime::Transport {
 public:
  // Uses a duplicate of the communicator, so that no messages of others mix with these.
  explicit MpiTransport(MPI_Comm communicator);
  ~MpiTransport() override;

  int32_t process() const override { return process_; }
  int32_t processes() const override { return processes_; }
  int32_t AddRuns(const runtime::Runs& runs) override;
  int32_t AddGroup(const std::vector<int32_t>& processes) override;
  int32_t AddCombine(plan::CombineFn combine, int64_t item) override;
  Ticket Start(const runtime::Shipment& shipment) override;
  void Poll() override;
  void Finish(Ticket ticket) override;
  std::vector<std::string> Gather(std::string_view text) override;
  [[noreturn]] void Abort(int status) override;

 private:
  template <class Move>
  void StartEach(std::span<const runtime::Parcel> parcels, std::vector<MPI_Request>& requests,
                 Move move);
  MPI_Datatype TypeOf(int64_t bytes);
  void StartCombination(const runtime::Combination& c, bool is_awaited,
                        std::vector<MPI_Request>& requests);

  MPI_Comm messages_, control_;
  int process_ = 0, processes_ = 1;
  struct Group {
    MPI_Comm communicator;
    int size;
  };
  struct Combine {
    MPI_Datatype element;
    MPI_Op op;
  };
  std::map<std::vector<int32_t>, int32_t> group_of_;
  std::vector<Group> groups_;
  std::map<std::pair<plan::CombineFn, int64_t>, int32_t> combine_of_;
  std::vector<Combine> combines_;
  std::map<runtime::Runs, int32_t> number_of_;
  std::map<int64_t, MPI_Datatype> large_;        // by contiguous bytes
  std::vector<MPI_Datatype> types_;              // by the number of AddRuns
  std::vector<std::vector<MPI_Request>> going_;  // by ticket; empty: the ticket is free
  std::vector<Ticket> free_;
};

}  // namespace tessera::mpi
