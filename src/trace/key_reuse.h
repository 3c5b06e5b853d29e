// Random keys that were used up, while a KeyReuseCheck is open on this thread.
#pragma once
#include "trace/array.h"

namespace tessera::trace {

// A use of parameter `input` of a traced function, or of an outside array that it captured.
struct KeyUse {
  size_t input = 0;
  KeptArray captured = nullptr;
  std::string op = {};
  Loc loc = Loc::Unknown();
};

bool ChecksKeyReuse();

class KeyChecker;
// Scope: no key is used up. Functions that are traced only for their types or costs are traced in
// it.
class UsesNoKeysScope {
 public:
  UsesNoKeysScope();
  ~UsesNoKeysScope();
  UsesNoKeysScope(const UsesNoKeysScope&) = delete;

 private:
  KeyChecker* const old_;
};

// Records that the function `op` uses up a key, or all keys of an array. Throws TraceError if one
// was used up before, or is used up in each iteration of a loop. Does nothing while no check is
// open.
void UseUpKey(const ArrayRef& key, const char* op, Loc loc);
// Records the uses of a function's parameters for the arguments of a call.
void UseUpKeys(const std::vector<KeyUse>& uses, const std::vector<ArrayRef>& arguments);

// Returns the uses of a trace's inputs and of concrete arrays. Call it before the program is taken.
std::vector<KeyUse> KeyUsesOf(Trace& trace);

// Throws TraceError if a loop body uses up a key and carries it on unchanged.
void CheckCarriedKeys(const std::vector<KeyUse>& uses, const ir::Program& body);

}  // namespace tessera::trace
