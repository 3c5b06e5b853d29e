// Reads arrays of JSON.
#include "functions/arrays.h"

#include "conformance/compare.h"

namespace tessera::functions {

Array FromJson(const nlohmann::json& json) {
  const ArrayType type = ArrayType::Parse(json["type"].get<std::string>());
  const ArrayOptions as{.shape = type.shape()};
  if (type.dtype().is_complex()) {
    std::vector<std::complex<double>> data;
    for (const nlohmann::json& v : json["data"]) data.push_back(conformance::ComplexNumber(v));
    return astype(array(data, as), type.dtype());
  }
  if (type.dtype().is_inexact()) {
    std::vector<double> data;
    for (const nlohmann::json& v : json["data"]) data.push_back(conformance::Number(v));
    return astype(array(data, as), type.dtype());
  }
  std::vector<int64_t> data;
  for (const nlohmann::json& v : json["data"]) data.push_back(v.get<int64_t>());
  return astype(array(data, as), type.dtype());
}

}  // namespace tessera::functions
