// Files with the elements of arrays. Each process reads and writes the shards of its devices.
#pragma once
#include <string>
#include <vector>

#include "api/core/operands.h"
#include "base/file.h"

namespace tessera::api {

[[noreturn]] void FailFile(Call call, const std::string& path, const std::string& reason,
                           std::vector<std::string> notes = {});

enum class Endian : uint8_t { kLittle, kBig };
// Puts elements that are stored in this order into the machine's, little-endian.
void ToLittleEndian(Endian stored, DType dtype, std::byte* data, int64_t bytes);

// A file that is open for reading.
class ArrayReader {
 public:
  ArrayReader(std::string path, Call call);
  int64_t size() const { return size_; }
  void ReadAt(int64_t at, int64_t bytes, std::byte* out) const;
  // Reads the box [first, first + box) of an array into `out`. The array is stored row-major from
  // `begin` on.
  void ReadBox(int64_t begin, const ir::Type& type, const base::Shape& first,
               const base::Shape& box, std::byte* out) const;
  // Returns the array. Reads the shard of each device here; devices that share one read it once.
  Array ReadArray(int64_t begin, const ir::Type* type, const ir::Type* placed,
                  Endian endian = Endian::kLittle) const;
  [[noreturn]] void Fail(const std::string& reason) const { FailFile(call_, path_, reason); }

 private:
  const std::string path_;
  const Call call_;
  base::Descriptor file_;
  int64_t size_ = 0;
};

struct StoredArray {
  std::string name;  // in messages; may be empty
  Array array;
  int64_t begin;  // the offset in the file of its first element
};
// Writes a new file, which replaces the old one when it is complete. All processes call it with the
// same arguments, and each writes the shards of its devices. Arrays are stored row-major.
void WriteArrays(const std::string& path, const std::string& header,
                 const std::vector<StoredArray>& arrays, Call call);

}  // namespace tessera::api
