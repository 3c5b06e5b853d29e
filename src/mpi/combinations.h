// Groups of processes, and the functions by which they combine elements.
#pragma once
#include <mpi.h>

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "plan/plan.h"

namespace tessera::mpi {

class Combinations {
 public:
  struct Group {
    std::vector<int32_t> processes;
    MPI_Comm communicator;
  };
  struct CombineType {
    MPI_Datatype element;
    int item;  // bytes of an element
    MPI_Op op;
  };

  Combinations() = default;
  ~Combinations();
  Combinations(const Combinations&) = delete;

  // Return the number of a group, and of a function. All processes of a group add it, in one order.
  int32_t AddGroup(const std::vector<int32_t>& processes, MPI_Comm all);
  int32_t AddFunction(plan::CombineFn combine, int64_t item);
  const Group& GroupAt(int32_t number) const { return groups_[static_cast<size_t>(number)]; }
  const CombineType& FunctionAt(int32_t number) const {
    return functions_[static_cast<size_t>(number)];
  }
  // Gives all groups new communicators, since messages of a failed run are on the old ones.
  void Renew(MPI_Comm all);

 private:
  std::map<std::vector<int32_t>, int32_t> number_of_group_;
  std::vector<Group> groups_;
  std::map<std::pair<plan::CombineFn, int64_t>, int32_t> number_of_function_;
  std::vector<CombineType> functions_;
};

}  // namespace tessera::mpi
