// Makes communicators of groups, and MPI functions of combine functions.
#include "mpi/combinations.h"

#include <cstdlib>
#include <utility>

namespace tessera::mpi {
namespace {

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

MPI_Comm CommunicatorOf(const std::vector<int32_t>& processes, MPI_Comm of) {
  MPI_Group all, some;
  MPI_Comm_group(of, &all);
  MPI_Group_incl(all, static_cast<int>(processes.size()), processes.data(), &some);
  MPI_Comm communicator;
  MPI_Comm_create_group(of, some, /*tag=*/0, &communicator);
  MPI_Group_free(&all);
  MPI_Group_free(&some);
  return communicator;
}

}  // namespace

Combinations::~Combinations() {
  for (CombineType& function : functions_) {
    MPI_Type_free(&function.element);
    MPI_Op_free(&function.op);
  }
  for (Group& group : groups_) MPI_Comm_free(&group.communicator);
}

int32_t Combinations::AddGroup(const std::vector<int32_t>& processes, MPI_Comm all) {
  const auto [at, is_new] =
      number_of_group_.try_emplace(processes, static_cast<int32_t>(groups_.size()));
  if (is_new)
    groups_.push_back({.processes = processes, .communicator = CommunicatorOf(processes, all)});
  return at->second;
}

int32_t Combinations::AddFunction(plan::CombineFn combine, int64_t item) {
  const auto [at, is_new] =
      number_of_function_.try_emplace({combine, item}, static_cast<int32_t>(functions_.size()));
  if (!is_new) return at->second;
  CombineType made{.element = {}, .item = static_cast<int>(item), .op = {}};
  MPI_Type_contiguous(made.item, MPI_BYTE, &made.element);
  MPI_Type_commit(&made.element);
  MPI_Op_create(FunctionFor(combine), /*commute=*/1, &made.op);
  functions_.push_back(made);
  return at->second;
}

void Combinations::Greet(int32_t number, uint64_t step, int tag) {
  Group& group = groups_[static_cast<size_t>(number)];
  if (std::exchange(group.greeted, step) == step) return;
  Greeting& greeting = *group.greeting;
  greeting.own = {tag, ~tag};
  MPI_Iallreduce(greeting.own.data(), greeting.highest.data(), 2, MPI_INT, MPI_MAX,
                 group.communicator, &greeting.request);
}

Combinations::Answer Combinations::AnswerOf(int32_t number) {
  Greeting& greeting = *groups_[static_cast<size_t>(number)].greeting;
  if (greeting.request != MPI_REQUEST_NULL) {
    int is_complete = 0;
    MPI_Test(&greeting.request, &is_complete, MPI_STATUS_IGNORE);
    if (!is_complete) return Answer::kNone;
  }
  return greeting.own == greeting.highest ? Answer::kSameCall : Answer::kAnotherCall;
}

// In the order of the groups, which is the same on all processes.
void Combinations::Renew(MPI_Comm all) {
  for (const auto& [processes, number] : number_of_group_) {
    Group& group = groups_[static_cast<size_t>(number)];
    group.communicator = CommunicatorOf(processes, all);
    if (group.greeting->request == MPI_REQUEST_NULL) continue;
    group.greeting.release();  // MPI may still write to it
    group.greeting = std::make_unique<Greeting>();
  }
}

}  // namespace tessera::mpi
