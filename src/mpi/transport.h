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
  Ticket Start(std::span<const runtime::Parcel> receives,
               std::span<const runtime::Parcel> sends) override;
  void Finish(Ticket ticket) override;
  std::vector<std::string> Gather(std::string_view text) override;
  [[noreturn]] void Abort(int status) override;

 private:
  template <class Move>
  void StartEach(std::span<const runtime::Parcel> parcels, std::vector<MPI_Request>& requests,
                 Move move);

  MPI_Comm messages_, control_;
  int process_ = 0, processes_ = 1;
  std::map<runtime::Runs, int32_t> number_of_;
  std::vector<MPI_Datatype> types_;              // by the number of AddRuns
  std::vector<std::vector<MPI_Request>> going_;  // by ticket; empty: the ticket is free
  std::vector<Ticket> free_;
};

}  // namespace tessera::mpi
