// Moves parcels by messages between two processes, and texts by collectives.
#include "mpi/transport.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>

#include "base/at.h"

namespace tessera::mpi {
namespace {

// MPI counts in ints.
constexpr int64_t kMostBytes = 1 << 30;

}  // namespace

MpiTransport::MpiTransport(MPI_Comm communicator) {
  MPI_Comm_dup(communicator, &messages_);
  MPI_Comm_dup(communicator, &control_);
  MPI_Comm_rank(messages_, &process_);
  MPI_Comm_size(messages_, &processes_);
}

MpiTransport::~MpiTransport() {
  for (MPI_Datatype& type : types_) MPI_Type_free(&type);
  MPI_Comm_free(&messages_);
  MPI_Comm_free(&control_);
}

int32_t MpiTransport::AddRuns(const runtime::Runs& runs) {
  const auto [at, is_new] = number_of_.try_emplace(runs, static_cast<int32_t>(types_.size()));
  if (!is_new) return at->second;
  MPI_Datatype type;
  MPI_Type_contiguous(static_cast<int>(runs.run), MPI_BYTE, &type);
  for (size_t d = runs.extents.size(); d-- > 0;) {
    MPI_Datatype rows;
    MPI_Type_create_hvector(static_cast<int>(runs.extents[d]), 1, runs.strides[d], type, &rows);
    MPI_Type_free(&type);
    type = rows;
  }
  MPI_Type_commit(&type);
  types_.push_back(type);
  return at->second;
}

template <class Move>
void MpiTransport::StartEach(std::span<const runtime::Parcel> parcels,
                             std::vector<MPI_Request>& requests, Move move) {
  for (const runtime::Parcel& p : parcels) {
    if (p.runs >= 0) {
      move(p.data, 1, base::At(types_, p.runs), p.process, &requests.emplace_back());
      continue;
    }
    for (int64_t at = 0; at < p.bytes; at += kMostBytes) {
      const int count = static_cast<int>(std::min(p.bytes - at, kMostBytes));
      move(p.data + at, count, MPI_BYTE, p.process, &requests.emplace_back());
    }
  }
}

runtime::Transport::Ticket MpiTransport::Start(std::span<const runtime::Parcel> receives,
                                               std::span<const runtime::Parcel> sends) {
  if (free_.empty()) {
    free_.push_back(static_cast<Ticket>(going_.size()));
    going_.emplace_back();
  }
  const Ticket ticket = free_.back();
  free_.pop_back();
  std::vector<MPI_Request>& requests = base::At(going_, ticket);
  StartEach(receives, requests,
            [&](void* data, int n, MPI_Datatype type, int from, MPI_Request* r) {
              MPI_Irecv(data, n, type, from, 0, messages_, r);
            });
  StartEach(sends, requests, [&](void* data, int n, MPI_Datatype type, int to, MPI_Request* r) {
    MPI_Isend(data, n, type, to, 0, messages_, r);
  });
  return ticket;
}

void MpiTransport::Finish(Ticket ticket) {
  std::vector<MPI_Request>& requests = base::At(going_, ticket);
  MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
  requests.clear();
  free_.push_back(ticket);
}

std::vector<std::string> MpiTransport::Gather(std::string_view text) {
  const auto count = base::Size(processes_);
  int size = static_cast<int>(text.size());
  std::vector<int> sizes(count), begins(count);
  MPI_Allgather(&size, 1, MPI_INT, sizes.data(), 1, MPI_INT, control_);
  std::exclusive_scan(sizes.begin(), sizes.end(), begins.begin(), 0);
  std::string all(base::Size(begins.back() + sizes.back()), '\0');
  MPI_Allgatherv(text.data(), size, MPI_CHAR, all.data(), sizes.data(), begins.data(), MPI_CHAR,
                 control_);
  std::vector<std::string> texts;
  for (size_t p = 0; p < count; ++p)
    texts.push_back(all.substr(base::Size(begins[p]), base::Size(sizes[p])));
  return texts;
}

void MpiTransport::Abort(int status) {
  MPI_Abort(messages_, status);
  std::_Exit(status);
}

}  // namespace tessera::mpi
