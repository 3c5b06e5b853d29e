// The MPI types of memory.
#pragma once
#include <mpi.h>

#include <cstdint>
#include <map>
#include <vector>

#include "runtime/transport.h"

namespace tessera::mpi {

// Types that are made once and freed together.
class Datatypes {
 public:
  Datatypes() = default;
  ~Datatypes();
  Datatypes(const Datatypes&) = delete;

  // Returns the number of the type of memory in runs.
  int32_t Add(const runtime::ByteRuns& runs);
  MPI_Datatype At(int32_t number) const { return of_runs_[static_cast<size_t>(number)]; }
  // Returns the type of contiguous bytes that are too many to count.
  MPI_Datatype OfBytes(int64_t bytes);

 private:
  std::map<runtime::ByteRuns, int32_t> number_of_;
  std::vector<MPI_Datatype> of_runs_;
  std::map<int64_t, MPI_Datatype> of_bytes_;
};

// MPI counts in ints.
inline constexpr int64_t kMostBytes = 1 << 30;

}  // namespace tessera::mpi
