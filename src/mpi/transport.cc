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
constexpr int64_t kMostElements = 1 << 27;

// MPI passes no context to a function that combines, so there is a function for each one.
constexpr int kFunctions = 128;
plan::CombineFn combine_functions[kFunctions];
int used_functions = 0;

template <int kAt>
void CombineInto(void* in, void* inout, int* n, MPI_Datatype*) {
  const std::byte* sources[] = {static_cast<const std::byte*>(in),
                                static_cast<const std::byte*>(inout)};
  combine_functions[kAt](sources, 2, static_cast<std::byte*>(inout), *n, /*stream=*/false);
}

template <int... kAt>
MPI_User_function* FunctionAt(int at, std::integer_sequence<int, kAt...>) {
  static constexpr MPI_User_function* kFunction[] = {CombineInto<kAt>...};
  return kFunction[at];
}

MPI_User_function* FunctionFor(plan::CombineFn combine) {
  for (int at = 0; at < kFunctions; ++at) {
    if (at == used_functions) combine_functions[used_functions++] = combine;
    if (combine_functions[at] == combine)
      return FunctionAt(at, std::make_integer_sequence<int, kFunctions>());
  }
  std::abort();
}

}  // namespace

MpiTransport::MpiTransport(MPI_Comm communicator) {
  MPI_Comm_dup(communicator, &messages_);
  MPI_Comm_dup(communicator, &control_);
  MPI_Comm_rank(messages_, &process_);
  MPI_Comm_size(messages_, &processes_);
}

MpiTransport::~MpiTransport() {
  for (MPI_Datatype& type : types_) MPI_Type_free(&type);
  for (auto& [bytes, type] : large_) MPI_Type_free(&type);
  for (Combine& combine : combines_) {
    MPI_Type_free(&combine.element);
    MPI_Op_free(&combine.op);
  }
  for (Group& group : groups_) MPI_Comm_free(&group.communicator);
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

// Returns the type of contiguous bytes that are too many to count.
MPI_Datatype MpiTransport::TypeOf(int64_t bytes) {
  const auto [at, is_new] = large_.try_emplace(bytes);
  if (!is_new) return at->second;
  const auto blocks = static_cast<int>(bytes / kMostBytes);
  MPI_Datatype block, parts[2];
  MPI_Type_contiguous(static_cast<int>(kMostBytes), MPI_BYTE, &block);
  MPI_Type_contiguous(blocks, block, &parts[0]);
  MPI_Type_contiguous(static_cast<int>(bytes % kMostBytes), MPI_BYTE, &parts[1]);
  const int counts[] = {1, 1};
  const MPI_Aint begins[] = {0, blocks * kMostBytes};
  MPI_Type_create_struct(2, counts, begins, parts, &at->second);
  MPI_Type_commit(&at->second);
  for (MPI_Datatype* type : {&block, &parts[0], &parts[1]}) MPI_Type_free(type);
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
    if (p.bytes > kMostBytes)
      move(p.data, 1, TypeOf(p.bytes), p.process, &requests.emplace_back());
    else
      move(p.data, static_cast<int>(p.bytes), MPI_BYTE, p.process, &requests.emplace_back());
  }
}

int32_t MpiTransport::AddGroup(const std::vector<int32_t>& processes) {
  const auto [at, is_new] = group_of_.try_emplace(processes, static_cast<int32_t>(groups_.size()));
  if (!is_new) return at->second;
  MPI_Group all, some;
  MPI_Comm_group(messages_, &all);
  MPI_Group_incl(all, static_cast<int>(processes.size()), processes.data(), &some);
  MPI_Comm communicator;
  MPI_Comm_create_group(messages_, some, /*tag=*/0, &communicator);
  MPI_Group_free(&all);
  MPI_Group_free(&some);
  groups_.push_back({communicator, static_cast<int>(processes.size())});
  return at->second;
}

int32_t MpiTransport::AddCombine(plan::CombineFn combine, int64_t item) {
  const auto [at, is_new] =
      combine_of_.try_emplace({combine, item}, static_cast<int32_t>(combines_.size()));
  if (!is_new) return at->second;
  Combine made;
  MPI_Type_contiguous(static_cast<int>(item), MPI_BYTE, &made.element);
  MPI_Type_commit(&made.element);
  MPI_Op_create(FunctionFor(combine), /*commute=*/1, &made.op);
  combines_.push_back(made);
  return at->second;
}

void MpiTransport::StartCombination(const runtime::Combination& c, bool is_awaited,
                                    std::vector<MPI_Request>& requests) {
  const Group& group = base::At(groups_, c.group);
  const auto& [element, op] = base::At(combines_, c.combine);
  for (int64_t at = 0, n = 0; at < c.elements; at += n) {
    // A scatter is one call: its parts follow each other.
    n = c.scatters ? c.elements : std::min(c.elements - at, kMostElements);
    const int count = static_cast<int>(n);
    int item = 0;
    MPI_Type_size(element, &item);
    const std::byte* from = c.from + at * item;
    std::byte* to = c.to + at * item;
    if (is_awaited) {
      c.scatters ? MPI_Reduce_scatter_block(from, to, count, element, op, group.communicator)
                 : MPI_Allreduce(from, to, count, element, op, group.communicator);
      continue;
    }
    MPI_Request* request = &requests.emplace_back();
    c.scatters
        ? MPI_Ireduce_scatter_block(from, to, count, element, op, group.communicator, request)
        : MPI_Iallreduce(from, to, count, element, op, group.communicator, request);
  }
}

runtime::Transport::Ticket MpiTransport::Start(const runtime::Shipment& shipment) {
  if (free_.empty()) {
    free_.push_back(static_cast<Ticket>(going_.size()));
    going_.emplace_back();
  }
  const Ticket ticket = free_.back();
  free_.pop_back();
  std::vector<MPI_Request>& requests = base::At(going_, ticket);
  StartEach(shipment.receives, requests,
            [&](void* data, int n, MPI_Datatype type, int from, MPI_Request* r) {
              MPI_Irecv(data, n, type, from, 0, messages_, r);
            });
  StartEach(shipment.sends, requests,
            [&](void* data, int n, MPI_Datatype type, int to, MPI_Request* r) {
              MPI_Isend(data, n, type, to, 0, messages_, r);
            });
  for (const runtime::Combination& c : shipment.combinations)
    StartCombination(c, shipment.is_awaited, requests);
  return ticket;
}

void MpiTransport::Poll() {
  int flag = 0;
  MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, control_, &flag, MPI_STATUS_IGNORE);
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
