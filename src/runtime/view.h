// The place of a value's buffers, as the inner loops see it.
#pragma once
#include <cstddef>
#include <cstdint>

#include "base/ids.h"
#include "runtime/buffers.h"
#include "runtime/ids.h"

namespace tessera::runtime {

struct View {
  std::byte* base = nullptr;
  int64_t stride = 0;
  const int32_t* slots = nullptr;  // slot of each instance; null: slot i for instance i
  std::byte* at(int64_t instance) const {
    if (!slots) return base + stride * instance;
    const int32_t slot = slots[instance];
    return slot == kZeroSlot ? const_cast<std::byte*>(Zeros()) : base + stride * slot;
  }
};

// The views of a run, or of one of its workers. They are not owned.
class Views {
 public:
  explicit Views(base::IdVector<ViewId, View>& views)
      : first_(views.empty() ? nullptr : &views[ViewId{0}]) {}
  View& operator[](ViewId id) const { return first_[base::Number(id)]; }

 private:
  View* first_;
};

}  // namespace tessera::runtime
