// mpi CASE: programs that use MPI themselves, and faults of those; see check.sh.
#include <fmt/format.h>
#include <tessera/mpi.h>
#include <tessera/tessera.h>

#include <chrono>
#include <cstdio>
#include <functional>
#include <map>
#include <numeric>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

using namespace tessera;

namespace {

void Init(int level) {
  int provided = 0;
  MPI_Init_thread(nullptr, nullptr, level, &provided);
  if (provided < level) throw std::runtime_error("MPI does not support this level of threads");
}

int Rank() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}

// Sums over all processes.
void Compute() {
  SetDeviceCount(2 * process_count());
  const MeshScope mesh(make_mesh({{"x", DeviceCount()}}));
  const Array x = reshard(arange(24, {.dtype = f32}), P("x"));
  const float sums = sum(x * 2.0f).item<float>();
  if (sums != 552) throw std::logic_error("the sum is wrong");
}

// Computes while messages of the program's own are on their way, with the tag that Tessera uses.
void ComputeAmongMessages() {
  const int rank = Rank();
  int size = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  std::vector<int> in(1000), out(1000, rank);
  MPI_Request requests[2];
  MPI_Irecv(in.data(), 1000, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &requests[0]);
  Compute();
  MPI_Isend(out.data(), 1000, MPI_INT, (rank + 1) % size, 0, MPI_COMM_WORLD, &requests[1]);
  Compute();
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  const int sum_of_in = std::accumulate(in.begin(), in.end(), 0);
  if (sum_of_in != 1000 * ((rank + size - 1) % size))
    throw std::logic_error("another message arrived");
}

const std::map<std::string, std::function<void()>> kCases = {
    {"own_messages",
     [] {
       Init(MPI_THREAD_FUNNELED);
       {
         const MpiProcesses processes(MPI_COMM_WORLD);
         for (int i = 0; i < 20; ++i) ComputeAmongMessages();
       }
       MPI_Barrier(MPI_COMM_WORLD);  // still usable
       MPI_Finalize();
     }},
    {"initialised_before",
     [] {
       Init(MPI_THREAD_FUNNELED);
       {
         const Processes processes(nullptr, nullptr);
         Compute();
       }
       MPI_Barrier(MPI_COMM_WORLD);
       MPI_Finalize();
     }},
    {"some_processes",
     [] {
       Init(MPI_THREAD_FUNNELED);
       MPI_Comm two;
       const bool takes_part = Rank() != 1;
       MPI_Comm_split(MPI_COMM_WORLD, takes_part ? 0 : MPI_UNDEFINED, 0, &two);
       if (takes_part) {
         const MpiProcesses processes(two);
         Compute();
         fmt::print("{} of {}\n", process_index(), process_count());
       }
       MPI_Finalize();
     }},
    {"communicator_of_more",
     [] {
       Init(MPI_THREAD_FUNNELED);
       if (Rank() == 1) std::this_thread::sleep_for(std::chrono::seconds(20));
       const MpiProcesses processes(MPI_COMM_WORLD, {.stall_seconds = 2});
     }},
    {"other_thread_serialized",
     [] {
       Init(MPI_THREAD_SERIALIZED);
       {
         const MpiProcesses processes(MPI_COMM_WORLD);
         std::thread(Compute).join();
       }
       MPI_Finalize();
     }},
    {"other_thread",
     [] {
       Init(MPI_THREAD_FUNNELED);
       const MpiProcesses processes(MPI_COMM_WORLD);
       std::thread(Compute).join();
     }},
    {"not_initialised", [] { const MpiProcesses processes(MPI_COMM_WORLD); }},
    {"single_thread",
     [] {
       MPI_Init(nullptr, nullptr);
       const MpiProcesses processes(MPI_COMM_WORLD);
     }},
    {"finalised",
     [] {
       Init(MPI_THREAD_FUNNELED);
       MPI_Finalize();
       const MpiProcesses processes(MPI_COMM_WORLD);
     }},
    {"finalised_in_scope",
     [] {
       Init(MPI_THREAD_FUNNELED);
       const MpiProcesses processes(MPI_COMM_WORLD);
       MPI_Finalize();
       Compute();
     }},
    {"null_communicator",
     [] {
       Init(MPI_THREAD_FUNNELED);
       const MpiProcesses processes(MPI_COMM_NULL);
     }},
    {"targets_differ",  // run with TESSERA_TARGET on one process
     [] {
       const Processes processes(nullptr, nullptr);
       Compute();
     }},
};

}  // namespace

int main(int, char** argv) {
  try {
    kCases.at(argv[1])();
    return 0;
  } catch (const std::exception& e) {
    // As one write. The others end by it.
    const std::string text = fmt::format("{}\n", e.what());
    std::fputs(text.c_str(), stderr);
    return 1;
  }
}
