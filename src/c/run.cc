// The functions of the C interface that run programs.
#include <tessera/ops.h>
#include <tessera/processes.h>

#include <limits>
#include <shared_mutex>

#include "c/loaded.h"

namespace tessera::c {
namespace {

static_assert(TESSERA_BOOL == int{DType::kBool} && TESSERA_I2 == int{DType::kI2} &&
              TESSERA_I64 == int{DType::kI64} && TESSERA_U2 == int{DType::kU2} &&
              TESSERA_U64 == int{DType::kU64} && TESSERA_F8_E3M4 == int{DType::kF8E3M4} &&
              TESSERA_F8_E4M3 == int{DType::kF8E4M3} &&
              TESSERA_F8_E4M3B11FNUZ == int{DType::kF8E4M3B11FNUZ} &&
              TESSERA_F8_E4M3FN == int{DType::kF8E4M3FN} &&
              TESSERA_F8_E4M3FNUZ == int{DType::kF8E4M3FNUZ} &&
              TESSERA_F8_E5M2 == int{DType::kF8E5M2} &&
              TESSERA_F8_E5M2FNUZ == int{DType::kF8E5M2FNUZ} && TESSERA_F16 == int{DType::kF16} &&
              TESSERA_BF16 == int{DType::kBF16} && TESSERA_F32 == int{DType::kF32} &&
              TESSERA_F64 == int{DType::kF64} && TESSERA_C64 == int{DType::kC64} &&
              TESSERA_C128 == int{DType::kC128});

// An array of a run. It shares the memory in which the run has made it, and is on no mesh.
struct RunResult {
  Shard data;
  std::vector<int64_t> shape;
};

HandleTable<RunResult>& Results() {
  static auto* results = new HandleTable<RunResult>("array");  // used until the process ends
  return *results;
}

// The number of devices changes only while no program runs.
class Devices {
 public:
  // Returns a lock under which the process has this many devices.
  std::shared_lock<std::shared_mutex> AtLeast(int64_t count) {
    std::shared_lock lock(running_);
    if (DeviceCount() >= count) return lock;
    lock.unlock();
    {
      const std::unique_lock alone(running_);
      if (DeviceCount() < count)
        SetDeviceCount(static_cast<int>(std::min<int64_t>(count, std::numeric_limits<int>::max())),
                       kHere);
    }
    lock.lock();
    return lock;
  }

 private:
  std::shared_mutex running_;
};

// Returns "inputs[2]: the reason".
ArgumentError InputError(int64_t k, const std::string& reason) {
  return ArgumentError("inputs[" + std::to_string(k) + "]: " + reason);
}

// Returns the number of elements of a buffer. Throws if it is not whole.
int64_t CheckedElements(const tessera_buffer& b, int64_t k) {
  if (b.dtype < TESSERA_BOOL || b.dtype > TESSERA_C128)
    throw InputError(k, "dtype is " + std::to_string(b.dtype) + ", which is none");
  if (b.rank < 0) throw InputError(k, "rank is " + std::to_string(b.rank) + ", which is below 0");
  if (b.rank > 0 && !b.dims) throw InputError(k, "dims is null");
  const int64_t size = DType(static_cast<DType::Code>(b.dtype)).size();
  int64_t elements = 1, bytes = size;
  for (int32_t d = 0; d < b.rank; ++d) {
    if (b.dims[d] < 0)
      throw InputError(k, "dims[" + std::to_string(d) + "] is " + std::to_string(b.dims[d]) +
                              ", which is below 0");
    if (__builtin_mul_overflow(elements, b.dims[d], &elements) ||
        __builtin_mul_overflow(elements, size, &bytes))
      throw InputError(k, "the dims have more bytes than an int64_t can count");
  }
  if (b.bytes != bytes)
    throw InputError(
        k, "bytes is " + std::to_string(b.bytes) + ", but the dims have " + std::to_string(bytes));
  if (bytes > 0 && !b.data) throw InputError(k, "data is null");
  return elements;
}

Array InputOf(const tessera_buffer& b, int64_t k) {
  const DType dtype(static_cast<DType::Code>(b.dtype));
  const int64_t elements = CheckedElements(b, k);
  const std::vector<int64_t> dims(b.dims, b.dims + b.rank);
  return detail::ArrayFromHost({b.data, elements, dtype}, {.dtype = dtype, .shape = Shape(dims)},
                               kHere);
}

std::shared_ptr<RunResult> ResultOf(const Array& array) {
  const std::vector<int64_t> shape = array.shape(kHere);
  std::vector<Shard> shards = array.addressable_shards(kHere);
  if (shards.front().shape() != shape) shards = gather_to_host(array, kHere).addressable_shards();
  return std::make_shared<RunResult>(RunResult{shards.front(), shape});
}

void CheckNumber(const char* name, const char* noun, int64_t given, size_t needed) {
  if (given != static_cast<int64_t>(needed))
    throw ArgumentError(std::string(name) + " is " + std::to_string(given) +
                        ", but the program has " + std::to_string(needed) + " " + noun +
                        (needed == 1 ? "" : "s"));
}

std::vector<std::shared_ptr<RunResult>> Run(Loaded& loaded, const tessera_buffer* inputs,
                                            int64_t count) {
  const auto devices = [] {
    static auto* all = new Devices;  // used until the process ends
    return all;
  }();
  std::vector<Array> arguments;
  for (int64_t k = 0; k < count; ++k) arguments.push_back(InputOf(inputs[k], k));
  const auto lock = devices->AtLeast(loaded.devices());
  std::vector<std::shared_ptr<RunResult>> results;
  for (const Array& array : loaded.function()(std::move(arguments)))
    results.push_back(ResultOf(array));
  return results;
}

}  // namespace
}  // namespace tessera::c

using namespace tessera::c;  // NOLINT: the functions of C are outside of namespaces

tessera_status tessera_run(tessera_program program, const tessera_buffer* inputs,
                           int64_t num_inputs, tessera_array* results, int64_t num_results) {
  return Guarded(__func__, [&] {
    const std::shared_ptr<Loaded> loaded = Programs().At(program);
    CheckNumber("num_inputs", "argument", num_inputs, loaded->types(TESSERA_INPUTS).size());
    CheckNumber("num_results", "result", num_results, loaded->types(TESSERA_OUTPUTS).size());
    if (num_inputs > 0) Require(inputs, "inputs");
    if (num_results > 0) Require(results, "results");
    for (std::shared_ptr<RunResult>& result : Run(*loaded, inputs, num_inputs))
      *results++ = Results().Add(std::move(result));
  });
}

tessera_status tessera_array_buffer(tessera_array array, tessera_buffer* buffer) {
  return Guarded(__func__, [&] {
    Require(buffer, "buffer");
    const std::shared_ptr<RunResult> result = Results().At(array);
    *buffer = {result->data.bytes().data(), static_cast<int64_t>(result->data.bytes().size()),
               result->shape.data(), static_cast<int32_t>(result->shape.size()),
               result->data.dtype().code()};
  });
}

tessera_status tessera_release(tessera_array array) {
  return Guarded(__func__, [&] { Results().Take(array); });
}
