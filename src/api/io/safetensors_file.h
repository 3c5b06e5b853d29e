// The safetensors file format: the size of the header in 8 bytes, the header in JSON, then the
// elements of all tensors without gaps.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "api/core/operands.h"
#include "base/file.h"

namespace tessera::api {

[[noreturn]] void FailFile(Call call, const std::string& path, const std::string& reason,
                           std::vector<std::string> notes = {});

// Returns a name for messages: in quotes, escaped and cut to 80 characters.
std::string ShownName(const std::string& name);

// Returns the format's name of a dtype; empty if the format has none.
std::string SafetensorsName(DType dtype);

struct StoredTensor {
  const ir::Type* type;  // without a mesh
  int64_t begin, end;    // byte range, counted from the end of the header
};

class SafetensorsFile {
 public:
  // Reads the header and checks that the tensors cover the data without gaps or overlaps.
  SafetensorsFile(const std::string& path, Call call);
  SafetensorsFile(const SafetensorsFile&) = delete;

  const std::map<std::string, StoredTensor>& tensors() const { return tensors_; }
  const std::map<std::string, std::string>& metadata() const { return metadata_; }
  // Reads the box [first, first + box) of a tensor into `out`, row-major.
  void Read(const StoredTensor& tensor, const base::Shape& first, const base::Shape& box,
            std::byte* out) const;

 private:
  void Open();
  std::string ReadHeader();
  void Parse(const std::string& header);
  void CheckPlaces() const;
  void ReadAt(int64_t at, int64_t bytes, std::byte* out) const;
  [[noreturn]] void Fail(const std::string& reason) const { FailFile(call_, path_, reason); }

  const std::string path_;
  const Call call_;
  base::Descriptor file_;
  int64_t data_ = 0, end_ = 0;  // offsets of the first element and of the end of the file
  std::map<std::string, StoredTensor> tensors_;
  std::map<std::string, std::string> metadata_;
};

struct NamedArray {
  std::string name;
  Array array;
};
// Writes arrays, whose names must be unique.
void WriteSafetensors(const std::string& path, std::vector<NamedArray> arrays,
                      const std::map<std::string, std::string>& metadata, Call call);

}  // namespace tessera::api
