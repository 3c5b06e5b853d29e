// Groups of processes, and the functions by which they combine elements.
#pragma once
#include <mpi.h>

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "plan/plan.h"

namespace tessera::mpi {

class Combinations {
 public:
  // The tag of a call and its complement. All processes have the same tag if none has a higher one,
  // nor a higher complement.
  struct Greeting {
    std::array<int, 2> own, highest;
    MPI_Request request = MPI_REQUEST_NULL;
  };
  struct Group {
    std::vector<int32_t> processes;
    MPI_Comm communicator;
    uint64_t greeted = 0;  // the last step in which this process greeted the group
    std::unique_ptr<Greeting> greeting = std::make_unique<Greeting>();
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
  // Tells the group the tag of the call in which it combines elements, once in a step.
  void Greet(int32_t group, uint64_t step, int tag);
  enum class Answer : uint8_t { kNone, kSameCall, kAnotherCall };
  // Returns the answer to the last greeting: whether all processes of the group have the same tag.
  Answer AnswerOf(int32_t group);
  // Gives all groups new communicators, since messages of a failed run are on the old ones.
  void Renew(MPI_Comm all);

 private:
  std::map<std::vector<int32_t>, int32_t> number_of_group_;
  std::vector<Group> groups_;
  std::map<std::pair<plan::CombineFn, int64_t>, int32_t> number_of_function_;
  std::vector<CombineType> functions_;
};

}  // namespace tessera::mpi
