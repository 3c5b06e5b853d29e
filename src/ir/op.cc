// The registry of ops by name.
#include "ir/op.h"

#include <absl/container/flat_hash_map.h>

#include <mutex>

#include "base/fork.h"

namespace tessera::ir {
namespace {
absl::Span<const OpDef* const> installed;
absl::flat_hash_map<std::string_view, const OpDef*>& ByName() {
  static auto* map = new absl::flat_hash_map<std::string_view, const OpDef*>;
  return *map;
}
// Users may add ops from any thread.
std::mutex& Mutex() {
  static auto& mutex = base::NewForkMutex();
  return mutex;
}
}  // namespace

void InstallOps(absl::Span<const OpDef* const> ops) {
  const std::lock_guard lock(Mutex());
  installed = ops;
  for (const OpDef* op : ops) ByName().emplace(op->name, op);
}
void AddOp(const OpDef* op) {
  const std::lock_guard lock(Mutex());
  ByName().emplace(op->name, op);
}
const OpDef* FindOp(std::string_view name) {
  const std::lock_guard lock(Mutex());
  auto it = ByName().find(name);
  return it == ByName().end() ? nullptr : it->second;
}
absl::Span<const OpDef* const> AllOps() { return installed; }

}  // namespace tessera::ir
