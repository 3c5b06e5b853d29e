// Writes options as C++ that can be pasted. The code of options that one source takes is written
// there: a static function Code in namespace tessera.
#pragma once
#include <fmt/format.h>

#include <optional>
#include <string>
#include <vector>

#include "api/core/written.h"

namespace tessera::api {

// Collects the fields of options that differ from their defaults.
class OptionFields {
 public:
  template <class T>
  OptionFields& Add(const char* name, const T& value, const T& unless) {
    if (!(value == unless)) parts_.push_back(fmt::format(".{} = {}", name, Code(value)));
    return *this;
  }
  template <class T>
  OptionFields& Add(const char* name, const std::optional<T>& value) {
    if (value) parts_.push_back(fmt::format(".{} = {}", name, Code(*value)));
    return *this;
  }
  OptionFields& Add(DType dtype) { return Add("dtype", dtype, DType{}); }
  OptionFields& Add(const std::optional<PartitionSpec>& out) {
    if (out) parts_.push_back(".out_sharding = " + out->text());
    return *this;
  }
  // Adds an array or a list of them, which the code of the call shows under the name of its field.
  OptionFields& AddNamed(const char* name, const Array& value) {
    if (value.is_given()) parts_.push_back(fmt::format(".{0} = {0}", name));
    return *this;
  }
  OptionFields& AddNamed(const char* name, const std::vector<Array>& values) {
    if (!values.empty()) parts_.push_back(fmt::format(".{0} = {0}", name));
    return *this;
  }
  std::string code() const {
    return parts_.empty() ? "" : fmt::format("{{{}}}", fmt::join(parts_, ", "));
  }

 private:
  std::vector<std::string> parts_;
};

}  // namespace tessera::api
