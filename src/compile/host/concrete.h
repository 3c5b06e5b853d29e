// Arrays on devices.
#pragma once
#include <atomic>
#include <exception>
#include <memory>

#include "base/error.h"
#include "plan/localise/localise.h"
#include "runtime/buffers.h"
#include "trace/array.h"

namespace tessera::compile {

class Concrete : public trace::ConcreteArray {
 public:
  Concrete(const ir::Type* type, const ir::Type* placed, Loc loc, runtime::Buffers buffers,
           bool shares)
      : ConcreteArray(type, placed, loc), buffers(std::move(buffers)), shares_(shares) {}
  // The same value with another type.
  Concrete(const ir::Type* type, const ir::Type* placed, const Concrete& same)
      : Concrete(type, placed, same.loc(), same.buffers, same.shares_) {
    may_differ_ = same.may_differ_;
  }
  bool shares_replicas() const override { return shares_; }
  // Whether several processes made the same elements, each from its own memory, so that they may
  // differ, and no one has compared them.
  bool may_differ() const { return may_differ_ && may_differ_->load(std::memory_order_relaxed); }
  void SetMayDiffer() { may_differ_ = std::make_shared<std::atomic<bool>>(true); }
  // Concerns all arrays of this value.
  void SetCompared() {
    if (may_differ_) may_differ_->store(false, std::memory_order_relaxed);
  }
  runtime::Buffers buffers;

 private:
  bool shares_;
  std::shared_ptr<std::atomic<bool>> may_differ_;  // null: no
};

// Returns for each position in the mesh the instance that its device holds, or kElsewhere if
// another process hosts the device.
using plan::kElsewhere;
std::vector<int32_t> InstancesByPosition(const Concrete& array);
// Returns the number of instances in an array of this place that this process has.
int32_t InstancesHere(const ir::Type& place, bool shares);

// Marks the arrays that have parts on other processes, which run on their own from now on.
void LoseParts();

// Whether new programs let devices with equal bits share buffers.
bool SharesReplicas();
void SetSharesReplicas(bool on);

// Returns the type on the mesh without modes.
const ir::Type* WithoutModes(const ir::Type* type);
// Returns an array with the same buffers, whose type is the complete place.
std::shared_ptr<const Concrete> AsPlaced(std::shared_ptr<const Concrete> array);

// Returns a new array with one uninitialised instance, which each process fills by itself. `type`
// must be unsharded.
std::shared_ptr<Concrete> NewWhole(const ir::Type* type, Loc loc);

// Returns an array of one instance over memory of others, which nothing writes to. All devices of
// `placed`, which is unsharded, share it. Kernels need elements that are aligned to their size.
std::shared_ptr<Concrete> NewShared(const ir::Type* type, const ir::Type* placed, Loc loc,
                                    std::shared_ptr<const std::byte> data);

// Calls f. Errors of the runtime name no source line, so `loc` is added to them.
template <class F>
auto CallAtLine(Loc loc, F f) {
  try {
    return f();
  } catch (const RuntimeError& e) {
    ErrorDetail detail = e.detail();
    if (detail.where.empty()) detail.where = base::Where(loc);
    auto* nested = dynamic_cast<const std::nested_exception*>(&e);
    if (!nested || !nested->nested_ptr()) throw RuntimeError(std::move(detail));
    try {
      nested->rethrow_nested();
    } catch (...) {
      std::throw_with_nested(RuntimeError(std::move(detail)));
    }
  }
}

}  // namespace tessera::compile
