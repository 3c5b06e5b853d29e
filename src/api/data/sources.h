// The records of a source, as bytes.
#pragma once
#include <cstddef>
#include <string>
#include <vector>

#include "base/shape.h"
#include "tessera/data.h"

namespace tessera::data {

// The type of a field in all records.
struct FieldType {
  DType dtype;
  base::Shape shape = {};
  int64_t bytes() const { return base::Elements(shape) * dtype.size(); }
  std::string text() const;  // "u8[28,28]"
  friend bool operator==(const FieldType&, const FieldType&) = default;
};
// Returns "u8[28,28], i32[]".
std::string TextOf(const std::vector<FieldType>& fields);

class DataSource::Impl {
 public:
  Impl(int64_t size, std::vector<FieldType> fields) : size_(size), fields_(std::move(fields)) {}
  virtual ~Impl() = default;
  int64_t size() const { return size_; }
  const std::vector<FieldType>& fields() const { return fields_; }
  // Reads a field of the records [first, first + count), which exist. Threads call it.
  virtual void Read(size_t field, int64_t first, int64_t count, std::byte* out) const = 0;

 private:
  const int64_t size_;
  const std::vector<FieldType> fields_;
};

// Returns a record with all of its fields.
Record ReadRecord(const DataSource::Impl& source, int64_t record);

}  // namespace tessera::data
