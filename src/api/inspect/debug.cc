// Settings for debugging: shared replicas, NaN checks and the number of workers.
#include "tessera/debug.h"

#include "base/error.h"
#include "compile/checks/nan_watch.h"
#include "compile/host/concrete.h"
#include "runtime/run.h"
#include "trace/scopes.h"

namespace tessera {

void ReplicaSharing(bool on) { compile::SetSharesReplicas(on); }

NanWatch::NanWatch(NanWatchOptions options) : old_(static_cast<int>(compile::CurrentNanChecks())) {
  compile::SetNanChecks(options.infinities ? compile::NanChecks::kAll : compile::NanChecks::kNans);
}
NanWatch::~NanWatch() { compile::SetNanChecks(static_cast<compile::NanChecks>(old_)); }

void SetWorkerCount(int n, Loc loc) {
  if (n < 0)
    base::ThrowRuntime(
        base::Refusal("SetWorkerCount", 1, base::Where(loc),
                      "the number of workers must be 0 or more, not " + std::to_string(n),
                      {"give 1 or more, or 0 for one per core"}));
  if (trace::CurrentTrace())
    base::ThrowTrace(
        base::Refusal("SetWorkerCount", 2, base::Where(loc), "a function is being traced"));
  runtime::SetWorkerCount(n);
}

}  // namespace tessera
