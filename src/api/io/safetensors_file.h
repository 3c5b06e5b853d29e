// The safetensors file format: the size of the header in 8 bytes, the header in JSON, then the
// elements of all tensors without gaps.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "api/io/array_file.h"

namespace tessera::api {

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
            std::byte* out) const {
    file_.ReadBox(data_ + tensor.begin, *tensor.type, first, box, out);
  }
  // Returns the tensor as an array of this type. `type` has the file's dtype.
  Array Read(const StoredTensor& tensor, const ir::Type* type, const ir::Type* placed) const {
    return file_.ReadArray(data_ + tensor.begin, type, placed);
  }

 private:
  std::string ReadHeader();
  void Parse(const std::string& header);
  void CheckPlaces() const;

  const ArrayReader file_;
  int64_t data_ = 0;  // the offset of the first element
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
