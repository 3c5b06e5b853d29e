// The interface to other processes. A library of its own, tessera_mpi, implements it.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "plan/plan.h"
#include "tessera/visibility.h"

namespace tessera {
namespace TESSERA_PUBLIC runtime {

// Memory in runs: `run` contiguous bytes for each index of the dims, outer dim first. Strides are
// in bytes, and may be negative.
struct ByteRuns {
  std::vector<int64_t> extents, strides;
  int64_t run = 0;
  friend auto operator<=>(const ByteRuns&, const ByteRuns&) = default;
};

// Bytes that go to another process, or come from it.
struct Parcel {
  int32_t process = 0;  // the other one
  std::byte* data = nullptr;
  int64_t bytes = 0;
  int32_t runs = -1;  // from Transport::AddRuns; -1: `bytes` contiguous bytes
  // Whether the other process has as many contiguous bytes, so that they may be several messages.
  bool splits = false;
};

// Elements that the processes of a group combine.
struct Combination {
  int32_t group = 0;    // from Transport::AddGroup
  int32_t combine = 0;  // from Transport::AddCombine
  const std::byte* from = nullptr;
  std::byte* to = nullptr;
  int64_t elements = 0;   // in `to`
  bool scatters = false;  // `from` has as many for each process of the group, in their order
};

// Bytes and elements that start together.
struct Shipment {
  std::span<const Parcel> receives = {}, sends = {};
  std::span<const Combination> combinations = {};
};

// Moves bytes between the processes. One thread at a time uses it, and all processes start their
// parcels in one order.
class Transport {
 public:
  virtual ~Transport() = default;
  virtual int32_t process() const = 0;    // 0 .. processes() - 1
  virtual int32_t processes() const = 0;  // at least 2

  // Returns the number of this pattern of memory. It is valid for ever.
  virtual int32_t AddRuns(const ByteRuns& runs) = 0;
  // Returns the number of a group of processes, ascending, which has this one. All of them call it,
  // in one order.
  virtual int32_t AddGroup(const std::vector<int32_t>& processes) = 0;
  // Returns the number of a function that combines elements of `item` bytes. It may write to a
  // source, and is associative and commutative but for rounding.
  virtual int32_t AddCombine(plan::CombineFn combine, int64_t item) = 0;

  // Starts to receive, to send and to combine. The bytes must stay until Finish. Parcels from one
  // process to another arrive in the order in which they were sent.
  using Ticket = int64_t;
  virtual Ticket Start(const Shipment& shipment) = 0;
  // Makes progress with everything that has started. Cheap.
  virtual void Poll() = 0;
  // Waits until all parcels have arrived, and those sent may be overwritten.
  virtual void Finish(Ticket ticket) = 0;

  // All processes call it: returns the text that each process gave, by its number. Throws the same
  // RuntimeError on every process if one of them meets the others elsewhere; see Meet.
  std::vector<std::string> Gather(std::string_view text);

  // Begins a run of a program that several processes run together. `call` is a hash of the program
  // and the user's line `where`; `inputs` are the types of its inputs. Throws RuntimeError if a run
  // has failed on another process. Finish throws it if another process exchanges bytes for another
  // call.
  virtual void BeginRun(uint64_t call, std::string_view where, std::string_view inputs) = 0;
  // Tells the others that the current run has failed here. Waits of other processes throw then.
  virtual void FailRun(const std::string& message) = 0;
  // Ends all processes. Writes nothing.
  [[noreturn]] virtual void Abort(int status) = 0;

  // All processes call these. They return the value of each process, by its number. Meet and Gather
  // call them, which check that all processes are at the same place.
  virtual std::vector<uint64_t> GatherNumbers(uint64_t mine) = 0;
  virtual std::vector<std::string> GatherTexts(std::string_view mine) = 0;
};

// Scope: describes the work of this thread in case that it waits for other processes. Scopes nest.
class Waiting {
 public:
  Waiting(const Waiting&) = delete;
  // Returns "all_reduce at model.cc:12, in the program called at train.cc:30": the scopes of this
  // thread, innermost first.
  static std::string Text();

 protected:
  Waiting();
  ~Waiting();

 private:
  virtual std::string Describe() const = 0;
  const Waiting* outer_;
};
// WaitingFor waiting([&] { return "all_reduce at model.cc:12"; });
template <class F>
class [[nodiscard]] WaitingFor final : public Waiting {
 public:
  explicit WaitingFor(F describe) : describe_(std::move(describe)) {}

 private:
  std::string Describe() const override { return describe_(); }
  F describe_;
};

struct StartOptions {
  // How long processes wait for each other, or for one that does not answer, before this is an
  // error. 0: for ever.
  double stall_seconds = 0;
};
// A transport, or the reason why there is none.
struct Started {
  std::unique_ptr<Transport> transport = nullptr;  // null: there is one process
  std::string error = {}, hint = {};
};

// Starts and stops a transport.
struct Launcher {
  // Joins the processes that were started together. Takes the launcher's own arguments out.
  Started (*start)(int* argc, char*** argv, StartOptions options);
  // Joins the processes of an MPI_Comm.
  Started (*start_on)(const void* communicator, StartOptions options);
  // Leaves the others, after all have met for the last time.
  void (*stop)(std::unique_ptr<Transport> transport);
};
// Returns the launcher, or null if the program is linked with none.
const Launcher* TheLauncher();
void InstallLauncher(const Launcher* launcher);

// Returns the transport, or null if there is one process.
Transport* TheTransport();
// Sets the transport, or removes it (null). Returns the one before.
std::unique_ptr<Transport> SetTransport(std::unique_ptr<Transport> transport);

}  // namespace runtime
}  // namespace tessera
