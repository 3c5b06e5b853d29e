// Keeps the names for the life of the process, as programs are kept by caches.
#include "ir/differentiated.h"

#include <absl/algorithm/container.h>

#include <map>
#include <string_view>
#include <utility>

#include "base/fork.h"
#include "base/mutex.h"

namespace tessera::ir {
namespace {

using Line = std::pair<std::string_view, int>;  // paths of files live as long as the process

struct Noted {
  Noted() { base::HoldOverFork(mutex); }
  base::Mutex mutex;
  std::map<Line, std::vector<std::string>> names ABSL_GUARDED_BY(mutex);
};

Noted& AllNoted() {
  static Noted& noted = *new Noted;
  return noted;
}

}  // namespace

bool ComputesElements(const OpDef& op) {
  return !std::holds_alternative<AsBroadcast>(*op.lowering) &&
         !std::holds_alternative<AsView>(*op.lowering);
}

void NoteDerivative(const OpDef& op, Loc loc) {
  if (!ComputesElements(op)) return;
  Noted& noted = AllNoted();
  const base::MutexLock lock(noted.mutex);
  std::vector<std::string>& names = noted.names[{loc.file(), loc.line()}];
  if (!absl::c_linear_search(names, op.name)) names.emplace_back(op.name);
}

std::vector<std::string> DifferentiatedAt(Loc loc) {
  Noted& noted = AllNoted();
  const base::MutexLock lock(noted.mutex);
  const auto found = noted.names.find({loc.file(), loc.line()});
  return found == noted.names.end() ? std::vector<std::string>() : found->second;
}

}  // namespace tessera::ir
