// Arrays on devices.
#pragma once
#include "api/operands.h"
#include "runtime/runtime.h"
#include "trace/array.h"

namespace tessera::api {

class Concrete final : public trace::ConcreteArray {
 public:
  Concrete(const ir::Type* type, const ir::Type* placed, Loc loc, runtime::Buffers buffers,
           bool shares)
      : ConcreteArray(type, placed, loc), buffers(std::move(buffers)), shares_(shares) {}
  bool shares_replicas() const override { return shares_; }
  runtime::Buffers buffers;

 private:
  bool shares_;
};

// Returns the array's elements on devices. Throws TraceError for arrays that have none: traced,
// abstract, donated, never given a value.
const Concrete& OnDevices(const Array& x, Call call);
// Returns one device's part after the other.
std::vector<Shard> ShardsOf(const Array& x, Call call);

// Returns the instance of a value of this type that a device (by mesh position) holds.
int32_t InstanceAt(const Concrete& array, int64_t position);

// Whether new programs let devices with equal bits share buffers.
bool SharesReplicas();

// Returns the type on the mesh without modes.
const ir::Type* WithoutModes(const ir::Type* type);
// Returns the array with its complete layout as its type: the same buffers.
std::shared_ptr<const Concrete> AsPlaced(std::shared_ptr<const Concrete> array);

// Returns a new array with one uninitialised instance: `type` is unsharded.
std::shared_ptr<Concrete> NewWhole(const ir::Type* type, Loc loc);

}  // namespace tessera::api
