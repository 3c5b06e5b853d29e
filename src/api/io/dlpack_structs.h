// The structs of DLPack 1.1 (https://github.com/dmlc/dlpack, include/dlpack/dlpack.h), whose layout
// is stable within a major version. They are declared here so that no package is needed to build;
// the names outside of the namespace are those that DLPack's own header gives.
#pragma once
#include <cstdint>

namespace tessera::dlpack {

enum DeviceType : int32_t { kCpu = 1 };
enum DlCode : uint8_t {
  kInt = 0,
  kUInt = 1,
  kFloat = 2,
  kBFloat = 4,
  kComplex = 5,
  kBool = 6,
  kF8E3M4 = 7,
  kF8E4M3 = 8,
  kF8E4M3B11FNUZ = 9,
  kF8E4M3FN = 10,
  kF8E4M3FNUZ = 11,
  kF8E5M2 = 12,
  kF8E5M2FNUZ = 13,
};
inline constexpr uint32_t kMajor = 1, kMinor = 1;
inline constexpr uint64_t kReadOnly = 1, kIsCopied = 2;
inline constexpr uint64_t kPadded = 4;  // elements of less than a byte take a byte each

struct Device {
  int32_t type, id;
};
struct DataType {
  uint8_t code, bits;
  uint16_t lanes;
};
struct DlTensor {
  void* data;
  Device device;
  int32_t ndim;
  DataType dtype;
  int64_t *shape, *strides;  // in elements; no strides: row-major
  uint64_t byte_offset;
};

}  // namespace tessera::dlpack

struct DLManagedTensor {
  tessera::dlpack::DlTensor dl_tensor;
  void* manager_ctx;
  void (*deleter)(DLManagedTensor* self);
};
struct DLManagedTensorVersioned {
  struct {
    uint32_t major, minor;
  } version;
  void* manager_ctx;
  void (*deleter)(DLManagedTensorVersioned* self);
  uint64_t flags;
  tessera::dlpack::DlTensor dl_tensor;
};
