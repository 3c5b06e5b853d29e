// Compares arrays that several processes made by themselves.
#pragma once
#include <cstdint>
#include <vector>

#include "compile/host/concrete.h"

namespace tessera::compile {

// The other processes while this one runs a function of the user.
enum class Others : uint8_t {
  kRun,      // they make the same calls
  kMayCall,  // they may call the function too, or go on
  kWait      // they wait until it returns
};
// Scope: this thread runs a function of the user that only some processes call, so comparisons
// between processes are put off.
class OnOneProcess {
 public:
  explicit OnOneProcess(Others others = Others::kMayCall);
  ~OnOneProcess();
  OnOneProcess(const OnOneProcess&) = delete;

 private:
  Others outer_;
};
bool IsOnOneProcess();
// Whether the others wait, so that nothing that needs them can run.
bool OthersWait();
// Throws the error for something that needs them.
[[noreturn]] void FailTurn(const char* op, Loc loc);

// All processes call it with the inputs of a program that they run together. Compares those that
// processes made by themselves, once for each array. Throws the same RuntimeError on every process
// if two processes have different elements.
void CompareReplicas(const std::vector<trace::ArrayRef>& inputs, Loc loc);

}  // namespace tessera::compile
