// Which keys of random numbers were used up, while a KeyReuseCheck is open on this thread.
#pragma once
#include "trace/array.h"

namespace tessera::trace {

// A use of what a traced function got: of its parameter `input`, or of an array of the outside.
struct KeyUse {
  size_t input = 0;
  KeptArray captured = nullptr;
  std::string op = {};
  Loc loc = Loc::Unknown();
};

bool ChecksKeyReuse();

// Notes that the function `op` uses up a key, or all keys of an array. Throws TraceError if one was
// used up before, or if a loop does so in each iteration. Does nothing while no check is open.
void UseUpKey(const ArrayRef& key, const char* op, Loc loc);
// The same of what a function did with its parameters, for the arrays that it is called with.
void UseUpKeys(const std::vector<KeyUse>& uses, const std::vector<ArrayRef>& arguments);

// Returns the uses of a trace's inputs, and of arrays on devices; before its program is taken.
std::vector<KeyUse> KeyUsesOf(Trace& trace);

// Throws TraceError if a loop's body uses up a key that it carries on unchanged.
void CheckCarriedKeys(const std::vector<KeyUse>& uses, const ir::Program& body);

}  // namespace tessera::trace
