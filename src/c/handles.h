// HandleTable: numbers for objects that several threads may use and close.
#pragma once
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>

#include "c/guard.h"

namespace tessera::c {

// Returns a number that no handle of the process has had.
uint64_t NextHandle();
// Whether NextHandle has returned it.
bool WasHandle(uint64_t handle);

template <class T>
class HandleTable {
 public:
  // `noun` is the name of an object in errors: "program".
  explicit HandleTable(const char* noun) : noun_(noun) {}

  uint64_t Add(std::shared_ptr<T> object) {
    const std::lock_guard lock(mutex_);
    const uint64_t handle = NextHandle();
    objects_.emplace(handle, std::move(object));
    return handle;
  }
  // Returns the object. Throws if the handle is null, closed, or of something else.
  std::shared_ptr<T> At(uint64_t handle) const {
    const std::lock_guard lock(mutex_);
    const auto at = objects_.find(handle);
    if (at == objects_.end()) Fail(handle);
    return at->second;
  }
  // Same, and forgets the handle. The object is destroyed outside of the lock.
  std::shared_ptr<T> Take(uint64_t handle) {
    const std::lock_guard lock(mutex_);
    const auto at = objects_.find(handle);
    if (at == objects_.end()) Fail(handle);
    std::shared_ptr<T> object = std::move(at->second);
    objects_.erase(at);
    return object;
  }

 private:
  [[noreturn]] void Fail(uint64_t handle) const {
    const std::string noun(noun_);
    if (handle == 0) throw ArgumentError("the " + noun + " is 0, which is no handle");
    const std::string number = std::to_string(handle);
    throw ArgumentError(WasHandle(handle)
                            ? "the handle " + number + " is closed, or not of a " + noun
                            : number + " is no handle");
  }

  const char* noun_;
  mutable std::mutex mutex_;
  std::unordered_map<uint64_t, std::shared_ptr<T>> objects_;
};

}  // namespace tessera::c
