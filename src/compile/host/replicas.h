// Compares arrays that every process made by itself.
#pragma once
#include <vector>

#include "compile/host/concrete.h"

namespace tessera::compile {

// Scope: this thread runs a function of the user that only some processes call, so comparisons
// between processes are put off.
class OnOneProcess {
 public:
  OnOneProcess();
  ~OnOneProcess();
  OnOneProcess(const OnOneProcess&) = delete;

 private:
  bool outer_;
};
bool IsOnOneProcess();

// All processes call it with the inputs of a program that they run together. Compares those that
// each process made by itself, once for each array. Throws the same RuntimeError on every process
// if two processes have different elements.
void CompareReplicas(const std::vector<trace::ArrayRef>& inputs, Loc loc);

}  // namespace tessera::compile
